"""Bootstrap intervals of a mean or a quantile, pooled over L datasets as in the authors' code
(METHODS section 6).
"""

from collections.abc import Sequence

import numpy as np

from riskweighted.common.checks import MOST_RESAMPLES, check_count, check_share
from riskweighted.common.value_counts import ValueCounts
from riskweighted.utility.combining_rules import Interval

__all__ = ["bootstrap_means", "bootstrap_quantiles", "count_values", "pooled_bootstrap"]

_BLOCK = 2_000_000  # resampled values held at once
# values from which a mean follows its limit law, but for what the values farthest from it do
_MANY = 1_000
_FAR = 100  # of them


def count_values(values: np.ndarray | ValueCounts) -> ValueCounts:
    """Values (n,) as counts of the different ones."""
    return values if isinstance(values, ValueCounts) else ValueCounts.of(values)


def bootstrap_means(
    values: np.ndarray | ValueCounts, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Means of `resamples` samples of size n drawn with replacement from values (n,), or their
    counts; (resamples,).

    Of 1,000 and more, `_limit_means` takes a time that hardly grows with n (METHODS section 6).
    """
    counts = count_values(values)
    n, distinct = len(counts), len(counts.values)
    if _is_many(counts):
        return _limit_means(counts, resamples, rng)
    if 4 * distinct < n:  # a sample is its counts of the distinct values
        drawn: np.ndarray = rng.multinomial(n, counts.counts / n, size=resamples) @ counts.values
        return drawn / n
    means, ordered = np.empty(resamples), counts.at(np.arange(n))  # a thousand of them at most
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        size = (min(block, resamples - start), n)
        means[start : start + block] = ordered[rng.integers(0, n, size)].mean(axis=1)
    return means


def _is_many(counts: ValueCounts) -> bool:
    """Whether there are 1,000 values and more of over 100 different ones; counts of fewer are drawn
    as fast, and exactly.
    """
    return len(counts) >= _MANY and len(counts.values) > _FAR


def _limit_means(counts: ValueCounts, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """The same by drawing the 100 values farthest from the mean, and the sum of the others as
    normal with its skewness.

    Nothing that remains lies farther than sqrt(n / 100) standard deviations from the mean, so the
    third standardised cumulant of its share in the mean is at most 1 / sqrt(100), whatever the
    values. The skewness enters by the Cornish-Fisher expansion, z + g (z^2 - 1) / 6. What that
    leaves is below 1/200 of the resampling error of 1,000 resamples (measured at 2.5 %, 50 % and
    97.5 %).
    """
    n, mean = len(counts), counts.mean
    off = counts.values - mean
    farthest = np.argpartition(np.abs(off), len(off) - _FAR)[len(off) - _FAR :]
    farthest = farthest[np.argsort(-np.abs(off[farthest]), kind="stable")]
    before = np.cumsum(counts.counts[farthest]) - counts.counts[farthest]
    taken = np.clip(_FAR - before, 0, counts.counts[farthest])
    far, left = np.repeat(off[farthest], taken), counts.counts.astype(float)
    left[farthest] -= taken
    drawn = rng.binomial(n, _FAR / n, resamples)
    chosen = far[rng.integers(0, _FAR, drawn.sum())]
    sums = np.bincount(np.repeat(np.arange(resamples), drawn), weights=chosen, minlength=resamples)
    near, rest = n - _FAR, n - drawn
    centre = (left * off).sum() / near
    spread = np.sqrt((left * (off - centre) ** 2).sum() / near)
    standard = (off - centre) / (spread or 1.0)
    skewness = (left * (standard * standard * standard)).sum() / near / np.sqrt(rest)
    z = rng.standard_normal(resamples)
    sums += rest * centre + np.sqrt(rest) * spread * (z + skewness * (z * z - 1) / 6)
    return np.asarray(mean + sums / n)


def bootstrap_quantiles(
    values: np.ndarray | ValueCounts, quantile: float, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Quantiles (linear interpolation) of samples drawn with replacement, without drawing the
    samples; (resamples,).

    The j-th order statistic of a resample is the value at place floor(n U), U the j-th order
    statistic of n uniforms, Beta(j, n - j + 1); given it, the next one follows from a Beta(1, n -
    j). Exact, at a cost free of n but for one sort.
    """
    counts = count_values(values)
    n = len(counts)
    rank = (n - 1) * quantile
    j, share = int(np.floor(rank)) + 1, rank - np.floor(rank)
    first = rng.beta(j, n - j + 1, resamples)
    at_first: np.ndarray = counts.at(np.minimum((n * first).astype(np.int64), n - 1))
    if share == 0:
        return at_first
    second = first + (1 - first) * rng.beta(1, n - j, resamples)
    at_second: np.ndarray = counts.at(np.minimum((n * second).astype(np.int64), n - 1))
    between: np.ndarray = (1 - share) * at_first + share * at_second
    return between


def pooled_bootstrap(
    datasets: Sequence[np.ndarray | ValueCounts],
    quantile: float | None,
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Return the mean of a statistic over L datasets, with the interval of its bootstrap values
    pooled.

    Parameters
    ----------
    datasets : sequence of L arrays (n,)
        In any order: what is drawn depends on the values alone. Counts of the different values take
        their place.
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
        The estimate is the statistic of the datasets as they are; the ends are outer quantiles of
        all S L bootstrap values. Their variance is about vbar + b, not the vbar + b/L of the
        combining rule for partially synthetic data: `rule` says so, and how means of 1,000 values
        and more were resampled.

    Examples
    --------
    >>> from riskweighted.runs.examples import synthetic
    >>> incomes = [frame["income"].to_numpy() for frame in synthetic]
    >>> interval = rw.pooled_bootstrap(incomes, 0.5, np.random.default_rng(1))
    >>> interval.lower < interval.estimate < interval.upper
    True
    """
    check_count(resamples, "resamples", most=MOST_RESAMPLES)
    check_share(level, "level")
    if quantile is not None:
        check_share(quantile, "quantile")
    counts = [count_values(values) for values in datasets]
    if quantile is None:
        resampled = [bootstrap_means(values, resamples, rng) for values in counts]
    else:
        resampled = [bootstrap_quantiles(values, quantile, resamples, rng) for values in counts]
    pooled = np.concatenate(resampled)
    lower, upper = np.quantile(pooled, [(1 - level) / 2, (1 + level) / 2])
    limit = f", of each the {_FAR} farthest values, the others by normal theory with skewness"
    how = limit if quantile is None and any(map(_is_many, counts)) else ""
    rule = (
        f"pooled bootstrap, {len(datasets)} x {resamples} resamples{how} (variance about vbar + b)"
    )
    estimate = np.mean(
        [values.mean if quantile is None else values.quantile(quantile) for values in counts]
    )
    return Interval(
        float(estimate), float(lower), float(upper), float(pooled.var(ddof=1)), np.inf, rule
    )
