"""The coordinates w of `riskweighted_models.common_scale` in NumPy, for a density of one vector: the same prior, with its gradient."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from riskweighted_models.common_scale import LEAST_LOG_LENGTH, STEPS, scales

__all__ = ["CommonLength"]


@dataclass(frozen=True)
class CommonLength:
    """``count`` coefficients b_j ~ N(0, sigma), sigma ~ half-t(nu, 1) summed out, as a function of w, which has the direction of b."""

    count: int
    nu: float

    @cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Of sigma: halves of its precisions, and logarithms of its probabilities times those of the normal density at 0."""
        log_sigma, log_weight = scales(self.count, self.nu)
        return 0.5 * np.exp(-2 * log_sigma), log_weight - self.count * (log_sigma + 0.5 * np.log(2 * np.pi))

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
            log_rho = log_rho + (log_r - log_rho - self.log_ratio(log_rho)) / (1 + self.slopes(log_rho)[0])
        return np.asarray(coefficients * np.exp(-self.log_ratio(log_rho)))

    def log_jacobian(self, w: np.ndarray) -> np.ndarray:
        """log |db / dw| at w (S, d), (S,)."""
        log_rho = _log_length(w)
        return np.asarray((self.count * self.log_ratio(log_rho) + np.log1p(self.slopes(log_rho)[0]))[..., 0])

    def log_ratio(self, log_rho: np.ndarray | float) -> np.ndarray:
        """log(r / rho)."""
        square = np.exp(2 * log_rho)
        if self.count == 1:
            return np.asarray(-np.log1p(np.log1p(np.exp(-log_rho)) * np.exp(-square)))
        return np.asarray((self.count - 1) / 2 * np.log(-np.expm1(-square)))

    def slopes(self, log_rho: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second derivative of log(r / rho) in log rho."""
        rho, square = np.exp(log_rho), np.exp(2 * log_rho)
        near = np.exp(-square)
        if self.count > 1:
            first = (self.count - 1) * square * near / -np.expm1(-square)
            return np.asarray(first), np.asarray(2 * first * (1 + square / np.expm1(-square)))
        log_term = np.log1p(np.exp(-log_rho))
        over, part = 1 + near * log_term, near * (1 / (1 + rho) + 2 * square * log_term)
        change = -2 * square * part + near * (4 * square * log_term - rho / (1 + rho) ** 2 - 2 * square / (1 + rho))
        first = part / over
        return np.asarray(first), np.asarray(change / over + first**2)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density of w (d,) and its gradient (d,)."""
        log_rho = _log_length(w)[0]
        ratio, (first, second) = float(self.log_ratio(log_rho)), self.slopes(log_rho)
        half_precision, log_weight = self._grid
        fall = np.exp(2 * (log_rho + ratio)) * half_precision
        each = log_weight - fall
        top = each.max()
        share = np.exp(each - top)
        total = share.sum()
        height = top + np.log(total) + self.count * ratio + np.log1p(first)
        by_log_rho = -2 * (share @ fall) / total * (1 + first) + self.count * first + second / (1 + first)
        return float(height), by_log_rho * _by_length(w, log_rho)

    def pulled(self, w: np.ndarray, by_coefficient: np.ndarray) -> np.ndarray:
        """Derivatives in w (d,), from those in b (d,)."""
        log_rho = _log_length(w)[0]
        along = float(self.slopes(log_rho)[0]) * float(w @ by_coefficient)
        return np.asarray(np.exp(self.log_ratio(log_rho)) * (by_coefficient + along * _by_length(w, log_rho)))


def _log_length(vectors: np.ndarray) -> np.ndarray:
    """log |vector|, (..., 1), no less than `LEAST_LOG_LENGTH`."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(0.5 * np.log((vectors**2).sum(axis=-1, keepdims=True)), LEAST_LOG_LENGTH))


def _by_length(w: np.ndarray, log_rho: float) -> np.ndarray:
    """Derivatives of log rho in w, (d,)."""
    return np.asarray(w * np.exp(-2 * log_rho)) if log_rho > LEAST_LOG_LENGTH else np.zeros(len(w))
