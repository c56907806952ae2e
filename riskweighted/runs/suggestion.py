"""A first study of a file: what to synthesize, what an intruder may know, which model, and why. To be edited, not to be believed."""

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
from riskweighted.contract.synthesizer import chain_names, load_synthesizer, synthesizer_names
from riskweighted.derivation.find import MOST_COLUMNS, find_structure
from riskweighted.derivation.rules import Finding
from riskweighted.derivation.states import quoted as written
from riskweighted.runs.bounds import FoundBounds, default_bounds
from riskweighted.runs.columns import AMOUNT, LEVELS, Column, skewness
from riskweighted.runs.mixtures import Mixture, suggest_mixture
from riskweighted.runs.roles import giving_away, known_of, likely_target, most_columns, patterns_of, predictors_of
from riskweighted.runs.surveyed import Surveyed, surveyed
from riskweighted.sequence.declared import Chain
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["Suggestion", "suggest", "with_fewer"]

_SAMPLE = 20_000  # records on which columns are compared
_APART = 5  # of counts: from one value to the next, on average
_SKEWED = 2.0  # skewness from which a predictor enters by its logarithm
_WIDE = 0.5  # of the interquartile range: a fifth of the median beyond it is nearly everything


@dataclass(frozen=True)
class Suggestion:
    """What a study of a file may start from.

    ``chosen``: whether the targets were chosen here rather than named. ``patterns``, ``alone``: known patterns, and records alone in
    theirs. ``chain``: the registered chain, of several variables or of one with gaps, codes or many levels; "" for a single model, whose
    ``formula`` and, for comparison, ``mixture`` stand here. ``models``: by target the registered synthesizer of its amounts or levels.
    ``left_out``: by column why it takes no part; ``told_by``: by column that does not predict the one that it follows from, or "other
    predictors". ``survey``: columns that tell of the design. ``rules``: what holds in the data between the variables and what predicts
    them or leaves; ``nearly``: what a few break.
    """

    columns: tuple[Column, ...] = field(repr=False)
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
    survey: Surveyed = field(default_factory=Surveyed)
    rules: tuple[Finding, ...] = field(default=(), repr=False)
    nearly: tuple[Finding, ...] = field(default=(), repr=False)

    def column(self, name: str) -> Column:
        """What was found of a column."""
        return next(column for column in self.columns if column.name == name)

    def codes_of(self, target: str) -> tuple[float, ...]:
        """Its special codes, and 0 where a rule asks for it, so that it has a share of its own."""
        column, texts = self.column(target), " ".join(text for rule in self.rules for _, texts in rule.declared for text in texts)
        name = re.escape(written(target))
        asked = column.use == AMOUNT and re.search(rf"{name} (== 0(?![\w.])|in \[(0|[^\]]*, 0)[,\]])", texts)
        return (*column.codes, 0.0) if asked and 0 < column.zero < 1 else column.codes

    def takes(self, target: str, setting: str) -> bool:
        """Whether the model of a target has a setting."""
        kind: Any = load_synthesizer(self.models[target]) if self.models[target] else None
        return kind is not None and setting in {setting_field.name for setting_field in fields(kind)}

    def found_bounds(self, target: str) -> FoundBounds | None:
        """Bounds for the draws of a target whose model takes them, as long as nobody has given public ones."""
        return default_bounds(self.column(target).amounts) if self.takes(target, "support") else None

    @property
    def beyond(self) -> dict[str, int]:
        """How many records lie beyond the bounds that were found, by target."""
        return {name: bounds.beyond for name in self.targets if (bounds := self.found_bounds(name)) is not None}

    @property
    def recodes(self) -> bool:
        """Whether the chain says how predictors become numeric columns."""
        kind: Any = load_synthesizer(self.chain)
        return "recoding" in {setting.name for setting in fields(kind)}

    @property
    def crowd(self) -> str:
        """Known patterns and who is alone, in words."""
        return f"{self.patterns:,} pattern{'s'[: self.patterns != 1]}, {self.alone:,} record{'s'[: self.alone != 1]} alone"

    @property
    def schemes(self) -> tuple[str, ...]:
        """Weighting schemes: a centred one with a floor, beside none."""
        return (UNWEIGHTED, "mix+(t=0.5)")

    @property
    def regressions(self) -> tuple[str, ...]:
        """A regression of the first target that has numbers, on what is released unaltered."""
        numbers = [name for name in self.targets if self.column(name).is_number and self.column(name).distinct > 1]
        right = [_term(self.column(name)) for name in (*self.known[:2], *self.released[:1])]
        if not numbers or not right:
            return ()
        column = self.column(numbers[0])
        skewed = column.use == AMOUNT and len(column.amounts) and column.amounts.min() > 0 and skewness(column.amounts) > 1
        left = f"log({quoted(column.name)})" if skewed else quoted(column.name)
        return (f"{left} ~ {' + '.join(right)}",)

    @property
    def released(self) -> tuple[str, ...]:
        """What predicts without being known, and so leaves unaltered: an analysis of the release can have it."""
        return tuple(name for name in self.predictors if name not in self.known)


