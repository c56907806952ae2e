"""A sequence of variables: each by models of its own, given those before it (METHODS section 12);
one variable is a sequence of one.

A variable has parts, in this order: where a structural rule gives it one value, that value; then
its status (each special code, each spike, missing), by continuation ratios, so that every status is
a binary model among the records that have none before it; then its amount or level. The priors are
independent, so each of these *blocks* is a fit of its own on the records that reach it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.seeds import Streams, seed_for
from riskweighted.common.units import Arrangement
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.design.distinct import Distinct
from riskweighted.design.predictor_tables import Tables
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sequence.declared import Chain, SideBySide
from riskweighted.sequence.edit_rules import Rules, Structure
from riskweighted.sequence.learning import Scores
from riskweighted.sequence.members import MemberColumns, Members
from riskweighted.sequence.products import ProductRecipe
from riskweighted.sequence.recoding import Recipe
from riskweighted.sequence.rule_effects import RuleEffects

__all__ = ["Block", "ChainVariable", "PreparedSequence", "Status"]

_MISSING = "missing"


class Status(NamedTuple):
    """A status beside the value: ``outcome`` is a code, a level, or None where the value is
    missing.
    """

    outcome: object
    of_level: bool = False

    @property
    def text(self) -> str:
        number = isinstance(self.outcome, float)
        return (
            _MISSING
            if self.outcome is None
            else f"{self.outcome:.15g}"
            if number
            else str(self.outcome)
        )


@dataclass(frozen=True, eq=False)
class Block:
    """One model of a sequence. Confidential.

    ``name``: "income", "income is -8", "income is missing"; ``status``: what it is the probability
    of, None for the block of the values; ``member`` (n,): the records that reach it; ``sources``:
    the columns that predict, where the sequence recodes them, () where the model looks at the file
    itself; ``scale`` (p,): by what each of the sources' numeric columns is multiplied, 0 where it
    does not predict, None where the formula names the sources; ``model``: of the members;
    ``parts``: the parts of units whose amounts it is of, None for all.
    """

    name: str
    variable: str
    status: Status | None
    member: np.ndarray = field(repr=False)
    sources: tuple[str, ...]
    scale: np.ndarray | None = field(repr=False)
    model: PreparedModel = field(repr=False)
    parts: tuple[int, ...] | None = None

    @property
    def outcome(self) -> object:
        """What its status is of: a code, a level, or None where it is missing."""
        return None if self.status is None else self.status.outcome

    @property
    def whole(self) -> bool:
        """Whether every record reaches it."""
        return len(self.model.confidential) == len(self.member)


@dataclass(frozen=True, eq=False)
class ChainVariable:
    """One variable of a sequence: its structural rule, its statuses in order, its values.
    Confidential.

    ``constant``: the one value of a variable that has statuses and no other value than this; it has
    no block of values then. ``levels``: whether it is categorical, so that no precision is its.
    ``decider``: what implications and sums leave to it; ``coming``: of each status, which of the
    decider's outcomes (C,) the data have after it. ``of_unit``: whether it is drawn once a unit;
    ``others``: where amounts have a block for each of several roles, those beside ``values``, of
    the same kind, and rounded alike.
    """

    variable: str
    structure: Structure | None
    statuses: tuple[Block, ...]
    values: Block | None
    constant: object = field(default=None, repr=False)
    levels: bool = False
    decider: RuleEffects | None = field(default=None, repr=False)
    coming: tuple[np.ndarray, ...] = field(default=(), repr=False)
    of_unit: bool = False
    others: tuple[Block, ...] = ()

    @property
    def parts(self) -> tuple[Block, ...]:
        """The blocks of the values: none, one, or one for each of several roles."""
        return () if self.values is None else (self.values, *self.others)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.statuses, *self.parts)


@dataclass(frozen=True, eq=False)
class PreparedSequence:
    """What was declared, a synthesizer, a chain or several side by side, and the data that it was
    prepared for. Confidential.

    ``links``: one a variable, in the order in which they are drawn; ``recipes``: how predictors and
    earlier variables become numeric columns, none where a synthesizer was declared, whose formula
    reads the file; ``products``: the same of what is multiplied; ``aside``: by variable, the
    records (n,) that break a rule of it and are left out of its likelihood; ``survey``: weights of
    mean 1, of which every block has those of its members; ``scores``: of a learned part, by the
    name of their source; ``taught``: the risk weights (n, V) that they were made under, None for 1;
    ``members``: the units that the records belong to, where there are any.
    """

    declared: Synthesizer | Chain | SideBySide
    confidential: pd.DataFrame = field(repr=False)
    links: tuple[ChainVariable, ...] = field(repr=False)
    recipes: Mapping[str, Recipe] = field(default_factory=dict, repr=False)
    aside: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    survey: pd.Series | None = field(default=None, repr=False)
    scores: dict[str, Scores] = field(default_factory=dict, repr=False)
    taught: pd.DataFrame | None = field(default=None, repr=False)
    products: Mapping[str, ProductRecipe] = field(default_factory=dict, repr=False)
    members: Members | None = field(default=None, repr=False)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The synthesized variables, in order."""
        return (
            tuple(self.declared.variables)
            if isinstance(self.declared, Chain | SideBySide)
            else (self.declared.target,)
        )

    @property
    def of_one(self) -> bool:
        """Whether a synthesizer of one variable was declared, rather than several."""
        return not isinstance(self.declared, Chain | SideBySide)

    @cached_property
    def rules(self) -> Rules:
        """What holds between variables."""
        return self.declared.rules if isinstance(self.declared, Chain) else Rules(self.variables)

    @cached_property
    def codes(self) -> Mapping[str, tuple[float, ...]]:
        """Values of numeric variables that have a share of their own."""
        return self.declared.codes if isinstance(self.declared, Chain) else {}

    def seed_of(self, block: Block, random_seed: int | None) -> int | None:
        """The seed that a block is sampled with, where the sequence is with `random_seed`."""
        return (
            random_seed
            if self.of_one or random_seed is None
            else seed_for(random_seed, "block", block.name)
        )

    def run_seed(self, streams: Streams, scheme: str, made_for: str) -> int:
        """The seed of a block's fit in a run: the scheme's; of a chain's block what follows from
        all that it is made for.

        So the fit of a variable of a chain stays what it is when the settings of another one
        change.
        """
        return streams.seed_for("fit", scheme) if self.of_one else streams.seed_of(made_for)

    def called(self, block: Block) -> str:
        """What a warning of a block begins with."""
        return "" if self.of_one else f"block {block.name!r}: "

    def label_of(self, block: str, quantity: str) -> str:
        """How a quantity of a block is called beside those of the others."""
        return quantity if self.of_one else f"{block}: {quantity}"

    @property
    def chosen(self) -> dict[str, str]:
        """The model of every block by its class's name, where a chain chose them; none where a
        synthesizer was declared.
        """
        return (
            {}
            if self.of_one
            else {block.name: type(block.model.synthesizer).__name__ for block in self.blocks}
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for link in self.links for block in link.blocks)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.confidential)

    @cached_property
    def encoded(self) -> dict[str, Distinct]:
        """The numeric columns of the unsynthesized predictors, of n records each: they are the same
        in every dataset.
        """
        return self._recoded(self.confidential, self.arrangement) | {
            name: scores.held for name, scores in self.scores.items()
        }

    def encoded_at(self, frame: pd.DataFrame) -> dict[str, Distinct]:
        """The same of the rows of another frame."""
        return self._recoded(frame, self.arranged(frame)) | {
            name: scores.elsewhere(frame) for name, scores in self.scores.items()
        }

    def _recoded(self, frame: pd.DataFrame, of: Arrangement | None) -> dict[str, Distinct]:
        encoded: dict[str, Distinct] = {}
        if self.members is not None and of is not None:
            encoded |= self.members.composition(of)
        for name in self.recipes:
            if name not in self.variables:
                self.encode(encoded, name, frame)
                self.encode_others(encoded, name, of)
        return encoded

    @property
    def arrangement(self) -> Arrangement | None:
        """How the confidential records are arranged in units, where there are any."""
        return None if self.members is None else self.members.held

    def arranged(self, frame: pd.DataFrame) -> Arrangement | None:
        """The same of the rows of another frame, whose units are whole."""
        members = self.members
        return None if members is None else members.units.arranged(frame, members.held)

    def encode_others(
        self, encoded: dict[str, Distinct], name: str, of: Arrangement | None
    ) -> None:
        """Put what other members have of a source, whose numeric columns are there, among them."""
        if self.members is not None and of is not None and name in encoded:
            encoded |= self.members.others(name, encoded[name], of)

    def encode_earlier(
        self, encoded: dict[str, Distinct], name: str, frame: pd.DataFrame, of: Arrangement | None
    ) -> None:
        """Put what earlier members have of a variable of a frame among the numeric columns."""
        if self.members is not None and of is not None:
            encoded |= self.members.of_earlier(name, frame[name], of)

    def of_members(self, frame: pd.DataFrame) -> dict[str, Distinct]:
        """What other members have of every variable of a dataset: of all, and of earlier ones."""
        encoded = dict[str, Distinct]()
        for name in self.variables if self.members is not None else ():
            self.encode_earlier(encoded, name, frame, self.arrangement)
            if self.members is not None and self.arrangement is not None:
                table = self.recipes[name].table(frame[name])
                encoded |= self.members.others(name, table, self.arrangement)
        return encoded

    def parts_of(
        self, link: ChainVariable, rows: np.ndarray, of: Arrangement | None
    ) -> Iterator[tuple[Block, np.ndarray]]:
        """The blocks of a link's values, each with the places among some rows of those that reach
        it; `of`: how the rows' frame is arranged in units.
        """
        if not link.others or self.members is None or of is None:
            yield from ((block, np.arange(len(rows))) for block in link.parts)
            return
        parts = self.members.slots.parts(of, rows)
        for block in link.parts:
            yield block, np.flatnonzero(np.isin(parts, block.parts or ()))

    def altered_by(self, sources: Iterable[str]) -> bool:
        """Whether any of some sources tells of a synthesized variable."""
        members = self.members
        return any(
            name in self.variables or (members is not None and members.is_altered(name))
            for name in sources
        )

    def encode(
        self,
        encoded: dict[str, Distinct],
        name: str,
        frame: pd.DataFrame,
        table: Distinct | None = None,
    ) -> None:
        """Put the numeric columns of a source of a frame among the others, and those of the
        products that it completes.

        `table`: the columns of the source, where they are known. A source that predicts nothing has
        none.
        """
        if name not in self.recipes:
            return
        encoded[name] = self.recipes[name].table(frame[name]) if table is None else table
        for source, recipe in self.products.items():
            if name in recipe.product.columns and all(
                each in encoded for each in recipe.product.columns
            ):
                encoded[source] = recipe.table(frame)

    def recoder(self, source: str) -> Recipe | Scores | ProductRecipe | MemberColumns:
        """What makes numeric columns of a source, or is them."""
        if self.members is not None and source in self.members.columns:
            return self.members.columns[source]
        return (
            self.scores[source]
            if source in self.scores
            else self.products[source]
            if source in self.products
            else self.recipes[source]
        )

    def names_of(self, sources: Iterable[str]) -> list[str]:
        """Of the numeric columns of some sources."""
        return [name for source in sources for name in self.recoder(source).names]

    def tables_of(self, block: Block, encoded: Mapping[str, Distinct], rows: np.ndarray) -> Tables:
        """The numeric columns that predict a block whose formula names no sources, for some
        records.
        """
        widths = [encoded[name].rows.shape[1] for name in block.sources]
        scales = np.split(np.asarray(block.scale), np.cumsum(widths)[:-1]) if widths else []
        parts = (
            (encoded[name], scale)
            for name, scale in zip(block.sources, scales, strict=True)
            if scale.any()
        )
        return Tables(
            (
                Distinct(table.rows[:, scale > 0] * scale[scale > 0], table.which[rows])
                for table, scale in parts
            ),
            len(rows),
        )

    def columns_of(
        self, block: Block, frame: pd.DataFrame, encoded: Mapping[str, Distinct], rows: np.ndarray
    ) -> pd.DataFrame:
        """What a block's formula names, for some rows of a frame."""
        index = frame.index[rows]
        if block.scale is None:
            return pd.DataFrame(
                {name: self.recipes[name].filled(frame[name].iloc[rows]) for name in block.sources},
                index,
            )
        names = self.names_of(block.sources)
        columns = np.asarray(self.tables_of(block, encoded, rows))
        return pd.DataFrame(
            columns, index, [names[place] for place in np.flatnonzero(block.scale)], copy=False
        )
