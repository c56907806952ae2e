"""A linear regression with heavy tails, for amounts of either sign with a few far out."""

from dataclasses import dataclass

import pymc as pm

import riskweighted as rw


@dataclass(frozen=True)
class StudentRegression(rw.Regression):
    """y_i ~ t(freedom, level + x_i' slope, width); ``middle`` and ``unit``: a public value and
    spread of the usual order.

    level ~ N(middle, unit) slope ~ N(0, unit) width ~ half-N(unit) freedom ~ 2 + Gamma(2, 0.1)
    """

    middle: float = 0.0
    unit: float = 1.0

    def priors(self, predictors):
        return {
            "level": pm.Normal("level", self.middle, self.unit),
            "slope": pm.Normal("slope", 0.0, self.unit, shape=predictors),
            "width": pm.HalfNormal("width", self.unit),
            "tail": pm.Gamma("tail", 2.0, 0.1),
        }

    def values(self, theta, x):
        return pm.StudentT.dist(
            nu=2 + theta["tail"], mu=theta["level"] + x @ theta["slope"], sigma=theta["width"]
        )
