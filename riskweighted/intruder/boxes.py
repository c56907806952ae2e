"""Balls of several numeric variables: boxes, each an intersection of one run per variable.

Two variables: a sweep over the first one's sorted places with a Fenwick tree over the second one's,
O(n log n). Of d >= 3 short runs are looked at one by one; else a k-d tree over the places visits
O(n^(1 - 1/d)) nodes a box at most, with O(d n) memory.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from riskweighted.intruder.kernels.box_sums import (
    BoxRanges,
    Swept,
    scan_boxes,
    sweep_covering,
    sweep_sums,
)
from riskweighted.intruder.kernels.box_tree import BoxTree, grow_tree, walk_boxes
from riskweighted.intruder.sorted_balls import Runs

__all__ = ["Boxes"]

# candidates of a run: looked at in half the time that a tree takes for a box in a large cell
_SHORT = 2048


@dataclass(frozen=True)
class Boxes:
    """Neighbours in two or more dimensions: a candidate lies in a box when it lies in the run of
    every variable.
    """

    runs: tuple[Runs, ...]

    @cached_property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's box, (n,)."""
        return self.sums(np.ones(len(self.runs[0].cell), dtype=np.int64))

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its box, (n,)."""
        return np.asarray(np.logical_and.reduce([runs.own_inside for runs in self.runs]))

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the candidates in each record's box of their weights (n,); exact for integers,
        else float64.
        """
        weights = weights if np.issubdtype(weights.dtype, np.integer) else weights.astype(float)
        if len(self.runs) == 2:
            return sweep_sums(self._swept, self._asked, weights)
        return self._held(weights)[0]

    def covering(self) -> np.ndarray:
        """Number of boxes that hold each candidate, (n,)."""
        if len(self.runs) == 2:
            return sweep_covering(self._swept, self._asked)
        return self._held(np.ones(len(self.runs[0].cell), dtype=np.int64))[1]

    def _held(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the weights of the candidates in each box, and number of boxes that hold each
        candidate, (n,) each.
        """
        orders, ranks, first, last = self._places
        total, covering, left = scan_boxes(orders, ranks, first, last, _SHORT, weights)
        if left.any():
            more, further = walk_boxes(self._tree, left, first, last, weights)
            return total + more, covering + further
        return total, covering

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The orders of the candidates and their places there, (d, n) each; first place in and
        first place after each box, (n, d) each.
        """
        orders, ranks, first, last = (
            np.stack([getattr(runs, name) for runs in self.runs])
            for name in ("order", "rank", "first", "last")
        )
        return orders, ranks, np.ascontiguousarray(first.T), np.ascontiguousarray(last.T)

    @cached_property
    def _tree(self) -> BoxTree:
        return grow_tree(*self._places[:2])

    @property
    def _swept(self) -> Swept:
        runs = self.runs[0]
        return Swept(
            runs.order,
            runs.first,
            runs.last,
            np.argsort(runs.first, kind="stable"),
            np.argsort(runs.last, kind="stable"),
        )

    @property
    def _asked(self) -> BoxRanges:
        return BoxRanges(self.runs[1].rank, self.runs[1].first, self.runs[1].last)
