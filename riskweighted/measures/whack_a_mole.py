"""Whack-a-mole: protecting some records exposes those that they hid, so their risk rises over the
baseline (METHODS section 2).
"""

from collections.abc import Iterator

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES"]


def rises(context: Context) -> Iterator[Value]:
    """How many records' risk rose over the baseline."""
    rival, risk = context.baseline, context.risk
    if rival is None or rival.risk is None or risk is None:
        return
    from riskweighted.risk.whack_a_mole_risk import whack_a_mole_records

    increase = float(context.settings.increase)
    flagged = whack_a_mole_records(risk, rival.risk, increase)
    yield Value(_WHACKED, float(flagged.sum()), parameter=increase)


_WHACKED = Measure(
    "whack-a-mole",
    "whack-a-mole records",
    "records with {rise} >= {parameter:g}",
    source="METHODS section 2",
    direction="riskier",
    order=50,
    compute=rises,
    needs="pairs",
    kind="count",
    disclosure=Disclosure.COUNT,
    parameter="increase",
    boundary="A rise of exactly the limit is counted.",
    words="records whose risk rose by {parameter:g} in these datasets",
    main=160,
)
MEASURES = (_WHACKED,)
