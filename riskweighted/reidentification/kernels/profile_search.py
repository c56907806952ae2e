"""The six best profiles of each query: a search of the tree, depth first, that passes by what
cannot be among them.

What a query costs at the least with any profile of a node is summed in `total` for n nodes in a
row, variable by variable: such loops vectorize. A profile counts as a node of itself alone, whose
least cost is its cost. Arrays are passed one by one, and what is called calls nothing that takes
arrays: numba counts references for every tuple of arrays passed and every array passed on, at more
than the search costs.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import (
    BLOCK,
    EQUAL,
    LOGISTIC,
    STEPS,
    CostTables,
    logistic,
    make_query,
    set_query,
)
from riskweighted.reidentification.kernels.profile_tree import MISSING, PRESENT, ProfileTree

__all__ = ["KEEP", "Profiles", "search"]

KEEP = 6  # five pairs, and the one that shows whether their last rank is whole


class Profiles(NamedTuple):
    """The profiles to search, in the order of the tree's leaves.

    ``columns`` (v, m); ``sets`` (v, m): PRESENT or MISSING; ``codes`` (v, m): of variables of few
    codes, the last one for a missing value; ``levels`` (v,): codes of those, -1 for other
    variables; ``sizes`` (m,): records of each profile.
    """

    columns: np.ndarray
    sets: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    sizes: np.ndarray


@kernel
def _add_codes(
    few: np.ndarray, by_code: np.ndarray, codes: np.ndarray, start: int, n: int, total: np.ndarray
) -> None:
    """Begin with the variables of few codes of n profiles: their cost is looked up."""
    total[:n] = 0.0
    for variable in few:
        for profile in range(n):
            total[profile] += by_code[variable, codes[variable, start + profile]]


@kernel
def _bound_codes(
    few: np.ndarray,
    classes: np.ndarray,
    least: np.ndarray,
    within: np.ndarray,
    sets: np.ndarray,
    start: int,
    n: int,
    total: np.ndarray,
) -> None:
    """The same of n nodes: the least cost of the codes in each one's set."""
    total[:n] = 0.0
    for variable in few:
        for node in range(n):
            total[node] += least[variable, 0]
        for number in range(classes[variable] - 1):
            codes = within[variable, number]
            rise = least[variable, number + 1] - least[variable, number]
            for node in range(n):
                total[node] += rise if sets[variable, start + node] & codes == 0 else 0.0


