"""Coefficients of regressions, and how far their intervals and the confidential ones overlap (Karr
et al. 2006).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.measures import analyses
from riskweighted.measures.context import CONFIDENTIAL, Context
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Estimate, Loss, Measure, Value
from riskweighted.measures.parts import ByParts, Tally

if TYPE_CHECKING:
    from riskweighted.intruder.world import World
    from riskweighted.utility.cross_products import CrossProducts, LeastSquares
    from riskweighted.utility.intervals import Interval
    from riskweighted.utility.logistic import Point
    from riskweighted.utility.regressions import Analysis
    from riskweighted.utility.survey_design import SurveyDesign

__all__ = ["COEFFICIENT", "MEASURES", "OVERLAP", "OVERLAPS", "mean_overlaps"]

# into which the datasets are split for the error of an overlap, which many of them have together
_PARTS = 5


def _products(
    context: Context, analyses: "Sequence[Analysis]"
) -> "tuple[tuple[CrossProducts, ...], ...]":
    """Of each regression, in each dataset."""
    from riskweighted.utility.regressions import products_of

    return tuple(
        tuple(products_of(analysis, frame) for frame in context.synthetic) for analysis in analyses
    )


def _of_named(context: Context) -> "tuple[tuple[CrossProducts, ...], ...]":
    return _products(
        context, [] if context.subject.analysis is None else [context.subject.analysis]
    )


def _values_of_named(
    total: "tuple[tuple[CrossProducts, ...], ...]", context: Context
) -> Iterator[Value]:
    """The coefficient that the settings name, with Reiter's combining rule, kappa vbar in the place
    of vbar where weights are centred.
    """
    analysis = context.subject.analysis
    if analysis is not None:
        yield from _of_products(
            context, COEFFICIENT, analysis, total[0], [products.solved() for products in total[0]]
        )


estimated = ByParts(_of_named, _values_of_named)


def _of_list(context: Context) -> Tally:
    return Tally(products=_products(context, context.subject.analyses), logistic=Tally())


def _further(total: Tally, context: Context) -> "dict[str, Point] | None":
    """Where Newton's method stands for each logistic regression in each dataset, by their
    numbers.
    """
    from riskweighted.utility.logistic import Point

    points = {name: at for name, at in _stands(total, context).items() if isinstance(at, Point)}
    return points or None


def _stands(total: Tally, context: Context) -> "dict[str, Point | LeastSquares | None]":
    from riskweighted.utility.logistic import begun

    found = {}
    for number, (analysis, datasets) in enumerate(
        zip(context.subject.analyses, total["products"], strict=True)
    ):
        for dataset, products in enumerate(datasets if analysis.logistic else ()):
            name = f"{number} {dataset}"
            found[name] = total["logistic"][name] if name in total["logistic"] else begun(products)
    return found


def _again(context: Context, points: "dict[str, Point]") -> Tally:
    """The next step's sums."""
    from riskweighted.utility.logistic import LogisticSums
    from riskweighted.utility.regressions import rows_alike

    sums = Tally()
    for name, point in points.items():
        number, dataset = map(int, name.split())
        if ("regression", name) not in context.kept:
            context.kept["regression", name] = rows_alike(
                context.subject.analyses[number], context.synthetic[dataset]
            )
        rows, counts = context.kept["regression", name]
        sums[name] = LogisticSums.of(rows, counts, point)
    return sums


def _completed(total: Tally, sums: Tally) -> Tally:
    from riskweighted.utility.logistic import advanced, begun

    stands = Tally(total["logistic"])
    for name, of in sums.items():
        number, dataset = map(int, name.split())
        products = total["products"][number][dataset]
        at = stands[name] if name in stands else begun(products)
        stands[name] = advanced(products, at, of)
    return Tally({**total, "logistic": stands})


