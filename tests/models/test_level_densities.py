"""The densities of levels that importance draws from: those of the graphs, by brute force, with
gradient and curvature.
"""

import numpy as np
import pandas as pd
import pytest
from posteriors import log_posterior_of
from riskweighted_models.counts import CountRatio
from riskweighted_models.level_densities import Continuation, LevelDensity, Softmax
from riskweighted_models.logistic import Logistic
from riskweighted_models.multinomial import Multinomial
from riskweighted_models.ordinal import Ordinal
from scipy.linalg import helmert

pytestmark = pytest.mark.quick

N = 120


def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=N), "g": rng.choice(list("abc"), N)})
    level = rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
    return frame.assign(
        level=np.array(list("pqrs"))[level], flag=level > 1, count=np.array([0, 1, 5, 20])[level]
    )


MODELS = [
    Logistic("flag ~ x * g"),
    Ordinal("level ~ x + g", levels=tuple("pqrst")),
    Ordinal("level ~ x + g", levels=tuple("pqrst"), drift=True),
    Multinomial("level ~ x + g", levels=tuple("pqrst")),
    Multinomial("level ~ 1"),
    CountRatio("count ~ x + g"),
    CountRatio("count ~ 1", values=range(21)),
]


def alphas():
    rng = np.random.default_rng(4)
    left = rng.random(N)
    left[data()["level"] == "s"] = 0.0  # of a level no weight is left
    return {
        "unweighted": np.ones(N),
        "weighted": rng.random(N),
        "none of a level": left,
        "survey": 5 * rng.random(N),
        "all zero": np.zeros(N),
    }


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_density_is_that_of_the_graph(model):
    prepared = model.prepare(data())
    blueprint = model.build(prepared)
    log_posterior, rng = log_posterior_of(blueprint), np.random.default_rng(5)
    mean, sd = model._prior(len(prepared.levels), prepared.rows.shape[1])
    vectors = mean + sd * rng.normal(size=(7, len(mean)))
    for label, alpha in alphas().items():
        density = blueprint.direct(alpha)
        stated = np.array([log_posterior({"coefficient": vector}, alpha) for vector in vectors])
        for found in (
            density.heights(vectors),
            np.array([density(vector)[0] for vector in vectors]),
        ):
            assert np.ptp(found - stated) <= 1e-10 * np.abs(stated).max(), label


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_gradient_and_curvature_are_its_derivatives(model):
    prepared = model.prepare(data())
    density = model._density(prepared, alphas()["survey"])
    place = density.mean + 0.5 * np.random.default_rng(6).normal(size=len(density.mean))
    gradient, curvature = density(place)[1], density.curvature(place)
    np.testing.assert_allclose(curvature, curvature.T, atol=1e-12)
    for number, step in enumerate(1e-5 * np.eye(len(place))):
        (above, slope_above), (below, slope_below) = density(place + step), density(place - step)
        assert gradient[number] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(
            curvature[number], (slope_below - slope_above) / 2e-5, rtol=1e-5, atol=1e-5
        )


def likelihoods():
    rng = np.random.default_rng(7)
    rows, weight = rng.normal(size=(9, 2)), rng.random((4, 9)) * (rng.random((4, 9)) < 0.6)
    found = {
        "continuation": Continuation(rows, weight),
        "drifting": Continuation(rows, weight, drifting=True),
    }
    return found | {"softmax": Softmax(rows, weight, helmert(4).T)}, rows, weight


@pytest.mark.parametrize("kind", ["continuation", "drifting", "softmax"])
def test_values_hold_far_out_and_in_pieces(kind, monkeypatch):
    """Where an exponential would overflow, and however many vectors fit into a piece."""
    likelihood, rng = likelihoods()[0][kind], np.random.default_rng(8)
    size = {"continuation": 5, "drifting": 7, "softmax": 9}[kind]
    vectors = (
        rng.normal(size=(11, size))
        * np.array([1.0, 1e4, 1.0, 30.0, 300.0, 1.0, 800.0, 1.0, 1.0, 1.0, 2.0])[:, None]
    )
    expected = np.array([likelihood(vector)[0] for vector in vectors])
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(likelihood.heights(vectors), expected, rtol=1e-12)
    monkeypatch.setattr("riskweighted_models.level_densities._CHUNK", 40)
    np.testing.assert_allclose(likelihood.heights(vectors), expected, rtol=1e-12)


def test_a_likelihood_by_hand():
    """Two designs, three levels: log P summed record by record."""
    rows, weight = np.array([[0.0], [1.0]]), np.array([[2.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
    intercepts, slope = np.array([0.3, -0.2]), 0.7
    going_on = 1 / (1 + np.exp(-(intercepts[:, None] + slope * rows[:, 0])))
    by_level = np.log([1 - going_on[0], going_on[0] * (1 - going_on[1]), going_on[0] * going_on[1]])
    found = Continuation(rows, weight)(np.array([0.3, -0.2, 0.7]))[0]
    assert found == pytest.approx((weight * by_level).sum(), rel=1e-12)
    contrasts = helmert(3).T
    scores = contrasts @ np.array([[0.3, 0.7], [-0.2, 0.1]]) @ np.column_stack([np.ones(2), rows]).T
    by_level = scores - np.log(np.exp(scores).sum(axis=0))
    assert Softmax(rows, weight, contrasts)(np.array([0.3, 0.7, -0.2, 0.1]))[0] == pytest.approx(
        (weight * by_level).sum(), rel=1e-12
    )


def test_without_weight_the_prior_is_left():
    nothing = LevelDensity(
        Continuation(np.ones((3, 1)), np.zeros((4, 3))), np.arange(4.0), np.full(4, 2.0)
    )
    vectors = np.random.default_rng(9).normal(size=(5, 4))
    np.testing.assert_allclose(
        nothing.heights(vectors), -0.125 * ((vectors - np.arange(4.0)) ** 2).sum(axis=1)
    )
    np.testing.assert_array_equal(nothing.curvature(vectors[0]), np.eye(4) / 4)
