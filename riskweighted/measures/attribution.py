"""What the known variables tell of the sensitive ones in any synthetic file (Taub & Elliot), and uniques that it replicates."""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value

__all__ = ["DCAP", "MEASURES"]

_BY_RECORD = "t interval over records"


def attributed(context: Context) -> Iterator[Value]:
    """Correct attribution probabilities and replicated uniques, where anything is known."""
    if not context.scenario.known:
        return
    from riskweighted.risk.attribute import correct_attribution, replicated_uniques
    from riskweighted.utility.intervals import mean_interval, proportion_interval

    given, level = (context.confidential, context.synthetic, context.scenario), context.settings.level
    found = correct_attribution(*given)
    yield Value(DCAP, found.dcap_zero, interval=mean_interval(found.cap.to_numpy(), level=level), rule=_BY_RECORD)
    present = correct_attribution(*given, "drop").cap.dropna().to_numpy()
    yield Value(_DROP, found.dcap_drop, interval=mean_interval(present, level=level), rule=_BY_RECORD)
    interval = proportion_interval(found.tcap, found.targeted, level=level)
    yield Value(_TCAP, found.tcap, interval=interval, rule="Wilson, targeted records")
    yield Value(_BASELINE, found.baseline, rule="exact")
    uniques = replicated_uniques(*given)
    which = uniques.known if uniques.joint is None else uniques.joint
    on = "known variables" if uniques.joint is None else "known and synthetic variables"
    interval = proportion_interval(which.share, len(context.confidential), level=level)
    yield Value(_UNIQUES, which.share, interval=interval, rule="Wilson interval over records", told={"variables": on})


_CAP = "CAP, the share of the key's synthetic records that match the target"
_cap = partial(Measure, source="Taub & Elliot", direction="riskier", kind="mean", order=90, assess=attributed)
DCAP = _cap("dcap-zero", "DCAP, absent keys 0", f"mean over records of {_CAP}; an absent key counts 0")
_DROP = _cap("dcap-drop", "DCAP, absent keys dropped", f"mean over records of {_CAP}; records of absent keys left out")
_TCAP = _cap(
    "tcap", "TCAP", "mean of CAP over the records whose key has one single synthetic target (Taub & Elliot); undefined without such a key"
)
_BASELINE = _cap(
    "cap-baseline",
    "CAP baseline",
    "mean share of confidential records that match the target: a guess without a key, to compare DCAP and TCAP with",
)
_UNIQUES = _cap(
    "replicated-uniques",
    "replicated uniques",
    "share of records unique on the {variables} in the confidential and in the synthetic data (repU)",
    source="Raab, Nowok & Dibben 2024",
    kind="share",
)
MEASURES = (DCAP, _DROP, _TCAP, _BASELINE, _UNIQUES)
