"""Balls of one numeric variable: runs of neighbours ``[first, last)`` in the order of the values.

Candidates are sorted by cell and value once; two binary searches find each ball's run, prefix sums do the rest.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from riskweighted.intruder.kernels.runs import BallsOfCells, find_places

__all__ = ["Runs", "find_runs"]


@dataclass(frozen=True)
class Runs:
    """Neighbours in one dimension.

    ``order`` (n,): candidate at each sorted place. ``first``, ``last`` (n,): the ball of record i holds the
    candidates at places first[i] .. last[i]-1.
    """

    order: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's ball, (n,)."""
        number: np.ndarray = self.last - self.first
        return number

    @cached_property
    def place(self) -> np.ndarray:
        """Sorted place of each candidate, (n,)."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its ball, (n,)."""
        return (self.first <= self.place) & (self.place < self.last)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Differences of prefix sums, (n,)."""
        before = np.concatenate([np.zeros(1, weights.dtype), np.cumsum(weights[self.order])])
        total: np.ndarray = before[self.last] - before[self.first]
        return total

    def covering(self) -> np.ndarray:
        """A difference array over the sorted places, summed, (n,)."""
        n = len(self.order)
        opened, closed = np.bincount(self.first, minlength=n + 1), np.bincount(self.last, minlength=n + 1)
        number: np.ndarray = np.cumsum(opened - closed)[self.place]
        return number


def find_runs(centre_cell: np.ndarray, cell: np.ndarray, values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Runs:
    """Sort the candidates by cell and value, and find each ball's run inside its cell."""
    order = np.lexsort((values, cell))
    end = np.cumsum(np.bincount(cell, minlength=max(cell.max(), centre_cell.max()) + 1))
    begin = np.concatenate([[0], end])
    first, last = find_places(values[order], BallsOfCells(begin[centre_cell], end[centre_cell], lower, upper))
    return Runs(order, first, last)
