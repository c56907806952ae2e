"""How each number may be shown: as it is inside the agency, coarsened where the report may leave it.

In the releasable report

- extremes (the largest risk, the largest rise) are left out;
- counts of records below the minimum count m, or that leave fewer than m others, say only that; others are rounded to
  multiples of m, so that no small count is the difference of two;
- quantiles have 3 significant digits, or fewer until m confidential records round to the same number;
- overlaps and quantiles of risk have 2 decimals, since intervals could be computed back from finer ones.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskweighted.evaluation.labels import CONFIDENTIAL

__all__ = ["MISSING", "View", "number", "quantile_digits"]

MISSING = "n/a"
WITHHELD = "not shown"
_EXTREMES = ("maximum risk", "largest rise")
_QUANTILE_DIGITS, _DIGITS = 3, 5


def number(value: object, digits: int = 4) -> str:
    """A number to some significant digits, without powers of ten where it can be read so."""
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return MISSING
    rounded = float(f"{float(value):.{max(digits, 1) - 1}e}")  # type: ignore[arg-type]
    return f"{rounded:.0f}" if rounded.is_integer() and abs(rounded) < 1e9 else f"{rounded:.{digits}g}"


def _rounded(values: np.ndarray, digits: int) -> np.ndarray:
    """Numbers to some significant digits."""
    return np.array([float(f"{value:.{digits - 1}e}") for value in np.asarray(values, dtype=float)])


@dataclass(frozen=True)
class View:
    """Who reads the report.

    Attributes
    ----------
    internal : bool
    minimum_count : int
        m, of records in anything that the releasable report shows.
    records : int
        n.
    digits : dict of (variable, measure) to int
        Significant digits of quantiles in the releasable report; 0 where they are not shown.
    """

    internal: bool
    minimum_count: int
    records: int
    digits: dict[tuple[str, str], int]

    @property
    def binned(self) -> int | None:
        """What the figures take as `minimum_count`."""
        return None if self.internal else self.minimum_count

    def shows(self, measure: str) -> bool:
        return self.internal or measure not in _EXTREMES

    def count(self, value: float) -> str:
        """A number of records."""
        m, n = self.minimum_count, self.records
        if self.internal:
            return number(value, 9)
        if pd.isna(value):
            return MISSING
        if value < m:
            return f"fewer than {m}"
        return f"more than {n - m}" if value > n - m else f"about {m * round(value / m)}"

    def risk(self, measure: str, value: float) -> str:
        """A summary of the risk of records."""
        if "records" in measure or measure == "singleton patterns":
            return MISSING if pd.isna(value) else self.count(value)
        if self.internal or pd.isna(value):
            return number(value)
        return f"{value:.3f}" if measure == "mean risk" else f"{value:.2f}"

    def estimate(self, variable: str, measure: str, value: float) -> str:
        """An estimate, or an end of its interval."""
        digits = self._digits(variable, measure)
        return number(value, digits) if digits else WITHHELD

    def overlap(self, value: float) -> str:
        return MISSING if pd.isna(value) else f"{value:.{3 if self.internal else 2}f}"

    def utility(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table of estimates with the digits that may be seen, for figures; what is not shown is left out."""
        if self.internal:
            return table
        digits = [self._digits(row["variable"], row["measure"]) for _, row in table.iterrows()]
        kept = table[np.array(digits) > 0].copy()
        for name in ("estimate", "lower", "upper"):
            kept[name] = [float(f"{value:.{d - 1}e}") for value, d in zip(kept[name], (d for d in digits if d), strict=True)]
        return kept

    def _digits(self, variable: str, measure: str) -> int:
        return _DIGITS if self.internal else self.digits.get((variable, measure), 3 if measure.startswith("U_") else _DIGITS)


def quantile_digits(utility: pd.DataFrame, confidential: pd.DataFrame, minimum_count: int) -> dict[tuple[str, str], int]:
    """How many digits of a quantile, and of its interval, at least `minimum_count` confidential records share."""
    digits = {}
    quantiles = utility[utility["measure"].str.fullmatch("median|.* quantile") & (utility["label"] == CONFIDENTIAL)]
    for _, row in quantiles.iterrows():
        values = confidential[row["variable"]].to_numpy(dtype=float)
        ends = row[["estimate", "lower", "upper"]].to_numpy(dtype=float)
        digits[(row["variable"], row["measure"])] = min(_shared_digits(end, values, minimum_count) for end in ends)
    return digits


def _shared_digits(value: float, values: np.ndarray, minimum_count: int) -> int:
    for digits in range(_QUANTILE_DIGITS, 0, -1):
        if (_rounded(values, digits) == _rounded(np.array([value]), digits)[0]).sum() >= minimum_count:
            return digits
    return 0
