"""Columns of numbers by their ranks: whether two are in one order, and normal scores."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

__all__ = ["NeighbourDistances", "Ranked", "neighbours_apart", "normal_scores", "order_alike"]


class Ranked:
    """A column (n,) of numbers whose order is compared with that of several others, so that it is
    sorted once.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.complete = bool(np.isfinite(values).all())

    @cached_property
    def scores(self) -> np.ndarray:
        """Its ranks, centred and of length 1, (n,); zeros where the column is constant. Equal
        values share their mean rank.
        """
        order = np.argsort(self.values)
        arranged = self.values[order]
        starts = np.flatnonzero(np.append(True, arranged[1:] != arranged[:-1]))
        sizes = np.diff(np.append(starts, len(arranged)))
        ranks = np.empty(len(arranged))
        ranks[order] = np.repeat(starts + (sizes - 1) / 2 - (len(arranged) - 1) / 2, sizes)
        return np.asarray(ranks / (np.sqrt(ranks @ ranks) if len(starts) > 1 else 1.0))


def order_alike(left: np.ndarray | Ranked, right: np.ndarray | Ranked) -> float:
    """Spearman's rank correlation without its sign, over the records where both are numbers; 0
    where one is constant there.
    """
    first, second = (
        column if isinstance(column, Ranked) else Ranked(column) for column in (left, right)
    )
    if not (first.complete and second.complete):
        both = np.isfinite(first.values) & np.isfinite(second.values)
        first, second = Ranked(first.values[both]), Ranked(second.values[both])
    return 0.0 if len(first.values) < 2 else min(float(abs(first.scores @ second.scores)), 1.0)


def normal_scores(values: np.ndarray) -> np.ndarray:
    """The normal quantiles of the ranks of numbers, (n,); equal ones share their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values) - 0.5) / len(values)))


class NeighbourDistances(NamedTuple):
    """By group of m records, (g,) each: ``moved``, the sum of the m - 1 differences in rank between
    neighbours; its mean ``expected`` and its ``variance`` in a random order; and ``steps``, m - 1,
    the least that it can be."""

    moved: np.ndarray
    expected: np.ndarray
    variance: np.ndarray
    steps: np.ndarray


def neighbours_apart(ranks: np.ndarray, groups: np.ndarray) -> NeighbourDistances:
    """Return how far neighbours lie apart in rank within each of some groups of three records and
    more.

    ``groups`` (n,): codes, equal ones standing together; ``ranks`` (n,): 0 .. m-1 within each, in
    the order that is asked about. Of a random permutation of m ranks the sum has mean (m - 1)(m +
    1)/3 and variance (m - 2)(m + 1)(4 m - 7)/90.
    """
    starts = (
        np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        if len(groups)
        else np.empty(0, dtype=np.int64)
    )
    sizes = np.diff(np.append(starts, len(groups))).astype(float)
    steps = np.append(np.abs(np.diff(ranks)), 0).astype(float)
    steps[starts[1:] - 1] = 0  # from the last of a group to the first of the next one
    moved = np.add.reduceat(steps, starts) if len(starts) else np.empty(0)
    several = sizes > 2
    m = sizes[several]
    return NeighbourDistances(
        moved[several], (m - 1) * (m + 1) / 3, (m - 2) * (m + 1) * (4 * m - 7) / 90, m - 1
    )
