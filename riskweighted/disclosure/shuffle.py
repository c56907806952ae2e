"""Rows in an order that says nothing: whole ones in a random one, their values shuffled within released patterns besides, so that nobody
joins datasets by row.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from riskweighted.common.jit import kernel
from riskweighted.intruder.patterns import known_patterns

__all__ = ["exchangeable", "leaving_rows", "released_patterns", "shuffled_rows"]


def released_patterns(confidential: pd.DataFrame, released: Sequence[str]) -> np.ndarray:
    """The code of every row's pattern of all columns that are released unaltered, (n,)."""
    return np.asarray(known_patterns(confidential, released).codes)


def leaving_rows(count: int, rng: np.random.Generator, units: np.ndarray | None = None, *, keep: bool = False) -> np.ndarray:
    """Which record stands in each of ``count`` rows as they leave, (n,): a random permutation.

    ``units`` (n,), codes: rows of one unit stand together, and the units in a random order. ``keep``: rows of a unit stay in their own
    order, which a released column states.
    """
    if units is None:
        return rng.permutation(count)
    places = rng.permutation(int(units.max()) + 1)[units]
    return np.lexsort((np.arange(count) if keep else rng.permutation(count), places))


def shuffled_rows(patterns: np.ndarray, rng: np.random.Generator, units: np.ndarray | None = None) -> np.ndarray:
    """Which row's synthesized values stand in each row of one dataset, (n,): a permutation that keeps every row's pattern.

    ``patterns`` (n,): codes of released patterns. ``units`` (n,), codes: rows of one unit, such as a household, move together, to the rows
    of a unit whose rows have the same patterns.
    """
    if units is None:
        return _exchanged(patterns, rng)
    rows = np.empty(len(units), dtype=np.int64)
    for alike, shapes in _shapes(patterns, units):
        rows[alike] = alike[_exchanged(shapes, rng)]
    return rows


def exchangeable(patterns: np.ndarray, units: np.ndarray | None) -> np.ndarray:
    """Codes (n,) of rows that may stand in each other's place: those of one pattern, or of one place in units whose patterns are alike."""
    if units is None:
        return patterns
    codes, first = np.empty(len(units), dtype=np.int64), 0
    for alike, shapes in _shapes(patterns, units):
        codes[alike] = first + shapes[:, None] * alike.shape[1] + np.arange(alike.shape[1])
        first = int(codes[alike].max()) + 1
    return codes


def _shapes(patterns: np.ndarray, units: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The units of each size, (units, size) rows in the order of their patterns, and codes of those that have the same patterns."""
    order = np.lexsort((patterns, units))
    starts = np.flatnonzero(np.append(True, units[order][1:] != units[order][:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    for size in np.unique(sizes):
        alike = order[starts[sizes == size][:, None] + np.arange(size)]
        yield alike, np.unique(patterns[alike], axis=0, return_inverse=True)[1].ravel()


def _exchanged(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random permutation (m,) that takes every row to one of its own code."""
    order = np.argsort(codes, kind="stable")
    rows = np.empty(len(codes), dtype=np.int64)
    rows[order] = order[_within(codes[order], rng.random(len(codes)))]
    return rows


@kernel
def _within(codes: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """A permutation (m,) within runs of equal codes, by Fisher and Yates, from uniform numbers (m,)."""
    rows, first = np.arange(len(codes)), 0
    for row in range(1, len(codes)):
        if codes[row] != codes[row - 1]:
            first = row
        other = first + int(chances[row] * (row - first + 1))
        rows[row], rows[other] = rows[other], rows[row]
    return rows
