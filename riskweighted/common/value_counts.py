"""A column as counts: how many records hold each number, status or level."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

__all__ = ["LevelCounts", "NumberCounts", "ValueCounts"]


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

    def __len__(self) -> int:
        """How many records, n."""
        return int(self.ends[-1]) if len(self.counts) else 0

    @cached_property
    def ends(self) -> np.ndarray:
        """How many records hold a number or a lower one, (m,)."""
        return np.cumsum(self.counts)

    @property
    def mean(self) -> float:
        """Over the records; NaN of none."""
        return float(self.counts @ self.values / len(self)) if len(self) else np.nan

    @property
    def variance(self) -> float:
        """Over the records, with n - 1; NaN of fewer than two."""
        n = len(self)
        return float(self.counts @ (self.values - self.mean) ** 2 / (n - 1)) if n > 1 else np.nan

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
class NumberCounts:
    """Of a numeric variable its ``amounts``, and the records of each status, ``statuses`` (2 +
    codes,): amounts, missing, special codes.
    """

    amounts: ValueCounts = field(repr=False)
    statuses: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, amounts: np.ndarray, status: np.ndarray, codes: int) -> "NumberCounts":
        """Of the amounts (m,) and the status of every record (n,), 0 an amount, 1 missing, then
        so many special codes.
        """
        return cls(ValueCounts.of(amounts), np.bincount(status, minlength=2 + codes))

    def having(self, status: int) -> ValueCounts:
        """Whether a record has a status, as ones and zeros."""
        return _of_share(int(self.statuses[status]), int(self.statuses.sum()))


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

    def __len__(self) -> int:
        """How many records, n."""
        return sum(self.counts.values()) + self.missing

    @property
    def with_missing(self) -> list[tuple[object, int]]:
        """Every level, None for the missing ones, and its records."""
        return [*self.counts.items(), (None, self.missing)]

    def having(self, level: object) -> ValueCounts:
        """Whether a record has a level, None for missing, as ones and zeros."""
        return _of_share(self.missing if level is None else self.counts.get(level, 0), len(self))


def _of_share(having: int, n: int) -> ValueCounts:
    """Ones of the records that have something, and zeros of the others, of which there are n
    together.
    """
    counts = np.array([n - having, having])
    return ValueCounts(np.flatnonzero(counts).astype(float), counts[counts > 0])
