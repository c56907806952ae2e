"""Amounts told within joint patterns: columns that are bands of them, that are in their order, or
whose neighbours recover them, among the records that agree in other columns (METHODS section
13.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata

from riskweighted.common.ranks import neighbours_apart
from riskweighted.derivation.candidate_columns import LEAST, MOST_LEVELS, Columns
from riskweighted.derivation.disclosure_findings import (
    COARSENING,
    EXACT,
    FEWEST,
    ORDER,
    RECOVERED,
    REFUSE,
    WARN,
    Amounts,
    DisclosureFinding,
    gain,
    lower_limit,
)
from riskweighted.derivation.predictions import predict_by_neighbours

__all__ = ["findings_within_patterns"]

_SCREENED, _LOOKED_AT = 1_500, 5_000  # records
_BEST = 2  # groupings of either kind that are looked at on more records
_MOST_PAIRED = 12  # columns of few levels whose pairs are groupings
_FEWEST_VALUES = 3  # of a column that has an order
_SMALLEST = 3  # records of a group
_LARGEST_UNIT, _MOST_UNITS = 60, 6  # records of a unit on average; columns of units
_ROOM = 20  # changes, or steps in rank, that an order which knows nothing has beyond the least
_BANDS, _ORDER = 0.8, 0.9  # of that room
# of the records, and of what the base misses, that the neighbours in one column may not tell
_RECOVERED = 0.75, 0.6
_UNLIKELY = 6  # standard deviations
_WORTH = 0.25  # of the room, from which recovery is looked at
# of the room, that two levels use up within the known pattern beyond what they do overall, and
# beyond what a shift by level would
_APART, _PARTED, _SHIFTS = 0.1, 0.05, 20
# of the records, and of what the base misses, that two levels may not tell
_TOLD, _TOLD_GAIN = 0.5, 0.5


class _Statistic(NamedTuple):
    """How much of the ``room`` that chance leaves an order is used up (``gain``), and by how many
    standard deviations (``z``).
    """

    gain: float = 0.0
    z: float = 0.0
    room: float = 0.0

    def beyond(self, least: float) -> bool:
        """Whether it is too much."""
        return self.gain >= least and self.z > _UNLIKELY and self.room >= _ROOM


@dataclass(frozen=True, eq=False)
class _Grouping:
    """Groups of n records, ``codes`` (n,) from 0; ``by_amount`` (n,): the records in the order of
    their amounts, equal ones in a random order; ``alike`` (n,): codes of equal amounts.

    Of equal amounts in a group one record is looked at: a property of a firm, which all of its
    records hold, is told by other properties of it once.
    """

    codes: np.ndarray
    by_amount: np.ndarray
    alike: np.ndarray

    @cached_property
    def _different(self) -> np.ndarray:
        """One record of each amount of each group, by group and amount."""
        ordered = self.by_amount[np.argsort(self.codes[self.by_amount], kind="stable")]
        first = (np.diff(self.codes[ordered], prepend=-1) != 0) | (
            np.diff(self.alike[ordered], prepend=-1) != 0
        )
        return np.asarray(ordered[first])

    @cached_property
    def sizes(self) -> np.ndarray:
        """Different amounts of each group."""
        return np.bincount(self.codes[self._different], minlength=int(self.codes.max()) + 1)

    @cached_property
    def rows(self) -> np.ndarray:
        """Those in groups that are large enough."""
        return np.asarray(self._different[self.sizes[self.codes[self._different]] >= _SMALLEST])

    @cached_property
    def rank(self) -> np.ndarray:
        """Of the amount in its group, from 0; -1 for records that are not looked at."""
        rank = np.full(len(self.codes), -1)
        rank[self._different] = np.arange(len(self._different)) - np.repeat(
            np.cumsum(self.sizes) - self.sizes, self.sizes
        )
        return rank

    def bands(self, levels: np.ndarray) -> _Statistic:
        """How often levels (n,) change along the amounts, against what exchanging them within
        groups gives.

        With m_k records of level k in a group of m, changes have mean m - q/m, q the sum of m_k^2,
        and variance (q (q + m (m + 1)) - 2 m c
        - m^3) / (m^2 (m - 1)), c the sum of m_k^3 (Wallis and Wolfowitz 1943; Mood 1940).
        """
        if not len(self.rows):
            return _Statistic()
        arranged, groups = levels[self.rows], self.codes[self.rows]
        changes = float(((arranged[1:] != arranged[:-1]) & (groups[1:] == groups[:-1])).sum())
        kinds, size = int(levels.max()) + 1, len(self.sizes)
        cells = groups.astype(np.int64) * kinds + arranged
        if size * kinds <= 4 * len(levels):
            counts = np.bincount(cells, minlength=size * kinds)
            filled = np.flatnonzero(counts)
            of_group, counts = filled // kinds, counts[filled].astype(float)
        else:
            filled, number = np.unique(cells, return_counts=True)
            of_group, counts = filled // kinds, number.astype(float)
        present = self.sizes >= _SMALLEST
        squares, cubes = (
            np.bincount(of_group, counts**power, minlength=size)[present] for power in (2, 3)
        )
        least = float((np.bincount(of_group, minlength=size)[present] - 1).sum())
        m = self.sizes[present].astype(float)
        expected = float((m - squares / m).sum())
        variance = float(
            ((squares * (squares + m * (m + 1)) - 2 * m * cubes - m**3) / (m**2 * (m - 1))).sum()
        )
        return _statistic(expected, changes, least, variance, expected - least)

    def order(self, by_column: np.ndarray) -> _Statistic:
        """How far neighbours in a column lie apart in the ranks of their amounts; `by_column`: the
        records with a value, in its order.
        """
        grouping = self if len(by_column) == len(self.codes) else self._where(by_column)
        codes = grouping.codes[by_column]
        rows = by_column[np.argsort(codes, kind="stable")]
        rows = rows[
            (grouping.rank[rows] >= 0) & (grouping.sizes[grouping.codes[rows]] >= _SMALLEST)
        ]
        apart = neighbours_apart(grouping.rank[rows], grouping.codes[rows])
        mean, least = apart.expected / apart.steps, len(apart.steps)
        variance = float((apart.variance / apart.steps**2).sum())
        moved = float((apart.moved / apart.steps).sum())
        return _statistic(
            float(mean.sum()), moved, least, variance, float((apart.expected - apart.steps).sum())
        )

    def _where(self, present: np.ndarray) -> "_Grouping":
        """The records that have a value in groups apart from the others."""
        lacking = np.ones(len(self.codes), dtype=np.int64)
        lacking[present] = 0
        return _Grouping(
            _codes(2 * self.codes.astype(np.int64) + lacking), self.by_amount, self.alike
        )


def _statistic(
    expected: float, value: float, least: float, variance: float, room: float
) -> _Statistic:
    if variance <= 0 or expected <= least:
        return _Statistic()
    return _Statistic(
        (expected - value) / (expected - least), (expected - value) / float(np.sqrt(variance)), room
    )


def _codes(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers from 0 for different numbers (n,); short ones are sorted by their digits."""
    codes = np.unique(numbers, return_inverse=True)[1]
    return codes.astype(np.int16 if codes.max() < np.iinfo(np.int16).max else np.int64)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some records with all their columns."""

    amounts: Amounts
    columns: Columns
    rng: np.random.Generator
    groupings: dict[frozenset[str], _Grouping] = field(default_factory=dict)

    @cached_property
    def by_amount(self) -> np.ndarray:
        """The records in the order of their amounts, equal ones in a random order."""
        return self._in_order(self.amounts.y)

    @cached_property
    def _alike(self) -> np.ndarray:
        """Codes of equal amounts; of an amount of few values all records count."""
        values, codes = np.unique(self.amounts.y, return_inverse=True)
        return np.asarray(codes if len(values) >= FEWEST else np.arange(len(codes)))

    @cached_property
    def by_column(self) -> dict[str, np.ndarray]:
        """The records that have a number in the order of each column of numbers of several values,
        equal ones in a random order.
        """
        numbers = {
            name: values
            for name, values in self.columns.numbers.items()
            if self.columns.counts[name] >= _FEWEST_VALUES
        }
        return {name: self._in_order(values) for name, values in numbers.items()}

    @cached_property
    def _marks(self) -> dict[str, np.ndarray]:
        """A random number for each value of a column: the sums of several columns are different
        where their values are.
        """
        every = self.columns.codes.items()
        return {
            name: self.rng.integers(0, 2**63, codes.max() + 1, dtype=np.uint64)[codes]
            for name, codes in every
        }

    def _in_order(self, values: np.ndarray) -> np.ndarray:
        shuffled = self.rng.permutation(np.flatnonzero(np.isfinite(values)))
        return np.asarray(shuffled[np.argsort(values[shuffled], kind="stable")])

    def grouping(self, names: frozenset[str]) -> _Grouping:
        """Of the records that agree in some columns."""
        if names not in self.groupings:
            summed = np.zeros(len(self.amounts.y), dtype=np.uint64)
            for name in names:
                summed += self._marks[name]
            self.groupings[names] = _Grouping(_codes(summed), self.by_amount, self._alike)
        return self.groupings[names]


def findings_within_patterns(
    amounts: Amounts,
    columns: Columns,
    known: Sequence[str],
    told: set[str],
    rng: np.random.Generator,
) -> Iterator[DisclosureFinding]:
    """What each column tells within groups of records that agree in others: none, the known ones,
    all of few levels, each, each two.

    `told`: columns that are refused by themselves, which are no longer looked at. Groupings are
    screened on 1,500 records; the best two by bands and by order, and the known pattern, are judged
    on at most 5,000. Units, such as firms and households, are judged on whole ones.
    """
    several = rng.permutation(len(amounts.y))[:_LOOKED_AT]
    samples = []
    for rows in (several, several[:_SCREENED]):
        samples.append(_Sample(amounts.among(rows), columns.among(rows), rng))
    looked_at, screened = samples if len(several) > _SCREENED else (samples[0], samples[0])
    known = [name for name in known if name in columns.codes]
    units = dict(_of_units(amounts, columns, rng))
    for name in looked_at.columns.codes:
        if name not in told and name in screened.columns.codes:
            found = [
                _judged(looked_at, name, names, known)
                for names in _promising(screened, name, known)
            ]
            of_units = (
                (unit, sample)
                for unit, sample in units.items()
                if unit != name and name in sample.columns.codes
            )
            found += [_judged(sample, name, frozenset({unit}), known) for unit, sample in of_units]
            best = min(
                (finding for finding in found if finding is not None), key=_place, default=None
            )
            if best is not None:
                yield best
    for name in looked_at.columns.codes:
        if name not in told:
            yield from _two_parts(looked_at, name)


def _of_units(
    amounts: Amounts, columns: Columns, rng: np.random.Generator
) -> Iterator[tuple[str, _Sample]]:
    """Columns of many levels of several records each, such as firms, with whole ones of them: a
    fifth of the records of a firm of three tell nothing of it."""
    n = len(amounts.y)
    many = [
        name
        for name, count in columns.counts.items()
        if max(MOST_LEVELS, n / _LARGEST_UNIT) < count <= n / _SMALLEST
    ]
    for name in sorted(many, key=lambda name: -columns.counts[name])[:_MOST_UNITS]:
        order = rng.permutation(columns.counts[name])[columns.codes[name]]
        rows = np.argsort(order, kind="stable")
        rows = np.sort(
            rows[: int(np.searchsorted(order[rows], order[rows[min(_LOOKED_AT, n) - 1]], "right"))]
        )
        sample = _Sample(amounts.among(rows), columns.among(rows), rng)
        if name in sample.columns.codes:
            yield name, sample


_PLACES = {EXACT: 0, RECOVERED: 1, ORDER: 2, COARSENING: 3}


def _place(finding: DisclosureFinding) -> tuple[bool, int, int]:
    """What is refused first, then what is said best, then what needs fewest columns."""
    return finding.verdict != REFUSE, _PLACES[finding.rule], len(finding.relation)


def _promising(sample: _Sample, name: str, known: Sequence[str]) -> list[frozenset[str]]:
    """The groupings that are worth a look at more records."""
    columns = sample.columns
    few = [other for other in columns.grouping if other != name]
    candidates = [
        frozenset[str](),
        frozenset(known) - {name},
        frozenset(few),
        *(frozenset({other}) for other in few),
    ]
    if len(columns.grouping) <= _MOST_PAIRED:
        candidates += map(frozenset, combinations(few, 2))
    levels = columns.codes[name]
    by_bands, by_order = list[tuple[float, int]](), list[tuple[float, int]]()
    candidates = [names for names in dict.fromkeys(candidates) if names <= columns.codes.keys()]
    for place, names in enumerate(candidates):
        grouping = sample.grouping(names)
        if columns.counts[name] <= len(levels) / 2:
            statistic = grouping.bands(levels)
            by_bands += [(statistic.gain, place)] * (
                statistic.z > _UNLIKELY / 2 and statistic.room >= _ROOM / 4
            )
        if name in sample.by_column:
            statistic = grouping.order(sample.by_column[name])
            by_order += [(statistic.gain, place)] * (
                statistic.z > _UNLIKELY / 2 and statistic.room >= _ROOM / 4
            )
    best = [
        place
        for ranked in (by_bands, by_order)
        for worth, place in sorted(ranked, reverse=True)[:_BEST]
        if worth >= _WORTH
    ]
    return list(dict.fromkeys([candidates[place] for place in best] + [frozenset(known) - {name}]))


def _judged(
    sample: _Sample, name: str, names: frozenset[str], known: Sequence[str]
) -> DisclosureFinding | None:
    """What a column tells within a grouping."""
    columns = sample.columns
    amounts = sample.amounts
    grouping = sample.grouping(names.intersection(sample.columns.codes))
    within = _in_words(names, columns)
    order = grouping.order(sample.by_column[name]) if name in sample.by_column else _Statistic()
    if order.gain >= _WORTH:
        values = columns.numbers[name]
        guesses = [
            predict_by_neighbours(values, amounts.y, grouping.codes, each=each, rng=sample.rng)
            for each in (1, 2)
        ]
        for guess in guesses:
            found = amounts.refused((name,), f"any function of it{within}", guess, *_RECOVERED)
            if found is not None:
                return found
        if order.beyond(_ORDER):
            return DisclosureFinding(
                (name,), f"its order{within}", ORDER, amounts.within_reach(guesses[0]), amounts.base
            )
    jointly = len(names) > 1 and names >= {*known} - {name}
    return _banded(
        sample, name, "its levels", columns.codes[name], grouping, within, jointly=jointly
    )


def _banded(
    sample: _Sample,
    name: str,
    what: str,
    levels: np.ndarray,
    grouping: _Grouping,
    within: str,
    *,
    jointly: bool = False,
) -> DisclosureFinding | None:
    """Levels that are bands of the amount within groups: refused, but two of them only where they
    tell half of what is not told anyway, or `jointly`, within the known columns, where they are cut
    at another place in each: a half of a pattern is, an age band or a sex that shifts the amount is
    not."""
    parts = (
        np.unique(levels[~sample.columns.missing[name]])
        if what == "its levels"
        else np.unique(levels)
    )
    if len(np.unique(levels)) > len(levels) / 2 or not grouping.bands(levels).beyond(_BANDS):
        return None
    share = sample.amounts.told_by(
        _codes(grouping.codes.astype(np.int64) * (int(levels.max()) + 1) + levels)
    )
    base, least = sample.amounts.base_narrow, lower_limit(share, len(levels))
    cut_apart = (
        jointly
        and len(parts) == 2
        and grouping.bands(levels).gain - sample.grouping(frozenset()).bands(levels).gain > _APART
        and _beyond_a_shift(sample, levels, grouping)
    )
    refused = len(parts) > 2 or cut_apart or (least >= _TOLD and gain(least, base) >= _TOLD_GAIN)
    return DisclosureFinding(
        (name,),
        f"{what} are intervals of it{within}",
        COARSENING,
        share,
        base,
        REFUSE if refused else WARN,
    )


def _beyond_a_shift(sample: _Sample, levels: np.ndarray, grouping: _Grouping) -> bool:
    """Whether two levels part the amounts of groups better than levels that shift them would.

    Of the amounts' normal scores the shift is that within groups, and what it leaves is exchanged
    among all records.
    """
    rows, every = grouping.rows, len(sample.amounts.y)
    scores = norm.ppf((rankdata(sample.amounts.y) - 0.5) / every)[rows]
    upper = (levels[rows] == levels.max()).astype(float)
    groups = np.unique(grouping.codes[rows], return_inverse=True)[1]
    sizes = np.bincount(groups)

    def within(values: np.ndarray) -> np.ndarray:
        return np.asarray(values - (np.bincount(groups, values) / sizes)[groups])

    apart = within(upper)
    shift = float(apart @ scores / (apart @ apart))
    left = (within(scores) - shift * apart) * np.sqrt(sizes / (sizes - 1))[groups]
    parted = levels[rows]
    gains = [
        _Grouping(
            groups, np.argsort(shift * upper + sample.rng.permutation(left)), np.arange(len(rows))
        )
        .bands(parted)
        .gain
        for _ in range(_SHIFTS)
    ]
    more = grouping.bands(levels).gain - float(np.mean(gains))
    return more > max(_PARTED, _UNLIKELY * float(np.std(gains, ddof=1)))


def _two_parts(sample: _Sample, name: str) -> Iterator[DisclosureFinding]:
    """A column whose missing, or whose commonest, values are of the records of one interval."""
    codes, missing = sample.columns.codes[name], sample.columns.missing[name]
    parts = {"its missing and its other values": missing}
    if codes.max() > 1:
        parts["its commonest and its other values"] = codes == np.bincount(codes).argmax()
    for what, part in parts.items():
        if LEAST <= part.sum() <= len(part) - LEAST:
            found = _banded(
                sample, name, what, part.astype(np.int64), sample.grouping(frozenset()), ""
            )
            if found is not None:
                yield found
                return


def _in_words(names: frozenset[str], columns: Columns) -> str:
    """Where a column tells, for a message."""
    named = [name for name in columns.codes if name in names]
    if len(named) > 4:
        return f" within the {len(named)} other columns of at most {MOST_LEVELS} levels"
    return f" within {' and '.join(named)}" if named else ""
