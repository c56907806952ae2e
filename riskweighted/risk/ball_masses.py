"""Probability that all synthetic values of a record land in their balls: one path a record (METHODS
section 12, GHK).

Variable after variable, the probability of the ball given those before it is multiplied in, and a
value inside it is drawn, on which the next ones depend: unbiased, with far less noise than
counting. Variables outside the scenario are drawn freely; of one variable nothing is drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, with_columns
from riskweighted.contract.categories import codes_in, target_numbers
from riskweighted.contract.synthesizer import Draw
from riskweighted.design.distinct import Distinct
from riskweighted.intruder.statuses import AMOUNT, find_statuses
from riskweighted.intruder.world import World
from riskweighted.risk.balls import (
    REPEATS,
    BallCounts,
    DrawnBalls,
    Inside,
    drawn_balls,
    gives_mass,
    mass_inside,
    masses_inside,
)
from riskweighted.sequence.blocks import Block, ChainVariable
from riskweighted.sequence.drawing import ROUNDS, Thetas
from riskweighted.sequence.edit_rules import Structure, any_broken
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.outcomes import is_missing
from riskweighted.sequence.rule_outcomes import RuleOutcomes

__all__ = ["Masses", "ball_masses"]

Masses: TypeAlias = Callable[[Thetas, np.random.Generator, pd.DataFrame], np.ndarray]


def ball_masses(fit: Fit, world: World) -> Masses:
    """From parameters, a generator and a dataset drawn with them to an estimate of P(y*_i in B_i |
    theta), (n,).

    It is unbiased and at most 1, but where the model is restricted to what rules of order and
    forbidden combinations allow: there the probability is divided by that of obeying, estimated
    without bias by the number of draws until one obeys (100 at most), and may exceed 1. Of the
    dataset the variables before the scenario's first one are used, and of units what other members
    have there: of one variable the estimate is then unbiased; of several the path of a member lets
    the others stand, whose later variables were drawn on its free values. Of a fit that keeps true
    values the estimate is whether the dataset's lie in their balls.
    """
    if fit.keeps_true_values:
        return lambda thetas, rng, frame: world.find(frame).own_inside.astype(float)
    balls = {
        link.variable: _balls(fit, link, world)
        for link in fit.prepared.links
        if link.variable in world.scenario.synthetic
    }
    last = max(number for number, link in enumerate(fit.prepared.links) if link.variable in balls)
    links = fit.prepared.links[: last + 1]
    with_mass = {name: gives_mass(block) for name, block in fit.blocks.items()}

    def masses(thetas: Thetas, rng: np.random.Generator, frame: pd.DataFrame) -> np.ndarray:
        walk = _Walk(
            fit,
            balls,
            with_mass,
            thetas,
            rng,
            frame.copy(deep=False),
            fit.prepared.encoded | fit.prepared.of_members(frame),
            np.ones(len(frame)),
        )
        for number, link in enumerate(links):
            walk.step(link, links[number + 1 :])
        return walk.mass

    return masses


class _Balls(NamedTuple):
    """Of one variable: which records (n,) have each status, the constant, and the structural value
    in their ball, where there are any; the balls of its amounts or levels, and which of them can
    hold any; the confidential values in the form of drawn ones."""

    statuses: tuple[np.ndarray, ...]
    constant: np.ndarray | None
    structural: np.ndarray | None
    values: DrawnBalls | None
    possible: np.ndarray
    confidential: np.ndarray
    # their masses (n,), where no dataset changes the model's arrays
    fixed: Callable[[Draw], np.ndarray] | None = None
    # which records (n,) have each outcome that implications may decide in their ball
    decided: tuple[np.ndarray, ...] = ()
    # which values (n,) that a sum gives lie in their balls
    near: Callable[[np.ndarray], np.ndarray] | None = None


def _balls(fit: Fit, link: ChainVariable, world: World) -> _Balls:
    statuses = tuple(_holds(world, link, block.status.outcome) for block in link.statuses)  # type: ignore[union-attr]
    structural = (
        None
        if link.structure is None
        else _holds(world, link, link.structure.value(fit.confidential[link.variable]))
    )
    column, name = world.confidential[link.variable], link.variable
    members, of = fit.prepared.members, fit.prepared.arrangement
    if members is not None and of is not None and name in members.rules.steps:
        # only the first value is drawn, and a ball of a later one is that of the first
        column = column.iloc[of.first].set_axis(column.index)
        world = replace(world, confidential=with_columns(world.confidential, {name: column}))
    decided = (
        ()
        if link.decider is None
        else tuple(_holds(world, link, outcome) for outcome in link.decider.outcomes)
    )
    near = (
        None if link.decider is None or link.decider.total is None else partial(_near, world, name)
    )
    plain = fit.drawing.outcomes[name].numbers(column)
    if link.values is None:
        return _Balls(
            statuses,
            _holds(world, link, link.constant),
            structural,
            None,
            np.zeros(len(column), dtype=bool),
            plain,
            None,
            decided,
            near,
        )
    block = fit.blocks[link.values.name]
    numbers = (
        as_floats(column)
        if block.categories is None
        else target_numbers(block.synthesizer, block.prepared, world.confidential)
    )
    rounding = fit.drawing.rounding(link.values, column.dtype)
    balls = drawn_balls(world.scenario, name, numbers, name in world.numeric, rounding)
    possible = ~np.isnan(numbers) if block.categories is None else numbers >= 0
    fixed = None
    if fit.drawing.is_fixed(link.values) and gives_mass(block):
        fixed = masses_inside(block, block.prepared, balls)
    return _Balls(statuses, None, structural, balls, possible, plain, fixed, decided, near)


def _near(world: World, name: str, values: np.ndarray) -> np.ndarray:
    """Which amounts (n,) lie in the balls of the confidential ones."""
    statuses = world.scenario.statuses(world.confidential[name])
    lower, upper = world.scenario.balls(name, statuses.values)
    return np.asarray((statuses.status == AMOUNT) & (lower <= values) & (values <= upper))


def _holds(world: World, link: ChainVariable, value: object) -> np.ndarray:
    """In which records' ball a single value lies, (n,); None is a missing one."""
    column = world.confidential[link.variable]
    if link.variable not in world.numeric:
        missing = column.isna().to_numpy()
        if is_missing(value):
            return np.asarray(missing)
        same = ~missing
        same[same] = (column[same].astype(object) == value).to_numpy(dtype=bool)
        return np.asarray(same)
    given = np.nan if is_missing(value) else float(value)  # type: ignore[arg-type]
    statuses, codes = world.scenario.statuses(column), world.scenario.codes_of(link.variable)
    status = find_statuses(pd.Series([given], dtype=float), codes).status[0]
    lower, upper = world.scenario.balls(link.variable, statuses.values)
    near = np.asarray(statuses.status == status)
    return near & (lower <= given) & (upper >= given) if status == AMOUNT else near


