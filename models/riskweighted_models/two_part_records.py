"""Records that are of one of several kinds, with a model of the values of each sign: what `TwoPart`
prepares, and their distribution.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pytensor.tensor as pt

from riskweighted.common.frames import with_columns
from riskweighted.contract.distribution import Records, cached_on_arrays, read_only
from riskweighted.contract.synthesizer import Draw, Synthesizer
from riskweighted.design.design import Design
from riskweighted.design.formulas import response_name
from riskweighted.design.predictor_tables import Tables
from riskweighted_models.bounds import Bounds, FoundBoundsMark, check_within, interval_ends
from riskweighted_models.raw_columns import RawColumns
from riskweighted_models.status import StatusCells, log_status_graph, probabilities
from riskweighted_models.transformation import Transformation

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "ZERO",
    "Part",
    "TwoPartGraph",
    "TwoPartRecords",
    "TwoParts",
    "fill_by_rank",
    "point_of",
    "status_of",
]

NEGATIVE, ZERO, POSITIVE = "negative", "zero", "positive"
_SIDES = {NEGATIVE: -1, POSITIVE: 1}  # of the values that are single ones


class Part(NamedTuple):
    """The model of the values of one sign.

    ``synthesizer``, ``prepared``: of the absolute values; every record has one, but only those of
    ``member`` (n,) count.
    """

    synthesizer: Synthesizer
    prepared: Any
    member: np.ndarray


@dataclass(frozen=True, eq=False)
class TwoParts:
    """Statuses of n records and the models of their values. Confidential.

    ``statuses``, in the order of the continuation ratios: codes (numbers), "zero", "negative",
    "positive"; ``status`` (n,): of each record, -1 where it has no value; ``sloped``: see
    `StatusCells`; ``parts`` by "positive" and "negative".
    """

    design: Design
    raw: RawColumns
    statuses: tuple[float | str, ...]
    status: np.ndarray
    sloped: tuple[int, ...]
    parts: Mapping[str, Part]
    bounds: Bounds
    amounts: Bounds

    @property
    def n(self) -> int:
        return len(self.status)

    def at(self, frame: pd.DataFrame) -> "TwoParts":
        """Other rows on the confidential design; without the response they have no status."""
        design = self.design.at(frame)
        name = response_name(self.design.formula)
        values = design.response(frame)
        if not isinstance(self.bounds, FoundBoundsMark):
            check_within(values[~np.isnan(values)], self.bounds, name)
        values = self.inside(values)
        status = status_of(values, self.statuses)
        parts = {}
        for sign, part in self.parts.items():
            member = status == (self.statuses.index(sign))
            others = frame.drop(columns=[name], errors="ignore")
            rows = (
                with_columns(frame, {name: fill_by_rank(np.abs(values), member)})
                if member.any()
                else others
            )
            parts[sign] = Part(part.synthesizer, part.prepared.at(rows), member)
        return replace(self, design=design, raw=self.raw.at(design), status=status, parts=parts)

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Amounts among values (n,) moved inside bounds that were found, as `prepare` does: one
        beyond them would stand for many where members are few."""
        if not isinstance(self.amounts, FoundBoundsMark):
            return values
        codes = [status for status in self.statuses if not isinstance(status, str)]
        return np.where(np.isin(values, codes), values, np.clip(values, *self.amounts))

    @property
    def from_tables(self) -> Callable[[Tables], "TwoParts"] | None:
        """Records of which only the predictors are known, by their model matrix; None where a model
        of values cannot be told so.
        """
        return (
            self._placed
            if all(
                callable(getattr(part.prepared, "from_tables", None))
                for part in self.parts.values()
            )
            else None
        )

    def _placed(self, columns: Tables) -> "TwoParts":
        design, n, parts = self.design.from_tables(columns), len(columns), {}
        for sign, part in self.parts.items():
            known = (
                columns
                if getattr(part.synthesizer, "formula", None) == self.design.formula
                else Tables((), n)
            )
            parts[sign] = Part(
                part.synthesizer, part.prepared.from_tables(known), np.zeros(n, dtype=bool)
            )
        return replace(
            self, design=design, raw=self.raw.at(design), status=np.full(n, -1), parts=parts
        )

    @cached_property
    def cells(self) -> StatusCells:
        """What the likelihood of the statuses depends on."""
        return StatusCells(*self.raw.distinct, self.status, self.sloped, len(self.statuses))


