"""What each column of a file is, found without being told: its kind, gaps, special codes, spikes
and rounding.

Shares and counts are aggregates; the special codes are values of the data and stand in no table.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.data.typed import as_categories
from riskweighted.data.variable import Variable
from riskweighted.design.precision import find_precision
from riskweighted.design.spline_basis import FEWEST_FOR_BENDS, columns_of
from riskweighted.evaluation.fit_statistics import comparisons
from riskweighted.intruder.disguise import disguise_of
from riskweighted.measures.fit_comparisons import EXACTLY, MULTIPLES
from riskweighted.sequence.many_levels import are_many, groups_of_code, indicators_of_many
from riskweighted.suggest.evidence import FEW, LEVELS, NUMBER, PLAYING, TIME, ColumnKind, Evidence
from riskweighted.suggest.kinds import kinds_of

__all__ = ["ColumnSummary", "as_stated", "hint_in", "look_at", "sensitive", "skewness"]

_MONEY = (
    "income|inc|wage|salar|earn|pay|turnover|revenue|sales|profit|expend|spend|wealth|asset|debt"
    "|loan|mortgage|rent|tax|benefit|pension|amount|cost|price|value"
)
_SENSITIVE = f"{_MONEY}|outcome|dis|health|diagn|illness|disease|smok|alc|drug|crime"
# before an amount; not in "learn"
_LOG = re.compile(rf"\b(?:log ?|ln ?|l |l(?!earn(?!ings)|incoln))(?=(?:{_MONEY}))")
# levels that need not be stated; that need not where the whole numbers may be counts
_TWO, _AS_READ = 2, 8
_EVEN = 3.0  # of the share that each value of a column has on average: less is no spike


@dataclass(frozen=True)
class ColumnSummary:
    """What was found of one column; shares are of the records.

    ``found``: its kind, and why. ``type``: "number", "whole number", "text", "truth value", "date"
    or "nothing"; ``infinite``: whether some numbers are. ``codes``: likely special codes, at an end
    of the column and apart from the rest (values of the data), ``of_codes`` their share.
    ``spikes``: values but 0 and codes that at least 2 % of the amounts share, and thrice what a
    value has on average. ``multiples``: by unit the share of the amounts but 0 that are multiples
    of it. ``amounts``: numbers without gaps and codes; ``coded``: text that reads as numbers and is
    codes; ``codes_stated``: whether the file, or what describes it, declares all codes, which are
    then public. ``effects``: of levels that are too many for a dummy each, how many have an effect
    of their own; ``groups``: of more levels than may be looked at one by one, how many there are by
    how their codes begin, 0 where they are no codes. Confidential.
    """

    found: ColumnKind
    type: str
    records: int
    missing: int
    distinct: int
    codes: tuple[float, ...] = field(default=(), repr=False)
    of_codes: float = 0.0
    zero: float = 0.0
    negative: float = 0.0
    spikes: int = 0
    largest_spike: float = 0.0
    multiples: dict[str, float] = field(default_factory=dict)
    precision: float | None = None
    amounts: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    coded: bool = False
    codes_stated: bool = False
    infinite: bool = False
    effects: int | None = None
    groups: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        return self.found.name

    @property
    def kind(self) -> str:
        """One of the nine kinds."""
        return self.found.kind

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers, and a study that states its kind has not made levels of
        them.
        """
        return self.type in ("number", "whole number") and not self.needs_stating

    @property
    def complete(self) -> bool:
        """Whether every record has an amount or level."""
        return not self.missing and not self.codes

    @property
    def fills_formula(self) -> bool:
        """Whether every record has a number or level that predicts: a code is a level among others,
        and no number.
        """
        return not self.missing and (not self.codes or self.enters_as_levels)

    @property
    def enters_as_levels(self) -> bool:
        """Whether it enters a formula as levels, as a time of few does."""
        return _as_levels(self.found, self.distinct)

    @property
    def held(self) -> float:
        """The share of the records that have an amount other than 0."""
        return len(self.amounts) / self.records - self.zero

    @property
    def few(self) -> bool:
        """Whether records share its values, so that it may be known and leave: levels, times, or
        whole numbers such as bands and small counts."""
        return self.kind == LEVELS or (
            self.distinct <= FEW and (self.enters_as_levels or self.type == "whole number")
        )

    @property
    def many(self) -> bool:
        """Whether it has too many levels for a dummy each, so that only a chain takes it."""
        return self.effects is not None

    @property
    def needs_stating(self) -> bool:
        """Whether only a study that states its kind has its whole numbers as levels: many, or few
        that are codes.
        """
        return self.type == "whole number" and _in_need(self.found, self.distinct)

    @property
    def is_coded(self) -> bool:
        """Whether its numbers are levels of more than two, which a chain takes for amounts wherever
        no study states their kind.
        """
        return self.type in ("number", "whole number") and self.kind == LEVELS and self.distinct > 2

    @property
    def width(self) -> int:
        """How many columns of a model matrix it becomes: dummies, effects of many levels, or a
        straight line.
        """
        if self.effects is not None:
            return self.effects
        return (
            1
            if self.is_number and not self.enters_as_levels
            else self.distinct - 1 + (self.missing > 0)
        )

    @property
    def bends(self) -> int:
        """How many more a number becomes by a spline, at most: bends, and an indicator of zeros."""
        bent = self.is_number and self.kind == NUMBER and self.distinct >= FEWEST_FOR_BENDS
        return columns_of(len(self.amounts)) - 1 + (self.zero > 0) if bent else 0

    @property
    def obstacle(self) -> str:
        """Why it can neither be synthesized nor predict; "" where it can."""
        if self.kind not in PLAYING:
            return f"{self.kind}: {self.found.reason}"
        if self.infinite:
            return "infinite values: take them out first"
        if (
            self.kind == TIME
            and not self.is_number
            and (self.type == "date" or self.distinct > FEW)
        ):
            return "dates or times: turn them into numbers, such as years"
        return ""

    @property
    def usable(self) -> bool:
        """Whether it can be synthesized or predict."""
        return not self.obstacle


