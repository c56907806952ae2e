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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.risk.copies import order_alike

__all__ = ["Chance", "chance_of", "equal_rows", "find_nearness", "most_by_chance"]

FACTORS = (1, -1, 10, 0.1, 100, 0.01, 1000, 0.001, 12, 1 / 12, 52, 1 / 52)
_FINE, _WIDE = (1e-6, 1e-5, 1e-4), (1e-3, 1e-2, 3e-2)
_BAND = 0.1  # relative: within it a density is taken for even
_SPREADS = 6  # standard deviations
_UNLIKELY = 1e-8
_EQUAL_UNLIKELY = 1e-5  # of equal values, the likeliest leak
_HALF = 0.5001  # of a unit, with room for binary fractions
_LARGEST = 10  # records of largest absolute value, looked at by themselves
_ROUND = 100  # a multiple of this many units is a round value
_DIGITS = 7
_NEIGHBOURHOOD = 50  # windows on either side that tell how dense ratios lie


class _Rung(NamedTuple):
    """One factor and one tolerance: how many records come near by chance."""

    factor: float
    tolerance: float
    compared: np.ndarray  # records whose count is compared with that of the fresh draws, (n,)
    most: float
    mean: float
    expected: np.ndarray | None  # probability of the others, (n,)


@dataclass(frozen=True, eq=False)
class Chance:
    """Confidential values and fresh datasets of one posterior. Confidential; made by `chance_of`.

    Attributes
    ----------
    values : array (n,)
    fresh : array (F, n)
    unit : float
        What released values are multiples of, or nearly.
    """

    values: np.ndarray = field(repr=False)
    fresh: np.ndarray = field(repr=False)
    unit: float

    @cached_property
    def rare(self) -> np.ndarray:
        """Records whose value occurs once and is not round, (n,)."""
        once = ~pd.Series(self.values).duplicated(keep=False).to_numpy()
        rare: np.ndarray = once & ~self.is_round(self.values) & ~np.isnan(self.values)
        return rare

    def is_round(self, values: np.ndarray) -> np.ndarray:
        """Which values are multiples of 100 units."""
        coarse = values / (_ROUND * self.unit)
        round_values: np.ndarray = np.abs(coarse - np.rint(coarse)) < 1e-9
        return round_values

    def half_width(self, factor: float, tolerance: float) -> np.ndarray:
        """Of the interval around each record's value times the factor, at least that of rounding, (n,)."""
        width: np.ndarray = np.maximum(tolerance * np.abs(factor * self.values), _HALF * self.unit)
        return width

    def near(self, drawn: np.ndarray, factor: float, tolerance: float) -> np.ndarray:
        """Which records' drawn value lies near the factor times their own, (..., n)."""
        close: np.ndarray = np.abs(drawn - factor * self.values) <= self.half_width(factor, tolerance)
        return close

    def probability(self, factor: float, tolerance: float) -> np.ndarray:
        """Of a value near by chance, for each record, from the fresh values within 10 %, (n,)."""
        band = np.maximum(_BAND * np.abs(factor * self.values), 50 * self.unit)
        inside = (np.abs(self.fresh - factor * self.values) <= band).sum(axis=0)
        share = (inside + 0.5) / (len(self.fresh) + 1)
        estimate: np.ndarray = share * self.half_width(factor, tolerance) / band
        return estimate

    @cached_property
    def rungs(self) -> list[_Rung]:
        """The ladder of tolerances, for every factor."""
        every = np.ones(len(self.values), dtype=bool)
        found = []
        for factor in FACTORS:
            for tolerance in (*_FINE, *_WIDE):
                fresh = self.near(self.fresh, factor, tolerance)
                compared, expected = (~self.rare, self.probability(factor, tolerance)) if tolerance in _FINE else (every, None)
                most = most_by_chance(fresh[:, compared].sum(axis=1), int(compared.sum()))
                found.append(_Rung(factor, tolerance, compared, most, float(fresh.sum(axis=1).mean()), expected))
        return found

    @cached_property
    def largest(self) -> np.ndarray:
        """The records of largest absolute value, (n,)."""
        largest = np.zeros(len(self.values), dtype=bool)
        largest[np.argsort(-np.abs(self.values))[:_LARGEST]] = True  # missing ones come last
        return largest

    @cached_property
    def in_common(self) -> list[tuple[float, np.ndarray]]:
        """By factor: how many values of each fresh dataset occur in the confidential column, (F,)."""
        return [(factor, np.array([_in_common(one, factor * self.values) for one in self.fresh])) for factor in FACTORS[:8]]

    @cached_property
    def order(self) -> np.ndarray:
        """Rank correlation of each fresh dataset with the confidential values, (F,)."""
        return np.array([order_alike(one, self.values) for one in self.fresh])

    @cached_property
    def digits(self) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """By power of ten: how the digits below it order the records of each fresh dataset, and in how many they are the same."""
        spread = float(np.subtract(*np.nanquantile(self.values, [0.9, 0.1])))
        if spread <= 10 * self.unit:
            return []
        moduli = 10.0 ** np.arange(np.ceil(np.log10(10 * self.unit)), np.floor(np.log10(spread)) + 1)
        return [
            (
                float(modulus),
                np.array([self.digits_alike(one, modulus) for one in self.fresh]),
                np.array([self.digits_same(one, modulus) for one in self.fresh]),
            )
            for modulus in moduli
        ]

    def digits_alike(self, column: np.ndarray, modulus: float) -> float:
        """Rank correlation of a column's digits below a power of ten with the confidential values."""
        return order_alike(np.mod(column, modulus), self.values)

    def digits_same(self, column: np.ndarray, modulus: float) -> int:
        """How many records have the digits of the confidential values below a power of ten."""
        apart = np.abs(np.mod(column, modulus) - np.mod(self.values, modulus))
        return int((np.minimum(apart, modulus - apart) <= _HALF * self.unit).sum())

    @cached_property
    def gaps(self) -> np.ndarray:
        """In how many records each fresh dataset misses the value and the confidential data too, (F,)."""
        return np.asarray((np.isnan(self.fresh) & np.isnan(self.values)).sum(axis=1))

    @cached_property
    def equal(self) -> float:
        """Rows that equal the confidential value by chance, mean over fresh datasets."""
        return float(np.mean([equal_rows(drawn, self.values).sum() for drawn in self.fresh]))

    @cached_property
    def most_equal(self) -> float:
        return most_by_chance(np.array([equal_rows(drawn, self.values).sum() for drawn in self.fresh]), len(self.values))


