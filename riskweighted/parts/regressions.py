"""The regressions of the evaluation, read of some records of every bucket and of sums over all of
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pandas as pd

from riskweighted.design.formulas import response_name
from riskweighted.measures.context import Cuts, Subject
from riskweighted.measures.parts import Tally, plus
from riskweighted.parts.job import Job
from riskweighted.parts.tasks import Tasks
from riskweighted.runs.study import Study
from riskweighted.utility.cross_products import CrossProducts, LeastSquares
from riskweighted.utility.logistic import LogisticSums, Point, advanced, begun
from riskweighted.utility.regressions import (
    Analysis,
    checked_regression,
    missing_response,
    products_of,
    read_analysis,
    reported_analysis,
    rows_alike,
    witnesses_of,
)

__all__ = ["Regressions", "formulas_of", "read_regressions", "witnesses_by_formula"]


@dataclass(frozen=True)
class Regressions:
    """The ``one`` whose coefficient is reported, and the ``several`` of which all are.
    Confidential.
    """

    one: Analysis | None = field(default=None, repr=False)
    several: tuple[Analysis, ...] = field(default=(), repr=False)

    def subject(self, job: Job, records: pd.DataFrame, cuts: Cuts | None = None) -> Subject:
        """What all labels of some records have in common."""
        return Subject(
            job.world(records),
            job.study.evaluation.measures,
            self.one,
            self.several,
            expected=True,
            cuts=cuts,
        )


def formulas_of(study: Study) -> list[str]:
    """The regressions of a study, each once."""
    one = study.evaluation.regression
    return list(dict.fromkeys([*study.evaluation.regressions, *([] if one is None else [one])]))


def witnesses_by_formula(job: Job, records: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Some records for each regression, by formula, that hold every value of its columns, unless
    one has many.
    """
    return {
        formula: witnesses_of(records, formula, job.codes) for formula in formulas_of(job.study)
    }


def read_regressions(tasks: Tasks, witnesses: Sequence[Mapping[str, pd.DataFrame]]) -> Regressions:
    """The regressions of a study, from the `witnesses` of every bucket; an InputError says what of
    them cannot be estimated.
    """
    job, settings = tasks.job, tasks.job.study.evaluation

    def of(formula: str) -> pd.DataFrame:
        return pd.concat([held[formula] for held in witnesses]).drop_duplicates(ignore_index=True)

    one = None
    if settings.regression is not None:
        some, response = of(settings.regression), response_name(settings.regression)
        if some[response].isna().any():
            raise missing_response(response, "some of the")
        one = checked_regression(
            some, settings.regression, settings.coefficient, job.study.variables
        )
    read = [read_analysis(of(formula), formula, job.codes) for formula in settings.regressions]
    return Regressions(one, _reported(tasks, read))


def _reported(tasks: Tasks, analyses: Sequence[Analysis]) -> tuple[Analysis, ...]:
    """The regressions without what too few records tell of."""
    if not analyses:
        return ()
    total = reduce(
        plus,
        (found for _, found in tasks.each("reading regressions", _products_of_bucket, analyses)),
    )
    logistic: dict[str, Point | LeastSquares | None] = {
        str(place): begun(products)
        for place, products in enumerate(total)
        if analyses[place].logistic
    }
    while points := {place: at for place, at in logistic.items() if isinstance(at, Point)}:
        looks = tasks.each("solving logistic regressions", _logistic_of_bucket, analyses, points)
        sums = reduce(plus, (told for _, told in looks))
        logistic |= {
            place: advanced(total[int(place)], points[place], each) for place, each in sums.items()
        }
    reported = []
    for place, (analysis, products) in enumerate(zip(analyses, total, strict=True)):
        at = logistic[str(place)] if analysis.logistic else products.solved()
        reported.append(
            reported_analysis(analysis, products, at if isinstance(at, LeastSquares) else None)
        )
    return tuple(reported)


def _products_of_bucket(
    job: Job, number: int, analyses: Sequence[Analysis]
) -> tuple[CrossProducts, ...]:
    records = job.records(number)
    return tuple(products_of(analysis, records) for analysis in analyses)


def _logistic_of_bucket(
    job: Job, number: int, analyses: Sequence[Analysis], points: Mapping[str, Point]
) -> Tally:
    records = job.records(number)
    return Tally(
        {
            place: LogisticSums.of(*rows_alike(analyses[int(place)], records), point)
            for place, point in points.items()
        }
    )