class _Piece(NamedTuple):
    """A part of the ball: its mass (m,), and what makes values in it (m,)."""

    mass: np.ndarray
    values: Callable[[], Any]


@dataclass(eq=False)
class _Walk:
    """Down the sequence with one set of parameters; ``mass`` (n,) is the product so far."""

    fit: Fit
    balls: Mapping[str, _Balls]
    with_mass: Mapping[str, bool]  # whether a block's model gives masses
    thetas: Thetas
    rng: np.random.Generator
    frame: pd.DataFrame
    encoded: dict[str, Distinct]
    mass: np.ndarray
    # whether a variable was; those before stand in the frame
    truncated: bool = field(default=False)

    def step(self, link: ChainVariable, later: Sequence[ChainVariable]) -> None:
        """One variable: truncated to its balls, or drawn freely."""
        name, needed = link.variable, self._is_needed(link.variable, later)
        drawn = False
        if name in self.balls:
            drawn = self._truncate(link, needed)
            self.truncated = True
        elif self.truncated and needed:
            rows = np.flatnonzero(self.mass > 0)
            values = self.fit.drawing.drawn(
                link, self.frame, self.encoded, self.thetas, self.rng, rows, []
            )
            self.fit.drawing.put(link, values, self.frame, self.encoded)
            drawn = True
        if needed and not drawn:
            self.fit.prepared.encode(self.encoded, name, self.frame)

    def _is_needed(self, variable: str, later: Sequence[ChainVariable]) -> bool:
        """Whether a later variable looks at it."""
        rules = self.fit.prepared.rules
        looks = (name for link in later for block in link.blocks for name in block.sources)
        ruled = (name for link in later for rule in rules.at(link.variable) for name in rule.names)
        return variable in {*looks, *ruled}

    def _truncate(self, link: ChainVariable, needed: bool) -> bool:
        """Multiply the mass of the balls in; draw inside them where the values matter, and tell
        whether any was drawn.
        """
        checked = self.fit.prepared.rules.redrawn(link.variable, not link.levels)
        rules = [rule for rule in checked if not isinstance(rule, Structure)]
        rows = np.flatnonzero(self.mass > 0)
        pieces = self._pieces(link, rows)
        masses = np.array([piece.mass for piece in pieces]).reshape(len(pieces), len(rows))
        total = np.minimum(masses.sum(axis=0), 1.0)
        self.mass[rows] *= total
        if not (needed or rules) or not (total > 0).any():
            return False
        kept, before = total > 0, self.frame.copy(deep=False)
        # of the others, whose product is zero
        values = self.balls[link.variable].confidential.copy()
        values[rows[kept]] = self._chosen(link, pieces, masses, kept)
        if self.fit.prepared.members is not None and self.fit.prepared.arrangement is not None:
            stepped = self.fit.prepared.members.rules.stepped
            values = stepped(link.variable, values, self.fit.prepared.arrangement)
        self.fit.drawing.put(link, values, self.frame, self.encoded, needed)
        if rules:
            rows = rows[kept]
            part = self.frame.iloc[rows]
            obeyed = ~np.any([rule.broken(part) for rule in rules], axis=0)
            self.mass[rows[~obeyed]] = 0.0
            self.mass[rows[obeyed]] *= self._tries(link, before, rows[obeyed])
        return True

    def _chosen(
        self, link: ChainVariable, pieces: Sequence[_Piece], masses: np.ndarray, kept: np.ndarray
    ) -> np.ndarray:
        """For every kept record a value of a piece, chosen by its mass, (k,)."""
        values = self.fit.drawing.outcomes[link.variable].empty(len(kept))
        below = list(accumulate(masses))
        aim = self.rng.random(len(kept)) * below[-1]
        # the last one takes what is left
        piece_of = sum((aim >= share).astype(np.int64) for share in below[:-1])
        for number, piece in enumerate(pieces):
            here = kept & (piece_of == number)
            if here.any():
                values[here] = np.broadcast_to(
                    np.asarray(piece.values(), dtype=values.dtype), len(kept)
                )[here]
        return np.asarray(values[kept])

    def _tries(self, link: ChainVariable, frame: pd.DataFrame, rows: np.ndarray) -> np.ndarray:
        """Draws until one obeys the rules, (m,): on average one over the probability of obeying."""
        tries, again = np.zeros(len(rows)), np.arange(len(rows))
        outcomes = self.fit.drawing.outcomes[link.variable]
        checked = self.fit.prepared.rules.redrawn(link.variable, not link.levels)
        for _ in range(ROUNDS):
            if not len(again):
                break
            at = rows[again]
            values = self.fit.drawing.values_at(
                link, frame, self.encoded, self.thetas, self.rng, at
            )
            tries[again] += 1
            drawn = with_columns(frame.iloc[at], {link.variable: outcomes.column(values, at)})
            again = again[any_broken(checked, drawn)]
        return tries

    def _pieces(self, link: ChainVariable, rows: np.ndarray) -> list[_Piece]:
        """The parts of the balls of some records: the structural value, each status, the amounts or
        levels.
        """
        balls = self.balls[link.variable]
        outcomes = self.fit.drawing.outcomes[link.variable]
        pieces = list[_Piece]()
        left = np.ones(len(rows))

        def single(value: object, mass: np.ndarray) -> None:
            pieces.append(_Piece(mass, lambda: outcomes.number(value)))

        if link.structure is not None and balls.structural is not None:
            left = link.structure.applies_if.holds(self.frame.iloc[rows]).astype(float)
            single(
                link.structure.value(self.fit.confidential[link.variable]),
                (1 - left) * balls.structural[rows],
            )
        ruling = RuleOutcomes.of(link, self.frame.iloc[rows])
        if ruling is not None:
            for place in np.unique(ruling.left.only[ruling.left.only >= 0]):
                here = ruling.left.only == place
                single(ruling.decider.outcomes[place], left * here * balls.decided[place][rows])
            left = left * (ruling.left.only < 0)
        for number, (block, inside) in enumerate(zip(link.statuses, balls.statuses, strict=True)):
            hit = np.zeros(len(rows))
            reach = np.flatnonzero(left > 0)
            if ruling is not None:
                reach, sure = ruling.asked(block, link.coming[number], reach)
                hit[sure] = 1.0
            if len(reach):
                hit[reach] = self._status_mass(block, rows[reach])
            single(block.status.outcome, left * hit * inside[rows])  # type: ignore[union-attr]
            left = left * (1 - hit)
        if ruling is not None and balls.near is not None:
            computed = np.full(len(self.frame), np.nan)
            computed[rows] = ruling.computed
            there = ~np.isnan(ruling.computed)
            pieces.append(_Piece(left * there * balls.near(computed)[rows], lambda: computed[rows]))
            left = left * ~there
        if balls.constant is not None:
            single(link.constant, left * balls.constant[rows])
        elif link.values is not None and balls.values is not None:
            if ruling is not None:
                left = left * self._allowed(link, ruling, rows)
            prepared = self.fit.prepared
            for block, some in prepared.parts_of(link, rows, prepared.arrangement):
                here = np.zeros(len(rows))
                here[some] = left[some]
                pieces.append(self._value_piece(link, block, balls, rows, here))
        return pieces

    def _allowed(self, link: ChainVariable, ruling: RuleOutcomes, rows: np.ndarray) -> np.ndarray:
        """By what to multiply the mass of each record's own level, since one of those that are left
        to it is drawn, (m,).
        """
        block, factor = link.values, np.ones(len(rows))
        levels = None if block is None else self.fit.blocks[block.name].categories
        if block is None or levels is None or not link.levels:
            return factor
        allowed = ruling.levels(levels, np.arange(len(rows)))
        some = np.flatnonzero(~allowed.all(axis=1))
        if len(some):
            masses = self.fit.drawing.level_masses(
                block, self.frame, self.encoded, self.thetas, rows[some]
            )
            own = codes_in(self.fit.confidential[link.variable].iloc[rows[some]], levels)
            held = np.where(own >= 0, allowed[some, np.maximum(own, 0)], False)
            factor[some] = held / (masses * allowed[some]).sum(axis=1)
        return factor

    def _status_mass(self, block: Block, rows: np.ndarray) -> np.ndarray:
        """P(the status | those before it), (m,)."""
        fit = self.fit.blocks[block.name]
        if not self.with_mass[block.name]:
            draw = (
                self.fit.drawing.numbers_at(
                    block, self.frame, self.encoded, self.thetas, self.rng, rows
                )
                == 1
                for _ in range(REPEATS)
            )
            return np.asarray(np.mean(list(draw), axis=0))
        prepared = self.fit.drawing.at(block, self.frame, self.encoded, rows)
        return mass_inside(
            fit,
            self.thetas[block.name],
            prepared,
            DrawnBalls.of_code(1.0, len(rows), self.fit.drawing.rounding(block)),
        )

    def _value_piece(
        self, link: ChainVariable, block: Block, balls: _Balls, rows: np.ndarray, left: np.ndarray
    ) -> _Piece:
        """The amounts or levels: their mass, and values drawn inside the balls."""
        reach = np.flatnonzero((left > 0) & balls.possible[rows])
        mass, outcomes = np.zeros(len(rows)), self.fit.drawing.outcomes[link.variable]
        values = outcomes.empty(len(rows))
        if not len(reach) or balls.values is None:
            return _Piece(mass, lambda: values)
        everybody = len(reach) == len(self.frame)
        inside = cache(
            partial(
                self._inside,
                block,
                balls.values if everybody else balls.values.at(rows[reach]),
                rows[reach],
            )
        )
        fixed = balls.fixed if everybody else None
        mass[reach] = left[reach] * (
            inside().mass() if fixed is None else fixed(self.thetas[block.name])
        )

        def filled() -> np.ndarray:
            values[reach] = outcomes.drawn(inside().values())
            return values

        return _Piece(mass, filled)

    def _inside(self, block: Block, balls: DrawnBalls, rows: np.ndarray) -> Inside | BallCounts:
        """The model of the amounts or levels, cut to the balls of some records."""
        fit, theta = self.fit.blocks[block.name], self.thetas[block.name]
        if self.with_mass[block.name]:
            return Inside(
                fit,
                theta,
                self.fit.drawing.at(block, self.frame, self.encoded, rows),
                balls,
                self.rng,
            )
        times = REPEATS if fit.estimates else 1
        drawn = (
            self.fit.drawing.numbers_at(
                block, self.frame, self.encoded, self.thetas, self.rng, rows
            )
            for _ in range(times)
        )
        return BallCounts(drawn, balls)
