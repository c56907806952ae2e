"""Balls of several numeric variables: boxes, each an intersection of one run per variable.

Two variables: a sweep over the first one's sorted places with a Fenwick tree over the second one's, O(n log n).
Three and more: each box scans the run of its first variable and asks the others, O(n * length of that run).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from riskweighted.intruder.intervals import Runs

__all__ = ["Boxes"]


@dataclass(frozen=True)
class Boxes:
    """Neighbours in two or more dimensions: a candidate lies in a box when it lies in the run of every variable."""

    runs: "tuple[Runs, ...]"

    @cached_property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's box, (n,)."""
        return self.sums(np.ones(len(self.runs[0].order), dtype=np.int64))

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its box, (n,)."""
        return np.logical_and.reduce([runs.own_inside for runs in self.runs])

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the candidates in each record's box of their weights (n,); exact for integers, else float64."""
        weights = weights if np.issubdtype(weights.dtype, np.integer) else weights.astype(float)
        one, two = self.runs[:2]
        if len(self.runs) > 2:
            return _scan_sums(one.order, *self._others, one.first, one.last, weights)
        opening, closing = np.argsort(one.first, kind="stable"), np.argsort(one.last, kind="stable")
        return _sweep_sums(one.order, two.place, opening, one.first, closing, one.last, two.first, two.last, weights)

    def covering(self) -> np.ndarray:
        """Number of boxes that hold each candidate, (n,)."""
        one, two = self.runs[:2]
        if len(self.runs) > 2:
            return _scan_covering(one.order, *self._others, one.first, one.last)
        opening, closing = np.argsort(one.first, kind="stable"), np.argsort(one.last, kind="stable")
        return _sweep_covering(one.order, two.place, opening, one.first, closing, one.last, two.first, two.last)

    @property
    def _others(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of the candidates, first and last places of the boxes, in all variables but the first; each (d-1, n)."""
        rest = self.runs[1:]
        return np.stack([r.place for r in rest]), np.stack([r.first for r in rest]), np.stack([r.last for r in rest])


@numba.njit(cache=True)
def _add(tree, place, value):  # pragma: no cover - compiled
    """Fenwick tree: add value at a place."""
    place += 1
    while place < len(tree):
        tree[place] += value
        place += place & -place


@numba.njit(cache=True)
def _prefix(tree, place):  # pragma: no cover - compiled
    """Fenwick tree: sum over the places before this one."""
    total = tree[0]
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@numba.njit(cache=True)
def _sweep_sums(order, place2, opening, first1, closing, last1, first2, last2, weights):  # pragma: no cover - compiled
    """Sweep the places of variable 1; a box is what the tree holds in its run of variable 2 at its end less at its start."""
    n = len(order)
    tree, total = np.zeros(n + 1, weights.dtype), np.zeros(n, weights.dtype)
    opened = closed = 0
    for place in range(n + 1):
        while opened < n and first1[opening[opened]] == place:
            box = opening[opened]
            total[box] -= _prefix(tree, last2[box]) - _prefix(tree, first2[box])
            opened += 1
        while closed < n and last1[closing[closed]] == place:
            box = closing[closed]
            total[box] += _prefix(tree, last2[box]) - _prefix(tree, first2[box])
            closed += 1
        if place < n:
            _add(tree, place2[order[place]], weights[order[place]])
    return total


@numba.njit(cache=True)
def _sweep_covering(order, place2, opening, first1, closing, last1, first2, last2):  # pragma: no cover - compiled
    """Sweep the places of variable 1; open boxes stand in the tree as a step up and a step down over variable 2."""
    n = len(order)
    tree, covering = np.zeros(n + 2, np.int64), np.zeros(n, np.int64)
    opened = closed = 0
    for place in range(n):
        while opened < n and first1[opening[opened]] == place:
            box = opening[opened]
            _add(tree, first2[box], 1)
            _add(tree, last2[box], -1)
            opened += 1
        while closed < n and last1[closing[closed]] == place:
            box = closing[closed]
            _add(tree, first2[box], -1)
            _add(tree, last2[box], 1)
            closed += 1
        covering[order[place]] = _prefix(tree, place2[order[place]] + 1)
    return covering


@numba.njit(cache=True)
def _inside(candidate, box, place, first, last):  # pragma: no cover - compiled
    for variable in range(len(place)):
        if not first[variable, box] <= place[variable, candidate] < last[variable, box]:
            return False
    return True


@numba.njit(cache=True)
def _scan_sums(order, place, first, last, first1, last1, weights):  # pragma: no cover - compiled
    total = np.zeros(len(order), weights.dtype)
    for box in range(len(order)):
        for at in range(first1[box], last1[box]):
            if _inside(order[at], box, place, first, last):
                total[box] += weights[order[at]]
    return total


@numba.njit(cache=True)
def _scan_covering(order, place, first, last, first1, last1):  # pragma: no cover - compiled
    covering = np.zeros(len(order), np.int64)
    for box in range(len(order)):
        for at in range(first1[box], last1[box]):
            if _inside(order[at], box, place, first, last):
                covering[order[at]] += 1
    return covering
