"""A model that a plug-in might give as a PyMC graph and nothing else, so small that it is compiled
in seconds.
"""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from records import Asked
from riskweighted_models.negative_binomial import NegativeBinomial
from scipy import special, stats

import riskweighted as rw
from riskweighted.contract.distribution import is_symbolic


@dataclass(frozen=True)
class PoissonGraph(NegativeBinomial):
    """Counts of one mean, exp(intercept); as of the negative binomial, equal counts are one row."""

    def build(self, prepared):
        def weigh(alpha):
            return {
                "alpha": np.bincount(prepared.which, weights=alpha, minlength=len(prepared.counts))
            }

        with pm.Model() as model:
            alpha = pm.Data("alpha", weigh(np.ones(len(prepared.which)))["alpha"])
            intercept = pm.Normal("intercept", 0.0, 5.0)
            pm.Deterministic("predictive_mean", pt.exp(intercept))
            pm.Deterministic("predictive_sd", pt.exp(intercept / 2))
            terms = (
                prepared.counts * intercept
                - pt.exp(intercept)
                - special.gammaln(prepared.counts + 1)
            )
            total = (alpha * terms).sum()
        monitored = ("predictive_mean", "predictive_sd")
        return rw.Blueprint(model, total, weigh, monitored, len(prepared.counts))

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def log_density(self, theta, prepared, y):
        if is_symbolic(theta):
            return y * theta["intercept"] - pt.exp(theta["intercept"]) - special.gammaln(y + 1)
        return stats.poisson.logpmf(y, np.exp(theta["intercept"]))

    def draw(self, theta, prepared, rng):
        return rng.poisson(np.exp(theta["intercept"]), len(prepared.which)).astype(float)
