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
def remember(table: PairTable, pair: int, smallest: int) -> None:
    """Keep the smaller of `found` and what is known of a pair. The table must not be full: more than half full, it is to be `grown`."""
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
