"""Estimates under survey weights, with the variance of their design (METHODS section 6).

That weights were calibrated is left out where there are no replicate weights, which mostly makes
the variance too large.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.common.checks import check_share
from riskweighted.common.errors import InputError
from riskweighted.common.groups import group_codes
from riskweighted.utility.combining_rules import t_interval
from riskweighted.utility.ecdf import EcdfDistance
from riskweighted.utility.survey_design import SurveyDesign

__all__ = [
    "SurveyEstimate",
    "survey_mean",
    "survey_quantile",
    "survey_ratio",
    "weighted_ecdf",
    "weighted_ecdf_distance",
    "weighted_quantile",
    "weighted_total_variation",
]


class SurveyEstimate(NamedTuple):
    """An estimate, its design-based variance and degrees of freedom, and its interval."""

    value: float
    variance: float
    df: float
    lower: float
    upper: float


def _with_interval(value: float, variance: float, df: float, level: float = 0.95) -> SurveyEstimate:
    """An estimate with its t interval."""
    interval = t_interval(value, variance, df, check_share(level, "level"), "")
    return SurveyEstimate(
        interval.estimate, interval.variance, interval.df, interval.lower, interval.upper
    )


def survey_ratio(
    numerator: np.ndarray, denominator: np.ndarray, design: SurveyDesign, *, level: float = 0.95
) -> SurveyEstimate:
    """Return a ratio of weighted totals, sum w y / sum w x, linearised with z_i = (y_i - R x_i) /
    sum w x.

    Parameters
    ----------
    numerator, denominator : arrays (n,)
        Records where either is NaN lie outside the domain: they add nothing, but count in their
        stratum.
    design : SurveyDesign
    level : float
        Probability of the interval.

    Raises
    ------
    InputError
        If lengths differ or the weighted total of the denominator is zero.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> ratio = rw.survey_ratio(
    ...     data["income"].to_numpy(), data["age"].to_numpy(), rw.survey_design(data, "w", "region")
    ... )
    >>> round(ratio.value), round(ratio.variance**0.5)
    (989, 46)
    """
    y, x = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    if y.shape != design.weights.shape or x.shape != design.weights.shape:
        raise InputError(
            f"values must be one for each of the {len(design.weights)} records of the design, "
            f"got shapes {y.shape}, {x.shape}"
        )
    inside = ~(np.isnan(y) | np.isnan(x))
    y, x = np.where(inside, y, 0.0), np.where(inside, x, 0.0)
    total = float(design.weights @ x)
    if total == 0:
        raise InputError(
            "the weighted total of the denominator is zero, or no record holds a value: there is "
            "no ratio"
        )
    ratio = float(design.weights @ y) / total
    # of replicate weights some may leave out every record of the domain
    with np.errstate(divide="ignore", invalid="ignore"):
        again = design.covariance(
            lambda: ((y - ratio * x) / total)[:, None],
            lambda weights: np.array([weights @ y / (weights @ x)]),
        )
    variance = float(again[0, 0])
    return _with_interval(ratio, variance, design.df, level)


def survey_mean(values: np.ndarray, design: SurveyDesign, *, level: float = 0.95) -> SurveyEstimate:
    """Return the weighted mean of values (n,), or the share of those that are 1 where others are 0;
    NaN lies outside the domain.

    Examples
    --------
    >>> design = rw.survey_design(pd.DataFrame({"w": [1, 1, 2, 2], "h": list("aabb")}), "w", "h")
    >>> mean = rw.survey_mean(np.array([1.0, 3.0, 2.0, 4.0]), design)
    >>> round(mean.value, 4), round(mean.variance, 4)
    (2.6667, 0.5556)
    """
    return survey_ratio(
        values,
        np.where(np.isnan(np.asarray(values, dtype=float)), np.nan, 1.0),
        design,
        level=level,
    )


def weighted_quantile(
    values: np.ndarray, weights: np.ndarray, quantile: float | np.ndarray
) -> np.ndarray:
    """The smallest value up to which at least a share, or each of shares (k,), of the weight lies;
    NaN values are left out.

    Below 0 it is the smallest value of weight above 0, above 1 the largest.
    """
    kept = ~np.isnan(values) & (weights > 0)
    order = np.argsort(values[kept], kind="stable")
    ordered, cumulated = values[kept][order], np.cumsum(weights[kept][order])
    if len(ordered) == 0:
        raise InputError("no record of weight above 0 holds a value: there is no quantile")
    # a share that is reached but for rounding is reached
    places = np.searchsorted(
        cumulated, np.asarray(quantile) * cumulated[-1] * (1 - 1e-12), side="left"
    )
    return np.asarray(ordered[np.minimum(places, len(ordered) - 1)])


def survey_quantile(
    values: np.ndarray, quantile: float, design: SurveyDesign, *, level: float = 0.95
) -> SurveyEstimate:
    """Return a weighted quantile with Woodruff's (1952) interval: that of the share below it, read
    back through the distribution.

    The share is that which lies at or below the quantile, not the one that was asked for, and the
    variance is that of which the interval is the t interval, ((upper - lower) / (2 t))^2: both as
    in R's survey package since version 4.1.

    Parameters
    ----------
    values : array (n,)
        NaN lies outside the domain.
    quantile : float
        In (0, 1); the smallest value up to which at least this share of the weight lies.
    design : SurveyDesign
    level : float

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> median = rw.survey_quantile(data["income"].to_numpy(), 0.5, rw.survey_design(data, "w"))
    >>> round(median.value), round(median.lower), round(median.upper)
    (41190, 37590, 47410)
    """
    check_share(quantile, "quantile")
    values = np.asarray(values, dtype=float)
    value = float(weighted_quantile(values, design.weights, quantile))
    below = survey_mean(np.where(np.isnan(values), np.nan, values <= value), design, level=level)
    if not np.isfinite(below.variance):  # a replicate leaves out the whole domain
        return SurveyEstimate(value, np.nan, design.df, np.nan, np.nan)
    lower, upper = weighted_quantile(values, design.weights, np.array([below.lower, below.upper]))
    t = stats.t.ppf(0.5 + level / 2, design.df)
    return SurveyEstimate(
        value, float(((upper - lower) / (2 * t)) ** 2), design.df, float(lower), float(upper)
    )


def weighted_ecdf(values: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The share of the weight of values (n,) that lies at or below each point of `at` (m,),
    (m,).
    """
    order = np.argsort(values, kind="stable")
    cumulated = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(cumulated[np.searchsorted(values[order], at, side="right")] / cumulated[-1])


