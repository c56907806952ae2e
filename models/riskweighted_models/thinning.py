"""A share of the records that stands for all: of it a mode is searched for first."""

import numpy as np

__all__ = ["ROUGH_ABOVE", "thin_weights"]

_ROUGH, ROUGH_ABOVE = 20_000, 50_000  # how many, and of how many or more


def thin_weights(weight: np.ndarray) -> np.ndarray:
    """Weights (n,) of every so-manieth record that has any, with the sum of all; elsewhere 0."""
    used = np.flatnonzero(weight > 0)
    step = -(-len(used) // _ROUGH)
    kept, weights = used[step // 2 :: step], np.zeros(len(weight))
    weights[kept] = weight[kept] * (weight.sum() / weight[kept].sum())
    return weights
