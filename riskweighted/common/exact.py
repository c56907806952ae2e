"""Sums of floating-point numbers without rounding, so that neither the order nor the grouping of
what is added shows.

A finite number is a whole number of units of 2^-1074, and Python's whole numbers have no end. What
is read off a sum is rounded once, correctly: it is the floating-point number nearest to the true
sum, or to the true mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["UNIT", "ExactSum"]

UNIT = 1074  # the smallest number above zero is 2^-1074, a unit of sums
_ROWS = 64  # sums that are made at once
_NO_COUNTS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class ExactSum:
    """K sums of so many numbers each: ``units``, ``count``, and ``strange``, what was added to each
    that is not finite (0 if nothing).
    """

    units: tuple[int, ...] = field(repr=False)
    count: int
    strange: tuple[float, ...] = field(repr=False)

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray | None = None) -> "ExactSum":
        """The sum of values (n,), or those of the rows of (K, n); `counts` (n,): how often each
        counts, whole numbers.
        """
        rows = np.atleast_2d(np.ascontiguousarray(values, dtype=np.float64))
        times = _NO_COUNTS if counts is None else np.ascontiguousarray(counts, dtype=np.int64)
        count = rows.shape[1] if counts is None else int(times.sum())
        units, strange = list[int](), list[float]()
        for first in range(0, len(rows), _ROWS):
            some = _added(rows[first : first + _ROWS], times)
            units += some[0]
            strange += some[1]
        return cls(tuple(units), count, tuple(strange))

    def __add__(self, other: "ExactSum") -> "ExactSum":
        units = tuple(mine + theirs for mine, theirs in zip(self.units, other.units, strict=True))
        strange = tuple(
            mine + theirs for mine, theirs in zip(self.strange, other.strange, strict=True)
        )
        return ExactSum(units, self.count + other.count, strange)

    @classmethod
    def together(cls, sums: Sequence["ExactSum"]) -> "ExactSum":
        """The rows of several sums of the same count, one after the other."""
        units, strange = (
            tuple(each for one in sums for each in getattr(one, name))
            for name in ("units", "strange")
        )
        return cls(units, sums[0].count, strange)

    @property
    def sums(self) -> np.ndarray:
        """(K,)."""
        return self._over(1)

    @property
    def means(self) -> np.ndarray:
        """(K,); NaN of no numbers."""
        return self._over(self.count)

    @property
    def sum(self) -> float:
        """Of the first row."""
        return float(self.sums[0])

    @property
    def mean(self) -> float:
        """Of the first row."""
        return float(self.means[0])

    def _over(self, divisor: int) -> np.ndarray:
        if divisor == 0:
            return np.full(len(self.units), np.nan)
        finite = np.array([_quotient(units, divisor) for units in self.units], dtype=float)
        strange = np.array(self.strange, dtype=float)
        return np.where(strange == 0, finite, strange)


def _added(rows: np.ndarray, counts: np.ndarray) -> tuple[list[int], list[float]]:
    """The sum of each row (K, n) in units, and what of it is not finite."""
    # numba, for which not everyone need wait
    from riskweighted.common.kernels.adding import BINS, add_mantissas

    high, low = np.zeros((2, len(rows), BINS), dtype=np.int64)
    strange = np.zeros(len(rows))
    add_mantissas(rows.view(np.int64), counts, high, low, strange)
    units = [0] * len(rows)
    which, exponents = np.nonzero((high != 0) | (low != 0))
    places = zip(
        which.tolist(),
        exponents.tolist(),
        high[which, exponents].tolist(),
        low[which, exponents].tolist(),
        strict=True,
    )
    for row, exponent, upper, lower in places:
        units[row] += ((upper << 26) + lower) << exponent
    return units, strange.tolist()


def _quotient(units: int, divisor: int) -> float:
    """A sum over a whole number, rounded once: Python divides whole numbers so."""
    try:
        return units / (divisor << UNIT)
    except OverflowError:
        return float("inf") if units > 0 else float("-inf")
