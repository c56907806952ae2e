"""What an intruder has who knows ALL released unaltered columns, not only those of the scenario
(METHODS section 13).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from riskweighted.measures.measure import Disclosure, Measure, Value

if TYPE_CHECKING:
    from riskweighted.intruder.world import World

__all__ = ["MEASURES", "UNIQUES", "pattern_values"]


def pattern_values(wide: "World") -> Iterator[Value]:
    """The patterns of the records on all these columns; `wide`: the world of who knows them, and
    who belongs together.
    """
    if wide.arrangement is None:
        yield Value(UNIQUES, wide.patterns.singletons / len(wide.confidential))
        return
    alone = wide.arrangement.alone(wide.patterns.codes)
    yield Value(UNIQUES, float(alone.mean()), definition=_OF_UNITS)


_OF_UNITS = (
    "share of records whose unit has a composition that no other one has, where the intruder knows "
    "every released unaltered column of all its members"
)
UNIQUES = Measure(
    "released-uniques",
    "unique on all columns",
    "share of records that are alone in their pattern where the intruder knows every released "
    "unaltered column",
    source="METHODS section 13",
    direction="riskier",
    kind="share",
    disclosure=Disclosure.THREE_DECIMALS,
)
MEASURES = (UNIQUES,)
