"""Identification risk of the records in the datasets at hand (Hu et al. 2022, eq. 1), and in the
confidential data (eq. 2).
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from riskweighted.common.exact import ExactSum
from riskweighted.common.order import Bins, OrderCounts
from riskweighted.measures.context import Context
from riskweighted.measures.expected import HARDLY_MOVES
from riskweighted.measures.measure import (
    Disclosure,
    Measure,
    Value,
    mean_of_records,
    share_of_records,
)
from riskweighted.measures.parts import ByParts, Largest, Tally

__all__ = ["MEAN", "MEASURES"]

_QUANTILES = (0.25, 0.75, 0.95)


def _tally(context: Context) -> Tally:
    """Of the risk of the records, mean over the datasets."""
    risk = np.asarray(context.risk)
    return Tally(
        risk=ExactSum.of(risk),
        order=OrderCounts.of(risk),
        largest=Largest.of(risk),
        over=int((risk > context.settings.threshold).sum()),
        singletons=context.world.patterns.singletons,
    )


def _values(total: Tally, context: Context) -> Iterator[Value]:
    q25, q75, q95 = total["order"].quantiles(_QUANTILES)
    yield Value(MEAN, total["risk"].mean)
    yield Value(_RANGE, q75 - q25)
    yield Value(_Q95, q95)
    yield Value(_MAXIMUM, float(total["largest"].values))
    yield Value(_OVER, float(total["over"]), parameter=float(context.settings.threshold))
    yield Value(_SINGLETONS, float(total["singletons"]))


def _unsettled(total: Tally, context: Context) -> Bins | None:
    order: OrderCounts = total["order"]
    return order.unsettled(order.ranks(_QUANTILES))


def _again(context: Context, bins: Bins) -> OrderCounts:
    return OrderCounts.of(np.asarray(context.risk), bins)


def _completed(total: Tally, order: OrderCounts) -> Tally:
    return Tally({**total, "order": total["order"].finer(order)})


summaries = ByParts(_tally, _values, further=_unsettled, again=_again, completed=_completed)


def assessed(context: Context) -> Iterator[Value]:
    """The same of any tool's data whose rows pair, with intervals."""
    if context.paired is None:
        return
    from riskweighted.risk.identification import identification_risks

    risk, level = identification_risks(context.paired).mean(axis=0), context.settings.level
    yield mean_of_records(MEAN, risk.mean(), risk, level)
    over = share_of_records(
        _OVER, float((risk > context.settings.threshold).mean()), len(risk), level
    )
    number, (lower, upper) = len(risk), over.interval
    yield over._replace(
        value=number * over.value,
        interval=(number * lower, number * upper),
        parameter=float(context.settings.threshold),
    )
    alone = f"{_SINGLETONS.definition} (eq. 1 gives it 0)"
    yield Value(
        _SINGLETONS, float(context.world.patterns.singletons), rule="a count", definition=alone
    )


_D = Disclosure
_of_risk = partial(
    Measure,
    source="Hu et al. 2022, eq. 1; of the confidential data eq. 2",
    direction="riskier",
    order=40,
    compute=summaries,
)
_of_pairs = partial(_of_risk, pairs=True)
_quantile = partial(_of_pairs, kind="quantile", disclosure=_D.TWO_DECIMALS)
_extreme = partial(_of_pairs, kind="extreme", disclosure=_D.LEFT_OUT)
_CHANCE = (
    "the maximum belongs to a record in the bulk, whose risk weights do not lower, and over the "
    "L datasets at hand it is mostly chance"
)
MEAN = _of_pairs(
    "mean-risk",
    "mean risk",
    "mean over records of {risk}",
    kind="mean",
    disclosure=_D.THREE_DECIMALS,
    words="mean risk in these datasets",
    main=120,
    assess=assessed,
    aim=HARDLY_MOVES,
)
_RANGE = _quantile(
    "risk-interquartile-range",
    "risk interquartile range",
    "75 % minus 25 % quantile over records of {risk}",
    words="interquartile range of risk in these datasets",
)
_Q95 = _quantile(
    "risk-quantile-95",
    "risk 95 % quantile",
    "95 % quantile over records of {risk}",
    words="95 % quantile of risk in these datasets",
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
    assess=assessed,
)
_SINGLETONS = _of_risk(
    "singleton-patterns",
    "singleton patterns",
    "known patterns of one record, which the pattern alone identifies",
    source="METHODS section 2",
    kind="count",
    disclosure=_D.COUNT,
    assess=assessed,
)
MEASURES = (MEAN, _RANGE, _Q95, _MAXIMUM, _OVER, _SINGLETONS)
