"""Combining rules for L synthetic datasets, and the overlap of two intervals."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from riskweighted.common.checks import check_number, check_share
from riskweighted.common.errors import InputError

__all__ = [
    "TOO_SHORT",
    "Interval",
    "JointTest",
    "combine_fully_synthetic",
    "combine_partially_synthetic",
    "combined_interval",
    "interval_overlap",
    "joint_test_partially_synthetic",
    "mean_interval",
    "proportion_interval",
    "t_interval",
]

# said of an interval of one synthetic dataset
TOO_SHORT = (
    " (no combining rule with L = 1: the variance between datasets is left out, so it is too short)"
)


class Interval(NamedTuple):
    """A point estimate and its interval: ``df`` the degrees of freedom of t, ``rule`` which
    definition made it.
    """

    estimate: float
    lower: float
    upper: float
    variance: float
    df: float
    rule: str


class JointTest(NamedTuple):
    """F statistic of a joint hypothesis, its degrees of freedom and p-value."""

    statistic: float
    df_numerator: float
    df_denominator: float
    p_value: float


def _estimates(
    estimates: Sequence[float], variances: Sequence[float], level: float, fewest: int, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    q, v = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    if q.ndim != 1 or q.shape != v.shape:
        raise InputError(
            f"estimates and variances must be two lists of equal length L, got shapes {q.shape} "
            f"and {v.shape}"
        )
    if len(q) < fewest:
        raise InputError(
            f"the {rule} combining rule needs L >= {fewest} datasets to see their variance, got "
            f"L = {len(q)}"
        )
    if not (np.isfinite(q).all() and np.isfinite(v).all() and (v >= 0).all()):
        raise InputError("estimates must be finite, and variances finite and >= 0")
    check_share(level, "level")
    return q, v


def t_interval(estimate: float, variance: float, df: float, level: float, rule: str) -> Interval:
    """The t interval of an estimate with this variance."""
    half = stats.t.ppf(0.5 + level / 2, df) * np.sqrt(variance)
    return Interval(
        float(estimate),
        float(estimate - half),
        float(estimate + half),
        float(variance),
        float(df),
        rule,
    )


def combine_partially_synthetic(
    estimates: Sequence[float],
    variances: Sequence[float],
    *,
    level: float = 0.95,
    kappa: float = 1.0,
) -> Interval:
    """Return an interval from partially synthetic data (Reiter 2003): T_p = vbar + b/L, nu = (L -
    1)(1 + vbar/(b/L))^2.

    With kappa, which a release under centred weights states, kappa vbar takes the place of vbar
    (METHODS section 15).

    Parameters
    ----------
    estimates, variances : sequences of length L >= 2
        Point estimate and its variance in each synthetic dataset. L = 1 is refused.
    level : float
        Probability of the interval.
    kappa : float
        How many times as large the weights make the variance of an estimate, 1 or more: see
        `variance_ratios`.

    Examples
    --------
    >>> interval = rw.combine_partially_synthetic([10.2, 10.6, 10.4], [0.09, 0.09, 0.09])
    >>> round(interval.lower, 2), round(interval.upper, 2)
    (9.76, 11.04)
    """
    q, v = _estimates(estimates, variances, level, 2, "partially synthetic")
    check_number(kappa, "kappa", least=1)
    between, within = q.var(ddof=1) / len(q), kappa * v.mean()
    df = (len(q) - 1) * (1 + within / between) ** 2 if between > 0 else np.inf
    factor = "" if kappa == 1 else f"{kappa:.12g} "
    return t_interval(
        q.mean(),
        within + between,
        df,
        level,
        f"partially synthetic: {factor}vbar + b/L (Reiter 2003)",
    )


def combine_fully_synthetic(
    estimates: Sequence[float],
    variances: Sequence[float],
    *,
    size_ratio: float | None = None,
    level: float = 0.95,
) -> Interval:
    """Return an interval from fully synthetic data (Raghunathan, Reiter & Rubin 2003): T_f = (1 +
    1/L) b - vbar.

    Parameters
    ----------
    estimates, variances : sequences of length L >= 2
    size_ratio : float, optional
        n_syn / n. Needed only where T_f < 0, for the non-negative adjustment (n_syn/n) vbar, which
        `rule` then names.
    level : float

    Examples
    --------
    >>> interval = rw.combine_fully_synthetic([10.2, 10.9, 10.4], [0.02, 0.02, 0.02])
    >>> round(interval.lower, 2), round(interval.upper, 2)
    (8.28, 12.72)
    """
    q, v = _estimates(estimates, variances, level, 2, "fully synthetic")
    between, within = (1 + 1 / len(q)) * q.var(ddof=1), v.mean()
    variance = between - within
    if variance > 0:
        df = (len(q) - 1) * (1 - within / between) ** 2
        return t_interval(
            q.mean(),
            variance,
            df,
            level,
            "fully synthetic: (1 + 1/L) b - vbar (Raghunathan et al. 2003)",
        )
    if size_ratio is None or not size_ratio > 0:
        raise InputError(
            "T_f = (1 + 1/L) b - vbar is not positive; give size_ratio = n_syn/n for the "
            "non-negative adjustment, or a larger L"
        )
    rule = "fully synthetic, T_f <= 0: non-negative adjustment (n_syn/n) vbar"
    return t_interval(q.mean(), size_ratio * within, np.inf, level, rule)


def combined_interval(
    estimates: Sequence[float],
    variances: Sequence[float],
    *,
    level: float,
    size_ratio: float | None = None,
    kappa: float = 1.0,
) -> Interval:
    """By the rule of fully synthetic data where `size_ratio` is given, else by that of partially
    synthetic ones.
    """
    if size_ratio is None:
        return combine_partially_synthetic(estimates, variances, level=level, kappa=kappa)
    return combine_fully_synthetic(estimates, variances, size_ratio=size_ratio, level=level)


def joint_test_partially_synthetic(
    estimates: np.ndarray, covariances: np.ndarray, null: np.ndarray
) -> JointTest:
    """Return the test of k coefficients at once from partially synthetic data (Reiter 2005; METHODS
    section 6).

    Parameters
    ----------
    estimates : array (L, k)
    covariances : array (L, k, k)
    null : array (k,)
        Hypothesised values; k (L - 1) > 4 is needed.

    Examples
    --------
    >>> estimates, covariances = (
    ...     np.array([[1.0, 0.2], [1.2, 0.1], [0.9, 0.3], [1.1, 0.2]]),
    ...     np.tile(0.2 * np.eye(2), (4, 1, 1)),
    ... )
    >>> round(rw.joint_test_partially_synthetic(estimates, covariances, np.zeros(2)).p_value, 4)
    0.06
    """
    q = np.asarray(estimates, dtype=float)
    u = np.asarray(covariances, dtype=float)
    null = np.asarray(null, dtype=float)
    if q.ndim != 2 or u.shape != (*q.shape, q.shape[1]) or null.shape != q.shape[1:]:
        raise InputError(
            f"shapes must be (L, k), (L, k, k) and (k,), got {q.shape}, {u.shape} and {null.shape}"
        )
    count, k = q.shape
    t = k * (count - 1)
    if t <= 4:
        raise InputError(
            f"the joint test needs k (L - 1) > 4, got {t} with L = {count} and k = {k}"
        )
    inverse = np.linalg.inv(u.mean(axis=0))
    r = np.trace(np.cov(q, rowvar=False, ddof=1).reshape(k, k) @ inverse) / (count * k)
    off = q.mean(axis=0) - null
    statistic = float(off @ inverse @ off / (k * (1 + r)))
    denominator = 4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2 if r > 0 else np.inf
    p_value = (
        stats.f.sf(statistic, k, denominator)
        if np.isfinite(denominator)
        else stats.chi2.sf(statistic * k, k)
    )
    return JointTest(statistic, float(k), float(denominator), float(p_value))


def interval_overlap(
    confidential: tuple[float, float], synthetic: tuple[float, float], *, clip: bool = True
) -> float:
    """Return the mean of the overlap's share of either interval (Karr et al. 2006); 1 is identical,
    higher is more useful.

    Parameters
    ----------
    confidential, synthetic : (lower, upper)
    clip : bool
        Disjoint intervals give 0 (default) or, with False, a negative number that grows with their
        distance (Snoke et al. 2018).

    Examples
    --------
    >>> round(rw.interval_overlap((10.53, 10.69), (10.52, 10.67)), 3)
    0.904
    """
    (a, b), (c, d) = confidential, synthetic
    if not (np.isfinite([a, b, c, d]).all() and a < b and c < d):
        raise InputError("an interval must be (lower, upper), finite, with lower < upper")
    common = min(b, d) - max(a, c)
    overlap = 0.5 * (common / (b - a) + common / (d - c))
    return float(max(overlap, 0.0) if clip else overlap)


def mean_interval(values: np.ndarray, *, level: float = 0.95) -> tuple[float, float]:
    """t interval of the mean of independent values (n,); (NaN, NaN) where n < 2."""
    check_share(level, "level")
    if len(values) < 2:
        return np.nan, np.nan
    half = stats.t.ppf(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def proportion_interval(share: float, count: float, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson interval of a proportion observed in `count` trials; (NaN, NaN) where there are
    none.
    """
    check_share(level, "level")
    if not count > 0:
        return np.nan, np.nan
    square = float(stats.norm.ppf(0.5 + level / 2)) ** 2
    centre = (share + square / (2 * count)) / (1 + square / count)
    half = math.sqrt(square * (share * (1 - share) / count + square / (4 * count**2))) / (
        1 + square / count
    )
    # rounding aside, it holds the share
    return min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share)
