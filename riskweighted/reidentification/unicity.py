"""Unicity: records that are unique in their own file and share a cell of some interaction of linking variables (S004 section 2.1).

All 2^v - 1 interactions are visited by depth-first search, refining the cells of both files together by one more variable
at a time. A cell with no record of one file, or with exactly one of each, has nothing new below it; the pairs of a small cell
are found from how its records agree, without visiting its finer cells. So no interaction is ever tabulated as a whole.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numba
import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.common.threads import in_threads
from riskweighted.reidentification.small_cells import solve_cell

__all__ = ["MOST_VARIABLES", "UniquePairs", "unique_pairs"]

MOST_VARIABLES = 50  # a set of variables and its size fit into one int64
SMALL_CELL = 4  # records of a cell, both files together, up to which its pairs are solved directly
_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio: spreads consecutive keys over a hash table


class UniquePairs(NamedTuple):
    """``puf``, ``eif`` (k,): rows of each suspected pair; ``interaction`` (k, v): the smallest that shows it, as booleans."""

    puf: np.ndarray
    eif: np.ndarray
    interaction: np.ndarray


def unique_pairs(puf: np.ndarray, eif: np.ndarray, progress: Callable[[int, int], None] | None = None) -> UniquePairs:
    """Every pair that unicity suspects, with the smallest interaction that shows it.

    Parameters
    ----------
    puf, eif : ndarray (n, v), (m, v)
        Codes of the linking variables; NaN is missing and takes a record out of every interaction with that variable.
    progress : callable, optional
        Called with (branches done, branches in all).

    Returns
    -------
    UniquePairs
        By PUF row, then EIF row. Among smallest interactions of one size, the first in the order of the variables.

    Raises
    ------
    InputError
        If there are more than 50 linking variables.
    """
    v = puf.shape[1]
    if v > MOST_VARIABLES:
        raise InputError(f"unicity takes at most {MOST_VARIABLES} linking variables, got {v}")
    codes, levels = _integer_codes(np.vstack([puf, eif]))
    order = np.argsort(-levels, kind="stable")  # most levels first: cells shrink fastest
    bits = (np.int64(1) << (v - 1 - np.arange(v, dtype=np.int64)))[order]  # the first variable is the highest bit
    ordered = np.ascontiguousarray(codes[:, order], dtype=np.int16 if levels.max(initial=0) < 2**15 else np.int32)
    tasks = [(first, second) for second in range(v) for first in range(second + 1)]  # {first} alone, or all sets that begin so
    stop = np.zeros(1, dtype=np.int8)
    arguments = (ordered[: len(puf)], ordered[len(puf) :], levels[order], bits, stop)
    branches = in_threads(_search_branch, [(*arguments, *task) for task in tasks], progress, stop)
    found = _merge((pairs for _, pairs in branches), len(eif))
    sets = (np.int64(1) << v) - 1 - (found[2] & ((np.int64(1) << MOST_VARIABLES) - 1))
    return UniquePairs(found[0], found[1], (sets[:, None] >> (v - 1 - np.arange(v))) & 1 == 1)


def _integer_codes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each column's values as 0 .. levels-1 and -1 for missing; (rows, v), (v,)."""
    codes = np.full(values.shape, -1, dtype=np.int32)
    levels = np.zeros(values.shape[1], dtype=np.int64)
    for place, column in enumerate(values.T):
        present = ~np.isnan(column)
        distinct, codes[present, place] = np.unique(column[present], return_inverse=True)
        levels[place] = len(distinct)
    return codes, levels


_Found = tuple[np.ndarray, np.ndarray]  # pair keys, best set keys


