"""Records of one unit: which columns do not vary within the values of another, and which values
have one record a period; the units that a study may draw together.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, UnitsWarning
from riskweighted.common.frames import holds_numbers
from riskweighted.common.units import Units

__all__ = [
    "Held",
    "held_within",
    "numbers_members",
    "one_record_a_period",
    "stand_together",
    "units_among",
]

_MOST_MEMBERS, _USUAL = 200, 30  # of a unit whose members are drawn one after the other
_MOST_ROLES = 20  # levels

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


def units_among(
    data: pd.DataFrame,
    candidates: Mapping[str, Sequence[str]],
    times: Sequence[str],
    others: Sequence[str],
    targets: Sequence[str],
) -> Units | None:
    """The units whose members a study may draw together, checked; None where there are none.

    `candidates`: ids, each with the columns that hardly vary within it; of several the first that
    has a time or a number of members, else the first. `times`: columns of times; `others`: those
    that may say the role or the order; none of them is a target.
    """
    made = [
        units
        for name, within in candidates.items()
        if (units := _units_of(data, name, within, times, others, targets)) is not None
    ]
    return next((units for units in made if units.time or units.order), next(iter(made), None))


def numbers_members(data: pd.DataFrame, name: str, candidates: Mapping[str, Sequence[str]]) -> bool:
    """Whether an id within which no column is constant tells apart the members of another
    candidate, within which some are: pupil numbers that begin anew in every school.
    """
    return not candidates[name] and any(
        bool(within) and data.duplicated([name, other]).mean() <= 1 - _AGREE
        for other, within in candidates.items()
    )


def _units_of(
    data: pd.DataFrame,
    name: str,
    within: Sequence[str],
    times: Sequence[str],
    others: Sequence[str],
    targets: Sequence[str],
) -> Units | None:
    """The units of one id, where they are such."""
    unit = pd.factorize(data[name])[0]
    sizes = np.bincount(unit[unit >= 0])
    if (unit < 0).any() or sizes.max() > _MOST_MEMBERS:
        return None
    first = np.unique(unit, return_index=True)[1][unit]
    held = [other for other in within if _same_as(data[other], first)]
    time = next((of for of in times if not data.duplicated([name, of]).any()), None)
    free = [of for of in others if of not in held] if time is None else []
    order = [of for of in free if _counts_members(data[of], unit)][:1]
    role, level = next(
        (
            (of, level)
            for of in free
            if of not in order and (level := _first_role(data[of], unit)) is not None
        ),
        (None, None),
    )
    most = int(sizes.max()) if sizes.max() > _USUAL else Units.most_members
    try:
        units = Units(name, role, level, order, time, held, most)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnitsWarning)
            units.check(data, targets)
    except (InputError, UnitsWarning):
        return None
    return units


def _same_as(column: pd.Series, rows: np.ndarray) -> bool:
    """Whether each record has the value of another one, its unit's first."""
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    return bool((codes == codes[rows]).all())


def _counts_members(column: pd.Series, unit: np.ndarray) -> bool:
    """Whether whole numbers run from 0 or 1 on in each unit, one a record."""
    numbers = pd.to_numeric(column.astype(object), errors="coerce").reset_index(drop=True)
    above = numbers - numbers.groupby(unit).rank(method="first")
    return bool((above == above.iloc[0]).all() and above.iloc[0] in (-1, 0))


def _first_role(column: pd.Series, unit: np.ndarray) -> str | None:
    """The level that every unit holds once, of a column of few levels; None where none is."""
    levels = column.dropna().unique()
    if holds_numbers(column) or column.isna().any() or not 2 <= len(levels) <= _MOST_ROLES:
        return None
    for level in levels:
        counts = np.bincount(unit, column == level)
        if (counts == 1).all():
            return str(level)
    return None
