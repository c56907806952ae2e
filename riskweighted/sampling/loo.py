"""Leave-one-out predictive probabilities from one fit, by Pareto-smoothed importance sampling
(Vehtari, Gelman & Gabry 2017).
"""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from riskweighted.common.extras import late

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


def array_stats() -> Any:
    """What ArviZ 1 has in the place of ``arviz.psislw``; None where an older one is installed."""
    return late("arviz_stats.base").array_stats if find_spec("arviz_stats") else None


def _smoothed(contributions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pareto-smoothed logarithms of weights proportional to exp(-contribution), and the shapes."""
    later = array_stats()
    if later is None:
        log_weights, pareto_k = late("arviz").psislw(-contributions, reff=1.0)
    else:  # ArviZ 1, which takes what is divided by
        log_weights, pareto_k = later.psislw(contributions, r_eff=1.0, axis=-1)
    return np.asarray(log_weights), np.asarray(pareto_k, dtype=float)
