"""Normal coefficients with one common scale, the scale summed out: a posterior without a funnel.

b_j ~ N(0, sigma), sigma ~ half-t(nu, 1). Summed over sigma, b (d,) has a density that depends on its length r = |b| alone, and for d >= 2
runs to infinity at 0 like r^(1 - d). The sampler therefore moves in w, which has the direction of b and the length rho with

    r = d ((1 + rho^d)^(1/d) - 1):      like rho^d near 0, where the density of w is then flat, and like d (rho - 1) far out.

For d = 1 the density has a pole too, like log(1 / r), which this map (then the identity) leaves; `common_scale_coefficients` avoids it.
This has neither the funnel of (b, sigma) where the data say little, nor the ridge of (b / sigma, sigma) where they say much.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from scipy import stats

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

__all__ = ["common_scale_coefficients"]

Tensor: TypeAlias = "TensorVariable[Any, Any]"


def common_scale_coefficients(name: str, count: int, nu: float) -> Tensor:
    """A random vector (count,): b_j ~ N(0, sigma), sigma ~ half-t(nu, scale 1).

    A single coefficient has a companion that no likelihood sees, drawn by the same rule: the pair's density can be flattened.
    """
    wanted, count = count, max(count, 2)
    log_sigma, log_weight = _scales(count, nu)

    def logp(value: Tensor, zero: Tensor) -> Tensor:
        square = (value**2).sum(axis=-1, keepdims=True)
        each = log_weight - count * (log_sigma + 0.5 * np.log(2 * np.pi)) - 0.5 * square * np.exp(-2 * log_sigma)
        density: Tensor = pt.logsumexp(each, axis=-1)
        return density

    def random(zero: np.ndarray, rng: np.random.Generator, size: Any = None) -> np.ndarray:
        shape = np.broadcast_shapes(zero.shape[:-1], tuple(np.atleast_1d(size)) if size is not None else ())
        drawn: np.ndarray = np.abs(rng.standard_t(nu, (*shape, 1))) * rng.standard_normal((*shape, count))
        return drawn

    coefficients: Tensor = pm.CustomDist(
        name, np.zeros(count), logp=logp, random=random, signature="(n)->(n)", shape=count, default_transform=_Length(count)
    )
    return coefficients if wanted == count else coefficients[:wanted]


def _scales(count: int, nu: float) -> tuple[np.ndarray, np.ndarray]:
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
        """From w to b."""
        log_rho = _log_length(value, -300.0 / self.count)
        coefficients: Tensor = value * pt.exp(self._log_r(log_rho) - log_rho)
        return coefficients

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """From b to w."""
        log_r = _log_length(value, -300.0)
        log_rho = pt.log(pt.expm1(self.count * pt.log1p(pt.exp(log_r) / self.count))) / self.count
        moved: Tensor = value * pt.exp(log_rho - log_r)
        return moved

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """log |db / dw|: (r / rho)^(d - 1) dr / drho."""
        log_rho = _log_length(value, -300.0 / self.count)
        stretch = (1 / self.count - 1) * pt.softplus(self.count * log_rho) + np.log(self.count) + (self.count - 1) * log_rho
        total: Tensor = ((self.count - 1) * (self._log_r(log_rho) - log_rho) + stretch).sum(axis=-1)
        return total

    def _log_r(self, log_rho: Tensor) -> Tensor:
        found: Tensor = np.log(self.count) + pt.log(pt.expm1(pt.softplus(self.count * log_rho) / self.count))
        return found


def _log_length(vector: Tensor, least: float) -> Tensor:
    """log |vector|, and at least so much that what is computed from it stays finite."""
    length: Tensor = pt.maximum(0.5 * pt.log((vector**2).sum(axis=-1, keepdims=True)), least)
    return length
