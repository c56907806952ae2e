"""The coordinates in which vectors are sampled change nothing but the sampler's way."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats

from riskweighted.sampling.coordinates import free_normal, free_vector
from riskweighted.sampling.graphs import PLAIN

pytestmark = pytest.mark.quick

CENTRE = np.array([1.0, -2.0, 0.5])
TURN = np.array([[2.0, 0.3, 0.0], [0.0, 0.5, -1.0], [0.1, 0.0, 3.0]])


def laplace_prior(value):
    return -pt.abs(value).sum(axis=-1) - 3 * np.log(2)


@pytest.mark.parametrize("shape", [3, (4, 3)])
def test_a_vector_is_centre_plus_turn_of_what_is_sampled(shape):
    with pm.Model() as model:
        vector = free_vector("v", shape, laplace_prior)
    (value,) = model.value_vars
    (there,) = model.replace_rvs_by_values([vector])
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function([value], [there, model.logp()], mode=PLAIN)
        start = model.initial_point()["v_coordinates__"]
    assert start.shape == np.zeros(shape).shape
    w = np.random.default_rng(1).normal(size=np.zeros(shape).shape)
    plain, density = function(w)
    np.testing.assert_allclose(plain, w)
    assert density == pytest.approx(stats.laplace.logpdf(w).sum())
    model["v_centre"].set_value(CENTRE)
    model["v_turn"].set_value(TURN)
    moved, density = function(w)
    np.testing.assert_allclose(moved, CENTRE + w @ TURN.T)
    # the same function of the vector, whatever the coordinates
    assert density == pytest.approx(stats.laplace.logpdf(moved).sum())
    with pytensor.config.change_flags(cxx=""):
        np.testing.assert_allclose(
            model.initial_point()["v_coordinates__"] @ TURN.T,
            np.broadcast_to(-CENTRE, w.shape),
            atol=1e-12,
        )


def test_the_prior_can_be_drawn_from_where_it_says_how():
    with pm.Model():
        rows, silent = free_normal("rows", (2, 3)), free_vector("silent", 3, laplace_prior)
    with pytensor.config.change_flags(cxx="", mode="FAST_COMPILE"):
        drawn = pm.draw(rows, draws=1000, random_seed=1)
        with pytest.raises(NotImplementedError, match="silent"):
            pm.draw(silent)
    assert drawn.shape == (1000, 2, 3)
    assert stats.kstest(drawn.reshape(-1), "norm").pvalue > 1e-3
