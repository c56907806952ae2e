"""A column as counts: how many records hold each number, or each level. Counts of two parts of a
file add up to those of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.exact import ExactSum

__all__ = ["LevelCounts", "ValueCounts", "of_share"]


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Different numbers in order, ``values`` (m,), and how many records hold each, ``counts``
    (m,).
    """

    values: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, numbers: np.ndarray) -> "ValueCounts":
        """Of numbers (n,), none of them NaN."""
        ordered = np.sort(np.asarray(numbers, dtype=float) + 0.0)  # minus zero is zero
        starts = (
            np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
            if len(ordered)
            else np.empty(0, dtype=np.int64)
        )
        return cls(ordered[starts], np.diff(np.append(starts, len(ordered))))

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        both, counts = (
            np.concatenate(pair)
            for pair in ((self.values, other.values), (self.counts, other.counts))
        )
        order = np.argsort(both, kind="stable")
        both, counts = both[order], counts[order]
        starts = (
            np.flatnonzero(np.append(True, both[1:] != both[:-1]))
            if len(both)
            else np.empty(0, dtype=np.int64)
        )
        return ValueCounts(both[starts], np.add.reduceat(counts, starts) if len(starts) else counts)

    def __len__(self) -> int:
        """How many records, n."""
        return int(self.ends[-1]) if len(self.counts) else 0

    @cached_property
    def ends(self) -> np.ndarray:
        """How many records hold a number or a lower one, (m,)."""
        return np.cumsum(self.counts)

    @property
    def mean(self) -> float:
        """Over the records, rounded once."""
        return ExactSum.of(self.values, self.counts).mean

    def at(self, ranks: np.ndarray | Sequence[int]) -> np.ndarray:
        """The numbers of the records of these ranks, 0 the lowest."""
        return np.asarray(self.values[np.searchsorted(self.ends, ranks, side="right")])

    def quantile(self, quantile: float) -> float:
        """Linear interpolation between neighbours, as NumPy has it."""
        place = (len(self) - 1) * quantile
        return float(
            np.quantile(
                self.at([int(np.floor(place)), int(np.ceil(place))]), place - np.floor(place)
            )
        )


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Records by level, ``counts``, those that are ``missing``, and the levels that a categorical
    column declares, ``order``.
    """

    counts: dict[object, int] = field(repr=False)
    missing: int
    order: tuple[object, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, column: pd.Series) -> "LevelCounts":
        codes, levels = pd.factorize(column)
        counts = np.bincount(codes + 1, minlength=len(levels) + 1).tolist()  # -1 is missing
        order = (
            tuple(column.cat.categories.tolist())
            if isinstance(column.dtype, pd.CategoricalDtype)
            else ()
        )
        return cls(dict(zip(levels.tolist(), counts[1:], strict=True)), counts[0], order)

    def __add__(self, other: "LevelCounts") -> "LevelCounts":
        if self.order != other.order:
            raise InputError(
                "parts of one file declare other categories of a column; valid are the same in "
                "the same order"
            )
        levels = dict.fromkeys([*self.counts, *other.counts])
        summed = {level: self.counts.get(level, 0) + other.counts.get(level, 0) for level in levels}
        return LevelCounts(summed, self.missing + other.missing, self.order)

    def __len__(self) -> int:
        """How many records, n."""
        return sum(self.counts.values()) + self.missing

    @property
    def with_missing(self) -> list[tuple[object, int]]:
        """Every level, None for the missing ones, and its records."""
        return [*self.counts.items(), (None, self.missing)]

    def having(self, level: object) -> ValueCounts:
        """Whether a record has a level, None for missing, as ones and zeros."""
        return of_share(self.missing if level is None else self.counts.get(level, 0), len(self))


def of_share(having: int, n: int) -> ValueCounts:
    """Ones of the records that have something, and zeros of the others, of which there are n
    together.
    """
    counts = np.array([n - having, having])
    return ValueCounts(np.flatnonzero(counts).astype(float), counts[counts > 0])
