"""Values drawn down a sequence, each variable on the synthetic ones before it; what breaks a rule
is drawn again (METHODS section 12).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, with_columns
from riskweighted.common.units import Arrangement
from riskweighted.contract.categories import codes_in
from riskweighted.contract.distribution import draw_values, log_densities
from riskweighted.contract.synthesizer import Draw, Synthesizer
from riskweighted.design.distinct import Distinct
from riskweighted.design.predictor_tables import Tables
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.blocks import Block, ChainVariable, PreparedSequence
from riskweighted.sequence.edit_rule_kinds import Order
from riskweighted.sequence.edit_rules import any_broken
from riskweighted.sequence.outcomes import Outcomes
from riskweighted.sequence.rounding import DrawingSettings, Rounding
from riskweighted.sequence.rule_outcomes import RuleOutcomes, sample_places

__all__ = ["ROUNDS", "Drawing", "Thetas"]

Thetas = Mapping[str, Draw]  # one posterior draw of every block
ROUNDS = 100  # of redrawing what breaks a rule
_FEWER_ROUNDS = 10  # where the whole record can be drawn again


@dataclass(frozen=True, eq=False)
class Drawing:
    """What draws from the fits of a sequence's blocks, given one posterior draw of each, and says
    how draws are released: datasets, expected risk, disclosure and checks ask it. Confidential.

    ``records``: the numbers of those for which values are drawn, each as often as wanted; None for
    all in turn.
    """

    prepared: PreparedSequence = field(repr=False)
    blocks: Mapping[str, BlockFit] = field(repr=False)
    settings: DrawingSettings
    records: np.ndarray | None = field(default=None, repr=False)

    def of_records(self, records: np.ndarray) -> "Drawing":
        """The same for some records, by number, such as a few many times over."""
        return replace(self, records=records)

    def rounding(self, block: Block, dtype: object = np.dtype(float)) -> Rounding:
        """How what a block draws is released, stored in a dtype: as that of the first block, where
        a variable has one for each of several roles.
        """
        if block.parts is not None:
            block = next(
                link.values
                for link in self.prepared.links
                if link.variable == block.variable and link.values is not None
            )
        return self.settings.rounding(self.blocks[block.name], block.variable, dtype)

    def released(self, thetas: Thetas, rng: np.random.Generator) -> pd.DataFrame:
        """One synthetic dataset given parameters, rounded as it is released; none under a
        guarantee, whose datasets its ledger decides.
        """
        if any(fit.entropy is not None for fit in self.blocks.values()):
            raise InputError(
                "this fit has a guarantee, whose datasets are those of synthesize and no others"
            )
        return self.made(thetas, rng)

    def made(self, thetas: Thetas, rng: np.random.Generator) -> pd.DataFrame:
        """The same of any fit: for the datasets that the ledger decides, and for those by which
        risk is measured, which do not leave.
        """
        frame, encoded = self._rows.assign(), dict(self._encoded)
        stuck, rows = list[np.ndarray](), None
        for _ in range(ROUNDS):
            for link in self.prepared.links:
                values = self.drawn(link, frame, encoded, thetas, rng, rows, stuck)
                self.put(link, values, frame, encoded)
                self.prepared.encode_others(encoded, link.variable, self.arrangement)
            if not stuck:
                if self.prepared.members is not None and self.arrangement is not None:
                    for total in self.prepared.members.totals:
                        frame[total.name] = total.column(frame, self.arrangement.unit)
                return frame if self.records is None else self._asked(frame)
            rows = np.unique(np.concatenate(stuck))
            stuck.clear()
        raise InputError(
            f"after {ROUNDS} rounds of draws implied, sums and rules of units admit no value in "
            f"{len(rows)} of {len(frame)} records: "  # type: ignore[arg-type]
            "leave one of them out, or change the order of the variables"
        )

    @cached_property
    def _whole(self) -> tuple[np.ndarray, Arrangement, np.ndarray] | None:
        """Of some records whose units are drawn with them: the records of the units, how they are
        arranged, and where those asked for stand.
        """
        held = self.prepared.arrangement
        return None if held is None or self.records is None else held.repeated(self.records)

    @property
    def arrangement(self) -> Arrangement | None:
        """How the rows that are drawn are arranged in units, where there are any."""
        return self.prepared.arrangement if self._whole is None else self._whole[1]

    @cached_property
    def _numbers(self) -> np.ndarray | None:
        """The numbers of the records that are drawn, None for all in turn."""
        return self.records if self._whole is None else self._whole[0]

    @property
    def rows(self) -> tuple[pd.DataFrame, np.ndarray]:
        """The confidential rows that are drawn, and where those that were asked for stand."""
        asked = np.arange(len(self._rows)) if self._whole is None else self._whole[2]
        return self._rows, asked

    def _asked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Of rows that were drawn those that were asked for."""
        return frame if self._whole is None else frame.iloc[self._whole[2]].reset_index(drop=True)

    @cached_property
    def _rows(self) -> pd.DataFrame:
        confidential = self.prepared.confidential
        return (
            confidential
            if self._numbers is None
            else confidential.iloc[self._numbers].reset_index(drop=True)
        )

    @cached_property
    def _encoded(self) -> dict[str, Distinct]:
        """The numeric columns of the predictors of the rows, which are the same in every
        dataset.
        """
        encoded, numbers = self.prepared.encoded, self._numbers
        return (
            encoded
            if numbers is None
            else {name: table.at(numbers) for name, table in encoded.items()}
        )

    @cached_property
    def outcomes(self) -> dict[str, Outcomes]:
        """What each variable can be."""
        return {link.variable: self._outcomes_of(link) for link in self.prepared.links}

    def _outcomes_of(self, link: ChainVariable) -> Outcomes:
        column = self.prepared.confidential[link.variable]
        others = [block.outcome for block in link.statuses if block.status is not None]
        others += [] if link.structure is None else [link.structure.value(column)]
        return Outcomes(
            self._rows[link.variable],
            None if link.values is None else self.blocks[link.values.name].categories,
            [*others, link.constant],
        )

    def put(
        self,
        link: ChainVariable,
        values: np.ndarray,
        frame: pd.DataFrame,
        encoded: dict[str, Distinct],
        needed: bool = True,
    ) -> None:
        """Put drawn values (n,) of a variable into a frame, and where they are needed their numeric
        columns beside those of the others.
        """
        outcomes, recipe = self.outcomes[link.variable], self.prepared.recipes.get(link.variable)
        frame[link.variable] = outcomes.column(values)
        if needed and recipe is not None:
            self.prepared.encode(
                encoded, link.variable, frame, outcomes.table(values, frame[link.variable], recipe)
            )

    def drawn(
        self,
        link: ChainVariable,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray | None = None,
        stuck: list[np.ndarray] | None = None,
    ) -> np.ndarray:
        """A variable of a frame whose earlier variables are synthetic, as numbers (n,); what breaks
        a rule is drawn again.

        `rows`: for these alone, and for the other members of their units; the others keep the value
        of the frame. `encoded`: numeric columns of predictors and earlier variables. `stuck`: takes
        the records to which implications leave no value.
        """
        outcomes, of, members = (
            self.outcomes[link.variable],
            self.arrangement,
            self.prepared.members,
        )
        if of is None or members is None:
            values = (
                outcomes.empty(len(frame))
                if rows is None
                else outcomes.numbers(frame[link.variable])
            )
            rows = np.arange(len(frame)) if rows is None else rows
            return self._fill(values, link, frame, encoded, thetas, rng, rows, stuck)
        # the frame's values stand where nothing was drawn yet, and are not read there
        values, name = outcomes.numbers(frame[link.variable]), link.variable
        drawn = np.ones(len(frame), dtype=bool)
        if rows is not None:
            drawn = np.isin(of.unit, of.unit[rows])
        if link.of_unit:
            firsts = np.flatnonzero(drawn & (of.position == 0))
            return self._fill(values, link, frame, encoded, thetas, rng, firsts, stuck)
        so_far, here = members.drawn(name, of), np.zeros(len(frame), dtype=np.int64)
        for every in of.by_position:
            at = every[drawn[every]]
            if len(at):
                here[at] = np.arange(len(at))
                columns = np.column_stack(list(so_far.columns(at).values()))
                seen = {**encoded, members.earlier(name): Distinct(columns, here)}
                self._fill(values, link, frame, seen, thetas, rng, at, stuck)
                so_far.values[at] = members.values(name, outcomes.column(values[at], at))
        return values

    def _fill(
        self,
        values: np.ndarray,
        link: ChainVariable,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
        stuck: list[np.ndarray] | None,
    ) -> np.ndarray:
        """Numbers (n,) of a variable with those of some rows drawn, in place; of a variable that is
        drawn once a unit the rows are first members, whose number all others have.
        """
        outcomes, rules = self.outcomes[link.variable], self.prepared.rules
        checked = rules.redrawn(link.variable, not link.levels)
        members, first = self.prepared.members, True
        between = members is not None and len(members.rules.at(link.variable)) > 0
        for _ in range(ROUNDS if link.decider is None else _FEWER_ROUNDS):
            values[rows] = self.values_at(link, frame, encoded, thetas, rng, rows, stuck)
            self._share(link, values)
            if not checked and not between:
                return values
            drawn = with_columns(frame, {link.variable: outcomes.column(values)})
            broken = self._broken(checked, link, drawn)
            if between:
                broken |= self._broken_between(link, drawn, rows, count=first)
            rows, first = rows[broken[rows]], False
            if stuck:
                rows = np.setdiff1d(rows, np.concatenate(stuck))
            if not len(rows):
                return values
        if between and stuck is not None:  # the whole unit is drawn again
            stuck.append(rows)
            return values
        orders = [rule for rule in checked if isinstance(rule, Order)]
        if link.decider is None and len(orders) == len(checked) and not between:
            values[rows] = self._within(orders, link, frame, encoded, thetas, rng, rows)
            self._share(link, values)
            drawn = with_columns(frame, {link.variable: outcomes.column(values)})
            if not (self._broken(checked, link, drawn) | np.isnan(values))[rows].any():
                return values
        if link.decider is None or stuck is None:
            raise rules.unmet(drawn, link.variable, ROUNDS)
        stuck.append(rows)
        return values

    def _share(self, link: ChainVariable, values: np.ndarray) -> None:
        """Give all members the number of the first, of a variable that is drawn once a unit."""
        members, of = self.prepared.members, self.arrangement
        if link.of_unit and members is not None and of is not None:
            values[:] = members.rules.stepped(link.variable, values[of.first], of)

    def _broken_between(
        self, link: ChainVariable, drawn: pd.DataFrame, rows: np.ndarray, count: bool
    ) -> np.ndarray:
        """Which records (n,) of some that were drawn break a rule between members, and are to be
        drawn again.
        """
        broken, members, of = np.zeros(len(drawn), bool), self.prepared.members, self.arrangement
        assert members is not None
        assert of is not None
        for text, some in members.rules.again(link.variable, drawn, of, rows, link.of_unit).items():
            broken[some] = True
            if count:
                so_far = self.rejected.get(text, (0, 0))
                self.rejected[text] = (so_far[0] + len(some), so_far[1] + len(rows))
        return broken

    @cached_property
    def rejected(self) -> dict[str, tuple[int, int]]:
        """By rule between members, how many values were drawn that break it, at first, and of how
        many.
        """
        return {}

    def _broken(
        self, checked: Sequence[Any], link: ChainVariable, drawn: pd.DataFrame
    ) -> np.ndarray:
        """Which records (n,) break a rule: of a variable that is drawn once a unit all members of a
        unit where one does.
        """
        broken, of = any_broken(checked, drawn), self.arrangement
        return (
            broken if of is None or not link.of_unit else np.bincount(of.unit, broken)[of.unit] > 0
        )

    def _within(
        self,
        orders: Sequence[Order],
        link: ChainVariable,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
    ) -> np.ndarray:
        """Numbers of some rows from their model between what the orders leave, (m,), where draws
        hardly land; NaN where it cannot say.
        """
        ends = {True: np.full(len(rows), np.inf), False: np.full(len(rows), -np.inf)}
        for rule in orders:
            above = rule.names[0] == link.variable
            tighter = np.fmin if rule.names[0] == link.variable else np.fmax
            ends[above] = tighter(ends[above], rule.amounts(frame.iloc[rows])[int(above)])
        made = np.full(len(rows), np.nan)
        for block, some in self.prepared.parts_of(link, rows, self.arrangement):
            records = self.model_of(block).distribution(
                thetas[block.name], self.at(block, frame, encoded, rows[some])
            )
            inverse = getattr(records, "inverse", None)
            if inverse is None or link.levels:
                continue
            chances = rng.random(len(some))
            numbers = np.asarray(inverse(ends[False][some], ends[True][some], chances))
            rounded = self.rounding(block).released(np.where(np.isnan(numbers), 0.0, numbers))
            made[some] = np.where(
                np.isnan(numbers), np.nan, self.outcomes[link.variable].drawn(rounded)
            )
        return made

    def values_at(
        self,
        link: ChainVariable,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
        stuck: list[np.ndarray] | None = None,
    ) -> np.ndarray:
        """New values of a variable for some rows, as numbers: structure, what implications decide,
        statuses, then the value; without regard to rules that only a check of the draws can
        keep."""
        outcomes = self.outcomes[link.variable]
        values, left = outcomes.empty(len(rows)), np.arange(len(rows))
        if link.structure is not None:
            holds = link.structure.applies_if.holds(frame.iloc[rows])
            values[~holds] = outcomes.number(
                link.structure.value(self.prepared.confidential[link.variable])
            )
            left = np.flatnonzero(holds)
        ruling = None if link.decider is None else RuleOutcomes.of(link, frame.iloc[rows])
        if ruling is not None:
            left = ruling.set_decided(values, left, outcomes)
            if stuck is not None and ruling.left.stuck[left].any():
                stuck.append(rows[left[ruling.left.stuck[left]]])
        for block, coming in zip_longest(link.statuses, link.coming):
            if len(left):
                asked, hit = left, np.zeros(0, dtype=bool)
                if ruling is not None:
                    asked, sure = ruling.asked(block, coming, left)
                    values[sure] = outcomes.number(block.outcome)
                    left = np.setdiff1d(left, sure)
                if ruling is None or len(asked):
                    hit = self.numbers_at(block, frame, encoded, thetas, rng, rows[asked]) == 1
                values[asked[hit]] = outcomes.number(block.outcome)
                left = left[~hit] if ruling is None else np.setdiff1d(left, asked[hit])
        if ruling is not None:
            left = ruling.set_computed(values, left)
        if link.values is None:
            values[left] = outcomes.number(link.constant)
        elif len(left):
            for block, some in self.prepared.parts_of(link, rows[left], self.arrangement):
                if len(some):
                    values[left[some]] = self._new_values(
                        link, block, ruling, frame, encoded, thetas, rng, rows, left[some]
                    )
            if (
                ruling is not None
                and stuck is not None
                and len(landed := ruling.landed(values, left, outcomes))
            ):
                stuck.append(rows[landed])
        return values

    def _new_values(
        self,
        link: ChainVariable,
        block: Block,
        ruling: "RuleOutcomes | None",
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
        left: np.ndarray,
    ) -> np.ndarray:
        """What the block of the values draws for those rows that are left; of levels of which some
        are ruled out, one of the others.
        """
        fit = self.blocks[block.name]
        numbers = self.numbers_at(block, frame, encoded, thetas, rng, rows[left])
        if ruling is not None and link.levels and fit.categories is not None:
            allowed = ruling.levels(fit.categories, left)
            some = np.flatnonzero(~allowed.all(axis=1))
            if len(some):
                masses = (
                    self.level_masses(block, frame, encoded, thetas, rows[left[some]])
                    * allowed[some]
                )
                numbers = np.array(numbers, dtype=float)
                numbers[some] = sample_places(masses, rng)
        return (
            numbers
            if fit.keeps_true_values
            else self.outcomes[link.variable].drawn(self.rounding(block).released(numbers))
        )

    def model_of(self, block: Block) -> Synthesizer:
        """The synthesizer of a block, that is asked for values."""
        return self.blocks[block.name].synthesizer

    def level_masses(
        self,
        block: Block,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rows: np.ndarray,
        *,
        elsewhere: bool = False,
    ) -> np.ndarray:
        """The probability of each level of a model for some rows, (m, K)."""
        fit = self.blocks[block.name]
        prepared = self.at(block, frame, encoded, rows, elsewhere=elsewhere)
        codes = (np.full(len(rows), float(code)) for code in range(len(fit.categories or ())))
        each = [
            log_densities(self.model_of(block), prepared, code)(thetas[block.name])
            for code in codes
        ]
        return np.asarray(np.exp(np.column_stack(each)))

    def numbers_at(
        self,
        block: Block,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
    ) -> np.ndarray:
        """What a block draws for some rows, (m,)."""
        prepared = self.at(block, frame, encoded, rows)
        return draw_values(self.model_of(block), thetas[block.name], prepared, rng, len(rows))

    def of_members(self, block: Block, theta: Draw, rng: np.random.Generator) -> np.ndarray:
        """What a block draws for the records that reach it, values as they are released, given
        the confidential values of the variables before it, (m,).
        """
        fit = self.blocks[block.name]
        numbers = np.asarray(
            draw_values(self.model_of(block), theta, fit.prepared, rng, len(fit.confidential)),
            dtype=float,
        )
        return numbers if block.status is not None else self.rounding(block).released(numbers)

    def log_densities(
        self, frame: pd.DataFrame, *, elsewhere: bool = False, since: str | None = None
    ) -> Callable[[Thetas], dict[str, np.ndarray]]:
        """From one posterior draw of every block to log p(value_i | those before it) of each
        variable of a frame, (n,) by variable; or of one variable and those after it (`since`).

        -inf where a structural rule, or what implications and sums decide, gives another value, and
        where one is missing that only a rule leaves out; no model is asked of these. Other rules,
        which draws are cut to, play no part: no density knows their share. The frame has the rows
        of `rows`; `elsewhere`: whether they and their predictors are others than those of the data.
        """
        prepared, given, asked = self.prepared, {}, []
        encoded = prepared.encoded_at(frame) if elsewhere else dict(self._encoded)
        of = prepared.arranged(frame) if elsewhere else self.arrangement
        begun = since is None
        for link in prepared.links:
            begun = begun or link.variable == since
            if not begun:
                prepared.encode(encoded, link.variable, frame)
                prepared.encode_others(encoded, link.variable, of)
                continue
            prepared.encode_earlier(encoded, link.variable, frame, of)
            impossible = (
                np.zeros(len(frame), dtype=bool)
                if link.structure is None
                else link.structure.broken(frame)
            )
            if link.decider is not None:
                impossible |= any_broken(
                    prepared.rules.decided(link.variable, not link.levels), frame
                )
            for block, rows, values in self.reached(link, frame, of):
                if block is None:
                    impossible[rows] |= ~_same(
                        values, self.outcomes[link.variable].number(link.constant)
                    )
                    continue
                impossible[rows] |= np.isnan(values)
                if impossible[rows].any():
                    rows, values = rows[~impossible[rows]], values[~impossible[rows]]
                if len(rows):
                    synthesizer = self.blocks[block.name].synthesizer
                    arrays = self.at(block, frame, encoded, rows, elsewhere=elsewhere)
                    terms = log_densities(synthesizer, arrays, values)
                    asked.append(
                        (
                            link.variable,
                            block.name,
                            rows,
                            self._among_allowed(
                                link, block, frame, encoded, rows, terms, elsewhere
                            ),
                        )
                    )
            given[link.variable] = np.where(impossible, -np.inf, 0.0)
            prepared.encode(encoded, link.variable, frame)
            prepared.encode_others(encoded, link.variable, of)

        def of_draw(thetas: Thetas) -> dict[str, np.ndarray]:
            total = {name: start.copy() for name, start in given.items()}
            for name, block, rows, terms in asked:
                total[name][rows] += terms(thetas[block])
            return total

        return of_draw

    def _among_allowed(
        self,
        link: ChainVariable,
        block: Block,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        rows: np.ndarray,
        terms: Callable[[Draw], np.ndarray],
        elsewhere: bool,
    ) -> Callable[[Draw], np.ndarray]:
        """The log densities of levels given that none of those is drawn that implications rule out;
        all others as they are.
        """
        levels, ruling = self.blocks[block.name].categories, RuleOutcomes.of(link, frame)
        if ruling is None or block is not link.values or not link.levels or levels is None:
            return terms
        allowed = ruling.levels(levels, rows)
        some, held = np.flatnonzero(~allowed.all(axis=1)), dict(encoded)

        def of_theta(theta: Draw) -> np.ndarray:
            each = terms(theta).copy()
            if len(some):
                masses = self.level_masses(
                    block, frame, held, {block.name: theta}, rows[some], elsewhere=elsewhere
                )
                each[some] -= np.log((masses * allowed[some]).sum(axis=1))
            return each

        return of_theta

    def reached(
        self, link: ChainVariable, frame: pd.DataFrame, of: Arrangement | None
    ) -> Iterator[tuple[Block | None, np.ndarray, np.ndarray]]:
        """Every block of a link, the records of a frame that reach it, and their values as numbers;
        the one value there is has no block. Of a variable that is drawn once a unit only the first
        members reach any, by how the frame is arranged.
        """
        outcomes, column = self.outcomes[link.variable], frame[link.variable]
        numbers, left = outcomes.numbers(column), np.arange(len(frame))
        if link.structure is not None:
            left = np.flatnonzero(link.structure.applies_if.holds(frame))
        if link.of_unit and of is not None:
            left = left[of.position[left] == 0]
        ruling = RuleOutcomes.of(link, frame)
        left = left if ruling is None else left[ruling.left.only[left] < 0]
        for block, coming in zip_longest(link.statuses, link.coming):
            asked = left if ruling is None else ruling.asked(block, coming, left)[0]
            yield block, asked, _same(numbers[asked], outcomes.number(block.outcome)).astype(float)
            left = left[~_same(numbers[left], outcomes.number(block.outcome))]
        if ruling is not None:
            left = left[np.isnan(ruling.computed[left])]
        levels = None if link.values is None else self.blocks[link.values.name].categories
        values = (
            numbers
            if link.values is None
            else as_floats(column)
            if levels is None
            else codes_in(column, levels).astype(float)
        )
        if link.values is None:
            yield None, left, values[left]
        for block, some in self.prepared.parts_of(link, left, of):
            yield block, left[some], values[left[some]]

    def is_fixed(self, block: Block) -> bool:
        """Whether every record reaches a block, and no dataset changes what predicts it."""
        return block.whole and not self.prepared.altered_by(block.sources)

    def at(
        self,
        block: Block,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        rows: np.ndarray,
        *,
        elsewhere: bool = False,
    ) -> Any:
        """A block's arrays for some rows of a frame, without its target; its own where no dataset
        changes them.
        """
        if (
            not elsewhere
            and self.is_fixed(block)
            and len(rows) == len(frame)
            and np.array_equal(rows, np.arange(len(frame)))
        ):
            if self.records is None:
                return self.blocks[block.name].prepared
            if block.name not in self._fixed:
                self._fixed[block.name] = self._at(block, frame, encoded, rows)
            return self._fixed[block.name]
        return self._at(block, frame, encoded, rows)

    @cached_property
    def _fixed(self) -> dict[str, Any]:
        """The arrays of other rows that no dataset changes, as they are made."""
        return {}

    def _at(
        self, block: Block, frame: pd.DataFrame, encoded: Mapping[str, Distinct], rows: np.ndarray
    ) -> Any:
        held, prepared = self.blocks[block.name].prepared, self.prepared
        if prepared.of_one:
            return held.at(frame.iloc[rows])
        from_tables: Callable[[Tables], object] | None = getattr(held, "from_tables", None)
        if from_tables is None or block.scale is None:
            return held.at(prepared.columns_of(block, frame, encoded, rows))
        return from_tables(prepared.tables_of(block, encoded, rows))


def _same(numbers: np.ndarray, number: float) -> np.ndarray:
    """Which numbers (n,) are this one; a missing one is the same as another."""
    return np.asarray(np.isnan(numbers) if np.isnan(number) else numbers == number)
