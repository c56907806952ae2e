"""Known patterns: the observed intersections of the variables that the intruder knows."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["Patterns", "cells", "known_patterns"]


class Patterns(NamedTuple):
    """``codes`` (n,): the pattern of each record, 0 .. P-1; ``sizes`` (P,): records in each pattern."""

    codes: np.ndarray
    sizes: np.ndarray

    @property
    def in_pattern(self) -> np.ndarray:
        """How many records share each record's pattern, itself included; (n,)."""
        in_pattern: np.ndarray = self.sizes[self.codes]
        return in_pattern

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum of values (n,) over each record's pattern, (n,); exact for integers."""
        by_pattern = np.zeros(len(self.sizes), dtype=values.dtype)
        np.add.at(by_pattern, self.codes, values)
        total: np.ndarray = by_pattern[self.codes]
        return total

    @property
    def singletons(self) -> int:
        """Number of patterns that hold a single record."""
        return int((self.sizes == 1).sum())


def _levels(column: pd.Series) -> np.ndarray:
    """Integer code of each value; every kind of missing value shares one code of its own."""
    codes: np.ndarray = pd.factorize(column)[0] + 1
    return codes


def cells(columns: Iterable[pd.Series], start: np.ndarray) -> np.ndarray:
    """Refine the integer codes ``start`` (n,) by the values of further columns; returns codes 0 .. C-1, (n,)."""
    codes = start
    for column in columns:
        levels = _levels(column)
        _, codes = np.unique(codes * (levels.max() + 1) + levels, return_inverse=True)
    return codes


def known_patterns(data: pd.DataFrame, known: Iterable[str]) -> Patterns:
    """The known pattern of every record (METHODS section 1).

    Parameters
    ----------
    data : DataFrame, n rows
    known : names of columns of any dtype; a missing value is a level of its own. Empty: one pattern of all records.
    """
    codes = cells((data[name] for name in known), np.zeros(len(data), dtype=np.int64))
    return Patterns(codes, np.bincount(codes))