def fill_by_rank(values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Values (n,) of the members; elsewhere theirs by even steps of rank, so that every record has
    one.

    What is taken from all of them (location, scale) does not depend on the order of the records
    then.
    """
    filled, ranked, others = values.copy(), np.sort(values[member]), int((~member).sum())
    filled[~member] = ranked[((np.arange(others) + 0.5) * len(ranked) / max(others, 1)).astype(int)]
    return filled


def status_of(values: np.ndarray, statuses: tuple[float | str, ...]) -> np.ndarray:
    """Place of each value's status, (n,); -1 for a missing value. Where "negative" is none of them,
    such values count as zero.
    """
    place = np.full(len(values), -1)
    signs = {ZERO: values == 0, NEGATIVE: values < 0, POSITIVE: values > 0}
    if NEGATIVE not in statuses:
        signs[ZERO] = values <= 0
    for number, status in enumerate(statuses):
        place[signs[status] & (place < 0) if isinstance(status, str) else values == status] = number
    return place


@dataclass(frozen=True, eq=False)
class TwoPartRecords:
    """The kind of a value, then the value: see `Records`."""

    theta: Draw
    prepared: TwoParts

    def log_density(self, y: np.ndarray) -> np.ndarray:
        status, amounts = _told_apart(self.prepared, y)
        with np.errstate(divide="ignore"):
            each = np.where(
                status < 0, np.nan, np.log(self._shares[self.prepared.cells.which, status])
            )
        for sign, (member, values) in amounts.items():
            each[member] += self._values(sign, member).log_density(values)[member]
        return np.asarray(each)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        total = np.zeros(self.prepared.n)
        for of_status, inside in zip(self._shares.T, self._inside(lower, upper), strict=True):
            total += of_status[self.prepared.cells.which] * inside
        return total

    @property
    def masses_of(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
        """The masses of the same intervals (G,) for every record, (n, G), where each of them would
        be asked of all; None where the model of the values has none."""
        return (
            self._masses_of
            if all(
                callable(getattr(self._values(sign), "masses_of", None))
                for sign in self.prepared.parts
            )
            else None
        )

    def _masses_of(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        prepared, total = self.prepared, np.zeros((self.prepared.n, len(lower)))
        for status, of_status in zip(prepared.statuses, self._shares.T, strict=True):
            if status in prepared.parts:
                ends = (lower, upper) if status == POSITIVE else (-upper, -lower)
                values: Any = self._values(str(status))
                inside = values.masses_of(*ends)
            else:
                inside = ((lower <= point_of(status)) & (point_of(status) <= upper)).astype(float)
            total += of_status[prepared.cells.which, None] * inside
        return total

    @property
    def inverse(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None:
        """From intervals and a share (n,) of each one's mass to the value up to which it has that,
        (n,).

        NaN where an interval has no mass. A code counts among the zeros, beside which negative
        values lie on one side and positive ones on the other. None where the model of the values
        has none.
        """
        return (
            self._inverse
            if all(
                callable(getattr(self._values(sign), "inverse", None))
                for sign in self.prepared.parts
            )
            else None
        )

    def _inverse(self, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
        prepared = self.prepared
        low, high = interval_ends(lower, prepared.n), interval_ends(upper, prepared.n)
        order = sorted(
            range(len(prepared.statuses)),
            key=lambda place: _SIDES.get(str(prepared.statuses[place]), 0),
        )
        inside = self._inside(low, high)
        masses = np.array(
            [self._shares[:, place][prepared.cells.which] * inside[place] for place in order]
        )
        below = np.cumsum(masses, axis=0)
        aim, reached = share * below[-1], np.full(prepared.n, np.nan)
        chosen = np.minimum((below < aim).sum(axis=0), len(order) - 1)
        for number, place in enumerate(order):
            status, here = prepared.statuses[place], (chosen == number) & (masses[number] > 0)
            if status in prepared.parts:
                within = 1 - np.divide(
                    below[number] - aim, masses[number], out=np.zeros(prepared.n), where=here
                )
                values = self._values(str(status), here)
                if status == NEGATIVE:
                    reached = np.where(here, -values.inverse(-high, -low, 1 - within), reached)
                else:
                    reached = np.where(here, values.inverse(low, high, within), reached)
            else:
                reached[here] = point_of(status)
        return reached

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        prepared, cells = self.prepared, self.prepared.cells
        below, drawn = np.cumsum(self._shares, axis=1).T, np.zeros(prepared.n, dtype=np.int64)
        place = rng.random(prepared.n) * below[-1][cells.which]
        for of_status in below[:-1]:
            drawn += of_status[cells.which] < place
        values = np.zeros(prepared.n)
        for number, status in enumerate(prepared.statuses):
            here = drawn == number
            if status in prepared.parts:
                amounts = self._values(str(status), here).draw(rng)
                values = np.where(here, amounts if status == POSITIVE else -amounts, values)
            elif not isinstance(status, str):
                values[here] = status
        return values

    @cached_property
    def _shares(self) -> np.ndarray:
        """P(status | design), (m, S)."""
        return probabilities(self.theta, self.prepared.cells)

    def _inside(self, lower: np.ndarray, upper: np.ndarray) -> list[np.ndarray]:
        """The masses of intervals (n,) among the values of each status."""
        cut = _cut(self.prepared, lower, upper)
        return [
            ends[0] if len(ends) == 1 else self._values(str(status)).mass(*ends)
            for status, ends in cut
        ]

    def _values(self, sign: str, wanted: np.ndarray | None = None) -> Records:
        """The distribution of the absolute values of one sign; of the wanted ones (booleans (n,))
        alone, where a model can be told so.
        """
        part, theta = self.prepared.parts[sign], _part_of(self.theta, sign)
        if wanted is not None and isinstance(part.synthesizer, Transformation):
            chosen: Records = part.synthesizer.distribution(theta, part.prepared, wanted)
            return chosen
        return part.synthesizer.distribution(theta, part.prepared)


@dataclass(frozen=True, eq=False)
class TwoPartGraph:
    """The same of expressions."""

    theta: Mapping[str, Any]
    prepared: TwoParts

    def log_density(self, y: np.ndarray) -> Any:
        status, amounts = _told_apart(self.prepared, y)
        each = log_status_graph(self.theta, self.prepared.cells)[status, self.prepared.cells.which]
        for sign, (member, values) in amounts.items():
            each = each + pt.switch(member, self._values(sign).log_density(values), 0.0)
        return each

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Any:
        shares, total = pt.exp(log_status_graph(self.theta, self.prepared.cells)), 0.0
        for place, (status, ends) in enumerate(_cut(self.prepared, lower, upper)):
            inside = (
                ends[0].astype(float) if len(ends) == 1 else self._values(str(status)).mass(*ends)
            )
            total = total + shares[place][self.prepared.cells.which] * inside
        return total

    def _values(self, sign: str) -> Any:
        """The distribution of the absolute values of one sign."""
        part = self.prepared.parts[sign]
        return part.synthesizer.distribution(_part_of(self.theta, sign), part.prepared)


@cached_on_arrays
def _told_apart(
    prepared: TwoParts, y: np.ndarray
) -> tuple[np.ndarray, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The status of values (n,), and of each sign whose values they are (booleans (n,)) and the
    absolute values, every record with one.
    """
    status, amounts, y = status_of(y, prepared.statuses), {}, prepared.inside(y)
    for sign in prepared.parts:
        member = status == prepared.statuses.index(sign)
        if member.any():
            amounts[sign] = member, read_only(fill_by_rank(np.abs(y), member))
    return status, amounts


_Cut: TypeAlias = list[tuple[float | str, tuple[np.ndarray, ...]]]


def _cut(prepared: TwoParts, lower: np.ndarray, upper: np.ndarray) -> _Cut:
    """Of each status whether its single value lies in intervals (n,), or the ends of these among
    its absolute values.
    """
    return _cut_to_status(
        prepared.statuses, interval_ends(lower, prepared.n), interval_ends(upper, prepared.n)
    )


@cached_on_arrays
def _cut_to_status(statuses: tuple[float | str, ...], low: np.ndarray, high: np.ndarray) -> _Cut:
    """The same by statuses alone, which records share whatever their predictors are drawn to be."""
    cut: _Cut = []
    for status in statuses:
        if status in (POSITIVE, NEGATIVE):
            # `cached_on_arrays` holds no array by which it finds
            ends = (low.copy(), high.copy()) if status == POSITIVE else (-high, -low)
            cut.append((status, tuple(read_only(end) for end in ends)))
        else:
            cut.append((status, ((low <= point_of(status)) & (point_of(status) <= high),)))
    return cut


def point_of(status: float | str) -> float:
    """The value of a status that is a single one."""
    return 0.0 if isinstance(status, str) else status


def _part_of(theta: Draw, sign: str) -> dict[str, np.ndarray]:
    """The parameters of a part under their own names."""
    return {
        name.rpartition("::")[2]: value
        for name, value in theta.items()
        if name.startswith(f"{sign}::")
    }
