"""Two sorted lists walked through together."""

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["compare_shares"]


@kernel
def compare_shares(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Of the shares of two sorted arrays, (n,) and (m,), at or below each of their values: largest difference, and mean squared one."""
    n, m = len(one), len(other)
    first, second, largest, total = 0, 0, 0.0, 0.0
    while first < n or second < m:
        before = first + second
        value = one[first] if second == m or (first < n and one[first] <= other[second]) else other[second]
        while first < n and one[first] == value:
            first += 1
        while second < m and other[second] == value:
            second += 1
        difference = abs(first / n - second / m)
        largest = max(largest, difference)
        total += (first + second - before) * difference * difference
    return largest, total / (n + m)
