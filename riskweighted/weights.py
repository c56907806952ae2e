"""From risk to weights: alpha_i in [0, 1], the power to which record i's likelihood is raised."""

import re
import warnings

import numpy as np
import pandas as pd

from riskweighted.balls import Neighbourhood, Neighbours, confidential_neighbours
from riskweighted.errors import InputError, SingletonWarning, is_number
from riskweighted.patterns import Patterns
from riskweighted.scenario import Scenario

__all__ = [
    "adjust_weights",
    "check_weights",
    "confidential_risk",
    "equalize_weights",
    "kway_weights",
    "marginal_weights",
    "pairwise_weights",
    "risk_weights",
    "scheme_weights",
]

_EXACT_BITS = 62  # sums of counts of fewer bits are exact in 64-bit integers


def _apply_singleton_policy(risk: np.ndarray, patterns: Patterns, scenario: Scenario) -> np.ndarray:
    """Risk of the records that are alone in their pattern: 1 ("protect"), 0 ("paper") or a refusal ("error")."""
    count = patterns.singletons
    if count == 0:
        return risk
    found = f"{count} of {len(patterns.sizes)} known patterns hold a single record, which the pattern alone identifies"
    if scenario.singletons == "error":
        raise InputError(f"{found}; coarsen the known variables, or set singletons to 'protect' or 'paper'")
    if scenario.singletons == "paper":
        warnings.warn(f"{found}; singletons='paper': risk 0, weight 1 as eq. 2 is printed", SingletonWarning, stacklevel=4)
        return np.where(patterns.in_pattern == 1, 0.0, risk)
    warnings.warn(f"{found}; singletons='protect': risk 1, weight 0", SingletonWarning, stacklevel=4)
    return np.where(patterns.in_pattern == 1, 1.0, risk)


def confidential_risk(confidential: pd.DataFrame, scenario: Scenario) -> pd.Series:
    """Identification risk of each confidential record, IR^c (S003 eq. 2), with the scenario's rule for singletons.

    Returns
    -------
    Series, on the index of `confidential`, in [0, 1]; higher is riskier.
    """
    patterns, neighbours = confidential_neighbours(confidential, scenario)
    risk = Neighbourhood(patterns.in_pattern, neighbours.within).risk
    return pd.Series(_apply_singleton_policy(risk, patterns, scenario), confidential.index, name="identification_risk")


def _joint_risk(patterns: Patterns, neighbours: Neighbours, k: int) -> np.ndarray:
    """Mean over the (k-1)-subsets of i's pattern of the k-way joint risk, without forming them; (n,).

    A candidate h lies outside the balls of i and of all k-1 others in C(e_h - 1, k - 1) of the subsets, where e_h
    counts the balls of the pattern that miss h. So one value per candidate, summed over those outside B_i, gives
    the numerator. In a pattern of fewer than k records the largest tuple is the pattern itself.
    """
    size = patterns.in_pattern
    k = min(k, int(size.max()))
    missing = size - neighbours.covering()  # e_h
    exact = k * np.log2(size.max()) + np.log2(len(patterns.sizes)) < _EXACT_BITS
    share = np.ones(len(size), dtype=np.int64 if exact else np.longdouble)
    tuples = np.ones(len(size), dtype=share.dtype)
    for t in range(1, k):
        allowed = size > t
        if exact:  # falling factorials: the binomials without their common (k-1)!
            share = np.where(allowed, share * np.maximum(missing - t, 0), share)
            tuples = np.where(allowed, tuples * (size - t), tuples)
        else:
            share = np.where(allowed, share * np.maximum(missing - t, 0) / np.maximum(size - t, 1), share)
    outside = patterns.sums(share) - neighbours.sums(share)
    return np.asarray(outside / (size * tuples), dtype=float)


def kway_weights(confidential: pd.DataFrame, scenario: Scenario, *, k: int) -> pd.Series:
    """Weights from the joint risk of each record with k - 1 others of its pattern (METHODS section 3).

    k = 1 gives the marginal weights (S003 eq. 3), k = 2 the pairwise ones (eq. 6-9), k = 3 and 4 the three- and
    four-way weights that S003 section 3.2.1 mentions. Exact, O(n log n): no pair or tuple is formed.

    Parameters
    ----------
    confidential : DataFrame, n rows
    scenario : Scenario
    k : int >= 1
        In a pattern of M < k records, M is used.

    Returns
    -------
    Series, on the index of `confidential`, in [0, 1]; lower means more protection.

    Raises
    ------
    InputError
        If a column is unknown, a sensitive value is missing or infinite, or k is not a whole number >= 1.
    """
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise InputError(f"k must be a whole number >= 1, got {k!r}")
    patterns, neighbours = confidential_neighbours(confidential, scenario)
    risk = _apply_singleton_policy(_joint_risk(patterns, neighbours, int(k)), patterns, scenario)
    return pd.Series(np.clip(1.0 - risk, 0.0, 1.0), confidential.index, name="alpha")


