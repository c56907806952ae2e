"""The tidy results of the claims, read cell by cell and printed with their errors."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.ce.tables import as_markdown
from experiments.claims.tables import Number

__all__ = ["CLEAR", "NAMES", "Results", "digits_of", "printed"]

NAMES = {"simulation": "the paper's simulation", "ce-like": "the CE-like population"}
CLEAR = 2  # standard errors
_DIGITS = {
    "U_m": 4,
    "mean weight": 3,
    "maximum risk": 3,
    "Delta": 2,
    "range": 2,
    "p_eff": 2,
    "r_hat": 3,
    "largest k-hat": 2,
}


class Results:
    """The tidy results, read cell by cell."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows.set_index(["case", "label", "measure"])[["value", "error"]]
        self.cases = list(dict.fromkeys(rows["case"]))

    def labels(self, case: str) -> list[str]:
        """Of a case, in order."""
        return list(dict.fromkeys(self.rows.loc[case].index.get_level_values("label")))

    def number(self, case: str, label: str, measure: str) -> Number:
        """One number."""
        return Number(*map(float, self.rows.loc[(case, label, measure)]))

    def cell(self, case: str, label: str, measure: str) -> str:
        """One number in print, with its error."""
        return printed(self.number(case, label, measure), digits_of(case, measure))

    def change(self, case: str, label: str, measure: str, base: str = "unweighted") -> str:
        """How a measure moves from `base` to `label`, in words."""
        now, before = self.number(case, label, measure), self.number(case, base, measure)
        error = np.hypot(np.nan_to_num(now.error), np.nan_to_num(before.error))
        both = f"{self.cell(case, base, measure)} to {self.cell(case, label, measure)}"
        if abs(now.value - before.value) <= CLEAR * error:
            return f"does not move beyond its error ({both})"
        share = f"{100 * (now.value / before.value - 1):+.0f} %" if before.value else "from nothing"
        return f"{'falls' if now.value < before.value else 'rises'} from {both}, {share}"

    def falls(self, case: str, label: str, measure: str, base: str = "unweighted") -> bool:
        """Whether a measure falls from `base` to `label` by more than its error."""
        return self.change(case, label, measure, base).startswith("falls")

    def table(self, case: str, labels: Sequence[str], measures: Sequence[str]) -> str:
        """Schemes in rows, measures in columns."""
        return as_markdown(
            pd.DataFrame(
                [
                    {"weights": label} | {name: self.cell(case, label, name) for name in measures}
                    for label in labels
                ]
            )
        )


def positional(error: float) -> str:
    """An error with one significant digit."""
    return np.format_float_positional(float(f"{error:.1g}"), trim="-")


def printed(number: Number, digits: int) -> str:
    """Value, and the error in brackets where there is one."""
    if np.isnan(number.value):
        return ""
    value = f"{round(number.value, digits) + 0.0:,.{digits}f}"  # + 0.0: no minus before a zero
    return value if np.isnan(number.error) else f"{value} ({positional(number.error)})"


def digits_of(case: str, measure: str) -> int:
    if measure in ("mean", "q90"):
        return 1 if case == "simulation" else 0
    if measure.startswith("attributable"):
        return 6
    if measure.startswith(("rises", "falls", "records")):
        return 1 if "in sets" in measure else 0
    if measure in ("ess_bulk", "divergences"):
        return 0
    return next((digits for name, digits in _DIGITS.items() if measure.startswith(name)), 4)
