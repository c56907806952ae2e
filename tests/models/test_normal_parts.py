"""Compiled mixtures of normal distributions against SciPy, record by record and component by
component.
"""

import numpy as np
import pytest
from riskweighted_models.bounds import Bounds
from riskweighted_models.normal_parts import NormalParts
from scipy import stats
from scipy.special import log_ndtr, logsumexp, ndtri_exp

pytestmark = pytest.mark.quick

N, ROWS, K = 400, 7, 3


def parts_of(bounds=None, *, gated=False, seed=1):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(K), ROWS if gated else 1)
    return NormalParts(
        rng.normal(0, 3, (ROWS, K)),
        np.array([0.2, 1.0, 4.0]),
        np.log(share),
        rng.integers(0, ROWS, N),
        bounds,
    )


def by_component(parts):
    share = np.broadcast_to(parts.log_share, parts.mean.shape)
    return parts.mean[parts.which], parts.sd, share[parts.which]


def intervals():
    rng = np.random.default_rng(2)
    lower = rng.normal(0, 6, N)
    upper = lower + rng.exponential(1, N)
    lower[:5], upper[5:10], upper[10] = -np.inf, np.inf, lower[10]
    return lower, upper


@pytest.mark.parametrize("gated", [False, True])
def test_densities_and_masses_are_those_of_scipy(gated):
    parts, (lower, upper) = parts_of(gated=gated), intervals()
    mean, sd, log_share = by_component(parts)
    z = np.random.default_rng(3).normal(0, 10, N)
    np.testing.assert_allclose(
        parts.log_density(z),
        logsumexp(log_share + stats.norm.logpdf(z[:, None], mean, sd), axis=1),
        rtol=1e-13,
    )
    low, high = (lower[:, None] - mean) / sd, (upper[:, None] - mean) / sd
    tails = np.where(
        low > 0,
        stats.norm.sf(low) - stats.norm.sf(high),
        stats.norm.cdf(high) - stats.norm.cdf(low),
    )
    np.testing.assert_allclose(
        parts.mass(lower, upper), (np.exp(log_share) * tails).sum(axis=1), rtol=1e-12
    )
    assert np.isnan(parts.log_density(np.full(N, np.nan))).all()


@pytest.mark.parametrize("ends", [(-4.0, 9.0), (-np.inf, 2.0), (60.0, 61.0), (200.0, np.inf)])
def test_within_bounds_they_are_those_of_logarithms(ends):
    parts, (lower, upper) = parts_of(Bounds(*ends)), intervals()
    mean, sd, log_share = by_component(parts)

    def log_mass(low, high):
        a = (np.broadcast_to(low, N)[:, None] - mean) / sd
        b = (np.broadcast_to(high, N)[:, None] - mean) / sd
        below = np.where(a > 0, log_ndtr(-b), log_ndtr(a))
        above = np.where(a > 0, log_ndtr(-a), log_ndtr(b))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(above > below, above + np.log(-np.expm1(below - above)), -np.inf)

    def whole(low, high):
        return logsumexp(log_share + log_mass(low, high), axis=1)

    middle = np.clip(lower, ends[0], min(ends[1], 300.0))
    expected = np.exp(
        np.minimum(whole(middle, np.minimum(upper + 100, ends[1])) - whole(*ends), 0.0)
    )
    np.testing.assert_allclose(
        parts.mass(lower.clip(None, middle), upper + 100), expected, rtol=1e-9, atol=1e-300
    )
    drawn, rng = parts.draw(np.random.default_rng(4)), np.random.default_rng(4)
    inside = np.exp(log_share + log_mass(*ends) - whole(*ends)[:, None])
    component = (np.cumsum(inside, axis=1) <= rng.random(N)[:, None]).sum(axis=1)
    own, scale = mean[np.arange(N), component], sd[component]
    expected = rng.normal(own, scale)
    out = np.flatnonzero((expected < ends[0]) | (expected > ends[1]))
    assert len(out)
    a, b = (ends[0] - own[out]) / scale[out], (ends[1] - own[out]) / scale[out]
    near = np.where(a > 0, log_ndtr(-b), log_ndtr(a))
    share = np.log(rng.uniform(np.finfo(float).tiny, 1.0, len(out)))
    place = ndtri_exp(np.logaddexp(near, share + log_mass(*ends)[out, component[out]]))
    expected[out] = np.clip(own[out] + scale[out] * np.where(a > 0, -place, place), *ends)
    np.testing.assert_allclose(drawn, expected, rtol=1e-7)


def test_draws_are_those_of_the_same_random_numbers():
    parts = parts_of()
    mean, sd, log_share = by_component(parts)
    rng = np.random.default_rng(5)
    component = (np.cumsum(np.exp(log_share), axis=1) <= rng.random(N)[:, None]).sum(axis=1)
    expected = rng.normal(mean[np.arange(N), component], sd[component])
    np.testing.assert_array_equal(parts.draw(np.random.default_rng(5)), expected)
