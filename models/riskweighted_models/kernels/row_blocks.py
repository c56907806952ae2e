"""Sums over tables of parts of rows: `riskweighted_models.column_blocks`."""

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["gather", "scatter"]


@kernel
def gather(parts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Sum over blocks b of parts[k, index[b, row]], (K, m); parts (K, M), index (B, m) of unsigned
    integers.
    """
    sums = np.zeros((parts.shape[0], index.shape[1]))
    for k in range(parts.shape[0]):
        for b in range(index.shape[0]):
            for row in range(index.shape[1]):
                sums[k, row] += parts[k, index[b, row]]
    return sums


@kernel
def scatter(by_row: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    """The transpose: by_row (K, m) summed at each place of the tables, (K, size)."""
    sums = np.zeros((by_row.shape[0], size))
    for k in range(by_row.shape[0]):
        for b in range(index.shape[0]):
            for row in range(index.shape[1]):
                sums[k, index[b, row]] += by_row[k, row]
    return sums
