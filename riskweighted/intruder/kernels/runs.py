"""Binary searches for the run of candidates that a ball of one variable holds."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["BallsOfCells", "find_places"]


class BallsOfCells(NamedTuple):
    """``begin``, ``end`` (n,): places of the ball's cell, [begin, end); ``lower``, ``upper`` (n,): the closed ball."""

    begin: np.ndarray
    end: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@kernel
def find_places(values: np.ndarray, balls: BallsOfCells) -> tuple[np.ndarray, np.ndarray]:
    """First place with value >= lower and first place with value > upper inside the ball's cell; (n,) each.

    `values` are sorted inside every cell.
    """
    n = len(balls.lower)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    for ball in range(n):
        lower, upper, end = balls.lower[ball], balls.upper[ball], balls.end[ball]
        low, high = balls.begin[ball], end
        while low < high:
            middle = (low + high) // 2
            if values[middle] < lower:
                low = middle + 1
            else:
                high = middle
        first[ball] = low
        high = end
        while low < high:
            middle = (low + high) // 2
            if values[middle] <= upper:
                low = middle + 1
            else:
                high = middle
        last[ball] = low
    return first, last
