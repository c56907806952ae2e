"""A gamma regression with a logarithmic link, for positive amounts whose spread grows with their
mean.
"""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt

import riskweighted as rw


@dataclass(frozen=True)
class GammaRegression(rw.Regression):
    """y_i ~ Gamma(shape, mean exp(level + x_i' slope)); ``unit``: a public amount of the usual
    order.

    level ~ N(log unit, 1)     slope ~ N(0, 1)     shape ~ half-N(2)
    """

    unit: float = 1.0

    def priors(self, predictors):
        return {
            "level": pm.Normal("level", np.log(self.unit), 1.0),
            "slope": pm.Normal("slope", 0.0, 1.0, shape=predictors),
            "shape": pm.HalfNormal("shape", 2.0),
        }

    def values(self, theta, x):
        mean = pt.exp(theta["level"] + x @ theta["slope"])
        return pm.Gamma.dist(alpha=theta["shape"], beta=theta["shape"] / mean)

    def possible(self, y):
        return y > 0
