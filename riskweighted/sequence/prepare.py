"""The blocks of a sequence, found in the data: one for a synthesizer, and for a chain those that
its variables need.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers, require_columns, with_columns
from riskweighted.common.survey_weights import checked_survey
from riskweighted.contract.categories import categories_of
from riskweighted.contract.synthesizer import Synthesizer, keeps_true_values
from riskweighted.design.distinct import Distinct, median_of_rows
from riskweighted.design.formulas import split_formula
from riskweighted.design.predictor_tables import Tables
from riskweighted.design.spline_basis import independent
from riskweighted.sampling.block_fit import PreparedModel, prepare_model
from riskweighted.sequence.blocks import Block, ChainVariable, PreparedSequence, Status
from riskweighted.sequence.declared import (
    Chain,
    SideBySide,
    check_declared,
    learned_of,
    products_of,
    recoding_of,
    units_of,
)
from riskweighted.sequence.edit_rules import VIOLATIONS
from riskweighted.sequence.learning import input_matrix, make_scores
from riskweighted.sequence.many_levels import FEWEST, questions_of, spread_of_effects
from riskweighted.sequence.members import make_members
from riskweighted.sequence.products import asks_whether, make_products
from riskweighted.sequence.recoding import RECODINGS, free_names, make_recipes
from riskweighted.sequence.rule_effects import RuleEffects, make_rule_effects
from riskweighted.sequence.totals import make_totals
from riskweighted.sequence.unit_rules import make_unit_rules

__all__ = ["add_learned_scores", "prepare_sequence", "sequence_of", "side_by_side"]

_AMOUNTS_PER_SLOPE = 10
_AMOUNTS_OF_PART = 200  # of units, that have a block of their own
_FEWEST_OF_PARTS = 50  # amounts of all others together
_ALL = 1_000_000  # columns: more than there are
_FEW = 3  # records of a single value
# of a status, and of the records without it, from which it has all predictors: the priors of its
# slopes hold the rest
_FEWEST_EVENTS = 5


def prepare_sequence(
    declared: Synthesizer | Chain,
    confidential: pd.DataFrame,
    survey: str | pd.Series | np.ndarray | None = None,
    alphas: pd.DataFrame | None = None,
    *,
    of_true_units: bool = True,
) -> PreparedSequence:
    """Data checked, with survey weights if any, the models of a chain chosen, and every block
    prepared.

    `alphas` (n, V): risk weights under which a learned part is made, 1 where none are given;
    `of_true_units`: whether totals and rules of units must hold, which they need not in a unit that
    is left out and holds values of others.
    InputError says what is wrong with data, rules or weights; of a chain it names the variable.
    """
    check_declared(declared)
    require_columns(confidential, [], "confidential data")
    if isinstance(declared, Chain):
        return _of_chain(declared, confidential, survey, alphas, of_true_units)
    return sequence_of(prepare_model(declared, confidential, survey))


def add_learned_scores(prepared: PreparedSequence, alphas: pd.DataFrame) -> PreparedSequence:
    """The same with a learned part that is made under risk weights (n, V); as it is without one."""
    if not isinstance(prepared.declared, Chain) or not learned_of(prepared.declared):
        return prepared
    before = 1.0 if prepared.taught is None else prepared.taught[alphas.columns]
    same = bool((alphas == before).to_numpy().all())
    return (
        prepared
        if same
        else prepare_sequence(prepared.declared, prepared.confidential, prepared.survey, alphas)
    )


def sequence_of(model: PreparedModel) -> PreparedSequence:
    """The sequence of one variable: one block, of all records, whose design is the synthesizer's
    own.
    """
    link = _whole(model, categories_of(model.synthesizer, model.prepared) is not None)
    return PreparedSequence(model.synthesizer, model.confidential, (link,), survey=model.survey)


def side_by_side(declared: SideBySide, models: Sequence[PreparedModel]) -> PreparedSequence:
    """A block of all records for each variable, none of which looks at another's."""
    links = tuple(
        _whole(model, not holds_numbers(model.confidential[model.synthesizer.target]))
        for model in models
    )
    return PreparedSequence(declared, models[0].confidential, links)


