"""What the known variables tell of the sensitive ones in any synthetic file (Taub & Elliot), and
uniques that it replicates.
"""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value, mean_of_records, share_of_records

__all__ = ["DCAP", "MEASURES"]


def attributed(context: Context) -> Iterator[Value]:
    """Correct attribution probabilities and replicated uniques, where anything is known."""
    if not context.scenario.known:
        return
    from riskweighted.risk.attribute import correct_attribution, replicated_uniques
    from riskweighted.utility.intervals import proportion_interval

    given = (context.confidential, context.synthetic, context.scenario)
    level = context.settings.level
    attribution = correct_attribution(*given)
    yield mean_of_records(DCAP, attribution.dcap_zero, attribution.cap.to_numpy(), level)
    interval = proportion_interval(attribution.tcap, attribution.targeted, level=level)
    yield Value(_TCAP, attribution.tcap, interval=interval, rule="Wilson, targeted records")
    yield Value(_BASELINE, attribution.baseline, rule="exact")
    uniques = replicated_uniques(*given)
    which = uniques.known if uniques.joint is None else uniques.joint
    told = {
        "variables": "known variables" if uniques.joint is None else "known and synthetic variables"
    }
    yield share_of_records(_UNIQUES, which.share, len(context.confidential), level)._replace(
        told=told
    )


_CAP = "CAP, the share of the key's synthetic records that match the target"
_cap = partial(
    Measure, source="Taub & Elliot", direction="riskier", kind="mean", order=90, assess=attributed
)
DCAP = _cap(
    "dcap-zero", "DCAP, absent keys 0", f"mean over records of {_CAP}; an absent key counts 0"
)
_TCAP = _cap(
    "tcap",
    "TCAP",
    "mean of CAP over the records whose key has one single synthetic target (Taub & Elliot); "
    "undefined without such a key",
)
_BASELINE = _cap(
    "cap-baseline",
    "CAP baseline",
    "mean share of confidential records that match the target: a guess without a key, to compare "
    "DCAP and TCAP with",
)
_UNIQUES = _cap(
    "replicated-uniques",
    "replicated uniques",
    "share of records unique on the {variables} in the confidential and in the synthetic data "
    "(repU)",
    source="Raab, Nowok & Dibben 2024",
    kind="share",
)
MEASURES = (DCAP, _TCAP, _BASELINE, _UNIQUES)
