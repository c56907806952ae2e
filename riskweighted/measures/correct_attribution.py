"""What the known variables tell of the sensitive ones in any synthetic file (Taub & Elliot)."""

from collections.abc import Iterator

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value, mean_of_records

__all__ = ["DCAP", "MEASURES"]


def attribution_values(context: Context) -> Iterator[Value]:
    """Correct attribution probabilities, where anything is known."""
    if not context.scenario.known:
        return
    from riskweighted.risk.attribute import correct_attribution

    found = correct_attribution(context.confidential, context.synthetic, context.scenario)
    yield mean_of_records(DCAP, found.dcap_zero, found.cap.to_numpy(), context.settings.level)


DCAP = Measure(
    "dcap-zero",
    "DCAP, absent keys 0",
    "mean over records of CAP, the share of the key's synthetic records that match the target; an "
    "absent key counts 0",
    source="Taub & Elliot",
    direction="riskier",
    kind="mean",
    order=90,
    compute=attribution_values,
    needs="data alone",
)
MEASURES = (DCAP,)
