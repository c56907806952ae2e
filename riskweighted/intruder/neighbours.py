"""Which records lie in whose ball: sort once, search twice, and let prefix sums do the rest.

Records are sorted by cell (known pattern, then what is matched by equality: categories, and whether a number is an amount, missing or a
special code) and value, so that the records inside one ball are a run of neighbours ``[first, last)`` in that order. Everything else is
arithmetic on runs: O(n log n) for n records, whatever the number of patterns. With several numeric synthetic variables a ball is a
box, an intersection of runs: `riskweighted.intruder.boxes`.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd

from riskweighted.intruder.boxes import Boxes
from riskweighted.intruder.intervals import find_runs
from riskweighted.intruder.patterns import Patterns, cells
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import Statuses

__all__ = ["Compared", "Neighbourhood", "Neighbours", "compared_values", "find_neighbours"]


class Neighbourhood(NamedTuple):
    """``in_pattern`` (n,): records that share the pattern; ``within`` (n,): those of them inside the record's ball."""

    in_pattern: np.ndarray
    within: np.ndarray

    @property
    def risk(self) -> np.ndarray:
        """Share of the pattern outside the ball (S003 eq. 2), (n,)."""
        outside: np.ndarray = (self.in_pattern - self.within) / self.in_pattern
        return outside


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


class Compared(NamedTuple):
    """The synthetic variables of n records with a ball and of m candidates.

    ``equal``: what is matched by equality, each (n + m,), the n first; ``amounts``: of each numeric variable, those of either side.
    """

    equal: list[pd.Series]
    amounts: dict[str, tuple[Statuses, Statuses]]


def compared_values(centres: pd.DataFrame, candidates: pd.DataFrame, scenario: Scenario) -> Compared:
    """What is matched by equality and what in a ball; a number that is no amount is matched by its status."""
    numeric = [name for name in scenario.synthetic if scenario.is_numeric(centres[name])]
    amounts = {name: (scenario.statuses(centres[name]), scenario.statuses(candidates[name])) for name in numeric}

    def equal() -> Iterator[pd.Series]:
        for name in scenario.synthetic:
            if name not in amounts:
                yield pd.concat([centres[name], candidates[name]], ignore_index=True)
            elif any(own.present for own in amounts[name]):
                yield pd.Series(np.concatenate([own.status for own in amounts[name]]))

    return Compared(list(equal()), amounts)


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
    compared, n = compared_values(confidential, candidates, scenario), len(confidential)
    cell = cells(compared.equal, np.concatenate([patterns.codes, patterns.codes]))
    centre_cell, cell = cell[:n], cell[n:]
    if not compared.amounts:
        everywhere = np.zeros(n)
        return find_runs(centre_cell, cell, everywhere, everywhere, everywhere)
    runs = []
    for name, (own, theirs) in compared.amounts.items():
        balls = scenario.balls(name, own.values)
        runs.append(find_runs(centre_cell, cell, theirs.values, balls.lower, balls.upper))
    return runs[0] if len(runs) == 1 else Boxes(tuple(runs))
