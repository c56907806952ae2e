"""What belongs together: persons of a household, employees of a firm, waves of a person; which
records they are, in which order, in which role. No message shows a value.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_names, check_text
from riskweighted.common.errors import InputError, UnitsWarning, listing
from riskweighted.common.frames import as_floats, holds_numbers, require_columns, with_columns
from riskweighted.common.settings import as_table

__all__ = ["Arrangement", "Units", "join_units"]

_MOST = "most_members"
_MANY_ALONE = 0.9  # share of units of one record, above which units tell little
_WAVE = re.compile(r"(\d{4})[ -]?([QM])(\d{1,2})", re.IGNORECASE)  # "1979 Q3", "1979-M11"
_WHOLE = re.compile(r"^([+-]?\d+)\.0+$")
_A_YEAR = {"Q": 4, "M": 12}
_GOLDEN, _FIRST_MIX, _SECOND_MIX = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@dataclass(frozen=True)
class Units:
    """Which records belong together, and what is known of each within its unit: all of it public.

    The members of a unit are drawn one after the other, each given those before it, so that
    couples, brothers and sisters, and the waves of a person stay as alike as they are. How many
    members a unit has, their roles and their waves are kept as they are.

    Parameters
    ----------
    id : str
        The column that names the unit: text or whole numbers, none missing.
    role : str, optional
        A column of few levels, such as the relation to the head of a household.
    first : str, optional
        The level of `role` that every unit holds once; its member comes first.
    order : sequence of str, optional
        Unaltered columns by which members stand within their role; ties are in a random order,
        which is the same in all fits and datasets.
    time : str, optional
        Of panels, in place of role and order: the column that says when, numbers, dates or text as
        "1979 Q3" and "1979-M11"; one record a unit and time.
    unit_level : sequence of str, optional
        Columns that are the same for all members of a unit; one that is synthesized is drawn once.
    most_members : int
        Larger units are refused.
    totals : mapping of str to table, optional
        Columns of the unit that follow from its members, and are computed in every dataset: each
        ``{"sum": COLUMN}``, without missing values and special codes, or ``{"count": CONDITION}``.
    rules : mapping, optional
        What holds between members in every dataset: ``gaps``, a list of ``{"of": VARIABLE, "from":
        WHO, "where": CONDITION, "least": a, "most": b}``, between which a member's value less that
        of another one lies; ``steps``, by how much a variable goes up per unit of time; and
        ``forbidden``, conditions in which ``WHO.COLUMN`` is that of another member. WHO is "first",
        "last" (the member before), "previous" (the last before of the same role) or a role that no
        unit holds twice.
    coarsen : mapping, optional
        What makes units less rare before anything else is done (`Units.coarsened`): by column the
        new levels, each with those that it stands for, and ``most_members``, the members of a unit
        that are kept.

    Raises
    ------
    InputError
        If settings contradict each other.

    Examples
    --------
    >>> units = rw.Units(id="house", role="relation", first="head")
    >>> people = pd.DataFrame({"house": [7, 7, 9], "relation": ["child", "head", "head"]})
    >>> units.arranged(people).position.tolist()
    [1, 0, 0]
    """

    id: str
    role: str | None = None
    first: str | None = None
    order: Sequence[str] = ()
    time: str | None = None
    unit_level: Sequence[str] = ()
    most_members: int = 30
    totals: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    coarsen: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rules: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_text(self.id, "id")
        for name in ("role", "first", "time"):
            check_text(getattr(self, name), name, optional=True)
        for name in ("order", "unit_level"):
            object.__setattr__(self, name, check_names(getattr(self, name), name))
        check_count(self.most_members, "most_members")
        if (self.role is None) != (self.first is None):
            raise InputError(
                "role and first go together: the column, and its level that every unit holds once"
            )
        if self.time is not None and (self.role is not None or self.order):
            raise InputError(
                "time orders the records of a unit by itself: leave out role, first and order"
            )
        self._check_totals()
        self._check_coarsen()
        as_table(self.rules, "units.rules")
        named = [self.id, *filter(None, [self.role, self.time]), *self.order, *self.unit_level]
        named += self.totals
        if repeated := sorted({name for name in named if named.count(name) > 1}):
            raise InputError(
                f"units name {listing(repeated)} twice: a column is one of id, role, order, time, "
                "unit_level and totals"
            )

    def _check_totals(self) -> None:
        """Refuse totals of another form."""
        given = as_table(self.totals, "units.totals")
        held = {name: dict(as_table(each, f"units.totals.{name}")) for name, each in given.items()}
        object.__setattr__(self, "totals", held)
        for name, total in held.items():
            if list(total) not in (["sum"], ["count"]):
                raise InputError(
                    f"units.totals.{name} must be {{ sum = COLUMN }} or {{ count = CONDITION }}, "
                    f"got {listing(total) if total else 'an empty table'}"
                )
            check_text(next(iter(total.values())), f"units.totals.{name}")

    def _check_coarsen(self) -> None:
        """Refuse what merges no levels and cuts no units."""
        place = "units.coarsen"
        given = dict(as_table(self.coarsen, place))
        for name, merged in given.items():
            if name == _MOST:
                check_count(merged, f"{place}.{_MOST}")
                continue
            levels = {
                new: check_names(old, f"{place}.{name}.{new}")
                for new, old in as_table(merged, f"{place}.{name}").items()
            }
            every = [level for old in levels.values() for level in old]
            if not every or len(set(every)) < len(every):
                raise InputError(
                    f"{place}.{name} must be new levels with those that each replaces, named "
                    'once, such as { other = ["cousin", "lodger"] }'
                )
            given[name] = levels
        object.__setattr__(self, "coarsen", given)

    def coarsened(self, confidential: pd.DataFrame) -> pd.DataFrame:
        """Return the data with levels merged and large units cut as ``coarsen`` says.

        Of a unit that has more than ``most_members`` the first of them are kept, in the order of
        units; the others are no part of the study. Data that are coarsened already stay as they
        are.

        Raises
        ------
        InputError
            If a column is absent or holds numbers, or no record has a level.

        Warns
        -----
        UnitsWarning
            If members are left out, with their number.

        Examples
        --------
        >>> units = rw.Units(id="house", coarsen={"relation": {"other": ["cousin", "lodger"]}})
        >>> people = pd.DataFrame({"house": [7] * 3, "relation": ["head", "lodger", "cousin"]})
        >>> units.coarsened(people)["relation"].tolist()
        ['head', 'other', 'other']
        """
        levels = {name: merged for name, merged in self.coarsen.items() if name != _MOST}
        require_columns(confidential, list(levels), "confidential data (units.coarsen)")
        merged = {name: _merged(confidential[name], of) for name, of in levels.items()}
        data = with_columns(confidential, merged) if merged else confidential
        most = self.coarsen.get(_MOST)
        if most is None:
            return data
        arranged = self.arranged(data)
        kept = arranged.position < most
        if kept.all():
            return data
        warnings.warn(
            f"units.coarsen: {int((~kept).sum())} members beyond the first {most} of "
            f"{int((arranged.sizes > most).sum())} units are left out of the study",
            UnitsWarning,
            stacklevel=3,
        )
        left = data[kept]
        return left.reset_index(drop=True) if isinstance(data.index, pd.RangeIndex) else left

    @property
    def public(self) -> tuple[str, ...]:
        """The columns that arrange the records: none of them may be synthesized."""
        return (self.id, *filter(None, [self.role, self.time]), *self.order)

    def check(self, confidential: pd.DataFrame, variables: Sequence[str] = ()) -> "Arrangement":
        """How the records of the data are arranged, once all that may be wrong with them was looked
        for; `variables`: the synthesized ones.

        Warns (`UnitsWarning`) where more than 90 % of the units have one record.
        """
        require_columns(
            confidential,
            [*self.public, *self.unit_level, *self.totals],
            "confidential data ([units])",
        )
        if altered := [name for name in self.public if name in variables]:
            raise InputError(
                f"units are arranged by {listing(altered)}, which is synthesized: valid are "
                "columns that no dataset alters"
            )
        arrangement = self.arranged(confidential)
        sizes = np.bincount(arrangement.unit)
        if large := int((sizes > self.most_members).sum()):
            raise InputError(
                f"{large} of {len(sizes)} units have more than {self.most_members} members "
                f"(the largest {sizes.max()}): raise most_members, cut them by coarsen = "
                f"{{ {_MOST} = {self.most_members} }}, or name another id"
            )
        for name in self.unit_level:
            levels = pd.factorize(confidential[name], use_na_sentinel=False)[0]
            unlike = len(np.unique(arrangement.unit[levels != levels[arrangement.first]]))
            if unlike:
                raise InputError(
                    f"{name!r} is in unit_level and differs within {unlike} of {len(sizes)} "
                    "units: leave it out of unit_level, or correct the data"
                )
        alone = int((sizes == 1).sum())
        if alone == len(sizes):
            raise InputError(
                f"each of the {len(sizes)} units of {self.id!r} has one record: leave out units, "
                "or name the column whose equal values belong together"
            )
        if alone > _MANY_ALONE * len(sizes):
            warnings.warn(
                f"{alone} of {len(sizes)} units of {self.id!r} have one record: units say little "
                "about this file",
                UnitsWarning,
                stacklevel=3,
            )
        return arrangement

    def arranged(self, frame: pd.DataFrame, like: "Arrangement | None" = None) -> "Arrangement":
        """How the records of a frame are arranged, by its unaltered columns alone; `like`: of the
        data that a model was fitted to, which says what roles there are.

        The arrangement of a unit is the same whatever other units stand beside it.
        """
        ids = _ids(frame[self.id], self.id)
        unit = pd.factorize(ids)[0].astype(np.int64)
        times = None if self.time is None else _times(frame[self.time], self.time)
        role, roles = np.zeros(len(unit), dtype=np.int64), tuple[object, ...]((None,))
        if self.role is not None:
            roles = self._roles(frame[self.role]) if like is None else like.roles
            role = self._role_codes(frame[self.role], roles, unit)
        chance = _chances(ids, unit)
        within = [_ranks(frame[name]) for name in self.order]
        keys = [*within] if times is None else [times]
        order = np.lexsort((chance, *reversed(keys), role, unit))
        begins = np.append(True, unit[order][1:] != unit[order][:-1])
        position = _since(begins, order)
        same = ~begins[1:] & (role[order][1:] == role[order][:-1])
        for key in keys:
            same &= key[order][1:] == key[order][:-1]
        if times is not None and same.any():
            raise InputError(
                f"{int(same.sum())} records have the unit and the {self.time!r} of another one: "
                "valid is one record a unit and time"
            )
        return Arrangement(unit, position, role, roles, order, times, int(same.sum()))

    def _roles(self, column: pd.Series) -> tuple[object, ...]:
        """The levels of the role: the first one, then in their stated order, else by frequency."""
        if column.isna().any():
            raise InputError(
                f"role {self.role!r} is missing in {int(column.isna().sum())} of {len(column)} "
                "records: give them a level"
            )
        counts = column.value_counts()
        held = counts.index[counts > 0].tolist()
        if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
            held = [level for level in column.cat.categories if level in held]
        else:
            held = sorted(held, key=lambda level: (-counts[level], str(level)))
        first = [level for level in held if str(level) == self.first]
        if not first:
            raise InputError(
                f"first is no level of the role {self.role!r}, which has {len(held)}; valid is the "
                "level that every unit holds once"
            )
        return (first[0], *(level for level in held if level != first[0]))

    def _role_codes(
        self, column: pd.Series, roles: Sequence[object], unit: np.ndarray
    ) -> np.ndarray:
        """The place of each record's role among the roles, (n,)."""
        codes = pd.Index(roles, dtype=object).get_indexer(pd.Index(column.astype(object)))
        if unknown := int((codes < 0).sum()):
            raise InputError(
                f"role {self.role!r} has a level that the confidential data lack in {unknown} of "
                f"{len(codes)} records"
            )
        firsts = np.bincount(unit, codes == 0)
        if wrong := int((firsts != 1).sum()):
            raise InputError(
                f"{wrong} of {len(firsts)} units do not have {self.role!r} = first exactly once "
                f"({int((firsts == 0).sum())} never, {int((firsts > 1).sum())} several times): "
                "correct the data, or name another role"
            )
        return np.asarray(codes, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Arrangement:
    """How n records stand in their units: ``unit`` (n,), codes 0 .. H-1; ``position`` (n,), from 0;
    ``role`` (n,), places among ``roles``, of which 0 is the first one (all 0 without roles);
    ``order`` (n,), the records unit by unit by position; ``times`` (n,), numbers, of panels;
    ``ties``: records whose place among those of their unit is by chance.
    """

    unit: np.ndarray = field(repr=False)
    position: np.ndarray = field(repr=False)
    role: np.ndarray = field(repr=False)
    roles: tuple[object, ...]
    order: np.ndarray = field(repr=False)
    times: np.ndarray | None = field(default=None, repr=False)
    ties: int = 0

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many members each unit has, (H,)."""
        return np.bincount(self.unit)

    @cached_property
    def first(self) -> np.ndarray:
        """The record that is the first member of each record's unit, (n,)."""
        firsts = np.empty(len(self.sizes), dtype=np.int64)
        leading = self.order[self.position[self.order] == 0]
        firsts[self.unit[leading]] = leading
        return np.asarray(firsts[self.unit])

    @cached_property
    def place_of_first(self) -> np.ndarray:
        """Which of the first members, in the order of the records, is that of each record's unit,
        (n,).
        """
        return np.asarray((np.cumsum(self.position == 0) - 1)[self.first])

    @cached_property
    def previous(self) -> np.ndarray:
        """The member before each record, (n,); -1 of a first one."""
        before = np.full(len(self.unit), -1)
        before[self.order[1:]] = self.order[:-1]
        before[self.position == 0] = -1
        return before

    @cached_property
    def previous_alike(self) -> np.ndarray:
        """The last member before each record that has its role, (n,); -1 where there is none."""
        before = self.previous
        alike = (before >= 0) & (self.role == self.role[before])
        return np.where(alike, before, -1)  # members stand role by role

    @cached_property
    def earlier_alike(self) -> np.ndarray:
        """How many members before each record have its role, (n,)."""
        role = self.role[self.order]
        begins = (self.position[self.order] == 0) | np.append(True, role[1:] != role[:-1])
        return _since(begins, self.order)

    def alone_in_role(self, role: int) -> bool:
        """Whether no unit holds a role more than once."""
        return bool(np.bincount(self.unit[self.role == role], minlength=1).max() <= 1)

    def holder(self, role: int, *, earlier: bool = True) -> np.ndarray:
        """The other member of each record's unit that holds a role which no unit has twice, if it
        stands before the record or with `earlier` = False anywhere, (n,); -1 where there is none.
        """
        of_unit = np.full(len(self.sizes), -1)
        holders = np.flatnonzero(self.role == role)
        of_unit[self.unit[holders]] = holders
        held = of_unit[self.unit]
        before, there = self.position[held], held >= 0
        there &= before < self.position if earlier else held != np.arange(len(held))
        return np.where(there, held, -1)

    def compositions(self, patterns: np.ndarray) -> np.ndarray:
        """What each unit is made of, codes (H,): its size and the sorted patterns of its members,
        of codes (n,).
        """
        order, starts = np.lexsort((patterns, self.unit)), np.cumsum(self.sizes) - self.sizes
        codes, least = np.empty(len(self.sizes), dtype=np.int64), 0
        for size in np.unique(self.sizes):
            alike = np.flatnonzero(self.sizes == size)
            members = patterns[order[starts[alike][:, None] + np.arange(size)]]
            codes[alike] = least + np.unique(members, axis=0, return_inverse=True)[1].ravel()
            least = int(codes[alike].max()) + 1
        return codes

    def alone(self, patterns: np.ndarray) -> np.ndarray:
        """Which records are of a unit that is made as no other one is, booleans (n,)."""
        codes = self.compositions(patterns)
        return np.asarray((np.bincount(codes)[codes] == 1)[self.unit])

    @cached_property
    def by_position(self) -> tuple[np.ndarray, ...]:
        """The records at each position, all units' first members first."""
        order = np.argsort(self.position, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.position))[:-1]))

    def repeated(self, records: np.ndarray) -> tuple[np.ndarray, "Arrangement", np.ndarray]:
        """The units of some records (m,), as often as any of their members is asked for: the
        records that they are made of, their arrangement, and where in it those asked for stand,
        (m,). Members that are asked for the same number of times stand in the same copies.
        """
        turns = pd.Series(records).groupby(records).cumcount().to_numpy()
        most = int(turns.max(initial=0)) + 1
        copies, of = np.unique(self.unit[records] * most + turns, return_inverse=True)
        unit = copies // most
        ends, sizes = np.cumsum(self.sizes), self.sizes[unit]
        firsts, made = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(unit)), sizes)
        position = np.arange(len(made)) - firsts[made]
        rows = self.order[(ends - self.sizes)[unit][made] + position]
        times = None if self.times is None else self.times[rows]
        arrangement = Arrangement(
            made, position, self.role[rows], self.roles, np.arange(len(rows)), times
        )
        return rows, arrangement, firsts[of] + self.position[records]


