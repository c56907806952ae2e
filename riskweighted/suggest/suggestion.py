"""A first study of a file: what to synthesize, what an intruder may know, which model, and why. To
be edited, not to be believed.
"""

import keyword
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.found import FoundNumbers
from riskweighted.common.units import Units
from riskweighted.contract.synthesizer import chain_names, load_synthesizer, synthesizer_names
from riskweighted.derivation.find import MOST_COLUMNS, find_structure
from riskweighted.derivation.rule_findings import RuleFinding
from riskweighted.derivation.states import quote_column as written
from riskweighted.intruder.patterns import cells
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.edit_rules import Rules
from riskweighted.suggest.columns import ColumnSummary, as_stated, skewness
from riskweighted.suggest.default_bounds import FoundBounds, default_bounds
from riskweighted.suggest.evidence import CONSTANT, LEVELS, NUMBER, PLAYING, TIME, UNIT_ID
from riskweighted.suggest.heaps import shared_values
from riskweighted.suggest.mixtures import Mixture, suggest_mixture
from riskweighted.suggest.roles import (
    giving_away,
    known_of,
    likely_target,
    may_leave,
    most_columns,
    patterns_of,
    predictors_of,
    sample_records,
)
from riskweighted.suggest.suggested_products import FoundProduct, find_products
from riskweighted.suggest.survey_columns import SurveyColumns, find_survey_columns
from riskweighted.suggest.unit_columns import numbers_members, units_among
from riskweighted.suggest.universes import Universe, find_universes
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["Suggestion", "quote_name", "simpler_suggestions", "suggest", "term_of"]

_APART = 5  # of counts: from one value to the next, on average
_SKEWED = 2.0  # skewness from which a predictor enters by its logarithm
# a size below a fiftieth of the median is near zero, where one in twenty is
_SMALL, _SOME = 50, 0.05
_PER_PATTERN = 20  # records of all columns that leave, on average
_MOST_ALONE = 0.05  # of the records, in units made as no other one is: [release] unique_share
_MOST_RELEASED = 3  # columns of a regression that are not known
_WIDE = 0.5  # of the interquartile range: a fifth of the median beyond it is nearly everything


