"""Equations of one's own compiled through JAX: the density is that of the graph, at any weights and
far out, and a fit is what it is without JAX.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import riskweighted as rw
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.contract.centring import Centring, Intervals
from riskweighted.sampling.block_fit import built
from riskweighted.sampling.centred import CentredTerm

jax = pytest.importorskip("jax", reason="needs the extra jax, which brings JAX")

N = 240


@dataclass(frozen=True)
class Linear(rw.Regression):
    def priors(self, predictors):
        return {
            "level": pm.Normal("level", 0, 1),
            "slope": pm.Normal("slope", 0, 1, shape=predictors),
            "sigma": pm.HalfNormal("sigma", 1),
        }

    def values(self, theta, x):
        return pm.Normal.dist(theta["level"] + x @ theta["slope"], theta["sigma"])


@dataclass(frozen=True)
class Parts(Linear):
    """A mixture."""

    def priors(self, predictors):
        return {
            "share": pm.Dirichlet("share", np.full(2, 5.0)),
            "centre": pm.Normal("centre", 0, 1, shape=2),
            "sigma": pm.HalfNormal("sigma", 1, shape=2),
            "slope": pm.Normal("slope", 0, 1, shape=predictors),
        }

    def values(self, theta, x):
        along = x @ theta["slope"]
        return rw.Mix(
            [pt.log(theta["share"][k]) for k in range(2)],
            [pm.Normal.dist(theta["centre"][k] + along, theta["sigma"][k]) for k in range(2)],
        )


@dataclass(frozen=True)
class Counts(Linear):
    def priors(self, predictors):
        return {
            "level": pm.Normal("level", 0, 1),
            "slope": pm.Normal("slope", 0, 1, shape=predictors),
            "size": pm.Gamma("size", 2, 1),
        }

    def values(self, theta, x):
        mean = pt.exp(theta["level"] + x @ theta["slope"])
        return pm.NegativeBinomial.dist(mu=mean, alpha=theta["size"])

    def possible(self, y):
        return (y >= 0) & (y == np.rint(y))


@dataclass(frozen=True)
class Bent(Linear):
    def values(self, theta, x):
        return pm.Normal.dist(pt.softplus(theta["level"] + x @ theta["slope"]), 1.0)


@dataclass(frozen=True)
class Strange(Linear):
    """Of an operation of which JAX has no form."""

    def values(self, theta, x):
        return pm.Normal.dist(pt.erfcinv(pt.sigmoid(theta["level"] + x @ theta["slope"])), 1.0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    group, age = rng.choice(["a", "b", "c"], N), rng.integers(20, 24, N)
    centre = 0.5 * (group == "a") + 0.1 * (age - 22)
    return pd.DataFrame(
        {
            "group": group,
            "age": age,
            "gain": np.round(centre + rng.normal(0, 0.7, N), 3),
            "visits": rng.poisson(np.exp(centre)),
        }
    )


def model_of(kind):
    return kind(("visits" if kind is Counts else "gain") + " ~ age + C(group)")


def in_pytensor(blueprint, alpha):
    """The log posterior and its gradient, of a vector, as PyTensor has them."""
    model, likelihood = blueprint.model, blueprint.weighted_log_likelihood
    (likelihood,) = model.replace_rvs_by_values([likelihood])
    height = model.logp(vars=model.free_RVs) + likelihood
    function = pytensor.function(
        model.value_vars,
        [height, *pt.grad(height, model.value_vars)],
        givens={model["alpha"]: alpha},
        mode="FAST_COMPILE",
        on_unused_input="ignore",
    )

    def density(vector):
        ends = np.cumsum([math.prod(value.type.shape) for value in model.value_vars])
        parts = np.split(vector, ends[:-1])
        shaped = [p.reshape(v.type.shape) for p, v in zip(parts, model.value_vars, strict=True)]
        found, *slopes = function(*shaped)
        return float(found), np.concatenate([np.ravel(slope) for slope in slopes])

    return density


@pytest.mark.parametrize("kind", [Linear, Parts, Counts])
def test_density_and_gradient_are_those_of_the_graph(data, kind):
    held, rng, model = jax.config.jax_enable_x64, np.random.default_rng(2), model_of(kind)
    prepared = model.prepare(data)
    blueprint, alpha = built(model, prepared), rng.uniform(0, 1, N) * (rng.random(N) < 0.9)
    density, stated = blueprint.density(alpha), in_pytensor(model.build(prepared), alpha)
    for size in (0.0, 0.3, 2.0):
        vector = size * rng.normal(size=blueprint.layout.size)
        height, slope = density(vector)
        expected, along = stated(vector)
        assert height == pytest.approx(expected, rel=1e-8)
        np.testing.assert_allclose(slope, along, rtol=1e-8, atol=1e-8 * np.abs(along).max())
    (theta,) = ({name: of[0] for name, of in blueprint.layout.parameters(vector[None]).items()},)
    np.testing.assert_allclose(blueprint.layout.vector(theta), vector, atol=1e-9)
    assert jax.config.jax_enable_x64 == held


def test_one_compilation_serves_data_of_nearly_as_many_records(data):
    from riskweighted.sampling import through_jax

    model = model_of(Linear)
    built(model, model.prepare(data))
    before = through_jax._graph.cache_info().misses
    fewer = data.drop(index=[3, 70])
    blueprint = built(model, model.prepare(fewer))
    assert through_jax._graph.cache_info().misses == before
    alpha, vector = np.ones(N - 2), np.full(blueprint.layout.size, 0.2)
    stated = in_pytensor(model.build(model.prepare(fewer)), alpha)
    assert blueprint.density(alpha)(vector)[0] == pytest.approx(stated(vector)[0], rel=1e-8)


@pytest.mark.parametrize("level", [-710.0, 0.0, 710.0])
def test_gradients_are_numbers_far_out(data, level):
    model = Bent("gain ~ 1")
    blueprint = built(model, prepared := model.prepare(data))
    density, stated = blueprint.density(np.ones(N)), in_pytensor(model.build(prepared), np.ones(N))
    vector = np.array([level, 0.0])
    assert np.isfinite(density(vector)[0])
    np.testing.assert_allclose(density(vector)[1], stated(vector)[1], rtol=1e-8)


@pytest.mark.parametrize("kind", [Linear, Parts, Counts])
def test_the_centring_term_is_that_of_the_masses(data, kind):
    model, rng = model_of(kind), np.random.default_rng(3)
    ends = [-0.5, 0.5, 2.5] if kind is Counts else [-0.8, 0.1, 1.4]
    intervals = Intervals(
        np.array([-np.inf, *ends]), np.array([*ends, np.inf]), np.zeros(4, dtype=int)
    )
    weights = rng.uniform(0.2, 1, (N, 4))
    centring = Centring(
        intervals, lambda records: weights[records], np.zeros(N, dtype=int), None, np.ones(N), "x"
    )
    prepared, alpha = model.prepare(data), np.ones(N)
    blueprint = built(model, prepared, centring)
    plain, less = blueprint.density(alpha), blueprint.centred(alpha, centring)
    term, over = CentredTerm(model, prepared, data, centring), []
    # the last of them far out, where a normal distribution function is next to nothing
    for vector in [
        *rng.normal(0, 0.3, (3, blueprint.layout.size)),
        np.full(blueprint.layout.size, -3.0),
    ]:
        theta = {name: of[0] for name, of in blueprint.layout.parameters(vector[None]).items()}
        over.append(plain(vector)[0] - less(vector)[0] - term.each(theta)[0].sum())
        slope, step = less(vector)[1], 1e-5 * np.eye(len(vector))
        by_steps = [(less(vector + e)[0] - less(vector - e)[0]) / 2e-5 for e in step]
        np.testing.assert_allclose(slope, by_steps, rtol=1e-4, atol=1e-4 * np.abs(slope).max())
    assert np.ptp(over) < 1e-8 * N


def test_what_jax_has_no_form_of_is_compiled_without_it(data):
    model = model_of(Strange)
    with pytest.warns(RiskWeightedWarning, match="without JAX.*erfcinv"):
        blueprint = built(model, model.prepare(data))
    assert blueprint.of_vector is None


def test_a_mixture_begins_at_modes_that_are_not_the_same_one(data):
    model = model_of(Parts)
    blueprint = built(model, model.prepare(data))
    assert blueprint.monitored == ("slope",)
    density = blueprint.density(np.ones(N))
    starts = density.starts()
    heights = np.sort([density(start)[0] for start in starts])
    assert (np.diff(heights) > 1e-3).all()
    assert all(np.abs(density(start)[1]).max() < 0.5 for start in starts)


def test_a_fit_is_that_of_least_squares(data):
    fit = rw.fit(model_of(Linear), data, random_seed=1, draws=300, tune=200, chains=2)
    (block,) = fit.blocks.values()
    assert block.converged
    assert (block.diagnostics["engine"] == "direct").all()
    prepared = block.prepared
    x = np.column_stack([np.ones(N), prepared.rows[prepared.which]])
    best = np.linalg.lstsq(x, data["gain"], rcond=None)[0]
    found = [block.posterior["level"].mean(), *block.posterior["slope"].mean(("chain", "draw"))]
    np.testing.assert_allclose(found, best, atol=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (synthetic,) = fit.synthesize(1, random_seed=2)
    assert synthetic["gain"].mean() == pytest.approx(data["gain"].mean(), abs=0.2)
