"""Sums over the candidates in every box of two variables: a sweep with a Fenwick tree."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["Asked", "Swept", "sweep_covering", "sweep_sums"]


class Swept(NamedTuple):
    """The variable whose sorted places are visited in turn.

    ``order`` (n,): candidate at each place; ``first``, ``last`` (n,): places of each box, [first, last); ``opening``, ``closing``
    (n,): the boxes by their first and by their last place.
    """

    order: np.ndarray
    first: np.ndarray
    last: np.ndarray
    opening: np.ndarray
    closing: np.ndarray


class Asked(NamedTuple):
    """The other variable: ``place`` of each candidate, ``first`` and ``last`` place of each box; (n,) each."""

    place: np.ndarray
    first: np.ndarray
    last: np.ndarray


@kernel
def _add(tree: np.ndarray, place: int, value: float) -> None:
    """Fenwick tree: add value at a place."""
    place += 1
    while place < len(tree):
        tree[place] += value
        place += place & -place


@kernel
def _prefix(tree: np.ndarray, place: int) -> float:
    """Fenwick tree: sum over the places before this one."""
    total: float = tree[0]
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@kernel
def sweep_sums(swept: Swept, asked: Asked, weights: np.ndarray) -> np.ndarray:
    """Sum of the weights (n,) of the candidates in each box, (n,).

    The tree holds, by its place in variable 2, what was passed in variable 1; a box is what the tree holds in its run of
    variable 2 at its end less at its start.
    """
    order, place2, first2, last2 = swept.order, asked.place, asked.first, asked.last
    n = len(order)
    tree, total = np.zeros(n + 1, weights.dtype), np.zeros(n, weights.dtype)
    opened = closed = 0
    for place in range(n + 1):
        while opened < n and swept.first[swept.opening[opened]] == place:
            box = swept.opening[opened]
            total[box] -= _prefix(tree, last2[box]) - _prefix(tree, first2[box])
            opened += 1
        while closed < n and swept.last[swept.closing[closed]] == place:
            box = swept.closing[closed]
            total[box] += _prefix(tree, last2[box]) - _prefix(tree, first2[box])
            closed += 1
        if place < n:
            _add(tree, place2[order[place]], weights[order[place]])
    return total


@kernel
def sweep_covering(swept: Swept, asked: Asked) -> np.ndarray:
    """Number of boxes that hold each candidate, (n,).

    Open boxes stand in the tree as a step up and a step down over variable 2.
    """
    order, place2, first2, last2 = swept.order, asked.place, asked.first, asked.last
    n = len(order)
    tree, covering = np.zeros(n + 2, np.int64), np.zeros(n, np.int64)
    opened = closed = 0
    for place in range(n):
        while opened < n and swept.first[swept.opening[opened]] == place:
            box = swept.opening[opened]
            _add(tree, first2[box], 1)
            _add(tree, last2[box], -1)
            opened += 1
        while closed < n and swept.last[swept.closing[closed]] == place:
            box = swept.closing[closed]
            _add(tree, first2[box], -1)
            _add(tree, last2[box], 1)
            closed += 1
        covering[order[place]] = _prefix(tree, place2[order[place]] + 1)
    return covering