def suggest(data: pd.DataFrame, columns: Sequence[Column], targets: Sequence[str] = ()) -> Suggestion:
    """A first study of a file by what `look_at` found of its columns; `targets`: what is to be synthesized, else the likeliest sensitive
    column.

    Refuses a file of which no column can be synthesized, and a target that cannot be.
    """
    by_name = {column.name: column for column in columns}
    left_out = {column.name: _why_left_out(column) for column in columns if not column.usable or not _can_be_written(column.name)}
    usable = [column for column in columns if column.name not in left_out]
    chosen = tuple(targets) or likely_target(usable, left_out)
    unknown = [name for name in chosen if name not in by_name]
    if unknown:
        raise InputError(f"the file has no column {listing(unknown)}; it has {listing(by_name)}")
    useless = [name for name in chosen if name in left_out]
    if useless:
        raise InputError(f"{useless[0]!r} cannot be synthesized: {left_out[useless[0]]}")
    some = data.sample(_SAMPLE, random_state=0) if len(data) > _SAMPLE else data
    design = surveyed(data.drop(columns=list(chosen)))
    others = [column for column in usable if column.name not in (*chosen, design.psu, *design.replicates)]
    copies = giving_away(some, others, [by_name[name] for name in chosen])
    others = [column for column in others if column.name not in copies]
    known = known_of(data, others)
    predictors, told_by = predictors_of(some, others, chosen, known, _recodes(some, others))
    left_out |= copies
    patterns, alone = patterns_of(data, known)
    first = Suggestion(
        tuple(columns), chosen, not targets, known, predictors, patterns, alone, "", {}, left_out=left_out, told_by=told_by, survey=design
    )
    return _with_models(_with_rules(first, data), data)


def _recodes(data: pd.DataFrame, columns: Sequence[Column]) -> set[tuple[str, str]]:
    """Pairs of a column and one that follows from it."""
    names, codes = [column.name for column in columns][:MOST_COLUMNS], {column.name: column.codes for column in columns}
    return {(of, name) for name, of in find_structure(data, names, codes=codes).recodes.items()}


