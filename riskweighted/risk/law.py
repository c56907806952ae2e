"""The law of one variable of a dataset given theta and the dataset's own earlier values: the mass
of any set of released values.

Nothing is drawn and nothing is averaged: of structural values, statuses, amounts and levels each
has its mass, in whole cells as values are rounded (METHODS section 2); what orders of two columns
cut off is divided out (METHODS section 12).
"""

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import holds_numbers
from riskweighted.contract.categories import codes_in
from riskweighted.contract.distribution import read_only
from riskweighted.risk.balls import gives_mass
from riskweighted.sequence.blocks import Block, ChainVariable
from riskweighted.sequence.drawing import Thetas
from riskweighted.sequence.edit_rule_kinds import Order
from riskweighted.sequence.edit_rules import Structure
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.outcomes import is_missing
from riskweighted.sequence.rounding import Ends, Rounding
from riskweighted.sequence.rule_outcomes import RuleOutcomes

__all__ = ["Law", "Questions", "Sets", "Space", "laws", "not_in_closed_form"]

_LOOKED_AT = 20  # datasets in which it is seen whether a record is drawn again whole


class Sets(NamedTuple):
    """A set of released values for each of n records: numbers from ``first`` to ``last`` (n,),
    without special ones where ``apart``, and the ``missing`` value; ``ends``: the draws that are
    released so; ``besides``: of special numbers that come to these draws (1) or go off them (-1) by
    record (n,), and the ends of their draws."""

    first: np.ndarray
    last: np.ndarray
    ends: Ends
    apart: np.ndarray
    missing: np.ndarray
    besides: tuple[tuple[np.ndarray, float, float], ...] = ()

    def joined(self, other: "Sets") -> "Sets":
        """With those of further records behind them."""
        n, m = len(self.first), len(other.first)
        besides = [(np.append(sign, np.zeros(m)), low, high) for sign, low, high in self.besides]
        besides += [(np.append(np.zeros(n), sign), low, high) for sign, low, high in other.besides]
        ends = Ends(
            *(
                read_only(np.append(mine, theirs))
                for mine, theirs in zip(self.ends, other.ends, strict=True)
            )
        )
        first, last, apart, missing = (
            np.append(getattr(self, name), getattr(other, name))
            for name in ("first", "last", "apart", "missing")
        )
        return Sets(first, last, ends, apart, missing, tuple(besides))


