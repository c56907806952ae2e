"""What implications and sums leave to a variable once those before it are known: decided before
anything is drawn (METHODS section 12).

A status that is decided is set, one that is ruled out is not drawn, and neither has a record in the
fit of that status. Amounts are learned from all records that have one, also from those to which
rules leave nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import holds_numbers
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.edit_rule_kinds import Implied, Sum
from riskweighted.sequence.edit_rules import Rules
from riskweighted.sequence.implications import (
    constrained_clause,
    constrained_condition,
    constrained_values,
    constrains_by_values,
)
from riskweighted.sequence.outcomes import is_missing

__all__ = ["AllowedOutcomes", "RuleEffects", "make_rule_effects"]


class _Ban(NamedTuple):
    """Of an implication: where ``given`` is met, or is not (``met``), the outcomes that are not
    ``allowed`` (C,) are ruled out.
    """

    given: Condition
    met: bool
    allowed: np.ndarray

    def acts(self, frame: pd.DataFrame) -> np.ndarray:
        """On which records, bool (m,)."""
        holds = self.given.holds(frame)
        return holds if self.met else ~holds


class AllowedOutcomes(NamedTuple):
    """What rules leave to each of m records: ``allowed`` (m, C) outcomes; ``only`` (m,): the place
    of the one that is left, else -1; ``stuck`` (m,): whether they leave nothing, and then nothing
    is ruled out."""

    allowed: np.ndarray
    only: np.ndarray
    stuck: np.ndarray

    def at(self, rows: np.ndarray) -> "AllowedOutcomes":
        """The same of some of the records."""
        return AllowedOutcomes(self.allowed[rows], self.only[rows], self.stuck[rows])

    def status(self, place: int, drawable: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which records may have a status, where those before it are not theirs, and which must,
        (m,) each; `drawable` (C,): outcomes that are still to come."""
        may = self.allowed[:, place]
        return may, may & ~(self.allowed & drawable).any(axis=1)


@dataclass(frozen=True, eq=False)
class RuleEffects:
    """What the rules that are checked at a variable say before it is drawn. Confidential.

    ``outcomes``: what it can be, by single values, None for a missing one; the last place of
    ``bans`` and `AllowedOutcomes`, ``rest``, is any other amount, where it has amounts. ``total``:
    the sum that it is computed by.
    """

    variable: str
    outcomes: tuple[object, ...] = field(repr=False)
    rest: bool
    bans: tuple[_Ban, ...] = field(repr=False)
    total: Sum | None = None

    def place(self, outcome: object) -> int:
        """Of an outcome among them."""
        if is_missing(outcome):
            return next(place for place, held in enumerate(self.outcomes) if is_missing(held))
        return self.outcomes.index(outcome)

    def left(self, frame: pd.DataFrame) -> AllowedOutcomes:
        """What is left to the records of a frame."""
        allowed = np.ones((len(frame), len(self.outcomes) + self.rest), dtype=bool)
        for ban in self.bans:
            allowed &= ~ban.acts(frame)[:, None] | ban.allowed
        stuck = np.asarray(~allowed.any(axis=1))
        allowed[stuck] = True
        single = (allowed.sum(axis=1) == 1) & (allowed.argmax(axis=1) < len(self.outcomes))
        # which is an amount like others where all add up
        if self.total is not None and 0.0 in self.outcomes:
            allowed[
                ~np.isnan(self.computed(frame)) & (allowed.sum(axis=1) > 1),
                self.outcomes.index(0.0),
            ] = False
        return AllowedOutcomes(allowed, np.where(single, allowed.argmax(axis=1), -1), stuck)

    def held(self, column: pd.Series) -> np.ndarray:
        """Which outcomes values have, (C,)."""
        each = [
            column.isna() if is_missing(outcome) else column == outcome for outcome in self.outcomes
        ]
        told = np.array([here.to_numpy(dtype=bool, na_value=False) for here in each]).reshape(
            len(each), len(column)
        )
        other = np.array([(~told.any(axis=0)).any()] if self.rest else [], dtype=bool)
        return np.concatenate([np.asarray(told.any(axis=1)), other])

    def computed(self, frame: pd.DataFrame) -> np.ndarray:
        """What the sum comes to, (m,); NaN where there is none."""
        return (
            np.full(len(frame), np.nan)
            if self.total is None
            else self.total.value(frame, self.variable)
        )


def make_rule_effects(
    rules: Rules, variable: str, column: pd.Series, codes: Sequence[float]
) -> RuleEffects | None:
    """What decides a variable; None where no rule does, so that nothing is different."""
    implied = [
        rule for rule in rules.at(variable) if constrained_clause(rule, variable) is not None
    ]
    total = rules.total(variable)
    if not implied and total is None:
        return None
    numbers = holds_numbers(column)
    named = (
        [
            value
            for rule in implied
            for value in constrained_values(constrained_condition(rule, variable).tree, variable)
        ]
        if numbers
        else []
    )
    singles: list[object] = (
        list(dict.fromkeys([*map(float, codes), *named]))
        if numbers
        else list(column.dropna().unique())
    )
    if column.isna().any():
        singles.append(None)
    frame = _as_frame(column, singles, numbers)
    bans = []
    for rule in implied:
        if not isinstance(rule, Implied):
            continue
        first, own = (
            constrained_clause(rule, variable) == "when",
            constrained_condition(rule, variable),
        )
        met = own.holds(frame)
        if numbers:
            # another amount may be anything
            met = np.append(
                met[:-1], met[-1] if constrains_by_values(own.tree, variable) else not first
            )
        bans.append(_Ban(rule.then if first else rule.when, not first, ~met if first else met))
    return RuleEffects(variable, tuple(singles), numbers, tuple(bans), total)


def _as_frame(column: pd.Series, singles: Sequence[object], numbers: bool) -> pd.DataFrame:
    """The outcomes as records of the variable alone; of numbers the last one is an amount that is
    none of the single values.
    """
    if not numbers:
        values = pd.Series(list(singles), dtype=object).astype(column.dtype)
        return pd.DataFrame({str(column.name): values})
    held = [np.nan if is_missing(value) else float(value) for value in singles]  # type: ignore[arg-type]
    other = 1.0 + max([abs(value) for value in held if not np.isnan(value)], default=0.0)
    return pd.DataFrame({str(column.name): np.array([*held, other])})
