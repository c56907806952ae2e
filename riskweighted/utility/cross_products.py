"""Least squares from the sums of products of a dataset's columns, which parts of it add up to
without rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from riskweighted.common.exact import UNIT, ExactSum
from riskweighted.design.distinct import Distinct

__all__ = ["CrossProducts", "LeastSquares"]

_CONSTANT = 1e-12  # of its largest value: what a column varies by that does not
_BETWEEN = 1e-12  # of a record's largest share in what says that a column has more than two values
# of the largest: an eigenvalue of correlations below which columns follow from each other
_DEPENDENT = 1e-11


class LeastSquares(NamedTuple):
    """Of the columns that are ``free`` (k,), the constant first: ``coefficients``, and their
    ``covariance``, with ``df``.
    """

    free: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray
    df: float


@dataclass(frozen=True, eq=False)
class CrossProducts:
    """Of m complete cases of a dataset, or of a part of it, sums of the products of a constant, p
    columns and the response.

    ``rows``: records, complete or not; ``records``: m; ``strange``: parts in which a complete case
    has a level that no column stands for; ``sums``: of the products of each of 1 + p + 1 columns
    with itself and those after it; ``ends`` (2, p): largest values of the columns, and of their
    negatives.
    """

    rows: int
    records: int
    strange: int = 0
    sums: ExactSum | None = field(default=None, repr=False)
    ends: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, rows: int, columns: Distinct, target: np.ndarray) -> "CrossProducts":
        """Of the complete cases: their columns, without the constant, (m, p), and their response
        (m,).
        """
        each = np.column_stack([np.ones(len(columns.rows)), columns.rows])
        counts, width = columns.counts.astype(np.int64), each.shape[1]
        sums = []
        for column in range(width):
            sums.append(ExactSum.of((each[:, column:] * each[:, column, None]).T, counts))
            sums.append(ExactSum.of(columns.spread(each[:, column]) * target))
        sums.append(ExactSum.of(target * target))
        ends = np.array([columns.rows.max(axis=0), (-columns.rows).max(axis=0)])
        return cls(rows, len(target), 0, ExactSum.together(sums), ends)

    def __add__(self, other: "CrossProducts") -> "CrossProducts":
        counts = (
            self.rows + other.rows,
            self.records + other.records,
            self.strange + other.strange,
        )
        if self.sums is None or self.ends is None:
            return CrossProducts(*counts, other.sums, other.ends)
        if other.sums is None or other.ends is None:
            return CrossProducts(*counts, self.sums, self.ends)
        return CrossProducts(*counts, self.sums + other.sums, np.maximum(self.ends, other.ends))

    def smaller_sides(self) -> np.ndarray:
        """Of each column of two values how many records have the rarer one, (p,); infinite of a
        column of one value, or of more.
        """
        if self.sums is None or self.ends is None:
            return np.empty(0)
        high, low = self.ends[0], -self.ends[1]
        places = range(1, len(high) + 1)
        total = np.array([self.sums.sums[self._at(0, place)] for place in places])
        squares = np.array([self.sums.sums[self._at(place, place)] for place in places])
        spread, n = high - low, self.records
        with np.errstate(all="ignore"):
            # 0 if no value lies between the two
            inside = ((low + high) * total - squares - n * low * high) / spread**2
            above = np.rint((total - n * low) / spread)
        two = (spread > 0) & (inside < _BETWEEN * n)
        return np.where(two, np.minimum(above, n - above), np.inf)

    def determined(self) -> np.ndarray | None:
        """Which of the constant and the columns are free, booleans (1 + p,); None where their
        coefficients are not determined.
        """
        if self.sums is None or self.ends is None or self.strange:
            return None
        free = np.append(True, self.ends.sum(axis=0) > _CONSTANT * np.abs(self.ends).max(axis=0))
        if self.records < free.sum():
            return None
        _, about = self._about_means(np.flatnonzero(free[1:]) + 1)
        spread = np.sqrt(np.diag(about))
        return free if not len(about) or _independent(about / np.outer(spread, spread)) else None

    def moments(self, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the columns that are free, the constant first: sums of their products (k, k), and of
        those with the response (k,).
        """
        assert self.sums is not None
        sums, places = self.sums.sums, np.flatnonzero(free).tolist()
        gram = np.array([[sums[self._at(place, other)] for other in places] for place in places])
        return gram, np.array([sums[self._at(place, len(free))] for place in places])

    def solved(self) -> LeastSquares | None:
        """Least squares; None where the coefficients are not determined."""
        free = self.determined()
        if free is None:
            return None
        n, width = self.records, int(free.sum())
        chosen = np.flatnonzero(free)
        means, about = self._about_means([*chosen[1:], len(free)])
        spread = np.sqrt(np.diag(about)[:-1])
        inverse = np.linalg.inv(about[:-1, :-1] / np.outer(spread, spread)) / np.outer(
            spread, spread
        )
        slopes = inverse @ about[:-1, -1]
        covariance = np.empty((width, width))
        covariance[1:, 1:] = inverse
        covariance[0, 1:] = covariance[1:, 0] = -inverse @ means[:-1]
        covariance[0, 0] = 1 / n + means[:-1] @ inverse @ means[:-1]
        coefficients = np.append(means[-1] - means[:-1] @ slopes, slopes)
        df = float(n - width)
        left = self._left(coefficients, [*chosen, len(free)])
        return LeastSquares(free, coefficients, covariance * (left / df if df > 0 else np.nan), df)

    def _at(self, one: int, other: int) -> int:
        """Where the sum of the products of two columns stands, 0 the constant."""
        assert self.ends is not None
        low, high = min(one, other), max(one, other)
        # each column's sums stand together: with itself, with later ones, with the response
        width = int(self.ends.shape[1]) + 2
        return low * width - low * (low - 1) // 2 + high - low

    def _about_means(self, places: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of some columns (k,), and sums of products about them (k, k), each rounded once."""
        assert self.sums is not None
        units, n, chosen = self.sums.units, self.records, [int(place) for place in places]
        sums = [units[self._at(0, place)] for place in chosen]
        about = np.empty((len(chosen), len(chosen)))
        for row, place in enumerate(chosen):
            for column, other in enumerate(chosen[: row + 1]):
                product = n * (units[self._at(place, other)] << UNIT) - sums[row] * sums[column]
                about[row, column] = about[column, row] = product / (n << 2 * UNIT)
        return np.array([each / (n << UNIT) for each in sums]), about

    def _left(self, coefficients: np.ndarray, places: Sequence[int]) -> float:
        """The sum of squares about the fitted response, without the cancellation of a nearly
        perfect fit.
        """
        assert self.sums is not None
        if not np.isfinite(coefficients).all():
            return np.nan
        units, total = self.sums.units, 0
        ratios = [value.as_integer_ratio() for value in (*(-coefficients).tolist(), 1.0)]
        # whole: every float is so many units
        terms = [(numerator << UNIT) // denominator for numerator, denominator in ratios]
        for row, place in enumerate(places):
            for column, other in enumerate(places[: row + 1]):
                total += (
                    terms[row]
                    * terms[column]
                    * units[self._at(place, other)]
                    * (1 if row == column else 2)
                )
        return max(total / (1 << 3 * UNIT), 0.0)


def _independent(correlated: np.ndarray) -> bool:
    """Whether no column follows from the others."""
    if not np.isfinite(correlated).all():
        return False
    values = np.linalg.eigvalsh(correlated)
    return bool(values[0] > _DEPENDENT * values[-1])
