"""The pairs that the finer cells of a small cell suspect, without visiting those."""

import numba
import numpy as np

__all__ = ["solve_cell"]


@numba.njit(cache=True, nogil=True)
def _smallest_hitting_set(sets: np.ndarray, number: int, allowed: np.int64, size: int) -> np.int64:
    """A subset of `allowed` with `size` bits that meets each of sets[size, :number]; the largest as a number, 0 for none."""
    if size == 1:
        common = np.int64(allowed)
        for place in range(number):
            common &= sets[1, place]
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
        for place in range(number):
            if not sets[size, place] & bit:
                sets[size - 1, open_sets] = sets[size, place]
                open_sets += 1
        rest = _smallest_hitting_set(sets, open_sets, left, size - 1)
        if rest:
            return bit | rest
    return np.int64(0)


@numba.njit(cache=True, nogil=True)
def _agreement(one: np.ndarray, two: np.ndarray, bits: np.ndarray, after: int) -> np.int64:
    """The variables behind `after` in which two records agree."""
    same = np.int64(0)
    for variable in range(after + 1, len(bits)):
        if one[variable] == two[variable] and one[variable] >= 0:
            same |= bits[variable]
    return same


@numba.njit(cache=True, nogil=True)
def solve_cell(
    puf_codes: np.ndarray, eif_codes: np.ndarray, puf: np.ndarray, eif: np.ndarray, bits: np.ndarray, after: int, sets: np.ndarray,
    solved: np.ndarray,
) -> int:  # fmt: skip
    """All pairs that a small cell's finer cells suspect, without visiting those: (puf row, eif row, smallest further set).

    A pair is alone in some finer cell exactly where it is alone in the finest one it shares, that of all variables in which it
    agrees; and the smallest set that leaves it alone meets, for every other record, the variables that tell it apart.
    """
    number = 0
    for p in puf:
        for e in eif:
            common = _agreement(puf_codes[p], eif_codes[e], bits, after)
            others = 0
            for other in puf:
                if other != p:
                    sets[0, others] = common & ~_agreement(puf_codes[p], puf_codes[other], bits, after)
                    others += 1
            for other in eif:
                if other != e:
                    sets[0, others] = common & ~_agreement(eif_codes[e], eif_codes[other], bits, after)
                    others += 1
            if sets[0, :others].min() == 0:
                continue
            size, smallest = 0, np.int64(0)
            while smallest == 0:
                size += 1
                sets[size, :others] = sets[0, :others]
                smallest = _smallest_hitting_set(sets, others, common, size)
            solved[number, 0], solved[number, 1], solved[number, 2], solved[number, 3] = p, e, smallest, size
            number += 1
    return number