def _whole(model: PreparedModel, levels: bool) -> ChainVariable:
    """A variable whose one block all records reach."""
    name, n = model.synthesizer.target, len(model.confidential)
    return ChainVariable(
        name,
        None,
        (),
        Block(name, name, None, np.ones(n, dtype=bool), (), None, model),
        levels=levels,
    )


def _of_chain(
    chain: Chain,
    confidential: pd.DataFrame,
    survey: str | pd.Series | np.ndarray | None,
    alphas: pd.DataFrame | None,
    of_true_units: bool,
) -> PreparedSequence:
    """The blocks of every variable, one variable after the other."""
    if isinstance(survey, str) and survey in chain.variables:
        raise InputError(
            f"survey weights {survey!r} are a column that is synthesized: name another one"
        )
    weights = checked_survey(survey, confidential)
    require_columns(confidential, (*chain.predictors, *chain.variables), "confidential data")
    chain.rules.check(confidential)
    chain.rules.refuse_broken(confidential)
    aside = {variable: chain.rules.left_out(confidential, variable) for variable in chain.variables}
    recipes = make_recipes(
        confidential,
        _sources(chain, confidential),
        chain.codes,
        chain.variables,
        recoding_of(chain),
    )
    products, units = make_products(products_of(chain), confidential, recipes), units_of(chain)
    members = None
    if units is not None:
        totals = make_totals(units, chain, recipes, confidential)
        held = units.check(confidential, chain.variables)
        rules = make_unit_rules(units, chain, confidential, held)
        if of_true_units:
            for total in totals:
                total.check(confidential, held.unit)
            rules.check(confidential, held)
        members = make_members(units, held, confidential, recipes, chain.variables, totals, rules)
        if rules.violations != VIOLATIONS[0]:
            for name, left in aside.items():
                left |= rules.left_out(confidential, held, name)
    prepared = PreparedSequence(
        chain,
        confidential,
        (),
        recipes,
        aside,
        weights,
        {},
        alphas,
        products=products,
        members=members,
    )
    encoded = dict[str, Distinct]() if members is None else members.composition(members.held)
    for name in recipes:
        prepared.encode(encoded, name, confidential)
        prepared.encode_others(encoded, name, prepared.arrangement)
    links = []
    for variable in chain.variables:
        prepared.encode_earlier(encoded, variable, confidential, prepared.arrangement)
        decider = make_rule_effects(
            chain.rules, variable, confidential[variable], chain.codes.get(variable, ())
        )
        linking = _Linking(chain, prepared, encoded, variable)
        link = linking.link() if decider is None else linking.decided(decider)
        if members is not None and members.is_of_unit(variable):
            link = replace(link, of_unit=True)
        links.append(link)
        # a model may draw levels that no record has
        if variable in recipes and link.values is not None:
            model = link.values.model
            taken = {*chain.variables, *prepared.names_of([*recipes, *products])}
            recipes[variable] = recipes[variable].with_levels(
                categories_of(model.synthesizer, model.prepared) or (), taken
            )
            prepared.encode(encoded, variable, confidential)
    if not any(link.blocks for link in links):
        raise InputError(
            f"all values of {listing(chain.variables)} follow from implied and sums: there is "
            "nothing to synthesize"
        )
    return replace(prepared, links=tuple(links))


def _sources(chain: Chain, confidential: pd.DataFrame) -> list[str]:
    """Every column that predicts: those named for all, those of a formula, and the variables that
    have a later one.
    """
    named = [name for variable in chain.variables for name in _formula_names(chain, variable)]
    require_columns(confidential, named, "confidential data")
    last = len(chain.variables) - (units_of(chain) is None)  # of earlier members it is read too
    return list(dict.fromkeys([*chain.predictors, *chain.variables[:last], *named]))