def _merge(parts: Iterable[_Found], m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row per pair with its smallest set; sorted by PUF row, then EIF row."""
    waiting = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for part in parts:
        waiting.append(part)
        if sum(len(pairs) for pairs, _ in waiting[1:]) > len(waiting[0][0]):  # so that each pair is sorted O(log) times
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


@numba.njit(cache=True, nogil=True)
def _remember(table: np.ndarray, best: np.ndarray, pair: int, found: int) -> int:
    """Keep the smallest set of a pair in an open-addressing hash table; 1 where the pair is new."""
    mask = len(table) - 1
    place = ((pair * _MULTIPLIER) >> 20) & mask
    while table[place] != -1:
        if table[place] == pair:
            best[place] = min(best[place], found)
            return 0
        place = (place + 1) & mask
    table[place], best[place] = pair, found
    return 1


@numba.njit(cache=True, nogil=True)
def _grow(table: np.ndarray, best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    larger, larger_best = np.full(2 * len(table), -1, dtype=np.int64), np.empty(2 * len(table), dtype=np.int64)
    for place in range(len(table)):
        if table[place] != -1:
            _remember(larger, larger_best, table[place], best[place])
    return larger, larger_best


@numba.njit(cache=True, nogil=True)
def _count_codes(codes: np.ndarray, variable: int, rows: np.ndarray, count: np.ndarray, used: np.ndarray) -> int:
    """Count rows by code, leaving out the missing; writes the codes met to `used` and returns how many."""
    met = 0
    for row in rows:
        code = codes[row, variable]
        if code >= 0:
            if count[code] == 0:
                used[met] = code
                met += 1
            count[code] += 1
    return met


@numba.njit(cache=True, nogil=True)
def _scatter(codes: np.ndarray, variable: int, rows: np.ndarray, other_count: np.ndarray, to: np.ndarray, out: np.ndarray) -> None:
    """Write each row to the next free place of its code's cell, where records of the other file share that cell."""
    for row in rows:
        code = codes[row, variable]
        if code >= 0 and other_count[code] > 0:
            out[to[code]] = row
            to[code] += 1


@numba.njit(cache=True, nogil=True)
def _refine(
    puf_codes: np.ndarray, eif_codes: np.ndarray, variable: int, puf: np.ndarray, eif: np.ndarray, cells: np.ndarray, n_cells: int,
    new_puf: np.ndarray, new_eif: np.ndarray, new_cells: np.ndarray, counts: np.ndarray, used: np.ndarray,
) -> int:  # fmt: skip
    """Split every cell by one more variable; returns the number of new cells that hold records of both files.

    ``cells`` (n_cells + 1, 2): where each cell starts in ``puf`` and ``eif``.
    """
    p_count, e_count, p_next, e_next = counts[0], counts[1], counts[2], counts[3]
    kept, p_end, e_end = 0, 0, 0
    new_cells[0, 0], new_cells[0, 1] = 0, 0
    for cell in range(n_cells):
        puf_rows, eif_rows = puf[cells[cell, 0] : cells[cell + 1, 0]], eif[cells[cell, 1] : cells[cell + 1, 1]]
        met = _count_codes(puf_codes, variable, puf_rows, p_count, used)
        for row in eif_rows:
            code = eif_codes[row, variable]
            if code >= 0 and p_count[code] > 0:
                e_count[code] += 1
        for place in range(met):
            code = used[place]
            if e_count[code] > 0:
                p_next[code], e_next[code] = p_end, e_end
                p_end += p_count[code]
                e_end += e_count[code]
                kept += 1
                new_cells[kept, 0], new_cells[kept, 1] = p_end, e_end
        _scatter(puf_codes, variable, puf_rows, e_count, p_next, new_puf)
        _scatter(eif_codes, variable, eif_rows, p_count, e_next, new_eif)
        for place in range(met):
            p_count[used[place]] = 0
            e_count[used[place]] = 0
    return kept


@numba.njit(cache=True, nogil=True)
def _take_pairs(
    puf_codes: np.ndarray, eif_codes: np.ndarray, bits: np.ndarray, variable: int, members: np.int64, depth: int, solve: bool,
    puf: np.ndarray, eif: np.ndarray, cells: np.ndarray, n_cells: int, sets: np.ndarray, solved: np.ndarray,
    table: np.ndarray, best: np.ndarray, held: int,
) -> tuple[int, np.ndarray, np.ndarray, int]:  # fmt: skip
    """Remember the pairs of cells that need no further refining and close up the others; (cells left, table, best, held)."""
    m, everything = eif_codes.shape[0], (np.int64(1) << len(bits)) - 1
    large, p_end, e_end = 0, 0, 0
    for cell in range(n_cells):
        p0, p1, e0, e1 = cells[cell, 0], cells[cell + 1, 0], cells[cell, 1], cells[cell + 1, 1]
        number = 0
        if p1 - p0 == 1 and e1 - e0 == 1:
            solved[0, 0], solved[0, 1], solved[0, 2], solved[0, 3] = puf[p0], eif[e0], 0, 0
            number = 1
        elif solve and p1 - p0 + e1 - e0 <= SMALL_CELL:
            number = solve_cell(puf_codes, eif_codes, puf[p0:p1], eif[e0:e1], bits, variable, sets, solved)
        else:
            puf[p_end : p_end + p1 - p0] = puf[p0:p1]
            eif[e_end : e_end + e1 - e0] = eif[e0:e1]
            large, p_end, e_end = large + 1, p_end + p1 - p0, e_end + e1 - e0
            cells[large, 0], cells[large, 1] = p_end, e_end
        for place in range(number):
            key = ((np.int64(depth) + solved[place, 3]) << MOST_VARIABLES) | (everything - (members | solved[place, 2]))
            held += _remember(table, best, solved[place, 0] * m + solved[place, 1], key)
            if 2 * held > len(table):
                table, best = _grow(table, best)
    return large, table, best, held


@numba.njit(cache=True, nogil=True)
def _descend(
    puf_codes: np.ndarray, eif_codes: np.ndarray, bits: np.ndarray, stop: np.ndarray, second: int, members: np.int64,
    puf: np.ndarray, eif: np.ndarray, cells: np.ndarray, counts: np.ndarray, used: np.ndarray, sets: np.ndarray, solved: np.ndarray,
    table: np.ndarray, best: np.ndarray, held: int,
) -> tuple[np.ndarray, np.ndarray, int]:  # fmt: skip
    """Remember the pairs below the one cell that stands at depth 2: every set of variables behind `second`, depth first."""
    v = len(bits)
    n_cells, chosen = np.zeros(v + 1, dtype=np.int64), np.full(v + 1, -1, dtype=np.int64)  # per depth: cells; variable that refined
    n_cells[2] = 1
    depth, variable = 2, second + 1
    while True:
        while variable >= v and depth > 2:
            variable = chosen[depth] + 1
            members ^= bits[chosen[depth]]
            depth -= 1
        if variable >= v or stop[0]:
            return table, best, held
        n_new = _refine(
            puf_codes, eif_codes, variable, puf[depth], eif[depth], cells[depth], n_cells[depth],
            puf[depth + 1], eif[depth + 1], cells[depth + 1], counts, used,
        )  # fmt: skip
        depth += 1
        chosen[depth] = variable
        members |= bits[variable]
        n_cells[depth], table, best, held = _take_pairs(
            puf_codes, eif_codes, bits, variable, members, depth, True, puf[depth], eif[depth], cells[depth], n_new, sets, solved,
            table, best, held,
        )  # fmt: skip
        variable = variable + 1 if n_cells[depth] else v


@numba.njit(cache=True, nogil=True)
def _search_branch(
    puf_codes: np.ndarray, eif_codes: np.ndarray, levels: np.ndarray, bits: np.ndarray, stop: np.ndarray, first: int, second: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of every interaction that begins with variables `first`, `second`, or of `first` alone where they are equal.

    Ends early once `stop` is set.
    """
    (n, v), m = puf_codes.shape, eif_codes.shape[0]
    root = 1 if first == second else 2
    puf, eif = np.empty((v + 1, n), dtype=np.int32), np.empty((v + 1, m), dtype=np.int32)
    cells = np.zeros((v + 1, min(n, m) + 1, 2), dtype=np.int32)
    widest = max(levels.max(), 1)
    counts, used = np.zeros((4, widest), dtype=np.int32), np.empty(widest, dtype=np.int32)
    sets, solved = np.empty((SMALL_CELL + 1, SMALL_CELL), dtype=np.int64), np.empty((SMALL_CELL * SMALL_CELL, 4), dtype=np.int64)
    table, best, held = np.full(1024, -1, dtype=np.int64), np.empty(1024, dtype=np.int64), 0
    puf[0], eif[0] = np.arange(n), np.arange(m)
    cells[0, 1, 0], cells[0, 1, 1] = n, m
    found = 1
    for depth in range(root):
        variable = first if depth == 0 else second
        found = _refine(
            puf_codes, eif_codes, variable, puf[depth], eif[depth], cells[depth], found,
            puf[depth + 1], eif[depth + 1], cells[depth + 1], counts, used,
        )  # fmt: skip
        if depth + 1 < root:  # its pairs belong to the branch of `first` alone
            found, _, _, _ = _take_pairs(
                puf_codes, eif_codes, bits, variable, np.int64(0), depth, False, puf[1], eif[1], cells[1], found, sets, solved,
                np.full(4, -1, dtype=np.int64), np.empty(4, dtype=np.int64), 0,
            )  # fmt: skip
    members = bits[first] | bits[second]
    found, table, best, held = _take_pairs(
        puf_codes, eif_codes, bits, second, members, root, root == 2, puf[root], eif[root], cells[root], found, sets, solved,
        table, best, held,
    )  # fmt: skip
    if root == 1:
        kept = table != -1
        return table[kept], best[kept]
    root_puf, root_eif, root_cells = puf[2].copy(), eif[2].copy(), cells[2, : found + 1].copy()
    for cell in range(found):  # one after the other: the records of one cell fit into the processor's cache
        p0, p1, e0, e1 = root_cells[cell, 0], root_cells[cell + 1, 0], root_cells[cell, 1], root_cells[cell + 1, 1]
        puf[2, : p1 - p0], eif[2, : e1 - e0] = root_puf[p0:p1], root_eif[e0:e1]
        cells[2, 1, 0], cells[2, 1, 1] = p1 - p0, e1 - e0
        if not stop[0]:
            table, best, held = _descend(
                puf_codes, eif_codes, bits, stop, second, members, puf, eif, cells, counts, used, sets, solved, table, best, held
            )
    kept = table != -1
    return table[kept], best[kept]
