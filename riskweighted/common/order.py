"""Order statistics of numbers that come in parts, exactly, from counts in bins whose number is
bounded.

Numbers are ordered as the bits by which they are stored, and those alike in their leading bits make
a bin. A count of bins holds as many leading bits as leave no more than a million bins: with few
different numbers all 64, and every order statistic is known. Else the bins in which the wanted ones
lie are named, and a further look at the numbers counts what lies in those alone; three such looks
suffice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

__all__ = ["Bins", "OrderCounts"]

_MOST = 2**20  # bins that are kept apart
_STEPS = (64, 48, 32, 16)  # leading bits by which numbers are told apart
_SIGN = np.uint64(2**63)


class Bins(NamedTuple):
    """Bins of numbers alike in ``bits`` leading bits; ``first`` (m,): the first pattern of each, in
    order.
    """

    bits: int
    first: np.ndarray


@dataclass(frozen=True, eq=False)
class OrderCounts:
    """How many of some numbers lie in each bin: ``first`` (m,) its first pattern, in order,
    ``bits`` (m,) that it shares, ``counts`` (m,).

    ``fewest``: how many bits a bin shares at the least, however many bins that leaves.
    """

    first: np.ndarray = field(repr=False)
    bits: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    fewest: int = _STEPS[-1]

    @classmethod
    def of(cls, values: np.ndarray, within: Bins | None = None) -> "OrderCounts":
        """Those of numbers (n,), none of them NaN; of those alone that lie in some bins,
        `within`.
        """
        values, fewest = np.asarray(values, dtype=float), _STEPS[-1]
        if within is not None:
            lead, fewest = _leading(_patterns(values), within.bits), within.bits + _STEPS[-1]
            places = np.minimum(np.searchsorted(within.first, lead), len(within.first) - 1)
            values = values[within.first[places] == lead]
        patterns = _patterns(np.sort(values))
        return _compact(patterns, np.ones(len(patterns), dtype=np.int64), _STEPS[0], fewest)

    def __add__(self, other: "OrderCounts") -> "OrderCounts":
        """Of two counts of the same look at two parts."""
        bits = min(int(each.bits.min(initial=_STEPS[0])) for each in (self, other))
        first = _leading(np.concatenate([self.first, other.first]), bits)
        order = np.argsort(first, kind="stable")
        return _compact(
            first[order], np.concatenate([self.counts, other.counts])[order], bits, self.fewest
        )

    def __len__(self) -> int:
        """How many numbers."""
        return int(self.counts.sum())

    def unsettled(self, ranks: Sequence[int]) -> Bins | None:
        """The bins of the numbers of these ranks, 0 the lowest, that hold more than one number;
        None where all are known.
        """
        places = np.unique(self._places(ranks))
        places = places[self.bits[places] < _STEPS[0]]
        return None if len(places) == 0 else Bins(int(self.bits[places].min()), self.first[places])

    def finer(self, counts: "OrderCounts") -> "OrderCounts":
        """With these counts of some of the bins in the place of the bins."""
        if not len(counts):
            return self
        kept = np.ones(len(self.first), dtype=bool)
        for bits in np.unique(self.bits[self.bits < int(counts.bits.min())]).tolist():
            kept &= ~((self.bits == bits) & np.isin(self.first, _leading(counts.first, bits)))
        arrays = (
            (self.first, counts.first),
            (self.bits, counts.bits),
            (self.counts, counts.counts),
        )
        first, bits, each = (np.concatenate([mine[kept], theirs]) for mine, theirs in arrays)
        order = np.argsort(first, kind="stable")
        return OrderCounts(first[order], bits[order], each[order])

    def at(self, ranks: Sequence[int]) -> np.ndarray:
        """The numbers of these ranks, once they are settled."""
        return _values(self.first[self._places(ranks)])

    def ranks(self, quantiles: Sequence[float]) -> list[int]:
        """The ranks that quantiles lie between."""
        places = (len(self) - 1) * np.asarray(quantiles, dtype=float)
        return [int(rank) for place in places for rank in (np.floor(place), np.ceil(place))]

    def quantiles(self, quantiles: Sequence[float]) -> list[float]:
        """Quantiles by linear interpolation as NumPy has them, once their ranks are settled."""
        ends = self.at(self.ranks(quantiles)).reshape(-1, 2)
        places = (len(self) - 1) * np.asarray(quantiles, dtype=float)
        return [
            float(np.quantile(pair, place - np.floor(place)))
            for pair, place in zip(ends, places, strict=True)
        ]

    def _places(self, ranks: Sequence[int]) -> np.ndarray:
        return np.searchsorted(np.cumsum(self.counts), np.asarray(ranks), side="right")


def _compact(first: np.ndarray, counts: np.ndarray, bits: int, fewest: int) -> OrderCounts:
    """Bins in order that share so many bits, equal ones joined; and others, until they are not too
    many, or share as few as they may.
    """
    first, counts = _joined(first, counts)
    for step in _STEPS:
        if fewest <= step < bits and len(first) > _MOST:
            bits = step
            first, counts = _joined(_leading(first, step), counts)
    return OrderCounts(first, np.full(len(first), bits, dtype=np.uint8), counts, fewest)


def _joined(first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts = (
        np.flatnonzero(np.append(True, first[1:] != first[:-1]))
        if len(first)
        else np.empty(0, dtype=np.int64)
    )
    return first[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _leading(patterns: np.ndarray, bits: int) -> np.ndarray:
    return np.asarray(patterns & np.uint64(2**64 - 2 ** (64 - bits)))


def _patterns(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of floating-point ones (n,); minus zero is zero."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.asarray(np.where(bits & _SIGN, ~bits, bits | _SIGN))


def _values(patterns: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(patterns & _SIGN, patterns & ~_SIGN, ~patterns).view(np.float64))