def join_units(members: pd.DataFrame, units: pd.DataFrame, key: str) -> pd.DataFrame:
    """The records of a file of members, each with the columns of its unit, of a file of units.

    Ids are compared as those of `Units` are. Warns (`UnitsWarning`) of units without a member.
    """
    require_columns(members, [key], "data.path")
    require_columns(units, [key], "data.units")
    if twice := [name for name in units if name != key and name in members]:
        raise InputError(
            f"data.units: the file of members also has {listing(twice)}: leave it out of one"
        )
    known, asked = (_ids(frame[key], key).astype(str) for frame in (units, members))
    if repeated := int(known.duplicated().sum()):
        raise InputError(
            f"data.units: {repeated} of {len(known)} rows have the {key!r} of another one: valid "
            "is one row a unit"
        )
    rows = pd.Index(known).get_indexer(pd.Index(asked))
    if alone := int((rows < 0).sum()):
        raise InputError(
            f"data.units: {alone} of {len(rows)} members have a {key!r} that the file of units "
            "lacks: correct one of the files"
        )
    if empty := len(known) - len(np.unique(rows)):
        warnings.warn(
            f"data.units: {empty} of {len(known)} units have no member, and are left out",
            UnitsWarning,
            stacklevel=4,
        )
    return with_columns(
        members,
        {
            str(name): units[name].take(rows).set_axis(members.index)
            for name in units
            if name != key
        },
    )