def _values_of_list(total: Tally, context: Context) -> Iterator[Value]:
    """Coefficient by coefficient of each regression, without survey weights."""
    solved = _stands(total, context)
    for number, (analysis, datasets) in enumerate(
        zip(context.subject.analyses, total["products"], strict=True)
    ):
        each = [
            solved[f"{number} {dataset}"] if analysis.logistic else of.solved()
            for dataset, of in enumerate(datasets)
        ]
        yield from _of_products(context, _EACH, analysis, datasets, each)


coefficients = ByParts(
    _of_list, _values_of_list, further=_further, again=_again, completed=_completed
)


def surveyed(context: Context) -> Iterator[Value]:
    """The same with survey weights, where there is a design."""
    design = context.subject.design
    for analysis in context.subject.analyses if design is not None else ():
        yield from _intervals(context, _SURVEYED, analysis, design)


def _of_products(
    context: Context,
    measure: Measure,
    analysis: "Analysis",
    datasets: "Sequence[CrossProducts]",
    solved: "Sequence[Any]",
) -> Iterator[Value]:
    from riskweighted.utility.regressions import estimates_of, intervals_of

    estimates = [
        estimates_of(analysis, products, of) for products, of in zip(datasets, solved, strict=True)
    ]
    yield from _as_values(
        context,
        measure,
        analysis,
        intervals_of(analysis, estimates, datasets[0].rows, **_how(context)),
    )


def _intervals(
    context: Context, measure: Measure, analysis: "Analysis", design: "SurveyDesign | None" = None
) -> Iterator[Value]:
    from riskweighted.utility.regressions import coefficient_intervals

    intervals = coefficient_intervals(analysis, context.synthetic, design=design, **_how(context))
    yield from _as_values(context, measure, analysis, intervals)


def _how(context: Context) -> dict[str, Any]:
    """How the datasets of a label combine."""
    settings = context.settings
    return {
        "synthetic": not context.of_data,
        "level": settings.level,
        "size_ratio": context.size_ratio,
        "kappa": context.kappa,
    }


def _as_values(
    context: Context, measure: Measure, analysis: "Analysis", intervals: "dict[str, Interval]"
) -> Iterator[Value]:
    """A value a coefficient; a warning names the regression where some cannot be estimated."""
    failed = [interval.rule for interval in intervals.values() if np.isnan(interval.estimate)]
    if failed:
        weighted = " with survey weights" if measure is _SURVEYED else ""
        warnings.warn(
            f"regression {analysis.formula!r}{weighted}, {context.label!r}: {len(failed)} of "
            f"{len(intervals)} coefficients "
            f"{'; '.join(dict.fromkeys(failed))}. Its overlap is not judged",
            RiskWeightedWarning,
            stacklevel=2,
        )
    for name, interval in intervals.items():
        term = f"{name} in {analysis.formula}" if measure.many else name
        yield Value.of(
            measure, interval, analysis.response, term=term, told={"formula": analysis.formula}
        )


def mean_overlaps(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Value]]:
    """By label the mean overlap of the coefficients of each regression, and of the estimates of
    each function: NaN, which is not judged, where one of them cannot be estimated. An estimate that
    has no variance in the confidential data has no interval to overlap, and does not count; one
    that has none in the synthetic data counts 0.
    """
    overlaps_of = {
        _EACH.key: _MEAN_OVERLAP,
        _SURVEYED.key: _SURVEY_OVERLAP,
        analyses.ESTIMATE.key: analyses.MEAN_OVERLAP,
    }
    groups: dict[tuple[str, str, str, str], list[float]] = {}
    held = [row for row in rows if row["key"] in overlaps_of]
    exact = {
        (row["formula"], row["term"])
        for row in held
        if row["label"] == CONFIDENTIAL and row["lower"] == row["upper"]
    }
    for row in held:
        if row["label"] != CONFIDENTIAL and (row["formula"], row["term"]) not in exact:
            groups.setdefault(
                (row["label"], row["key"], row["variable"], row["formula"]), []
            ).append(0.0 if row["lower"] == row["upper"] else row["overlap"])
    for (label, key, variable, formula), overlaps in groups.items():
        yield label, Value(overlaps_of[key], float(np.mean(overlaps)), variable, term=formula)


