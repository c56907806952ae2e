"""Leave-one-out predictive probabilities from one fit, by Pareto-smoothed importance sampling
(Vehtari, Gelman & Gabry 2017).
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import arviz as az

try:
    from arviz_stats.base import array_stats
except ImportError:
    array_stats = None

__all__ = ["K_LIMIT", "LeaveOneOut", "importance_weights", "leave_one_out"]

K_LIMIT = 0.7  # of the Pareto shape, above which the estimate of a record is not to be relied on


class LeaveOneOut(NamedTuple):
    """``elpd`` (m,): log p(record | all other records); ``pareto_k`` (m,)."""

    elpd: np.ndarray
    pareto_k: np.ndarray


def leave_one_out(log_likelihood: np.ndarray) -> LeaveOneOut:
    """The log predictive probability of every record given the others, of log p(record | theta_s)
    (m, S) at nearly independent draws.
    """
    log_weights, pareto_k = _smoothed(log_likelihood)
    elpd: np.ndarray = logsumexp(log_weights + log_likelihood, axis=-1)
    return LeaveOneOut(elpd, pareto_k)


def importance_weights(contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (m, S) that take S draws (m, S of what each record adds to the log posterior) to the
    posterior without the record.

    Pareto smoothed, with sum 1 for every record; and the Pareto shapes, (m,), 0 for a record that
    adds the same everywhere.
    """
    log_weights, pareto_k = _smoothed(contributions)
    pareto_k = np.where(np.ptp(contributions, axis=-1) > 0, pareto_k, 0.0)
    return np.exp(log_weights - logsumexp(log_weights, axis=-1, keepdims=True)), pareto_k


def _smoothed(contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pareto-smoothed logarithms of weights proportional to exp(-contribution), and the shapes."""
    if array_stats is None:
        log_weights, pareto_k = az.psislw(-contributions, reff=1.0)
    else:  # ArviZ 1, which takes what is divided by
        log_weights, pareto_k = array_stats.psislw(contributions, r_eff=1.0, axis=-1)
    return np.asarray(log_weights), np.asarray(pareto_k, dtype=float)
