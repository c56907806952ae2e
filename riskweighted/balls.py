"""How many records lie in whose ball: sort once, search twice, and let prefix sums do the rest.

Records are sorted by cell (known pattern, then the synthetic variables matched by equality) and value, so that the
records inside one ball are a run of neighbours ``[first, last)`` in that order. Everything else is arithmetic on
runs: O(n log n) for n records, whatever the number of patterns.
"""

from typing import NamedTuple

import numba
import numpy as np
import pandas as pd

from riskweighted.errors import InputError, listing
from riskweighted.patterns import Patterns, cells, known_patterns
from riskweighted.scenario import Scenario

__all__ = ["Neighbourhood", "Runs", "ball_runs", "confidential_neighbourhood", "confidential_runs", "covering"]


class Neighbourhood(NamedTuple):
    """``in_pattern`` (n,): records that share the pattern; ``within`` (n,): those of them inside the record's ball."""

    in_pattern: np.ndarray
    within: np.ndarray

    @property
    def risk(self) -> np.ndarray:
        """Share of the pattern outside the ball (S003 eq. 2), (n,)."""
        return (self.in_pattern - self.within) / self.in_pattern


class Runs(NamedTuple):
    """Who lies in whose ball, in the order that sorts the candidates.

    ``order`` (n,): candidate at each sorted place. ``first``, ``last`` (n,): the ball of record i holds the
    candidates at places first[i] .. last[i]-1. ``starts``, ``ends`` (n,): its pattern holds starts[i] .. ends[i]-1.
    """

    order: np.ndarray
    first: np.ndarray
    last: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's ball, (n,)."""
        return self.last - self.first


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


def ball_runs(confidential: pd.DataFrame, candidates: pd.DataFrame, scenario: Scenario, patterns: Patterns) -> Runs:
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
    if len(numeric) > 1:
        raise InputError(f"several numeric synthetic variables are not supported: got {listing(numeric)}, valid is at most one")
    n = len(confidential)
    by_equality = [name for name in scenario.synthetic if name not in numeric]
    both = (pd.concat([confidential[name], candidates[name]], ignore_index=True) for name in by_equality)
    cell = cells(both, np.concatenate([patterns.codes, patterns.codes]))
    centre_cell, cell = cell[:n], cell[n:]

    if numeric:
        (name,) = numeric
        values = candidates[name].to_numpy(dtype=float)
        lower, upper = scenario.balls(name, confidential[name].to_numpy(dtype=float))
    else:
        values = lower = upper = np.zeros(n)

    # Cells refine patterns and are numbered in their order, so a pattern too is one stretch of the sorted places.
    order = np.lexsort((values, cell))
    cell_end = np.cumsum(np.bincount(cell, minlength=max(cell.max(), centre_cell.max()) + 1))
    begin = np.concatenate([[0], cell_end])
    pattern_end = np.cumsum(patterns.sizes)
    pattern_begin = pattern_end - patterns.sizes
    first, last = _search(values[order], begin[centre_cell], cell_end[centre_cell], lower, upper)
    return Runs(order, first, last, pattern_begin[patterns.codes], pattern_end[patterns.codes])


def confidential_runs(confidential: pd.DataFrame, scenario: Scenario) -> tuple[Patterns, Runs]:
    """The patterns of checked confidential data and its own records in its own balls."""
    scenario.check(confidential)
    patterns = known_patterns(confidential, scenario.known)
    return patterns, ball_runs(confidential, confidential, scenario, patterns)


def confidential_neighbourhood(confidential: pd.DataFrame, scenario: Scenario) -> Neighbourhood:
    """How many records share each record's pattern, and how many of them lie in its ball."""
    patterns, runs = confidential_runs(confidential, scenario)
    return Neighbourhood(patterns.in_pattern, runs.within)


def covering(runs: Runs) -> np.ndarray:
    """How many balls cover the candidate at each sorted place, (n,): a difference array, summed."""
    n = len(runs.order)
    opened, closed = np.bincount(runs.first, minlength=n + 1), np.bincount(runs.last, minlength=n + 1)
    return np.cumsum(opened - closed)[:n]