def weighted_ecdf_distance(
    confidential: np.ndarray, synthetic: np.ndarray, weights: np.ndarray
) -> EcdfDistance:
    """Return U_m and U_a of two columns of the same records (n,) under the same weights (n,); U_a
    is the mean over the weight of both.

    With equal weights it is `ecdf_distance`. Records where a column holds NaN are left out of its
    distribution function.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> round(
    ...     rw.weighted_ecdf_distance(data["income"], synthetic[0]["income"], data["w"]).maximum, 3
    ... )
    0.078
    """
    both = [np.asarray(values, dtype=float) for values in (confidential, synthetic)]
    kept = [~np.isnan(values) for values in both]
    if not all((weights[held] > 0).any() for held in kept):
        raise InputError(
            "no record of weight above 0 holds a value: there is no distribution function"
        )
    merged = np.concatenate([values[held] for values, held in zip(both, kept, strict=True)])
    mass = np.concatenate([weights[held] for held in kept])
    shares = [
        weighted_ecdf(values[held], weights[held], merged)
        for values, held in zip(both, kept, strict=True)
    ]
    difference = np.abs(shares[0] - shares[1])
    return EcdfDistance(float(difference.max()), float(mass @ difference**2 / mass.sum()))


def weighted_total_variation(
    confidential: pd.Series, synthetic: pd.Series, weights: np.ndarray
) -> float:
    """Half the sum over the levels of the absolute differences of their shares of the weight;
    missing is a level of its own.
    """
    codes = group_codes([confidential, synthetic], 2, numeric=False)
    levels = 1 + max(int(file.max()) for file in codes)
    shares = [np.bincount(file, weights, levels) / weights.sum() for file in codes]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
