"""Whack-a-mole: protecting some records exposes those that they hid, so their risk rises over the
baseline (METHODS section 2).
"""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import ByParts, Largest, Tally

__all__ = ["MEASURES"]


def _tally(context: Context) -> Tally | None:
    """Whose risk rose over the baseline, and the largest rise."""
    rival, risk = context.baseline, context.risk
    if rival is None or rival.risk is None or risk is None:
        return None
    from riskweighted.risk.chance import risk_rise, whacked

    flagged = whacked(risk, rival.risk, float(context.settings.increase))
    return Tally(whacked=int(flagged.sum()), largest=Largest.of(risk_rise(risk, rival.risk)))


def _values(total: Tally | None, context: Context) -> Iterator[Value]:
    if total is not None:
        yield Value(_WHACKED, float(total["whacked"]), parameter=float(context.settings.increase))
        yield Value(_LARGEST, float(total["largest"].values))


rises = ByParts(_tally, _values)
_rise = partial(
    Measure, source="METHODS section 2", direction="riskier", order=50, compute=rises, pairs=True
)
_WHACKED = _rise(
    "whack-a-mole",
    "whack-a-mole records",
    "records with {rise} >= {parameter:g}",
    kind="count",
    disclosure=Disclosure.COUNT,
    parameter="increase",
    boundary="A rise of exactly the limit is counted.",
    words="records whose risk rose by {parameter:g} in these datasets",
    main=160,
)
_LARGEST = _rise(
    "largest-rise",
    "largest rise",
    "maximum over records of {rise}",
    kind="extreme",
    disclosure=Disclosure.LEFT_OUT,
    words="largest rise of risk in these datasets",
)
MEASURES = (_WHACKED, _LARGEST)
