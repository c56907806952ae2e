"""Depth-first search over the interactions of linking variables: both files' cells, refined
together by one more variable at a time.
"""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.small_cells import (
    SMALL_CELL,
    CodedFiles,
    SmallCell,
    solve_cell,
)

__all__ = [
    "MOST_VARIABLES",
    "PairTable",
    "empty_table",
    "grown",
    "kept_pairs",
    "remember",
    "search_branch",
]


# 2^64 / golden ratio: spreads consecutive keys over a hash table
_MULTIPLIER = np.int64(-7046029254386353131)


class PairTable(NamedTuple):
    """``pairs`` (2^k,): key of the pair at each place, -1 for none; ``best`` (2^k,): key of its
    smallest set; ``held`` (1,): pairs.
    """

    pairs: np.ndarray
    best: np.ndarray
    held: np.ndarray


@kernel
def empty_table(size: int) -> PairTable:
    """A table of `size` places, a power of two."""
    return PairTable(
        np.full(size, -1, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def remember(table: PairTable, pair: int, smallest: int) -> None:
    """Keep the smaller of `found` and what is known of a pair. The table must not be full: more
    than half full, it is to be `grown`.
    """
    pairs, best = table.pairs, table.best
    mask = len(pairs) - 1
    slot = ((pair * _MULTIPLIER) >> 20) & mask
    while pairs[slot] != -1:
        if pairs[slot] == pair:
            best[slot] = min(best[slot], smallest)
            return
        slot = (slot + 1) & mask
    pairs[slot], best[slot] = pair, smallest
    table.held[0] += 1


@kernel
def grown(table: PairTable) -> PairTable:
    """The same pairs in a table of twice the size."""
    larger = empty_table(2 * len(table.pairs))
    for slot in range(len(table.pairs)):
        if table.pairs[slot] != -1:
            remember(larger, table.pairs[slot], table.best[slot])
    return larger


@kernel
def kept_pairs(table: PairTable) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the pairs held and of their smallest sets, (k,) each, in no order."""
    kept = table.pairs != -1
    return table.pairs[kept], table.best[kept]


MOST_VARIABLES = 50  # a set of variables and its size fit into one int64


class Descent(NamedTuple):
    """The cells on the way down, of d = v + 1 depths and c = min(n, m) + 1, one row a depth.

    ``puf`` (d, n), ``eif`` (d, m): rows, cell after cell; ``starts`` (d, c, 2): where each cell
    starts in `puf` and `eif`; ``n_cells`` (d,); ``chosen`` (d,): the variable that refined last;
    ``members`` (d,): the set of all that refined.
    """

    puf: np.ndarray
    eif: np.ndarray
    starts: np.ndarray
    n_cells: np.ndarray
    chosen: np.ndarray
    members: np.ndarray


class Tally(NamedTuple):
    """Room to count by code in: ``puf``, ``eif`` (codes,): records of a cell, zero in between;
    ``puf_next``, ``eif_next`` (codes,): where the next record of a finer cell goes; ``used``
    (codes,): codes met."""

    puf: np.ndarray
    eif: np.ndarray
    puf_next: np.ndarray
    eif_next: np.ndarray
    used: np.ndarray


@kernel
def _count_codes(column: np.ndarray, rows: np.ndarray, count: np.ndarray, used: np.ndarray) -> int:
    """Count rows by code, leaving out the missing; writes the codes met to `used` and returns how
    many.
    """
    met = 0
    for row in rows:
        code = column[row]
        if code >= 0:
            if count[code] == 0:
                used[met] = code
                met += 1
            count[code] += 1
    return met


@kernel
def _scatter(
    column: np.ndarray, rows: np.ndarray, other_count: np.ndarray, to: np.ndarray, out: np.ndarray
) -> None:
    """Write each row to the next free place of its code's cell, where records of the other file
    share that cell.
    """
    for row in rows:
        code = column[row]
        if code >= 0 and other_count[code] > 0:
            out[to[code]] = row
            to[code] += 1


@kernel
def _refine(files: CodedFiles, descent: Descent, tally: Tally, depth: int, variable: int) -> None:
    """Split every cell of a depth by one more variable into the cells of the next that hold records
    of both files.
    """
    puf_column, eif_column = files.puf[:, variable], files.eif[:, variable]
    puf, eif, starts = descent.puf[depth], descent.eif[depth], descent.starts[depth]
    new_puf = descent.puf[depth + 1]
    new_eif = descent.eif[depth + 1]
    new_starts = descent.starts[depth + 1]
    p_count, e_count, used = tally.puf, tally.eif, tally.used
    kept, p_end, e_end = 0, 0, 0
    new_starts[0, 0], new_starts[0, 1] = 0, 0
    for cell in range(descent.n_cells[depth]):
        puf_rows = puf[starts[cell, 0] : starts[cell + 1, 0]]
        eif_rows = eif[starts[cell, 1] : starts[cell + 1, 1]]
        met = _count_codes(puf_column, puf_rows, p_count, used)
        for row in eif_rows:
            code = eif_column[row]
            if code >= 0 and p_count[code] > 0:
                e_count[code] += 1
        for number in range(met):
            code = used[number]
            if e_count[code] > 0:
                tally.puf_next[code], tally.eif_next[code] = p_end, e_end
                p_end += p_count[code]
                e_end += e_count[code]
                kept += 1
                new_starts[kept, 0], new_starts[kept, 1] = p_end, e_end
        _scatter(puf_column, puf_rows, e_count, tally.puf_next, new_puf)
        _scatter(eif_column, eif_rows, p_count, tally.eif_next, new_eif)
        for number in range(met):
            p_count[used[number]] = 0
            e_count[used[number]] = 0
    descent.n_cells[depth + 1], descent.chosen[depth + 1] = kept, variable
    descent.members[depth + 1] = descent.members[depth] | files.bits[variable]


@kernel
def _take_pairs(
    files: CodedFiles, descent: Descent, depth: int, room: SmallCell, table: PairTable
) -> PairTable:
    """Remember the pairs of a depth's cells that need no further refining, and close up the other
    cells.

    Those are cells of one record of each file, and from depth 2 on small ones.
    """
    puf = descent.puf[depth]
    eif = descent.eif[depth]
    starts = descent.starts[depth]
    solved = room.pairs
    members, variable = descent.members[depth], descent.chosen[depth]
    m, everything = files.eif.shape[0], (np.int64(1) << len(files.bits)) - 1
    large, p_end, e_end = 0, 0, 0
    for cell in range(descent.n_cells[depth]):
        p0, p1, e0, e1 = starts[cell, 0], starts[cell + 1, 0], starts[cell, 1], starts[cell + 1, 1]
        number = 0
        if p1 - p0 == 1 and e1 - e0 == 1:
            solved[0, 0], solved[0, 1], solved[0, 2], solved[0, 3] = puf[p0], eif[e0], 0, 0
            number = 1
        elif depth >= 2 and p1 - p0 + e1 - e0 <= SMALL_CELL:
            number = solve_cell(files, puf[p0:p1], eif[e0:e1], variable, room)
        else:
            puf[p_end : p_end + p1 - p0] = puf[p0:p1]
            eif[e_end : e_end + e1 - e0] = eif[e0:e1]
            large, p_end, e_end = large + 1, p_end + p1 - p0, e_end + e1 - e0
            starts[large, 0], starts[large, 1] = p_end, e_end
        for pair in range(number):
            key = ((np.int64(depth) + solved[pair, 3]) << MOST_VARIABLES) | (
                everything - (members | solved[pair, 2])
            )
            remember(table, solved[pair, 0] * m + solved[pair, 1], key)
            if 2 * table.held[0] > len(table.pairs):
                table = grown(table)
    descent.n_cells[depth] = large
    return table


class Room(NamedTuple):
    """What a search writes to on its way."""

    descent: Descent
    tally: Tally
    small: SmallCell


@kernel
def _descend(files: CodedFiles, room: Room, table: PairTable, stop: np.ndarray) -> PairTable:
    """Remember the pairs below the one cell that stands at depth 2: every set of variables behind
    its last one, depth first.
    """
    v, descent = len(files.bits), room.descent
    depth, variable = 2, descent.chosen[2] + 1
    while True:
        while variable >= v and depth > 2:
            variable = descent.chosen[depth] + 1
            depth -= 1
        if variable >= v or stop[0]:
            return table
        _refine(files, descent, room.tally, depth, variable)
        depth += 1
        table = _take_pairs(files, descent, depth, room.small, table)
        variable = variable + 1 if descent.n_cells[depth] else v


@kernel
def _make_room(files: CodedFiles) -> Room:
    """Room for a search; at depth 0 all records form one cell."""
    (n, v), m = files.puf.shape, files.eif.shape[0]
    puf, eif = np.empty((v + 1, n), dtype=np.int32), np.empty((v + 1, m), dtype=np.int32)
    starts = np.zeros((v + 1, min(n, m) + 1, 2), dtype=np.int32)
    puf[0], eif[0] = np.arange(n), np.arange(m)
    starts[0, 1, 0], starts[0, 1, 1] = n, m
    n_cells = np.zeros(v + 1, dtype=np.int64)
    chosen = np.full(v + 1, -1, dtype=np.int64)
    members = np.zeros(v + 1, dtype=np.int64)
    n_cells[0] = 1
    counts = np.zeros((5, max(files.levels.max(), 1)), dtype=np.int32)
    sets = np.empty((SMALL_CELL + 1, SMALL_CELL), dtype=np.int64)
    pairs = np.empty((SMALL_CELL * SMALL_CELL, 4), dtype=np.int64)
    tally = Tally(counts[0], counts[1], counts[2], counts[3], counts[4])
    return Room(Descent(puf, eif, starts, n_cells, chosen, members), tally, SmallCell(sets, pairs))


@kernel
def search_branch(
    files: CodedFiles, first: int, second: int, stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of every interaction that begins with variables `first`, `second`, or of `first` alone
    where they are equal.

    Returns their keys (k,), PUF row * m + EIF row, and those of their smallest sets (k,): size,
    then the set, which is smaller where it comes first. Ends early once `stop` (1,) is set.
    """
    room = _make_room(files)
    descent = room.descent
    _refine(files, descent, room.tally, 0, first)
    singles = _take_pairs(files, descent, 1, room.small, empty_table(1024))
    if first == second:
        return kept_pairs(singles)
    # the pairs so far belong to the branch of `first` alone
    _refine(files, descent, room.tally, 1, second)
    table = _take_pairs(files, descent, 2, room.small, empty_table(1024))
    cells = descent.n_cells[2]
    puf = descent.puf[2].copy()
    eif = descent.eif[2].copy()
    starts = descent.starts[2, : cells + 1].copy()
    # one after the other: the records of one cell fit into the processor's cache
    for cell in range(cells):
        p0, p1, e0, e1 = starts[cell, 0], starts[cell + 1, 0], starts[cell, 1], starts[cell + 1, 1]
        descent.puf[2, : p1 - p0], descent.eif[2, : e1 - e0] = puf[p0:p1], eif[e0:e1]
        descent.starts[2, 1, 0], descent.starts[2, 1, 1], descent.n_cells[2] = p1 - p0, e1 - e0, 1
        if not stop[0]:
            table = _descend(files, room, table, stop)
    return kept_pairs(table)
