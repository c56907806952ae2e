"""Several variables one after the other: each by a model of its own, given those before it (METHODS section 12).

A variable has parts, in this order: where a structural rule gives it one value, that value; then its status (each special code, each
spike, missing), by continuation ratios, so that every status is a binary model among the records that have none before it; then its amount
or level. The priors are independent, so each of these *blocks* is a fit of its own on the records that reach it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.frames import as_floats, holds_numbers, require_columns
from riskweighted.common.survey import checked_survey
from riskweighted.contract.categories import categories_of
from riskweighted.contract.synthesizer import Synthesizer, keeps_true_values
from riskweighted.design.distinct import Distinct
from riskweighted.design.formulas import split_formula
from riskweighted.design.tables import Tables
from riskweighted.sampling.posterior import PreparedModel, prepare_model
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.recoding import Recipe, independent, make_recipes
from riskweighted.sequence.rules import Structure

__all__ = ["Block", "Link", "PreparedChain", "Status", "prepare_chain"]

_EVENTS_PER_SLOPE = 10
_FEW = 3  # records of a single value
_LEVEL_EVENTS_PER_SLOPE = 3  # of a level that is modelled by itself: its slopes are what is known of it, and their priors hold them
_MISSING = "missing"


class Status(NamedTuple):
    """A status beside the value: ``outcome`` is a code, a level, or None where the value is missing."""

    outcome: object
    of_level: bool = False

    @property
    def text(self) -> str:
        """For names."""
        number = isinstance(self.outcome, float)
        return _MISSING if self.outcome is None else f"{self.outcome:.15g}" if number else str(self.outcome)


@dataclass(frozen=True, eq=False)
class Block:
    """One model of a chain. Confidential.

    Attributes
    ----------
    name : str
        "income", "income is -8", "income is missing".
    variable : str
    status : Status, optional
        What it is the probability of; None: the block of the values.
    member : array (n,)
        The records that reach it.
    sources : tuple of str
        The columns that predict.
    keep : array (p,), optional
        Which of the sources' numeric columns do; None: the formula names the sources themselves.
    model : PreparedModel
        Of the members.
    """

    name: str
    variable: str
    status: Status | None
    member: np.ndarray = field(repr=False)
    sources: tuple[str, ...]
    keep: np.ndarray | None = field(repr=False)
    model: PreparedModel = field(repr=False)


@dataclass(frozen=True, eq=False)
class Link:
    """One variable of a chain: its structural rule, its statuses in order, its values. Confidential.

    ``constant``: the one value of a variable that has statuses and no other value than this; it has no block of values then.
    ``levels``: whether it is categorical.
    """

    variable: str
    structure: Structure | None
    statuses: tuple[Block, ...]
    values: Block | None
    constant: object = field(default=None, repr=False)
    levels: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """In the order in which they are drawn."""
        return self.statuses if self.values is None else (*self.statuses, self.values)


@dataclass(frozen=True, eq=False)
class PreparedChain:
    """A chain and the data it was prepared for, n records. Confidential; made by `prepare_chain`.

    Attributes
    ----------
    chain : Chain
    confidential : DataFrame, n rows
    links : tuple of Link
    recipes : mapping of column to Recipe
        How predictors and earlier variables become numeric columns.
    aside : mapping of variable to array (n,)
        Records that break a rule of the variable and are left out of its likelihood, where the chain lets them stand.
    survey : Series (n,) or None
        Survey weights of mean 1, where there are any; every block has those of its members.
    """

    chain: Chain
    confidential: pd.DataFrame = field(repr=False)
    links: tuple[Link, ...] = field(repr=False)
    recipes: Mapping[str, Recipe] = field(repr=False)
    aside: Mapping[str, np.ndarray] = field(repr=False)
    survey: pd.Series | None = field(default=None, repr=False)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block, in order."""
        return tuple(block for link in self.links for block in link.blocks)

    @cached_property
    def fingerprint(self) -> str:
        """Of the data."""
        return fingerprint(self.confidential)

    @cached_property
    def encoded(self) -> dict[str, Distinct]:
        """The numeric columns of the unsynthesized predictors, of n records each: they are the same in every dataset."""
        return {name: self.recipes[name].table(self.confidential[name]) for name in self.recipes if name not in self.chain.variables}

    def tables_of(self, block: Block, encoded: Mapping[str, Distinct], rows: np.ndarray) -> Tables:
        """The numeric columns that predict a block whose formula names no sources, for some records."""
        widths = [encoded[name].rows.shape[1] for name in block.sources]
        kept = np.split(np.asarray(block.keep), np.cumsum(widths)[:-1]) if widths else []
        parts = ((encoded[name], keep) for name, keep in zip(block.sources, kept, strict=True) if keep.any())
        return Tables((Distinct(table.rows[:, keep], table.which[rows]) for table, keep in parts), len(rows))

    def columns_of(self, block: Block, frame: pd.DataFrame, encoded: Mapping[str, Distinct], rows: np.ndarray) -> pd.DataFrame:
        """What a block's formula names, for some rows of a frame."""
        index = frame.index[rows]
        if block.keep is None:
            return pd.DataFrame({name: self.recipes[name].filled(frame[name].iloc[rows]) for name in block.sources}, index)
        names = _names(self.recipes, block.sources)
        columns = np.asarray(self.tables_of(block, encoded, rows))
        return pd.DataFrame(columns, index, [names[place] for place in np.flatnonzero(block.keep)], copy=False)


