"""Normal coefficients with one common scale, the scale summed out: a posterior without a funnel.

b_j ~ N(0, sigma), sigma ~ half-t(nu, 1). Summed over sigma, b (d,) has a density that depends on
its length r = |b| alone and runs to infinity at 0, like r^(1 - d) for d >= 2 and like log(1 / r)
for d = 1. The sampler therefore moves in w, which has the direction of b and the length rho with

    r = rho (1 - exp(-rho^2))^((d - 1) / 2)      for d >= 2,
    r = rho / (1 + log(1 + 1 / rho) exp(-rho^2))      for d = 1.

Near 0 the density of w is nearly flat. For rho > 3 w is b to 1e-4 (d < 3), so that coefficients
which the data fix are not tied to others that they leave free.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from scipy import stats

from riskweighted.contract.synthesizer import Tensor

__all__ = ["LEAST_LOG_LENGTH", "STEPS", "common_scale_coefficients", "scales"]

LEAST_LOG_LENGTH = -30.0  # of w, so that what is computed from its length stays finite
STEPS = 9  # of Newton's method from b to w
_LEAST_LOG_R = -300.0  # of b


def common_scale_coefficients(name: str, count: int, nu: float) -> Tensor:
    """A random vector (count,): b_j ~ N(0, sigma), sigma ~ half-t(nu, scale 1)."""
    log_sigma, log_weight = scales(count, nu)

    def logp(value: Tensor, zero: Tensor) -> Tensor:
        square = (value**2).sum(axis=-1, keepdims=True)
        each = (
            log_weight
            - count * (log_sigma + 0.5 * np.log(2 * np.pi))
            - 0.5 * square * np.exp(-2 * log_sigma)
        )
        return pt.logsumexp(each, axis=-1)

    def random(zero: np.ndarray, rng: np.random.Generator, size: Any = None) -> np.ndarray:
        shape = np.broadcast_shapes(
            zero.shape[:-1], tuple(np.atleast_1d(size)) if size is not None else ()
        )
        return np.asarray(
            np.abs(rng.standard_t(nu, (*shape, 1))) * rng.standard_normal((*shape, count))
        )

    coefficients: Tensor = pm.CustomDist(
        name,
        np.zeros(count),
        logp=logp,
        random=random,
        signature="(n)->(n)",
        shape=count,
        default_transform=_Length(count),
    )
    return coefficients


def scales(count: int, nu: float) -> tuple[np.ndarray, np.ndarray]:
    """A grid of log sigma, (m,), and the logarithms of its probabilities.

    The sum is the integral to a share of 1e-7, which is the probability of a sigma below the grid.
    """
    step = min(0.2, 0.4 / np.sqrt(count))
    log_sigma = np.arange(-16.0, 11.0, step)
    log_weight = stats.t(nu).logpdf(np.exp(log_sigma)) + log_sigma
    return log_sigma, log_weight - np.log(np.exp(log_weight).sum())


class _Length(Transform):  # type: ignore[misc]
    """Between b and w; see the module."""

    name = "length"

    def __init__(self, count: int) -> None:
        self.count = count

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        return value * pt.exp(self._log_ratio(_log_length(value)))

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """From b to w: Newton's method, from a length that is never above it; to the last digits
        for hundreds of coefficients.
        """
        log_r = _log_length(value, least=_LEAST_LOG_R)
        log_rho = pt.maximum(log_r / self.count, log_r)
        for _ in range(STEPS):
            log_rho = log_rho + (log_r - log_rho - self._log_ratio(log_rho)) / (
                1 + self._slope(log_rho)
            )
        return value * pt.exp(-self._log_ratio(log_rho))

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """log |db / dw| = log((r / rho)^(d - 1) dr / drho), with dr / drho = (r / rho) (1 + d log(r
        / rho) / d log rho).
        """
        log_rho = _log_length(value)
        return (self.count * self._log_ratio(log_rho) + pt.log1p(self._slope(log_rho))).sum(axis=-1)

    def _slope(self, log_rho: Tensor) -> Tensor:
        """d log(r / rho) / d log rho."""
        rho, near = pt.exp(log_rho), pt.exp(-pt.exp(2 * log_rho))
        log_term = pt.log1p(pt.exp(-log_rho))
        single = near * (1 / (1 + rho) + 2 * rho**2 * log_term) / (1 + near * log_term)
        return single if self.count == 1 else (self.count - 1) * rho**2 / pt.expm1(rho**2)

    def _log_ratio(self, log_rho: Tensor) -> Tensor:
        """log(r / rho)."""
        square = pt.exp(2 * log_rho)
        single = -pt.log1p(pt.log1p(pt.exp(-log_rho)) * pt.exp(-square))
        return single if self.count == 1 else (self.count - 1) / 2 * pt.log(-pt.expm1(-square))


def _log_length(vector: Tensor, least: float = LEAST_LOG_LENGTH) -> Tensor:
    """log |vector|, (..., 1), no less than so much."""
    return pt.maximum(0.5 * pt.log((vector**2).sum(axis=-1, keepdims=True)), least)
