"""The six best partners of every record, exactly, without looking at every pair.

All the whole-rank rule (S004 section 2.2) needs: pairs that score strictly better than a record's sixth best are what remains
of whole ranks that hold at most five pairs. Distinct profiles stand for their records; the second file's are split into a
tree whose nodes know the least cost that a pair with one of their profiles can have, and a branch that cannot beat the sixth
best so far is not entered.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numba
import numpy as np

from riskweighted.common.threads import in_threads
from riskweighted.reidentification.search_tree import EQUAL, LOGISTIC, STEPS, TABLE, build_tree

__all__ = ["EQUAL", "LOGISTIC", "MOST_PAIRS", "STEPS", "TABLE", "Costs", "Nearest", "nearest"]

MOST_PAIRS = 5
_KEEP = MOST_PAIRS + 1
_LEAF = 512  # of 64 to 512 the fastest on the benchmark's studies
_FEW_CODES = 128
_CHUNK = 512


@dataclass(frozen=True)
class Costs:
    """What each variable adds to the cost of a pair; a cost is a sum over variables, lower is a better match.

    Attributes
    ----------
    kinds : ndarray (v,)
        EQUAL: 0 where equal, else 1. LOGISTIC: the square of 2/(1+exp(-x)) - 1, x = min(|difference|, 6). STEPS: by the absolute
        difference. TABLE: by the codes of the two values.
    missing : float
        Cost of a variable that is missing in either record.
    limit : float
        Costs above it are of no interest.
    breaks, steps : tuples of ndarray
        STEPS: ascending breaks (b,), cost (b+1,) of differences up to each break and beyond the last.
    tables : tuple of ndarray
        TABLE: costs (codes of the first file, codes of the second).
    """

    kinds: np.ndarray
    missing: float
    limit: float
    breaks: tuple[np.ndarray, ...] = field(default=(), repr=False)
    steps: tuple[np.ndarray, ...] = field(default=(), repr=False)
    tables: tuple[np.ndarray, ...] = field(default=(), repr=False)


class Nearest(NamedTuple):
    """For profile i of the first file: ``partner`` (n, 6) profile numbers of the second, best first, -1 for none; ``cost`` (n, 6).

    A profile of several records stands there once per record, up to six times.
    """

    partner: np.ndarray
    cost: np.ndarray


def nearest(
    first: np.ndarray, second: np.ndarray, sizes: np.ndarray, costs: Costs, progress: Callable[[int, int], None] | None = None
) -> Nearest:
    """The six records of the second file with the least cost, for every profile of the first.

    Parameters
    ----------
    first, second : ndarray (n, v), (m, v)
        Distinct profiles: numbers, or codes; NaN is missing.
    sizes : ndarray (m,)
        Records of each second profile.
    costs : Costs
    progress : callable, optional
        Called with (profiles done, profiles in all).
    """
    v = first.shape[1]
    packed = _pack(costs, v)
    tree = build_tree(np.ascontiguousarray(second, dtype=float), costs.kinds.astype(np.int64), _LEAF)
    ordered = np.ascontiguousarray(second[tree[0]], dtype=float)
    codes, levels = _few_codes(ordered, costs.kinds)
    numbers = np.ascontiguousarray(ordered.T)
    order = np.lexsort(first.T[::-1])  # neighbours in the file's order meet the same branches
    queries = np.ascontiguousarray(first[order], dtype=float)
    partner, cost = np.full((len(first), _KEEP), -1, dtype=np.int64), np.full((len(first), _KEEP), np.inf)
    starts = range(0, len(first), _CHUNK)
    tasks = [
        (queries[s : s + _CHUNK], ordered, numbers, codes, levels, sizes[tree[0]], tree[1:], packed, costs.missing, costs.limit)
        for s in starts
    ]
    report = None if progress is None else lambda done, _: progress(min(done * _CHUNK, len(first)), len(first))
    for number, (places, values) in in_threads(_search, tasks, report):
        rows = order[number * _CHUNK : number * _CHUNK + len(places)]
        partner[rows] = np.where(places >= 0, tree[0][places], -1)
        cost[rows] = values
    return Nearest(partner, cost)


def _few_codes(values: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coded variables of few codes as (v, m), missing ones last; their number of codes (v,), -1 for the other variables."""
    codes, levels = np.zeros(values.shape[::-1], dtype=np.int32), np.full(values.shape[1], -1)
    for variable, kind in enumerate(kinds):
        column = values[:, variable]
        most = np.max(column, initial=0.0, where=~np.isnan(column))
        if kind in (EQUAL, TABLE) and most < _FEW_CODES:
            levels[variable] = int(most) + 1
            codes[variable] = np.where(np.isnan(column), levels[variable], column)
    return codes, levels


