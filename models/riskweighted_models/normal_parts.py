"""Normal distributions and their mixtures, one a record, truncated to public bounds: masses and draws that are right far out."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri_exp

from riskweighted_models.bounds import Bounds

__all__ = ["NormalParts", "draw_component", "draw_truncated", "log_normal_mass", "normal_mass"]


class NormalParts(NamedTuple):
    """Mixtures of normal distributions, one a record, truncated to bounds that all share.

    ``mean`` (n, K); ``sd`` (K,); ``log_share`` (n, K) or (1, K): logarithms of the components' probabilities before truncation;
    ``bounds`` in the units of z, or None.
    """

    mean: np.ndarray
    sd: np.ndarray
    log_share: np.ndarray
    bounds: Bounds | None

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower <= z_i <= upper), (n,)."""
        if self.bounds is None:
            whole: np.ndarray = (normal_mass(lower[:, None], upper[:, None], self.mean, self.sd) * np.exp(self.log_share)).sum(axis=1)
            return whole
        low, high = self.bounds
        inside = self._log_mass(np.maximum(lower, low)[:, None], np.minimum(upper, high)[:, None])
        return np.asarray(np.exp(np.minimum(inside - self._log_mass(low, high), 0.0)))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One z a record, (n,)."""
        n, components = self.mean.shape
        log_share = self.log_share
        if self.bounds is not None:
            log_share = log_share + log_normal_mass(*self.bounds, self.mean, self.sd)
        component = draw_component(log_share, n, rng) if components > 1 else np.zeros(n, dtype=int)
        mean, sd = self.mean[np.arange(n), component], self.sd[component]
        return rng.normal(mean, sd) if self.bounds is None else draw_truncated(*self.bounds, mean, sd, rng)

    def _log_mass(self, lower: np.ndarray | float, upper: np.ndarray | float) -> np.ndarray:
        whole: np.ndarray = logsumexp(self.log_share + log_normal_mass(lower, upper, self.mean, self.sd), axis=1)
        return whole


def draw_component(log_share: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """A component for each of n records, (n,), by the logarithms of its probabilities up to a constant, (n, K) or (1, K)."""
    ends = np.cumsum(np.exp(log_share - log_share.max(axis=1, keepdims=True)), axis=1)
    component: np.ndarray = (ends / ends[:, -1:] <= rng.random(n)[:, None]).sum(axis=1)
    return component


def normal_mass(lower: np.ndarray, upper: np.ndarray, mean: np.ndarray, sd: np.ndarray | float) -> np.ndarray:
    """P(lower <= z <= upper) for z ~ N(mean, sd): a difference of the tails that are near, so that small masses keep their digits."""
    low, high = (lower - mean) / sd, (upper - mean) / sd
    above = low > 0
    mass: np.ndarray = np.maximum(ndtr(np.where(above, -low, high)) - ndtr(np.where(above, -high, low)), 0.0)
    return mass


def log_normal_mass(lower: np.ndarray | float, upper: np.ndarray | float, mean: np.ndarray, sd: np.ndarray | float) -> np.ndarray:
    """log P(lower <= z <= upper) for z ~ N(mean, sd), right however far out the interval lies; -inf where it is empty."""
    below, above, _ = _near_side(lower, upper, mean, sd)
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = above + np.log(-np.expm1(below - above))
    return np.asarray(np.where(above > below, mass, -np.inf))


def draw_truncated(lower: float, upper: float, mean: np.ndarray, sd: np.ndarray | float, rng: np.random.Generator) -> np.ndarray:
    """One draw each from N(mean, sd) within the bounds, by the inverse of the distribution function in logarithms of its near tail."""
    below, _, flipped = _near_side(lower, upper, mean, sd)
    share = np.log(rng.uniform(np.finfo(float).tiny, 1.0, mean.shape))  # neither 0 nor 1
    place = ndtri_exp(np.logaddexp(below, share + log_normal_mass(lower, upper, mean, sd)))
    drawn: np.ndarray = mean + sd * np.where(flipped, -place, place)
    return np.asarray(np.clip(drawn, lower, upper))  # round-off alone


def _near_side(
    lower: np.ndarray | float, upper: np.ndarray | float, mean: np.ndarray, sd: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Phi at both ends of the interval, mirrored where it lies above the mean, and whether it is."""
    low, high = (lower - mean) / sd, (upper - mean) / sd
    flipped = low > 0
    return log_ndtr(np.where(flipped, -high, low)), log_ndtr(np.where(flipped, -low, high)), flipped