@dataclass(frozen=True)
class Suggestion:
    """What a study of a file may start from.

    ``chosen``: whether the targets were chosen here rather than named. ``patterns``, ``alone``:
    known patterns, and records alone in theirs. ``chain``: the registered chain, of several
    variables or of one with gaps, codes or many levels; "" for a single model, whose ``formula``
    and, for comparison, ``mixture`` stand here. ``models``: by target the registered synthesizer of
    its amounts or levels. ``left_out``: by column why it takes no part; ``told_by``: by column that
    does not predict the one that it follows from, or "other predictors". ``staying``: predictors of
    too many levels to leave. ``lonely``: records alone in what leaves unaltered. ``universes``: who
    is asked for a target, where another column tells. ``survey``: columns that tell of the design.
    ``rules``: what holds in the data between the variables and what predicts them or leaves;
    ``nearly``: what a few break. ``products``: what is multiplied so that a status is told.
    ``shared``: values of targets that many records, and units, share; ``bounds``: of their amounts,
    which no unit decides alone. ``together``: the units whose members are drawn together, of a
    chain.
    """

    columns: tuple[ColumnSummary, ...] = field(repr=False)
    targets: tuple[str, ...]
    chosen: bool
    known: tuple[str, ...]
    predictors: tuple[str, ...]
    patterns: int
    alone: int
    chain: str
    models: Mapping[str, str]
    formula: str = ""
    mixture: Mixture | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    told_by: Mapping[str, str] = field(default_factory=dict)
    survey: SurveyColumns = field(default_factory=SurveyColumns)
    universes: tuple[Universe, ...] = ()
    staying: tuple[str, ...] = ()
    lonely: int = 0
    rules: tuple[RuleFinding, ...] = field(default=(), repr=False)
    nearly: tuple[RuleFinding, ...] = field(default=(), repr=False)
    products: tuple[FoundProduct, ...] = ()
    shared: Mapping[str, FoundNumbers] = field(default_factory=dict, repr=False)
    bounds: Mapping[str, FoundBounds | None] = field(default_factory=dict, repr=False)
    together: Units | None = None

    def column(self, name: str) -> ColumnSummary:
        """What was found of a column."""
        return next(column for column in self.columns if column.name == name)

    def codes_of(self, target: str) -> tuple[float, ...]:
        """Its special codes, and 0 where a rule asks for it, so that it has a share of its own."""
        column = self.column(target)
        texts = " ".join(
            text for rule in self.rules for _, texts in rule.declared for text in texts
        )
        name = re.escape(written(target))
        asked = column.kind == NUMBER and re.search(
            rf"{name} (== 0(?![\w.])|in \[(0|[^\]]*, 0)[,\]])", texts
        )
        return (*column.codes, 0.0) if asked and 0 < column.zero < 1 else column.codes

    def asked_of(self, target: str) -> Universe | None:
        """The rule by which some records alone have a value of a target, where a study may state it
        without asking: gaps or a code, without an exception, of whom a column that leaves tells."""
        own = [
            rule
            for rule in self.universes
            if rule.variable == target and not (self.is_secret(rule) or rule.exceptions)
        ]
        return max(
            (rule for rule in own if rule.by not in self.left_out),
            key=lambda rule: rule.covered,
            default=None,
        )

    def is_secret(self, rule: Universe) -> bool:
        """Whether it may be the secret itself who has a value."""
        return rule.is_secret({of.name: of.distinct for of in self.columns})

    def takes(self, target: str, setting: str) -> bool:
        """Whether the model of a target has a setting."""
        kind: Any = load_synthesizer(self.models[target]) if self.models[target] else None
        return kind is not None and setting in {
            setting_field.name for setting_field in fields(kind)
        }

    def found_bounds(self, target: str) -> FoundBounds | None:
        """Bounds for the draws of a target whose model takes them, as long as nobody has given
        public ones.
        """
        return self.bounds.get(target) if self.takes(target, "support") else None

    def found_heaps(self, target: str) -> FoundNumbers:
        """Values of a target that many records share and no multiple explains, where its model
        gives each a share of its own.
        """
        takes = self.takes(target, "heaps") or self.takes(target, "value_settings")
        return self.shared.get(target, FoundNumbers()) if takes else FoundNumbers()

    @property
    def beyond(self) -> dict[str, int]:
        """How many records lie beyond the bounds that were found, by target."""
        return {
            name: bounds.beyond
            for name in self.targets
            if (bounds := self.found_bounds(name)) is not None
        }

    @property
    def recodes(self) -> bool:
        """Whether the chain says how predictors become numeric columns."""
        return self._chain_has("recoding")

    @property
    def multiplies(self) -> bool:
        """Whether the chain takes products."""
        return self._chain_has("products")

    def _chain_has(self, setting: str) -> bool:
        kind: Any = load_synthesizer(self.chain)
        return setting in {each.name for each in fields(kind)}

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds that a study has to state: what somebody said, and whole numbers that are levels
        where it uses them, few ones where a chain predicts by them."""
        used = {*self.targets, *self.known, *self.predictors}
        predict = {*self.predictors} if self.chain else set()
        stated = (
            of
            for of in self.columns
            if of.found.stated
            or (of.needs_stating and of.name in used)
            or (of.is_coded and of.name in predict)
        )
        return {of.name: of.kind for of in stated}

    @property
    def units(self) -> dict[str, tuple[str, ...]]:
        """The columns that group the records, most groups first, with the columns that do not vary
        within one.
        """
        ids = sorted((of for of in self.columns if of.kind == UNIT_ID), key=lambda of: -of.distinct)
        return {
            unit.name: tuple(of.name for of in self.columns if unit.name in of.found.within)
            for unit in ids
        }

    @property
    def of_units(self) -> dict[str, str]:
        """The targets that are no property of a record, and of what unit they are."""
        return {
            name: within[0] for name in self.targets if (within := self.column(name).found.within)
        }

    @property
    def crowd(self) -> str:
        """Known patterns and who is alone, in words."""
        return (
            f"{self.patterns:,} pattern{'s'[: self.patterns != 1]}, {self.alone:,} "
            f"record{'s'[: self.alone != 1]} alone"
        )

    @property
    def schemes(self) -> tuple[str, ...]:
        """Weighting schemes: a centred one with a floor, beside none."""
        return (UNWEIGHTED, "mix+(t=0.5)")

    @property
    def regressions(self) -> tuple[str, ...]:
        """A regression of the first target that has numbers, on what is released unaltered."""
        numbers = [
            name
            for name in self.targets
            if self.column(name).is_number and self.column(name).distinct > 1
        ]
        one = {
            rule.by for rule in self.universes if rule.variable in numbers[:1]
        }  # of whose levels one may be left where there are amounts
        may = [name for name in (*self.known[:2], *self.released) if not self.column(name).many]
        varied = [name for name in may if name not in one or not self.column(name).enters_as_levels]
        right = [
            term_of(self.column(name)) for name in varied[: len(self.known[:2]) + _MOST_RELEASED]
        ]
        if not numbers or not right:
            return ()
        column = self.column(numbers[0])
        skewed = (
            column.kind == NUMBER
            and len(column.amounts)
            and column.amounts.min() > 0
            and skewness(column.amounts) > 1
        )
        left = f"log({quote_name(column.name)})" if skewed else quote_name(column.name)
        return (f"{left} ~ {' + '.join(right)}",)

    @property
    def released(self) -> tuple[str, ...]:
        """What predicts without being known, and so leaves unaltered: an analysis of the release
        can have it.
        """
        return tuple(name for name in self.predictors if name not in (*self.known, *self.staying))


def suggest(
    data: pd.DataFrame, columns: Sequence[ColumnSummary], targets: Sequence[str] = ()
) -> Suggestion:
    """A first study of a file by what `look_at` found of its columns; `targets`: what is to be
    synthesized, else the likeliest sensitive column.

    Refuses a file of which no column can be synthesized, and a target that cannot be.
    """
    by_name = {column.name: column for column in columns}
    left_out = {
        column.name: _why_left_out(column)
        for column in columns
        if not column.usable or not _can_be_written(column.name)
    }
    usable = [column for column in columns if column.name not in left_out]
    chosen = tuple(targets) or likely_target(usable, left_out)
    unknown = [name for name in chosen if name not in by_name]
    if unknown:
        raise InputError(f"the file has no column {listing(unknown)}; it has {listing(by_name)}")
    useless = [name for name in chosen if name in left_out]
    if useless:
        column = by_name[useless[0]]
        cure = (
            "; --kind NAME=KIND says otherwise" if column.kind not in (*PLAYING, CONSTANT) else ""
        )
        raise InputError(f"{column.name!r} cannot be synthesized: {left_out[column.name]}{cure}")
    design = find_survey_columns(data, [column.found for column in columns])
    data = as_stated(data, columns, chosen)
    some = sample_records(data)
    others = [column for column in usable if column.name not in chosen]
    copies = giving_away(some, others, [by_name[name] for name in chosen])
    others = [column for column in others if column.name not in copies]
    known = known_of(data, others)
    panel = [
        name
        for name in _time_of_panel(data, columns, known)
        if name not in {*copies, *chosen, *known}
    ]
    first = Suggestion(
        tuple(columns),
        chosen,
        not targets,
        known,
        (*known, *panel),
        *patterns_of(data, known),
        "",
        {},
        survey=design,
    )
    first = _with_universes(replace(first, left_out=left_out | copies), data)
    others = [column for column in others if column.name not in first.left_out]
    also = first.predictors[len(known) :]
    predictors, told_by, staying = predictors_of(
        data, others, [by_name[name] for name in chosen], known, also, _recodes(some, others)
    )
    predictors = tuple(dict.fromkeys([*predictors, *also]))
    found = {name: _found_of(data, by_name[name], columns) for name in chosen}
    shared = {name: held for name, (held, _) in found.items()}
    bounds = {name: of for name, (_, of) in found.items()}
    first = replace(
        first, predictors=predictors, told_by=told_by, staying=staying, shared=shared, bounds=bounds
    )
    first = _of_units_alike(_with_units(first, data), data)
    return _with_models(_with_rules(first, data), data)


def _with_units(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """With the units whose members are drawn together, by a chain; their unit-level columns are
    those that it uses.
    """
    targets = suggestion.targets
    used = {*targets, *suggestion.predictors, *suggestion.known, *suggestion.released}
    candidates = {
        name: [of for of in within if of in used]
        for name, within in suggestion.units.items()
        if name not in used and not numbers_members(data, name, suggestion.units)
    }
    kinds = {of.name: of.kind for of in suggestion.columns if of.name not in targets}
    times = [name for name, kind in kinds.items() if kind == TIME]
    others = [name for name, kind in kinds.items() if kind not in (TIME, UNIT_ID)]
    return replace(suggestion, together=units_among(data, candidates, times, others, targets))


def _of_units_alike(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """Without the columns of members by which too many units would be made as no other one is,
    where whole units leave: first the one without which fewest are.
    """
    if suggestion.together is None:
        return suggestion
    units, of = suggestion.together, suggestion.together.arranged(data)
    staying = {*suggestion.staying, *suggestion.left_out}
    leaving = [
        name
        for name in dict.fromkeys([*suggestion.known, *suggestion.predictors, units.role or ""])
        if name and name not in staying
    ]
    needed = {
        *units.unit_level,
        units.role,
        units.time,
        *(rule.by for rule in suggestion.universes),
    }

    def alone(names: Sequence[str]) -> float:
        patterns = cells((data[name] for name in names), np.zeros(len(data), dtype=np.int64))
        return float(of.alone(patterns).mean())

    gone, left = dict[str, str](), alone(leaving)
    while left > _MOST_ALONE and (may := set(leaving) - needed):
        without = {name: alone([other for other in leaving if other != name]) for name in may}
        name = min(reversed(leaving), key=lambda name: without.get(name, math.inf))
        gone[name] = (
            f"with it {left:.0%} of the records would be released in units of {units.id} with "
            "a unique composition: a coarser column might be released"
        )
        leaving.remove(name)
        left = without[name]
    known = tuple(name for name in suggestion.known if name not in gone)
    patterns, alone_now = patterns_of(data, known)
    return replace(
        suggestion,
        known=known,
        predictors=tuple(name for name in suggestion.predictors if name not in gone),
        patterns=patterns,
        alone=alone_now,
        left_out={**suggestion.left_out, **gone},
    )


def _found_of(
    data: pd.DataFrame, column: ColumnSummary, columns: Sequence[ColumnSummary]
) -> tuple[FoundNumbers, FoundBounds | None]:
    """The values of a target that many records share, and the bounds of its amounts, neither of
    which is one firm's.
    """
    if not len(column.amounts):
        return FoundNumbers(), None
    values = pd.to_numeric(data[column.name], errors="coerce").to_numpy(
        dtype=float, na_value=np.nan
    )
    some = np.isfinite(values) & ~np.isin(values, column.codes)
    units = [pd.factorize(data[of.name])[0][some] for of in columns if of.kind == UNIT_ID]
    return shared_values(values[some], column.precision, units), default_bounds(values[some], units)


def _time_of_panel(
    data: pd.DataFrame, columns: Sequence[ColumnSummary], known: Sequence[str]
) -> list[str]:
    """The time by which the records of a unit are told apart, where it may leave: whoever analyses
    the release of a panel needs it.
    """
    units = [of.name for of in columns if of.kind == UNIT_ID]
    times = [of for of in columns if of.kind == TIME and of.usable]
    return [
        of.name
        for of in times
        if any(not data.duplicated([unit, of.name]).any() for unit in units)
        and may_leave(data, of, known)
    ][:1]


def _with_universes(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """With who is asked for each target; what decides it predicts, too. Columns that give a target
    away decide where no other one does.
    """
    others = [of.name for of in suggestion.columns if of.usable and of.kind in PLAYING]
    codes, targets = {of.name: of.codes for of in suggestion.columns}, suggestion.targets
    found = dict[tuple[str, float | None], Universe]()
    for place, name in enumerate(targets):
        for left in (False, True):
            askers = [
                by
                for by in others
                if by not in targets[place:] and (by in suggestion.left_out) == left
            ]
            for each in find_universes(data, [name], askers, codes, uncut=targets):
                found.setdefault((name, each.else_value), each)
    known = replace(suggestion, universes=tuple(found.values()))
    for name in targets:
        rule = known.asked_of(name)
        leaving = dict.fromkeys([*known.known, *known.predictors])
        if rule is None or rule.by in {*leaving, *targets}:
            continue
        if len(data) < _PER_PATTERN * patterns_of(data, [*leaving, rule.by])[0]:
            mend = (
                "band it"
                if known.column(rule.by).distinct > 2
                else "fewer or wider known columns would allow its release"
            )
            why = (
                f"says who is asked for {name}, but with it hardly {_PER_PATTERN} records a "
                f"pattern would be released alike: {mend}"
            )
            known = replace(known, left_out={**known.left_out, rule.by: why})
        else:
            known = replace(known, predictors=(*known.predictors, rule.by))
    return known


def _recodes(data: pd.DataFrame, columns: Sequence[ColumnSummary]) -> set[tuple[str, str]]:
    """Pairs of a column and one that follows from it."""
    names = [column.name for column in columns][:MOST_COLUMNS]
    codes = {column.name: column.codes for column in columns}
    return {(of, name) for name, of in find_structure(data, names, codes=codes).recodes.items()}


def _with_rules(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """With the rules that hold between the variables, and between them and what predicts them or
    leaves unaltered.
    """
    names = [*dict.fromkeys([*suggestion.predictors, *suggestion.known]), *suggestion.targets]
    codes = {name: codes for name in names if (codes := suggestion.column(name).codes)}
    found = find_structure(data, names[-MOST_COLUMNS:], codes=codes)
    nearly = (
        rule
        for rule in found.findings
        if rule.exceptions and {*rule.columns} & {*suggestion.targets}
    )
    asked = [
        {rule.variable, rule.by}
        for name in suggestion.targets
        if (rule := suggestion.asked_of(name)) is not None
    ]
    rules = (rule for rule in found.kept(suggestion.targets) if {*rule.columns} not in asked)
    return replace(suggestion, rules=tuple(rules), nearly=tuple(nearly))


def simpler_suggestions(suggestion: Suggestion, data: pd.DataFrame) -> Iterable[Suggestion]:
    """Simpler and simpler studies, for data that does not suit the first one."""
    yield suggestion
    data = as_stated(data, suggestion.columns, suggestion.targets)
    if suggestion.rules:
        yield _with_models(replace(suggestion, rules=(), nearly=()), data)
    for predictors, known in (
        (suggestion.known, suggestion.known),
        ((), suggestion.known),
        ((), ()),
    ):
        universes = tuple(
            rule
            for rule in suggestion.universes
            if rule.by in {*predictors, *known, *suggestion.targets}
        )
        simpler = replace(suggestion, predictors=predictors, known=known, universes=universes)
        patterns, alone = patterns_of(data, known)
        yield _with_models(
            _with_rules(replace(simpler, patterns=patterns, alone=alone), data), data
        )


# -- columns


def quote_name(name: str) -> str:
    """A column in a formula."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) and not _is_word(name) else f"`{name}`"