def _merged(column: pd.Series, levels: Mapping[str, Sequence[str]]) -> pd.Series:
    """A column of levels with some of them merged, each new one with those that it stands for."""
    place, held = f"units.coarsen.{column.name}", list(column.dropna().unique())
    if holds_numbers(column):
        raise InputError(f"{place}: the column holds numbers, and levels are merged")
    texts = set(map(str, held))
    if strange := [
        level for new, old in levels.items() for level in old if not texts & {level, new}
    ]:
        raise InputError(f"{place}: {len(strange)} of the levels it names are those of no record")
    new_of = {level: new for new, old in levels.items() for level in old}
    made = column.astype(object).map(
        {level: new_of.get(str(level), level) for level in held}, na_action="ignore"
    )
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return made.astype(column.dtype)
    categories = dict.fromkeys(new_of.get(str(each), each) for each in column.cat.categories)
    return made.astype(pd.CategoricalDtype(list(categories), column.cat.ordered))


def _ids(column: pd.Series, name: str) -> pd.Series:
    """Identifiers that are compared as text, whole numbers in their plain form."""
    if missing := int(column.isna().sum()):
        raise InputError(
            f"id {name!r} is missing in {missing} of {len(column)} records: every record is of a "
            "unit"
        )
    if pd.api.types.is_bool_dtype(column.dtype):
        raise InputError(f"id {name!r} holds truth values; valid are text and whole numbers")
    if holds_numbers(column):
        numbers = as_floats(column)
        if broken := int((numbers != np.rint(numbers)).sum()):
            raise InputError(
                f"id {name!r} is no whole number in {broken} of {len(column)} records; valid are "
                "text and whole numbers"
            )
        if pd.api.types.is_integer_dtype(column.dtype):
            return column
        return pd.Series(numbers.astype(np.int64), column.index)
    codes, levels = pd.factorize(column.astype(object))
    texts = [_WHOLE.sub(r"\1", str(level)) for level in levels]
    if several := len(texts) - len(set(texts)):
        raise InputError(
            f"id {name!r} holds {several} identifiers in several forms, as 1, 1.0 and text: write "
            "them one way"
        )
    return pd.Series(np.array(texts, dtype=object)[codes], column.index)


