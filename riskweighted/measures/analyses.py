"""What regressions and functions of users' own estimate, and how far the intervals and the
confidential ones overlap (Karr et al. 2006).
"""

import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.measures.context import CONFIDENTIAL, Context
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.survey_values import UNDER_WEIGHTS, design_of

if TYPE_CHECKING:
    from riskweighted.utility.combining_rules import Interval
    from riskweighted.utility.own_analyses import OwnAnalysis
    from riskweighted.utility.regressions import Analysis

__all__ = ["ESTIMATE", "MEAN_OVERLAP", "MEASURES", "coefficients", "mean_overlaps"]


def estimates(context: Context) -> Iterator[Value]:
    """Coefficient by coefficient of each regression, then estimate by estimate of each function; of
    one that the confidential data do not give, that its overlap is not judged.
    """
    for regression in context.subject.analyses:
        yield from coefficients(context, ESTIMATE, regression, f"coefficient {{term}}, {_KINDS}")
    for analysis in context.subject.own:
        if not context.of_data and not analysis.of_data:
            yield Value(
                MEAN_OVERLAP,
                np.nan,
                term=analysis.name,
                rule=f"not judged: {analysis.why} on the confidential data",
            )
        for name, interval in _intervals(context, analysis).items():
            yield Value.of(
                ESTIMATE,
                interval,
                term=f"{name} in {analysis.name}",
                told={"formula": analysis.name},
            )


def coefficients(
    context: Context, measure: Measure, analysis: "Analysis", definition: str
) -> Iterator[Value]:
    """A value a coefficient, in a study with survey weights under them, and of several records a
    unit with errors that are robust to clusters; a warning names the regression where some cannot
    be estimated.
    """
    from riskweighted.utility.regressions import coefficient_intervals

    design = None if context.subject.design is None else design_of(context)
    surveyed = design is not None
    # the code of a pack is of the one coefficient, and by least squares alone
    if measure.many and context.paired is not None and not surveyed:
        design = context.subject.clusters
    intervals = coefficient_intervals(
        analysis,
        context.synthetic,
        synthetic=not context.of_data,
        design=design,
        level=context.settings.level,
        size_ratio=context.size_ratio,
        kappa=context.kappa,
    )
    failed = [interval.rule for interval in intervals.values() if np.isnan(interval.estimate)]
    if failed:
        warnings.warn(
            f"regression {analysis.formula!r}{' with survey weights' if surveyed else ''}, "
            f"{context.label!r}: {len(failed)} of {len(intervals)} coefficients "
            f"{'; '.join(dict.fromkeys(failed))}. Its overlap is not judged",
            RiskWeightedWarning,
            stacklevel=2,
        )
    weighted = (
        ""
        if design is None
        else f", {UNDER_WEIGHTS}, with the sandwich variance of the design (Binder 1983)"
        if surveyed
        else ", with errors robust to clusters, the units (Liang & Zeger 1986)"
    )
    for name, interval in intervals.items():
        term, told = f"{name} in {analysis.formula}", {"formula": analysis.formula}
        term = term if measure.many else name
        yield Value.of(
            measure,
            interval,
            analysis.response,
            term=term,
            told=told,
            definition=definition.format(term=term, **told) + weighted,
        )


def _intervals(context: Context, analysis: "OwnAnalysis") -> "dict[str, Interval]":
    from riskweighted.utility.own_analyses import analysis_intervals, one_interval

    level = context.settings.level
    if context.of_data or not analysis.of_data:
        return {
            name: one_interval(*pair, level, synthetic=False)
            for name, pair in analysis.of_data.items()
        }
    intervals, why = analysis_intervals(
        analysis,
        context.synthetic,
        design=context.subject.design,
        level=level,
        size_ratio=context.size_ratio,
        kappa=context.kappa,
    )
    if why:
        warnings.warn(
            f"the analysis {analysis.name!r} {why} of {context.label!r}: it is not judged",
            RiskWeightedWarning,
            stacklevel=2,
        )
    return intervals


def mean_overlaps(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Value]]:
    """By label the mean overlap of the coefficients of each regression, and of the estimates of
    each function: NaN, which is not judged, where one of them cannot be estimated. An estimate that
    has no variance in the confidential data has no interval to overlap, and does not count; one
    that has none in the synthetic data counts 0.
    """
    groups: dict[tuple[str, str | None, str], list[float]] = {}
    held = [row for row in rows if row["key"] == ESTIMATE.key]
    exact = {
        (row["formula"], row["term"])
        for row in held
        if row["label"] == CONFIDENTIAL and row["lower"] == row["upper"]
    }
    for row in held:
        if row["label"] != CONFIDENTIAL and (row["formula"], row["term"]) not in exact:
            overlap = 0.0 if row["lower"] == row["upper"] else row["overlap"]
            groups.setdefault((row["label"], row["variable"], row["formula"]), []).append(overlap)
    for (label, variable, formula), overlaps in groups.items():
        yield label, Value(MEAN_OVERLAP, float(np.mean(overlaps)), variable, term=formula)


_KINDS = (
    "by complete cases: least squares, or logistic (log odds) where the response has two values"
)
_of_analysis = partial(Measure, table="utility", order=50, parameter="coefficient")
ESTIMATE = _of_analysis(
    "analysis-estimate",
    "estimate {term}",
    "estimate {term}, with the variance that the function gives, or coefficient of a regression",
    source="Reiter 2003; METHODS section 6",
    direction="neither",
    kind="coefficient",
    many=True,
    weighted=BIASED,
    compute=estimates,
)
MEAN_OVERLAP = _of_analysis(
    "analysis-overlap",
    "mean overlap in {term}",
    "mean over the estimates or coefficients of {term} of the overlap of the scheme's interval and "
    "the confidential one; not judged where some dataset does not determine one, or where a "
    "function fails or gives other names; dummies that fewer than 10 confidential records have or "
    "lack are left out",
    source="Karr et al. 2006",
    direction="more useful",
    kind="overlap",
    disclosure=Disclosure.TWO_DECIMALS,
)
MEASURES = (ESTIMATE, MEAN_OVERLAP)
