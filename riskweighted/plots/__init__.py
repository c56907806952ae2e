"""Figures in the manner of Hu et al. 2022: each function returns Matplotlib axes.

With ``minimum_count`` a figure of records becomes one of counts that show no record; `riskweighted.plots.binning` makes them.
"""

from riskweighted.plots.convergence import plot_convergence
from riskweighted.plots.frontier import plot_frontier
from riskweighted.plots.levels import plot_levels
from riskweighted.plots.quantiles import plot_quantiles
from riskweighted.plots.reidentification import plot_reidentification
from riskweighted.plots.risk import plot_risk_violins, plot_whack_a_mole
from riskweighted.plots.risk_utility import plot_risk_utility
from riskweighted.plots.sweeps import plot_sweep
from riskweighted.plots.utility import plot_density, plot_ecdf, plot_intervals
from riskweighted.plots.weights import plot_weights

__all__ = [
    "plot_convergence",
    "plot_density",
    "plot_ecdf",
    "plot_frontier",
    "plot_intervals",
    "plot_levels",
    "plot_quantiles",
    "plot_reidentification",
    "plot_risk_utility",
    "plot_risk_violins",
    "plot_sweep",
    "plot_weights",
    "plot_whack_a_mole",
]
