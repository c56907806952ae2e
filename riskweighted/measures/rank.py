"""The rank measure of an assessment: how many synthetic values lie between the true and the own synthetic one."""

from collections.abc import Iterator

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value

__all__ = ["MEASURES"]


def between(context: Context) -> Iterator[Value]:
    """Of paired data with one numeric synthetic variable."""
    if context.paired is None or len(context.world.numeric) != 1:
        return
    from riskweighted.risk.rank import rank_shares
    from riskweighted.utility.intervals import mean_interval

    shares = rank_shares(context.paired).to_numpy()
    yield Value(_RANK, shares.mean(), interval=mean_interval(shares, level=context.settings.level), rule="t interval over records")


_RANK = Measure(
    "rank",
    "rank measure",
    "mean over records of the share of the pattern's synthetic values between true and own synthetic value (Kleisle-Murphy 2020)",
    source="Kleisle-Murphy 2020",
    direction="safer",
    kind="mean",
    order=80,
    assess=between,
    pairs=True,
)
MEASURES = (_RANK,)
