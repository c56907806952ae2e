"""What a pair of values costs, and what one query costs with every code of the variables that have
few.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = [
    "BLOCK",
    "EQUAL",
    "LOGISTIC",
    "MOST_CODES",
    "STEPS",
    "TABLE",
    "CostTables",
    "Query",
    "logistic",
    "make_query",
    "set_query",
]

# what a variable costs: see `riskweighted.reidentification.nearest.Costs`
EQUAL, LOGISTIC, STEPS, TABLE = 0, 1, 2, 3
BLOCK = 16  # columns of a table whose least costs are kept
# of a variable of few codes: with the one that stands for missing, the bits of a set
MOST_CODES = 63


class CostTables(NamedTuple):
    """The costs of all v variables.

    ``kinds`` (v,): EQUAL, LOGISTIC, STEPS or TABLE; ``missing``: cost of a missing value;
    ``limit``: costs above it do not matter. STEPS: ``breaks`` (v, b + 1), inf after the last;
    ``steps`` (v, b + 1): the cost up to each break and beyond the last; ``least`` (v, b + 1): the
    least cost at this difference or any greater one. TABLE: ``tables``, row by row, from ``starts``
    (v,) on; ``widths`` (v,): columns of each; ``blocks``: the least of every 16 columns, row by
    row, from ``block_starts`` (v,) on.
    """

    kinds: np.ndarray
    missing: float
    limit: float
    breaks: np.ndarray
    steps: np.ndarray
    least: np.ndarray
    tables: np.ndarray
    starts: np.ndarray
    widths: np.ndarray
    blocks: np.ndarray
    block_starts: np.ndarray


class Query(NamedTuple):
    """``values`` (v,) of one query. Of each variable of few codes ``by_code`` (v, 64): cost of each
    code, the last one a missing value; ``classes`` (v,): how many different costs there are;
    ``least`` (v, 64): these, ascending; ``within`` (v, 64): the codes that cost no more than each,
    as bits.
    """

    values: np.ndarray
    by_code: np.ndarray
    classes: np.ndarray
    least: np.ndarray
    within: np.ndarray


@kernel
def logistic(difference: float) -> float:
    """The primer's cost of a difference of z-scores, squared."""
    share: np.float64 = 2 / (1 + np.exp(-min(difference, 6.0))) - 1
    return share * share


@kernel
def pair_cost(costs: CostTables, variable: int, first: float, second: float) -> float:
    """Cost of two values that are there."""
    kind = costs.kinds[variable]
    if kind == EQUAL:
        return 0.0 if first == second else 1.0
    if kind == LOGISTIC:
        return logistic(abs(first - second))
    cost: float
    if kind == STEPS:
        step = 0
        while costs.breaks[variable, step] < abs(first - second):
            step += 1
        cost = costs.steps[variable, step]
    else:
        cost = costs.tables[
            costs.starts[variable] + int(first) * costs.widths[variable] + int(second)
        ]
    return cost


@kernel
def make_query(levels: np.ndarray, costs: CostTables) -> Query:
    """Room for the queries of a search; the first is missing in every variable."""
    v, most = len(levels), MOST_CODES + 1
    shape = (v, most)
    query = Query(
        np.full(v, np.nan),
        np.empty(shape),
        np.zeros(v, np.int64),
        np.empty(shape),
        np.empty(shape, np.uint64),
    )
    for variable in range(v):
        if levels[variable] >= 0:
            _look_up(query, variable, np.nan, levels[variable], costs)
    return query


@kernel
def set_query(query: Query, values: np.ndarray, levels: np.ndarray, costs: CostTables) -> None:
    """Make `values` (v,) the query; what it shares with the last one is kept."""
    for variable in range(len(levels)):
        value, last = values[variable], query.values[variable]
        if levels[variable] >= 0 and value != last and not (np.isnan(value) and np.isnan(last)):
            _look_up(query, variable, value, levels[variable], costs)
    query.values[:] = values


@kernel
def _look_up(query: Query, variable: int, value: float, levels: int, costs: CostTables) -> None:
    """Cost of a value with every code, and the codes by cost: an insertion sort."""
    by_code = query.by_code[variable]
    least = query.least[variable]
    within = query.within[variable]
    number = 0
    for code in range(levels + 1):
        cost = (
            costs.missing
            if code == levels or np.isnan(value)
            else pair_cost(costs, variable, value, float(code))
        )
        by_code[code] = cost
        rank = number
        while rank > 0 and least[rank - 1] >= cost:
            rank -= 1
        if rank == number or least[rank] != cost:
            for later in range(number, rank, -1):
                least[later], within[later] = least[later - 1], within[later - 1]
            least[rank], within[rank] = cost, np.uint64(0)
            number += 1
        within[rank] |= np.uint64(1) << np.uint64(code)
    for rank in range(1, number):
        within[rank] |= within[rank - 1]
    query.classes[variable] = number
