"""The smallest set of variables seen so far for every pair: an open-addressing hash table."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["PairTable", "empty_table", "grown", "kept_pairs", "remember"]

_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio: spreads consecutive keys over a hash table


class PairTable(NamedTuple):
    """``pairs`` (2^k,): key of the pair at each place, -1 for none; ``best`` (2^k,): key of its smallest set; ``held`` (1,): pairs."""

    pairs: np.ndarray
    best: np.ndarray
    held: np.ndarray


@kernel
def empty_table(size: int) -> PairTable:
    """A table of `size` places, a power of two."""
    return PairTable(np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int64), np.zeros(1, dtype=np.int64))


@kernel
def remember(table: PairTable, pair: int, found: int) -> None:
    """Keep the smaller of `found` and what is known of a pair. The table must not be full: more than half full, it is to be `grown`."""
    pairs, best = table.pairs, table.best
    mask = len(pairs) - 1
    place = ((pair * _MULTIPLIER) >> 20) & mask
    while pairs[place] != -1:
        if pairs[place] == pair:
            best[place] = min(best[place], found)
            return
        place = (place + 1) & mask
    pairs[place], best[place] = pair, found
    table.held[0] += 1


@kernel
def grown(table: PairTable) -> PairTable:
    """The same pairs in a table of twice the size."""
    larger = empty_table(2 * len(table.pairs))
    for place in range(len(table.pairs)):
        if table.pairs[place] != -1:
            remember(larger, table.pairs[place], table.best[place])
    return larger


@kernel
def kept_pairs(table: PairTable) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the pairs held and of their smallest sets, (k,) each, in no order."""
    kept = table.pairs != -1
    return table.pairs[kept], table.best[kept]