def _pack(costs: Costs, v: int) -> tuple[np.ndarray, ...]:
    """Steps and tables of all variables as flat arrays with offsets, which compiled code takes."""

    def flat(parts: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        arrays = [np.ravel(part).astype(float) for part in parts] or [np.empty(0)] * v
        return np.concatenate([*arrays, np.zeros(1)]), np.cumsum([0, *(len(array) for array in arrays)])

    breaks, break_starts = flat(tuple(part * (1 + 1e-9) for part in costs.breaks))  # 0.4 - 0.3 is to count as 0.1
    steps, step_starts = flat(costs.steps)
    least = tuple(np.minimum.accumulate(part[::-1])[::-1] for part in costs.steps)  # at this difference or any greater one
    tables, table_starts = flat(costs.tables)
    widths = np.array([table.shape[1] if table.ndim == 2 else 0 for table in costs.tables] or [0] * v, dtype=np.int64)
    rows = tuple(table.min(axis=1, initial=np.inf) if table.ndim == 2 else np.empty(0) for table in costs.tables)
    row_least, row_starts = flat(rows)
    return (
        costs.kinds.astype(np.int64), breaks, break_starts, steps, step_starts, flat(least)[0],
        tables, table_starts, widths, row_least, row_starts,
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _pair_cost(variable: int, one: float, two: float, packed: tuple) -> float:
    """Cost of two values that are there."""
    kinds, breaks, break_starts, steps, step_starts, _, tables, table_starts, widths, _, _ = packed
    kind = kinds[variable]
    if kind == EQUAL:
        return 0.0 if one == two else 1.0
    if kind == LOGISTIC:
        part = 2 / (1 + np.exp(-min(abs(one - two), 6.0))) - 1
        return part * part
    if kind == STEPS:
        start, end = break_starts[variable], break_starts[variable + 1]
        return steps[step_starts[variable] + np.searchsorted(breaks[start:end], abs(one - two))]
    return tables[table_starts[variable] + int(one) * widths[variable] + int(two)]


@numba.njit(cache=True, nogil=True)
def _least_cost(variable: int, one: float, low: float, high: float, packed: tuple) -> float:
    """The least cost of a value with any value from `low` to `high`."""
    kinds, breaks, break_starts, _, step_starts, least, tables, table_starts, widths, row_least, row_starts = packed
    kind = kinds[variable]
    if kind == TABLE:
        if high - low > 8:
            return row_least[row_starts[variable] + int(one)]
        row = table_starts[variable] + int(one) * widths[variable]
        return tables[row + int(low) : row + int(high) + 1].min()
    away = max(low - one, one - high, 0.0)
    if kind == EQUAL:
        return 0.0 if away == 0 else 1.0
    if kind == LOGISTIC:
        part = 2 / (1 + np.exp(-min(away, 6.0))) - 1
        return part * part
    start, end = break_starts[variable], break_starts[variable + 1]
    return least[step_starts[variable] + np.searchsorted(breaks[start:end], away)]


@numba.njit(cache=True, nogil=True)
def _node_bound(query: np.ndarray, low: np.ndarray, high: np.ndarray, missing: np.ndarray, packed: tuple, cost_missing: float) -> float:
    """The least cost of the query with any profile of a node."""
    total = 0.0
    for variable in range(len(query)):
        if np.isnan(query[variable]) or low[variable] > high[variable]:
            total += cost_missing
        else:
            part = _least_cost(variable, query[variable], low[variable], high[variable], packed)
            total += min(part, cost_missing) if missing[variable] else part
    return total


@numba.njit(cache=True, nogil=True)
def _look_up(query: np.ndarray, levels: np.ndarray, packed: tuple, cost_missing: float, costs: np.ndarray) -> None:
    """Cost of the query with every code of the variables that have few, (v, codes + 1); the last code is a missing value."""
    for variable in range(len(query)):
        for code in range(levels[variable]):
            missing = np.isnan(query[variable])
            costs[variable, code] = cost_missing if missing else _pair_cost(variable, query[variable], float(code), packed)
        costs[variable, levels[variable]] = cost_missing


@numba.njit(cache=True, nogil=True)
def _leaf_costs(
    query: np.ndarray, codes: np.ndarray, numbers: np.ndarray, few: np.ndarray, stepped: np.ndarray, start: int, end: int,
    looked_up: np.ndarray, packed: tuple, missing: float, total: np.ndarray,
) -> None:  # fmt: skip
    """Sum of looked-up and stepwise costs for the profiles of a leaf: plain loops over one variable at a time, which vectorize."""
    _, breaks, break_starts, steps, step_starts, _, _, _, _, _, _ = packed
    n = end - start
    total[:n] = 0.0
    for variable in few:
        column, costs = codes[variable, start:end], looked_up[variable]
        for place in range(n):
            total[place] += costs[column[place]]
    for variable in stepped:
        own, values = query[variable], numbers[variable, start:end]
        if np.isnan(own):
            total[:n] += missing
            continue
        first = step_starts[variable]
        for place in range(n):
            total[place] += missing if np.isnan(values[place]) else steps[first]
        for number in range(break_starts[variable + 1] - break_starts[variable]):
            limit, rise = breaks[break_starts[variable] + number], steps[first + number + 1] - steps[first + number]
            for place in range(n):
                total[place] += rise if abs(values[place] - own) > limit else 0.0


@numba.njit(cache=True, nogil=True)
def _add_others(
    query: np.ndarray, profile: np.ndarray, many: np.ndarray, packed: tuple, missing: float, total: float, bound: float
) -> float:
    """Add the variables that are not looked up; stops as soon as `bound` is passed."""
    for variable in many:
        if total > bound:
            break
        if np.isnan(query[variable]) or np.isnan(profile[variable]):
            total += missing
        else:
            total += _pair_cost(variable, query[variable], profile[variable], packed)
    return total


@numba.njit(cache=True, nogil=True)
def _insert(places: np.ndarray, costs: np.ndarray, place: int, cost: float, size: int) -> None:
    """Put a profile into the sorted list of the six best, once per record."""
    for _ in range(min(size, _KEEP)):
        if cost >= costs[_KEEP - 1]:
            return
        slot = _KEEP - 1
        while slot > 0 and costs[slot - 1] > cost:
            costs[slot], places[slot] = costs[slot - 1], places[slot - 1]
            slot -= 1
        costs[slot], places[slot] = cost, place


@numba.njit(cache=True, nogil=True)
def _search(
    queries: np.ndarray, profiles: np.ndarray, numbers: np.ndarray, codes: np.ndarray, levels: np.ndarray, sizes: np.ndarray,
    tree: tuple, packed: tuple,
    cost_missing: float, limit: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The six best of each query, depth first, the nearer child first."""
    ends, child, low, high, missing = tree
    few, stepped = np.flatnonzero(levels >= 0), np.flatnonzero(packed[0] == STEPS)
    many = np.flatnonzero((levels < 0) & (packed[0] != STEPS))
    looked_up, total = np.empty((len(levels), max(levels.max(), 0) + 1)), np.empty((ends[:, 1] - ends[:, 0])[child < 0].max())
    places, costs = np.full((len(queries), _KEEP), -1, dtype=np.int64), np.full((len(queries), _KEEP), np.inf)
    stack, stack_bound = np.empty(len(child) + 2, dtype=np.int64), np.empty(len(child) + 2)
    for number in range(len(queries)):
        query = queries[number]
        _look_up(query, levels, packed, cost_missing, looked_up)
        depth, stack[0] = 1, 0
        stack_bound[0] = _node_bound(query, low[0], high[0], missing[0], packed, cost_missing)
        while depth > 0:
            depth -= 1
            node = stack[depth]
            bound = min(limit, costs[number, _KEEP - 1])
            if stack_bound[depth] > bound:
                continue
            if child[node] < 0:
                start, end = ends[node]
                _leaf_costs(query, codes, numbers, few, stepped, start, end, looked_up, packed, cost_missing, total)
                for place in range(start, end):
                    bound = min(limit, costs[number, _KEEP - 1])
                    if total[place - start] <= bound:
                        cost = _add_others(query, profiles[place], many, packed, cost_missing, total[place - start], bound)
                        if cost <= limit:
                            _insert(places[number], costs[number], place, cost, sizes[place])
                continue
            one, two = child[node], child[node] + 1
            bound_one = _node_bound(query, low[one], high[one], missing[one], packed, cost_missing)
            bound_two = _node_bound(query, low[two], high[two], missing[two], packed, cost_missing)
            if bound_one < bound_two:  # the nearer one on top
                one, two, bound_one, bound_two = two, one, bound_two, bound_one
            for next_node, next_bound in ((one, bound_one), (two, bound_two)):
                if next_bound <= bound:
                    stack[depth], stack_bound[depth] = next_node, next_bound
                    depth += 1
    return places, costs
