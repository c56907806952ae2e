"""What an intruder has who knows ALL released unaltered columns, not only those of the scenario (METHODS section 13)."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.measures.measure import Disclosure, Measure, Value

if TYPE_CHECKING:
    from riskweighted.intruder.world import World

__all__ = ["MEASURES", "UNIQUES", "of_patterns", "of_scheme"]


def of_patterns(wide: "World") -> Iterator[Value]:
    """The patterns of the records on all these columns; `wide`: the world of an intruder who knows them."""
    yield Value(_PATTERNS, float(len(wide.patterns.sizes)))
    yield Value(UNIQUES, wide.patterns.singletons / len(wide.confidential))


def of_scheme(wide: "World", frames: Sequence[pd.DataFrame]) -> Iterator[Value]:
    """Identification and match risk of L datasets."""
    from riskweighted.risk.matching import mean_risk_and_matches

    risk, matched = mean_risk_and_matches(wide.pair(frames))
    yield Value(_MEAN, float(risk.mean()))
    yield Value(_MATCH, matched)


_ALL = "where the intruder knows every released unaltered column"
_D = Disclosure
_released = partial(Measure, source="METHODS section 13", direction="riskier")
_PATTERNS = _released("released-patterns", "patterns of all columns", f"patterns {_ALL}", kind="count", disclosure=_D.COUNT)
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
