"""Distances, means, quantiles and shares under survey weights, beside those without: the same
weights in every dataset (METHODS section 6).

What has no rule is not shown outside: a record of large weight could be told from two such numbers.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.measures.context import Context
from riskweighted.measures.counts import counts_of, told_apart
from riskweighted.measures.distributions import ECDF_EDGE
from riskweighted.measures.estimates import BIASED
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.settings import EvaluationSettings

if TYPE_CHECKING:
    from riskweighted.utility.survey import SurveyEstimate
    from riskweighted.utility.survey_design import SurveyDesign

__all__ = ["MEASURES", "checked_design"]


def checked_design(
    confidential: pd.DataFrame, settings: EvaluationSettings, synthetic: Sequence[str]
) -> "SurveyDesign | None":
    """The design that the settings name, None without survey weights; refused if its columns are
    among the `synthetic` ones.
    """
    if settings.survey is None:
        return None
    from riskweighted.utility.survey_design import design_columns, survey_design

    named = {name: getattr(settings, name) for name in ("survey", "strata", "psu", "fpc")}
    columns = [(name, column) for name, column in named.items() if column is not None]
    if settings.replicates is not None:
        columns += [
            ("replicates", column)
            for column in design_columns(settings.replicates, list(confidential.columns))
        ]
    for name, column in columns:
        if column in synthetic:
            raise InputError(
                f"{name} names {column!r}, which is synthesized: the design must be the same in "
                "every dataset"
            )
    return survey_design(
        confidential,
        settings.survey,
        settings.strata,
        psu=settings.psu,
        fpc=settings.fpc,
        replicates=settings.replicates,
        replication=settings.replication,
        fay=settings.fay,
        replicate_factors=settings.replicate_factors,
    )


def weighted(context: Context) -> Iterator[Value]:
    """Of one variable: distances from the confidential distribution, then estimates with
    design-based intervals.
    """
    design = context.subject.design
    if design is None:
        return
    from riskweighted.utility.survey import survey_mean, survey_quantile

    _check_same(context, design)
    if not context.of_data:
        yield from _distances(context, design)
    level = context.settings.level
    if context.is_numeric:
        values = [_amounts(context, column) for column in context.columns]
        yield _value(
            context, _MEAN, [survey_mean(amounts, design, level=level) for amounts in values]
        )
        for quantile in map(float, context.settings.quantiles):
            estimates = [
                survey_quantile(amounts, quantile, design, level=level) for amounts in values
            ]
            yield _value(context, _QUANTILE, estimates, parameter=quantile)
    for coded, term, what in told_apart(context, counts_of(context, context.true_values)):
        estimates = [
            survey_mean(_having(context, column, what).astype(float), design, level=level)
            for column in context.columns
        ]
        yield _value(context, _MISSING if coded else _LEVEL, estimates, term=term)


def _amounts(context: Context, column: pd.Series) -> np.ndarray:
    """The amounts of all records, (n,), NaN where there is none."""
    statuses = context.scenario.statuses(column)
    return np.where(statuses.is_amount, statuses.values, np.nan)


def _having(context: Context, column: pd.Series, what: Any) -> np.ndarray:
    """Which records have a status of a number, or a level, None if missing; booleans (n,)."""
    if context.is_numeric:
        return np.asarray(context.scenario.statuses(column).status == what)
    from riskweighted.contract.categories import codes_in

    return np.asarray(column.isna() if what is None else codes_in(column, [what]) == 0)


def _check_same(context: Context, design: "SurveyDesign") -> None:
    """Refuse datasets that hold another design than the confidential data."""
    for name in design.columns:
        true = pd.Series(context.confidential[name].to_numpy())
        changed = sum(
            name in frame.columns and not pd.Series(frame[name].to_numpy()).equals(true)
            for frame in context.synthetic
        )
        if changed:
            raise InputError(
                f"{changed} datasets of {context.label!r} have another column {name!r} than the "
                "confidential data: it must be the same"
            )


def _distances(context: Context, design: "SurveyDesign") -> Iterator[Value]:
    """Distances of the weighted distributions, mean over datasets."""
    from riskweighted.utility.survey import weighted_ecdf_distance, weighted_total_variation

    if not context.is_numeric:
        distance = np.mean(
            [
                weighted_total_variation(context.true_values, drawn, design.weights)
                for drawn in context.columns
            ]
        )
        yield Value(_TOTAL_VARIATION, float(distance), context.variable)
        return
    true = _amounts(context, context.true_values)
    drawn = [_amounts(context, column) for column in context.columns]
    distances = np.array(
        [weighted_ecdf_distance(true, values, design.weights) for values in drawn]
    ).mean(axis=0)
    for measure, value in zip((_U_M, _U_A), distances, strict=True):
        yield Value(measure, float(value), context.variable)


def _value(
    context: Context,
    measure: Measure,
    estimates: "list[SurveyEstimate]",
    parameter: float | None = None,
    term: str | None = None,
) -> Value:
    """With the interval of one dataset, or that of Reiter's rule with design-based variances."""
    from riskweighted.utility.intervals import TOO_SHORT, combine_partially_synthetic

    described = context.subject.design.described  # type: ignore[union-attr]
    failed = sum(
        not np.isfinite([estimate.value, estimate.variance]).all() for estimate in estimates
    )
    if failed:
        told = f"not estimable in {failed} of {len(estimates)} datasets"
        return Value(
            measure, np.nan, context.variable, parameter, term, interval=(np.nan, np.nan), rule=told
        )
    if len(estimates) > 1:
        variances = [estimate.variance for estimate in estimates]
        values, level = [estimate.value for estimate in estimates], context.settings.level
        combined = combine_partially_synthetic(values, variances, level=level, kappa=context.kappa)
        combined = combined._replace(rule=f"{combined.rule}, vbar {described}")
        return Value.of(measure, combined, context.variable, parameter=parameter, term=term)
    rule = f"one dataset: {described}{'' if context.of_data else TOO_SHORT}"
    (estimate,) = estimates
    return Value(
        measure,
        estimate.value,
        context.variable,
        parameter,
        term,
        interval=(estimate.lower, estimate.upper),
        rule=rule,
    )


