"""Identification risk of the records in the datasets at hand (Hu et al. 2022, eq. 1), and in the
confidential data (eq. 2); whether an intruder who looks for all synthesized variables finds the
record (Reiter & Mitra 2009).
"""

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np

from riskweighted.common.errors import SingletonWarning
from riskweighted.measures.context import Context
from riskweighted.measures.expected_measures import HARDLY_MOVES, ISOLATED_RECORDS
from riskweighted.measures.measure import (
    Disclosure,
    Measure,
    Value,
    mean_of_records,
    share_of_records,
)

__all__ = ["ISOLATED", "MEAN", "MEASURES"]

_QUANTILES = (0.25, 0.75)


def summaries(context: Context) -> Iterator[Value]:
    """Of the risk of the records, mean over the datasets; of several variables the match risk too,
    and the risk of each where the intruder looks for it alone. Intervals over records where no fit
    tells the risk that is expected.
    """
    assert context.risk is not None
    assert context.matched is not None
    risk, threshold = context.risk, float(context.settings.threshold)
    of_data_alone = not context.subject.expected
    over, level, n = int((risk > threshold).sum()), context.settings.level, len(risk)
    q25, q75 = np.quantile(risk, _QUANTILES)
    yield _mean(context, MEAN, risk)
    yield Value(_RANGE, float(q75 - q25))
    yield Value(_MAXIMUM, float(risk.max()))
    counted = Value(_OVER, float(over), parameter=threshold)
    if of_data_alone:
        share = share_of_records(_OVER, over / n, n, level)
        lower, upper = share.interval
        counted = counted._replace(interval=(n * lower, n * upper), rule=share.rule)
    yield counted
    several = len(context.scenario.synthetic) > 1
    if several or of_data_alone:
        matched = _mean(context, _EXPECTED, context.matched)
        lower, upper = matched.interval
        yield matched._replace(value=float(context.matched.sum()), interval=(n * lower, n * upper))
        yield _mean(context, ISOLATED, risk[context.subject.isolated])
    for variable in context.scenario.synthetic if several else ():
        yield from _alone(context, variable)


def _mean(
    context: Context, measure: Measure, values: np.ndarray, variable: str | None = None
) -> Value:
    """The mean over records, with its interval where no fit was given."""
    if context.subject.expected:
        return Value(measure, float(values.mean()), variable)
    mean = mean_of_records(measure, float(values.mean()), values, context.settings.level)
    return mean._replace(variable=variable)


def _alone(context: Context, variable: str) -> Iterator[Value]:
    """The risk of one variable of several, of all records and of those that are isolated by it."""
    from riskweighted.risk.expected_identification import isolated_records
    from riskweighted.risk.identification import confidential_risk, mean_identification_risk

    assert context.paired is not None
    with warnings.catch_warnings():
        # the patterns are those of all variables, of which it was said
        warnings.simplefilter("ignore", SingletonWarning)
        of_data = np.asarray(confidential_risk(context.world.only(variable)))
        risk = (
            of_data if context.of_data else mean_identification_risk(context.paired.only(variable))
        )
    yield _mean(context, MEAN, risk, variable)
    yield _mean(context, ISOLATED, risk[isolated_records(of_data)], variable)


_D = Disclosure
_of_pairs = partial(
    Measure,
    source="Hu et al. 2022, eq. 1; of the confidential data eq. 2",
    direction="riskier",
    order=40,
    compute=summaries,
    needs="pairs",
)
_quantile = partial(_of_pairs, kind="quantile", disclosure=_D.TWO_DECIMALS)
_extreme = partial(_of_pairs, kind="extreme", disclosure=_D.LEFT_OUT)
_CHANCE = (
    "the maximum belongs to a record in the bulk, whose risk weights do not lower, and over the "
    "L datasets at hand it is mostly chance"
)
MEAN = _of_pairs(
    "mean-risk",
    "mean risk",
    "mean over records of {risk}{alone}",
    kind="mean",
    disclosure=_D.THREE_DECIMALS,
    words="mean risk in these datasets",
    main=120,
    aim=HARDLY_MOVES,
)
_RANGE = _quantile(
    "risk-interquartile-range",
    "risk interquartile range",
    "75 % minus 25 % quantile over records of {risk}",
    words="interquartile range of risk in these datasets",
)
_MAXIMUM = _extreme(
    "maximum-risk",
    "maximum risk",
    "maximum over records of {risk}",
    words="largest risk in these datasets",
    main=130,
    aim=_CHANCE,
)
_OVER = _of_pairs(
    "records-over",
    "records over {parameter:g}",
    "records with {risk} > {parameter:g}",
    kind="count",
    disclosure=_D.COUNT,
    parameter="threshold",
    boundary="A record at the threshold itself is not counted.",
    words="records at risk over {parameter:g} in these datasets",
    main=140,
)
_EXPECTED = _of_pairs(
    "expected-match",
    "expected match risk",
    "sum over records of T/c, mean over datasets (Hu's lecture)",
    source="Hu's lecture on matching-based risk",
    kind="sum",
    disclosure=_D.THREE_DIGITS,
    main=100,
)
ISOLATED = _of_pairs(
    "isolated-risk",
    "risk of isolated records",
    f"mean over the {ISOLATED_RECORDS}, of {{risk}}{{alone}}",
    source="METHODS section 2.6",
    kind="mean",
    disclosure=_D.THREE_DECIMALS,
    share=0.05,
    main=110,
)
MEASURES = (MEAN, _RANGE, _MAXIMUM, _OVER, _EXPECTED, ISOLATED)
