"""Bounds for draws where nobody has given public ones: a round number that no single record decides
(METHODS section 5.8).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riskweighted.common.found import most_beyond
from riskweighted.design.spline_basis import largest_round

__all__ = ["FoundBounds", "default_bounds"]

_RANK, _RANK_SHARE = 5, 0.001  # from the end
_FEWEST = 50  # amounts
# times the rank, between which the tail is looked at; of the amounts, at most
_FROM, _TO, _MOST = 2, 10, 0.25


class FoundBounds(NamedTuple):
    """``low`` and ``high``, with ``beyond``, how many amounts lie outside them, and ``rank``, how
    many reach what decided them.
    """

    low: float
    high: float
    beyond: int
    rank: int

    @property
    def support(self) -> tuple[float | int | str, ...]:
        """The setting ``support``."""
        return (*(int(end) if end == int(end) else end for end in (self.low, self.high)), "found")


def default_bounds(amounts: np.ndarray, units: Sequence[np.ndarray] = ()) -> FoundBounds | None:
    """Bounds of amounts (n,); None of fewer than fifty, and where hardly one is positive.

    The upper one is the least of 1, 2, 5 x 10^k above what is expected of the largest amounts: x (2
    r)^h, x being the largest value that r = max(5, .1 %) of the amounts reach, and some of five
    units: the records of one firm decide nothing alone; h says how heavy the tail is, (2 r)^h the
    ratio by which a Pareto tail grows from rank 2 r to rank 1, from the amounts of ranks 2 r and 10
    r. The lower one is 0, or where as many amounts are negative the same of their sizes. Where few
    units hold more than may lie beyond found bounds, the value that as many reach takes the place
    of that of the fifth.

    ``units``: of each column that groups the records the number of each amount's unit, (n,),
    negative where it has none.
    """
    n = len(amounts)
    if n < _FEWEST:
        return None
    rank = max(_RANK, math.ceil(_RANK_SHARE * n))
    most = most_beyond(n) // (2 if amounts.min() < 0 else 1)
    lowest, highest = -_largest(-amounts, rank, most, units), _largest(amounts, rank, most, units)
    if highest <= 0:
        return None
    low, high = -_round_above(-lowest) if lowest < 0 else 0.0, _round_above(highest)
    return FoundBounds(low, high, int(((amounts < low) | (amounts > high)).sum()), rank)


def _largest(values: np.ndarray, rank: int, most: int, units: Sequence[np.ndarray]) -> float:
    """What is expected of the largest of values (n,) by those that so many reach."""
    reached = _reached(values, rank, most, units)
    if reached <= 0:
        return reached
    tail = -np.sort(-values[(values > 0) & (values <= reached)])  # from that rank on
    first, last = _FROM * rank, min(_TO * rank, int(_MOST * len(tail)))
    heavy = (
        math.log(tail[first - rank] / tail[last - rank]) / math.log(last / first)
        if last > first
        else 0.0
    )
    return float(reached * first**heavy)


def _reached(values: np.ndarray, rank: int, most: int, units: Sequence[np.ndarray]) -> float:
    """The largest number that so many of values (n,) reach, and some of five units, unless more
    than `most` lie beyond it.
    """
    order = np.argsort(-values, kind="stable")
    reached = values[order[rank - 1]]
    for unit in units:
        held = order[unit[order] >= 0]
        # of each unit, the largest first
        largest = values[held[np.sort(np.unique(unit[held], return_index=True)[1])]]
        reached = min(reached, *largest[: min(_RANK, len(largest))])
    return float(max(reached, values[order[most]]))


def _round_above(value: float) -> float:
    """The least of 1, 2, 5 x 10^k above a positive number."""
    below = largest_round(value)
    return float(f"{below * (2.5 if f'{below:.0e}'[0] == '2' else 2.0):.0e}")
