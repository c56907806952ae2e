"""The coordinates w of `riskweighted_models.common_scale` in NumPy, for a density of one vector:
the same prior, with its gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from riskweighted_models.common_scale import LEAST_LOG_LENGTH, STEPS, scales
from riskweighted_models.kernels.normals import length_density

__all__ = ["CommonLength"]


@dataclass(frozen=True)
class CommonLength:
    """``count`` coefficients b_j ~ N(0, sigma), sigma ~ half-t(nu, 1) summed out, as a function of
    w, which has the direction of b.
    """

    count: int
    nu: float

    @cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Of sigma: halves of its precisions, and logarithms of its probabilities times those of
        the normal density at 0.
        """
        log_sigma, log_weight = scales(self.count, self.nu)
        return 0.5 * np.exp(-2 * log_sigma), log_weight - self.count * (
            log_sigma + 0.5 * np.log(2 * np.pi)
        )

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """b (S, d) of w (S, d)."""
        return np.asarray(w * np.exp(self.log_ratio(_log_length(w))))

    def vector(self, coefficients: np.ndarray) -> np.ndarray:
        """w (d,) of b (d,): Newton's method, from a length that is never above it."""
        largest = np.abs(coefficients).max()
        if largest == 0:
            return np.zeros(self.count)
        log_r = float(np.log(largest) + np.log(np.linalg.norm(coefficients / largest)))
        log_rho = np.asarray(max(log_r / self.count, log_r))
        for _ in range(STEPS):
            log_rho = log_rho + (log_r - log_rho - self.log_ratio(log_rho)) / (
                1 + self.slope(log_rho)
            )
        return np.asarray(coefficients * np.exp(-self.log_ratio(log_rho)))

    def log_jacobian(self, w: np.ndarray) -> np.ndarray:
        """log |db / dw| at w (S, d), (S,)."""
        log_rho = _log_length(w)
        return np.asarray(
            (self.count * self.log_ratio(log_rho) + np.log1p(self.slope(log_rho)))[..., 0]
        )

    def log_ratio(self, log_rho: np.ndarray | float) -> np.ndarray:
        """log(r / rho)."""
        square = np.exp(2 * log_rho)
        if self.count == 1:
            return np.asarray(-np.log1p(np.log1p(np.exp(-log_rho)) * np.exp(-square)))
        return np.asarray((self.count - 1) / 2 * np.log(-np.expm1(-square)))

    def slope(self, log_rho: np.ndarray | float) -> np.ndarray:
        """The derivative of log(r / rho) in log rho."""
        rho, square = np.exp(log_rho), np.exp(2 * log_rho)
        near, log_term = np.exp(-square), np.log1p(np.exp(-log_rho))
        if self.count > 1:
            return np.asarray((self.count - 1) * square * near / -np.expm1(-square))
        return np.asarray(near * (1 / (1 + rho) + 2 * square * log_term) / (1 + near * log_term))

    def __call__(
        self, w: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Of w (d,): its log density, the gradient (d,), b (d,), and what makes derivatives in w of
        those in b.
        """
        height, slope, ratio, by_ratio = length_density(w, *self._grid, LEAST_LOG_LENGTH)
        return height, slope, ratio * w, lambda by_b: ratio * (by_b + (w @ by_b) * by_ratio)


def _log_length(vectors: np.ndarray) -> np.ndarray:
    """log |vector|, (..., 1), no less than `LEAST_LOG_LENGTH`."""
    with np.errstate(divide="ignore"):
        return np.asarray(
            np.maximum(0.5 * np.log((vectors**2).sum(axis=-1, keepdims=True)), LEAST_LOG_LENGTH)
        )
