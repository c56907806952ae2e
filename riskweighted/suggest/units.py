"""Records of one unit: which columns do not vary within the values of another, and which values
have one record a period.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Held", "held_within", "one_record_a_period", "stand_together"]

_MOST_RECORDS = 20_000  # of whole units, that are looked at
_AGREE, _AT_RANDOM = 0.995, 0.9  # of neighbouring records of a unit; of any two records, at most
_FEWEST = 40  # records in units of several
_BANDS = 1.2  # changes of value along the sorted units, of what bands have
_MOST_PERIODS, _PERIODS_EACH, _FILLED = 200, 1.5, 8
_RUNS, _EACH = 1.05, 1.3


@dataclass(frozen=True)
class Held:
    """A column that does not vary within units; ``banded``: whether it only names the units or
    groups neighbouring ones.
    """

    place: int
    banded: bool


def held_within(
    units: np.ndarray, columns: Sequence[np.ndarray], places: Sequence[int]
) -> list[Held]:
    """Which columns do not vary within units.

    `units`, `columns`: the group of each record, (n,), -1 where it has none; those of units in the
    order of their values. In 99.5 % of neighbouring records of a unit a column is the same, and in
    less than 90 % of any two records; forty records at least are in units of several.
    """
    # the order of the file may be one of time
    rows = np.random.default_rng(0).permutation(_of_whole_units(units))
    rows = rows[np.argsort(units[rows], kind="stable")]
    return [
        held
        for place in places
        if (held := _held(units[rows], columns[place][rows], place)) is not None
    ]


def _held(units: np.ndarray, column: np.ndarray, place: int) -> Held | None:
    """Of records sorted by unit."""
    there = column >= 0
    units, column = units[there], column[there]
    same_unit = units[1:] == units[:-1]
    if (
        not len(units)
        or np.count_nonzero(np.r_[same_unit, False] | np.r_[False, same_unit]) < _FEWEST
    ):
        return None
    same = column[1:] == column[:-1]
    shares = np.bincount(column) / len(column)
    if same[same_unit].mean() < _AGREE or (shares**2).sum() >= _AT_RANDOM:
        return None
    first = np.r_[True, ~same_unit]
    values = int((shares > 0).sum())
    changes = int(np.count_nonzero(np.diff(column[first])))
    return Held(place, changes <= _BANDS * (values - 1) + 1)


def _of_whole_units(units: np.ndarray) -> np.ndarray:
    """The records of all units, or of so many at random that about 20,000 are looked at; those of
    no unit are left out.
    """
    if len(units) <= _MOST_RECORDS:
        return np.flatnonzero(units >= 0)
    taken = np.random.default_rng(0).random(int(units.max()) + 1) < _MOST_RECORDS / len(units)
    return np.flatnonzero((units >= 0) & taken[units])


def one_record_a_period(units: np.ndarray, periods: np.ndarray) -> bool:
    """Whether units are records of the same persons or firms over time: no unit twice in a period,
    and most seen in several.
    """
    there = (units >= 0) & (periods >= 0)
    units, periods = units[there], periods[there]
    if not len(units):
        return False
    many, distinct = int(periods.max()) + 1, len(np.unique(units))
    if (
        many < 2
        or many > _MOST_PERIODS
        or len(units) < _PERIODS_EACH * distinct
        or distinct * many > _FILLED * len(units)
    ):
        return False
    return len(np.unique(units.astype(np.int64) * many + periods)) == len(units)


def stand_together(values: np.ndarray, distinct: int) -> bool:
    """Whether equal values stand together in the file, several each."""
    runs = 1 + int(np.count_nonzero(np.diff(values)))
    return runs <= _RUNS * distinct + 1 and len(values) >= _EACH * distinct
