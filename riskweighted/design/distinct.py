"""Records that are alike in some columns, taken together: a model matrix of 10^6 records has as
many rows as their predictors differ.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["Distinct", "apply_to_distinct", "distinct_records", "median_of_rows"]

# of the records: where more of them differ, each has a row of its own, since finding equal ones
# would save little
_MOST = 0.75
_LARGEST = 2**62  # of a code that is a product
_CHUNK = 2**14  # rows of a work array


class Distinct(NamedTuple):
    """The rows of n records: ``rows`` (m, p), in the order of their first records, and ``which``
    (n,), the row that each record has.

    Two rows may be equal. Where m = n, row i is record i's.
    """

    rows: np.ndarray
    which: np.ndarray

    @classmethod
    def apart(cls, rows: np.ndarray) -> "Distinct":
        """Every record with a row of its own, (n, p)."""
        return cls(rows, np.arange(len(rows)))

    @property
    def counts(self) -> np.ndarray:
        """How many records have each row, floats (m,)."""
        return np.bincount(self.which, minlength=len(self.rows)).astype(float)

    def at(self, records: np.ndarray) -> "Distinct":
        """Of some of the records, given by their numbers, the rows of all."""
        return self._replace(which=self.which[records])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of values (n,) over the records of each row, (m,)."""
        return np.bincount(self.which, weights=values, minlength=len(self.rows))

    def triangle(self, weights: np.ndarray) -> np.ndarray:
        """R (min(m, p), p), upper triangular, with R'R = rows' diag(weights) rows: the QR of rows
        times the root of weights (m,) >= 0.
        """
        triangle = np.empty((0, self.rows.shape[1]))
        for begin in range(0, len(self.rows), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            stacked = np.vstack([triangle, np.sqrt(weights[part])[:, None] * self.rows[part]])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        return triangle

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """rows' diag(weights) rows, (p, p), of weights (m,)."""
        parts = (slice(begin, begin + _CHUNK) for begin in range(0, len(self.rows), _CHUNK))
        width = self.rows.shape[1]
        return sum(
            (self.rows[part].T @ (weights[part, None] * self.rows[part]) for part in parts),
            np.zeros((width, width)),
        )

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values (m, ...) of the rows as those of the records, (n, ...)."""
        return values if len(self.rows) == len(self.which) else np.take(values, self.which, axis=0)


def median_of_rows(values: np.ndarray, records: np.ndarray) -> float:
    """The least value of rows (m,) that half of the records do not exceed, where so many records
    (m,) have each row.
    """
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(records[order])
    return float(values[order][np.searchsorted(ends, np.ceil(ends[-1] / 2) - 1, side="right")])


def distinct_records(columns: Iterable[pd.Series], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of n records are the first of their values, (m,), in order, and to which of these each
    record is equal, (n,).

    All n where more than three quarters of them differ, or values cannot be compared.
    """
    most = max(_MOST * n, 1)
    code, levels = np.zeros(n, dtype=np.int64), 1
    for column in columns:
        column_codes = _codes(column)
        count = 1 + int(column_codes.max(initial=0))
        if count > most:
            return np.arange(n), np.arange(n)
        if levels * count > _LARGEST:
            code, uniques = pd.factorize(code)
            levels = len(uniques)
        code, levels = code * count + column_codes, levels * count
    which = pd.factorize(code)[0]
    first = np.flatnonzero(np.diff(np.maximum.accumulate(which), prepend=-1))
    return (first, which) if len(first) <= most else (np.arange(n), np.arange(n))


def apply_to_distinct(
    frame: pd.DataFrame, names: Sequence[str], find: Callable[[pd.DataFrame], np.ndarray]
) -> np.ndarray:
    """What a function finds of each of n records, (n,), where only the named columns matter: once
    for all that are alike in them.
    """
    if not len(frame) or any((frame.columns == name).sum() != 1 for name in names):
        return find(frame)  # which tells what is wrong
    first, which = distinct_records((frame[name] for name in names), len(frame))
    return (
        find(frame)
        if len(first) == len(frame)
        else np.asarray(find(frame[list(names)].iloc[first])[which])
    )


def _codes(column: pd.Series) -> np.ndarray:
    """A whole number >= 0 for each value; a missing one has a number of its own, and so has every
    value that cannot be compared.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes.to_numpy().astype(np.int64) + 1)
    if pd.api.types.is_object_dtype(column.dtype) and pd.api.types.infer_dtype(column) != "string":
        return np.arange(len(column))  # true equals 1
    return np.asarray(pd.factorize(column)[0] + 1)