def _as_levels(found: ColumnKind, distinct: int) -> bool:
    return found.kind == LEVELS or (found.kind == TIME and distinct <= FEW)


def _in_need(found: ColumnKind, distinct: int) -> bool:
    """Whether whole numbers would be amounts unless a study says that they are levels, and a code
    is a level among others.
    """
    if distinct > _AS_READ:
        return _as_levels(found, distinct)
    return distinct > _TWO and found.kind == LEVELS and not found.counts


def hint_in(pattern: str, name: str) -> int:
    """Where a name stands among the hints: smaller is likelier; beyond all of them without one."""
    words, hints = _words(name), pattern.split("|")
    return next(
        (rank for rank, hint in enumerate(hints) if re.search(rf"\b{hint}", words)), len(hints)
    )


def sensitive(name: str) -> float:
    """Where a name stands among the hints at what is sensitive, that of a logarithm behind that of
    its amount: smaller is likelier; infinite without a hint."""
    words = _words(name)
    amount = _LOG.sub("", words)
    rank = hint_in(_SENSITIVE, amount)
    return rank + (amount != words) / 2 if rank < len(_SENSITIVE.split("|")) else math.inf


def _words(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)).lower()


def as_stated(
    data: pd.DataFrame, columns: Sequence[ColumnSummary], targets: Collection[str] = ()
) -> pd.DataFrame:
    """The frame as a study reads it that states the kinds of these columns: whole numbers that are
    levels are categories, few ones too where they are no targets.
    """
    stated = [
        of.name for of in columns if of.needs_stating or (of.is_coded and of.name not in targets)
    ]
    return as_categories(data, [name for name in stated if name in data])


def look_at(
    data: pd.DataFrame,
    described: Mapping[str, Variable] | None = None,
    kinds: Sequence[ColumnKind] | None = None,
    only: Collection[str] | None = None,
) -> list[ColumnSummary]:
    """What each column of a frame is, in its order; `described`: what is said of the columns, whose
    codes for missing are codes here.

    `kinds`: those of all columns, where they are had already (`kinds_of`). `only`: the columns that
    are asked for.
    """
    said, found = described or {}, kinds_of(data, described) if kinds is None else kinds
    places = [place for place, of in enumerate(found) if only is None or of.name in only]
    columns = ((data.iloc[:, place], found[place]) for place in places)
    return [
        _with_levels(column, _look_at(column, of, said.get(of.name, Variable())))
        for column, of in columns
    ]


