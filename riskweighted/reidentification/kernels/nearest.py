"""The six best profiles of each query: a search of the tree, depth first, that passes by what cannot be among them."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.bounds import bound_codes, bound_others, bound_steps
from riskweighted.reidentification.kernels.costs import STEPS, CostTables
from riskweighted.reidentification.kernels.leaves import KEEP, add_codes, add_others, add_steps, keep_best
from riskweighted.reidentification.kernels.query import make_query, set_query
from riskweighted.reidentification.kernels.tree import Tree

__all__ = ["Profiles", "search"]


class Profiles(NamedTuple):
    """The profiles to search, in the order of the tree's leaves.

    ``columns`` (v, m); ``codes`` (v, m): of variables of few codes, the last one for a missing value; ``levels`` (v,): codes of
    those, -1 for other variables; ``sizes`` (m,): records of each profile.
    """

    columns: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    sizes: np.ndarray


@kernel
def _push(nodes: np.ndarray, bounds: np.ndarray, depth: int, first: int, n: int, total: np.ndarray, limit: float, sixth: float) -> int:
    """Put those of n nodes that may hold something better on the stack, the best one on top; the new depth."""
    bottom = depth
    for node in range(n):
        bound = total[node]
        if bound < sixth and bound <= limit:
            place = depth
            while place > bottom and bounds[place - 1] < bound:
                nodes[place], bounds[place] = nodes[place - 1], bounds[place - 1]
                place -= 1
            nodes[place], bounds[place] = first + node, bound
            depth += 1
    return depth


@kernel
def search(queries: np.ndarray, profiles: Profiles, tree: Tree, costs: CostTables) -> tuple[np.ndarray, np.ndarray]:
    """Places of the six best profiles of each query (n, v), -1 for none, and their costs, inf for none; (n, 6) each."""
    columns, codes, levels, sizes = profiles
    _, ends, child, sets, low, high, widest = tree
    kinds, missing, limit, breaks, steps, rising, tables, starts, widths, blocks, block_starts = costs
    few, stepped = np.flatnonzero(levels >= 0), np.flatnonzero((levels < 0) & (kinds == STEPS))
    others = np.flatnonzero((levels < 0) & (kinds != STEPS))
    query = make_query(levels, costs)
    own, by_code, classes, least, within = query
    places, best = np.full((len(queries), KEEP), -1, dtype=np.int64), np.full((len(queries), KEEP), np.inf)
    total, part = np.empty(widest), np.empty(widest)
    nodes, bounds = np.zeros(len(child), dtype=np.int64), np.zeros(len(child))  # a stack, which begins with the root
    for row in range(len(queries)):
        set_query(query, queries[row], levels, costs)
        depth, nodes[0], bounds[0] = 1, 0, 0.0
        while depth > 0:
            depth -= 1
            node, sixth = nodes[depth], best[row, KEEP - 1]
            if bounds[depth] >= sixth:
                continue
            most = min(limit, sixth)
            first, n = child[node, 0], child[node, 1] - child[node, 0]
            if n == 0:
                first, n = ends[node, 0], ends[node, 1] - ends[node, 0]
                add_codes(few, by_code, codes, first, n, total)
                add_steps(stepped, own, columns, breaks, steps, missing, first, n, total)
                add_others(others, own, kinds, columns, tables, starts, widths, missing, most, first, n, total)
                keep_best(total, first, n, limit, sizes, places, best, row)
            else:
                bound_codes(few, classes, least, within, sets, first, n, total)
                bound_steps(stepped, own, sets, low, high, breaks, rising, missing, first, n, part, total)
                bound_others(
                    others, own, kinds, sets, low, high, tables, starts, widths, blocks, block_starts, missing, most, first, n, total
                )
                depth = _push(nodes, bounds, depth, first, n, total, limit, sixth)
    return places, best
