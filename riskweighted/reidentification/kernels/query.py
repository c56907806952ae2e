"""A query, and what it costs with every code of the variables that have few."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import CostTables, pair_cost

__all__ = ["MOST_CODES", "Query", "make_query", "set_query"]

MOST_CODES = 63  # of a variable of few codes: with the one that stands for missing, the bits of a set


class Query(NamedTuple):
    """``values`` (v,) of one query. Of each variable of few codes ``by_code`` (v, 64): cost of each code, the last one a missing
    value; ``classes`` (v,): how many different costs there are; ``least`` (v, 64): these, ascending; ``within`` (v, 64): the codes
    that cost no more than each, as bits.
    """

    values: np.ndarray
    by_code: np.ndarray
    classes: np.ndarray
    least: np.ndarray
    within: np.ndarray


@kernel
def make_query(levels: np.ndarray, costs: CostTables) -> Query:
    """Room for the queries of a search; the first is missing in every variable."""
    v, most = len(levels), MOST_CODES + 1
    shape = (v, most)
    query = Query(np.full(v, np.nan), np.empty(shape), np.zeros(v, np.int64), np.empty(shape), np.empty(shape, np.uint64))
    for variable in range(v):
        if levels[variable] >= 0:
            _look_up(query, variable, np.nan, levels[variable], costs)
    return query


@kernel
def set_query(query: Query, values: np.ndarray, levels: np.ndarray, costs: CostTables) -> None:
    """Make `values` (v,) the query; what it shares with the last one is kept."""
    for variable in range(len(levels)):
        own, last = values[variable], query.values[variable]
        if levels[variable] >= 0 and own != last and not (np.isnan(own) and np.isnan(last)):
            _look_up(query, variable, own, levels[variable], costs)
    query.values[:] = values


@kernel
def _look_up(query: Query, variable: int, own: float, levels: int, costs: CostTables) -> None:
    """Cost of a value with every code, and the codes by cost: an insertion sort."""
    by_code, least, within, number = query.by_code[variable], query.least[variable], query.within[variable], 0
    for code in range(levels + 1):
        cost = costs.missing if code == levels or np.isnan(own) else pair_cost(costs, variable, own, float(code))
        by_code[code] = cost
        place = number
        while place > 0 and least[place - 1] >= cost:
            place -= 1
        if place == number or least[place] != cost:
            for later in range(number, place, -1):
                least[later], within[later] = least[later - 1], within[later - 1]
            least[place], within[place] = cost, np.uint64(0)
            number += 1
        within[place] |= np.uint64(1) << np.uint64(code)
    for place in range(1, number):
        within[place] |= within[place - 1]
    query.classes[variable] = number
