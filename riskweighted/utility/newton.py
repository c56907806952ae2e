"""Weighted least squares and logistic regression of records that are taken together where their
predictors are alike.
"""

import numpy as np
from scipy.special import expit

from riskweighted.design.distinct import Distinct

__all__ = ["solve_regression"]

_STEPS, _PRECISE = 50, 1e-10  # the most steps, and that in log odds below which it has arrived
_MOST_LOG_ODDS = 30.0  # beyond, the response is separated and there is no estimate


def solve_regression(
    columns: Distinct,
    target: np.ndarray,
    weights: np.ndarray,
    logistic: bool,
    precision: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Coefficients (k,), the inverse of the weighted information (k, k) and residuals (m,); None
    where they are not determined.

    Records of one row enter by their weight and the weighted sum of their targets. ``precision``
    (k,): of normal priors about 0, under which they are the posterior mode, which there is where
    records are few or separated, too.
    """
    weight, sums = columns.sums(weights), columns.sums(weights * target)
    scale = np.sqrt(columns.counts @ columns.rows**2 / len(target))
    x = columns.rows / scale
    prior = np.zeros(x.shape[1]) if precision is None else precision / scale**2
    if precision is None and _undetermined(Distinct(x, columns.which), weight, len(target)):
        return None
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS if logistic else 1):
        mean = expit(x @ beta) if logistic else x @ beta
        try:
            step = np.linalg.solve(
                _information(x, weight, mean, logistic, prior),
                x.T @ (sums - weight * mean) - prior * beta,
            )
        except np.linalg.LinAlgError:
            return None
        beta = beta + step
        separated = logistic and precision is None and np.abs(x @ beta).max() > _MOST_LOG_ODDS
        if not np.isfinite(beta).all() or separated:
            return None
        if not logistic or np.abs(x @ step).max() < _PRECISE:
            mean = expit(x @ beta) if logistic else x @ beta
            bread = np.linalg.inv(_information(x, weight, mean, logistic, prior)) / np.outer(
                scale, scale
            )
            return beta / scale, bread, target - columns.spread(mean)
    return None


def _information(
    x: np.ndarray, weight: np.ndarray, mean: np.ndarray, logistic: bool, prior: np.ndarray
) -> np.ndarray:
    curvature = weight * (mean * (1 - mean)) if logistic else weight
    return np.asarray(x.T @ (curvature[:, None] * x) + np.diag(prior))


def _undetermined(x: Distinct, weight: np.ndarray, records: int) -> bool:
    """Whether records are fewer than columns, or these follow from each other."""
    return bool(records < x.rows.shape[1]) or _rank(x.triangle(weight), records) < x.rows.shape[1]


def _rank(triangle: np.ndarray, records: int) -> int:
    """The rank of what a triangle is the QR of, judged as NumPy does with so many rows."""
    values = np.linalg.svd(triangle, compute_uv=False)
    return int((values > values.max(initial=0.0) * records * np.finfo(float).eps).sum())
