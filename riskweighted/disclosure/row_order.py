"""Whether an order of records tells a variable: the test that rows and numbers are held to before
they leave (METHODS section 13.4).
"""

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.common.ranks import neighbours_apart

__all__ = ["UNLIKELY", "order_chance", "rank_values"]

UNLIKELY = 1e-4


def order_chance(
    values: pd.Series, carrier: np.ndarray, patterns: np.ndarray, units: np.ndarray | None = None
) -> float:
    """Three times the least of three chances that an order which knows nothing of ``values`` (n,)
    would be as near to theirs as that of ``carrier`` (n,), numbers such as those of rows.

    The three are of the rank correlation, and of how alike the values of neighbours are, among all
    and within ``patterns`` (n,), codes. Of ``units`` (n,), codes, whose rows stand together, it is
    the mean rank of each unit's rows that is looked at. Equal values are put in a random order, so
    that the chances are those of permutations; missing ones come first, and levels stand in the
    order of their names.
    """
    rng = np.random.default_rng(0)
    ranks = _ranks(rank_values(values), rng)
    if units is not None:
        sizes = np.bincount(units)
        first = np.full(len(sizes), np.inf)
        np.minimum.at(first, units, carrier)
        lowest = np.full(len(sizes), patterns.max())
        np.minimum.at(lowest, units, patterns)
        ranks, carrier, patterns = _ranks(np.bincount(units, ranks) / sizes, rng), first, lowest
    places, count = _ranks(carrier, rng), len(ranks)
    if count < 3:
        return 1.0
    correlation = np.corrcoef(ranks, places)[0, 1]
    alike = 2 * stats.norm.sf(abs(correlation) * np.sqrt(count - 1))
    everywhere = np.zeros(count, dtype=np.int64)
    return float(
        3
        * min(
            alike, *(_neighbours_chance(ranks, places, groups) for groups in (everywhere, patterns))
        )
    )


def rank_values(column: pd.Series) -> np.ndarray:
    """A column (n,) as numbers in the order of its values: amounts, or levels by name; missing
    values lie below all others.
    """
    if holds_numbers(column):
        numbers = as_floats(column)
        return np.where(np.isnan(numbers), -np.inf, numbers)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    return np.asarray(
        pd.factorize(column.astype(str).where(column.notna()), sort=True)[0], dtype=float
    )


def _ranks(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Places 0 .. n-1 of numbers (n,) in their order, equal ones in a random one."""
    ranks = np.empty(len(numbers))
    ranks[np.lexsort((rng.random(len(numbers)), numbers))] = np.arange(len(numbers))
    return ranks


def _neighbours_chance(ranks: np.ndarray, places: np.ndarray, groups: np.ndarray) -> float:
    """How likely neighbours within groups are as alike in rank by chance."""
    sizes = np.bincount(groups)
    sizes = sizes[sizes > 0]
    within = np.empty(len(ranks))
    within[np.lexsort((ranks, groups))] = np.arange(len(ranks)) - np.repeat(
        np.cumsum(sizes) - sizes, sizes
    )
    order = np.lexsort((places, groups))
    apart = neighbours_apart(within[order], groups[order])
    variance = float(apart.variance.sum())
    return (
        float(stats.norm.sf(float((apart.expected - apart.moved).sum()) / np.sqrt(variance)))
        if variance
        else 1.0
    )
