"""Boxes of which one variable holds a short run: its candidates are looked at one by one."""

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["scan_boxes"]


@kernel
def _shortest(first: np.ndarray, last: np.ndarray, most: int) -> np.ndarray:
    """The variable that holds the shortest run of each box, (n,); the number of variables where that holds more than `most`."""
    n, variables = first.shape
    shortest = np.zeros(n, np.int64)
    for box in range(n):
        length = last[box, 0] - first[box, 0]
        for variable in range(1, variables):
            if last[box, variable] - first[box, variable] < length:
                shortest[box], length = variable, last[box, variable] - first[box, variable]
        if length > most:
            shortest[box] = variables
    return shortest


@kernel
def _mark(places: np.ndarray, first: int, last: int, hit: np.ndarray) -> None:
    """Keep the marks of the candidates whose places lie in [first, last); without branches, several at a time."""
    low, width = np.int32(first), np.uint32(last - first)
    for at in range(len(hit)):
        hit[at] &= np.uint8(np.uint32(places[at] - low) < width)


@kernel
def scan_boxes(
    orders: np.ndarray, rank: np.ndarray, first: np.ndarray, last: np.ndarray, most: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum of the weights (n,) of the candidates in each box, number of boxes that hold each candidate, and which boxes were left out.

    Those whose shortest run holds more than `most`. A box holds places first .. last - 1, (n, d) each; ``orders``, ``rank`` (d, n): of
    the candidates in each variable, and where each stands there.
    """
    variables, n = orders.shape
    total, held, shortest = np.zeros(n, weights.dtype), np.zeros(n, np.int64), _shortest(first, last, most)
    beside, hit = np.empty((variables, n), np.int32), np.empty(min(max(most, 0), n), np.uint8)
    for variable in range(variables):
        for other in range(variables):
            for at in range(n):
                beside[other, at] = rank[other, orders[variable, at]]
        for box in range(n):
            if shortest[box] != variable:
                continue
            low, high = first[box, variable], last[box, variable]
            run = hit[: high - low]
            run[:] = 1
            for other in range(variables):
                if other != variable:
                    _mark(beside[other, low:high], first[box, other], last[box, other], run)
            for at in range(len(run)):
                if run[at]:
                    candidate = orders[variable, low + at]
                    total[box] += weights[candidate]
                    held[candidate] += 1
    return total, held, shortest == variables
