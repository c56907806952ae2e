"""What chance makes of risk over L datasets: expected counts as sums over two binomial distributions (METHODS section 2)."""

from typing import NamedTuple

import numpy as np
from scipy import stats

__all__ = ["OfRecords", "expected_rises", "largest_of_sets"]


class OfRecords(NamedTuple):
    """``own_mass`` (n,): probability that a record's value lands in its ball; ``outside`` (n,): expected share of its pattern outside."""

    own_mass: np.ndarray
    outside: np.ndarray


def expected_rises(weighted: OfRecords, unweighted: OfRecords, L: int, least: float) -> float:  # noqa: N803
    """Expected number of records whose risk over L datasets exceeds that over L others by `least` or more.

    N_i ~ Bin(L, p_i) of a record's values land in its ball, and IR_i = N_i / L times the expected share of its pattern outside.

    Parameters
    ----------
    weighted, unweighted : OfRecords
        The same one twice: what chance alone gives.
    L : int
    least : float
        Above 0; a fall by it is a rise with the two exchanged.
    """
    hits = np.arange(L + 1)
    high, low = (stats.binom.pmf(hits, L, fit.own_mass[:, None]) for fit in (weighted, unweighted))
    needed = (hits / L * weighted.outside[:, None] - least) / unweighted.outside[:, None] * L  # so many hits at most
    below = np.cumsum(low, axis=1)
    allowed = np.floor(needed + 1e-9).astype(int)
    reached = np.where(allowed >= 0, np.take_along_axis(below, np.clip(allowed, 0, L), axis=1), 0.0)
    return float((high * reached).sum())


def largest_of_sets(fit: OfRecords, L: int, threshold: float) -> tuple[float, float]:  # noqa: N803
    """Expected number of records whose risk over L datasets exceeds `threshold`, and the median of the largest risk."""
    hits = np.arange(L + 1)
    needed = np.floor(threshold / fit.outside * L + 1e-9)
    over = float(stats.binom.sf(needed, L, fit.own_mass).sum())
    levels = np.unique(np.round(np.outer(np.linspace(fit.outside.min(), fit.outside.max(), 50), hits / L), 6))
    none_above = [stats.binom.logcdf(np.floor(level / fit.outside * L + 1e-9), L, fit.own_mass).sum() for level in levels]
    return over, float(levels[np.searchsorted(none_above, np.log(0.5))])