def _times(column: pd.Series, name: str) -> np.ndarray:
    """When each record is, as numbers (n,): dates in days, quarters and months in their number."""
    if missing := int(column.isna().sum()):
        raise InputError(
            f"time {name!r} is missing in {missing} of {len(column)} records: every record of a "
            "panel has one"
        )
    if holds_numbers(column):
        return as_floats(column)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return np.asarray((column - pd.Timestamp(0, tz=column.dt.tz)).dt.days, dtype=float)
    texts = column.astype(str)
    parts = texts.str.extract(_WAVE)
    if parts.notna().all(axis=None):
        kinds = parts[1].str.upper()
        if kinds.nunique() == 1:
            a_year = _A_YEAR[kinds.iloc[0]]
            number = parts[2].astype(int).to_numpy()
            if ((number >= 1) & (number <= a_year)).all():
                return np.asarray(parts[0].astype(int) * a_year + number, dtype=float)
    dates = pd.to_datetime(texts, errors="coerce", format="%Y-%m-%d")
    if dates.isna().any():
        raise InputError(
            f"time {name!r} is text that is no time in {int(dates.isna().sum())} of {len(column)} "
            "records; valid are numbers, dates, and text as '1979 Q3' or '1979-M11'"
        )
    return np.asarray((dates - pd.Timestamp(0)).dt.days, dtype=float)