def chance_of(fresh: Sequence[np.ndarray], values: np.ndarray, unit: float | None = None) -> Chance:
    """The chance of one scheme.

    Parameters
    ----------
    fresh : sequence of arrays (n,)
        At least 10 datasets of the posterior that are not released.
    values : array (n,)
        The confidential values, NaN where missing.
    unit : float, optional
        The precision of the released values; without it the seventh digit of the values' spread.
    """
    spread = float(np.subtract(*np.nanquantile(values, [0.9, 0.1]))) or float(np.nanmax(np.abs(values))) or 1.0
    return Chance(np.asarray(values, dtype=float), np.array(fresh, dtype=float), unit or 10.0 ** (np.floor(np.log10(spread)) - _DIGITS))


def equal_rows(drawn: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which rows hold the same value but for rounding to 6 digits, (n,)."""
    equal: np.ndarray = np.abs(drawn - values) <= 1e-6 * np.abs(values)
    return equal


def most_by_chance(counts: np.ndarray, records: float = np.inf) -> float:
    """The largest count, of so many records, that fresh ones explain; a share of them spreads as a binomial."""
    mean = float(counts.mean())
    return float(mean + _SPREADS * max(counts.std(ddof=1), np.sqrt(mean * max(1 - mean / max(records, 1), 0.0))) + 3)


def find_nearness(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """What is nearer in a column than chance allows, one line each, in words and counts.

    Parameters
    ----------
    drawn : array (n,)
        The released column.
    chance : Chance
    """
    yield from _same_gaps(drawn, chance)
    yield from _same_rows(drawn, chance)
    yield from _one_relation(drawn, chance)
    yield from _other_rows(drawn, chance)
    yield from _same_order(drawn, chance)
    yield from _low_digits(drawn, chance)


def _same_gaps(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """Values that are missing in the very rows where the confidential ones are."""
    both = int((np.isnan(drawn) & np.isnan(chance.values)).sum())
    if both > most_by_chance(chance.gaps, int(np.isnan(chance.values).sum())):
        yield f"values missing where the confidential ones are in {both} rows; chance gives {chance.gaps.mean():.1f}"


def _same_rows(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """The ladder of tolerances, for every factor."""
    groups = (chance.rare, chance.rare & chance.largest)
    for rung in chance.rungs:
        near = chance.near(drawn, rung.factor, rung.tolerance)
        unlikely = _EQUAL_UNLIKELY if (rung.factor, rung.tolerance) == (1, _FINE[0]) else _UNLIKELY
        too_many = near[rung.compared].sum() > rung.most
        if not too_many and rung.expected is not None and near[chance.rare].sum() > 1:
            too_many = any(stats.poisson.sf(near[group].sum() - 1, rung.expected[group].sum()) < unlikely for group in groups)
        if too_many:
            how = "the confidential value" if rung.factor == 1 else f"{rung.factor:.4g} times the confidential value"
            yield f"{how} in {int(near.sum())} rows of {len(near)} (to {rung.tolerance:g} of it); chance gives {rung.mean:.1f}"
            return


def _one_relation(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """One ratio, or one difference, in more records than lie so near to each other by chance."""
    values = chance.values
    usable = chance.rare & (drawn != 0) & ~chance.is_round(drawn) & ~pd.Series(drawn).duplicated(keep=False).to_numpy()
    own, new = values[usable], drawn[usable]
    if len(own) < 4:
        return
    ratios, smallest = np.log(np.abs(new / own)) + 100 * (new * own < 0), np.minimum(np.abs(own), np.abs(new))
    scale = float(np.median(np.abs(own)))
    for width in (1e-6, 1e-5, 1e-4):
        if _clusters(ratios[chance.unit <= width / 2 * smallest], width):
            yield "one ratio to the confidential value in too many rows"
            return
        if _clusters(new - own, max(width * scale, 2 * chance.unit)):
            yield "one difference from the confidential value in too many rows"
            return


def _clusters(numbers: np.ndarray, width: float) -> bool:
    """Whether more numbers lie within one width than their neighbourhood explains."""
    numbers = np.sort(numbers)
    if len(numbers) < 4:
        return False
    start = np.arange(len(numbers))
    inside = np.searchsorted(numbers, numbers + width, side="right") - start
    low = np.searchsorted(numbers, numbers - _NEIGHBOURHOOD * width)
    around = np.searchsorted(numbers, numbers + (_NEIGHBOURHOOD + 1) * width, side="right") - low - inside
    expected = (around + 1) / (2 * _NEIGHBOURHOOD)
    unlikely = stats.poisson.sf(inside - 2, expected) * len(numbers) < _UNLIKELY  # the first of a window is there anyway
    return bool((unlikely & (inside >= 4)).any())


def _other_rows(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """Confidential values in other rows."""
    for factor, fresh in chance.in_common:
        found = _in_common(drawn, factor * chance.values)
        if found > most_by_chance(fresh):
            times = "" if factor == 1 else f" times {factor:g}"
            yield f"{found} confidential values{times}, in other rows; chance gives {fresh.mean():.1f}"
            return


def _in_common(drawn: np.ndarray, values: np.ndarray) -> int:
    """How many values of one column find a partner of their own in the other, whatever its row; to 7 digits."""
    codes = [np.unique(_seven_digits(column[~np.isnan(column)]), return_counts=True) for column in (drawn, values)]
    (left, of_left), (right, of_right) = codes
    _, at_left, at_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return int(np.minimum(of_left[at_left], of_right[at_right]).sum())


def _seven_digits(values: np.ndarray) -> np.ndarray:
    size = np.floor(np.log10(np.abs(values), out=np.zeros(len(values)), where=values != 0))
    digits: np.ndarray = np.rint(values * 10.0 ** (_DIGITS - 1 - size)) + 1j * size
    return digits


def _same_order(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    if _too_alike(order_alike(drawn, chance.values), chance.order, len(drawn)):
        yield "an order of the records that is that of the confidential values"


def _too_alike(found: float, fresh: np.ndarray, n: int) -> bool:
    """Whether a correlation of n records exceeds those of fresh draws."""
    spread = max(float(fresh.std(ddof=1)), (1 - float(fresh.mean()) ** 2) / np.sqrt(n))
    return bool(found > fresh.mean() + _SPREADS * spread)


def _low_digits(drawn: np.ndarray, chance: Chance) -> Iterator[str]:
    """Digits below a power of ten that order the records, or are those of the confidential values."""
    for modulus, alike, same in chance.digits:
        if _too_alike(chance.digits_alike(drawn, modulus), alike, len(drawn)) or chance.digits_same(drawn, modulus) > most_by_chance(same):
            yield f"digits below {modulus:g} that tell the confidential values"
            return
