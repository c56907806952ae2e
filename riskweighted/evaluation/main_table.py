"""The main table: which statistics stand in it, and the names of its columns. Nothing else makes or
reads these names.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from riskweighted.evaluation.measure_rows import Statistic, by_label, distinct
from riskweighted.measures import fits
from riskweighted.measures.measure import Measure
from riskweighted.measures.registry import measures
from riskweighted.measures.regression_measures import OVERLAP

__all__ = [
    "CONVERGED",
    "CONVERGED_WORDS",
    "FITS",
    "FIT_COLUMNS",
    "LARGEST_R_HAT",
    "MEAN_WEIGHT",
    "SummaryColumn",
    "build_summary",
    "direction_of",
    "summary_columns",
]

# by verdict, in the main table and in the report
CONVERGED_WORDS = {"pass": "yes", "warn": "warn", "fail": "NO"}
_OVERLAP = ": overlap"


class SummaryColumn(NamedTuple):
    """A column of the main table: a statistic, or the overlap of its interval with the confidential
    one.
    """

    statistic: Statistic
    overlap: bool = False

    @property
    def measure(self) -> Measure:
        return OVERLAP if self.overlap else self.statistic.measure

    @property
    def name(self) -> str:
        return f"{self.statistic.name}{_OVERLAP}" if self.overlap else self.statistic.name


# What a run knows of its fits beside risk and utility.
FITS, MEAN_WEIGHT, LARGEST_R_HAT, CONVERGED = (
    SummaryColumn(Statistic(measure.key)) for measure in fits.MEASURES
)
FIT_COLUMNS = (FITS, MEAN_WEIGHT, LARGEST_R_HAT, CONVERGED)  # first in the main table


def summary_columns(risk: pd.DataFrame, utility: pd.DataFrame) -> tuple[SummaryColumn, ...]:
    """The columns that tables of risk and utility give, in order."""
    shown = sorted(
        (each for each in distinct(risk) if each.measure.main and each.variable is None),
        key=lambda each: each.measure.main,
    )
    return (*map(SummaryColumn, shown), *_utility_columns(utility))


def _utility_columns(utility: pd.DataFrame) -> Iterator[SummaryColumn]:
    """Variable by variable, each statistic before the overlap of its interval."""
    statistics = [each for each in distinct(utility) if not each.measure.many]
    for variable in dict.fromkeys(each.variable for each in statistics):
        for statistic in (each for each in statistics if each.variable == variable):
            yield SummaryColumn(statistic)
            if by_label(utility, statistic, "overlap").notna().any():
                yield SummaryColumn(statistic, overlap=True)


def build_summary(risk: pd.DataFrame, utility: pd.DataFrame) -> pd.DataFrame:
    """The main table: one row per label, the columns of `summary_columns` by their names."""
    labels = pd.Index(risk["label"].unique(), name="label")
    table = pd.DataFrame(index=labels, columns=pd.Index([], name="measure", dtype=object))
    for column in summary_columns(risk, utility):
        source = utility if column.statistic.of_utility else risk
        table[column.name] = by_label(
            source, column.statistic, "overlap" if column.overlap else "value"
        ).reindex(labels)
    return table


def direction_of(name: str) -> str | None:
    """What a higher value of a column is, from its name alone, for who has the table without what
    it was made from; None: unknown.
    """
    if name.endswith(_OVERLAP):
        return OVERLAP.direction
    plain = (measure for measure in measures().values() if not measure.parameter)
    return next(
        (
            measure.direction
            for measure in plain
            if name == measure.label or name.startswith(f"{measure.label} of ")
        ),
        None,
    )
