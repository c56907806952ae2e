"""A tree over profiles: each node knows the bounds of its profiles in every variable, so that a search can pass it by."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import LOGISTIC

__all__ = ["Tree", "build_tree"]


class Tree(NamedTuple):
    """``order`` (m,): the profiles, leaf by leaf. Per node, the root first: ``ends`` (k, 2): its profiles are those at places
    [start, end) of `order`; ``child`` (k,): its first child, the second follows, -1 for a leaf; ``low``, ``high`` (k, v): least and
    greatest value, inf and -inf where all are missing; ``missing`` (k, v): whether some are.
    """

    order: np.ndarray
    ends: np.ndarray
    child: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray


@kernel
def _spread(values: np.ndarray, rows: np.ndarray, variable: int, kind: int) -> float:
    """How much a split by this variable can tell apart: a mean cost between records of the node, sampled."""
    total, state = 0.0, np.uint64(88172645463325252)
    for _ in range(32):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        one = values[rows[state % np.uint64(len(rows))], variable]
        two = values[rows[(state >> np.uint64(32)) % np.uint64(len(rows))], variable]
        if np.isnan(one) or np.isnan(two):
            total += 0.25 * (np.isnan(one) != np.isnan(two))
        elif kind == LOGISTIC:
            part = 2 / (1 + np.exp(-min(abs(one - two), 6.0))) - 1
            total += part * part
        else:
            total += one != two
    return total


@kernel
def _bounds(values: np.ndarray, rows: np.ndarray, low: np.ndarray, high: np.ndarray, missing: np.ndarray) -> None:
    """Least and greatest value of each variable among the rows, and whether some are missing."""
    for variable in range(values.shape[1]):
        low[variable], high[variable], missing[variable] = np.inf, -np.inf, False
        for row in rows:
            value = values[row, variable]
            if np.isnan(value):
                missing[variable] = True
            else:
                low[variable] = min(low[variable], value)
                high[variable] = max(high[variable], value)


@kernel
def _partition(values: np.ndarray, rows: np.ndarray, variable: int) -> int:
    """Order the rows so that those below the median value come first (a missing one is below all); where the others begin."""
    column = np.empty(len(rows))
    for place, row in enumerate(rows):
        column[place] = -np.inf if np.isnan(values[row, variable]) else values[row, variable]
    ranked = np.sort(column)
    cut = ranked[len(rows) // 2]
    if cut == ranked[0]:  # the median is the least value: cut above it
        cut = ranked[np.searchsorted(ranked, cut, side="right")]
    lower = rows[column < cut].copy()
    upper = rows[column >= cut].copy()
    rows[: len(lower)], rows[len(lower) :] = lower, upper
    return len(lower)


@kernel
def build_tree(values: np.ndarray, kinds: np.ndarray, leaf: int) -> Tree:
    """A tree over profiles (m, v) whose leaves hold at most `leaf` of them, or equal ones; `kinds` (v,) as in `CostTables`."""
    m, v = values.shape
    most = 2 * m + 1
    order = np.arange(m)
    ends, child = np.zeros((most, 2), dtype=np.int64), np.full(most, -1, dtype=np.int64)
    low, high, missing = np.empty((most, v)), np.empty((most, v)), np.zeros((most, v), dtype=np.bool_)
    ends[0, 1], nodes, node = m, 1, 0
    while node < nodes:
        start, end = ends[node]
        rows = order[start:end]
        _bounds(values, rows, low[node], high[node], missing[node])
        if end - start > leaf:
            best, widest = -1, -1.0
            for variable in range(v):
                mixed = missing[node, variable] and low[node, variable] <= high[node, variable]
                if low[node, variable] < high[node, variable] or mixed:
                    spread = _spread(values, rows, variable, kinds[variable])
                    if spread > widest:
                        best, widest = variable, spread
            if best >= 0:
                middle = start + _partition(values, rows, best)
                child[node] = nodes
                ends[nodes, 0], ends[nodes, 1], ends[nodes + 1, 0], ends[nodes + 1, 1] = start, middle, middle, end
                nodes += 2
        node += 1
    return Tree(order, ends[:nodes], child[:nodes], low[:nodes], high[:nodes], missing[:nodes])