def _names(recipes: Mapping[str, Recipe], sources: Iterable[str]) -> list[str]:
    return [name for source in sources for name in recipes[source].names]


def prepare_chain(chain: Chain, confidential: pd.DataFrame, survey: str | pd.Series | np.ndarray | None = None) -> PreparedChain:
    """Check the data, and survey weights if any, choose the models, and prepare every block.

    Raises
    ------
    InputError
        If a column is absent, infinite or missing throughout, a variable has one value, the data break a rule, or a model refuses its
        data; the message names the variable. If survey weights are not valid, or a column of the chain.
    """
    if isinstance(survey, str) and survey in chain.variables:
        raise InputError(f"survey weights {survey!r} are a column that is synthesized: name another one")
    weights = checked_survey(survey, confidential)
    require_columns(confidential, (*chain.predictors, *chain.variables), "confidential data")
    chain.rules.check(confidential)
    chain.rules.refuse_broken(confidential)
    aside = {variable: chain.rules.left_out(confidential, variable) for variable in chain.variables}
    recipes = make_recipes(confidential, _sources(chain, confidential), chain.codes, chain.variables)
    encoded = {name: recipe.table(confidential[name]) for name, recipe in recipes.items()}
    prepared = PreparedChain(chain, confidential, (), recipes, aside, weights)
    links = []
    for variable in chain.variables:
        link = _Linking(prepared, encoded, variable).link()
        links.append(link)
        if variable in recipes and link.values is not None:  # a model may draw levels that no record has
            own, taken = link.values.model, {*chain.variables, *_names(recipes, recipes)}
            recipes[variable] = recipes[variable].with_levels(categories_of(own.synthesizer, own.prepared) or (), taken)
            encoded[variable] = recipes[variable].table(confidential[variable])
    return replace(prepared, links=tuple(links))


def _sources(chain: Chain, confidential: pd.DataFrame) -> list[str]:
    """Every column that predicts: those named for all, those of a formula, and the variables that have a later one."""
    named = [name for variable in chain.variables for name in _formula_names(chain, variable)]
    require_columns(confidential, named, "confidential data")
    return list(dict.fromkeys([*chain.predictors, *chain.variables[:-1], *named]))


def _formula_names(chain: Chain, variable: str) -> tuple[str, ...]:
    """The columns of a variable's own formula, none of which comes later in the chain."""
    formula = chain.formula_of(variable)
    if formula is None:
        return ()
    names = split_formula(formula).names
    later = [name for name in names if name in chain.variables[chain.variables.index(variable) :]]
    if later:
        raise InputError(f"the formula of {variable!r} names {listing(later)}, which is not synthesized before it; change the order")
    return names


