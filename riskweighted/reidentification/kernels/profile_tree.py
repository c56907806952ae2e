"""A tree over profiles: each node knows what its profiles hold of every variable, so that a search
can pass it by.

A node has up to 64 children, which are bounded at once. They come of splits in two, each by the
variable and at the value that keep apart what costs most together, judged by a sample of the node's
profiles.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import EQUAL, TABLE, CostTables, pair_cost

__all__ = ["MISSING", "PRESENT", "ProfileTree", "build_tree"]

# what the set of a variable that has no few codes says
PRESENT, MISSING = np.uint64(1), np.uint64(2)
_SAMPLE = 32
_MOST_CHILDREN = 64


class ProfileTree(NamedTuple):
    """``order`` (m,): the profiles, leaf by leaf. Per node, the root first: ``ends`` (k, 2): its
    profiles are those at places [start, end) of `order`; ``child`` (k, 2): its children are nodes
    [first, last), none of a leaf. By variable: ``sets`` (v, k): of one of few codes a bit for each
    that occurs, the last one for missing; else PRESENT, MISSING or both; ``low``, ``high`` (v, k):
    least and greatest value, inf and -inf where all are missing. ``widest``: most profiles of a
    leaf or children of a node.
    """

    order: np.ndarray
    ends: np.ndarray
    child: np.ndarray
    sets: np.ndarray
    low: np.ndarray
    high: np.ndarray
    widest: int


@kernel
def _describe(column: np.ndarray, rows: np.ndarray, few: int) -> tuple[np.uint64, float, float]:
    """What some rows hold of a variable: set, least and greatest value."""
    least, most, held = np.inf, -np.inf, np.uint64(0)
    for row in rows:
        value = column[row]
        if np.isnan(value):
            held |= np.uint64(1) << np.uint64(few) if few >= 0 else MISSING
        else:
            held |= np.uint64(1) << np.uint64(value) if few >= 0 else PRESENT
            least, most = min(least, value), max(most, value)
    return held, least, most


@kernel
def _away(costs: CostTables, variable: int, value: float, nearest: float) -> float:
    """About what a query like `value` pays with a half whose nearest value is `nearest`; with
    another category most of what there is.
    """
    kind = costs.kinds[variable]
    if kind == EQUAL:
        return 1.0
    return costs.missing if kind == TABLE else pair_cost(costs, variable, value, nearest)


@kernel
def _gain(costs: CostTables, variable: int, sample: np.ndarray, missing: int, cut: int) -> float:
    """What a split at sample[cut] saves: mean cost of the other half times its share; the first
    `missing` of the sample are so.
    """
    n, total = len(sample), 0.0
    for at in range(missing, n):
        if at < cut:
            total += _away(costs, variable, sample[at], sample[cut]) * (n - cut)
        else:
            part = (
                costs.missing
                if missing == cut
                else _away(costs, variable, sample[at], sample[cut - 1])
            )
            total += (min(part, costs.missing) if missing else part) * cut
    return total / (n * n)


@kernel
def _best_split(values: np.ndarray, rows: np.ndarray, costs: CostTables) -> tuple[int, float]:
    """The variable and the value at which the upper half begins; -1 where a sample shows nothing to
    split by.
    """
    best, best_cut, most = -1, 0.0, -1.0
    chosen = rows[np.arange(min(_SAMPLE, len(rows))) * len(rows) // min(_SAMPLE, len(rows))]
    n = len(chosen)
    sample = np.empty(n)
    for variable in range(values.shape[1]):
        missing = 0
        for number in range(n):
            value = values[chosen[number], variable]
            sample[number] = -np.inf if np.isnan(value) else value
            missing += np.isnan(value)
        sample.sort()
        middle = sample[n // 2]
        for candidate in (
            np.searchsorted(sample, middle),
            np.searchsorted(sample, middle, side="right"),
            missing,
        ):
            if max(missing, 1) <= candidate < n:
                gain = _gain(costs, variable, sample, missing, candidate)
                if gain > most:
                    best, best_cut, most = variable, sample[candidate], gain
    return best, best_cut


@kernel
def _any_split(values: np.ndarray, rows: np.ndarray) -> tuple[int, float]:
    """The first variable that varies among the rows, and its greatest value; -1 where none does."""
    for variable in range(values.shape[1]):
        least, most = np.inf, -np.inf
        for row in rows:
            value = values[row, variable]
            value = -np.inf if np.isnan(value) else value
            least, most = min(least, value), max(most, value)
        if least < most:
            return variable, most
    return -1, 0.0


@kernel
def _partition(values: np.ndarray, rows: np.ndarray, variable: int, cut: float) -> int:
    """Order the rows so that those below the cut come first (a missing one is below all); where the
    others begin.
    """
    lower, upper = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    first, second = 0, 0
    for row in rows:
        if values[row, variable] >= cut:
            upper[second] = row
            second += 1
        else:
            lower[first] = row
            first += 1
    rows[:first], rows[first:] = lower[:first], upper[:second]
    return first


@kernel
def _split(
    values: np.ndarray, order: np.ndarray, parts: np.ndarray, number: int, costs: CostTables
) -> bool:
    """Split part `number` of a node in two, the second one at parts[-1]; False where its profiles
    are all alike.
    """
    rows = order[parts[number, 0] : parts[number, 1]]
    best, cut = _best_split(values, rows, costs)
    if best < 0:
        best, cut = _any_split(values, rows)
    if best < 0:
        return False
    middle = parts[number, 0] + _partition(values, rows, best, cut)
    parts[-1, 0], parts[-1, 1], parts[number, 1] = middle, parts[number, 1], middle
    return True


@kernel
def _shape(
    values: np.ndarray, costs: CostTables, leaf: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`order`, `ends` and `child` of the tree: a node's largest part is split until there are
    enough parts or all are small.
    """
    m = len(values)
    order = np.arange(m)
    ends = np.zeros((2 * m + 1, 2), dtype=np.int64)
    child = np.zeros((2 * m + 1, 2), dtype=np.int64)
    nodes = 1
    node = 0
    ends[0, 1] = m
    parts = np.empty((_MOST_CHILDREN + 1, 2), dtype=np.int64)
    while node < nodes:
        parts[0], count = ends[node], 1
        while count < _MOST_CHILDREN:
            largest = int(np.argmax(parts[:count, 1] - parts[:count, 0]))
            if parts[largest, 1] - parts[largest, 0] <= leaf or not _split(
                values, order, parts[: count + 1], largest, costs
            ):
                break
            count += 1
        child[node] = nodes
        if count > 1:
            ends[nodes : nodes + count] = parts[:count]
            nodes += count
            child[node, 1] = nodes
        node += 1
    return order, ends[:nodes].copy(), child[:nodes].copy()


@kernel
def build_tree(values: np.ndarray, levels: np.ndarray, costs: CostTables, leaf: int) -> ProfileTree:
    """A tree over distinct profiles (m, v) whose leaves hold at most `leaf` of them; ``levels``
    (v,): few codes of a variable, else -1.
    """
    order, ends, child = _shape(values, costs, leaf)
    shape = (values.shape[1], len(ends))
    sets, low, high = np.empty(shape, dtype=np.uint64), np.empty(shape), np.empty(shape)
    for variable in range(values.shape[1]):
        for node in range(len(ends)):
            rows = order[ends[node, 0] : ends[node, 1]]
            sets[variable, node], low[variable, node], high[variable, node] = _describe(
                values[:, variable], rows, levels[variable]
            )
    widest = max(
        (child[:, 1] - child[:, 0]).max(),
        (ends[:, 1] - ends[:, 0])[child[:, 0] == child[:, 1]].max(),
    )
    return ProfileTree(order, ends, child, sets, low, high, widest)
