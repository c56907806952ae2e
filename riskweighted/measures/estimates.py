"""Mean, quantiles and shares of one variable, with pooled bootstrap intervals, or in an assessment
those of a combining rule.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from riskweighted.common.value_counts import ValueCounts
from riskweighted.measures.context import Context
from riskweighted.measures.counts import NumberCounts, counts_of_variable, told_apart
from riskweighted.measures.distributions import AMOUNTS
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import ByParts, Tally

__all__ = ["BIASED", "MEAN", "MEASURES", "QUANTILE"]


def _values(total: Tally, context: Context) -> Iterator[Value]:
    """Mean and quantiles of a number, shares of the levels of a category, of missing values and of
    special codes.
    """
    true, drawn = total["true"], total["drawn"]
    if isinstance(true, NumberCounts):
        amounts = [of.amounts for of in drawn]
        yield _value(context, MEAN, amounts)
        for quantile in map(float, context.settings.quantiles):
            yield _value(context, QUANTILE, amounts, parameter=quantile)
    for coded, term, what in told_apart(context, true):
        yield _value(
            context, _MISSING if coded else _LEVEL, [of.having(what) for of in drawn], term=term
        )


def _value(
    context: Context,
    measure: Measure,
    values: Sequence[ValueCounts],
    parameter: float | None = None,
    term: str | None = None,
) -> Value:
    """The mean, or the quantile `parameter`, of values of each dataset, with its interval."""
    from riskweighted.utility.bootstrap import pooled_bootstrap

    settings = context.settings
    pooled = pooled_bootstrap(
        values, parameter, context.rng, resamples=settings.resamples, level=settings.level
    )
    return Value.of(measure, pooled, context.variable, parameter=parameter, term=term)


estimates = ByParts(counts_of_variable, _values)


def combined(context: Context) -> Iterator[Value]:
    """The mean of a number over L datasets by the combining rule that fits them."""
    if not context.is_numeric:
        return
    from riskweighted.utility.intervals import TOO_SHORT, combined_interval, mean_interval

    datasets, level = context.amounts[1], context.settings.level
    means = [float(values.mean()) for values in datasets]
    definition = (
        "mean of the amounts, missing values and special codes left out; mean over datasets"
    )
    if len(datasets) == 1:
        rule = f"t interval of one dataset{'' if context.of_data or context.sampled else TOO_SHORT}"
        interval = mean_interval(datasets[0], level=level)
        yield Value(
            MEAN, means[0], context.variable, interval=interval, rule=rule, definition=definition
        )
        return
    variances = [
        float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0 for values in datasets
    ]
    mean = combined_interval(means, variances, level=level, size_ratio=context.size_ratio)
    yield Value.of(MEAN, mean, context.variable, definition=definition)


_WIDE = (
    "Weights below 1 bias it; the pooled bootstrap is wide enough to hide a small bias, but its "
    "level is not assured (docs/trust.md)."
)
BIASED = (
    "Weights below 1 bias it, so its interval holds the truth less often than its level says, "
    "often much less (docs/trust.md)."
)
_BOOTSTRAP = "mean over datasets, with the interval of the pooled bootstrap"
_of_one = partial(
    Measure,
    source="METHODS section 6",
    direction="neither",
    table="utility",
    each=True,
    order=20,
    compute=estimates,
)
_share = partial(_of_one, kind="share", parameter="level", many=True, weighted=BIASED)
_LEVEL = _share("level-share", "share of {term}", _BOOTSTRAP)
_MISSING = _share(
    "missing-share",
    "share coded {term}",
    f"share of the records whose value is missing, or is this special code; {_BOOTSTRAP}",
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
    assess=combined,
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
MEASURES = (_LEVEL, _MISSING, MEAN, QUANTILE)
