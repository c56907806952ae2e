"""Estimates under survey weights, with the variance of a stratified one-stage design (METHODS section 6).

Taylor linearisation, records drawn with replacement within strata (Binder 1983; Lumley 2010). What is left out: clusters of records drawn
together, the finite population correction, which both make it differ, and that weights were calibrated, which mostly makes it too large.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted.common.checks import check_share
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.groups import group_codes
from riskweighted.common.native import as_pandas
from riskweighted.common.survey import survey_weights
from riskweighted.utility.ecdf import EcdfDistance
from riskweighted.utility.intervals import t_interval

__all__ = [
    "SurveyDesign",
    "SurveyEstimate",
    "survey_design",
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


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """A survey design is stratified and of one stage; `survey_design` makes one.

    Attributes
    ----------
    weights : array (n,)
        Of mean 1.
    strata : integer array (n,)
        Codes from 0; all 0 without strata.
    column, stratified_by : str or None
        What they were made of.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> design = rw.survey_design(data, survey="w", strata="region")
    >>> design.df, design.stratified_by
    (198.0, 'region')
    """

    weights: np.ndarray = field(repr=False)
    strata: np.ndarray = field(repr=False)
    column: str
    stratified_by: str | None = None

    @property
    def df(self) -> float:
        """Degrees of freedom: records less strata."""
        return float(len(self.weights) - self.strata.max() - 1)

    @property
    def described(self) -> str:
        """In words, for the rule of an interval."""
        strata = "without strata" if self.stratified_by is None else f"within strata of {self.stratified_by}"
        return f"design-based, weights {self.column}, with replacement {strata}"

    def covariance(self, scores: np.ndarray) -> np.ndarray:
        """Covariance (k, k) of the weighted totals of scores (n, k): sum_h n_h / (n_h - 1) sum_i (w_i z_i - mean_h)(w_i z_i - mean_h)'."""
        weighted = self.weights[:, None] * scores
        sizes = np.bincount(self.strata)
        means = np.stack([np.bincount(self.strata, column) for column in weighted.T], axis=1) / sizes[:, None]
        centred = weighted - means[self.strata]
        return np.asarray(centred.T @ ((sizes / (sizes - 1))[self.strata][:, None] * centred))


def survey_design(data: pd.DataFrame, survey: str, strata: str | None = None) -> SurveyDesign:
    """Return the design behind a file: survey weights and, if any, strata, by their columns.

    Parameters
    ----------
    data : DataFrame, n rows
    survey : str
        Column of the weights.
    strata : str, optional
        Column of the strata, each of 2 records or more.

    Raises
    ------
    InputError
        As `survey_weights`; or if strata are missing, or one holds a single record, which shows no variance.

    Examples
    --------
    >>> from riskweighted.runs.examples import data
    >>> rw.survey_design(data, survey="w").weights.mean().round(6).item()
    1.0
    """
    data = as_pandas(data)
    weights = survey_weights(data, survey).to_numpy()
    if len(weights) < 2:
        raise InputError("a design needs 2 records or more, got 1")
    codes = np.zeros(len(weights), dtype=np.int64)
    if strata is not None:
        require_columns(data, [strata], "confidential data (strata)")
        missing = int(data[strata].isna().sum())
        if missing:
            raise InputError(f"strata {strata!r} are missing in {missing} of {len(data)} records; every record must lie in one")
        codes = pd.factorize(data[strata])[0]
        single = int((np.bincount(codes) == 1).sum())
        if single:
            raise InputError(f"strata {strata!r}: {single} of {codes.max() + 1} hold a single record and show no variance; merge strata")
    return SurveyDesign(weights, codes, survey, strata)


def _with_interval(value: float, variance: float, df: float, level: float = 0.95) -> SurveyEstimate:
    """An estimate with its t interval."""
    interval = t_interval(value, variance, df, check_share(level, "level"), "")
    return SurveyEstimate(interval.estimate, interval.variance, interval.df, interval.lower, interval.upper)


def survey_ratio(numerator: np.ndarray, denominator: np.ndarray, design: SurveyDesign, *, level: float = 0.95) -> SurveyEstimate:
    """Return a ratio of weighted totals, sum w y / sum w x, linearised with z_i = (y_i - R x_i) / sum w x.

    Parameters
    ----------
    numerator, denominator : arrays (n,)
        Records where either is NaN lie outside the domain: they add nothing, but count in their stratum.
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
    >>> ratio = rw.survey_ratio(data["income"].to_numpy(), data["age"].to_numpy(), rw.survey_design(data, "w", "region"))
    >>> round(ratio.value), round(ratio.variance**0.5)
    (989, 46)
    """
    y, x = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    if y.shape != design.weights.shape or x.shape != design.weights.shape:
        raise InputError(f"values must be one for each of the {len(design.weights)} records of the design, got shapes {y.shape}, {x.shape}")
    inside = ~(np.isnan(y) | np.isnan(x))
    y, x = np.where(inside, y, 0.0), np.where(inside, x, 0.0)
    total = float(design.weights @ x)
    if total == 0:
        raise InputError("the weighted total of the denominator is zero, or no record holds a value: there is no ratio")
    ratio = float(design.weights @ y) / total
    variance = float(design.covariance(((y - ratio * x) / total)[:, None])[0, 0])
    return _with_interval(ratio, variance, design.df, level)