def _is_word(name: str) -> bool:
    """Whether a name means something else in a formula."""
    return name in keyword.kwlist or name in (
        "C",
        "log",
        "log1p",
        "sqrt",
        "exp",
        "bs",
        "cs",
        "poly",
        "spline",
    )


def _can_be_written(name: str) -> bool:
    """Whether a formula can name a column."""
    return bool(name.strip()) and not set(name) & set("`~\n\r")


def _why_left_out(column: ColumnSummary) -> str:
    if not _can_be_written(column.name):
        return "a formula cannot write its name (it holds `, ~ or a line break)"
    return column.obstacle


# -- models


def _with_models(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """The model of each target, as a registered chain chooses it by type; alone where one model
    does.
    """
    predictors = suggestion.predictors
    suggestion = replace(
        suggestion, lonely=patterns_of(data, [*suggestion.known, *suggestion.released])[1]
    )
    settings = {
        name: {"codes": list(codes)}
        for name in suggestion.targets
        if (codes := suggestion.codes_of(name))
    }
    name = chain_names()[0]
    made: Any = load_synthesizer(name)
    chain = made(suggestion.targets, predictors=predictors, settings=settings)
    models = {
        target: _model(chain, target, suggestion.codes_of(target), data)
        for target in suggestion.targets
    }
    target = suggestion.column(suggestion.targets[0])
    complete = tuple(
        predictor for predictor in predictors if suggestion.column(predictor).fills_formula
    )
    gaps = [predictor for predictor in predictors if predictor not in complete]
    needed = [name for name in gaps if name in suggestion.known and suggestion.column(name).missing]
    needed += [name for name in predictors if suggestion.column(name).many]
    if (
        len(suggestion.targets) > 1
        or not target.complete
        or target.enters_as_levels
        or suggestion.rules
        or suggestion.together is not None
        or needed
    ):
        of_chain = replace(suggestion, chain=name, models=models, formula="", mixture=None)
        return replace(of_chain, products=_products(of_chain, data) if of_chain.multiplies else ())
    terms = _predictors([suggestion.column(name) for name in complete], len(data))
    formula = f"{quote_name(target.name)} ~ {' + '.join(terms) or '1'}"
    mixture = suggest_mixture(target.amounts, _is_count(target))
    left_out = {
        **suggestion.left_out,
        **dict.fromkeys(
            gaps, "does not predict: it has gaps or codes, which no single model takes"
        ),
    }
    return replace(
        suggestion,
        predictors=complete,
        chain="",
        models=models,
        formula=formula,
        mixture=mixture,
        left_out=left_out,
    )


def _products(suggestion: Suggestion, data: pd.DataFrame) -> tuple[FoundProduct, ...]:
    """What is multiplied, chosen among the records that are asked and of which no rule settles
    it.
    """
    data = sample_records(data)
    implied = [
        pair for rule in suggestion.rules for setting, pair in rule.declared if setting == "implied"
    ]
    stated = [
        rule for name in suggestion.targets if (rule := suggestion.asked_of(name)) is not None
    ]
    return tuple(
        find_products(
            data,
            suggestion.targets,
            suggestion.predictors,
            [name for name in suggestion.predictors if suggestion.column(name).kind == LEVELS],
            {
                of.name: suggestion.codes_of(of.name) if of.name in suggestion.targets else of.codes
                for of in suggestion.columns
            },
            {rule.variable: Condition.parse(rule.when).holds(data) for rule in stated},
            next(iter(suggestion.units), None),
            Rules(suggestion.targets, implied=implied),
        )
    )


def _is_count(column: ColumnSummary) -> bool:
    """Whether whole numbers stand close together, from 0 on, as counts do."""
    whole = column.type == "whole number" and column.kind == NUMBER and not column.negative
    return whole and float(np.ptp(column.amounts)) < _APART * column.distinct


def _model(chain: Chain, name: str, codes: Sequence[float], data: pd.DataFrame) -> str:
    values = data[name].dropna()
    if codes:
        values = values[~values.isin(codes)]
    try:
        return _named(chain.value_model(name, values, f"`{name}` ~ 1"))
    except InputError:
        return ""


def _named(synthesizer: object) -> str:
    """Under which name a synthesizer is registered."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return next(
            (name for name in synthesizer_names() if load_synthesizer(name) is type(synthesizer)),
            type(synthesizer).__name__,
        )


def _predictors(columns: Sequence[ColumnSummary], records: int) -> Iterator[str]:
    """Columns on the right of a model's formula: numbers bend as long as the records can carry
    it.
    """
    left = most_columns(records) - sum(column.width for column in columns)
    for column in columns:
        bends = 0 < column.bends <= left
        left -= column.bends if bends else 0
        yield f"spline({quote_name(column.name)})" if bends else term_of(column)


def term_of(column: ColumnSummary) -> str:
    """A column on the right of an analysis."""
    if (
        column.enters_as_levels
        and column.type != "truth value"
        and column.name not in keyword.kwlist
    ):  # formulaic reads C(`class`) without its quotes
        return f"C({quote_name(column.name)})"
    if (
        column.kind == NUMBER
        and len(column.amounts)
        and column.amounts.min() > 0
        and skewness(column.amounts) > _SKEWED
    ):
        return f"log({quote_name(column.name)})"
    return quote_name(column.name)


def radius_of(column: ColumnSummary) -> tuple[float, str]:
    """A radius for a number, and whether it is relative or absolute: a fifth of the value, unless
    that spans most of the values.
    """
    low, middle, high = np.quantile(column.amounts, [0.25, 0.5, 0.75])
    if low == high:  # one value in the middle half: what lies outside says how far values lie apart
        low, high = np.quantile(column.amounts, [0.05, 0.95])
    if column.kind == NUMBER and 0.2 * abs(middle) > _WIDE * (high - low) > 0:
        return _round((high - low) / 4), "absolute"
    return 0.2, "relative"


def min_radius_of(column: ColumnSummary) -> float:
    """The least half-width of a number with values near zero: a twentieth of the power of ten of
    the median; 0 where there are none.
    """
    sizes = np.abs(column.amounts[column.amounts != 0]) if column.kind == NUMBER else np.empty(0)
    if not len(sizes):
        return 0.0
    middle = float(np.median(sizes))
    near = column.zero or column.negative or (sizes < middle / _SMALL).mean() >= _SOME
    return 10.0 ** math.floor(math.log10(middle)) / 20 if near else 0.0


def _round(value: float) -> float:
    """One digit."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{max(1, round(value / power)) * power:.1g}")
