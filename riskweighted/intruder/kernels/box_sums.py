"""Sums over the candidates in every box: a sweep with a Fenwick tree for two variables; for more,
of boxes of which one variable holds a short run, a look at its candidates one by one.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["BoxRanges", "Swept", "scan_boxes", "sweep_covering", "sweep_sums"]


class Swept(NamedTuple):
    """The variable whose sorted places are visited in turn.

    ``order`` (n,): candidate at each place; ``first``, ``last`` (n,): places of each box, [first,
    last); ``opening``, ``closing`` (n,): the boxes by their first and by their last place.
    """

    order: np.ndarray
    first: np.ndarray
    last: np.ndarray
    opening: np.ndarray
    closing: np.ndarray


class BoxRanges(NamedTuple):
    """The other variable: ``rank`` of each candidate, ``first`` and ``last`` place of each box;
    (n,) each.
    """

    rank: np.ndarray
    first: np.ndarray
    last: np.ndarray


@kernel
def _add(tree: np.ndarray, at: int, value: float) -> None:
    """Fenwick tree: add value at a place."""
    at += 1
    while at < len(tree):
        tree[at] += value
        at += at & -at


@kernel
def _prefix(tree: np.ndarray, at: int) -> float:
    """Fenwick tree: sum over the places before this one."""
    total: float = tree[0]
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@kernel
def sweep_sums(swept: Swept, asked: BoxRanges, weights: np.ndarray) -> np.ndarray:
    """Sum of the weights (n,) of the candidates in each box, (n,).

    The tree holds, by its place in variable 2, what was passed in variable 1; a box is what the
    tree holds in its run of variable 2 at its end less at its start.
    """
    order, rank2, first2, last2 = swept.order, asked.rank, asked.first, asked.last
    n = len(order)
    tree, total = np.zeros(n + 1, weights.dtype), np.zeros(n, weights.dtype)
    opened = closed = 0
    for at in range(n + 1):
        while opened < n and swept.first[swept.opening[opened]] == at:
            box = swept.opening[opened]
            total[box] -= _prefix(tree, last2[box]) - _prefix(tree, first2[box])
            opened += 1
        while closed < n and swept.last[swept.closing[closed]] == at:
            box = swept.closing[closed]
            total[box] += _prefix(tree, last2[box]) - _prefix(tree, first2[box])
            closed += 1
        if at < n:
            _add(tree, rank2[order[at]], weights[order[at]])
    return total


@kernel
def sweep_covering(swept: Swept, asked: BoxRanges) -> np.ndarray:
    """Number of boxes that hold each candidate, (n,).

    Open boxes stand in the tree as a step up and a step down over variable 2.
    """
    order, rank2, first2, last2 = swept.order, asked.rank, asked.first, asked.last
    n = len(order)
    tree, covering = np.zeros(n + 2, np.int64), np.zeros(n, np.int64)
    opened = closed = 0
    for at in range(n):
        while opened < n and swept.first[swept.opening[opened]] == at:
            box = swept.opening[opened]
            _add(tree, first2[box], 1)
            _add(tree, last2[box], -1)
            opened += 1
        while closed < n and swept.last[swept.closing[closed]] == at:
            box = swept.closing[closed]
            _add(tree, first2[box], -1)
            _add(tree, last2[box], 1)
            closed += 1
        covering[order[at]] = _prefix(tree, rank2[order[at]] + 1)
    return covering


@kernel
def _shortest(first: np.ndarray, last: np.ndarray, most: int) -> np.ndarray:
    """The variable that holds the shortest run of each box, (n,); the number of variables where
    that holds more than `most`.
    """
    n, variables = first.shape
    shortest = np.zeros(n, np.int64)
    for box in range(n):
        length = last[box, 0] - first[box, 0]
        for variable in range(1, variables):
            if last[box, variable] - first[box, variable] < length:
                shortest[box], length = variable, last[box, variable] - first[box, variable]
        if length > most:
            shortest[box] = variables
    return shortest


@kernel
def _mark(places: np.ndarray, first: int, last: int, hit: np.ndarray) -> None:
    """Keep the marks of the candidates whose places lie in [first, last); without branches, several
    at a time.
    """
    low, width = np.int32(first), np.uint32(last - first)
    for at in range(len(hit)):
        hit[at] &= np.uint8(np.uint32(places[at] - low) < width)


@kernel
def scan_boxes(
    orders: np.ndarray,
    rank: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    most: int,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum of the weights (n,) of the candidates in each box, number of boxes that hold each
    candidate, and which boxes were left out.

    Those whose shortest run holds more than `most`. A box holds places first .. last - 1, (n, d)
    each; ``orders``, ``rank`` (d, n): of the candidates in each variable, and where each stands
    there.
    """
    variables, n = orders.shape
    total = np.zeros(n, weights.dtype)
    held = np.zeros(n, np.int64)
    shortest = _shortest(first, last, most)
    beside, hit = np.empty((variables, n), np.int32), np.empty(min(max(most, 0), n), np.uint8)
    for variable in range(variables):
        for other in range(variables):
            for at in range(n):
                beside[other, at] = rank[other, orders[variable, at]]
        for box in range(n):
            if shortest[box] != variable:
                continue
            low, high = first[box, variable], last[box, variable]
            run = hit[: high - low]
            run[:] = 1
            for other in range(variables):
                if other != variable:
                    _mark(beside[other, low:high], first[box, other], last[box, other], run)
            for at in range(len(run)):
                if run[at]:
                    candidate = orders[variable, low + at]
                    total[box] += weights[candidate]
                    held[candidate] += 1
    return total, held, shortest == variables