def marginal_weights(confidential: pd.DataFrame, scenario: Scenario) -> pd.Series:
    """alpha_i = 1 - IR_i^c (S003 eq. 3): see `kway_weights`."""
    return risk_weights(confidential_risk(confidential, scenario))


def pairwise_weights(confidential: pd.DataFrame, scenario: Scenario) -> pd.Series:
    """alpha_i = 1 - mean over j of IR_ij^c in i's pattern (S003 eq. 6-9): see `kway_weights`."""
    return kway_weights(confidential, scenario, k=2)


def risk_weights(risk: pd.Series) -> pd.Series:
    """alpha = 1 - risk for any per-record risk in [0, 1], for example an expected match risk or the user's own."""
    return (1.0 - _as_series(risk, "risk")).rename("alpha")


def scheme_weights(scheme: str, confidential: pd.DataFrame, scenario: Scenario) -> pd.Series:
    """Weights by the name of a scheme: "unweighted", "marginal", "pairwise", or "3-way", "4-way", ..."""
    if scheme == "unweighted":
        return pd.Series(1.0, confidential.index, name="alpha")
    if scheme == "marginal":
        return marginal_weights(confidential, scenario)
    if scheme == "pairwise":
        return pairwise_weights(confidential, scenario)
    match = re.fullmatch(r"([1-9]\d*)-way", str(scheme))
    if match is None:
        raise InputError(f"unknown weighting scheme {scheme!r}; valid are 'unweighted', 'marginal', 'pairwise', '3-way', '4-way', ...")
    return kway_weights(confidential, scenario, k=int(match[1]))


def check_weights(weights: pd.Series | np.ndarray, index: pd.Index, *, what: str = "weights") -> pd.Series:
    """Return weights as a Series on `index`, or refuse: wrong length or index, NaN, or outside [0, 1]."""
    if not isinstance(weights, pd.Series):
        values = np.asarray(weights)
        if values.ndim != 1:
            raise InputError(f"{what} must have one dimension, got {values.ndim}")
        weights = pd.Series(values, index if len(values) == len(index) else None, name="alpha")
    if len(weights) != len(index):
        raise InputError(f"{what} must have one value per record: got {len(weights)} for {len(index)} records")
    if not weights.index.equals(index):
        raise InputError(f"{what} must stand on the index of the confidential data, in its order; theirs differs")
    if not pd.api.types.is_numeric_dtype(weights.dtype):
        raise InputError(f"{what} must be numbers in [0, 1], got dtype {weights.dtype}")
    values = weights.to_numpy(dtype=float, na_value=np.nan)
    missing, outside = int(np.isnan(values).sum()), int(((values < 0) | (values > 1)).sum())
    if missing or outside:
        raise InputError(f"{what} must lie in [0, 1]: {missing} are missing and {outside} lie outside, of {len(values)}")
    return pd.Series(values, index, name=weights.name)


def _finite(value: float, what: str) -> float:
    if not is_number(value):
        raise InputError(f"{what} must be a finite number, got {value!r}")
    return float(value)


def _as_series(weights: pd.Series | np.ndarray, what: str = "weights") -> pd.Series:
    """Checked weights on their own index."""
    return check_weights(weights, weights.index if isinstance(weights, pd.Series) else pd.RangeIndex(np.size(weights)), what=what)


def adjust_weights(alpha: pd.Series, scale: float = 1, shift: float = 0) -> pd.Series:
    """clip(scale * alpha + shift, 0, 1): the authors' two adjustments towards utility or towards privacy."""
    scale, shift = _finite(scale, "scale"), _finite(shift, "shift")
    return (scale * _as_series(alpha) + shift).clip(0.0, 1.0).rename("alpha")


def equalize_weights(alpha: pd.Series, total: float) -> pd.Series:
    """min(1, m * alpha) with m solved so that the weights sum to `total`: compares schemes at equal total weight.

    Raises
    ------
    InputError
        If `total` is negative or exceeds the number of records with a positive weight, which no m can reach.
    """
    alpha = _as_series(alpha)
    total, positive = _finite(total, "total"), int((alpha > 0).sum())
    if not 0 <= total <= positive:
        raise InputError(f"total must lie between 0 and the {positive} records of positive weight, got {total!r}")
    # m * alpha reaches 1 for the largest weights first: with j of them at 1, the others share total - j.
    values = np.sort(alpha.to_numpy())[::-1]
    rest = np.cumsum(values[::-1])[::-1]  # sum of the j-th largest and below
    for_each = np.divide(total - np.arange(len(values)), rest, out=np.zeros(len(values)), where=rest > 0)
    enough = np.flatnonzero(for_each * values <= 1.0)  # the first j whose next largest stays at or below 1
    m = for_each[enough[0]] if total < positive else np.inf
    scaled = np.ones(len(alpha)) if np.isinf(m) else np.minimum(1.0, m * alpha.to_numpy())
    return pd.Series(np.where(alpha.to_numpy() > 0, scaled, 0.0), alpha.index, name="alpha")