@kernel
def _bound_steps(
    stepped: np.ndarray,
    query: np.ndarray,
    sets: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    breaks: np.ndarray,
    steps: np.ndarray,
    missing: float,
    start: int,
    n: int,
    part: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the variables of steps: the cost at the least difference; of a node `steps` are the least
    there or beyond. `part`: room (n,).
    """
    for variable in stepped:
        value = query[variable]
        for node in range(n):
            part[node] = missing if np.isnan(value) else steps[variable, 0]
        for number in range(breaks.shape[1] - 1):
            limit = breaks[variable, number]
            rise = steps[variable, number + 1] - steps[variable, number]
            if np.isnan(value) or np.isinf(limit):
                break
            for node in range(n):
                away = max(
                    low[variable, start + node] - value, value - high[variable, start + node]
                )
                part[node] += rise if away > limit else 0.0
        for node in range(n):
            held = sets[variable, start + node]
            cost = min(part[node], missing) if held & MISSING else part[node]
            total[node] += cost if held & PRESENT else missing


@kernel
def _bound_others(
    others: np.ndarray,
    query: np.ndarray,
    kinds: np.ndarray,
    sets: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    tables: np.ndarray,
    starts: np.ndarray,
    widths: np.ndarray,
    blocks: np.ndarray,
    block_starts: np.ndarray,
    missing: float,
    most: float,
    start: int,
    n: int,
    total: np.ndarray,
) -> None:
    """Add the other variables, where the sum is not above `most` yet: numbers, and codes too many
    for a set.
    """
    for variable in others:
        value, kind = query[variable], kinds[variable]
        for node in range(n):
            held = sets[variable, start + node]
            least = low[variable, start + node]
            most_here = high[variable, start + node]
            if total[node] > most:
                continue
            if np.isnan(value) or held & PRESENT == 0:
                total[node] += missing
                continue
            away = max(least - value, value - most_here, 0.0)
            if kind == EQUAL:
                cost = 0.0 if away == 0 else 1.0
            elif kind == LOGISTIC:
                cost = logistic(away)
            else:
                cost = np.inf
                row = starts[variable] + int(value) * widths[variable]
                block_row = block_starts[variable] + int(value) * (
                    (widths[variable] + BLOCK - 1) // BLOCK
                )
                code, last = int(least), int(most_here)
                while code <= last:
                    if code % BLOCK == 0 and code + BLOCK - 1 <= last:
                        cost = min(cost, blocks[block_row + code // BLOCK])
                        code += BLOCK
                    else:
                        cost = min(cost, tables[row + code])
                        code += 1
            total[node] += min(cost, missing) if held & MISSING else cost


@kernel
def _keep_best(
    total: np.ndarray,
    start: int,
    n: int,
    limit: float,
    sizes: np.ndarray,
    best: np.ndarray,
    least: np.ndarray,
) -> None:
    """Put the profiles that are among a query's six best so far into `best`, once per record, and
    their costs into `least`, ascending.
    """
    for profile in range(n):
        cost = total[profile]
        if cost > limit:
            continue
        for _ in range(min(sizes[start + profile], KEEP)):
            if cost >= least[KEEP - 1]:
                break
            slot = KEEP - 1
            while slot > 0 and least[slot - 1] > cost:
                least[slot], best[slot] = least[slot - 1], best[slot - 1]
                slot -= 1
            least[slot], best[slot] = cost, start + profile


@kernel
def _push(
    nodes: np.ndarray,
    bounds: np.ndarray,
    depth: int,
    first: int,
    n: int,
    total: np.ndarray,
    limit: float,
    sixth: float,
) -> int:
    """Put those of n nodes that may hold something better on the stack, the best one on top; the
    new depth.
    """
    bottom = depth
    for node in range(n):
        bound = total[node]
        if bound < sixth and bound <= limit:
            slot = depth
            while slot > bottom and bounds[slot - 1] < bound:
                nodes[slot], bounds[slot] = nodes[slot - 1], bounds[slot - 1]
                slot -= 1
            nodes[slot], bounds[slot] = first + node, bound
            depth += 1
    return depth


@kernel
def search(
    queries: np.ndarray, profiles: Profiles, tree: ProfileTree, costs: CostTables
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the six best profiles of each query (n, v), -1 for none, and their costs, inf for
    none; (n, 6) each.
    """
    columns, there, codes, levels, sizes = profiles
    _, ends, child, sets, low, high, widest = tree
    kinds, missing, limit, breaks, steps, rising, tables, starts, widths, blocks, block_starts = (
        costs
    )
    few, stepped = np.flatnonzero(levels >= 0), np.flatnonzero((levels < 0) & (kinds == STEPS))
    others = np.flatnonzero((levels < 0) & (kinds != STEPS))
    query = make_query(levels, costs)
    value, by_code, classes, by_class, within = query
    best = np.full((len(queries), KEEP), -1, dtype=np.int64)
    least = np.full((len(queries), KEEP), np.inf)
    total, part = np.empty(widest), np.empty(widest)
    # a stack, which begins with the root
    nodes, bounds = np.zeros(len(child), dtype=np.int64), np.zeros(len(child))
    for row in range(len(queries)):
        set_query(query, queries[row], levels, costs)
        depth, nodes[0], bounds[0] = 1, 0, 0.0
        while depth > 0:
            depth -= 1
            node, sixth = nodes[depth], least[row, KEEP - 1]
            if bounds[depth] >= sixth:
                continue
            most = min(limit, sixth)
            first, n = child[node, 0], child[node, 1] - child[node, 0]
            if n == 0:
                first, n = ends[node, 0], ends[node, 1] - ends[node, 0]
                _add_codes(few, by_code, codes, first, n, total)
                _bound_steps(
                    stepped,
                    value,
                    there,
                    columns,
                    columns,
                    breaks,
                    steps,
                    missing,
                    first,
                    n,
                    part,
                    total,
                )
                _bound_others(
                    others,
                    value,
                    kinds,
                    there,
                    columns,
                    columns,
                    tables,
                    starts,
                    widths,
                    blocks,
                    block_starts,
                    missing,
                    most,
                    first,
                    n,
                    total,
                )
                _keep_best(total, first, n, limit, sizes, best[row], least[row])
            else:
                _bound_codes(few, classes, by_class, within, sets, first, n, total)
                _bound_steps(
                    stepped, value, sets, low, high, breaks, rising, missing, first, n, part, total
                )
                _bound_others(
                    others,
                    value,
                    kinds,
                    sets,
                    low,
                    high,
                    tables,
                    starts,
                    widths,
                    blocks,
                    block_starts,
                    missing,
                    most,
                    first,
                    n,
                    total,
                )
                depth = _push(nodes, bounds, depth, first, n, total, limit, sixth)
    return best, least
