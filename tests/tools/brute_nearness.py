"""How near a column is to the confidential one, slowly: every factor and tolerance of every record, and fresh datasets all at once."""

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.release.nearness import FACTORS, most_by_chance

_FINE, _LADDER, _HALF = (1e-6, 1e-5, 1e-4), (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2), 0.5001


class BruteChance:
    """Confidential values (n,), fresh datasets (F, n) and the unit of both."""

    def __init__(self, values, fresh, unit):
        self.values, self.fresh, self.unit = values, np.array(fresh), unit
        coarse = values / (100 * unit)
        once = ~pd.Series(values).duplicated(keep=False).to_numpy()
        self.rare = once & ~(np.abs(coarse - np.rint(coarse)) < 1e-9) & ~np.isnan(values)
        largest = np.zeros(len(values), dtype=bool)
        largest[np.argsort(-np.abs(values))[:10]] = True
        self.groups = self.rare, self.rare & largest

    def half_width(self, factor, tolerance):
        return np.maximum(tolerance * np.abs(factor * self.values), _HALF * self.unit)

    def near(self, drawn, factor, tolerance):
        return np.abs(drawn - factor * self.values) <= self.half_width(factor, tolerance)

    def probability(self, factor, tolerance):
        band = np.maximum(0.1 * np.abs(factor * self.values), 50 * self.unit)
        inside = (np.abs(self.fresh - factor * self.values) <= band).sum(axis=0)
        return (inside + 0.5) / (len(self.fresh) + 1) * self.half_width(factor, tolerance) / band

    def rung(self, factor, tolerance):
        """Most, mean, and the expected count of each group where the tolerance is fine."""
        fresh = self.near(self.fresh, factor, tolerance)
        compared = ~self.rare if tolerance in _FINE else np.ones(len(self.values), dtype=bool)
        most = most_by_chance(fresh[:, compared].sum(axis=1), int(compared.sum()))
        expected = [self.probability(factor, tolerance)[group].sum() for group in self.groups] if tolerance in _FINE else None
        return tolerance, most, fresh.sum(axis=1).mean(), expected

    def rungs(self):
        return [[self.rung(factor, tolerance) for tolerance in _LADDER] for factor in FACTORS]

    def in_common(self):
        return np.array([[brute_in_common(one, factor * self.values) for factor in FACTORS[:8]] for one in self.fresh])

    def order(self):
        return np.array([brute_order(one, self.values) for one in self.fresh])


def brute_in_common(drawn, values):
    """How many values of one column find a partner of their own in the other, to 7 digits."""
    left, right = ([f"{value + 0.0:.6e}" for value in column[~np.isnan(column)]] for column in (drawn, values))
    counts = pd.Series(left).value_counts(), pd.Series(right).value_counts()
    return int(pd.concat(counts, axis=1).min(axis=1, skipna=False).sum())


def brute_order(left, right):
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    return 0.0 if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0 else abs(stats.spearmanr(left, right).statistic)


def brute_clusters(numbers, width):
    """Whether more numbers lie within one width than their neighbourhood explains."""
    for number in numbers:
        inside = int(((numbers >= number) & (numbers <= number + width)).sum())
        around = int(((numbers >= number - 50 * width) & (numbers <= number + 51 * width)).sum()) - inside
        if inside >= 4 and stats.poisson.sf(inside - 2, (around + 1) / 100) * len(numbers) < 1e-8:
            return True
    return False
