"""Which records lie in whose ball: sort once, search twice, and let prefix sums do the rest.

Records are sorted by cell (known pattern, then the synthetic variables matched by equality) and value, so that the
records inside one ball are a run of neighbours ``[first, last)`` in that order. Everything else is arithmetic on
runs: O(n log n) for n records, whatever the number of patterns. With several numeric synthetic variables a ball is a
box, an intersection of runs: `riskweighted.boxes`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numba
import numpy as np
import pandas as pd

from riskweighted.boxes import Boxes
from riskweighted.patterns import Patterns, cells, known_patterns
from riskweighted.scenario import Scenario

__all__ = ["Neighbourhood", "Neighbours", "Runs", "confidential_neighbourhood", "confidential_neighbours", "find_neighbours", "find_runs"]


class Neighbourhood(NamedTuple):
    """``in_pattern`` (n,): records that share the pattern; ``within`` (n,): those of them inside the record's ball."""

    in_pattern: np.ndarray
    within: np.ndarray

    @property
    def risk(self) -> np.ndarray:
        """Share of the pattern outside the ball (S003 eq. 2), (n,)."""
        return (self.in_pattern - self.within) / self.in_pattern


class Neighbours(Protocol):
    """Who lies in whose ball, for n records with a ball each and n candidates that may lie in them."""

    @property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's ball, (n,)."""

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its ball (T_i), (n,)."""

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the candidates in each record's ball of their weights (n,); (n,). Exact for integers."""

    def covering(self) -> np.ndarray:
        """Number of balls that hold each candidate, (n,)."""


@dataclass(frozen=True)
class Runs:
    """Neighbours in one dimension.

    ``order`` (n,): candidate at each sorted place. ``first``, ``last`` (n,): the ball of record i holds the
    candidates at places first[i] .. last[i]-1.
    """

    order: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's ball, (n,)."""
        return self.last - self.first

    @cached_property
    def place(self) -> np.ndarray:
        """Sorted place of each candidate, (n,)."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its ball, (n,)."""
        return (self.first <= self.place) & (self.place < self.last)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Differences of prefix sums, (n,)."""
        total = np.concatenate([np.zeros(1, weights.dtype), np.cumsum(weights[self.order])])
        return total[self.last] - total[self.first]

    def covering(self) -> np.ndarray:
        """A difference array over the sorted places, summed, (n,)."""
        n = len(self.order)
        opened, closed = np.bincount(self.first, minlength=n + 1), np.bincount(self.last, minlength=n + 1)
        return np.cumsum(opened - closed)[self.place]


@numba.njit(cache=True)
def _search(values, begin, end, lower, upper):  # pragma: no cover - compiled
    """First place with value >= lower and first place with value > upper inside [begin, end), per record."""
    n = len(lower)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        low, high = begin[i], end[i]
        while low < high:
            middle = (low + high) // 2
            if values[middle] < lower[i]:
                low = middle + 1
            else:
                high = middle
        first[i] = low
        high = end[i]
        while low < high:
            middle = (low + high) // 2
            if values[middle] <= upper[i]:
                low = middle + 1
            else:
                high = middle
        last[i] = low
    return first, last


def find_runs(centre_cell: np.ndarray, cell: np.ndarray, values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Runs:
    """Sort the candidates by cell and value, and find each ball's run inside its cell."""
    order = np.lexsort((values, cell))
    end = np.cumsum(np.bincount(cell, minlength=max(cell.max(), centre_cell.max()) + 1))
    begin = np.concatenate([[0], end])
    first, last = _search(values[order], begin[centre_cell], end[centre_cell], lower, upper)
    return Runs(order, first, last)


def find_neighbours(confidential: pd.DataFrame, candidates: pd.DataFrame, scenario: Scenario, patterns: Patterns) -> Neighbours:
    """For each confidential record, which candidates of its pattern lie in its ball.

    Parameters
    ----------
    confidential : DataFrame, n rows
        Centres of the balls.
    candidates : DataFrame, n rows
        The records that may lie in them, paired with the confidential ones by position: the confidential data
        itself (S003 eq. 2) or a synthetic dataset (eq. 1).
    patterns : Patterns
        Of the known variables, which are not synthesized: one code serves a record on both sides.
    """
    numeric = [name for name in scenario.synthetic if scenario.is_numeric(confidential[name])]
    by_equality = [name for name in scenario.synthetic if name not in numeric]
    n = len(confidential)
    both = (pd.concat([confidential[name], candidates[name]], ignore_index=True) for name in by_equality)
    cell = cells(both, np.concatenate([patterns.codes, patterns.codes]))
    centre_cell, cell = cell[:n], cell[n:]
    if not numeric:
        everywhere = np.zeros(n)
        return find_runs(centre_cell, cell, everywhere, everywhere, everywhere)
    runs = []
    for name in numeric:
        balls = scenario.balls(name, confidential[name].to_numpy(dtype=float))
        runs.append(find_runs(centre_cell, cell, candidates[name].to_numpy(dtype=float), balls.lower, balls.upper))
    return runs[0] if len(runs) == 1 else Boxes(tuple(runs))


def confidential_neighbours(confidential: pd.DataFrame, scenario: Scenario) -> tuple[Patterns, Neighbours]:
    """The patterns of checked confidential data, and its own records in its own balls."""
    scenario.check(confidential)
    patterns = known_patterns(confidential, scenario.known)
    return patterns, find_neighbours(confidential, confidential, scenario, patterns)


def confidential_neighbourhood(confidential: pd.DataFrame, scenario: Scenario) -> Neighbourhood:
    """How many records share each record's pattern, and how many of them lie in its ball."""
    patterns, neighbours = confidential_neighbours(confidential, scenario)
    return Neighbourhood(patterns.in_pattern, neighbours.within)
