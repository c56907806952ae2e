"""How near a synthesized column is to the confidential one, against what fresh draws of the same posterior give by chance.

Every test counts something over the records (or correlates) and compares it with its chance:

- records whose synthetic value lies within a tolerance of the confidential one times a factor (other units, another sign), at a ladder
  of tolerances. Below 0.1 % chance is the share of fresh values within 10 % of that place, times the ratio of the widths: a density is
  smooth there, so a handful of such records is evidence whoever drew them. Records whose value is common (it occurs twice, or is round)
  and wider tolerances are compared with the fresh draws themselves;
- records with one and the same ratio to, or difference from, the confidential value, whatever it is;
- confidential values that stand in other rows;
- missing values in the rows whose confidential value is missing;
- the order of the records, and that of the low digits; low digits that are those of the confidential values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.common.ranks import Ranked, order_alike

__all__ = ["Chance", "chance_of", "equal_rows", "find_nearness", "most_by_chance"]

FACTORS = (1, -1, 10, 0.1, 100, 0.01, 1000, 0.001, 12, 1 / 12, 52, 1 / 52)
_OTHER_ROWS = FACTORS[:8]
_FINE, _WIDE = (1e-6, 1e-5, 1e-4), (1e-3, 1e-2, 3e-2)
_LADDER = (*_FINE, *_WIDE)
_BAND = 0.1  # relative: within it a density is taken for even
_SPREADS = 6  # standard deviations
_NEXT_TO_ONE = 1 - 1e-12
_UNLIKELY = 1e-8
_EQUAL_UNLIKELY = 1e-5  # of equal values, the likeliest leak
_POSSIBLE = 3  # standard deviations above a Poisson mean, below which nothing is as unlikely as that
_HALF = 0.5001  # of a unit, with room for binary fractions
_LARGEST = 10  # records of largest absolute value, looked at by themselves
_ROUND = 100  # a multiple of this many units is a round value
_DIGITS = 7
_SIZES = 1024  # room for the power of ten of a number beside its digits
_TIMES = 1 << 29  # and for how often it occurs: together 63 bits
_NEIGHBOURHOOD = 50  # windows on either side that tell how dense ratios lie


class _Rung(NamedTuple):
    """One factor and one tolerance: how many records come near by chance."""

    tolerance: float
    most: float  # of the records whose count is compared with that of the fresh draws: all, or those that are not rare
    mean: float
    expected: tuple[float, float] | None  # of each group of rare values; None where all records are compared


@dataclass(frozen=True, eq=False)
class Chance:
    """What fresh datasets (F, n) of one posterior have in common with the confidential values (n,), NaN where missing. Confidential; made
    by `chance_of`.

    ``unit``: what released values are multiples of, or nearly.
    """

    values: np.ndarray = field(repr=False)
    unit: float
    fresh: np.ndarray = field(repr=False)

    @cached_property
    def rare(self) -> np.ndarray:
        """Records whose value occurs once and is not round, (n,)."""
        once = ~pd.Series(self.values).duplicated(keep=False).to_numpy()
        return np.asarray(once & ~self.is_round(self.values) & ~np.isnan(self.values))

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Records of rare values, and those of the largest absolute values among them, (n,) each."""
        largest = np.zeros(len(self.values), dtype=bool)
        largest[np.argsort(-np.abs(self.values))[:_LARGEST]] = True  # missing ones come last
        return self.rare, self.rare & largest

    def is_round(self, values: np.ndarray) -> np.ndarray:
        """Which values are multiples of 100 units."""
        coarse = values / (_ROUND * self.unit)
        return np.asarray(np.abs(coarse - np.rint(coarse)) < 1e-9)

    def half_width(self, factor: float, tolerance: float) -> np.ndarray:
        """Of the interval around a value times a factor, at least that of rounding, (n,)."""
        return np.asarray(np.maximum(tolerance * np.abs(factor * self.values), _HALF * self.unit))

    def near(self, drawn: np.ndarray, factor: float, tolerance: float) -> np.ndarray:
        """Where drawn values, (n,) or (F, n), lie within a tolerance of the confidential ones times a factor."""
        return np.asarray(np.abs(drawn - factor * self.values) <= self.half_width(factor, tolerance))

    @cached_property
    def rungs(self) -> list[list[_Rung]]:
        """By factor the ladder of tolerances."""
        return [[self._rung(factor, tolerance) for tolerance in _LADDER] for factor in FACTORS]

    def _rung(self, factor: float, tolerance: float) -> _Rung:
        fresh = self.near(self.fresh, factor, tolerance)
        compared, expected = np.ones(len(self.values), dtype=bool), None
        if tolerance in _FINE:
            band = np.maximum(_BAND * np.abs(factor * self.values), 50 * self.unit)  # within it a density is taken for even
            inside = (np.abs(self.fresh - factor * self.values) <= band).sum(axis=0)
            probability = (inside + 0.5) / (len(self.fresh) + 1) / band * self.half_width(factor, tolerance)
            compared, expected = ~self.rare, (float(probability[self.groups[0]].sum()), float(probability[self.groups[1]].sum()))
        most = most_by_chance(fresh[:, compared].sum(axis=1), int(compared.sum()))
        return _Rung(tolerance, most, float(fresh.sum(axis=1).mean()), expected)

    @cached_property
    def gaps(self) -> np.ndarray:
        """In how many records each fresh dataset misses the value and the confidential data too, (F,)."""
        return np.asarray((np.isnan(self.fresh) & np.isnan(self.values)).sum(axis=1))

    @cached_property
    def keys(self) -> list[tuple[float, np.ndarray]]:
        """By factor: the keys of the values times it."""
        return [(factor, _keys(factor * self.values)) for factor in _OTHER_ROWS]

    @cached_property
    def in_common(self) -> np.ndarray:
        """How many values of each fresh dataset occur in the confidential column times a factor, (F, factors)."""
        return np.array([[_in_common(drawn, theirs) for _, theirs in self.keys] for drawn in map(_keys, self.fresh)])

    @cached_property
    def ranked(self) -> Ranked:
        """The values, whose order every column is compared with."""
        return Ranked(self.values)

    @cached_property
    def order(self) -> np.ndarray:
        """Rank correlation of each fresh dataset with the confidential values, (F,)."""
        return np.array([order_alike(drawn, self.ranked) for drawn in self.fresh])

    @cached_property
    def low_digits(self) -> list[tuple[float, np.ndarray]]:
        """By power of ten: the digits of the values below it, (n,)."""
        spread = float(np.subtract(*np.nanquantile(self.values, [0.9, 0.1])))
        if spread <= 10 * self.unit:
            return []
        moduli = 10.0 ** np.arange(np.ceil(np.log10(10 * self.unit)), np.floor(np.log10(spread)) + 1)
        return [(float(modulus), np.mod(self.values, modulus)) for modulus in moduli]

    def digits(self, drawn: np.ndarray) -> list[tuple[float, int]]:
        """By power of ten: how the digits below it order the records, and in how many they are those of the confidential values."""
        alike = []
        for modulus, theirs in self.low_digits:
            low = np.mod(drawn, modulus)
            apart = np.abs(low - theirs)
            same = int((np.minimum(apart, modulus - apart) <= _HALF * self.unit).sum())
            alike.append((order_alike(low, self.ranked), same))
        return alike

    @cached_property
    def fresh_digits(self) -> np.ndarray:
        """`digits` of each fresh dataset, (F, powers, 2)."""
        return np.array([self.digits(drawn) for drawn in self.fresh]).reshape(len(self.fresh), -1, 2)


