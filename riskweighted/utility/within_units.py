"""What hangs together within units: how alike members are, and waves of a panel by their distance.

Each is of one file, and NaN where fewer than ten units tell it.
"""

from collections.abc import Iterator

import numpy as np

from riskweighted.common.units import Arrangement

__all__ = [
    "autocorrelations",
    "correlation",
    "intraclass",
    "pairs_with_first",
    "random_intercept",
    "share_alike",
    "share_of_moves",
    "spreads",
]

_FEWEST = 10  # units that tell a figure
_LAGS = 10


def intraclass(values: np.ndarray, of: Arrangement) -> float:
    """The intraclass correlation of numbers (n,), NaN where missing: 1 less the mean square within
    units over the variance, of units with two values and more (Donner 1986).
    """
    there = ~np.isnan(values)
    sizes = np.bincount(of.unit[there], minlength=len(of.sizes))
    kept = there & (sizes[of.unit] > 1)
    units = np.unique(of.unit[kept])
    if len(units) < _FEWEST:
        return np.nan
    numbers, unit = values[kept], np.searchsorted(units, of.unit[kept])
    within = _within(numbers, unit, np.bincount(unit, numbers) / np.bincount(unit))
    total = numbers.var(ddof=1)
    return float(1 - within / total) if total > 0 else np.nan


def random_intercept(residuals: np.ndarray, of: Arrangement) -> float:
    """The standard deviation of what the members of a unit have in common, of residuals (n,), NaN
    where missing: by mean squares between and within units (Searle, Casella & McCulloch 1992, 3.6).
    """
    there = ~np.isnan(residuals)
    units, unit = np.unique(of.unit[there], return_inverse=True)
    sizes = np.bincount(unit)
    if (sizes > 1).sum() < _FEWEST:
        return np.nan
    numbers = residuals[there]
    means = np.bincount(unit, numbers) / sizes
    within = _within(numbers, unit, means)
    between = (sizes * (means - numbers.mean()) ** 2).sum() / (len(units) - 1)
    typical = (len(numbers) - (sizes**2).sum() / len(numbers)) / (len(units) - 1)
    return float(np.sqrt(max((between - within) / typical, 0.0)))


def _within(numbers: np.ndarray, unit: np.ndarray, means: np.ndarray) -> float:
    """The mean square of numbers (m,) about the means of their units (H,)."""
    return float(((numbers - means[unit]) ** 2).sum() / (len(numbers) - len(means)))


def share_alike(codes: np.ndarray, of: Arrangement) -> float:
    """The share of units of two members and more that all have one level, of codes (n,)."""
    same = np.bincount(of.unit, codes == codes[of.first]) == of.sizes
    several = of.sizes > 1
    return float(same[several].mean()) if several.sum() >= _FEWEST else np.nan


def pairs_with_first(
    values: np.ndarray, of: Arrangement
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The values of first members beside those of one other each, where both are there: of every
    role that no unit has twice, and without roles of the second member.
    """
    others = (
        {f"{of.roles[role]}": of.role == role for role in range(1, len(of.roles))}
        if len(of.roles) > 1
        else {"second member": of.position == 1}
    )
    for name, which in others.items():
        rows = np.flatnonzero(which & ~np.isnan(values) & ~np.isnan(values[of.first]))
        if len(np.unique(of.unit[rows])) == len(rows) >= _FEWEST:
            yield name, values[of.first[rows]], values[rows]


def autocorrelations(values: np.ndarray, of: Arrangement) -> Iterator[tuple[int, float]]:
    """The correlation of the numbers (n,) of one member with those so many places later, by lag up
    to ten, and of the longest one.
    """
    longest = int(of.sizes.max()) - 1
    earlier = of.previous
    for lag in range(1, longest + 1):
        rows = np.flatnonzero(earlier >= 0)
        now, then = values[rows], values[earlier[rows]]
        both = ~np.isnan(now) & ~np.isnan(then)
        if (lag <= _LAGS or lag == longest) and len(np.unique(of.unit[rows[both]])) >= _FEWEST:
            yield lag, correlation(now[both], then[both])
        earlier = np.where(earlier >= 0, of.previous[earlier], -1)


def spreads(values: np.ndarray, of: Arrangement) -> tuple[float, float]:
    """The standard deviations of units' means and of changes from one member to the next, over that
    of all numbers (n,).
    """
    there = ~np.isnan(values)
    counts = np.bincount(of.unit[there], minlength=len(of.sizes))
    rows = np.flatnonzero(of.previous >= 0)
    changes = values[rows] - values[of.previous[rows]]
    changes = changes[~np.isnan(changes)]
    total = float(np.nanstd(values)) if there.any() else 0.0
    if (counts > 0).sum() < _FEWEST or len(changes) < _FEWEST or total == 0:
        return np.nan, np.nan
    sums = np.bincount(of.unit[there], values[there], minlength=len(of.sizes))
    means = sums[counts > 0] / counts[counts > 0]
    return float(means.std(ddof=1)) / total, float(changes.std(ddof=1)) / total


def share_of_moves(codes: np.ndarray, of: Arrangement) -> float:
    """The share of members that have another level than the one before them, of codes (n,)."""
    rows = np.flatnonzero(of.previous >= 0)
    moved = codes[rows] != codes[of.previous[rows]]
    return float(moved.mean()) if len(np.unique(of.unit[rows])) >= _FEWEST else np.nan


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's correlation of numbers (m,), NaN where either does not vary."""
    if one.std() == 0 or other.std() == 0:
        return np.nan
    return float(np.corrcoef(one, other)[0, 1])
