"""What each column of a file is, found without being told: its type, gaps, special codes, spikes, rounding, what it may serve for.

Shares and counts are aggregates; the special codes are values of the data and stand in no table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers, kind_of_values
from riskweighted.common.groups import most_categories
from riskweighted.data.variable import CATEGORIES, Variable
from riskweighted.design.bends import FEWEST_FOR_BENDS, columns_of
from riskweighted.design.precision import find_precision
from riskweighted.evaluation.fit_statistics import comparisons
from riskweighted.intruder.disguise import disguise_of
from riskweighted.measures.checks import MULTIPLE, SPIKE

__all__ = [
    "AMOUNT",
    "CONSTANT",
    "DATE",
    "EMPTY",
    "FREE_TEXT",
    "IDENTIFIER",
    "INFINITE",
    "LEVELS",
    "NUMBERS_AS_TEXT",
    "SENSITIVE",
    "YEAR",
    "Column",
    "codes_as_text",
    "hint_in",
    "look_at",
    "skewness",
]

AMOUNT, LEVELS, YEAR = "amount", "levels", "year"  # what a column may serve for
INFINITE, IDENTIFIER, CONSTANT, EMPTY, DATE = "infinite values", "identifier", "constant", "empty", "date"
FREE_TEXT, NUMBERS_AS_TEXT = "free text", "numbers as text"

SENSITIVE = (
    "income|inc|wage|salar|earn|turnover|revenue|sales|profit|expend|spend|wealth|asset|debt|loan|mortgage|rent|tax|benefit|pension|"
    "amount|cost|price|value|outcome|dis|health|diagn|illness|disease|smok|alc|drug|crime"
)
_MOST_LEVELS = 20  # different whole numbers that are taken for levels
_MOST_CODES = 8  # whole numbers that enter a formula as levels
_MOST_TEXT_CODES = 30  # different texts of numbers that are taken for levels, however they look
_NEAR_UNIQUE, _UNIQUE = 0.95, 0.999  # of the values there are; numbers not called like a key must have the latter
_LEAST_TICKED, _MOST_TICKED = 0.02, 0.95  # of the records that have the one value of a tick box
_EVENLY = 0.3  # of their range that the sorted values of an identifier lie off a straight line at most
_LONG, _AT_RANDOM = 1e6, 2.0  # the least number of seven digits; off a straight line, of the root of their number, as random ones lie
_FEWEST = 20  # records, below which nothing is called near-unique
_LEAST_OF_CODE, _SHARE_OF_CODE = 10, 0.001  # records
_GAP = 0.1  # of a code at the upper end: how far the other values stay below it
_CODE = re.compile(r"-[1-9]|-?(66+|77+|88+|9+[5-9])")
_EVEN = 3.0  # of the share that each value of a column has on average: less is no spike
_KEY = re.compile(r"(^|[^a-z])(id|ids|nr|no|num|number|key|index|serial|row|unnamed)([^a-z]|$)|id$", re.IGNORECASE)
_YEARS = (1800, 2100)


@dataclass(frozen=True)
class Column:
    """What was found of one column; shares are of the records.

    ``type``: "number", "whole number", "text", "truth value", "date" or "nothing". ``use``: "amount", "levels" or "year", or why it is of
    no use. ``codes``: likely special codes, at an end of the column and apart from the rest (values of the data), ``of_codes`` their share.
    ``spikes``: values but 0 and codes that at least 2 % of the amounts share, and thrice what a value has on average. ``multiples``: by
    unit the share of the amounts but 0 that are multiples of it. ``amounts``: numbers without gaps and codes; ``coded``: text that reads as
    numbers and is codes; ``codes_stated``: whether the file, or what describes it, declares all codes, which are then public. Confidential.
    """

    name: str
    type: str
    use: str
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

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.type in ("number", "whole number")

    @property
    def complete(self) -> bool:
        """Whether every record has an amount or level."""
        return not self.missing and not self.codes

    @property
    def fills_formula(self) -> bool:
        """Whether every record has a number or level that predicts: a code is a level among others, and no number."""
        return not self.missing and (not self.codes or self.enters_as_levels)

    @property
    def enters_as_levels(self) -> bool:
        """Whether it enters a formula as levels; many whole numbers enter as a number."""
        return self.use == LEVELS and not (self.is_number and self.distinct > _MOST_CODES)

    @property
    def width(self) -> int:
        """How many columns of a model matrix it becomes: dummies, or a straight line."""
        return 1 if self.is_number and not self.enters_as_levels else self.distinct - 1 + (self.missing > 0)

    @property
    def bends(self) -> int:
        """How many more a number becomes by a spline, at most: bends, and an indicator of zeros."""
        bent = self.is_number and not self.enters_as_levels and self.distinct >= FEWEST_FOR_BENDS
        return columns_of(len(self.amounts)) - 1 + (self.zero > 0) if bent else 0

    @property
    def usable(self) -> bool:
        """Whether it can be synthesized or predict."""
        return self.use in (AMOUNT, LEVELS, YEAR)


def hint_in(pattern: str, name: str) -> int:
    """Where a name stands among the hints: smaller is likelier; beyond all of them without one."""
    words, hints = " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)).lower(), pattern.split("|")
    return next((rank for rank, hint in enumerate(hints) if re.search(rf"\b{hint}", words)), len(hints))


def look_at(data: pd.DataFrame, described: Mapping[str, Variable] | None = None, asked: Sequence[str] = ()) -> list[Column]:
    """What each column of a frame is, in its order; `described`: what is said of the columns, whose codes for missing are codes here.

    `asked`: columns of which somebody says that they are to be synthesized: numbers are amounts there, unless they count the records.
    """
    stated = described or {}
    return [_look_at(data.iloc[:, place], stated.get(str(name), Variable()), str(name) in asked) for place, name in enumerate(data.columns)]


def _look_at(column: pd.Series, stated: Variable, asked: bool) -> Column:
    name, records, missing = str(column.name), len(column), int(column.isna().sum())
    counts = column.value_counts()
    counts = counts[counts > 0]
    distinct = len(counts)
    kind = _type_of(column)
    if distinct == 0:
        return Column(name, "nothing", EMPTY, records, missing, 0)
    if distinct == 1:
        ticked = _LEAST_TICKED <= (records - missing) / records <= _MOST_TICKED and counts.index[0] not in (0, "0")
        use = LEVELS if ticked and kind != "date" else CONSTANT
        values = as_floats(column.dropna()) if holds_numbers(column) else np.empty(0)
        return Column(name, kind, use, records, missing, 1, amounts=values)
    if kind == "date":
        return Column(name, kind, DATE, records, missing, distinct)
    if kind in ("text", "truth value"):
        use = LEVELS if kind == "truth value" else _use_of_text(column, distinct, stated)
        coded = use == LEVELS and kind == "text" and disguise_of(_sample(column)) == "numbers"
        return Column(name, kind, use, records, missing, distinct, coded=coded)
    return _look_at_numbers(column, name, kind, missing, counts, stated, asked)


def _type_of(column: pd.Series) -> str:
    if holds_numbers(column):
        values = as_floats(column)
        values = values[np.isfinite(values)]
        return "whole number" if (values == np.rint(values)).all() else "number"
    kind = kind_of_values(column)
    if "bool" in kind:
        return "truth value"
    dates = any(word in kind for word in ("date", "time", "period"))
    return "date" if dates or disguise_of(_sample(column)) == "dates" else "text"


def _sample(column: pd.Series) -> pd.Series:
    """Some of the different values: enough to tell what they look like."""
    return pd.Series(column.dropna().unique()[:2000])


def _use_of_text(column: pd.Series, distinct: int, stated: Variable) -> str:
    there, few = int(column.notna().sum()), distinct <= most_categories(len(column))
    near_unique, codes = distinct >= _NEAR_UNIQUE * there, codes_as_text(column)
    if disguise_of(_sample(column)) == "numbers" and not (few and (codes or stated.type in CATEGORIES)):
        return IDENTIFIER if near_unique and (codes or _KEY.search(str(column.name))) else NUMBERS_AS_TEXT
    return IDENTIFIER if there >= _FEWEST and near_unique else LEVELS if few else FREE_TEXT


def codes_as_text(column: pd.Series) -> bool:
    """Whether texts that read as numbers are codes: few different ones, some with a leading zero, or digits alone, as many in each."""
    texts = [str(text) for text in column.dropna().unique()]
    of_one_length = len({len(text) for text in texts}) == 1 and all(map(str.isdecimal, texts))
    return len(texts) <= _MOST_TEXT_CODES or of_one_length or any(re.match(r"0\d", text) for text in texts)


def _look_at_numbers(column: pd.Series, name: str, kind: str, missing: int, counts: pd.Series, stated: Variable, asked: bool) -> Column:
    values = as_floats(column)
    if np.isinf(values).any():
        return Column(name, kind, INFINITE, len(column), missing, len(counts))
    values = values[np.isfinite(values)]
    records, distinct = len(column), len(counts)
    codes = _with_declared(_codes(counts, records), counts, stated)
    amounts = values[~np.isin(values, codes)] if codes else values
    use = _use_of_numbers(column, amounts, kind, asked)
    shares = {check.check: dict(zip(check.parameters, check.statistic(amounts).tolist(), strict=True)) for check in _compared(amounts, use)}
    spikes = {name: share for name, share in shares.get(SPIKE.key, {}).items() if share > _EVEN / distinct}
    return Column(
        name,
        kind,
        use,
        records,
        missing,
        distinct,
        codes,
        (len(values) - len(amounts)) / records,
        float((amounts == 0).sum() / records),
        float((amounts < 0).sum() / records),
        len(spikes),
        max(spikes.values(), default=0.0),
        shares.get(MULTIPLE.key, {}),
        find_precision(pd.Series(amounts)) if use == AMOUNT else None,
        amounts,
        codes_stated=bool(codes) and bool(np.all(stated.is_missing(pd.Series(codes, dtype=float)))),
    )


def _compared(amounts: np.ndarray, use: str) -> list[Any]:
    """Spikes and multiples of 10, 100 and 1000, as the check of a fit counts them."""
    if use != AMOUNT or len(np.unique(amounts[:1000])) < 2:
        return []
    return [comparison for comparison in comparisons(amounts, 1.0, (), {}) if comparison.check in (SPIKE.key, MULTIPLE.key)]


def _use_of_numbers(column: pd.Series, amounts: np.ndarray, kind: str, asked: bool) -> str:
    different = np.unique(amounts)
    if len(different) < 2:
        return LEVELS  # one amount beside codes
    if kind == "whole number":
        serial = len(different) == len(amounts) == different[-1] - different[0] + 1
        if len(amounts) >= _FEWEST and (serial or (not asked and _is_key(column, amounts, different))):
            return IDENTIFIER
        if len(different) <= min(_MOST_LEVELS, most_categories(len(amounts))):
            return LEVELS
        if _YEARS[0] <= different[0] and different[-1] <= _YEARS[1]:
            return YEAR
    return AMOUNT


def _is_key(column: pd.Series, amounts: np.ndarray, different: np.ndarray) -> bool:
    """Whether whole numbers, hardly any of which stands twice, are called like a key, numbered with few gaps, rise steadily in the file, or
    have as many digits each, seven or more, and are spread as evenly as random ones.

    Amounts that somebody sorted rise, too, and not steadily.
    """
    if _KEY.search(str(column.name)):
        return len(different) >= _NEAR_UNIQUE * len(amounts)
    money = hint_in(SENSITIVE, str(column.name)) < len(SENSITIVE.split("|"))
    if money or different[0] < 0 or len(different) < _UNIQUE * len(amounts):
        return False
    scaled = (different - different[0]) / (different[-1] - different[0])
    off = float(np.abs(scaled - np.linspace(0, 1, len(different))).max())
    of_one_length = different[0] >= _LONG and np.floor(np.log10(different[0])) == np.floor(np.log10(different[-1]))
    steady = off < _EVENLY and column.dropna().is_monotonic_increasing
    return bool(
        different[-1] - different[0] < 1.5 * len(different) or steady or (of_one_length and off < _AT_RANDOM / len(different) ** 0.5)
    )


def _codes(counts: pd.Series, records: int) -> tuple[float, ...]:
    """Whole numbers at an end that look like codes, that many records hold, and that stand apart from the other values."""
    held = {float(cast(float, value)): int(count) for value, count in counts.items()}
    least = max(_LEAST_OF_CODE, _SHARE_OF_CODE * records)
    likely = [value for value, count in held.items() if _reads_as_code(value) and count >= least]
    rest = sorted(value for value in held if value not in likely)
    if not rest:
        return ()
    below = sorted((value for value in likely if value < 0), reverse=True) if rest[0] >= 0 else []
    above = sorted(value for value in likely if value > max(rest[-1], 0))
    if above and above[0] - rest[-1] <= _GAP * above[0]:
        above = []
    return tuple(below + above)


def _with_declared(found: tuple[float, ...], counts: pd.Series, stated: Variable) -> tuple[float, ...]:
    """Codes that were found and those that are declared to mean missing and occur: below the other values from above, then those above."""
    held = pd.Series(counts.index.to_numpy(dtype=float))
    declared = held[stated.is_missing(held)].tolist()
    if not declared:
        return found
    codes = {*found, *declared}
    rest = held[~held.isin(codes)]
    below = {code for code in codes if len(rest) and code < rest.min()}
    return (*sorted(below, reverse=True), *sorted(codes - below))


def _reads_as_code(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e9 and _CODE.fullmatch(f"{value:.0f}") is not None


def skewness(values: np.ndarray) -> float:
    """Third standardised moment; 0 of constants."""
    apart = values - values.mean() if len(values) else values
    spread = float(np.sqrt((apart**2).mean())) if len(values) else 0.0
    return float(((apart / spread) ** 3).mean()) if spread > 0 else 0.0
