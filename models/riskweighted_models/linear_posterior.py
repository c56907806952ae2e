"""The posterior of a linear regression as a function of one vector, from sufficient statistics:
what is sampled of `LinearRegression`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from riskweighted.contract.synthesizer import Density, Draw
from riskweighted_models.kernels.normals import interval_sum

__all__ = ["LinearLayout", "centred_density", "linear_density"]


@dataclass(frozen=True)
class LinearLayout:
    """The vector: ``coefficients`` 1 + p coefficients, log sigma."""

    coefficients: int

    @property
    def size(self) -> int:
        return self.coefficients + 1

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        return {"coefficient": vectors[:, :-1], "sigma": np.exp(vectors[:, -1])}

    def vector(self, theta: Draw) -> np.ndarray:
        return np.append(theta["coefficient"], np.log(theta["sigma"]))

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        return vectors[:, -1]


def linear_density(statistics: Mapping[str, np.ndarray]) -> Density:
    """The posterior for the sufficient statistics of `LinearRegression`: from a vector (d,) to its
    log density and gradient (d,).
    """
    total, squares = float(statistics["total_weight"]), float(statistics["residual_squares"])
    least, gram = statistics["least_squares"], statistics["gram"]
    constant = -0.5 * total * math.log(2 * math.pi)

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        coefficient, log_sigma = vector[:-1], vector[-1]
        off = coefficient - least
        pull = gram @ off
        # far out: no number, which ends a step or a search there
        with np.errstate(over="ignore", invalid="ignore"):
            precision, variance = np.exp(-2 * log_sigma), np.exp(2 * log_sigma)
            distance = precision * (squares + off @ pull)
            height = (
                constant
                + (1 - total) * log_sigma
                - 0.5 * (distance + variance + coefficient @ coefficient)
            )
            return float(height), np.append(
                -precision * pull - coefficient, 1 - total + distance - variance
            )

    return density


def centred_density(
    plain: Density, rows: np.ndarray, taken: tuple[np.ndarray, np.ndarray]
) -> Density:
    """A posterior less the centring term: ends (G + 1,) of intervals, and what the mass of each
    counts in each row (m, p), (m, G).
    """
    none = np.zeros((1, 1))

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        height, gradient = plain(vector)
        with np.errstate(over="ignore"):
            sd = np.exp(vector[-1:])
        if not (np.isfinite(height) and 0 < sd[0] < np.inf):
            return -np.inf, gradient  # a search that steps there is to turn back
        off, by_mean, by_log_sd, _ = interval_sum(
            *taken, (vector[0] + rows @ vector[1:-1])[None], sd, none
        )
        gradient[0] -= by_mean.sum()
        gradient[1:-1] -= by_mean[0] @ rows
        gradient[-1] -= by_log_sd[0]
        return height - off, gradient

    return density
