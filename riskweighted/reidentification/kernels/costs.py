"""What a pair of values costs."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["BLOCK", "EQUAL", "LOGISTIC", "STEPS", "TABLE", "CostTables", "logistic", "pair_cost"]

EQUAL, LOGISTIC, STEPS, TABLE = 0, 1, 2, 3  # what a variable costs: see `riskweighted.reidentification.nearest.Costs`
BLOCK = 16  # columns of a table whose least costs are kept


class CostTables(NamedTuple):
    """The costs of all v variables.

    ``kinds`` (v,): EQUAL, LOGISTIC, STEPS or TABLE; ``missing``: cost of a missing value; ``limit``: costs above it do not matter.
    STEPS: ``breaks`` (v, b + 1), inf after the last; ``steps`` (v, b + 1): the cost up to each break and beyond the last; ``least``
    (v, b + 1): the least cost at this difference or any greater one. TABLE: ``tables``, row by row, from ``starts`` (v,) on;
    ``widths`` (v,): columns of each; ``blocks``: the least of every 16 columns, row by row, from ``block_starts`` (v,) on.
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


@kernel
def logistic(difference: float) -> float:
    """The primer's cost of a difference of z-scores, squared."""
    share: np.float64 = 2 / (1 + np.exp(-min(difference, 6.0))) - 1
    return share * share


@kernel
def pair_cost(costs: CostTables, variable: int, one: float, two: float) -> float:
    """Cost of two values that are there."""
    kind = costs.kinds[variable]
    if kind == EQUAL:
        return 0.0 if one == two else 1.0
    if kind == LOGISTIC:
        return logistic(abs(one - two))
    cost: float
    if kind == STEPS:
        place = 0
        while costs.breaks[variable, place] < abs(one - two):
            place += 1
        cost = costs.steps[variable, place]
    else:
        cost = costs.tables[costs.starts[variable] + int(one) * costs.widths[variable] + int(two)]
    return cost