@dataclass(frozen=True, eq=False)
class Space:
    """What one variable can be, as numbers: amounts as they are released, levels as places in a
    list, NaN for a missing value.

    ``special``: numbers that no wider set holds, each a cell of its own: codes of model and
    scenario, and zero. Confidential.
    """

    fit: Fit = field(repr=False)
    link: ChainVariable = field(repr=False)
    codes: tuple[float, ...] = ()

    @cached_property
    def of_levels(self) -> bool:
        """Whether equality alone is near."""
        return not holds_numbers(self._column) or (
            self.link.values is not None and self._block.categories is not None
        )

    @cached_property
    def _column(self) -> pd.Series:
        return self.fit.confidential[self.link.variable]

    @property
    def _block(self) -> Any:
        assert self.link.values is not None
        return self.fit.blocks[self.link.values.name]

    @cached_property
    def _names(self) -> list[object]:
        """The levels, those of the model first, in its order."""
        link = self.link
        others = [] if self.link.values is None else list(self._block.categories or ())
        others += [block.outcome for block in link.statuses]
        others += [
            link.constant,
            *([] if link.structure is None else [link.structure.value(self._column)]),
        ]
        others += [] if link.decider is None else list(link.decider.outcomes)
        return list(
            dict.fromkeys(
                level
                for level in [*others, *self._column.dropna().unique()]
                if not is_missing(level)
            )
        )

    @cached_property
    def rounding(self) -> Rounding | None:
        """How amounts are released, as they are read; None where there are none."""
        if self.of_levels or self.link.values is None:
            return None
        return self.fit.drawing.rounding(self.link.values)

    @cached_property
    def special(self) -> np.ndarray:
        """The special numbers, (C,)."""
        if self.of_levels:
            return np.empty(0)
        own = () if self.link.values is None else getattr(self._block.synthesizer, "codes", ())
        return np.unique(
            [0.0, *self.codes, *own, *self.fit.prepared.codes.get(self.link.variable, ())]
        )

    @cached_property
    def special_ends(self) -> list[tuple[float, tuple[float, float], bool]]:
        """Each special number, the draws that are released as it, and whether they are more than
        itself.
        """
        found = []
        for code in self.special.tolist():
            ends = self.ends(*np.full((2, 1), code))
            wide = not ends.empty[0]
            found.append(
                (code, (float(ends.lower[0]), float(ends.upper[0])) if wide else (code, code), wide)
            )
        return found

    def number(self, value: object) -> float:
        """A single value."""
        if is_missing(value):
            return np.nan
        return float(self._names.index(value)) if self.of_levels else float(value)  # type: ignore[arg-type]

    def read(self, column: pd.Series) -> np.ndarray:
        """A column, (n,)."""
        if self.of_levels:
            places = codes_in(column, self._names).astype(float)
            return np.where(places < 0, np.nan, places)
        values = column.to_numpy(dtype=float, na_value=np.nan)
        if self.rounding is None:
            return np.asarray(values)
        # a code may lie near a multiple
        return np.where(np.isin(values, self.special), values, self.rounding.read(column))

    def is_amount(self, numbers: np.ndarray) -> np.ndarray:
        """Which numbers (n,) are no level, no special one and not missing."""
        return (
            np.zeros(len(numbers), dtype=bool)
            if self.of_levels
            else ~np.isnan(numbers) & ~np.isin(numbers, self.special)
        )

    def ends(self, first: np.ndarray, last: np.ndarray) -> Ends:
        """The draws that are released from one number to another, (n,)."""
        if self.of_levels:
            return Ends(first - 0.5, last + 0.5, first > last)
        return (
            Ends(first, last, first > last)
            if self.rounding is None
            else self.rounding.ends(first, last)
        )

    def sets(
        self,
        first: np.ndarray,
        last: np.ndarray,
        apart: np.ndarray | bool = False,
        missing: np.ndarray | bool = False,
    ) -> Sets:
        """The sets between numbers (n,); NaN for an end: no number."""
        none = np.isnan(first)
        ends = self.ends(np.where(none, 0.0, first), np.where(none, 0.0, last))
        return self._made(
            first, last, Ends(ends.lower, ends.upper, ends.empty | none), apart, missing
        )

    def up_to(self, sets: Sets) -> Sets:
        """All numbers up to the last one of each set, and the missing value, with nothing else
        where that is in the set.
        """
        first = np.where(sets.missing, np.nan, -np.inf)
        return self._made(
            first, sets.last, sets.ends._replace(lower=np.full(len(first), -np.inf)), False, True
        )

    def _made(
        self,
        first: np.ndarray,
        last: np.ndarray,
        ends: Ends,
        apart: np.ndarray | bool,
        missing: np.ndarray | bool,
    ) -> Sets:
        n, besides = len(first), []
        apart = np.broadcast_to(apart, n)
        for code, (low, high), wide in self.special_ends if self.rounding is not None else ():
            drawn = (
                (first <= code) & (code <= last)
                if wide
                else (ends.lower <= code) & (code <= ends.upper)
            )
            inside = (first <= code) & (code <= last) & ~apart
            sign = inside.astype(float) - (drawn & ~ends.empty)
            if sign.any():
                besides.append((sign, low, high))
        held = Ends(read_only(ends.lower), read_only(ends.upper), ends.empty)
        return Sets(first, last, held, apart, np.broadcast_to(missing, n), tuple(besides))

    def around(self, numbers: np.ndarray, half: np.ndarray) -> Sets:
        """The balls around numbers (n,): amounts within half a width, anything else itself
        alone.
        """
        amount = self.is_amount(numbers)
        half = np.where(amount, half, 0.0)
        return self.sets(numbers - half, numbers + half, amount & (half > 0), np.isnan(numbers))

    def hold(self, sets: Sets, numbers: np.ndarray | float) -> np.ndarray:
        """Whether numbers, one or (n,), lie in the sets, (n,)."""
        numbers = np.broadcast_to(numbers, len(sets.first))
        special = (
            numbers[None] == self.special[:, None]
            if len(self.special)
            else np.zeros((1, 1), dtype=bool)
        )
        inside = (
            (sets.first <= numbers) & (numbers <= sets.last) & ~(sets.apart & special.any(axis=0))
        )
        return np.asarray(np.where(np.isnan(numbers), sets.missing, inside))


