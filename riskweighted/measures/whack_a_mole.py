"""Whack-a-mole: protecting some records exposes those that they hid, so their risk rises over the baseline (METHODS section 2)."""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES"]


def rises(context: Context) -> Iterator[Value]:
    """Whose risk rose over the baseline, and the largest rise."""
    rival, risk = context.baseline, context.risk
    if rival is None or rival.risk is None or risk is None:
        return
    from riskweighted.risk.chance import risk_rise, whacked

    increase = float(context.settings.increase)
    yield Value(_WHACKED, float(whacked(risk, rival.risk, increase).sum()), parameter=increase)
    yield Value(_LARGEST, risk_rise(risk, rival.risk).max())


_rise = partial(Measure, source="METHODS section 2", direction="riskier", order=50, compute=rises, pairs=True)
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
