"""Normal distributions and their mixtures, one a record, truncated to public bounds: masses and
draws that are right far out.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp

from riskweighted_models.bounds import Bounds
from riskweighted_models.kernels.normals import log_densities, masses_between, pick

__all__ = ["NormalParts", "draw_component", "draw_truncated", "log_normal_mass", "normal_mass"]

_SMALL = 1e-200  # a mass that keeps all its digits, and so does a share of it


class NormalParts(NamedTuple):
    """Mixtures of normal distributions, one a record, truncated to bounds that all share.

    ``mean`` (m, K); ``sd`` (K,); ``log_share`` (m, K) or (1, K): logarithms of the components'
    probabilities before truncation; ``which`` (n,): the row of each record; ``bounds`` in the units
    of z, or None.
    """

    mean: np.ndarray
    sd: np.ndarray
    log_share: np.ndarray
    which: np.ndarray
    bounds: Bounds | None

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """log p(z_i) without bounds, (n,)."""
        known = np.isfinite(z)
        heights = log_densities(
            self.which, self.mean, self.sd, self.log_share, np.where(known, z, 0.0)
        )
        heights[~known] = np.where(np.isnan(z[~known]), np.nan, -np.inf)
        return np.asarray(heights)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower <= z_i <= upper), (n,)."""
        if self.bounds is None:
            return self._plain_mass(self.which, lower, upper)
        low, high = self.bounds
        lower = np.maximum(lower, low)
        upper = np.minimum(upper, high)
        rows = np.arange(len(self.mean))
        whole = self._plain_mass(rows, np.full(len(rows), low), np.full(len(rows), high))
        with np.errstate(divide="ignore", invalid="ignore"):
            masses = np.minimum(self._plain_mass(self.which, lower, upper) / whole[self.which], 1.0)
        far = np.flatnonzero(whole[self.which] < _SMALL)
        if len(far):
            inside = self._log_mass(self.which[far], lower[far, None], upper[far, None])
            masses[far] = np.exp(
                np.minimum(inside - self._log_mass(self.which[far], low, high), 0.0)
            )
        return np.asarray(masses)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One z a record, (n,)."""
        n, components = len(self.which), len(self.sd)
        log_share = self.log_share
        if self.bounds is not None:
            log_share = log_share + log_normal_mass(*self.bounds, self.mean, self.sd)
        component = (
            pick(self.which, _ends(log_share), rng.random(n))
            if components > 1
            else np.zeros(n, dtype=int)
        )
        mean, sd = self.mean[self.which, component], self.sd[component]
        return (
            rng.normal(mean, sd)
            if self.bounds is None
            else draw_truncated(*self.bounds, mean, sd, rng)
        )

    def _plain_mass(self, which: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.asarray(
            masses_between(
                which, self.mean, self.sd, np.exp(self.log_share), np.stack([lower, upper])
            )
        )

    def _log_mass(
        self, which: np.ndarray, lower: np.ndarray | float, upper: np.ndarray | float
    ) -> np.ndarray:
        log_share = self.log_share if len(self.log_share) == 1 else self.log_share[which]
        return np.asarray(
            logsumexp(log_share + log_normal_mass(lower, upper, self.mean[which], self.sd), axis=1)
        )


def _ends(log_share: np.ndarray) -> np.ndarray:
    """Probabilities summed up to each component, by their logarithms up to a constant, (m, K)."""
    ends = np.cumsum(np.exp(log_share - log_share.max(axis=1, keepdims=True)), axis=1)
    return np.asarray(ends / ends[:, -1:])


def draw_component(log_share: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """A component for each of n records, (n,), by the logarithms of its probabilities up to a
    constant, (n, K) or (1, K).
    """
    return pick(np.arange(n), _ends(log_share), rng.random(n))


def normal_mass(
    lower: np.ndarray, upper: np.ndarray, mean: np.ndarray, sd: np.ndarray | float
) -> np.ndarray:
    """P(lower <= z <= upper) for z ~ N(mean, sd): a difference of the tails that are near, so that
    small masses keep their digits.
    """
    low, high = (lower - mean) / sd, (upper - mean) / sd
    above = low > 0
    return np.asarray(
        np.maximum(ndtr(np.where(above, -low, high)) - ndtr(np.where(above, -high, low)), 0.0)
    )


def log_normal_mass(
    lower: np.ndarray | float, upper: np.ndarray | float, mean: np.ndarray, sd: np.ndarray | float
) -> np.ndarray:
    """log P(lower <= z <= upper) for z ~ N(mean, sd), right however far out the interval lies; -inf
    where it is empty.
    """
    lower, upper, mean, sd = np.broadcast_arrays(lower, upper, mean, sd)
    mass = normal_mass(lower, upper, mean, sd)
    far = mass < _SMALL
    log_mass: np.ndarray = np.log(mass, out=np.full(mass.shape, -np.inf), where=~far)
    if far.any():
        low, high, _ = _near_side(lower[far], upper[far], mean[far], sd[far])
        log_mass[far] = _log_mass(log_ndtr(low), log_ndtr(high))
    return log_mass


def draw_truncated(
    lower: float, upper: float, mean: np.ndarray, sd: np.ndarray | float, rng: np.random.Generator
) -> np.ndarray:
    """One draw each, (n,), from N(mean, sd) within the bounds: where one without bounds lies
    outside, by `_inverse_draw`.
    """
    sd = np.broadcast_to(sd, mean.shape)
    drawn: np.ndarray = rng.normal(mean, sd)
    outside = np.flatnonzero((drawn < lower) | (drawn > upper))
    if len(outside):
        drawn[outside] = _inverse_draw(lower, upper, mean[outside], sd[outside], rng)
    return drawn


def _inverse_draw(
    lower: float, upper: float, mean: np.ndarray, sd: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """`draw_truncated` by the inverse of the distribution function; far out in logarithms."""
    low, high, flipped = _near_side(lower, upper, mean, sd)
    share = rng.uniform(np.finfo(float).tiny, 1.0, mean.shape)  # neither 0 nor 1
    mass = normal_mass(low, high, np.zeros(()), 1.0)
    place = ndtri(ndtr(low) + share * mass)
    far = mass < _SMALL
    if far.any():
        below = log_ndtr(low[far])
        place[far] = ndtri_exp(
            np.logaddexp(below, np.log(share[far]) + _log_mass(below, log_ndtr(high[far])))
        )
    drawn: np.ndarray = mean + sd * np.where(flipped, -place, place)
    return np.asarray(np.clip(drawn, lower, upper))  # round-off alone


def _log_mass(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """log of the mass between two ends, from the logarithms of that below each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = above + np.log(-np.expm1(np.minimum(below - above, 0.0)))
    return np.asarray(np.where(above > below, mass, -np.inf))


def _near_side(
    lower: np.ndarray | float, upper: np.ndarray | float, mean: np.ndarray, sd: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ends of the interval in standard units, mirrored where it lies above the mean, and
    whether it is.
    """
    low, high = (lower - mean) / sd, (upper - mean) / sd
    flipped = low > 0
    return np.where(flipped, -high, low), np.where(flipped, -low, high), flipped