@dataclass(frozen=True, eq=False)
class _Linking:
    """The making of one link."""

    prepared: PreparedChain
    encoded: Mapping[str, Distinct]
    variable: str

    def link(self) -> Link:
        """Structural rule, statuses one after the other, then the values."""
        chain, data = self.prepared.chain, self.prepared.confidential
        column, structure = data[self.variable], chain.rules.structure(self.variable)
        left = np.ones(len(data), dtype=bool) if structure is None else structure.when.holds(data)
        if not left.any():
            raise InputError(f"variable {self.variable!r}: its rule 'when' holds for no record; there is nothing to synthesize")
        left = left & ~self.prepared.aside[self.variable]
        statuses: list[Block] = []
        for status, having in self._statuses(column, left):
            hit = having & left
            if not hit.any():
                continue
            if hit.sum() == left.sum():
                return Link(self.variable, structure, tuple(statuses), None, status.outcome, not holds_numbers(column))
            statuses.append(self._status_block(status, hit, left, statuses))
            left = left & ~hit
        if not left.any():
            raise InputError(f"variable {self.variable!r} has no value outside its structural rule: there is nothing to synthesize")
        if column[left].nunique() == 1:
            if not statuses:
                where = " where its rule 'when' holds" if structure is not None else ""
                raise InputError(f"variable {self.variable!r} has one value in all {int(left.sum())} records{where}: nothing to synthesize")
            if left.sum() < _FEW:
                raise InputError(
                    f"variable {self.variable!r} has one value beside its statuses, in {int(left.sum())} records: it would be released"
                )
            return Link(self.variable, structure, tuple(statuses), None, column[left].iloc[0], not holds_numbers(column))
        return Link(self.variable, structure, tuple(statuses), self._value_block(column, left), None, not holds_numbers(column))

    def _statuses(self, column: pd.Series, reached: np.ndarray) -> Iterator[tuple[Status, np.ndarray]]:
        """Every status and which records have it, (n,): codes, missing, and the levels but the last where the chain asks for that."""
        codes = self.prepared.chain.codes.get(self.variable, ())
        if codes and not holds_numbers(column):
            raise InputError(f"variable {self.variable!r} is no number, so it has no special codes: they are levels like others")
        numbers = as_floats(column) if codes else np.empty(0)
        for code in codes:
            yield Status(code), numbers == code
        yield Status(None), column.isna().to_numpy()
        if holds_numbers(column) or self.prepared.chain.formula_of(self.variable) is not None:
            width = 0
        else:
            width = sum(self.encoded[source].rows.shape[1] for source in self._sources())
        for level in self.prepared.chain.one_by_one(self.variable, column[reached].dropna(), width)[:-1]:
            yield Status(level, of_level=True), (column == level).to_numpy(dtype=bool, na_value=False)

    def _sources(self) -> tuple[str, ...]:
        """The predictors and the variables before this one."""
        chain = self.prepared.chain
        return (*chain.predictors, *chain.variables[: chain.variables.index(self.variable)])

    def _status_block(self, status: Status, hit: np.ndarray, member: np.ndarray, before: Sequence[Block]) -> Block:
        name = f"{self.variable} is {status.text}"
        taken = {*self.prepared.confidential.columns, *(block.name for block in before)}
        while name in taken:  # a column, or a level, may be called so
            name += "'"
        events = int(min(hit[member].sum(), member.sum() - hit[member].sum()))
        target = pd.Series(hit, self.prepared.confidential.index)[member].rename(name)
        return self._block(name, status, target, member, events, lambda formula: self.prepared.chain.status_model(formula))

    def _value_block(self, column: pd.Series, member: np.ndarray) -> Block:
        amounts, model = column[member], self.prepared.chain.value_model
        return self._block(self.variable, None, amounts, member, len(amounts), lambda formula: model(self.variable, amounts, formula))

    def _block(
        self, name: str, status: Status | None, target: pd.Series, member: np.ndarray, events: int, make: Callable[[str], Synthesizer]
    ) -> Block:
        """A block whose predictors are those that its events allow: all that vary and are no combination of others, or none."""
        prepared, chain, rows = self.prepared, self.prepared.chain, np.flatnonzero(member)
        own = chain.formula_of(self.variable)
        if own is not None:
            sources, keep = split_formula(own).names, None
            formula = f"`{name}` ~ {split_formula(own).right}"
        else:
            sources = self._sources()
            keep = independent(np.asarray(Tables((self.encoded[source].at(rows) for source in sources), len(rows))))
            of_level = status is not None and status.of_level
            if events < (_LEVEL_EVENTS_PER_SLOPE if of_level else _EVENTS_PER_SLOPE) * keep.sum():
                keep = np.zeros(len(keep), dtype=bool)
            names = [column for column, kept in zip(_names(prepared.recipes, sources), keep, strict=True) if kept]
            formula = f"`{name}` ~ " + (" + ".join(f"`{column}`" for column in names) or "1")
        unfitted = Block(name, self.variable, status, member, sources, keep, model=None)  # type: ignore[arg-type]
        frame = prepared.columns_of(unfitted, prepared.confidential, self.encoded, rows).assign(**{name: target})
        try:
            synthesizer = make(formula)
            if keeps_true_values(synthesizer):
                raise InputError("its model keeps true values, which no synthetic variable may")
            model = prepare_model(synthesizer, frame)
            if prepared.survey is not None:  # normalised over all records, not over the members
                model = replace(model, survey=prepared.survey[member])
        except InputError as error:
            place = f"variable {self.variable!r}: "
            raise InputError(place + str(error).removeprefix(place)) from None
        return Block(name, self.variable, status, member, sources, keep, model)
