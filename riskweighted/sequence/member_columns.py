"""Columns that tell a model of the other members of a unit: how it is made up, the values of
earlier members, and what others have of a predictor (METHODS section 12.5).

Every function gives columns by name, the same names whatever the records are.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from riskweighted.common.units import Arrangement

__all__ = [
    "MemberDraws",
    "Named",
    "Slots",
    "composition_columns",
    "means",
    "other_member_columns",
    "unit_columns",
]

Named: TypeAlias = dict[str, np.ndarray]
_PLACES = 3  # second, third, fourth and later members
_MOST_OF_ROLE = 4  # members of a role that are told apart
_FEWEST = 10  # records of a role that has slopes of its own
_DIGITS = 12  # after the point: what adding takes off


class Slots:
    """Which members have slopes of their own: those of one role, or without roles and of panels
    those at the second, third, and later places.

    ``classes`` of roles: the place of each role among them, of rare ones that of the last; () of
    places. ``single``: roles that no unit holds twice.
    """

    def __init__(self, held: Arrangement) -> None:
        counts = np.bincount(held.role)
        self.of_roles = len(held.roles) > 1
        self.panel = held.times is not None
        common = [role for role in range(1, len(counts)) if counts[role] >= _FEWEST]
        self._class_of = np.array(
            [0, *(common.index(r) if r in common else len(common) for r in range(1, len(counts)))]
        )
        self.count = int(self._class_of.max()) + 1 if self.of_roles else _PLACES
        self.single = tuple(
            role for role in (common if self.of_roles else ()) if held.alone_in_role(role)
        )

    def at(self, of: Arrangement, rows: np.ndarray) -> np.ndarray:
        """The slot of some records, (m,); -1 of first members."""
        if not self.of_roles:
            return np.asarray(np.minimum(of.position[rows], _PLACES) - 1)
        return np.where(of.position[rows] == 0, -1, self._class_of[of.role[rows]])

    def parts(self, of: Arrangement, rows: np.ndarray) -> np.ndarray:
        """Of some records, (m,), the part of their unit: the first and the later members of a role;
        without roles the first, the second and the later members; of panels the first and the later
        waves. What is spread about what earlier members say differs between parts.
        """
        if not self.of_roles:
            return np.asarray(np.minimum(of.position[rows], 1 if self.panel else 2))
        return np.asarray(2 * (self.at(of, rows) + 1) + (of.earlier_alike[rows] > 0))

    @property
    def most_parts(self) -> int:
        """How many parts there may be."""
        return 2 * (self.count + 1) if self.of_roles else 3

    @property
    def alike_parts(self) -> list[list[int]]:
        """The parts, those together that are one where they are small."""
        if not self.of_roles:
            return [[*range(2 if self.panel else 3)]]
        return [[part, part + 1] for part in range(0, self.most_parts, 2)]

    def called(self, parts: tuple[int, ...], held: Arrangement) -> str:
        """What the members of some parts are called: by their one role, or as others."""
        if not self.of_roles:
            names = ["first", "later"] if self.panel else ["first", "second", "later"]
            what = "waves" if self.panel else "members"
            return f"{' and '.join(names[part] for part in parts)} {what}"
        there = self.parts(held, np.arange(len(held.role)))
        roles = np.unique(held.role[np.isin(there, parts)])
        begin = "later " if len(parts) == 1 and parts[0] % 2 else ""
        return begin + (str(held.roles[roles[0]]) if len(roles) == 1 else "others")

    def by_slot(self, name: str, column: np.ndarray, slots: np.ndarray) -> Named:
        """A column for each slot: its values there, and 0 elsewhere."""
        return {f"{name} at {slot + 1}": column * (slots == slot) for slot in range(self.count)}


def unit_columns(slots: Slots, of: Arrangement) -> Named:
    """How each record's unit is made up, the same for all its members: how many it has of each
    role, 4 at most; or how many members.
    """
    size = of.sizes[of.unit]
    if not slots.of_roles:
        return {"size": np.minimum(size, 200).astype(float)} | {
            f"size is {few}": (size == few).astype(float) for few in range(1, _MOST_OF_ROLE + 1)
        }
    there = slots.at(of, np.arange(len(of.unit)))
    counts = [
        np.bincount(of.unit[there == slot], minlength=len(of.sizes)) for slot in range(slots.count)
    ]
    return {
        f"count of {slot + 1}": np.minimum(count[of.unit], _MOST_OF_ROLE).astype(float)
        for slot, count in enumerate(counts)
    } | {
        f"any of {slot + 1}": (count[of.unit] > 0).astype(float)
        for slot, count in enumerate(counts)
    }


def composition_columns(slots: Slots, of: Arrangement, unit: Mapping[str, np.ndarray]) -> Named:
    """Each record's place in its unit, and how the unit is made up, by place."""
    there = slots.at(of, np.arange(len(of.unit)))
    made = slots.by_slot("place", np.ones(len(there)), there)
    for name, column in unit.items():
        made[name] = column
        if slots.of_roles:
            made |= slots.by_slot(name, column, there)
    if slots.panel and of.times is not None:
        previous = of.previous
        apart = np.where(previous >= 0, of.times - of.times[previous], 0.0)
        made["distance"] = apart
    if slots.of_roles:
        for count in range(1, _MOST_OF_ROLE):
            made[f"{count} earlier alike"] = (of.earlier_alike >= count).astype(float)
    return made


