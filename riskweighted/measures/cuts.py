"""Where isolated records and the largest values begin in a whole file, found over its parts before
anything of them is measured.
"""

import warnings
from collections.abc import Callable

import numpy as np

from riskweighted.common.errors import SingletonWarning
from riskweighted.common.order import Bins, OrderCounts
from riskweighted.measures.context import Context
from riskweighted.measures.parts import ByParts

__all__ = ["confidential_risk_alone", "isolated_cut", "top_cut"]


def confidential_risk_alone(context: Context) -> np.ndarray:
    """IR^c of every record, (n,), where the intruder looks for the variable that is meant alone."""
    from riskweighted.risk.identification import confidential_risk

    with warnings.catch_warnings():
        # the patterns are those of all variables, of which it was said
        warnings.simplefilter("ignore", SingletonWarning)
        return np.asarray(confidential_risk(context.world.only(str(context.variable))))


def _risk(context: Context, within: Bins | None = None) -> OrderCounts:
    risk = (
        context.subject.confidential_risk
        if context.variable is None
        else confidential_risk_alone(context)
    )
    return OrderCounts.of(risk, within)


def _amounts(context: Context, within: Bins | None = None) -> OrderCounts:
    (variable,) = context.world.numeric
    return OrderCounts.of(context.scenario.statuses(context.confidential[variable]).amounts, within)


def _isolated_rank(total: OrderCounts) -> list[int]:
    from riskweighted.risk.expected import ISOLATED_SHARE, rank_at_cut

    return [rank_at_cut(len(total), ISOLATED_SHARE)]


def _top_rank(total: OrderCounts) -> list[int]:
    from riskweighted.risk.expected import TOP_SHARE, rank_at_cut

    return [rank_at_cut(len(total), TOP_SHARE)]


def _cut(counted: Callable[..., OrderCounts], rank: Callable[[OrderCounts], list[int]]) -> ByParts:
    return ByParts(
        counted,
        lambda total, _: float(total.at(rank(total))[0]),
        further=lambda total, _: total.unsettled(rank(total)),
        again=counted,
        completed=OrderCounts.finer,
    )


isolated_cut, top_cut = _cut(_risk, _isolated_rank), _cut(_amounts, _top_rank)
