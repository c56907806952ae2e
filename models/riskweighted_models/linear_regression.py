"""Bayesian linear regression of a (transformed) response."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from riskweighted.contract.distribution import is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Draw
from riskweighted.design.distinct import Distinct
from riskweighted.sampling.coordinates import free_normal
from riskweighted_models.linear_posterior import LinearLayout, centred_density, linear_density
from riskweighted_models.normal_graphs import GraphParts
from riskweighted_models.normal_parts import NormalParts
from riskweighted_models.raw_columns import ridge
from riskweighted_models.scaling import (
    ScaledRecords,
    ScaledResponse,
    StandardUnits,
    expected_masses,
)

__all__ = ["LinearRegression"]


@dataclass(frozen=True)
class LinearRegression(StandardUnits):
    """Normal linear regression.

    In standard units z of the transformed response and the raw columns x of the design, centred
    (METHODS section 5.5)::

        z_i ~ N(intercept + x_i' slope, sigma)
        intercept ~ N(0, 1)     slope_j ~ N(0, 1)     sigma ~ half-N(0, 1)

    A slope is thus the effect of a level (columns that hold only 0 and 1), or of one standard
    deviation of a numeric predictor, in standard deviations of the response. The weighted
    log-likelihood depends on the data only through the weighted count, the weighted least-squares
    coefficients, their Gram matrix and the weighted residual sum of squares, so its cost does not
    grow with n. The likelihood is not truncated to `support`; draws and ``mass`` are.

    Parameters
    ----------
    formula : str
        ``"log_rent ~ rooms + C(region)"``.
    transform, transform_constant, location, scale, support
        See `StandardUnits`; the default scale is the response's own.
    """

    def build(self, prepared: ScaledResponse) -> Blueprint:
        """Priors and weighted likelihood through sufficient statistics."""
        columns, n = prepared.raw.with_one, len(prepared.z)
        p = columns.rows.shape[1]

        def weigh(alpha: np.ndarray) -> dict[str, np.ndarray]:
            sums = columns.sums(alpha)
            coefficients = _least_squares(columns, prepared.z, alpha)
            # directly: a difference of squares would lose digits
            residuals = prepared.z - columns.spread(columns.rows @ coefficients)
            return {
                "total_weight": alpha.sum(),
                "least_squares": coefficients,
                "gram": columns.gram(sums),
                "residual_squares": (alpha * residuals**2).sum(),
            }

        def geometry(alpha: np.ndarray) -> dict[str, np.ndarray]:
            mean, covariance, _ = ridge(columns, prepared.z, alpha)
            return {"coefficient_centre": mean, "coefficient_turn": np.linalg.cholesky(covariance)}

        with pm.Model() as model:
            data = {name: pm.Data(name, value) for name, value in weigh(np.ones(n)).items()}
            coefficient = free_normal("coefficient", p)
            sigma = pm.HalfNormal("sigma", 1.0)
            off = coefficient - data["least_squares"]
            squares = data["residual_squares"] + off @ data["gram"] @ off
            total = (
                -data["total_weight"] * (pt.log(sigma) + 0.5 * np.log(2 * np.pi))
                - 0.5 * squares / sigma**2
            )
        return Blueprint(
            model,
            total,
            weigh,
            ("coefficient", "sigma"),
            p * p,
            geometry,
            density=lambda alpha: linear_density(weigh(alpha)),
            layout=LinearLayout(p),
            centred=lambda alpha, centring: centred_density(
                linear_density(weigh(alpha)),
                prepared.raw.distinct.rows,
                expected_masses(prepared, centring, *prepared.raw.distinct),
            ),
        )

    def distribution(self, theta: Draw, prepared: ScaledResponse) -> ScaledRecords:
        """One normal distribution a record."""
        coefficient, sigma = theta["coefficient"], theta["sigma"]
        (rows, which), bounds = prepared.raw.distinct, self._bounds(prepared)
        if is_symbolic(theta):
            mean = coefficient[0] + pt.as_tensor(rows) @ coefficient[1:]
            graph = GraphParts(
                mean[:, None], pt.reshape(sigma, (1,)), pt.zeros((1, 1)), which, bounds
            )
            return ScaledRecords(graph, prepared, self.support)
        mean = coefficient[0] + rows @ coefficient[1:]
        parts = NormalParts(mean[:, None], np.reshape(sigma, 1), np.zeros((1, 1)), which, bounds)
        return ScaledRecords(parts, prepared, self.support)


def _least_squares(columns: Distinct, z: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The shortest of the weighted least-squares coefficients, (d,).

    Within a row only the mean of z counts, and of all rows the triangle of their QR, which has the
    same solution.
    """
    weight = columns.sums(alpha)
    mean = np.divide(columns.sums(alpha * z), weight, out=np.zeros(len(weight)), where=weight > 0)
    triangle = Distinct(np.column_stack([columns.rows, mean]), columns.which).triangle(weight)
    # share of the largest singular value, that of all rows
    least = np.finfo(float).eps * max(columns.rows.shape)
    return np.asarray(np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=least)[0])
