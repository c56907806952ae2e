"""The one schema of all tables of measures: what a row holds, and which statistic it is about.

`evaluate` and `assess` make these tables and everything else reads them by `Statistic`, never by
the texts in them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.measures.context import CONFIDENTIAL
from riskweighted.measures.measure import Measure, Value
from riskweighted.measures.registry import measures

__all__ = [
    "COLUMNS",
    "CONFIDENTIAL",
    "EXPECTED",
    "IN_DATA",
    "IN_DATASETS",
    "Statistic",
    "as_row",
    "as_table",
    "by_label",
    "distinct",
    "rows_of",
    "statistics_of",
]

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
_MEDIAN, _QUANTILE = 0.5, "{parameter!r} quantile"
IN_DATASETS = "IR in these L datasets, averaged over them (Hu et al. 2022, eq. 1)"
EXPECTED = (
    "E[IR], the expectation of IR (Hu et al. 2022, eq. 1) over {draws} posterior draws and all "
    "datasets that each could give"
)
IN_DATA = "IR^c (Hu et al. 2022, eq. 2)"


class Statistic(NamedTuple):
    """What a value is: a measure, of a variable, with its parameter or its term (of a regression, a
    level, another variable).

    ``unregistered`` is the text of a row that the registry does not know, None for all others.
    """

    key: str
    variable: str | None = None
    parameter: float | None = None
    term: str | None = None
    unregistered: str | None = None

    @property
    def measure(self) -> Measure:
        """That of the registry; of an unregistered row one without any rule. KeyError if a key of
        ours is wrong.
        """
        if self.unregistered is not None:
            return Measure(self.key, "", "", source="", direction="neither", kind="unregistered")
        return measures()[self.key]

    @property
    def of_utility(self) -> bool:
        """Whether it stands in the table of utility; else in that of risk."""
        return (
            self.variable is not None
            if self.unregistered is not None
            else self.measure.table == "utility"
        )

    @property
    def label(self) -> str:
        """The measure's name, for people: "0.9 quantile"."""
        if self.unregistered is not None:
            return self.unregistered
        if self.parameter == _MEDIAN and self.measure.label == _QUANTILE:
            return "median"
        return self.measure.label.format(parameter=self.parameter, term=self.term)

    @property
    def name(self) -> str:
        """The label with its variable: "0.9 quantile of income"."""
        return self.label if self.variable is None else f"{self.label} of {self.variable}"

    def define(self, label: str = "scheme", baseline: str | None = None, **told: str) -> str:
        """The measure's definition under a label, of a rise that over the `baseline`; `told` fills
        what differs between labels.
        """
        mark, risk = (
            ("E[IR]", EXPECTED.format(draws=told.get("draws", "S")))
            if self.measure.mechanism
            else ("IR", IN_DATASETS)
        )
        of_label = {
            "risk": IN_DATA if label == CONFIDENTIAL else risk,
            "rise": f"{mark}({label}) - {mark}({baseline})",
            "alone": ""
            if self.variable is None
            else ", where the intruder looks for this variable alone",
        }
        counts = {"draws": "S", "datasets": "L", "cluster": "cluster"}
        return self.measure.definition.format(
            **{"parameter": self.parameter, "term": self.term, **of_label, **counts, **told}
        )


def as_row(label: str, value: Value, baseline: str | None = None, **told: str) -> dict[str, Any]:
    """One row of a table, as a computation gave it."""
    statistic = Statistic(value.measure.key, value.variable, value.parameter, value.term)
    told = {**told, **value.told}
    lower, upper = value.interval
    return {
        "label": label,
        "measure": statistic.label,
        "value": value.value,
        "error": value.error,
        "lower": lower,
        "upper": upper,
        "rule": value.rule,
        "higher_is": value.measure.direction,
        "definition": statistic.define(label, baseline, **told)
        if value.definition is None
        else value.definition,
        "formula": told.get("formula"),
        **{name: getattr(statistic, name) for name in ("key", "variable", "parameter", "term")},
    }


def as_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Rows under the columns of the schema."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(dict.fromkeys(_NUMBERS, float))


def statistics_of(table: pd.DataFrame) -> list[Statistic]:
    """The statistic of every row of a table of the schema.

    A row belongs to a measure of the registry only if its key, its parameter or term, and its text
    are those of the measure.
    """
    parameters = pd.to_numeric(table["parameter"], errors="coerce").tolist()
    texts = [
        [None if pd.isna(value) else value for value in table[name]]
        for name in ("key", "variable", "term", "measure")
    ]
    rows = zip(*texts, parameters, strict=True)
    return [
        _statistic(
            str(key), variable, None if np.isnan(parameter) else parameter, term, str(measure)
        )
        for key, variable, term, measure, parameter in rows
    ]


def _statistic(
    key: str, variable: str | None, parameter: float | None, term: str | None, text: str
) -> Statistic:
    statistic = Statistic(key, variable, parameter, term)
    registered = (
        key in measures() and statistic.measure.takes(parameter, term) and statistic.label == text
    )
    return statistic if registered else statistic._replace(unregistered=text)


def distinct(table: pd.DataFrame) -> list[Statistic]:
    """Every statistic of a table once, in the order in which it first occurs."""
    return list(dict.fromkeys(statistics_of(table)))


def rows_of(table: pd.DataFrame, statistic: Statistic) -> pd.DataFrame:
    """The rows of one statistic, of every label."""
    return table[[other == statistic for other in statistics_of(table)]]


def by_label(table: pd.DataFrame, statistic: Statistic, column: str = "value") -> pd.Series:
    """A column of one statistic by label."""
    return rows_of(table, statistic).set_index("label")[column]
