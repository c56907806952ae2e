"""Unicity: records that are unique in their own file and share a cell of some interaction (Census
Bureau primer, section 2.1).

All 2^v - 1 interactions are visited by depth-first search, refining the cells of both files
together. A cell with no record of one file, or with one of each, has nothing new below it; the
pairs of a small cell follow from how its records agree.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.common.jit import run_in_threads
from riskweighted.reidentification.kernels.small_cells import CodedFiles
from riskweighted.reidentification.kernels.unicity_search import MOST_VARIABLES, search_branch

__all__ = ["MOST_VARIABLES", "UniquePairs", "unique_pairs"]


class UniquePairs(NamedTuple):
    """``puf``, ``eif`` (k,): rows of each suspected pair; ``interaction`` (k, v): the smallest that
    shows it, as booleans.
    """

    puf: np.ndarray
    eif: np.ndarray
    interaction: np.ndarray


def unique_pairs(
    puf: np.ndarray, eif: np.ndarray, progress: Callable[[int, int], None] | None = None
) -> UniquePairs:
    """Every pair that unicity suspects, with the smallest interaction that shows it, by PUF row,
    then EIF row.

    ``puf`` (n, v), ``eif`` (m, v): codes of at most 50 linking variables; NaN takes a record out of
    every interaction with that variable. Among smallest interactions of one size it is the first in
    the order of the variables. `progress` is called with (branches done, in all).
    """
    v = puf.shape[1]
    if v > MOST_VARIABLES:
        raise InputError(f"unicity takes at most {MOST_VARIABLES} linking variables, got {v}")
    codes, levels = _integer_codes(np.vstack([puf, eif]))
    order = np.argsort(-levels, kind="stable")  # most levels first: cells shrink fastest
    # the first variable is the highest bit
    bits = (np.int64(1) << (v - 1 - np.arange(v, dtype=np.int64)))[order]
    ordered = np.ascontiguousarray(
        codes[:, order], dtype=np.int16 if levels.max(initial=0) < 2**15 else np.int32
    )
    # {first} alone, or all sets that begin so
    tasks = [(first, second) for second in range(v) for first in range(second + 1)]
    stop = np.zeros(1, dtype=np.int8)
    files = CodedFiles(ordered[: len(puf)], ordered[len(puf) :], levels[order], bits)
    branches = run_in_threads(
        search_branch, [(files, *task, stop) for task in tasks], progress, stop
    )
    merged = _merge((pairs for _, pairs in branches), len(eif))
    sets = (np.int64(1) << v) - 1 - (merged[2] & ((np.int64(1) << MOST_VARIABLES) - 1))
    return UniquePairs(merged[0], merged[1], (sets[:, None] >> (v - 1 - np.arange(v))) & 1 == 1)


def _integer_codes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each column's values as 0 .. levels-1 and -1 for missing; (rows, v), (v,)."""
    codes = np.full(values.shape, -1, dtype=np.int32)
    levels = np.zeros(values.shape[1], dtype=np.int64)
    for variable, column in enumerate(values.T):
        present = ~np.isnan(column)
        distinct, codes[present, variable] = np.unique(column[present], return_inverse=True)
        levels[variable] = len(distinct)
    return codes, levels


_Found = tuple[np.ndarray, np.ndarray]  # pair keys, best set keys


def _merge(parts: Iterable[_Found], m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row per pair with its smallest set; sorted by PUF row, then EIF row."""
    waiting = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for part in parts:
        waiting.append(part)
        # so that each pair is sorted O(log) times
        if sum(len(pairs) for pairs, _ in waiting[1:]) > len(waiting[0][0]):
            waiting = [_smallest(waiting)]
    pairs, sets = _smallest(waiting)
    return pairs // m, pairs % m, sets


def _smallest(parts: list[_Found]) -> _Found:
    pairs, sets = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((sets, pairs))
    pairs, sets = pairs[order], sets[order]
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = pairs[1:] != pairs[:-1]
    return pairs[first], sets[first]