def _since(begins: np.ndarray, order: np.ndarray) -> np.ndarray:
    """How many records lie between each and the last that begins a group, (n,); `begins` (n,) in an
    order of the records.
    """
    places, since = np.arange(len(order)), np.empty(len(order), dtype=np.int64)
    since[order] = places - np.maximum.accumulate(np.where(begins, places, 0))
    return since


def _ranks(column: pd.Series) -> np.ndarray:
    """The place of each value in the order of a column, missing ones last, (n,)."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return np.where(codes < 0, len(column.cat.categories), codes)
    codes = pd.factorize(column, sort=True)[0]
    return np.asarray(np.where(codes < 0, codes.max(initial=0) + 1, codes))


def _chances(ids: pd.Series, unit: np.ndarray) -> np.ndarray:
    """A number of each record (n,) that puts ties within a unit in a random order: of its
    identifier and its place among the records of the unit, so that other units change nothing.
    """
    order = np.argsort(unit, kind="stable")
    begins = np.append(True, unit[order][1:] != unit[order][:-1])
    place = _since(begins, order).astype(np.uint64)
    with np.errstate(over="ignore"):  # sums and products modulo 2^64 (splitmix64)
        mixed = pd.util.hash_array(ids.to_numpy()) + (place + np.uint64(1)) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST_MIX
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND_MIX
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
