"""Two sorted lists walked through together."""

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["compare_shares"]


@kernel
def compare_shares(
    one: np.ndarray, ends: np.ndarray, other: np.ndarray, other_ends: np.ndarray
) -> tuple[float, float]:
    """Of the shares of two files at or below each value of their records: largest difference, and
    mean squared one.

    Of either the different values in order, (m,), and how many records hold each or a lower one,
    (m,).
    """
    n, m = ends[-1], other_ends[-1]
    place, other_place, first, second, largest, total = 0, 0, 0, 0, 0.0, 0.0
    while place < len(one) or other_place < len(other):
        before = first + second
        value = (
            one[place]
            if other_place == len(other) or (place < len(one) and one[place] <= other[other_place])
            else other[other_place]
        )
        if place < len(one) and one[place] == value:
            first = ends[place]
            place += 1
        if other_place < len(other) and other[other_place] == value:
            second = other_ends[other_place]
            other_place += 1
        difference = abs(first / n - second / m)
        largest = max(largest, difference)
        total += (first + second - before) * difference * difference
    return largest, total / (n + m)
