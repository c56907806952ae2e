"""Known patterns: the observed intersections of the variables that the intruder knows."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = [
    "Patterns",
    "cells",
    "known_patterns",
    "level_codes",
    "number_codes",
    "number_codes_alike",
]


class Patterns(NamedTuple):
    """``codes`` (n,): the pattern of each record, 0 .. P-1; ``sizes`` (P,): records in each
    pattern.
    """

    codes: np.ndarray
    sizes: np.ndarray

    @property
    def in_pattern(self) -> np.ndarray:
        """How many records share each record's pattern, itself included; (n,)."""
        return np.asarray(self.sizes[self.codes])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum of values (n,) over each record's pattern, (n,); exact for integers."""
        by_pattern = np.zeros(len(self.sizes), dtype=values.dtype)
        np.add.at(by_pattern, self.codes, values)
        return np.asarray(by_pattern[self.codes])

    @property
    def singletons(self) -> int:
        """Number of patterns that hold a single record."""
        return int((self.sizes == 1).sum())


def level_codes(column: pd.Series) -> np.ndarray:
    """Integer code of each value from 1, in order of appearance; every kind of missing value is
    0.
    """
    return np.asarray(pd.factorize(column)[0] + 1)


def number_codes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) >= 0 as numbers 0 .. C-1 in their order, (n,), and the codes that occur, (C,)."""
    highest = int(codes.max())
    if highest >= _table_length(len(codes)):
        distinct, numbers = np.unique(codes, return_inverse=True)
        return numbers, distinct
    present = np.bincount(codes) > 0
    return (np.cumsum(present) - 1)[codes], np.flatnonzero(present)


def number_codes_alike(codes: np.ndarray, distinct: np.ndarray) -> np.ndarray:
    """The number of each code (m,) among the sorted ones of `number_codes`, (m,); C where it is
    none of the C.
    """
    count, highest = len(distinct), int(distinct[-1])
    if highest >= _table_length(len(codes)):
        places = np.minimum(np.searchsorted(distinct, codes), count - 1)
        return np.where(distinct[places] == codes, places, count)
    table = np.full(highest + 2, count)
    table[distinct] = np.arange(count)
    return np.asarray(table[np.minimum(codes, highest + 1)])


def _table_length(n: int) -> int:
    """The highest code for which a table is filled rather than n codes sorted or searched."""
    return max(4 * n, 1024)


def cells(columns: Iterable[pd.Series], start: np.ndarray) -> np.ndarray:
    """Refine the integer codes ``start`` (n,) by the values of further columns; returns codes 0 ..
    C-1, (n,).
    """
    codes = start
    for column in columns:
        levels = level_codes(column)
        codes, _ = number_codes(codes * (levels.max() + 1) + levels)
    return codes


def known_patterns(data: pd.DataFrame, known: Iterable[str]) -> Patterns:
    """The known pattern of every record (METHODS section 1), by columns of any dtype, a missing
    value being a level; of no column, one of all.
    """
    codes = cells((data[name] for name in known), np.zeros(len(data), dtype=np.int64))
    return Patterns(codes, np.bincount(codes))
