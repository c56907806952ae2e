"""Balls of one variable and the runs of candidates that they hold: one walk through two sorted
lists a cell.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["SHORT", "SortedValues", "count_held", "deal", "find_places"]

SHORT = 64  # numbers at the most in a cell that is sorted by insertion


class SortedValues(NamedTuple):
    """Numbers sorted within cells.

    ``values`` (n,); ``order`` (n,): whose each of them is; ``begin`` (C + 1,): places of the cells,
    that of cell c is [begin[c], begin[c + 1]).
    """

    values: np.ndarray
    order: np.ndarray
    begin: np.ndarray


@kernel
def deal(values: np.ndarray, cell: np.ndarray, begin: np.ndarray) -> SortedValues:
    """Values (n,) dealt into their cells; those of cells of up to `SHORT` are sorted, the others in
    the order of the records.
    """
    following = begin.copy()
    dealt = np.empty(len(values), np.float64)
    order = np.empty(len(values), np.int64)
    for record in range(len(values)):
        at = following[cell[record]]
        dealt[at], order[at] = values[record], record
        following[cell[record]] += 1
    for number in range(len(begin) - 1):
        low, high = begin[number], begin[number + 1]
        if high - low > SHORT:
            continue
        for at in range(low + 1, high):
            value, record, free = dealt[at], order[at], at
            while free > low and dealt[free - 1] > value:
                dealt[free], order[free] = dealt[free - 1], order[free - 1]
                free -= 1
            dealt[free], order[free] = value, record
    return SortedValues(dealt, order, begin)


@kernel
def find_places(candidates: SortedValues, ends: SortedValues, past: bool) -> np.ndarray:
    """For each of the sorted ends (n,) of n balls the first place in its cell of a candidate that
    is not below it, (n,).

    With `past` of one that is above it. Both lists are walked once; the candidates' order is not
    looked at.
    """
    places = np.empty(len(ends.values), np.int64)
    for cell in range(len(ends.begin) - 1):
        candidate, last = candidates.begin[cell], candidates.begin[cell + 1]
        for at in range(ends.begin[cell], ends.begin[cell + 1]):
            end = ends.values[at]
            while candidate < last and (
                candidates.values[candidate] < end or (past and candidates.values[candidate] == end)
            ):
                candidate += 1
            places[at] = candidate
    return places


@kernel
def count_held(lower: SortedValues, upper: SortedValues) -> np.ndarray:
    """Number of balls of its cell that hold the lower end of each ball, (n,) by record; one walk
    through both ends of a cell's balls.
    """
    held = np.empty(len(lower.values), np.int64)
    for cell in range(len(lower.begin) - 1):
        begun, ended, last = lower.begin[cell], lower.begin[cell], lower.begin[cell + 1]
        for at in range(lower.begin[cell], last):
            while begun < last and lower.values[begun] <= lower.values[at]:
                begun += 1
            while ended < last and upper.values[ended] < lower.values[at]:
                ended += 1
            held[lower.order[at]] = begun - ended
    return held