def _formula_names(chain: Chain, variable: str) -> tuple[str, ...]:
    """The columns of a variable's own formula, none of which comes later in the chain."""
    formula = chain.formula_of(variable)
    if formula is None:
        return ()
    names = split_formula(formula).names
    later = [name for name in names if name in chain.variables[chain.variables.index(variable) :]]
    if later:
        raise InputError(
            f"the formula of {variable!r} names {listing(later)}, which is not synthesized "
            "before it; change the order"
        )
    return names


@dataclass(frozen=True, eq=False)
class _Linking:
    """The making of one link."""

    chain: Chain
    prepared: PreparedSequence
    encoded: dict[str, Distinct]
    variable: str

    def link(self) -> ChainVariable:
        """Structural rule, statuses one after the other, then the values."""
        chain, data = self.chain, self.prepared.confidential
        column, structure = data[self.variable], chain.rules.structure(self.variable)
        left = (
            np.ones(len(data), dtype=bool)
            if structure is None
            else structure.applies_if.holds(data)
        )
        left &= self._asked()
        if not left.any():
            raise InputError(
                f"variable {self.variable!r}: its rule 'applies_if' holds for no record; there is "
                "nothing to synthesize"
            )
        left = left & ~self.prepared.aside[self.variable]
        statuses: list[Block] = []
        for status, having in self._statuses(column, left):
            hit = having & left
            if not hit.any():
                continue
            if hit.sum() == left.sum():
                return ChainVariable(
                    self.variable,
                    structure,
                    tuple(statuses),
                    None,
                    status.outcome,
                    not holds_numbers(column),
                )
            statuses.append(self._status_block(status, hit, left, statuses))
            left = left & ~hit
        if not left.any():
            raise InputError(
                f"variable {self.variable!r} has no value outside its structural rule: there is "
                "nothing to synthesize"
            )
        if column[left].nunique() == 1:
            if not statuses:
                where = " where its rule 'applies_if' holds" if structure is not None else ""
                raise InputError(
                    f"variable {self.variable!r} has one value in all {int(left.sum())} "
                    f"records{where}: nothing to synthesize"
                )
            if left.sum() < _FEW:
                raise InputError(
                    f"variable {self.variable!r} has one value beside its statuses, in "
                    f"{int(left.sum())} records: it would be released"
                )
            return ChainVariable(
                self.variable,
                structure,
                tuple(statuses),
                None,
                column[left].iloc[0],
                not holds_numbers(column),
            )
        first, *others = self._value_blocks(column, left)
        return ChainVariable(
            self.variable,
            structure,
            tuple(statuses),
            first,
            None,
            not holds_numbers(column),
            others=tuple(others),
        )

    def decided(self, decider: RuleEffects) -> ChainVariable:
        """The same where implications or a sum decide some values: of such a status no record is in
        the fit.
        """
        data, column = self.prepared.confidential, self.prepared.confidential[self.variable]
        structure, left = self.chain.rules.structure(self.variable), self._asked()
        if structure is not None:
            left &= structure.applies_if.holds(data)
        ruled = decider.left(data)
        left &= ~self.prepared.aside[self.variable] & (ruled.only < 0)
        added = ~np.isnan(decider.computed(data))
        statuses = list(self._statuses(column, left)) if left.any() else []
        asked = [
            (status, hit)
            for status, having in statuses
            if (hit := having & left & ~(added & (status.outcome == 0))).any()
        ]
        held = decider.held(column[left])  # the outcomes that are still to come
        link = ChainVariable(
            self.variable, structure, (), None, None, not holds_numbers(column), decider
        )
        for status, hit in asked:
            place = decider.place(status.outcome)
            held[place] = False
            if hit.sum() == left.sum():
                return replace(link, constant=status.outcome)
            may, must = ruled.status(place, held)
            member = left & may & ~must
            if not 0 < (hit & member).sum() < member.sum():
                member = left
            block = self._status_block(status, hit, member, link.statuses)
            link = replace(
                link, statuses=(*link.statuses, block), coming=(*link.coming, held.copy())
            )
            left = left & ~hit
        return self._with_values(link, decider, left)

    def _with_values(
        self, link: ChainVariable, decider: RuleEffects, left: np.ndarray
    ) -> ChainVariable:
        """The values of what is decided: computed by a sum, the one that there is, or drawn."""
        column = self.prepared.confidential[self.variable]
        computed = ~np.isnan(decider.computed(self.prepared.confidential))
        left = left & ~computed
        if not left.any() or column[left].nunique() == 1:
            held = (
                column[left] if left.any() else column[~computed] if not computed.all() else column
            )
            return replace(link, constant=held.mode(dropna=False).iloc[0])
        first, *others = self._value_blocks(column, left)
        return replace(link, values=first, others=tuple(others))

    def _statuses(
        self, column: pd.Series, reached: np.ndarray
    ) -> Iterator[tuple[Status, np.ndarray]]:
        """Every status and which records have it, (n,): codes, missing, and the levels but the last
        where the chain asks for that.
        """
        codes = self.chain.codes.get(self.variable, ())
        if codes and not holds_numbers(column):
            raise InputError(
                f"variable {self.variable!r} is no number, so it has no special codes: they are "
                "levels like others"
            )
        numbers = as_floats(column) if codes else np.empty(0)
        for code in codes:
            yield Status(code), numbers == code
        yield Status(None), column.isna().to_numpy()
        if holds_numbers(column) or self.chain.formula_of(self.variable) is not None:
            width = 0
        else:
            width = sum(self.encoded[source].rows.shape[1] for source in self._sources()) + bool(
                learned_of(self.chain)
            )
        for level in self.chain.one_by_one(self.variable, column[reached].dropna(), width)[:-1]:
            yield (
                Status(level, of_level=True),
                (column == level).to_numpy(dtype=bool, na_value=False),
            )

    def _asked(self) -> np.ndarray:
        """For which records (n,) there may be a term: of a variable that is drawn once a unit the
        first members.
        """
        members = self.prepared.members
        if members is not None and members.is_of_unit(self.variable):
            return np.asarray(members.held.position == 0)
        return np.ones(len(self.prepared.confidential), dtype=bool)

    def _sources(self) -> tuple[str, ...]:
        """The predictors and the variables before this one, and what they are of other members."""
        chain, members = self.chain, self.prepared.members
        names = (*chain.predictors, *chain.variables[: chain.variables.index(self.variable)])
        return names if members is None else members.sources(self.variable, names)

    def _learned(self, name: str, target: pd.Series, rows: np.ndarray) -> Iterator[str]:
        """The name of a block's scores as a source of columns, where a learned part is asked for
        and the records tell of it.
        """
        prepared, read = self.prepared, learned_of(self.chain)
        questions = list(questions_of(target)) if read else []
        if not questions:
            return
        source = f"scores of {name}"
        while source in {*prepared.confidential.columns, *self.encoded}:
            source += "'"
        taken = {
            name,
            *self.chain.variables,
            *prepared.names_of([*prepared.recipes, *prepared.products, *prepared.scores]),
        }
        names = free_names(
            [f"{name} score {place}" for place in range(1, len(questions) + 1)], taken
        )
        weights = (
            np.ones(len(rows)) if prepared.survey is None else prepared.survey.to_numpy()[rows]
        )
        if prepared.taught is not None:
            weights = weights * prepared.taught[self.variable].to_numpy()[rows]
        recipes = [prepared.recipes[column] for column in read]
        matrix = input_matrix(recipes, [self.encoded[column] for column in read])
        together = None if prepared.arrangement is None else prepared.arrangement.unit
        prepared.scores[source] = make_scores(
            names, questions, recipes, matrix, rows, weights, together
        )
        self.encoded[source] = prepared.scores[source].held
        yield source

    def _status_block(
        self, status: Status, hit: np.ndarray, member: np.ndarray, before: Sequence[Block]
    ) -> Block:
        name = f"{self.variable} is {status.text}"
        taken = {*self.prepared.confidential.columns, *(block.name for block in before)}
        while name in taken:  # a column, or a level, may be called so
            name += "'"
        events = int(min(hit[member].sum(), member.sum() - hit[member].sum()))
        target = pd.Series(hit, self.prepared.confidential.index)[member].rename(name)
        return self._block(
            name, status, target, member, events, lambda formula: self.chain.status_model(formula)
        )

    def _value_blocks(self, column: pd.Series, member: np.ndarray) -> tuple[Block, ...]:
        """The block of the amounts or levels; of amounts of units one for each part of 200 amounts
        and more (`Slots.parts`).
        """
        amounts, model = column[member], self.chain.value_model
        groups = self._groups(amounts, member)
        if len(groups) < 2:
            block = self._block(
                self.variable,
                None,
                amounts,
                member,
                len(amounts),
                lambda formula: model(self.variable, amounts, formula),
            )
            return (block,)
        assert self.prepared.members is not None
        parts, blocks = self._parts(), list[Block]()
        for name, group in groups.items():
            here = member & np.isin(parts, group)
            block = self._block(
                name,
                None,
                column[here].rename(name),
                here,
                int(here.sum()),
                lambda formula: model(self.variable, amounts, formula),
            )
            blocks.append(replace(block, parts=group))
        return tuple(blocks)

    def _parts(self) -> np.ndarray:
        """The part of units that each record is of, (n,), by which models may differ."""
        members = self.prepared.members
        assert members is not None
        return members.slots.parts(members.held, np.arange(len(members.held.unit)))

    def _groups(self, amounts: pd.Series, member: np.ndarray) -> dict[str, tuple[int, ...]]:
        """Which parts of units have a block of amounts of their own, by what the block is called;
        none of levels, and of what is of the unit.
        """
        members = self.prepared.members
        if members is None or members.is_of_unit(self.variable) or self._draws_levels(amounts):
            return {}
        counts = np.bincount(self._parts()[member], minlength=members.slots.most_parts)
        groups, rest = list[tuple[int, ...]](), tuple[int, ...]()
        for begin, *more in members.slots.alike_parts:
            alike: list[tuple[int, ...]] = [(begin,)]
            for part in more:  # a small part is one with the part before it
                if counts[part] < _AMOUNTS_OF_PART or counts[[*alike[-1]]].sum() < _AMOUNTS_OF_PART:
                    alike[-1] = (*alike[-1], part)
                else:
                    alike.append((part,))
            large = [each for each in alike if counts[[*each]].sum() >= _AMOUNTS_OF_PART]
            groups += large
            rest = (*rest, *(part for each in alike if each not in large for part in each))
        rest = tuple(part for part in rest if counts[part])
        if groups and 0 < counts[[*rest]].sum() < _FEWEST_OF_PARTS:
            least = min(groups, key=lambda group: int(counts[[*group]].sum()))
            groups.remove(least)
            rest = (*least, *rest)
        groups += [rest] if rest else []
        return {
            f"{self.variable} of {members.slots.called(group, members.held)}": group
            for group in groups
        }

    def _draws_levels(self, amounts: pd.Series) -> bool:
        """Whether the model of the values draws levels, counted numbers too."""
        if not holds_numbers(amounts):
            return True
        plain = self.chain.value_model(self.variable, amounts, f"`{self.variable}` ~ 1")
        prepared = prepare_model(plain, pd.DataFrame({self.variable: amounts})).prepared
        return categories_of(plain, prepared) is not None

    def _block(
        self,
        name: str,
        status: Status | None,
        target: pd.Series,
        member: np.ndarray,
        events: int,
        make: Callable[[str], Synthesizer],
    ) -> Block:
        """A block whose predictors are those that its events allow."""
        prepared, chain, rows = self.prepared, self.chain, np.flatnonzero(member)
        stated = chain.formula_of(self.variable)
        if stated is not None and prepared.members is not None:
            raise InputError(
                f"variable {self.variable!r}: a formula names columns of the file, which do "
                "not describe other members of the unit: leave it out, or leave out units"
            )
        if stated is not None:
            sources, scale = split_formula(stated).names, None
            formula = f"`{name}` ~ {split_formula(stated).right}"
        else:
            asks = status is not None or asks_whether(target)
            multiplied = [
                source
                for source, recipe in prepared.products.items()
                if asks and self.variable in recipe.product.variables
            ]
            sources = (*self._sources(), *multiplied, *self._learned(name, target, rows))
            tables = [self.encoded[source].at(rows) for source in sources]
            most = (
                events // _AMOUNTS_PER_SLOPE
                if status is None
                else _ALL * (events >= _FEWEST_EVENTS)
            )
            keep = self._kept(sources, Tables(tables, len(rows)), most, status is None)
            scale = (
                np.concatenate(
                    [
                        np.empty(0),
                        *(
                            self._spreads(*source, target)
                            for source in zip(sources, tables, strict=True)
                        ),
                    ]
                )
                * keep
            )
            names = [
                column
                for column, kept in zip(prepared.names_of(sources), keep, strict=True)
                if kept
            ]
            formula = f"`{name}` ~ " + (" + ".join(f"`{column}`" for column in names) or "1")
        unfitted = Block(name, self.variable, status, member, sources, scale, model=None)  # type: ignore[arg-type]
        frame = with_columns(
            prepared.columns_of(unfitted, prepared.confidential, self.encoded, rows), {name: target}
        )
        try:
            synthesizer = make(formula)
            if keeps_true_values(synthesizer):
                raise InputError("its model keeps true values, which no synthetic variable may")
            model = prepare_model(synthesizer, frame)
            if prepared.survey is not None:  # normalised over all records, not over the members
                survey, members = prepared.survey, prepared.members
                if members is not None and members.is_of_unit(self.variable):
                    survey = survey.groupby(members.held.unit).transform("mean")
                model = replace(model, survey=survey[member])
        except InputError as error:
            place = f"variable {self.variable!r}: "
            raise InputError(place + str(error).removeprefix(place)) from None
        return Block(name, self.variable, status, member, sources, scale, model)

    def _kept(
        self, sources: Sequence[str], columns: Tables, most: int, amounts: bool
    ) -> np.ndarray:
        """Which columns (m, p) of a block's sources predict, booleans (p,).

        All that vary and are no combination of others, if they are at most so many; of many levels
        those of ten of its records, as far as the others leave room, the largest first. What
        predicts `amounts` differs from its usual value in ten of the records, and in ten more for
        every bend before it.
        """
        recoders = [self.prepared.recoder(source) for source in sources]
        many = np.concatenate(
            [np.zeros(0, dtype=bool), *(np.full(len(of.names), of.many) for of in recoders)]
        )
        records = np.concatenate(
            [np.empty(0), *(table.counts @ table.rows for table in columns.parts)]
        )
        keep = ~many | (records >= FEWEST)
        if amounts and recoding_of(self.chain) != RECODINGS[0]:
            place = [np.where(of.straight, 1, np.arange(len(of.names)) + 1) for of in recoders]
            unusual = [
                table.counts[row != median_of_rows(row, table.counts)].sum()
                for table in columns.parts
                for row in table.rows.T
            ]
            keep &= many | (np.array(unusual) >= FEWEST * np.concatenate([np.empty(0), *place]))
        keep[keep] = independent(np.asarray(columns)[:, keep])
        if (keep & ~many).sum() > most:  # others' predictors go before own bends
            of_others = [getattr(of, "others", False) for of in recoders]
            keep &= ~np.repeat(np.array(of_others, dtype=bool), [len(of.names) for of in recoders])
        if keep.sum() > most and recoding_of(self.chain) != RECODINGS[0]:  # lines before none
            keep &= np.concatenate([of.straight for of in recoders])
        if (keep & ~many).sum() > most:
            keep &= many
        room = max(most - int((keep & ~many).sum()), 0)
        levels = np.flatnonzero(keep & many)
        keep[levels[np.argsort(-records[levels], kind="stable")[room:]]] = False
        return np.asarray(keep)

    def _spreads(self, source: str, table: Distinct, target: pd.Series) -> np.ndarray:
        """The prior standard deviation of the slopes of a source's columns, over that of others,
        (k,).
        """
        many = self.prepared.recoder(source).many
        return np.full(table.rows.shape[1], spread_of_effects(target, table.which) if many else 1.0)
