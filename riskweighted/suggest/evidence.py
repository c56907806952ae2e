"""What a column shows, before anybody says what it is (its values, how many differ, how they lie,
which are codes that stand for no amount), and the nine kinds that it may be of.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers, kind_of_values
from riskweighted.data.variable import Variable

__all__ = [
    "CONSTANT",
    "DESIGN",
    "FEW",
    "KINDS",
    "LEVELS",
    "NUMBER",
    "PLAYING",
    "RECORD_ID",
    "TEXT",
    "TIME",
    "UNIT_ID",
    "WEIGHT",
    "ColumnKind",
    "Evidence",
    "find_codes",
]

RECORD_ID, UNIT_ID, LEVELS, NUMBER, TIME = "record id", "unit id", "levels", "number", "time"
WEIGHT, DESIGN, TEXT, CONSTANT = "weight", "design", "text", "constant"
KINDS = (RECORD_ID, UNIT_ID, LEVELS, NUMBER, TIME, WEIGHT, DESIGN, TEXT, CONSTANT)
PLAYING = (LEVELS, NUMBER, TIME)  # the kinds that are synthesized, known or predict
FEW = 20  # levels of a time that is known, or predicts as levels


@dataclass(frozen=True)
class ColumnKind:
    """What a column is: one of the nine kinds, and why; no value of the data.

    ``question``: where the evidence is split, what to ask, with both answers, the first of which is
    in force. ``within``: the unit ids within whose values it does not vary. ``stated``: whether
    somebody says the kind. ``counts``: whether its levels are few whole numbers of which nothing
    tells that they are codes, such as numbers of children.
    """

    name: str
    kind: str
    reason: str
    question: str = ""
    within: tuple[str, ...] = ()
    stated: bool = False
    counts: bool = False

    def asking(self, question: str, other: str) -> "ColumnKind":
        """The same with a question whose other answer is the kind `other`."""
        return replace(
            self,
            question=f"{question} In force: {self.kind}. "
            f'For the other: "{self.name}" = "{other}" in [data.kinds]',
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """A column of a frame, with what is said of it. ``values``: those of the records that have one,
    in file order; of a column of numbers without codes that are declared to mean missing, or seem
    to be such codes."""

    column: pd.Series
    stated: Variable

    @cached_property
    def name(self) -> str:
        """Its name."""
        return str(self.column.name)

    @cached_property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return holds_numbers(self.column)

    @cached_property
    def is_date(self) -> bool:
        """Whether its type is one of dates or times."""
        return any(word in kind_of_values(self.column) for word in ("date", "time", "period"))

    @cached_property
    def is_truth(self) -> bool:
        """Whether it holds truth values."""
        return "bool" in kind_of_values(self.column)

    @cached_property
    def counts(self) -> pd.Series:
        """How many records have each value, codes among them."""
        counts = self.column.value_counts()
        return counts[counts > 0]

    @cached_property
    def codes(self) -> tuple[float, ...]:
        """Codes of a column of numbers: declared to mean missing, or apart at an end."""
        return find_codes(self.counts, len(self.column), self.stated) if self.is_number else ()

    @cached_property
    def values(self) -> np.ndarray:
        """The values there are, (n,): floats, or texts."""
        if not self.is_number:
            return np.asarray(self.column.dropna().astype(str))
        numbers = as_floats(self.column)
        return np.asarray(numbers[np.isfinite(numbers) & ~np.isin(numbers, self.codes)])

    @property
    def n(self) -> int:
        """How many records have a value."""
        return len(self.values)

    @cached_property
    def _tallied(self) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(self.values, return_counts=True)

    @property
    def different(self) -> np.ndarray:
        """The different values in their order, (D,)."""
        return self._tallied[0]

    @property
    def tallies(self) -> np.ndarray:
        """How many records have each of them, (D,)."""
        return self._tallied[1]

    @cached_property
    def distinct(self) -> int:
        """D, how many values differ."""
        return len(self.different)

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers, however they are stored."""
        return self.is_number and bool(
            np.isfinite(as_floats(self.column.dropna())).all()
            and (self.values == np.rint(self.values)).all()
        )

    @property
    def range(self) -> float:
        """The largest less the smallest number."""
        return float(self.different[-1] - self.different[0])

    @property
    def no_gaps(self) -> bool:
        """Whether few whole numbers between the smallest and the largest are left out."""
        return self.range < 1.5 * self.distinct

    @cached_property
    def unevenness(self) -> float:
        """The largest distance between the sorted different values and a straight line, as a share
        of their range.
        """
        scaled = (self.different - self.different[0]) / self.range
        return float(np.abs(scaled - np.linspace(0, 1, self.distinct)).max())

    @cached_property
    def is_sorted(self) -> bool:
        """Whether its numbers never fall in the order of the file."""
        return bool((np.diff(self.values) >= 0).all())

    def within(self, least: float, most: float) -> bool:
        """Whether all its numbers lie between two others."""
        return bool(least <= self.different[0] and self.different[-1] <= most)

    @property
    def fills_half(self) -> bool:
        """Whether half of the whole numbers from the smallest to the largest occur."""
        return self.distinct >= (self.range + 1) / 2

    @cached_property
    def complete(self) -> bool:
        """Whether every record has a value."""
        return not self.column.isna().any()

    @cached_property
    def groups(self) -> np.ndarray:
        """Which of its values each record has, (records,): -1 where there is none."""
        return np.asarray(pd.factorize(self.column)[0])


_LEAST_OF_CODE, _SHARE_OF_CODE = 10, 0.001  # records
_GAP = 0.1  # of a code at the upper end: how far the other values stay below it
_CODE = re.compile(r"-[1-9]|-?(66+|77+|88+|9+[5-9])")


def find_codes(counts: pd.Series, records: int, stated: Variable) -> tuple[float, ...]:
    """The codes of a column of numbers: those below the other values from above, then those above
    them.

    `counts`: how many of the `records` have each value. Found are whole numbers at an end that look
    like codes, that many records hold, and that stand apart from the other values; those that are
    declared to mean missing are added wherever they stand.
    """
    values, held = counts.index.to_numpy(dtype=float), counts.to_numpy()
    declared = stated.is_missing(pd.Series(values, dtype=float))
    found = _found(values, held >= max(_LEAST_OF_CODE, _SHARE_OF_CODE * records))
    if not declared.any():
        return found
    codes, rest = {*found, *values[declared].tolist()}, values[~declared & ~np.isin(values, found)]
    below = {code for code in codes if len(rest) and code < rest.min()}
    return (*sorted(below, reverse=True), *sorted(codes - below))


def _found(values: np.ndarray, held: np.ndarray) -> tuple[float, ...]:
    """Of the different values, those that look like codes at an end, among those that many records
    hold.
    """
    likely = np.zeros(len(values), dtype=bool)
    likely[held] = [_reads_as_code(value) for value in values[held].tolist()]
    if not likely.any() or likely.all():
        return ()
    least, most = values[~likely].min(), values[~likely].max()
    codes: list[float] = values[likely].tolist()
    below = sorted((code for code in codes if code < 0), reverse=True) if least >= 0 else []
    above = sorted(code for code in codes if code > max(most, 0))
    if above and above[0] - most <= _GAP * above[0]:
        above = []
    return tuple(below + above)


def _reads_as_code(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e9 and _CODE.fullmatch(f"{value:.0f}") is not None
