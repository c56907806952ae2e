"""Rows in an order that says nothing: whole ones in a random one, their values shuffled within
released patterns besides, so that nobody joins datasets by row.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import SingletonWarning, listing
from riskweighted.common.jit import kernel
from riskweighted.intruder.patterns import known_patterns

__all__ = [
    "Exchange",
    "columns_causing_uniques",
    "leaving_rows",
    "released_patterns",
    "shuffled_rows",
    "warn_of_columns_causing_uniques",
]


def released_patterns(confidential: pd.DataFrame, released: Sequence[str]) -> np.ndarray:
    """The code of every row's pattern of all columns that are released unaltered, (n,)."""
    return np.asarray(known_patterns(confidential, released).codes)


def leaving_rows(
    count: int, rng: np.random.Generator, units: np.ndarray | None = None, *, keep: bool = False
) -> np.ndarray:
    """Which record stands in each of ``count`` rows as they leave, (n,): a random permutation.

    ``units`` (n,), codes: rows of one unit stand together, and the units in a random order.
    ``keep``: rows of a unit stay in their own order, which a released column states.
    """
    if units is None:
        return rng.permutation(count)
    places = rng.permutation(int(units.max()) + 1)[units]
    return np.lexsort((np.arange(count) if keep else rng.permutation(count), places))


@dataclass(frozen=True, eq=False)
class Exchange:
    """Which rows may stand in each other's place, found once for all datasets.

    ``patterns`` (n,): codes of released patterns. ``units`` (n,), codes: rows of one unit, such as
    a household, move together, to the rows of a unit whose rows have the same patterns; None where
    each row moves alone.
    """

    patterns: np.ndarray = field(repr=False)
    units: np.ndarray | None = field(repr=False)

    @cached_property
    def _alike(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The units of each size, (m, size) rows in the order of their patterns, and codes (m,) of
        the same patterns, which rise.
        """
        if self.units is None:
            return [_sorted(np.arange(len(self.patterns))[:, None], self.patterns)]
        order = np.lexsort((self.patterns, self.units))
        starts = np.flatnonzero(np.append(True, self.units[order][1:] != self.units[order][:-1]))
        sizes, made = np.diff(np.append(starts, len(order))), []
        for size in np.unique(sizes):
            alike = order[starts[sizes == size][:, None] + np.arange(size)]
            made.append(
                _sorted(
                    alike, np.unique(self.patterns[alike], axis=0, return_inverse=True)[1].ravel()
                )
            )
        return made

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        """Which row's synthesized values stand in each row of one dataset, (n,): a permutation that
        keeps every row's pattern.
        """
        rows = np.empty(len(self.patterns), dtype=np.int64)
        for alike, codes in self._alike:
            rows[alike] = alike[_within(codes, rng.random(len(codes)))]
        return rows

    @cached_property
    def cells(self) -> np.ndarray:
        """Codes (n,) of rows that may stand in each other's place: those of one pattern, or of one
        place in units whose patterns are alike."""
        if self.units is None:
            return self.patterns
        cells, first = np.empty(len(self.units), dtype=np.int64), 0
        for alike, codes in self._alike:
            cells[alike] = first + codes[:, None] * alike.shape[1] + np.arange(alike.shape[1])
            first = int(cells[alike].max()) + 1
        return cells


def shuffled_rows(
    patterns: np.ndarray, rng: np.random.Generator, units: np.ndarray | None = None
) -> np.ndarray:
    """`Exchange.rows` of one dataset."""
    return Exchange(patterns, units).rows(rng)


def _sorted(alike: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(codes, kind="stable")
    return alike[order], codes[order]


@kernel
def _within(codes: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """A permutation (m,) within runs of equal codes, by Fisher and Yates, from uniform numbers
    (m,).
    """
    rows, first = np.arange(len(codes)), 0
    for row in range(1, len(codes)):
        if codes[row] != codes[row - 1]:
            first = row
        other = first + int(chances[row] * (row - first + 1))
        rows[row], rows[other] = rows[other], rows[row]
    return rows


_MANY = 0.5  # share of records alone from which on columns are named


def _share_alone(patterns: np.ndarray) -> float:
    """The share of the records that are alone in their pattern, of codes (n,)."""
    return float((np.bincount(patterns)[patterns] == 1).mean()) if len(patterns) else 0.0


def columns_causing_uniques(
    confidential: pd.DataFrame, released: Sequence[str]
) -> tuple[tuple[str, ...], float, float]:
    """Return the columns that leave most records alone in their released pattern, and the share
    that is alone with and without them.

    Columns of the most distinct values are taken away one by one, until fewer than half of the
    records are alone. No column is named where fewer are alone anyway.
    """
    left, taken = list(dict.fromkeys(released)), list[str]()
    with_all = share = _share_alone(released_patterns(confidential, left))
    distinct = {name: confidential[name].nunique(dropna=False) for name in left}
    while share >= _MANY and left:
        taken.append(max(left, key=distinct.__getitem__))
        left.remove(taken[-1])
        share = _share_alone(released_patterns(confidential, left))
    return (tuple(taken) if share < with_all else ()), with_all, share


def warn_of_columns_causing_uniques(confidential: pd.DataFrame, released: Sequence[str]) -> None:
    """Warn (`SingletonWarning`) of released columns, such as a survey weight or an id, that leave
    most records alone.
    """
    names, share, without = columns_causing_uniques(confidential, released)
    if names:
        warnings.warn(
            f"with {listing(names)} released, {share:.0%} of the records are alone in their "
            f"released pattern ({without:.0%} without): shuffling does not protect them, since "
            "their L datasets can be joined by row; leave it out, round or group it, or release "
            "replicate weights by group",
            SingletonWarning,
            stacklevel=4,
        )
