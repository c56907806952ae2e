"""The least that a query costs with any profile of a node, for n nodes in a row at once, added to `total` variable by variable.

Loops over nodes, one variable at a time, vectorize. Arrays are passed one by one, and no function here calls one that takes
arrays: numba counts references for every tuple of arrays that is passed and every array passed on, at more than the search costs.
"""

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import BLOCK, EQUAL, LOGISTIC, logistic
from riskweighted.reidentification.kernels.tree import MISSING, PRESENT

__all__ = ["bound_codes", "bound_others", "bound_steps"]


@kernel
def bound_codes(
    few: np.ndarray,
    classes: np.ndarray,
    least: np.ndarray,
    within: np.ndarray,
    sets: np.ndarray,
    start: int,
    n: int,
    total: np.ndarray,
) -> None:
    """Begin with the variables of few codes, `few`: the least cost of the codes in each node's set. Arrays as in `Query`, `Tree`."""
    for node in range(n):
        total[node] = 0.0
    for variable in few:
        for node in range(n):
            total[node] += least[variable, 0]
        for place in range(classes[variable] - 1):
            codes, rise = within[variable, place], least[variable, place + 1] - least[variable, place]
            for node in range(n):
                total[node] += rise if sets[variable, start + node] & codes == 0 else 0.0


@kernel
def bound_steps(
    stepped: np.ndarray,
    query: np.ndarray,
    sets: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    breaks: np.ndarray,
    least: np.ndarray,
    missing: float,
    start: int,
    n: int,
    part: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the variables of steps, `stepped`: the least cost at the least difference or beyond it. `part` is room for n numbers."""
    for variable in stepped:
        own = query[variable]
        for node in range(n):
            part[node] = missing if np.isnan(own) else least[variable, 0]
        for number in range(breaks.shape[1] - 1):
            limit, rise = breaks[variable, number], least[variable, number + 1] - least[variable, number]
            if np.isnan(own) or np.isinf(limit):
                break
            for node in range(n):
                away = max(low[variable, start + node] - own, own - high[variable, start + node])
                part[node] += rise if away > limit else 0.0
        for node in range(n):
            held = sets[variable, start + node]
            cost = min(part[node], missing) if held & MISSING else part[node]
            total[node] += cost if held & PRESENT else missing


@kernel
def bound_others(
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
    """Add the other variables, where the sum is not above `most` yet: numbers, and codes too many for a set."""
    for variable in others:
        own, kind = query[variable], kinds[variable]
        for node in range(n):
            held, least, most_here = sets[variable, start + node], low[variable, start + node], high[variable, start + node]
            if total[node] > most:
                continue
            if np.isnan(own) or held & PRESENT == 0:
                total[node] += missing
                continue
            away = max(least - own, own - most_here, 0.0)
            if kind == EQUAL:
                cost = 0.0 if away == 0 else 1.0
            elif kind == LOGISTIC:
                cost = logistic(away)
            else:
                cost = np.inf
                row = starts[variable] + int(own) * widths[variable]
                block_row = block_starts[variable] + int(own) * ((widths[variable] + BLOCK - 1) // BLOCK)
                code, last = int(least), int(most_here)
                while code <= last:
                    if code % BLOCK == 0 and code + BLOCK - 1 <= last:
                        cost = min(cost, blocks[block_row + code // BLOCK])
                        code += BLOCK
                    else:
                        cost = min(cost, tables[row + code])
                        code += 1
            total[node] += min(cost, missing) if held & MISSING else cost
