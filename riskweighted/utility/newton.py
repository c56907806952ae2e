"""Weighted least squares and logistic regression of records that are taken together where their predictors are alike."""

import numpy as np
from scipy.special import expit

from riskweighted.design.distinct import Distinct

__all__ = ["solve_regression"]

_STEPS, _PRECISE = 50, 1e-10  # of Newton's method: the largest steps in log odds below which it has arrived
_MOST_LOG_ODDS = 30.0  # beyond, the response is separated and there is no estimate


def solve_regression(
    columns: Distinct, target: np.ndarray, weights: np.ndarray, logistic: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Coefficients (k,), the inverse of the weighted information (k, k) and residuals (m,); None where they are not determined.

    Records of one row enter by their weight and the weighted sum of their targets.
    """
    weight, sums = columns.sums(weights), columns.sums(weights * target)
    scale = np.sqrt(columns.counts @ columns.rows**2 / len(target))
    x = columns.rows / scale
    if len(target) < x.shape[1] or _rank(Distinct(x, columns.which).triangle(weight), len(target)) < x.shape[1]:
        return None
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS if logistic else 1):
        mean = expit(x @ beta) if logistic else x @ beta
        information = x.T @ ((weight * (mean * (1 - mean) if logistic else 1.0))[:, None] * x)
        try:
            step = np.linalg.solve(information, x.T @ (sums - weight * mean))
        except np.linalg.LinAlgError:
            return None
        beta = beta + step
        if not np.isfinite(beta).all() or (logistic and np.abs(x @ beta).max() > _MOST_LOG_ODDS):
            return None
        if not logistic or np.abs(x @ step).max() < _PRECISE:
            mean = expit(x @ beta) if logistic else x @ beta
            spread = weight * (mean * (1 - mean) if logistic else 1.0)
            bread = np.linalg.inv(x.T @ (spread[:, None] * x)) / np.outer(scale, scale)
            return beta / scale, bread, target - columns.spread(mean)
    return None


def _rank(triangle: np.ndarray, records: int) -> int:
    """The rank of what a triangle is the QR of, judged as NumPy does with so many rows."""
    values = np.linalg.svd(triangle, compute_uv=False)
    return int((values > values.max(initial=0.0) * records * np.finfo(float).eps).sum())