_SURVEY = "design-based under survey weights, mean over datasets"
_ECDF = (
    "of the difference of survey-weighted empirical distribution functions, mean over datasets "
    "(Woo et al. 2009)"
)
_of_one = partial(
    Measure,
    source="METHODS section 6",
    direction="neither",
    table="utility",
    each=True,
    order=40,
    compute=weighted,
)
_distance = partial(
    _of_one, direction="less useful", kind="distance", disclosure=Disclosure.THREE_DIGITS
)
_share = partial(_of_one, kind="share", parameter="level", many=True, weighted=BIASED)
_U_M = _distance(
    "survey-ecdf-maximum",
    "survey U_m",
    f"maximum {_ECDF}",
    boundary=ECDF_EDGE,
    words="largest distance of distribution functions under survey weights",
    symbol="U_m",
)
_U_A = _distance(
    "survey-ecdf-mean-square",
    "survey U_a",
    f"mean square, over the weight of both, {_ECDF}",
    boundary=ECDF_EDGE,
    words="mean square distance of distribution functions under survey weights",
    symbol="U_a",
)
_TOTAL_VARIATION = _distance(
    "survey-total-variation",
    "survey total variation",
    "half the sum over the levels of the absolute differences of their shares of the survey "
    "weight, mean over datasets",
)
_LEVEL = _share("survey-level-share", "survey share of {term}", _SURVEY)
_MISSING = _share(
    "survey-missing-share",
    "survey share coded {term}",
    f"share of the records whose value is missing, or is this special code; {_SURVEY}",
)
_MEAN = _of_one("survey-mean", "survey mean", _SURVEY, kind="estimate", weighted=BIASED)
_QUANTILE = _of_one(
    "survey-quantile",
    "survey {parameter!r} quantile",
    f"{_SURVEY}; interval of Woodruff (1952)",
    kind="estimate",
    parameter="quantile",
    boundary="The smallest value up to which at least this share of the survey weight lies.",
    weighted=BIASED,
)
MEASURES = (_U_M, _U_A, _TOTAL_VARIATION, _LEVEL, _MISSING, _MEAN, _QUANTILE)