def _with_levels(column: pd.Series, of: ColumnSummary) -> ColumnSummary:
    """With what is found of many levels."""
    if of.kind != LEVELS or of.distinct <= FEW:
        return of
    counts = column.value_counts()
    levels = [f"{level:g}" if holds_numbers(column) else str(level) for level in counts.index]
    groups = groups_of_code(levels)
    many = are_many(of.distinct + (of.missing > 0), of.records)
    effects = len(indicators_of_many(levels, counts.to_numpy())[0]) if many else None
    return replace(of, effects=effects, groups=len(groups[0]) if groups else 0)


def _look_at(column: pd.Series, found: ColumnKind, stated: Variable) -> ColumnSummary:
    evidence = Evidence(column, stated)
    records, missing, counts = len(column), int(column.isna().sum()), evidence.counts
    kind = _type_of(evidence, found) if len(counts) else "nothing"
    if kind not in ("number", "whole number"):
        coded = (
            found.kind == LEVELS
            and kind == "text"
            and disguise_of(pd.Series(counts.index[:2000].astype(str))) == "numbers"
        )
        return ColumnSummary(found, kind, records, missing, len(counts), coded=coded)
    values = as_floats(column)
    if np.isinf(values).any():
        return ColumnSummary(found, kind, records, missing, len(counts), infinite=True)
    return _look_at_numbers(values[np.isfinite(values)], found, kind, missing, evidence)


def _type_of(evidence: Evidence, found: ColumnKind) -> str:
    column = evidence.column
    if evidence.is_number:
        values = as_floats(column)
        values = values[np.isfinite(values)]
        return "whole number" if (values == np.rint(values)).all() else "number"
    if evidence.is_truth:
        return "truth value"
    return (
        "date"
        if evidence.is_date or (found.kind == TIME and disguise_of(column) == "dates")
        else "text"
    )


def _look_at_numbers(
    values: np.ndarray, found: ColumnKind, kind: str, missing: int, evidence: Evidence
) -> ColumnSummary:
    counts, stated, records = evidence.counts, evidence.stated, len(evidence.column)
    codes = () if _in_need(found, len(counts)) else evidence.codes
    amounts = values[~np.isin(values, codes)] if codes else values
    spikes, multiples = (_shares(amounts, found, what) for what in (EXACTLY, MULTIPLES))
    spikes = {name: share for name, share in spikes.items() if share > _EVEN / len(counts)}
    return ColumnSummary(
        found,
        kind,
        records,
        missing,
        len(counts),
        codes,
        (len(values) - len(amounts)) / records,
        float((amounts == 0).sum() / records),
        float((amounts < 0).sum() / records),
        len(spikes),
        max(spikes.values(), default=0.0),
        multiples,
        find_precision(pd.Series(amounts)) if found.kind == NUMBER else None,
        amounts,
        codes_stated=bool(codes) and bool(np.all(stated.is_missing(pd.Series(codes, dtype=float)))),
    )


def _shares(amounts: np.ndarray, found: ColumnKind, what: str) -> dict[str, float]:
    """The shares of spikes, or of multiples of 10, 100 and 1000, as the check of a fit counts
    them, by value.
    """
    if found.kind != NUMBER or len(np.unique(amounts[:1000])) < 2:
        return {}
    return {
        parameter.removeprefix(what): share
        for comparison in comparisons(amounts, 1.0, (), {})
        if comparison.parameters[0].startswith(what)
        for parameter, share in zip(
            comparison.parameters, comparison.statistic(amounts).tolist(), strict=True
        )
    }


def skewness(values: np.ndarray) -> float:
    """Third standardised moment; 0 of constants."""
    apart = values - values.mean() if len(values) else values
    spread = float(np.sqrt((apart**2).mean())) if len(values) else 0.0
    return float(((apart / spread) ** 3).mean()) if spread > 0 else 0.0
