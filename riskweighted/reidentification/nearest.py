"""The six best partners of every record, exactly, without looking at every pair.

All the whole-rank rule (S004 section 2.2) needs: pairs that score strictly better than a record's sixth best are what remains
of whole ranks that hold at most five pairs. Distinct profiles stand for their records; the second file's are split into a
tree whose nodes know the least cost that a pair with one of their profiles can have, and a branch that cannot beat the sixth
best so far is not entered.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from riskweighted.common.threads import in_threads
from riskweighted.reidentification.kernels.costs import EQUAL, LOGISTIC, STEPS, TABLE, CostTables
from riskweighted.reidentification.kernels.nearest import KEEP, Profiles, search
from riskweighted.reidentification.kernels.tree import build_tree

__all__ = ["EQUAL", "LOGISTIC", "MOST_PAIRS", "STEPS", "TABLE", "Costs", "Nearest", "nearest"]

MOST_PAIRS = KEEP - 1
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
    tables = _cost_tables(costs, first.shape[1])
    tree = build_tree(np.ascontiguousarray(second, dtype=float), tables.kinds, _LEAF)
    values = np.ascontiguousarray(second[tree.order], dtype=float)
    codes, levels = _few_codes(values, costs.kinds)
    profiles = Profiles(values, np.ascontiguousarray(values.T), codes, levels, sizes[tree.order])
    order = np.lexsort(first.T[::-1])  # neighbours in the file's order meet the same branches
    queries = np.ascontiguousarray(first[order], dtype=float)
    partner, cost = np.full((len(first), KEEP), -1, dtype=np.int64), np.full((len(first), KEEP), np.inf)
    tasks = [(queries[start : start + _CHUNK], profiles, tree, tables) for start in range(0, len(first), _CHUNK)]
    report = None if progress is None else lambda done, _: progress(min(done * _CHUNK, len(first)), len(first))
    for number, (places, least) in in_threads(search, tasks, report):
        rows = order[number * _CHUNK : number * _CHUNK + len(places)]
        partner[rows] = np.where(places >= 0, tree.order[places], -1)
        cost[rows] = least
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


def _cost_tables(costs: Costs, v: int) -> CostTables:
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
    return CostTables(
        costs.kinds.astype(np.int64), float(costs.missing), float(costs.limit), breaks, break_starts, steps, step_starts,
        flat(least)[0], tables, table_starts, widths, row_least, row_starts,
    )  # fmt: skip
