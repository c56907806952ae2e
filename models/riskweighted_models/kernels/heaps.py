"""What the points inside the bins say of heaping: their weighted log-likelihood and its gradient
(METHODS section 5).
"""

import numba
import numpy as np

__all__ = ["heaped_sum"]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def heaped_sum(
    log_phi: np.ndarray, heap_of: np.ndarray, points: np.ndarray, heaped: np.ndarray
) -> tuple[float, np.ndarray]:
    """sum of weight log P(point | bin), and its gradient (F,).

    ``log_phi`` (F,): log of a point's weight, by bin and heap where ``heap_of`` (K, C) points to
    it, 0 where that is -1; ``points`` (K, C): how many points each bin has of each heap; ``heaped``
    (K, C): sums of alpha over the records of a bin and heap.
    """
    value, slope = 0.0, np.zeros(len(log_phi))
    bins, heaps = points.shape
    for k in range(bins):
        total, records = 0.0, 0.0
        for c in range(heaps):
            heap = heap_of[k, c]
            total += points[k, c] * (np.exp(log_phi[heap]) if heap >= 0 else 1.0)
            records += heaped[k, c]
        if records == 0.0:
            continue
        value -= records * np.log(total)
        for c in range(heaps):
            heap = heap_of[k, c]
            if heap >= 0:
                value += heaped[k, c] * log_phi[heap]
                slope[heap] += heaped[k, c] - records * points[k, c] * np.exp(log_phi[heap]) / total
    return value, slope
