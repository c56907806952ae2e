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
    return Tally(singletons=wide.patterns.singletons, records=len(wide.confidential))


def of_patterns(total: Tally) -> Iterator[Value]:
    """The patterns of the records on all these columns."""
    yield Value(UNIQUES, total["singletons"] / total["records"])


def tally_of_scheme(wide: "World", frames: Sequence[pd.DataFrame]) -> Tally:
    """Of the risk of a part's records in L datasets."""
    from riskweighted.risk.identification import mean_identification_risk

    return Tally(risk=ExactSum.of(mean_identification_risk(wide.pair(frames))))


def of_scheme(total: Tally) -> Iterator[Value]:
    """Identification risk of L datasets."""
    yield Value(_MEAN, total["risk"].mean)


_ALL = "where the intruder knows every released unaltered column"
_D = Disclosure
_released = partial(Measure, source="METHODS section 13", direction="riskier")
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
MEASURES = (UNIQUES, _MEAN)