def _lack_of_overlap(
    world: "World", analysis: "Analysis | None"
) -> tuple[str, Callable[[Sequence[pd.DataFrame]], Estimate]]:
    """1 less the overlap of the coefficient's intervals, above 1 where they are disjoint (Snoke et
    al. 2018); its error from parts.
    """
    from riskweighted.utility.intervals import interval_overlap
    from riskweighted.utility.regressions import coefficient_intervals

    if analysis is None:
        raise InputError(
            "loss 'overlap' is that of a regression coefficient: give regression and coefficient"
        )
    ((name, true),) = coefficient_intervals(analysis, [world.confidential], synthetic=False).items()

    def lack(frames: Sequence[pd.DataFrame]) -> float:
        drawn = coefficient_intervals(analysis, frames, synthetic=True)[name]
        return 1 - interval_overlap(
            (true.lower, true.upper), (drawn.lower, drawn.upper), clip=False
        )

    def measure(frames: Sequence[pd.DataFrame]) -> Estimate:
        each = [lack(frames[part::_PARTS]) for part in range(_PARTS)]
        return Estimate(lack(frames), float(np.std(each, ddof=1) / np.sqrt(_PARTS)))

    return f"1 - overlap of {name}", measure


_D = Disclosure
_coefficient = partial(
    Measure,
    direction="neither",
    kind="coefficient",
    table="utility",
    order=50,
    parameter="coefficient",
    weighted=BIASED,
)
_each = partial(_coefficient, compute=coefficients, assess=coefficients, many=True)
_overlap = partial(
    Measure,
    source="Karr et al. 2006",
    direction="more useful",
    kind="overlap",
    disclosure=_D.TWO_DECIMALS,
    table="utility",
)
_mean_overlap = partial(_overlap, order=50, parameter="coefficient")
_TEXT = (
    "of {term} of the overlap of the scheme's interval and the confidential one; not judged "
    "where some dataset does not determine one; "
    "dummies that fewer than 10 confidential records have or lack are left out"
)
_KINDS = "least squares, or logistic (log odds) where the response has two values"
COEFFICIENT = _coefficient(
    "coefficient",
    "coefficient {term}",
    "least-squares coefficient in {formula}",
    source="Reiter 2003; METHODS section 6",
    disclosure=_D.FIVE_DIGITS,
    order=30,
    compute=estimated,
    compared=True,
)
OVERLAP = _overlap(
    "overlap",
    "overlap",
    "share of the scheme's interval and the confidential one that both hold; 1 is identical, "
    "higher is more useful",
    loss=Loss("overlap", _lack_of_overlap),
)
_EACH = _each(
    "regression-coefficient",
    "regression coefficient {term}",
    f"coefficient {{term}}, by complete cases: {_KINDS}",
    source="Reiter 2003; METHODS section 6",
)
_MEAN_OVERLAP = _mean_overlap(
    "regression-overlap", "mean overlap in {term}", f"mean over the coefficients {_TEXT}"
)
_SURVEYED = _each(
    "survey-regression-coefficient",
    "survey regression coefficient {term}",
    "survey-weighted coefficient {term}, by complete cases, with the sandwich variance of the "
    f"design: {_KINDS}",
    source="Binder 1983; Reiter 2003; METHODS section 6",
    compute=surveyed,
    assess=surveyed,
)
_SURVEY_OVERLAP = _mean_overlap(
    "survey-regression-overlap",
    "survey mean overlap in {term}",
    f"mean over the survey-weighted coefficients {_TEXT}",
)
MEASURES = (COEFFICIENT, OVERLAP, _EACH, _MEAN_OVERLAP, _SURVEYED, _SURVEY_OVERLAP)
OVERLAPS = (OVERLAP.key, _MEAN_OVERLAP.key, _SURVEY_OVERLAP.key, analyses.MEAN_OVERLAP.key)
