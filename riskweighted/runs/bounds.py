"""Bounds for draws where nobody has given public ones: a round number that no single record decides (METHODS section 5.8)."""

import math
from typing import NamedTuple

import numpy as np

from riskweighted.design.bends import largest_round

__all__ = ["FoundBounds", "default_bounds"]

_RANK, _RANK_SHARE = 5, 0.001  # from the end
_FEWEST = 50  # amounts


class FoundBounds(NamedTuple):
    """``low`` and ``high``, with ``beyond``, how many amounts lie outside them, and ``rank``, that from the end which decided them."""

    low: float
    high: float
    beyond: int
    rank: int

    @property
    def support(self) -> tuple[float | int | str, ...]:
        """The setting ``support``."""
        return (*(int(end) if end == int(end) else end for end in (self.low, self.high)), "found")


def default_bounds(amounts: np.ndarray) -> FoundBounds | None:
    """Bounds of amounts (n,); None of fewer than fifty, and where hardly one is positive.

    The upper one is the least of 1, 2, 5 x 10^k above the value that ranks max(5, .1 %) from the end. The lower one is 0, or where as many
    amounts are negative the same of their sizes.
    """
    n = len(amounts)
    if n < _FEWEST:
        return None
    rank, ordered = max(_RANK, math.ceil(_RANK_SHARE * n)), np.sort(amounts)
    lowest, highest = float(ordered[rank - 1]), float(ordered[-rank])
    if highest <= 0:
        return None
    low, high = -_round_above(-lowest) if lowest < 0 else 0.0, _round_above(highest)
    return FoundBounds(low, high, int(((amounts < low) | (amounts > high)).sum()), rank)


def _round_above(value: float) -> float:
    """The least of 1, 2, 5 x 10^k above a positive number."""
    below = largest_round(value)
    return float(f"{below * (2.5 if f'{below:.0e}'[0] == '2' else 2.0):.0e}")
