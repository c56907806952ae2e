"""The rank measure of an assessment: how many synthetic values lie between the true and the own
synthetic one.
"""

from collections.abc import Iterator

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value, mean_of_records

__all__ = ["MEASURES"]


def between(context: Context) -> Iterator[Value]:
    """Of paired data with one numeric synthetic variable."""
    if context.paired is None or len(context.world.numeric) != 1:
        return
    from riskweighted.risk.rank import rank_shares

    shares = rank_shares(context.paired).to_numpy()
    yield mean_of_records(_RANK, shares.mean(), shares, context.settings.level)


_RANK = Measure(
    "rank",
    "rank measure",
    "mean over records of the share of the pattern's synthetic values between true and own "
    "synthetic value (Kleisle-Murphy 2020)",
    source="Kleisle-Murphy 2020",
    direction="safer",
    kind="mean",
    order=80,
    assess=between,
    pairs=True,
)
MEASURES = (_RANK,)
