"""A share of the records that stands for all: of it a mode is searched for first."""

import numpy as np

__all__ = ["ROUGH_ABOVE", "thinned"]

_ROUGH, ROUGH_ABOVE = 20_000, 50_000  # how many, and of how many or more


def thinned(weight: np.ndarray, counted: bool = False) -> np.ndarray:
    """Weights (n,) of every so-manieth record that has any, with the sum of all; elsewhere 0.

    `counted`: where each of the n stands for as many records as it has weight, by even steps of the
    weight: none that has much is lost.
    """
    if counted:
        ends = np.cumsum(weight)
        places = np.searchsorted(
            ends, (np.arange(_ROUGH) + 0.5) * (ends[-1] / _ROUGH), side="right"
        )
        times = np.bincount(np.minimum(places, len(weight) - 1), minlength=len(weight))
        return np.asarray(times * (ends[-1] / _ROUGH))
    used = np.flatnonzero(weight > 0)
    step = -(-len(used) // _ROUGH)
    kept, weights = used[step // 2 :: step], np.zeros(len(weight))
    weights[kept] = weight[kept] * (weight.sum() / weight[kept].sum())
    return weights
