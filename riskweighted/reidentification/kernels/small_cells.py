"""The pairs that the finer cells of a small cell suspect, without visiting those."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["SMALL_CELL", "CodedFiles", "SmallCell", "solve_cell"]

SMALL_CELL = 4  # records of a cell, both files together, up to which its pairs are solved directly


class CodedFiles(NamedTuple):
    """The linking variables of both files.

    ``puf`` (n, v), ``eif`` (m, v): code of each record in each variable, 0 .. levels - 1, -1 where
    it is missing; ``levels`` (v,): codes of each variable; ``bits`` (v,): its bit in a set of
    variables.
    """

    puf: np.ndarray
    eif: np.ndarray
    levels: np.ndarray
    bits: np.ndarray


class SmallCell(NamedTuple):
    """Room to solve a cell in.

    ``sets`` (SMALL_CELL + 1, SMALL_CELL): sets of variables still to be met, by how many variables
    may meet them; ``pairs`` (SMALL_CELL^2, 4): PUF row, EIF row, further variables as a set, their
    number.
    """

    sets: np.ndarray
    pairs: np.ndarray


@kernel
def _smallest_hitting_set(sets: np.ndarray, number: int, allowed: np.int64, size: int) -> np.int64:
    """A subset of `allowed` with `size` bits that meets each of sets[size, :number]; the largest as
    a number, 0 for none.
    """
    if size == 1:
        common = np.int64(allowed)
        for at in range(number):
            common &= sets[1, at]
        while common & (common - 1):
            common &= common - 1
        return common
    left = np.int64(allowed)
    while left:
        bit = left
        while bit & (bit - 1):
            bit &= bit - 1
        left ^= bit
        open_sets = 0
        for at in range(number):
            if not sets[size, at] & bit:
                sets[size - 1, open_sets] = sets[size, at]
                open_sets += 1
        rest = _smallest_hitting_set(sets, open_sets, left, size - 1)
        if rest:
            return bit | rest
    return np.int64(0)


@kernel
def _agreement(first: np.ndarray, second: np.ndarray, bits: np.ndarray, after: int) -> np.int64:
    """The variables behind `after` in which two records agree."""
    same = np.int64(0)
    for variable in range(after + 1, len(bits)):
        if first[variable] == second[variable] and first[variable] >= 0:
            same |= bits[variable]
    return same


@kernel
def solve_cell(
    files: CodedFiles, puf: np.ndarray, eif: np.ndarray, after: int, cell: SmallCell
) -> int:
    """All pairs that the finer cells of a small cell suspect by variables behind `after`; writes
    them to `cell.pairs`, returns how many.

    A pair is alone in some finer cell exactly where it is alone in the finest one it shares, that
    of all variables in which it agrees; and the smallest set that leaves it alone meets, for every
    other record, the variables that tell it apart.
    """
    puf_codes = files.puf
    eif_codes = files.eif
    bits = files.bits
    sets = cell.sets
    pairs = cell.pairs
    number = 0
    for p in puf:
        for e in eif:
            common = _agreement(puf_codes[p], eif_codes[e], bits, after)
            others = 0
            for other in puf:
                if other != p:
                    sets[0, others] = common & ~_agreement(
                        puf_codes[p], puf_codes[other], bits, after
                    )
                    others += 1
            for other in eif:
                if other != e:
                    sets[0, others] = common & ~_agreement(
                        eif_codes[e], eif_codes[other], bits, after
                    )
                    others += 1
            if sets[0, :others].min() == 0:
                continue
            size, smallest = 0, np.int64(0)
            while smallest == 0:
                size += 1
                sets[size, :others] = sets[0, :others]
                smallest = _smallest_hitting_set(sets, others, common, size)
            pairs[number, 0], pairs[number, 1], pairs[number, 2], pairs[number, 3] = (
                p,
                e,
                smallest,
                size,
            )
            number += 1
    return number
