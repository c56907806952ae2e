"""Records whose copies lie near the truth beyond chance, counted so that the count can be believed (METHODS section 13)."""

from typing import NamedTuple

import numpy as np
from scipy.stats import false_discovery_control, hypergeom

__all__ = ["Named", "name_records"]


class Named(NamedTuple):
    """How many records a release names beyond what it would name had their values not been used.

    ``forward``: records found at the level; ``reversed``: the same with both counts exchanged, which names nobody but by chance;
    ``false_share``: an estimate of the share of false ones, (1 + reversed) / max(forward, 1), at most 1; ``records``,
    ``unnamed`` (n,): which ones forward and reversed.
    """

    forward: int
    reversed: int
    false_share: float
    records: np.ndarray
    unnamed: np.ndarray

    @property
    def net(self) -> int:
        """Forward less reversed."""
        return self.forward - self.reversed


def name_records(near: np.ndarray, near_without: np.ndarray, copies: int, level: float = 0.05) -> Named:
    """Return which records have more copies near the truth than without their value (Benjamini & Hochberg 1995, of Fisher's exact test).

    Parameters
    ----------
    near, near_without : array of int (n,)
        How many of the L copies lie within reach of the true value, with the record's value used and without.
    copies : int
        L.
    level : float
        False discovery rate of each direction.
    """
    forward = _found(near, near_without, copies, level)
    backward = _found(near_without, near, copies, level)
    count, reverse = int(forward.sum()), int(backward.sum())
    return Named(count, reverse, min((1 + reverse) / max(count, 1), 1.0), forward, backward)


def _found(more: np.ndarray, less: np.ndarray, copies: int, level: float) -> np.ndarray:
    """Which p-values stay below the level after Benjamini and Hochberg, (n,)."""
    if not len(more):
        return np.zeros(0, dtype=bool)
    k, m = np.arange(copies + 1)[:, None], np.arange(copies + 1)
    values = np.minimum(hypergeom.sf(k - 1, 2 * copies, k + m, copies), 1.0)
    found: np.ndarray = false_discovery_control(values[more, less]) <= level
    return found
