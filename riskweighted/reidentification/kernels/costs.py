"""What a pair of values costs, and the least that a value can cost with any of a range."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["EQUAL", "LOGISTIC", "STEPS", "TABLE", "CostTables", "least_cost", "pair_cost"]

EQUAL, LOGISTIC, STEPS, TABLE = 0, 1, 2, 3  # what a variable costs: see `riskweighted.reidentification.nearest.Costs`


class CostTables(NamedTuple):
    """The costs of all v variables, those of STEPS and TABLE one after the other in flat arrays.

    ``kinds`` (v,): EQUAL, LOGISTIC, STEPS or TABLE; ``missing``: cost of a missing value; ``limit``: costs above it do not matter.
    STEPS: ``breaks`` from ``break_starts`` (v + 1,) on; ``steps``: the cost up to each break and beyond the last, from
    ``step_starts`` (v + 1,) on; ``least``: the least cost at this difference or any greater one, likewise.
    TABLE: ``tables``, row by row, from ``table_starts`` (v + 1,) on; ``widths`` (v,): columns of each; ``row_least``: the least of
    each row, from ``row_starts`` (v + 1,) on.
    """

    kinds: np.ndarray
    missing: float
    limit: float
    breaks: np.ndarray
    break_starts: np.ndarray
    steps: np.ndarray
    step_starts: np.ndarray
    least: np.ndarray
    tables: np.ndarray
    table_starts: np.ndarray
    widths: np.ndarray
    row_least: np.ndarray
    row_starts: np.ndarray


@kernel
def _logistic(difference: float) -> float:
    share: np.float64 = 2 / (1 + np.exp(-min(difference, 6.0))) - 1
    return share * share


@kernel
def pair_cost(costs: CostTables, variable: int, one: float, two: float) -> float:
    """Cost of two values that are there."""
    kind = costs.kinds[variable]
    if kind == EQUAL:
        return 0.0 if one == two else 1.0
    if kind == LOGISTIC:
        return _logistic(abs(one - two))
    cost: float
    if kind == STEPS:
        start, end = costs.break_starts[variable], costs.break_starts[variable + 1]
        cost = costs.steps[costs.step_starts[variable] + np.searchsorted(costs.breaks[start:end], abs(one - two))]
    else:
        cost = costs.tables[costs.table_starts[variable] + int(one) * costs.widths[variable] + int(two)]
    return cost


@kernel
def least_cost(costs: CostTables, variable: int, one: float, low: float, high: float) -> float:
    """The least cost of a value with any value from `low` to `high`."""
    kind, away = costs.kinds[variable], max(low - one, one - high, 0.0)
    if kind == EQUAL:
        return 0.0 if away == 0 else 1.0
    if kind == LOGISTIC:
        return _logistic(away)
    cost: float
    if kind == STEPS:
        start, end = costs.break_starts[variable], costs.break_starts[variable + 1]
        cost = costs.least[costs.step_starts[variable] + np.searchsorted(costs.breaks[start:end], away)]
    elif high - low > 8:
        cost = costs.row_least[costs.row_starts[variable] + int(one)]
    else:
        row = costs.table_starts[variable] + int(one) * costs.widths[variable]
        cost = costs.tables[row + int(low) : row + int(high) + 1].min()
    return cost