def survey_mean(values: np.ndarray, design: SurveyDesign, *, level: float = 0.95) -> SurveyEstimate:
    """Return the weighted mean of values (n,), or the share of those that are 1 where others are 0; NaN lies outside the domain.

    Examples
    --------
    >>> design = rw.survey_design(pd.DataFrame({"w": [1, 1, 2, 2], "h": list("aabb")}), "w", "h")
    >>> mean = rw.survey_mean(np.array([1.0, 3.0, 2.0, 4.0]), design)
    >>> round(mean.value, 4), round(mean.variance, 4)
    (2.6667, 0.5556)
    """
    return survey_ratio(values, np.where(np.isnan(np.asarray(values, dtype=float)), np.nan, 1.0), design, level=level)


def weighted_quantile(values: np.ndarray, weights: np.ndarray, quantile: float | np.ndarray) -> np.ndarray:
    """The smallest value up to which at least a share, or each of shares (k,), of the weight lies; NaN values are left out.

    Below 0 it is the smallest value of weight above 0, above 1 the largest.
    """
    kept = ~np.isnan(values) & (weights > 0)
    order = np.argsort(values[kept], kind="stable")
    ordered, cumulated = values[kept][order], np.cumsum(weights[kept][order])
    if len(ordered) == 0:
        raise InputError("no record of weight above 0 holds a value: there is no quantile")
    # a share that is reached but for rounding is reached
    places = np.searchsorted(cumulated, np.asarray(quantile) * cumulated[-1] * (1 - 1e-12), side="left")
    return np.asarray(ordered[np.minimum(places, len(ordered) - 1)])


def survey_quantile(values: np.ndarray, quantile: float, design: SurveyDesign, *, level: float = 0.95) -> SurveyEstimate:
    """Return a weighted quantile with Woodruff's (1952) interval: that of the share below it, read back through the distribution.

    Its variance is that of which the interval is the t interval: ((upper - lower) / (2 t))^2, as in R's survey package.

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
    (41190, 37130, 47410)
    """
    check_share(quantile, "quantile")
    values = np.asarray(values, dtype=float)
    value = float(weighted_quantile(values, design.weights, quantile))
    below = survey_mean(np.where(np.isnan(values), np.nan, values <= value), design, level=level)
    half = (below.upper - below.lower) / 2
    lower, upper = weighted_quantile(values, design.weights, np.array([quantile - half, quantile + half]))
    t = stats.t.ppf(0.5 + level / 2, design.df)
    return SurveyEstimate(value, float(((upper - lower) / (2 * t)) ** 2), design.df, float(lower), float(upper))


def weighted_ecdf(values: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The share of the weight of values (n,) that lies at or below each point of `at` (m,), (m,)."""
    order = np.argsort(values, kind="stable")
    cumulated = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(cumulated[np.searchsorted(values[order], at, side="right")] / cumulated[-1])


def weighted_ecdf_distance(confidential: np.ndarray, synthetic: np.ndarray, weights: np.ndarray) -> EcdfDistance:
    """Return U_m and U_a of two columns of the same records (n,) under the same weights (n,); U_a is the mean over the weight of both.

    With equal weights it is `ecdf_distance`. Records where a column holds NaN are left out of its distribution function.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> round(rw.weighted_ecdf_distance(data["income"], synthetic[0]["income"], data["w"]).maximum, 3)
    0.078
    """
    both = [np.asarray(values, dtype=float) for values in (confidential, synthetic)]
    kept = [~np.isnan(values) for values in both]
    if not all((weights[held] > 0).any() for held in kept):
        raise InputError("no record of weight above 0 holds a value: there is no distribution function")
    merged = np.concatenate([values[held] for values, held in zip(both, kept, strict=True)])
    mass = np.concatenate([weights[held] for held in kept])
    shares = [weighted_ecdf(values[held], weights[held], merged) for values, held in zip(both, kept, strict=True)]
    difference = np.abs(shares[0] - shares[1])
    return EcdfDistance(float(difference.max()), float(mass @ difference**2 / mass.sum()))


def weighted_total_variation(confidential: pd.Series, synthetic: pd.Series, weights: np.ndarray) -> float:
    """Half the sum over the levels of the absolute differences of their shares of the weight; missing is a level of its own."""
    codes = group_codes([confidential, synthetic], 2, numeric=False)
    levels = 1 + max(int(file.max()) for file in codes)
    shares = [np.bincount(file, weights, levels) / weights.sum() for file in codes]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
