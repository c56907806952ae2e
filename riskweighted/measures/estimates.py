"""Mean, quantiles and shares of one variable, with intervals of the pooled bootstrap, of a
combining rule, or of a survey's design.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riskweighted.common.value_counts import NumberCounts, ValueCounts
from riskweighted.intruder.statuses import AMOUNT, MISSING, status_name
from riskweighted.measures.context import Context
from riskweighted.measures.distributions import AMOUNTS
from riskweighted.measures.measure import LEAST_TAIL, Disclosure, Measure, Value
from riskweighted.measures.survey_values import amounts_of, design_of, has_status, survey_value

if TYPE_CHECKING:
    from riskweighted.utility.combining_rules import Interval

__all__ = ["BIASED", "MEAN", "MEASURES", "QUANTILE"]


def estimates(context: Context) -> Iterator[Value]:
    """Mean and quantiles of a number, shares of the levels of a category, of missing values and of
    special codes.
    """
    if context.subject.design is not None:
        yield from _weighted(context)
        return
    true, drawn = context.counts
    if isinstance(true, NumberCounts):
        amounts = [of.amounts for of in drawn]
        yield _value(context, MEAN, amounts)
        for quantile in map(float, context.settings.quantiles):
            yield _value(context, QUANTILE, amounts, parameter=quantile)
    for term, what in _told_apart(context):
        yield _value(context, _SHARE, [of.having(what) for of in drawn], term=term)


def _told_apart(context: Context) -> Iterator[tuple[str, Any]]:
    """What 10 confidential records share: the name of a special code or a level, or that a value is
    missing, and the status, or the level, None if missing.
    """
    true, _ = context.counts
    if isinstance(true, NumberCounts):
        codes = context.scenario.codes_of(str(context.variable))
        held = np.flatnonzero(true.statuses >= LEAST_TAIL).tolist()
        yield from ((status_name(status, codes), status) for status in held if status != AMOUNT)
        return
    levels = {level: count for level, count in true.counts.items() if count >= LEAST_TAIL}
    ordered = (
        [level for level in true.order if level in levels]
        if true.order
        else sorted(levels, key=str)
    )
    names = [str(level) for level in ordered]
    yield from zip(names, ordered, strict=True)
    if true.missing >= LEAST_TAIL:
        missing = status_name(MISSING, ())
        yield f"{missing} values" if missing in names else missing, None


def _value(
    context: Context,
    measure: Measure,
    values: Sequence[ValueCounts],
    parameter: float | None = None,
    term: str | None = None,
) -> Value:
    """The mean, or the quantile `parameter`, of values of each dataset: with the interval of the
    pooled bootstrap or, without resamples, of a mean that of the rule by which they combine.
    """
    from riskweighted.utility.bootstrap import pooled_bootstrap

    settings, definition = context.settings, None
    if settings.resamples:
        interval = pooled_bootstrap(
            values, parameter, context.rng, resamples=settings.resamples, level=settings.level
        )
    elif parameter is None:
        interval, definition = _combined(context, values), _WITHOUT_BOOTSTRAP
    else:
        estimate = float(np.mean([each.quantile(parameter) for each in values]))
        return Value(
            measure, estimate, context.variable, parameter, term, definition="mean over datasets"
        )
    return Value.of(
        measure, interval, context.variable, parameter=parameter, term=term, definition=definition
    )


def _weighted(context: Context) -> Iterator[Value]:
    """The same under survey weights, with design-based intervals."""
    from riskweighted.utility.survey_estimates import survey_mean, survey_quantile

    design, level = design_of(context), context.settings.level
    if context.is_numeric:
        values = [amounts_of(context, column) for column in context.columns]
        yield survey_value(
            context, MEAN, [survey_mean(amounts, design, level=level) for amounts in values]
        )
        for quantile in map(float, context.settings.quantiles):
            found = [survey_quantile(amounts, quantile, design, level=level) for amounts in values]
            yield survey_value(context, QUANTILE, found, parameter=quantile)
    for term, what in _told_apart(context):
        found = [
            survey_mean(has_status(context, column, what).astype(float), design, level=level)
            for column in context.columns
        ]
        yield survey_value(context, _SHARE, found, term=term)


def _combined(context: Context, values: Sequence[ValueCounts]) -> "Interval":
    """The mean over L datasets by the rule by which they combine, of one with its t interval."""
    from riskweighted.utility.combining_rules import TOO_SHORT, combined_interval, t_interval

    level, means = context.settings.level, [each.mean for each in values]
    variances = [each.variance / len(each) if len(each) > 1 else 0.0 for each in values]
    if len(values) > 1:
        return combined_interval(
            means, variances, level=level, size_ratio=context.size_ratio, kappa=context.kappa
        )
    short = "" if context.of_data or context.sampled else TOO_SHORT
    rule = f"t interval of one dataset{short}"
    return t_interval(means[0], variances[0], len(values[0]) - 1, level, rule)


_WIDE = (
    "Weights below 1 bias it; the pooled bootstrap is wide enough to hide a small bias, but its "
    "level is not assured (docs/trust.md)."
)
BIASED = (
    "Weights below 1 bias it, so its interval holds the truth less often than its level says, "
    "often much less (docs/trust.md)."
)
_BOOTSTRAP = (
    "mean over datasets, with the interval of the pooled bootstrap; in a study with survey weights "
    "under these, and design-based"
)
_WITHOUT_BOOTSTRAP = (
    "mean of the amounts, missing values and special codes left out, or share of the records; mean "
    "over datasets"
)
_of_one = partial(
    Measure,
    source="METHODS section 6",
    direction="neither",
    table="utility",
    each=True,
    order=20,
    compute=estimates,
)
_SHARE = _of_one(
    "level-share",
    "share of {term}",
    f"share of the records that have this level or special code, or whose value is missing; "
    f"{_BOOTSTRAP}",
    kind="share",
    parameter="level",
    many=True,
    weighted=BIASED,
)
MEAN = _of_one(
    "mean",
    "mean",
    _BOOTSTRAP,
    kind="estimate",
    disclosure=Disclosure.FIVE_DIGITS,
    boundary=AMOUNTS,
    weighted=_WIDE,
    compared=True,
)
QUANTILE = _of_one(
    "quantile",
    "{parameter!r} quantile",
    _BOOTSTRAP,
    kind="estimate",
    disclosure=Disclosure.SHARED_DIGITS,
    parameter="quantile",
    boundary=f"Linear interpolation between neighbouring values. {AMOUNTS}",
    weighted=_WIDE,
    compared=True,
)
MEASURES = (_SHARE, MEAN, QUANTILE)
