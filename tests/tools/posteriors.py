"""The log posterior that a blueprint's graph states, to hold densities to."""

from riskweighted.synthesis.agreement import WeightedSum, _compiled, log_posterior_graph
from riskweighted.synthesis.contract import Blueprint


def log_posterior_of(blueprint: Blueprint) -> WeightedSum:
    """As a function of one posterior draw and alpha (n,)."""
    return _compiled(blueprint, *log_posterior_graph(blueprint))