@dataclass(frozen=True, eq=False)
class Questions:
    """Q sets of released values, each asked of a record: ``records`` (Q,) by number, in any order
    and as often as wanted.

    Many sets are asked of a model at once, whose arrays are held where no dataset changes them.
    Confidential.
    """

    records: np.ndarray = field(repr=False)
    held: dict[str, Any] = field(default_factory=dict, repr=False)  # arrays of blocks, by name


class _Parts(NamedTuple):
    """Of m records (``records``), the distributions of some of them each, by their places."""

    records: int
    each: list[tuple[Any, np.ndarray]]

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The probability of an interval for each record, (m,)."""
        masses = np.zeros(self.records)
        for distribution, places in self.each:
            masses[places] = distribution.mass(lower[places], upper[places])
        return masses


class Law:
    """Of one variable for the n records of a dataset. Confidential."""

    def __init__(
        self, space: Space, frame: pd.DataFrame, encoded: dict[str, Any], thetas: Thetas
    ) -> None:
        self.space, self._frame, self._encoded, self._thetas = space, frame, encoded, thetas
        self._asked_of: Questions | None = None
        # a number, one or (n,), and its share
        self._points: list[tuple[np.ndarray | float, np.ndarray]] = []
        fit, link, n = space.fit, space.link, len(frame)
        left = np.ones(n)
        if link.structure is not None:
            holds = link.structure.applies_if.holds(frame).astype(float)
            self._points.append(
                (space.number(link.structure.value(fit.confidential[link.variable])), 1 - holds)
            )
            left = holds
        ruling = RuleOutcomes.of(link, frame)
        if ruling is not None:
            for place in np.unique(ruling.left.only[ruling.left.only >= 0]):
                here = ruling.left.only == place
                self._points.append((space.number(ruling.decider.outcomes[place]), left * here))
                left = left * ~here
        for place, block in enumerate(link.statuses):
            hit, reach = np.zeros(n), np.flatnonzero(left > 0)
            if ruling is not None:
                reach, sure = ruling.asked(block, link.coming[place], reach)
                hit[sure] = 1.0
            if len(reach):
                hit[reach] = self._distribution(block, reach).mass(
                    np.full(len(reach), 0.5), np.full(len(reach), 1.5)
                )
            self._points.append((space.number(block.outcome), left * hit))
            left = left * (1 - hit)
        if ruling is not None:
            there = ~np.isnan(ruling.computed)
            self._points.append((ruling.computed, left * there))
            left = left * ~there
        if link.values is None:
            self._points.append((space.number(link.constant), left))
            left = np.zeros(n)
        self._left, self._rows = left, np.flatnonzero(left > 0)
        self._levels = self._of_levels(ruling)
        self._low, self._high, self._obeying = np.full(n, -np.inf), np.full(n, np.inf), np.ones(n)
        self._keep_orders()

    def of(self, questions: Questions) -> "Law":
        """The same of the record of each question in turn, (Q,) instead of (n,)."""
        made, records = copy(self), questions.records
        made.__dict__.pop("_values", None)
        made._asked_of = questions
        made._points = [
            (
                number if np.ndim(number) == 0 else number[records],  # type: ignore[index]
                share[records],
            )
            for number, share in self._points
        ]
        made._left = self._left[records]
        made._low = self._low[records]
        made._high = self._high[records]
        made._obeying, made._rows = self._obeying[records], np.flatnonzero(made._left > 0)
        if self._levels is not None:
            made._levels = self._levels[np.searchsorted(self._rows, records[made._rows])]
        return made

    @cached_property
    def _values(self) -> Any:
        """The distribution of the values of the records that reach them; None where there are
        none.
        """
        block, questions = self.space.link.values, self._asked_of
        if block is None or not len(self._rows):
            return None
        if self.space.link.others:
            return self._of_parts()
        if questions is None:
            return self._distribution(block, self._rows)
        if len(self._rows) < len(self._left) or not self.space.fit.drawing.is_fixed(block):
            return self._distribution(block, questions.records[self._rows])
        if block.name not in questions.held:
            questions.held[block.name] = self.space.fit.drawing.at(
                block, self._frame, self._encoded, questions.records
            )
        return self._distribution_at(block, questions.held[block.name])

    def _of_parts(self) -> "_Parts":
        """The distributions of the values where each of several roles has a block."""
        prepared, questions = self.space.fit.prepared, self._asked_of
        rows = self._rows if questions is None else questions.records[self._rows]
        each = prepared.parts_of(self.space.link, rows, prepared.arrangement)
        return _Parts(
            len(rows),
            [(self._distribution(block, rows[some]), some) for block, some in each if len(some)],
        )

    def _distribution(self, block: Block, rows: np.ndarray) -> Any:
        return self._distribution_at(
            block, self.space.fit.drawing.at(block, self._frame, self._encoded, rows)
        )

    def _distribution_at(self, block: Block, prepared: Any) -> Any:
        return self.space.fit.blocks[block.name].synthesizer.distribution(
            self._thetas[block.name], prepared
        )

    def _of_levels(self, ruling: RuleOutcomes | None) -> np.ndarray | None:
        """The shares of levels (m, K) where implications rule some out; None elsewhere."""
        fit, block = self.space.fit, self.space.link.values
        levels = None if block is None else fit.blocks[block.name].categories
        if (
            ruling is None
            or block is None
            or levels is None
            or not self.space.link.levels
            or not len(self._rows)
        ):
            return None
        allowed = ruling.levels(levels, self._rows)
        masses = (
            fit.drawing.level_masses(block, self._frame, self._encoded, self._thetas, self._rows)
            * allowed
        )
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))

    def _keep_orders(self) -> None:
        """Between which numbers amounts must lie, and the probability of that."""
        link = self.space.link
        orders = [
            rule
            for rule in self.space.fit.prepared.rules.redrawn(link.variable, not link.levels)
            if isinstance(rule, Order)
        ]
        self._is_ordered = bool(orders)
        for rule in orders:
            if rule.names[0] == link.variable:
                self._high = np.fmin(self._high, rule.amounts(self._frame)[1])
            else:
                self._low = np.fmax(self._low, rule.amounts(self._frame)[0])
        if orders:
            n = len(self._frame)
            everything = self.space.sets(np.full(n, -np.inf), np.full(n, np.inf), missing=True)
            self._obeying = np.maximum(self.mass(everything), np.finfo(float).tiny)

    def mass(self, sets: Sets) -> np.ndarray:
        """The probability of each record's set, (n,)."""
        total = np.zeros(len(self._left))
        passing = (
            ()
            if not self._points
            else np.array(
                [
                    *self.space.codes,
                    *self.space.fit.prepared.codes.get(self.space.link.variable, ()),
                ]
            )
        )
        for number, share in self._points:
            numbers = np.broadcast_to(number, len(total))
            obeys = (
                np.isnan(numbers)
                | np.isin(numbers, passing)
                | ((self._low <= numbers) & (numbers <= self._high))
            )
            total += share * (self.space.hold(sets, numbers) & obeys)
        if self._levels is not None or self._values is not None:
            total[self._rows] += self._left[self._rows] * self._value_mass(self._ordered(sets))
        return np.asarray(np.clip(total / self._obeying, 0.0, 1.0))

    def _ordered(self, sets: Sets) -> Sets:
        """The sets as far as orders leave them."""
        if not self._is_ordered:
            return sets
        return self.space.sets(
            np.maximum(sets.first, self._low),
            np.minimum(sets.last, self._high),
            sets.apart,
            sets.missing,
        )

    def _value_mass(self, sets: Sets) -> np.ndarray:
        """Of amounts or levels, for the records that reach them, (m,)."""
        rows, ends = self._rows, sets.ends
        if self._levels is not None:
            codes = np.arange(self._levels.shape[1])
            inside = (
                (ends.lower[rows, None] <= codes)
                & (codes <= ends.upper[rows, None])
                & ~ends.empty[rows, None]
            )
            return np.asarray((self._levels * inside).sum(axis=1))
        whole = len(rows) == len(self._left)
        lower, upper = (ends.lower, ends.upper) if whole else (ends.lower[rows], ends.upper[rows])
        mass = np.where(ends.empty[rows], 0.0, self._asked(lower, upper))
        for sign, low, high in sets.besides:
            mass = mass + sign[rows] * self._asked(
                np.full(len(rows), low), np.full(len(rows), high)
            )
        return np.asarray(np.maximum(mass, 0.0))

    def _asked(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.asarray(self._values.mass(lower, upper), dtype=float)


def laws(spaces: Sequence[Space], frame: pd.DataFrame, thetas: Thetas) -> Iterator[Law]:
    """The laws of some variables of one dataset, in the order of the sequence, each given the
    dataset's own values before it.
    """
    fit, wanted = spaces[0].fit, {space.link.variable: space for space in spaces}
    encoded = fit.prepared.encoded | fit.prepared.of_members(frame)
    for link in fit.prepared.links:
        if link.variable in wanted:
            yield Law(wanted[link.variable], frame, encoded, thetas)
        fit.prepared.encode(encoded, link.variable, frame)


def not_in_closed_form(
    fit: Fit, variables: Collection[str], rng: np.random.Generator
) -> dict[str, str]:
    """Which variables' laws are not known in closed form, and why.

    A model gives no masses; a rule other than an order is kept by drawing again; or records are
    drawn again whole, since implications or sums leave a later variable no value, which changes the
    law of those before it.
    """
    why, links = dict[str, str](), fit.prepared.links
    for link in links:
        silent = [block.name for block in link.blocks if not gives_mass(fit.blocks[block.name])]
        checked = fit.prepared.rules.redrawn(link.variable, not link.levels)
        if silent:
            why[link.variable] = f"the model of {silent[0]!r} gives no masses"
        elif not all(isinstance(rule, Order | Structure) for rule in checked) or (
            fit.prepared.members is not None and fit.prepared.members.rules.at(link.variable)
        ):
            why[link.variable] = "a rule is kept by drawing again, and its share is not known"
    last = _last_drawn_again(fit, rng)
    for link in links[: last + 1]:
        why.setdefault(
            link.variable, f"rules of {links[last].variable!r} have records drawn again whole"
        )
    return {variable: reason for variable, reason in why.items() if variable in variables}


def _last_drawn_again(fit: Fit, rng: np.random.Generator) -> int:
    """The place of the last variable to which rules leave some record no value, in twenty datasets;
    -1 where there is none.
    """
    links = fit.prepared.links
    if all(link.decider is None for link in links):
        return -1
    last, sizes = -1, fit.sizes
    for _ in range(_LOOKED_AT):
        thetas = fit.thetas(int(rng.integers(sizes["chain"])), int(rng.integers(sizes["draw"])))
        frame, encoded = fit.confidential.assign(), dict(fit.prepared.encoded)
        for place, link in enumerate(links):
            stuck: list[np.ndarray] = []
            values = fit.drawing.drawn(link, frame, encoded, thetas, rng, None, stuck)
            fit.drawing.put(link, values, frame, encoded)
            fit.prepared.encode_others(encoded, link.variable, fit.prepared.arrangement)
            last = max(last, place) if stuck else last
    return last
