"""The one schema of all tables of measures: what a row holds, and which statistic it is about.

`evaluate` and `assess` make these tables and everything else reads them by `Statistic`, never by the texts in them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.evaluation.measures import (
    CONFIDENTIAL_RISK,
    EXPECTED_RISK,
    MEASURES,
    OF_MECHANISM,
    OF_UTILITY,
    SYNTHETIC_RISK,
    Measure,
)

__all__ = ["COLUMNS", "CONFIDENTIAL", "Statistic", "as_table", "by_label", "distinct", "measured", "rows_of", "statistics_of"]

CONFIDENTIAL = "confidential"  # label of the confidential data's own rows

COLUMNS = (
    "label",  # what was released: a scheme, the confidential data, top-coding
    "key",  # of the measure in the registry
    "measure",  # its name, for people
    "variable",
    "parameter",  # threshold, quantile or increase
    "term",  # of a regression; a level; the other variable of a pair
    "value",
    "error",  # Monte Carlo standard error of the value
    "lower",
    "upper",
    "overlap",  # of the interval with the confidential one
    "rule",  # that made the interval
    "higher_is",
    "definition",
)
_NUMBERS = ("parameter", "value", "error", "lower", "upper", "overlap")
_MEDIAN = 0.5


class Statistic(NamedTuple):
    """What a value is: a measure, of a variable, with its parameter or its term (of a regression, a level, another variable).

    ``unregistered`` is the text of a row that the registry does not know, None for all others.
    """

    key: str
    variable: str | None = None
    parameter: float | None = None
    term: str | None = None
    unregistered: str | None = None

    @property
    def measure(self) -> Measure:
        """That of the registry; of an unregistered row one without any rule. KeyError if a key of ours is wrong."""
        if self.unregistered is not None:
            return Measure(self.key, "", "", "", "neither", "unregistered")
        return MEASURES[self.key]

    @property
    def of_utility(self) -> bool:
        """Whether it stands in the table of utility; else in that of risk."""
        return self.variable is not None if self.unregistered is not None else self.key in OF_UTILITY

    @property
    def label(self) -> str:
        """The measure's name, for people: "0.9 quantile"."""
        if self.unregistered is not None:
            return self.unregistered
        if self.key == "quantile" and self.parameter == _MEDIAN:
            return "median"
        return self.measure.label.format(parameter=self.parameter, term=self.term)

    @property
    def name(self) -> str:
        """The label with its variable: "0.9 quantile of income"."""
        return self.label if self.variable is None else f"{self.label} of {self.variable}"

    def define(self, **context: str) -> str:
        """The measure's definition; `context` fills what differs between labels and studies (``risk``, ``rise``, ``formula``, ...)."""
        counts = {"draws": "S", "datasets": "L", "cluster": "cluster"}
        return self.measure.definition.format(**{"parameter": self.parameter, "term": self.term, **counts, **context})

    def define_risk(self, label: str, baseline: str | None = None) -> str:
        """The definition of a measure of the records' risk under a label, of its rise over that under `baseline` if there is one."""
        if self.key in OF_MECHANISM:
            return self.define_expected(label, None, baseline)
        risk = CONFIDENTIAL_RISK if label == CONFIDENTIAL else SYNTHETIC_RISK
        return self.define(risk=risk, rise=f"IR({label}) - IR({baseline})")

    def define_expected(self, label: str, draws: int | None, baseline: str | None = None) -> str:
        """The definition of a measure of the records' expected risk, estimated from so many posterior draws."""
        risk = CONFIDENTIAL_RISK if label == CONFIDENTIAL else EXPECTED_RISK.format(draws=draws or "S")
        return self.define(risk=risk, rise=f"E[IR]({label}) - E[IR]({baseline})")


def measured(
    label: str,
    statistic: Statistic,
    value: float,
    definition: str,
    *,
    error: float = np.nan,
    interval: tuple[float, float] = (np.nan, np.nan),
    rule: str | None = None,
) -> dict[str, Any]:
    """One row of a table."""
    lower, upper = interval
    return {
        "label": label,
        "measure": statistic.label,
        "value": value,
        "error": error,
        "lower": lower,
        "upper": upper,
        "rule": rule,
        "higher_is": statistic.measure.direction,
        "definition": definition,
        **{name: getattr(statistic, name) for name in ("key", "variable", "parameter", "term")},
    }


def as_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Rows under the columns of the schema."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(dict.fromkeys(_NUMBERS, float))


def statistics_of(table: pd.DataFrame) -> list[Statistic]:
    """The statistic of every row of a table of the schema.

    A row belongs to a measure of the registry only if its key, its parameter or term, and its text are those of the measure.
    """
    parameters = pd.to_numeric(table["parameter"], errors="coerce").tolist()
    texts = [[None if pd.isna(value) else value for value in table[name]] for name in ("key", "variable", "term", "measure")]
    rows = zip(*texts, parameters, strict=True)
    return [
        _statistic(str(key), variable, None if np.isnan(parameter) else parameter, term, str(measure))
        for key, variable, term, measure, parameter in rows
    ]


def _statistic(key: str, variable: str | None, parameter: float | None, term: str | None, text: str) -> Statistic:
    found = Statistic(key, variable, parameter, term)
    registered = key in MEASURES and found.measure.takes(parameter, term) and found.label == text
    return found if registered else found._replace(unregistered=text)


def distinct(table: pd.DataFrame) -> list[Statistic]:
    """Every statistic of a table once, in the order in which it first occurs."""
    return list(dict.fromkeys(statistics_of(table)))


def rows_of(table: pd.DataFrame, statistic: Statistic) -> pd.DataFrame:
    """The rows of one statistic, of every label."""
    return table[[found == statistic for found in statistics_of(table)]]


def by_label(table: pd.DataFrame, statistic: Statistic, column: str = "value") -> pd.Series:
    """A column of one statistic by label."""
    return rows_of(table, statistic).set_index("label")[column]
