"""Predictors that are read from tables: a level, or an age, gives its columns and their effect,
however many records have it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from riskweighted.design.distinct import Distinct

__all__ = ["Tables"]

_MOST_WAYS = 4  # times as many combinations as records that are counted one by one
_MOST = 0.75  # of the records, as in `riskweighted.design.distinct`


class Tables:
    """A matrix (n, p) whose columns stand beside each other in parts of n records, each with few
    different rows; not to be changed.

    It is multiplied from the right, shifted and scaled by column without being made; NumPy makes it
    where it needs it. A product costs n times the number of parts, not n times p.
    """

    __array_ufunc__ = None  # so that arrays leave operations with it alone

    def __init__(self, parts: Iterable[Distinct], n: int) -> None:
        self.parts, self.n = tuple(parts), n

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, sum(part.rows.shape[1] for part in self.parts)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, records: np.ndarray | slice) -> "Tables":
        parts = tuple(part._replace(which=part.which[records]) for part in self.parts)
        return Tables(parts, len(parts[0].which) if parts else len(np.empty(self.n)[records]))

    def same_as(self, other: "Tables") -> bool:
        """Whether another one has the same parts, which is seen without making either."""
        return len(self.parts) == len(other.parts) and all(
            np.array_equal(mine.which, theirs.which) and np.array_equal(mine.rows, theirs.rows)
            for mine, theirs in zip(self.parts, other.parts, strict=True)
        )

    def grouped(self) -> Distinct:
        """The different combinations of the parts' rows, as `Tables`, and which of them each record
        has.

        All n records where the parts could be combined in many more ways than that, or more than
        three quarters differ.
        """
        code, ways = np.zeros(self.n, dtype=np.int64), 1
        for part in self.parts:
            ways *= len(part.rows)
            if ways > _MOST_WAYS * self.n:
                return Distinct.apart(self)  # type: ignore[arg-type]  # a matrix to be multiplied
            code = code * len(part.rows) + part.which
        there = np.zeros(ways, dtype=bool)
        there[code] = True
        used = np.flatnonzero(there)
        if len(used) > _MOST * self.n:
            return Distinct.apart(self)  # type: ignore[arg-type]
        return Distinct(Tables(self._combined(used), len(used)), (np.cumsum(there) - 1)[code])  # type: ignore[arg-type]

    def _combined(self, codes: np.ndarray) -> list[Distinct]:
        """The parts of combinations given by their codes."""
        parts = []
        for part in reversed(self.parts):
            codes, which = np.divmod(codes, len(part.rows))
            parts.append(part._replace(which=which))
        return parts[::-1]

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        """Its product with a vector (p,) or matrix (p, k)."""
        product = np.zeros((self.n, *right.shape[1:]))
        for part, places in self._each():
            product += np.take(part.rows @ right[places], part.which, axis=0)
        return product

    def __sub__(self, shift: np.ndarray) -> "Tables":
        return Tables(
            (part._replace(rows=part.rows - shift[places]) for part, places in self._each()), self.n
        )

    def __truediv__(self, unit: np.ndarray) -> "Tables":
        return Tables(
            (part._replace(rows=part.rows / unit[places]) for part, places in self._each()), self.n
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if not self.parts:
            return np.empty((self.n, 0), dtype=dtype)
        return np.hstack([np.take(part.rows, part.which, axis=0) for part in self.parts]).astype(
            dtype or float, copy=False
        )

    def _each(self) -> Iterator[tuple[Distinct, slice]]:
        """Every part and the places of its columns."""
        begin = 0
        for part in self.parts:
            end = begin + part.rows.shape[1]
            yield part, slice(begin, end)
            begin = end
