"""The log posterior that a blueprint's graph states, to hold densities to."""

from riskweighted.contract.synthesizer import Blueprint
from riskweighted.sampling.agreement import WeightedSum, _compiled, log_posterior_graph


def log_posterior_of(blueprint: Blueprint) -> WeightedSum:
    """As a function of one posterior draw and alpha (n,)."""
    return _compiled(blueprint, *log_posterior_graph(blueprint))
