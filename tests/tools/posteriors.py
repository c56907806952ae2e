"""The log posterior that a blueprint's graph states, to hold densities to."""

from typing import Any

from riskweighted.contract.synthesizer import Blueprint
from riskweighted.sampling.graphs import WeightedSum, log_prior_and

__all__ = ["compiled_log_posterior", "log_posterior_of"]


def compiled_log_posterior(blueprint: Blueprint) -> tuple[WeightedSum, Any]:
    """Priors and weighted likelihood as a function of one posterior draw and alpha (n,), and what
    PyTensor made of it.
    """
    return log_prior_and(blueprint, blueprint.weighted_log_likelihood)


def log_posterior_of(blueprint: Blueprint) -> WeightedSum:
    """As a function of one posterior draw and alpha (n,)."""
    return compiled_log_posterior(blueprint)[0]
