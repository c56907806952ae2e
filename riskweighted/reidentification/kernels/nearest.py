"""The six best profiles of each query: a search of the tree, depth first, that passes by what cannot be among them."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import STEPS, CostTables, least_cost, pair_cost
from riskweighted.reidentification.kernels.tree import Tree

__all__ = ["KEEP", "Profiles", "search"]

KEEP = 6  # five pairs, and the one that shows whether their last rank is whole


class Profiles(NamedTuple):
    """The profiles to search, in the order of the tree's leaves.

    ``values`` (m, v); ``columns`` (v, m): the same by variable; ``codes`` (v, m): of variables with few codes, the last one for a
    missing value; ``levels`` (v,): codes of those, -1 for other variables; ``sizes`` (m,): records of each profile.
    """

    values: np.ndarray
    columns: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    sizes: np.ndarray


class LeafWork(NamedTuple):
    """How the profiles of a leaf are compared with a query.

    ``few``, ``stepped``, ``many``: variables whose cost is looked up by code, added step by step, computed pair by pair;
    ``looked_up`` (v, codes + 1): costs of the query with every code; ``total`` (profiles of the largest leaf,): sums of the first two.
    """

    few: np.ndarray
    stepped: np.ndarray
    many: np.ndarray
    looked_up: np.ndarray
    total: np.ndarray


class Best(NamedTuple):
    """Of one query: ``places`` (6,) of the best profiles so far, -1 for none, and their ``costs`` (6,), ascending, inf for none."""

    places: np.ndarray
    costs: np.ndarray


@kernel
def _node_bound(query: np.ndarray, low: np.ndarray, high: np.ndarray, missing: np.ndarray, costs: CostTables) -> float:
    """The least cost of the query with any profile of a node, whose bounds are (v,) each."""
    total = 0.0
    for variable in range(len(query)):
        if np.isnan(query[variable]) or low[variable] > high[variable]:
            total += costs.missing
        else:
            part = least_cost(costs, variable, query[variable], low[variable], high[variable])
            total += min(part, costs.missing) if missing[variable] else part
    return total


@kernel
def _look_up(query: np.ndarray, levels: np.ndarray, costs: CostTables, looked_up: np.ndarray) -> None:
    """Cost of the query with every code of the variables that have few, (v, codes + 1); the last code is a missing value."""
    for variable in range(len(query)):
        for code in range(levels[variable]):
            missing = np.isnan(query[variable])
            looked_up[variable, code] = costs.missing if missing else pair_cost(costs, variable, query[variable], float(code))
        looked_up[variable, levels[variable]] = costs.missing


@kernel
def _leaf_costs(query: np.ndarray, profiles: Profiles, start: int, end: int, work: LeafWork, costs: CostTables) -> None:
    """Sum of looked-up and stepwise costs for the profiles of a leaf: plain loops over one variable at a time, which vectorize."""
    total, missing = work.total, costs.missing
    breaks, break_starts, steps = costs.breaks, costs.break_starts, costs.steps
    n = end - start
    total[:n] = 0.0
    for variable in work.few:
        column, by_code = profiles.codes[variable, start:end], work.looked_up[variable]
        for place in range(n):
            total[place] += by_code[column[place]]
    for variable in work.stepped:
        own, values = query[variable], profiles.columns[variable, start:end]
        if np.isnan(own):
            total[:n] += missing
            continue
        first = costs.step_starts[variable]
        for place in range(n):
            total[place] += missing if np.isnan(values[place]) else steps[first]
        for number in range(break_starts[variable + 1] - break_starts[variable]):
            limit, rise = breaks[break_starts[variable] + number], steps[first + number + 1] - steps[first + number]
            for place in range(n):
                total[place] += rise if abs(values[place] - own) > limit else 0.0


@kernel
def _add_others(query: np.ndarray, profile: np.ndarray, many: np.ndarray, costs: CostTables, total: float, bound: float) -> float:
    """Add the variables that are computed pair by pair; stops as soon as `bound` is passed."""
    for variable in many:
        if total > bound:
            break
        if np.isnan(query[variable]) or np.isnan(profile[variable]):
            total += costs.missing
        else:
            total += pair_cost(costs, variable, query[variable], profile[variable])
    return total


@kernel
def _insert(best: Best, place: int, cost: float, size: int) -> None:
    """Put a profile into the sorted list of the six best, once per record."""
    places, costs = best.places, best.costs
    for _ in range(min(size, KEEP)):
        if cost >= costs[KEEP - 1]:
            return
        slot = KEEP - 1
        while slot > 0 and costs[slot - 1] > cost:
            costs[slot], places[slot] = costs[slot - 1], places[slot - 1]
            slot -= 1
        costs[slot], places[slot] = cost, place


@kernel
def _make_work(profiles: Profiles, tree: Tree, costs: CostTables) -> LeafWork:
    levels, stepped = profiles.levels, costs.kinds == STEPS
    largest = (tree.ends[:, 1] - tree.ends[:, 0])[tree.child < 0].max()
    few, many = np.flatnonzero(levels >= 0), np.flatnonzero((levels < 0) & ~stepped)
    return LeafWork(few, np.flatnonzero(stepped), many, np.empty((len(levels), max(levels.max(), 0) + 1)), np.empty(largest))


@kernel
def search(queries: np.ndarray, profiles: Profiles, tree: Tree, costs: CostTables) -> tuple[np.ndarray, np.ndarray]:
    """Places of the six best profiles of each query (n, v), -1 for none, and their costs, inf for none; (n, 6) each."""
    work, values, sizes, limit = _make_work(profiles, tree, costs), profiles.values, profiles.sizes, costs.limit
    ends, child, low, high, missing, total = tree.ends, tree.child, tree.low, tree.high, tree.missing, work.total
    places, least = np.full((len(queries), KEEP), -1, dtype=np.int64), np.full((len(queries), KEEP), np.inf)
    stack, stack_bound = np.empty(len(child) + 2, dtype=np.int64), np.empty(len(child) + 2)
    for number in range(len(queries)):
        query, best = queries[number], Best(places[number], least[number])
        _look_up(query, profiles.levels, costs, work.looked_up)
        depth, stack[0] = 1, 0
        stack_bound[0] = _node_bound(query, low[0], high[0], missing[0], costs)
        while depth > 0:
            depth -= 1
            node, bound = stack[depth], min(limit, best.costs[KEEP - 1])
            if stack_bound[depth] > bound:
                continue
            if child[node] < 0:
                start, end = ends[node]
                _leaf_costs(query, profiles, start, end, work, costs)
                for place in range(start, end):
                    bound = min(limit, best.costs[KEEP - 1])
                    if total[place - start] <= bound:
                        cost = _add_others(query, values[place], work.many, costs, total[place - start], bound)
                        if cost <= limit:
                            _insert(best, place, cost, sizes[place])
                continue
            one, two = child[node], child[node] + 1
            bound_one = _node_bound(query, low[one], high[one], missing[one], costs)
            bound_two = _node_bound(query, low[two], high[two], missing[two], costs)
            if bound_one < bound_two:  # the nearer one on top
                one, two, bound_one, bound_two = two, one, bound_two, bound_one
            for next_node, next_bound in ((one, bound_one), (two, bound_two)):
                if next_bound <= bound:
                    stack[depth], stack_bound[depth] = next_node, next_bound
                    depth += 1
    return places, least