def _with_rules(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """With the rules that hold between the variables, and between them and what predicts them or leaves unaltered."""
    names = [*dict.fromkeys([*suggestion.predictors, *suggestion.known]), *suggestion.targets]
    codes = {name: codes for name in names if (codes := suggestion.column(name).codes)}
    found = find_structure(data, names[-MOST_COLUMNS:], codes=codes)
    nearly = (rule for rule in found.findings if rule.exceptions and {*rule.columns} & {*suggestion.targets})
    return replace(suggestion, rules=found.kept(suggestion.targets), nearly=tuple(nearly))


def with_fewer(suggestion: Suggestion, data: pd.DataFrame) -> Iterable[Suggestion]:
    """Simpler and simpler studies, for data that does not suit the first one."""
    yield suggestion
    if suggestion.rules:
        yield _with_models(replace(suggestion, rules=(), nearly=()), data)
    for predictors, known in ((suggestion.known, suggestion.known), ((), suggestion.known), ((), ())):
        simpler = replace(suggestion, predictors=predictors, known=known)
        patterns, alone = patterns_of(data, known)
        yield _with_models(_with_rules(replace(simpler, patterns=patterns, alone=alone), data), data)


# -- columns


def quoted(name: str) -> str:
    """A column in a formula."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) and not _is_word(name) else f"`{name}`"


def _is_word(name: str) -> bool:
    """Whether a name means something else in a formula."""
    return name in keyword.kwlist or name in ("C", "log", "log1p", "sqrt", "exp", "bs", "cs", "poly", "spline")


def _can_be_written(name: str) -> bool:
    """Whether a formula can name a column."""
    return bool(name.strip()) and not set(name) & set("`~\n\r")


def _why_left_out(column: Column) -> str:
    if not _can_be_written(column.name):
        return "a formula cannot write its name (it holds `, ~ or a line break)"
    return {
        "infinite values": "infinite values: take them out first",
        "identifier": "identifier: nearly every record has a value of its own",
        "constant": "constant: tells nothing",
        "empty": "empty: missing in every record",
        "date": "dates or times: turn them into numbers, such as years",
        "free text": "free text: too many different values for categories",
        "numbers as text": "numbers as text: give amounts as numbers; of codes say in a file of variables that they are a category",
    }.get(column.use, "")


# -- models


def _with_models(suggestion: Suggestion, data: pd.DataFrame) -> Suggestion:
    """The model of each target, as a registered chain chooses it by type; alone where one model does."""
    predictors = suggestion.predictors
    settings = {name: {"codes": list(codes)} for name in suggestion.targets if (codes := suggestion.codes_of(name))}
    name = chain_names()[0]
    made: Any = load_synthesizer(name)
    chain = made(suggestion.targets, predictors=predictors, settings=settings)
    models = {target: _model(chain, target, suggestion.codes_of(target), data) for target in suggestion.targets}
    target = suggestion.column(suggestion.targets[0])
    complete = tuple(predictor for predictor in predictors if suggestion.column(predictor).fills_formula)
    gaps = [predictor for predictor in predictors if predictor not in complete]
    needed = [name for name in gaps if name in suggestion.known and suggestion.column(name).missing]
    if len(suggestion.targets) > 1 or not target.complete or target.use == LEVELS or suggestion.rules or needed:
        return replace(suggestion, chain=name, models=models, formula="", mixture=None)
    formula = f"{quoted(target.name)} ~ {' + '.join(_predictors([suggestion.column(name) for name in complete], len(data))) or '1'}"
    mixture = suggest_mixture(target.amounts, _is_count(target))
    left_out = {**suggestion.left_out, **dict.fromkeys(gaps, "does not predict: it has gaps or codes, which no single model takes")}
    return replace(suggestion, predictors=complete, chain="", models=models, formula=formula, mixture=mixture, left_out=left_out)


def _is_count(column: Column) -> bool:
    """Whether whole numbers stand close together, from 0 on, as counts do."""
    whole = column.type == "whole number" and column.use == AMOUNT and not column.negative
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
        return next((name for name in synthesizer_names() if load_synthesizer(name) is type(synthesizer)), type(synthesizer).__name__)


def _predictors(columns: Sequence[Column], records: int) -> Iterator[str]:
    """Columns on the right of a model's formula: numbers bend as long as the records can carry it."""
    left = most_columns(records) - sum(column.width for column in columns)
    for column in columns:
        bends = 0 < column.bends <= left
        left -= column.bends if bends else 0
        yield f"spline({quoted(column.name)})" if bends else _term(column)


def _term(column: Column) -> str:
    """A column on the right of an analysis."""
    if (
        column.enters_as_levels and column.type != "truth value" and column.name not in keyword.kwlist
    ):  # formulaic reads C(`class`) without its quotes
        return f"C({quoted(column.name)})"
    if column.use == AMOUNT and len(column.amounts) and column.amounts.min() > 0 and skewness(column.amounts) > _SKEWED:
        return f"log({quoted(column.name)})"
    return quoted(column.name)


def radius_of(column: Column) -> tuple[float, str]:
    """A radius for a number, and whether it is relative or absolute: a fifth of the value, unless that spans most of the values."""
    low, middle, high = np.quantile(column.amounts, [0.25, 0.5, 0.75])
    if column.use != LEVELS and 0.2 * abs(middle) > _WIDE * (high - low) > 0:
        return _round((high - low) / 4), "absolute"
    return 0.2, "relative"


def min_radius_of(columns: Iterable[Column]) -> float:
    """The least half-width for values near zero: a twentieth of the power of ten of the median; 0 where all values are far from zero."""
    near = [column for column in columns if column.use == AMOUNT and (column.zero or column.negative)]
    medians = [float(np.median(np.abs(column.amounts[column.amounts != 0]))) for column in near if column.amounts.any()]
    return 10.0 ** math.floor(math.log10(min(medians))) / 20 if medians else 0.0


def _round(value: float) -> float:
    """One digit."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{max(1, round(value / power)) * power:.1g}")
