"""The main table: which statistics stand in it, and the names of its columns. Nothing else makes or reads these names."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from riskweighted.evaluation.measures import MEASURES, Measure
from riskweighted.evaluation.tables import Statistic, by_label, distinct

__all__ = [
    "CONVERGED",
    "FITS",
    "FIT_COLUMNS",
    "LARGEST_R_HAT",
    "MEAN_WEIGHT",
    "SummaryColumn",
    "build_summary",
    "direction_of",
    "summary_columns",
]

_RISK = (  # of the risk table, in the order shown
    *("expected-isolated-risk", "expected-top-risk", "expected-mean-risk", "expected-maximum-risk", "expected-rises", "expected-falls"),
    *("influence-lipschitz", "influence-range", "p-eff"),
    *("expected-match", "isolated-risk"),
    *("mean-risk", "maximum-risk", "records-over", "chance-records-over", "whack-a-mole", "chance-whack-a-mole"),
)
_OVERLAP = ": overlap"
_LEFT_OUT = (  # of the utility table: a row for each level, variable, pair, coefficient
    *("level-share", "missing-share", "one-way-table", "two-way-table"),
    *("survey-level-share", "survey-missing-share", "regression-coefficient", "survey-regression-coefficient"),
)


class SummaryColumn(NamedTuple):
    """A column of the main table: a statistic, or the overlap of its interval with the confidential one."""

    statistic: Statistic
    overlap: bool = False

    @property
    def measure(self) -> Measure:
        return MEASURES["overlap"] if self.overlap else self.statistic.measure

    @property
    def name(self) -> str:
        return f"{self.statistic.name}{_OVERLAP}" if self.overlap else self.statistic.name


# What a run knows of its fits beside risk and utility.
FITS, MEAN_WEIGHT, LARGEST_R_HAT, CONVERGED = (SummaryColumn(Statistic(key)) for key in ("fits", "mean-weight", "r-hat", "converged"))
FIT_COLUMNS = (FITS, MEAN_WEIGHT, LARGEST_R_HAT, CONVERGED)  # first in the main table


def summary_columns(risk: pd.DataFrame, utility: pd.DataFrame) -> tuple[SummaryColumn, ...]:
    """The columns that tables of risk and utility give, in order."""
    found = sorted((one for one in distinct(risk) if one.key in _RISK), key=lambda one: _RISK.index(one.key))
    return (*map(SummaryColumn, found), *_utility_columns(utility))


def _utility_columns(utility: pd.DataFrame) -> Iterator[SummaryColumn]:
    """Variable by variable, each statistic before the overlap of its interval."""
    statistics = [one for one in distinct(utility) if one.key not in _LEFT_OUT]
    for variable in dict.fromkeys(one.variable for one in statistics):
        for statistic in (one for one in statistics if one.variable == variable):
            yield SummaryColumn(statistic)
            if by_label(utility, statistic, "overlap").notna().any():
                yield SummaryColumn(statistic, overlap=True)


def build_summary(risk: pd.DataFrame, utility: pd.DataFrame) -> pd.DataFrame:
    """The main table: one row per label, the columns of `summary_columns` by their names."""
    labels = pd.Index(risk["label"].unique(), name="label")
    table = pd.DataFrame(index=labels, columns=pd.Index([], name="measure", dtype=object))
    for column in summary_columns(risk, utility):
        source = utility if column.statistic.of_utility else risk
        table[column.name] = by_label(source, column.statistic, "overlap" if column.overlap else "value").reindex(labels)
    return table


def direction_of(name: str) -> str | None:
    """What a higher value of a column is, from its name alone, for who has the table without what it was made from; None: unknown."""
    if name.endswith(_OVERLAP):
        return MEASURES["overlap"].direction
    plain = (measure for measure in MEASURES.values() if not measure.parameter)
    return next((measure.direction for measure in plain if name == measure.label or name.startswith(f"{measure.label} of ")), None)
