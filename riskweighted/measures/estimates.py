"""Mean, quantiles and shares of one variable, with pooled bootstrap intervals, or in an assessment those of a combining rule."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from riskweighted.measures.context import Context
from riskweighted.measures.distributions import AMOUNTS
from riskweighted.measures.measure import LEAST_TAIL, Disclosure, Measure, Value

__all__ = ["BIASED", "MEAN", "MEASURES", "QUANTILE", "held_levels", "shares"]


def estimates(context: Context) -> Iterator[Value]:
    """Mean and quantiles of a number, shares of the levels of a category, of missing values and of special codes."""
    if context.is_numeric:
        yield _value(context, MEAN, context.amounts[1])
        for quantile in map(float, context.settings.quantiles):
            yield _value(context, QUANTILE, context.ordered, parameter=quantile)
    for coded, term, having in shares(context):
        yield _value(context, _MISSING if coded else _LEVEL, [np.asarray(held, dtype=float) for held in having], term=term)


def _value(
    context: Context, measure: Measure, values: Sequence[np.ndarray], parameter: float | None = None, term: str | None = None
) -> Value:
    """The mean, or the quantile `parameter`, of values of each dataset, with its interval."""
    from riskweighted.utility.bootstrap import pooled_bootstrap

    settings = context.settings
    pooled = pooled_bootstrap(values, parameter, context.rng, resamples=settings.resamples, level=settings.level)
    return Value.of(measure, pooled, context.variable, parameter=parameter, term=term)


def shares(context: Context) -> Iterator[tuple[bool, str, list[np.ndarray]]]:
    """What 10 confidential records share: whether it is missing or a code, its name, and who has it in each dataset, booleans (n,)."""
    from riskweighted.contract.categories import codes_in
    from riskweighted.intruder.statuses import MISSING, status_name

    column, drawn, scenario = context.true_values, context.columns, context.scenario
    if context.is_numeric:
        statuses, theirs = scenario.statuses(column), [scenario.statuses(values).status for values in drawn]
        for status in (status for status in statuses.present if (statuses.status == status).sum() >= LEAST_TAIL):
            yield True, status_name(status, scenario.codes_of(str(context.variable))), [dataset == status for dataset in theirs]
        return
    levels = held_levels(column)
    codes = [codes_in(values, levels) for values in drawn]
    for number, level in enumerate(levels):
        yield False, str(level), [code == number for code in codes]
    if column.isna().sum() >= LEAST_TAIL:
        yield True, status_name(MISSING, ()), [values.isna().to_numpy() for values in drawn]


def held_levels(column: pd.Series) -> list[object]:
    """The levels that 10 records have, in their order."""
    held = column.value_counts() >= LEAST_TAIL
    levels = held.index[held].tolist()
    ordered = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else sorted(levels, key=str)
    return [level for level in ordered if level in levels]


def combined(context: Context) -> Iterator[Value]:
    """The mean of a number over L datasets by the combining rule that fits them."""
    if not context.is_numeric:
        return
    from riskweighted.utility.intervals import TOO_SHORT, combined_interval, mean_interval

    datasets, level = context.amounts[1], context.settings.level
    means = [float(values.mean()) for values in datasets]
    definition = "mean of the amounts, missing values and special codes left out; mean over datasets"
    if len(datasets) == 1:
        rule = f"t interval of one dataset{'' if context.of_data or context.sampled else TOO_SHORT}"
        interval = mean_interval(datasets[0], level=level)
        yield Value(MEAN, means[0], context.variable, interval=interval, rule=rule, definition=definition)
        return
    variances = [float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0 for values in datasets]
    mean = combined_interval(means, variances, level=level, size_ratio=context.size_ratio)
    yield Value.of(MEAN, mean, context.variable, definition=definition)


_WIDE = "Weights below 1 bias it; the pooled bootstrap is wide enough to hide a small bias, but its level is not assured (docs/trust.md)."
BIASED = "Weights below 1 bias it, so its interval holds the truth less often than its level says, often much less (docs/trust.md)."
_BOOTSTRAP = "mean over datasets, with the interval of the pooled bootstrap"
_of_one = partial(Measure, source="METHODS section 6", direction="neither", table="utility", each=True, order=20, compute=estimates)
_share = partial(_of_one, kind="share", parameter="level", many=True, weighted=BIASED)
_LEVEL = _share("level-share", "share of {term}", _BOOTSTRAP)
_MISSING = _share(
    "missing-share", "share coded {term}", f"share of the records whose value is missing, or is this special code; {_BOOTSTRAP}"
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
