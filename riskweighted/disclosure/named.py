"""Records whose copies lie near the truth beyond chance, counted so that the count can be believed
(METHODS section 13.1).
"""

import numpy as np
from scipy.stats import false_discovery_control, hypergeom

__all__ = ["fisher", "name_records"]


def fisher(near: np.ndarray, near_without: np.ndarray, copies: int) -> np.ndarray:
    """Return Fisher's exact p-value of k of L copies (n,) against m of L (n,), one-sided, (n,)."""
    k, m = np.arange(copies + 1)[:, None], np.arange(copies + 1)
    values = np.minimum(hypergeom.sf(k - 1, 2 * copies, k + m, copies), 1.0)
    return np.asarray(values[near, near_without])


def name_records(
    near: np.ndarray, near_without: np.ndarray, copies: int, level: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Return which records have more copies near the truth than without their value, and which
    fewer, (n,) each.

    By Benjamini and Hochberg (1995), of Fisher's exact test, at a false discovery rate in each
    direction. Had their values not been used, fewer would be as likely as more: the second number
    estimates how many of the first are false.

    Parameters
    ----------
    near, near_without : array of int (n,)
        How many of the L copies lie within reach of the true value, with the record's value used
        and without.
    copies : int
        L.
    level : float
        False discovery rate of each direction.
    """
    if not len(near):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    ways = (fisher(near, near_without, copies), fisher(near_without, near, copies))
    more, fewer = (np.asarray(false_discovery_control(p) <= level) for p in ways)
    return more, fewer
