"""What whole numbers are: identifiers of records or of units, codes of a classification, or
numbers.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from riskweighted.suggest.column_names import (
    CLASSIFICATION,
    DURATION,
    KEY,
    QUANTITY,
    UNIT,
    words_of,
)
from riskweighted.suggest.evidence import LEVELS, NUMBER, RECORD_ID, UNIT_ID, ColumnKind, Evidence
from riskweighted.suggest.unit_columns import held_within, one_record_a_period, stand_together

__all__ = ["Others", "kind_of_whole"]

_FEWEST = 20  # records, below which no value is called near-unique, and different units
_UNIQUE, _TEN_DIGITS = 0.999, 1e9
_EVENLY, _STEADILY, _ASKED_BELOW = 0.12, 0.3, 300
_REPEATED, _UNIT, _ASK = 1.02, 2.0, 1.5
_FEW_LEVELS, _MOST_KEYS, _MOST_CODES, _LARGEST_CODE = 8, 60, 400, 10_000
_MOST_DIGITS, _SHARE = 7, 5  # of a code; records that share one, on average
_JUMPS, _ON_FIVES, _EACH = 0.8, 0.4, 15
_CROWDED = 4  # of the mean count


class Others:
    """The other columns of the file that tell what a column is: texts, times, and all of which some
    do not vary within units.
    """

    def __init__(
        self,
        columns: Sequence[Evidence],
        texts: Sequence[int],
        times: Sequence[int],
        told: Sequence[int],
    ) -> None:
        self._columns, self._texts, self._times, self._told = columns, texts, times, told

    @cached_property
    def _groups(self) -> list[np.ndarray]:
        return [column.groups for column in self._columns]

    def names_of(self, column: Evidence) -> str:
        """The text column of three values and more that goes with it one to one; "" where none
        does.
        """
        for place in self._texts:
            text = self._columns[place]
            if text.distinct == column.distinct >= 3:
                both = (text.groups >= 0) & (column.groups >= 0)
                if (
                    len(
                        np.unique(
                            text.groups[both].astype(np.int64) * column.n + column.groups[both]
                        )
                    )
                    == text.distinct
                ):
                    return text.name
        return ""

    def period_of(self, column: Evidence) -> str:
        """The column of times with which each of its values has one record; "" where none is."""
        return next(
            (
                self._columns[place].name
                for place in self._times
                if one_record_a_period(column.groups, self._columns[place].groups)
            ),
            "",
        )

    def held(self, column: Evidence, *, banded: bool) -> list[str]:
        """The names of the columns that do not vary within its values; `banded`: those that only
        group neighbouring ones, too.
        """
        order = np.full(len(column.groups), -1)
        there = column.groups >= 0
        order[there] = np.unique(np.asarray(column.column[there]), return_inverse=True)[1]
        places = [place for place in self._told if self._columns[place] is not column]
        found = held_within(order, self._groups, places)
        return [
            self._columns[of.place].name
            for of in found
            if banded or not (of.banded or self._columns[of.place].distinct >= column.distinct)
        ]


def kind_of_whole(column: Evidence, others: Others) -> ColumnKind:
    """The kind of a column of whole numbers that is neither time, weight nor design; the first rule
    that holds.
    """
    name = column.name
    if column.distinct == 2:
        return ColumnKind(name, LEVELS, "two values")
    for found in (_record_id(column), _unit_id(column, others), _codes(column, others)):
        if found is not None:
            return found
    if _looks_coded(column):
        asked = ColumnKind(name, NUMBER, "whole numbers, nothing says that they are codes")
        return asked.asking("codes or numbers?", LEVELS)
    return ColumnKind(name, NUMBER, "whole numbers")


def _record_id(column: Evidence) -> ColumnKind | None:
    if column.n < _FEWEST or column.distinct < _UNIQUE * column.n or column.different[0] < 0:
        return None
    named, quantity = KEY(column.name) or UNIT(column.name), QUANTITY(column.name)
    why = {
        "called like a key or a unit": named,
        "hardly a number is left out": column.no_gaps,
        "ten digits and more": column.different[-1] >= _TEN_DIGITS,
        "evenly spread": column.unevenness < _EVENLY and not quantity,
        "rising in the order of the file": column.is_sorted
        and column.unevenness < _STEADILY
        and not quantity,
    }
    told = [reason for reason, holds in why.items() if holds]
    if not told:
        return None
    if told == ["evenly spread"] and column.n < _ASKED_BELOW:
        asked = ColumnKind(
            column.name,
            NUMBER,
            "a number of its own in every record, evenly spread as amounts may be, too",
        )
        return asked.asking("a number or an id of records?", RECORD_ID)
    return ColumnKind(column.name, RECORD_ID, f"a number of its own in every record, {told[0]}")


def _unit_id(column: Evidence, others: Others) -> ColumnKind | None:
    named = KEY(column.name)
    if column.distinct < _FEWEST or column.n < (1 if named else _REPEATED) * column.distinct:
        return None
    points: list[tuple[float, str]] = []
    if period := others.period_of(column):
        points.append((2, f"one record in each {period}"))
    if stand_together(column.values, column.distinct) and not (
        column.is_sorted and not column.no_gaps
    ):
        points.append((2, "equal values are adjacent"))
    if named:
        points.append((2, "called like a key"))
    if UNIT(column.name):
        points.append((1.5, "called like a unit"))
    if column.no_gaps and column.tallies.max() <= _CROWDED * column.tallies.mean():
        points.append((0.5, "hardly a number is left out"))
    words = words_of(column.name)
    against = 2.5 if QUANTITY(column.name) or (words and DURATION(words[0])) else 0.0
    total = sum(point for point, _ in points) - against
    if total + 1.5 >= _ASK and (held := others.held(column, banded=False)):
        points.append(
            (
                1.5,
                f"{len(held)} other column{'s do' if len(held) > 1 else ' does'} not vary within "
                "it",
            )
        )
        total += 1.5
    why = (
        f"{column.distinct:,} different numbers in {column.n:,} records: "
        f"{', '.join(reason for _, reason in points)}"
    )
    if total >= _UNIT:
        return ColumnKind(column.name, UNIT_ID, why)
    return (
        ColumnKind(column.name, UNIT_ID, why).asking("an id of units, or a number?", NUMBER)
        if total == _ASK
        else None
    )


def _codes(column: Evidence, others: Others) -> ColumnKind | None:
    """Codes of levels, or a unit that a text names."""
    name = column.name
    if not QUANTITY(name) and (text := others.names_of(column)):
        kind = LEVELS if column.distinct <= _MOST_KEYS else UNIT_ID
        return ColumnKind(name, kind, f"one to one with the texts of {text}")
    if (
        CLASSIFICATION(name)
        and not QUANTITY(name)
        and not KEY(name)
        and column.distinct <= _MOST_CODES
        and _may_be_codes(column)
    ):
        return ColumnKind(name, LEVELS, "called like a classification")
    if column.distinct <= _FEW_LEVELS:
        return ColumnKind(name, LEVELS, f"{column.distinct} different whole numbers", counts=True)
    return (
        ColumnKind(name, LEVELS, "called like a key")
        if KEY(name) and column.distinct <= _MOST_KEYS
        else None
    )


def _may_be_codes(column: Evidence) -> bool:
    """Whether numbers are of four digits at most, or of about as many all, of which some may have
    lost a zero, and records share them.
    """
    if column.within(0, _LARGEST_CODE - 1):
        return True
    least, most = (len(f"{end:.0f}") for end in (column.different[0], column.different[-1]))
    return (
        column.different[0] > 0
        and most - least <= 1
        and most <= _MOST_DIGITS
        and column.n >= _SHARE * column.distinct
    )


def _looks_coded(column: Evidence) -> bool:
    """Whether counts jump from one value to the next, as those of codes do and those of amounts do
    not.
    """
    if not (
        _FEW_LEVELS < column.distinct <= _MOST_CODES
        and column.different[0] <= _FEWEST
        and column.n >= _EACH * column.distinct
    ):
        return False
    if (
        QUANTITY(column.name)
        or column.tallies[column.different % 5 == 0].sum() >= _ON_FIVES * column.n
    ):
        return False
    roots = np.sqrt(column.tallies)
    spread = float(roots.var())
    return bool(spread > 0 and (np.diff(roots) ** 2).mean() / 2 > _JUMPS * spread)
