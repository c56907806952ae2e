"""Which records lie in whose ball: sort both sides, walk through them once, and let prefix sums do
the rest.

Records are sorted by cell (known pattern, then what is matched by equality: categories, and whether
a number is an amount, missing or a special code) and value, so that those inside one ball are a run
of neighbours ``[first, last)``: O(n log n), whatever the number of patterns. The confidential side
is sorted once for all files: `Centres`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd

from riskweighted.intruder.boxes import Boxes
from riskweighted.intruder.patterns import Patterns, level_codes, number_codes, number_codes_alike
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.sorted_balls import Runs, SortedBalls, sort_balls
from riskweighted.intruder.statuses import MISSING, Statuses

__all__ = [
    "Centres",
    "ComparedValues",
    "Neighbourhood",
    "Neighbours",
    "compared_values",
    "sort_centres",
]


class Neighbourhood(NamedTuple):
    """``in_pattern`` (n,): records that share the pattern; ``within`` (n,): those of them inside
    the record's ball.
    """

    in_pattern: np.ndarray
    within: np.ndarray

    @property
    def risk(self) -> np.ndarray:
        """Share of the pattern outside the ball (Hu et al. 2022, eq. 2), (n,)."""
        return np.asarray((self.in_pattern - self.within) / self.in_pattern)


class Neighbours(Protocol):
    """Who lies in whose ball, for n records with a ball each and n candidates that may lie in
    them.
    """

    @property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's ball, (n,)."""

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its ball (T_i), (n,)."""

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the candidates in each record's ball of their weights (n,); (n,). Exact for
        integers.
        """

    def covering(self) -> np.ndarray:
        """Number of balls that hold each candidate, (n,)."""


class ComparedValues(NamedTuple):
    """The synthetic variables of n records with a ball and of m candidates.

    ``equal``: what is matched by equality, each (n + m,), the n first; ``amounts``: of each numeric
    variable, those of either side.
    """

    equal: list[pd.Series]
    amounts: dict[str, tuple[Statuses, Statuses]]


def compared_values(
    centres: pd.DataFrame, candidates: pd.DataFrame, scenario: Scenario
) -> ComparedValues:
    """What is matched by equality and what in a ball; a number that is no amount is matched by its
    status.
    """
    numeric = [name for name in scenario.synthetic if scenario.is_numeric(centres[name])]
    amounts = {
        name: (scenario.statuses(centres[name]), scenario.statuses(candidates[name]))
        for name in numeric
    }

    def equal() -> Iterator[pd.Series]:
        for name in scenario.synthetic:
            if name not in amounts:
                yield pd.concat([centres[name], candidates[name]], ignore_index=True)
            elif any(of_side.present for of_side in amounts[name]):
                yield pd.Series(np.concatenate([of_side.status for of_side in amounts[name]]))

    return ComparedValues(list(equal()), amounts)


class Division(NamedTuple):
    """How a variable that is matched by equality divides cells.

    ``distinct``: the confidential values of a category, each once; None of a number, of which the
    status is matched. ``codes``: those of cell and level that confidential records have, of
    ``size`` levels each, the last one for what no confidential record is.
    """

    name: str
    distinct: pd.Series | None
    size: int
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class Centres:
    """The confidential records as centres of balls, n of them, sorted once for all files; made by
    `sort_centres`. Confidential.

    ``known`` (n,): the known pattern of each record, on both sides. ``amounts``: of the numeric
    synthetic variables; ``divisions``: what is matched by equality; ``balls``: of each numeric
    variable, or of a constant where there is none.
    """

    scenario: Scenario
    known: np.ndarray = field(repr=False)
    amounts: Mapping[str, Statuses] = field(repr=False)
    divisions: tuple[Division, ...] = field(repr=False)
    balls: tuple[SortedBalls, ...] = field(repr=False)

    def among_themselves(self) -> Neighbours:
        """Which of the confidential records lie in whose ball (Hu et al. 2022, eq. 2)."""
        return _one_or_box(tuple(balls.hold_centres() for balls in self.balls))

    def find(self, candidates: pd.DataFrame) -> Neighbours:
        """Which records of a file of n rows, paired with the confidential ones by position, lie in
        whose ball (Hu et al. 2022, eq. 1).
        """
        amounts = {name: self.scenario.statuses(candidates[name]) for name in self.amounts}
        cell, divided = self.known, {division.name for division in self.divisions}
        for division in self.divisions:
            cell = number_codes_alike(
                cell * division.size + _levels(division, candidates, amounts), division.codes
            )
        for name, theirs in amounts.items():
            # no confidential record is missing or a special code
            if name not in divided and theirs.status.any():
                cell = np.where(theirs.is_amount, cell, int(self.balls[0].cell.max()) + 1)
        values = [theirs.values for theirs in amounts.values()] or [np.zeros(len(cell))]
        return _one_or_box(
            tuple(
                balls.hold(cell, theirs) for balls, theirs in zip(self.balls, values, strict=True)
            )
        )


def _one_or_box(runs: tuple[Runs, ...]) -> Neighbours:
    return runs[0] if len(runs) == 1 else Boxes(runs)


def _levels(
    division: Division, candidates: pd.DataFrame, amounts: Mapping[str, Statuses]
) -> np.ndarray:
    """The level of each candidate, as the confidential ones are numbered."""
    if division.distinct is None:
        return amounts[division.name].status
    both = pd.concat([division.distinct, candidates[division.name]], ignore_index=True)
    levels = level_codes(both)[len(division.distinct) :]
    return np.asarray(np.minimum(levels, division.size - 1))


def sort_centres(confidential: pd.DataFrame, scenario: Scenario, patterns: Patterns) -> Centres:
    """Cells and sorted balls of the confidential records; known variables are not synthesized, so
    one pattern serves a record on both sides.
    """
    amounts = {
        name: scenario.statuses(confidential[name])
        for name in scenario.synthetic
        if scenario.is_numeric(confidential[name])
    }
    cell, divisions = patterns.codes, []
    for name in scenario.synthetic:
        if name in amounts:
            if not amounts[name].status.any():
                continue
            distinct = None
            levels = amounts[name].status
            size = MISSING + 2 + len(scenario.codes_of(name))
        else:
            levels = level_codes(confidential[name])
            distinct = confidential[name].dropna().drop_duplicates()
            size = len(distinct) + 2
        cell, codes = number_codes(cell * size + levels)
        divisions.append(Division(name, distinct, size, codes))
    values = {
        name: (amount.values, *scenario.balls(name, amount.values, amount.is_amount))
        for name, amount in amounts.items()
    }
    everywhere = np.zeros(len(confidential))
    centres = values.values() if values else [(everywhere, everywhere, everywhere)]
    return Centres(
        scenario,
        patterns.codes,
        amounts,
        tuple(divisions),
        tuple(sort_balls(cell, *ends) for ends in centres),
    )
