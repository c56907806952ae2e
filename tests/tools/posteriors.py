"""The log posterior that a blueprint's graph states, to hold densities to."""

from typing import Any

from riskweighted.contract.synthesizer import Blueprint
from riskweighted.sampling.graphs import WeightedSum, function_of_draw, log_prior_of

__all__ = ["compiled_log_posterior", "log_posterior_of"]


def compiled_log_posterior(blueprint: Blueprint) -> tuple[WeightedSum, Any]:
    """Priors and weighted likelihood as a function of one posterior draw and alpha (n,), and what PyTensor made of it."""
    likelihood = blueprint.model.replace_rvs_by_values([blueprint.weighted_log_likelihood])[0]
    return function_of_draw(blueprint, log_prior_of(blueprint.model) + likelihood)


def log_posterior_of(blueprint: Blueprint) -> WeightedSum:
    """As a function of one posterior draw and alpha (n,)."""
    return compiled_log_posterior(blueprint)[0]
