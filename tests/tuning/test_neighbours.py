"""Importance weights between neighbouring weights, on the counts of the paper's simulation: near
ones are taken, far ones refused.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit

import riskweighted as rw
from riskweighted.common.errors import InputError
from tests.tools.importance import reweighted_draws

pytestmark = pytest.mark.quick

DATA = (
    Path(__file__).resolve().parents[2] / "experiments" / "simulation_data" / "nb_mixture_n1000.csv"
)
SCENARIO = rw.Scenario(known=(), synthetic="outcome", radius=0.2)


@pytest.fixture(scope="module")
def fit():
    synthesizer = rw.load_synthesizer("negative-binomial")("outcome ~ 1", components=1)
    return rw.fit(synthesizer, pd.read_csv(DATA), random_seed=1)


def test_a_step_of_seven_tenths_is_taken_and_widens_the_posterior_as_it_should(fit):
    found = reweighted_draws(fit, fit.alpha * 0.7)
    assert found.accepted
    assert found.limit == pytest.approx(1 - 1 / np.log10(math.prod(fit.sizes.values())))
    assert found.weights.sum() == pytest.approx(1)
    intercept = fit.posterior["intercept"].values.ravel()
    mean = found.weights @ intercept
    sd = np.sqrt(found.weights @ (intercept - mean) ** 2)
    assert mean == pytest.approx(intercept.mean(), abs=0.2 * intercept.std())
    assert sd / intercept.std() == pytest.approx(1 / np.sqrt(0.7), rel=0.08)
    # |dc / c| times the sd of sum_i l_i, sqrt(d / 2) for d = 2
    assert found.spread == pytest.approx(0.3 * np.sqrt(2 / 2), rel=0.15)


def test_another_scheme_is_refused(fit):
    for name in ("marginal", "pairwise"):
        found = reweighted_draws(fit, rw.scheme_weights(name, fit.confidential, SCENARIO))
        assert not found.accepted
        assert found.pareto_k > found.limit


def test_no_change_leaves_every_draw_as_it_is(fit):
    found = reweighted_draws(fit, fit.alpha)
    np.testing.assert_allclose(found.weights, 1 / math.prod(fit.sizes.values()))
    assert found.spread == 0


def test_what_makes_no_sense_is_refused(fit):
    with pytest.raises(InputError, match="weights"):
        reweighted_draws(fit, np.full(1000, 1.5))
    few = pd.DataFrame({"jobs": np.arange(30) + 20})
    with pytest.raises(InputError, match="at least 100 draws, and the fit has 60"):
        reweighted_draws(given_fit(few, draws=30), np.ones(30))