def means(of: Arrangement, values: np.ndarray) -> np.ndarray:
    """Means of values (n, k) over all members of each record's unit, (n, k)."""
    sums = np.column_stack([np.bincount(of.unit, column) for column in values.T])
    return np.asarray(np.round((sums / of.sizes[:, None])[of.unit], _DIGITS))


def other_member_columns(slots: Slots, of: Arrangement, name: str, values: np.ndarray) -> Named:
    """What other members have of a column, of which values (n,) are read: means over earlier and
    over later members; of panels the last one too, and earlier means from the third wave.
    """
    earlier, count = np.zeros(len(values)), of.position
    for rows in of.by_position[1:]:
        before = of.previous[rows]
        earlier[rows] = earlier[before] + values[before]
    total = np.bincount(of.unit, values)[of.unit]
    after = of.sizes[of.unit] - 1 - count
    later = np.where(after > 0, (total - values - earlier) / np.maximum(after, 1), 0.0)
    before = np.round(np.where(count > 0, earlier / np.maximum(count, 1), 0.0), _DIGITS)
    there = slots.at(of, np.arange(len(values)))
    made = {f"{name} later": np.round(later, _DIGITS)}
    if slots.panel:
        last = np.where(count > 0, values[of.previous], 0.0)
        return made | {f"{name} last": last, f"{name} earlier": (before - last) * (count > 1)}
    if slots.of_roles:
        return made | {f"{name} earlier": before}
    return made | slots.by_slot(f"{name} earlier", before, there)


class MemberDraws:
    """What the members of units have of one variable, while it is drawn position by position.
    Confidential.

    ``values`` (n, k): what is read of each value, filled as far as positions were drawn: of
    ``levels`` an indicator each; else the amount, and what says that it is none. ``many``: levels
    that are too many for slopes by place.
    """

    def __init__(
        self, slots: Slots, of: Arrangement, values: np.ndarray, levels: bool, many: bool
    ) -> None:
        self.slots, self.of, self.values, self.levels, self.many = slots, of, values, levels, many
        self._total = np.zeros(values.shape)  # over earlier members of the same role
        self._same = np.ones(len(values), dtype=bool)  # all earlier members are as the first

    def columns(self, rows: np.ndarray) -> Named:
        """The columns of records at one position, given those before it."""
        of, values = self.of, self.values
        alike, previous = of.previous_alike[rows], of.previous[rows]
        has, first = alike >= 0, values[of.first[rows]]
        self._total[rows[has]] = self._total[alike[has]] + values[alike[has]]
        later = previous >= 0
        self._same[rows[later]] = self._same[previous[later]] & (
            values[previous[later]] == first[later]
        ).all(axis=1)
        slots = self.slots.at(of, rows)
        last = np.where(later[:, None], values[previous], 0.0)
        first = np.where(later[:, None], first, 0.0)
        if self.levels:
            return self._of_levels(rows, slots, first, last, later)
        return self._of_amounts(rows, slots, first, last, has)

    def _of_levels(
        self,
        rows: np.ndarray,
        slots: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
        later: np.ndarray,
    ) -> Named:
        """Of levels: the first one by place (of panels the last one), that of the member before,
        and whether all earlier ones are as the first; of panels the share of earlier waves.
        """
        made, count = Named(), np.maximum(self.of.position[rows], 1)
        same = (self._same[rows] & later & (self.of.position[rows] > 1)).astype(float)
        if self.many:
            return self._each("first", first) | self._each("last", last)
        for place, column in enumerate((last if self.slots.panel else first).T):
            made |= self.slots.by_slot(f"level {place}", column, slots)
        made["same"] = same
        if self.slots.panel:
            made |= self._each("share", np.round(self._total[rows] / count[:, None], _DIGITS))
            return made | self._each("same", last * same[:, None])
        made |= self._each("last", last)
        return made | self._each("same", first * same[:, None])

    def _of_amounts(
        self,
        rows: np.ndarray,
        slots: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
        has: np.ndarray,
    ) -> Named:
        """Of amounts: the first one straight and squared and others as differences from it; of
        panels the last one and differences from it. And what says that one is no amount.
        """
        by_slot, count = self.slots.by_slot, self.of.earlier_alike[rows]
        mean = np.round(self._total[rows, 0] / np.maximum(count, 1), _DIGITS)
        if self.slots.panel:
            made = by_slot("last", last[:, 0], slots)
            made |= by_slot("mean", (mean - last[:, 0]) * (count > 1), slots)
            made["first"] = (first[:, 0] - last[:, 0]) * (count > 2)
            return made | self._each("last is", last[:, 1:])
        made = by_slot("first", first[:, 0], slots) | by_slot("squared", first[:, 0] ** 2, slots)
        alike = np.where(has[:, None], self.values[self.of.previous_alike[rows]], 0.0)
        made |= by_slot("alike", (alike[:, 0] - first[:, 0]) * has, slots)
        made |= by_slot("mean", (mean - first[:, 0]) * (count > 1), slots)
        for role in self.slots.single:
            holder = self.of.holder(role)[rows]
            held = holder >= 0
            other = np.where(held[:, None], self.values[holder], 0.0)
            made |= by_slot(f"single {role}", (other[:, 0] - first[:, 0]) * held, slots)
            made |= self._each(f"single {role} is", other[:, 1:])
        made |= self._each("first is", first[:, 1:])
        return made | self._each("alike is", alike[:, 1:])

    @staticmethod
    def _each(name: str, columns: np.ndarray) -> Named:
        return {f"{name} {place}": column for place, column in enumerate(columns.T)}