def chance_of(fresh: Iterable[np.ndarray], values: np.ndarray, unit: float | None = None) -> Chance:
    """The chance of one scheme, from fresh datasets (n,), at least 10, of the posterior that are not released.

    ``values`` (n,): the confidential ones, NaN where missing; ``unit``: the precision of the released values, else the seventh digit
    of the spread of the confidential ones.
    """
    spread = float(np.subtract(*np.nanquantile(values, [0.9, 0.1]))) or float(np.nanmax(np.abs(values))) or 1.0
    unit = unit or 10.0 ** (np.floor(np.log10(spread)) - _DIGITS)
    return Chance(np.asarray(values, dtype=float), unit, np.array([np.asarray(drawn, dtype=float) for drawn in fresh]))


def equal_rows(drawn: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which rows hold the same value but for rounding to 6 digits, (n,)."""
    return np.asarray(np.abs(drawn - values) <= 1e-6 * np.abs(values))


def most_by_chance(counts: np.ndarray, records: float = np.inf) -> float:
    """The largest count, of so many records, that fresh ones explain; a share of them spreads as a binomial."""
    mean = float(counts.mean())
    return float(mean + _SPREADS * max(counts.std(ddof=1), np.sqrt(mean * max(1 - mean / max(records, 1), 0.0))) + 3)


def find_nearness(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """What is nearer in a released column (n,) than chance allows, one line each, in words and counts."""
    gaps = np.isnan(chance.values)
    both = int((np.isnan(drawn) & gaps).sum())
    if both > most_by_chance(chance.gaps, int(gaps.sum())):
        yield f"values missing where the confidential ones are in {both} rows; chance gives {chance.gaps.mean():.1f}"
    yield from _same_rows(drawn, chance)
    yield from _one_relation(drawn, chance)
    yield from _other_rows(drawn, chance)
    if _too_alike(order_alike(drawn, chance.ranked), chance.order, len(drawn)):
        yield "an order of the records that is that of the confidential values"
    yield from _low_digits(drawn, chance)


def _same_rows(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """The ladder of tolerances, for every factor."""
    for factor, rungs in zip(FACTORS, chance.rungs, strict=True):
        for rung in rungs:
            near = chance.near(drawn, factor, rung.tolerance)
            too_many = (near if rung.expected is None else near & ~chance.rare).sum() > rung.most
            if not too_many and rung.expected is not None and (near & chance.rare).sum() > 1:
                unlikely = _EQUAL_UNLIKELY if (factor, rung.tolerance) == (1, _FINE[0]) else _UNLIKELY
                near_in = [int((near & group).sum()) for group in chance.groups]
                too_many = any(stats.poisson.sf(near_in[k] - 1, rung.expected[k]) < unlikely for k in range(len(near_in)))
            if too_many:
                how = "the confidential value" if factor == 1 else f"{factor:.4g} times the confidential value"
                yield f"{how} in {int(near.sum())} rows of {len(drawn)} (to {rung.tolerance:g} of it); chance gives {rung.mean:.1f}"
                return


def _one_relation(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """One ratio, or one difference, in more records than lie so near to each other by chance."""
    values, unit, alone = chance.values, chance.unit, ~pd.Series(drawn).duplicated(keep=False).to_numpy()
    usable = chance.rare & (drawn != 0) & ~chance.is_round(drawn) & alone
    old, new = values[usable], drawn[usable]
    if len(old) < 4:
        return
    ratios, smallest = np.log(np.abs(new / old)) + 100 * (new * old < 0), np.minimum(np.abs(old), np.abs(new))
    order, differences, scale = np.argsort(ratios), np.sort(new - old), float(np.median(np.abs(old)))
    ratios, smallest = ratios[order], smallest[order]
    for width in (1e-6, 1e-5, 1e-4):
        if _clusters(ratios[unit <= width / 2 * smallest], width):
            yield "one ratio to the confidential value in too many rows"
            return
        if _clusters(differences, max(width * scale, 2 * unit)):
            yield "one difference from the confidential value in too many rows"
            return


def _clusters(numbers: np.ndarray, width: float) -> bool:
    """Whether more of these sorted numbers lie within one width than their neighbourhood explains."""
    if len(numbers) < 4:
        return False
    inside = np.searchsorted(numbers, numbers + width, side="right") - np.arange(len(numbers))
    several = np.flatnonzero(inside >= 4)
    start, inside = numbers[several], inside[several]
    low = np.searchsorted(numbers, start - _NEIGHBOURHOOD * width)
    around = np.searchsorted(numbers, start + (_NEIGHBOURHOOD + 1) * width, side="right") - low - inside
    expected = (around + 1) / (2 * _NEIGHBOURHOOD)
    possible = inside - 1 > expected + _POSSIBLE * np.sqrt(expected)
    # The first of a window is there anyway.
    chances = stats.poisson.sf(inside[possible] - 2, expected[possible])
    return bool((chances * len(numbers) < _UNLIKELY).any())


def _other_rows(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """Confidential values in other rows."""
    keys = _keys(drawn)
    for (factor, theirs), fresh in zip(chance.keys, chance.in_common.T, strict=True):
        common = _in_common(keys, theirs)
        if common > most_by_chance(fresh):
            times = "" if factor == 1 else f" times {factor:g}"
            yield f"{common} confidential values{times}, in other rows; chance gives {fresh.mean():.1f}"
            return


def _in_common(left: np.ndarray, right: np.ndarray) -> int:
    """How many values of one column find a partner of their own in the other, whatever its row; by the keys of both."""
    both = np.sort(np.concatenate([left, right]))
    return int((both[1:] == both[:-1]).sum())


def _keys(values: np.ndarray) -> np.ndarray:
    """A number for each value to 7 digits and each time that it occurs, (m,), so that no two are the same; without missing ones."""
    values = values[~np.isnan(values)]
    size = np.floor(np.log10(np.abs(values), out=np.zeros(len(values)), where=values != 0)).clip(-_SIZES // 4)
    digits = np.rint(values * 10.0 ** (_DIGITS - 1 - size))
    codes = np.sort(digits.astype(np.int64) * _SIZES + size.astype(np.int64))
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, dtype=np.int64)
    occurrence = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    return np.asarray(codes * _TIMES + occurrence)


def _too_alike(correlation: float, fresh: np.ndarray, n: int) -> bool:
    """Whether a correlation of n records exceeds those of fresh draws, in Fisher's scale, where 1 is beyond every chance."""
    theirs = np.arctanh(np.minimum(fresh, _NEXT_TO_ONE))
    spread = max(float(theirs.std(ddof=1)), 1 / np.sqrt(max(n - 3, 1)))
    return bool(np.arctanh(min(correlation, _NEXT_TO_ONE)) > theirs.mean() + _SPREADS * spread)


def _low_digits(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """Digits below a power of ten that order the records, or are those of the confidential values."""
    by_power = zip(chance.digits(drawn), chance.low_digits, np.moveaxis(chance.fresh_digits, 1, 0), strict=True)
    for (alike, same), (modulus, _), fresh in by_power:
        if _too_alike(alike, fresh[:, 0], len(drawn)) or same > most_by_chance(fresh[:, 1]):
            yield f"digits below {modulus:g} that tell the confidential values"
            return
