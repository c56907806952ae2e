"""What an intruder has who knows ALL released unaltered columns, not only those of the scenario
(METHODS section 13).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.exact import ExactSum
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import Tally

if TYPE_CHECKING:
    from riskweighted.intruder.world import World

__all__ = [
    "MEASURES",
    "UNIQUES",
    "of_patterns",
    "of_scheme",
    "tally_of_patterns",
    "tally_of_scheme",
]


def tally_of_patterns(wide: "World") -> Tally:
    """Of the patterns of a part's records on all these columns, which lie within its known ones;
    `wide`: the world of who knows them.
    """
    return Tally(
        patterns=len(wide.patterns.sizes),
        singletons=wide.patterns.singletons,
        records=len(wide.confidential),
    )


def of_patterns(total: Tally) -> Iterator[Value]:
    """The patterns of the records on all these columns."""
    yield Value(_PATTERNS, float(total["patterns"]))
    yield Value(UNIQUES, total["singletons"] / total["records"])


def tally_of_scheme(wide: "World", frames: Sequence[pd.DataFrame]) -> Tally:
    """Of the risk of a part's records in L datasets."""
    from riskweighted.risk.matching import mean_risk_and_matches

    risk, matched = mean_risk_and_matches(wide.pair(frames))
    return Tally(risk=ExactSum.of(risk), matched=ExactSum.of(matched))


def of_scheme(total: Tally) -> Iterator[Value]:
    """Identification and match risk of L datasets."""
    yield Value(_MEAN, total["risk"].mean)
    yield Value(_MATCH, total["matched"].sum)


_ALL = "where the intruder knows every released unaltered column"
_D = Disclosure
_released = partial(Measure, source="METHODS section 13", direction="riskier")
_PATTERNS = _released(
    "released-patterns",
    "patterns of all columns",
    f"patterns {_ALL}",
    kind="count",
    disclosure=_D.COUNT,
)
UNIQUES = _released(
    "released-uniques",
    "unique on all columns",
    f"share of records that are alone in their pattern {_ALL}",
    kind="share",
    disclosure=_D.THREE_DECIMALS,
)
_MEAN = _released(
    "released-mean-risk",
    "mean risk on all columns",
    f"mean over records of {{risk}}, {_ALL}",
    kind="mean",
    disclosure=_D.THREE_DECIMALS,
    pairs=True,
)
_MATCH = _released(
    "released-match-risk",
    "expected match risk on all columns",
    f"sum over records of T/c (Hu's lecture), mean over datasets, {_ALL}",
    kind="sum",
    disclosure=_D.THREE_DIGITS,
    pairs=True,
)
MEASURES = (_PATTERNS, UNIQUES, _MEAN, _MATCH)
