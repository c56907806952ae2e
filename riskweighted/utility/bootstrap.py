"""Bootstrap intervals of a mean or a quantile, pooled over L datasets as in the authors' code (METHODS section 6)."""

from collections.abc import Sequence

import numpy as np

from riskweighted.common.checks import MOST_RESAMPLES, check_count, check_share
from riskweighted.utility.intervals import Interval

__all__ = ["bootstrap_means", "bootstrap_quantiles", "pooled_bootstrap"]

_BLOCK = 2_000_000  # resampled values held at once


def bootstrap_means(values: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Means of `resamples` samples of size n drawn with replacement from values (n,); (resamples,)."""
    distinct, counts = np.unique(values, return_counts=True)
    if 4 * len(distinct) < len(values):  # a sample is its counts of the distinct values
        drawn: np.ndarray = rng.multinomial(len(values), counts / len(values), size=resamples) @ distinct
        return drawn / len(values)
    means = np.empty(resamples)
    block = max(1, _BLOCK // len(values))
    for start in range(0, resamples, block):
        size = (min(block, resamples - start), len(values))
        means[start : start + block] = values[rng.integers(0, len(values), size)].mean(axis=1)
    return means


def bootstrap_quantiles(values: np.ndarray, quantile: float, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Quantiles (linear interpolation) of samples drawn with replacement, without drawing the samples; (resamples,).

    The j-th order statistic of a resample is the value at place floor(n U), U the j-th order statistic of n uniforms,
    Beta(j, n - j + 1); given it, the next one follows from a Beta(1, n - j). Exact, at a cost free of n but for one sort.
    """
    n, ordered = len(values), np.sort(values)
    place = (n - 1) * quantile
    j, share = int(np.floor(place)) + 1, place - np.floor(place)
    first = rng.beta(j, n - j + 1, resamples)
    at_first: np.ndarray = ordered[np.minimum((n * first).astype(np.int64), n - 1)]
    if share == 0:
        return at_first
    second = first + (1 - first) * rng.beta(1, n - j, resamples)
    at_second: np.ndarray = ordered[np.minimum((n * second).astype(np.int64), n - 1)]
    between: np.ndarray = (1 - share) * at_first + share * at_second
    return between


def pooled_bootstrap(
    datasets: Sequence[np.ndarray], quantile: float | None, rng: np.random.Generator, *, resamples: int = 1000, level: float = 0.95
) -> Interval:
    """Point estimate and interval from the bootstrap statistics of L datasets pooled.

    Parameters
    ----------
    datasets : sequence of L arrays (n,)
    quantile : float or None
        The statistic: a quantile in (0, 1), or None for the mean.
    rng : Generator
    resamples : int
        S per dataset, at most `MOST_RESAMPLES`.
    level : float
        Probability of the interval.

    Returns
    -------
    Interval
        Mean and outer quantiles of all S L values. Their variance is about vbar + b, not the vbar + b/L of the
        combining rule for partially synthetic data: `rule` says so.
    """
    check_count(resamples, "resamples", most=MOST_RESAMPLES)
    check_share(level, "level")
    if quantile is not None:
        check_share(quantile, "quantile")
    one = bootstrap_means if quantile is None else lambda values, count, rng: bootstrap_quantiles(values, quantile, count, rng)
    pooled = np.concatenate([one(np.asarray(values, dtype=float), resamples, rng) for values in datasets])
    lower, upper = np.quantile(pooled, [(1 - level) / 2, (1 + level) / 2])
    rule = f"pooled bootstrap, {len(datasets)} x {resamples} resamples (variance about vbar + b)"
    return Interval(float(pooled.mean()), float(lower), float(upper), float(pooled.var(ddof=1)), np.inf, rule)
