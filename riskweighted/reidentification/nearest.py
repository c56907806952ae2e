"""The six best partners of every record, exactly, without looking at every pair: all that the
whole-rank rule needs (the primer, section 2.2).

Distinct profiles stand for their records; the second file's are split into a tree whose nodes know
which codes occur in them and the range of each number. From these follows the least that a query
can cost with any profile of a node; what cannot beat the sixth best so far is not entered.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import run_in_threads
from riskweighted.reidentification.kernels.costs import (
    BLOCK,
    EQUAL,
    LOGISTIC,
    MOST_CODES,
    STEPS,
    TABLE,
    CostTables,
)
from riskweighted.reidentification.kernels.profile_search import KEEP, Profiles, search
from riskweighted.reidentification.kernels.profile_tree import MISSING, PRESENT, build_tree

__all__ = ["EQUAL", "LOGISTIC", "STEPS", "TABLE", "Costs", "Nearest", "nearest"]

# on the benchmark's studies at most a seventh slower than the fastest of 16, 32, 64 and 128
_LEAF = 64
_CHUNK = 512


@dataclass(frozen=True)
class Costs:
    """What each variable adds to the cost of a pair; a cost is a sum over variables, lower is a
    better match.

    ``kinds`` (v,): EQUAL, 0 where equal, else 1; LOGISTIC, the square of 2/(1+exp(-x)) - 1 of x =
    min(|difference|, 6); STEPS, by the absolute difference; TABLE, by the codes of the two values.
    ``missing``: where either value is missing. ``limit``: costs above it are of no interest.
    ``breaks``, ``steps``: of STEPS ascending breaks (b,) and the cost (b + 1,) of differences up to
    each and beyond the last. ``tables``: of TABLE costs (codes of the first file, codes of the
    second).
    """

    kinds: np.ndarray
    missing: float
    limit: float
    breaks: tuple[np.ndarray, ...] = field(default=(), repr=False)
    steps: tuple[np.ndarray, ...] = field(default=(), repr=False)
    tables: tuple[np.ndarray, ...] = field(default=(), repr=False)


class Nearest(NamedTuple):
    """For profile i of the first file: ``partner`` (n, 6) profile numbers of the second, best
    first, -1 for none; ``cost`` (n, 6).

    A profile of several records stands there once per record, up to six times.
    """

    partner: np.ndarray
    cost: np.ndarray


def nearest(
    first: np.ndarray,
    second: np.ndarray,
    sizes: np.ndarray,
    costs: Costs,
    progress: Callable[[int, int], None] | None = None,
) -> Nearest:
    """The six records of the second file with the least cost, for every profile of the first.

    ``first`` (n, v), ``second`` (m, v): distinct profiles of numbers or codes, NaN where missing;
    ``sizes`` (m,): records of each second profile; ``progress`` is called with (profiles done,
    profiles in all).
    """
    tables = _cost_tables(costs, first.shape[1])
    second = np.ascontiguousarray(second, dtype=float)
    levels = _few_levels(second, costs.kinds)
    tree = build_tree(second, levels, tables, _LEAF)
    columns = np.ascontiguousarray(second[tree.order].T)
    sets = np.where(np.isnan(columns), MISSING, PRESENT)
    profiles = Profiles(columns, sets, _codes(columns, levels), levels, sizes[tree.order])
    order = np.lexsort(first.T[::-1])  # neighbours in the file's order meet the same branches
    queries = np.ascontiguousarray(first[order], dtype=float)
    partner = np.full((len(first), KEEP), -1, dtype=np.int64)
    cost = np.full((len(first), KEEP), np.inf)
    tasks = [
        (queries[start : start + _CHUNK], profiles, tree, tables)
        for start in range(0, len(first), _CHUNK)
    ]
    report = (
        None
        if progress is None
        else lambda done, _: progress(min(done * _CHUNK, len(first)), len(first))
    )
    for number, (best, least) in run_in_threads(search, tasks, report):
        rows = order[number * _CHUNK : number * _CHUNK + len(best)]
        partner[rows] = np.where(best >= 0, tree.order[best], -1)
        cost[rows] = least
    return Nearest(partner, cost)


def _few_levels(values: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Number of codes (v,) of the variables that have few, -1 of the others."""
    levels = np.full(values.shape[1], -1)
    for variable, kind in enumerate(kinds):
        column = values[:, variable]
        most = np.max(column, initial=0.0, where=~np.isnan(column))
        if kind in (EQUAL, TABLE) and most < MOST_CODES:
            levels[variable] = int(most) + 1
    return levels


def _codes(columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Variables of few codes as (v, m), missing ones last."""
    codes = np.zeros(columns.shape, dtype=np.uint8)
    for variable in np.flatnonzero(levels >= 0):
        codes[variable] = np.where(np.isnan(columns[variable]), levels[variable], columns[variable])
    return codes


def _cost_tables(costs: Costs, v: int) -> CostTables:
    """Steps and tables of all variables as arrays which compiled code takes."""
    most = max((len(part) for part in costs.breaks), default=0)
    breaks = np.full((v, most + 1), np.inf)
    steps = np.zeros((v, most + 1))
    least = np.zeros((v, most + 1))
    for variable, (bounds, by_step) in enumerate(zip(costs.breaks, costs.steps, strict=True)):
        breaks[variable, : len(bounds)] = bounds * (1 + 1e-9)  # 0.4 - 0.3 is to count as 0.1
        steps[variable, : len(by_step)] = by_step
        least[variable, : len(by_step)] = np.minimum.accumulate(by_step[::-1])[::-1]
    tables = [table if table.ndim == 2 else np.empty((0, 0)) for table in costs.tables] or [
        np.empty((0, 0))
    ] * v
    blocks = [
        np.minimum.reduceat(table, np.arange(0, table.shape[1], BLOCK), axis=1)
        if table.size
        else table
        for table in tables
    ]
    flat, starts = _flat([np.ravel(table) for table in tables])
    flat_blocks, block_starts = _flat([np.ravel(block) for block in blocks])
    widths = np.array([table.shape[1] for table in tables], dtype=np.int64)
    kinds = costs.kinds.astype(np.int64)
    return CostTables(
        kinds,
        costs.missing,
        costs.limit,
        breaks,
        steps,
        least,
        flat,
        starts,
        widths,
        flat_blocks,
        block_starts,
    )


def _flat(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Arrays one after the other, and where each begins."""
    joined = (
        np.concatenate(parts)
        if any(len(part) for part in parts)
        else np.zeros(1, dtype=parts[0].dtype)
    )
    return joined, np.cumsum([0, *(len(part) for part in parts)])
