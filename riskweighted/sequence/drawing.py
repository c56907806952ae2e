"""Values drawn down a sequence, each variable on the synthetic ones before it; what breaks a rule is drawn again (METHODS section 12)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats
from riskweighted.contract.categories import codes_in
from riskweighted.contract.distribution import draw_values, log_densities
from riskweighted.contract.synthesizer import Draw
from riskweighted.design.distinct import Distinct
from riskweighted.design.precision import Precision, precision_of
from riskweighted.design.tables import Tables
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.blocks import Block, Link, PreparedSequence
from riskweighted.sequence.outcomes import Outcomes

__all__ = ["ROUNDS", "Drawing", "Thetas"]

Thetas = Mapping[str, Draw]  # one posterior draw of every block
ROUNDS = 100  # of redrawing what breaks a rule


@dataclass(frozen=True, eq=False)
class Drawing:
    """What draws datasets from the fits of a sequence's blocks, given one posterior draw of each. Confidential."""

    prepared: PreparedSequence = field(repr=False)
    blocks: Mapping[str, BlockFit] = field(repr=False)

    def released(self, thetas: Thetas, rng: np.random.Generator, precision: Precision = None) -> pd.DataFrame:
        """One synthetic dataset given parameters, rounded as it is released; none under a guarantee, whose datasets its ledger decides."""
        if any(fit.entropy is not None for fit in self.blocks.values()):
            raise InputError("this fit has a guarantee, whose datasets are those of synthesize and no others")
        return self.made(thetas, rng, precision)

    def made(self, thetas: Thetas, rng: np.random.Generator, precision: Precision = None) -> pd.DataFrame:
        """The same of any fit: for the datasets that the ledger decides, and for those by which risk is measured, which do not leave."""
        frame, encoded = self.prepared.confidential.assign(), dict(self.prepared.encoded)
        for link in self.prepared.links:
            values = self.drawn(link, frame, encoded, thetas, rng, precision)
            self.put(link, values, frame, encoded)
        return frame

    @cached_property
    def outcomes(self) -> dict[str, Outcomes]:
        """What each variable can be."""
        return {link.variable: self._outcomes_of(link) for link in self.prepared.links}

    def _outcomes_of(self, link: Link) -> Outcomes:
        column = self.prepared.confidential[link.variable]
        others = [block.status.outcome for block in link.statuses if block.status is not None]
        others += [] if link.structure is None else [link.structure.value(column)]
        return Outcomes(column, None if link.values is None else self.blocks[link.values.name].categories, [*others, link.constant])

    def put(self, link: Link, values: np.ndarray, frame: pd.DataFrame, encoded: dict[str, Distinct], needed: bool = True) -> None:
        """Put drawn values (n,) of a variable into a frame, and where they are needed their numeric columns beside those of the others."""
        outcomes, recipe = self.outcomes[link.variable], self.prepared.recipes.get(link.variable)
        frame[link.variable] = outcomes.column(values)
        if needed and recipe is not None:
            encoded[link.variable] = outcomes.table(values, frame[link.variable], recipe)

    def drawn(
        self,
        link: Link,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        precision: Precision = None,
        rows: np.ndarray | None = None,
    ) -> np.ndarray:
        """A variable of a frame whose earlier variables are synthetic, as numbers (n,); what breaks a rule is drawn again.

        `rows`: for these alone; the others keep the value of the frame. `encoded`: numeric columns of predictors and earlier variables.
        """
        outcomes, rules = self.outcomes[link.variable], self.prepared.rules
        values = outcomes.empty(len(frame)) if rows is None else outcomes.numbers(frame[link.variable])
        rows = np.arange(len(frame)) if rows is None else rows
        for _ in range(ROUNDS):
            values[rows] = self.values_at(link, frame, encoded, thetas, rng, rows, precision_of(precision, link.variable))
            if not rules.at(link.variable):
                return values
            drawn = frame.assign(**{link.variable: outcomes.column(values)})
            rows = rows[rules.broken_by(drawn, link.variable)[rows]]
            if not len(rows):
                return values
        raise rules.unmet(drawn, link.variable, ROUNDS)

    def values_at(
        self,
        link: Link,
        frame: pd.DataFrame,
        encoded: Mapping[str, Distinct],
        thetas: Thetas,
        rng: np.random.Generator,
        rows: np.ndarray,
        precision: float | None,
    ) -> np.ndarray:
        """New values of a variable for some rows, as numbers, without regard to rules: structure, statuses, then the value."""
        outcomes = self.outcomes[link.variable]
        values, left = outcomes.empty(len(rows)), np.arange(len(rows))
        if link.structure is not None:
            holds = link.structure.when.holds(frame.iloc[rows])
            values[~holds] = outcomes.number(link.structure.value(self.prepared.confidential[link.variable]))
            left = np.flatnonzero(holds)
        for block in link.statuses:
            if len(left):
                hit = self.numbers_at(block, frame, encoded, thetas, rng, rows[left]) == 1
                values[left[hit]] = outcomes.number(block.status.outcome)  # type: ignore[union-attr]
                left = left[~hit]
        if link.values is None:
            values[left] = outcomes.number(link.constant)
        elif len(left):
            numbers = self.numbers_at(link.values, frame, encoded, thetas, rng, rows[left])
            fit = self.blocks[link.values.name]
            values[left] = numbers if fit.keeps_true_values else outcomes.drawn(fit.rounded(numbers, precision))
        return values

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
        return draw_values(self.blocks[block.name].synthesizer, thetas[block.name], prepared, rng, len(rows))

    def log_densities(self, frame: pd.DataFrame, *, elsewhere: bool = False) -> Callable[[Thetas], dict[str, np.ndarray]]:
        """From one posterior draw of every block to log p(value_i | those before it) of each variable of a frame, (n,) by variable.

        -inf where a structural rule gives another value. Other rules, which draws are cut to, play no part: no density knows their share.
        `elsewhere`: whether the frame's rows and predictors are others than those of the data.
        """
        prepared, given, asked = self.prepared, {}, []
        encoded = {name: prepared.recipes[name].table(frame[name]) for name in prepared.encoded} if elsewhere else dict(prepared.encoded)
        for link in prepared.links:
            impossible = np.zeros(len(frame), dtype=bool) if link.structure is None else link.structure.broken(frame)
            for block, rows, values in self._reached(link, frame):
                if block is None:
                    impossible[rows] |= ~_same(values, self.outcomes[link.variable].number(link.constant))
                elif len(rows):
                    synthesizer, arrays = self.blocks[block.name].synthesizer, self.at(block, frame, encoded, rows, elsewhere=elsewhere)
                    asked.append((link.variable, block.name, rows, log_densities(synthesizer, arrays, values)))
            given[link.variable] = np.where(impossible, -np.inf, 0.0)
            recipe = prepared.recipes.get(link.variable)
            if recipe is not None:
                encoded[link.variable] = recipe.table(frame[link.variable])

        def of_draw(thetas: Thetas) -> dict[str, np.ndarray]:
            total = {name: start.copy() for name, start in given.items()}
            for name, block, rows, terms in asked:
                total[name][rows] += terms(thetas[block])
            return total

        return of_draw

    def contributions(self, frame: pd.DataFrame) -> Callable[[Thetas], dict[str, np.ndarray]]:
        """From one posterior draw of every block to what each record of a frame would add to the log posterior of each variable, (n,).

        The frame differs from the data in values alone. Weights are held, and what centring takes off as a function of the predictors and
        of the kind of value; InputError where a record would reach other models than it did, in which it has no weight.
        """
        prepared, encoded, asked = self.prepared, dict(self.prepared.encoded), []
        for link in prepared.links:
            for block, rows, values in self._reached(link, frame):
                if block is None:
                    continue
                if not np.array_equal(rows, np.flatnonzero(block.member)):
                    raise InputError(
                        f"with another value a record would reach other models of {link.variable!r}, in which it has no weight: valid are "
                        "values of the kind that it has, or an uncentred fit"
                    )
                columns = frame.iloc[rows] if prepared.of_one else prepared.columns_of(block, frame, encoded, rows)
                adding = self.blocks[block.name].adding(self.at(block, frame, encoded, rows), columns, values)
                asked.append((link.variable, block.name, rows, adding))
            recipe = prepared.recipes.get(link.variable)
            if recipe is not None:
                encoded[link.variable] = recipe.table(frame[link.variable])

        def of_draw(thetas: Thetas) -> dict[str, np.ndarray]:
            total = {name: np.zeros(len(frame)) for name in prepared.variables}
            for name, block, rows, adding in asked:
                total[name][rows] += adding(thetas[block])
            return total

        return of_draw

    def _reached(self, link: Link, frame: pd.DataFrame) -> Iterator[tuple[Block | None, np.ndarray, np.ndarray]]:
        """Every block of a link, the records of a frame that reach it, and their values as numbers; the one value there is has no block."""
        outcomes, column = self.outcomes[link.variable], frame[link.variable]
        numbers, left = outcomes.numbers(column), np.arange(len(frame))
        if link.structure is not None:
            left = np.flatnonzero(link.structure.when.holds(frame))
        for block in link.statuses:
            hit = _same(numbers[left], outcomes.number(block.status.outcome))  # type: ignore[union-attr]
            yield block, left, hit.astype(float)
            left = left[~hit]
        levels = None if link.values is None else self.blocks[link.values.name].categories
        values = numbers if link.values is None else as_floats(column) if levels is None else codes_in(column, levels).astype(float)
        yield link.values, left, values[left]

    def is_fixed(self, block: Block) -> bool:
        """Whether every record reaches a block, and no dataset changes what predicts it."""
        return block.whole and not set(block.sources) & set(self.prepared.variables)

    def at(self, block: Block, frame: pd.DataFrame, encoded: Mapping[str, Distinct], rows: np.ndarray, *, elsewhere: bool = False) -> Any:
        """A block's arrays for some rows of a frame, without its target; its own where no dataset changes them."""
        held, prepared = self.blocks[block.name].prepared, self.prepared
        if not elsewhere and len(rows) == len(frame) and self.is_fixed(block):
            return held
        if prepared.of_one:
            return held.at(frame.iloc[rows])
        placed: Callable[[Tables], object] | None = getattr(held, "placed", None)
        if placed is None or block.keep is None:
            return held.at(prepared.columns_of(block, frame, encoded, rows))
        return placed(prepared.tables_of(block, encoded, rows))


def _same(numbers: np.ndarray, number: float) -> np.ndarray:
    """Which numbers (n,) are this one; a missing one is the same as another."""
    return np.asarray(np.isnan(numbers) if np.isnan(number) else numbers == number)
