"""Families of weights with a parameter: held to their formulas, on posterior draws given by
hand.
"""

import numpy as np
import pandas as pd
import pytest
from handmade import given_fit

import riskweighted as rw
from riskweighted.common.errors import FlatWeightsWarning, InputError

pytestmark = pytest.mark.quick

N = 60
SCENARIO = rw.Scenario(known=["area"], synthetic="jobs", radius=0.2)


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"jobs": rng.negative_binomial(5, 5 / 55, N), "area": rng.choice(["a", "b"], N)},
        [f"r{i}" for i in range(N)],
    )


@pytest.fixture(scope="module")
def fit(confidential):
    return given_fit(confidential, spread=0.03, draws=40)


def weights(name, confidential, fit=None, **settings):
    alpha = rw.scheme_weights(name, confidential, SCENARIO, fit, **settings)
    assert alpha.name == "alpha"
    assert alpha.index.equals(confidential.index)
    assert alpha.between(0, 1).all()
    return alpha.to_numpy()


def test_weights_made_of_the_risk(confidential):
    risk = rw.identification_risk(confidential, scenario=SCENARIO).to_numpy()
    assert (weights("uniform", confidential, c=0.1) == 0.1).all()
    np.testing.assert_allclose(weights("power", confidential, g=2), (1 - risk) ** 2)
    np.testing.assert_allclose(weights("mix", confidential, t=0.3), 1 - 0.3 * risk)
    np.testing.assert_allclose(
        weights("mix", confidential, t=1), rw.marginal_weights(confidential, SCENARIO)
    )
    deleted = weights("drop-riskiest", confidential, q=0.1)
    assert set(deleted) == {0.0, 1.0}
    assert 1 <= (deleted == 0).sum() <= 6
    assert risk[deleted == 0].min() > risk[deleted == 1].max()


def test_weights_by_the_share_of_the_others_that_are_near(confidential):
    jobs, area = (confidential[name].to_numpy() for name in ("jobs", "area"))
    near = np.abs(jobs - jobs[:, None]) <= 0.2 * jobs[:, None]
    same = area == area[:, None]
    expected = ((near & same).sum(axis=1) - 1) / (same.sum(axis=1) - 1)
    np.testing.assert_allclose(weights("others-in-ball", confidential), expected)


def test_weights_made_of_the_unweighted_fit(confidential, fit):
    terms = np.array([fit.block.terms(fit.block.draw(c, d)) for c in range(2) for d in range(40)])
    largest = np.abs(terms).max(axis=0)
    scaled = (largest - largest.min()) / np.ptp(largest)
    np.testing.assert_allclose(weights("lipschitz", confidential, fit), 1 - scaled)
    np.testing.assert_allclose(
        weights("lipschitz", confidential, fit, c=0.5, g=0.2),
        np.clip(0.5 * (1 - scaled) + 0.2, 0, 1),
    )
    target = weights("lipschitz-target", confidential, fit, D=4.5)
    np.testing.assert_allclose(target, np.minimum(1, 4.5 / largest))
    after = rw.influence(fit.changed(alpha=pd.Series(target, confidential.index)))
    assert after["lipschitz"].max() == pytest.approx(4.5)  # of the same draws


def test_weights_made_of_a_weighted_fit(confidential, fit):
    alpha = rw.marginal_weights(confidential, SCENARIO)
    alpha.iloc[:3] = 0.0
    weighted = fit.changed(alpha=alpha)
    delta = rw.influence(weighted)["lipschitz"].to_numpy()
    found = weights("reweighted", confidential, weighted)
    kept = alpha.to_numpy() > 0
    np.testing.assert_allclose(
        found[kept], np.clip(0.95 * alpha[kept] * delta.max() / delta[kept], 0, 1)
    )
    assert (found[~kept] == 0).all()
    assert found.sum() > alpha.sum()


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("uniform", {}, "needs its setting c"),
        ("uniform", {"c": 1.5}, "at most 1"),
        ("uniform", {"c": -0.1}, ">= 0"),
        ("drop-riskiest", {"share": 0.1}, "no setting 'share'; valid are q"),
        ("marginal", {"c": 0.1}, "scheme 'marginal' has no setting 'c'"),
        ("lipschitz", {}, "made of a fit of the unweighted model: pass fit"),
        ("reweighted", {}, "made of a fit of the weighted model: pass fit"),
        ("power", {"g": float("nan")}, "finite number"),
        ("nobody's", {}, "unknown weighting scheme"),
    ],
)
def test_what_makes_no_sense_is_refused(confidential, name, settings, text):
    with pytest.raises(InputError, match=text):
        rw.scheme_weights(name, confidential, SCENARIO, **settings)


def test_a_fit_of_another_kind_is_refused(confidential, fit):
    weighted = fit.changed(alpha=fit.alpha * 0.5)
    with pytest.raises(InputError, match="the weights of this one are not all 1"):
        rw.scheme_weights("lipschitz", confidential, SCENARIO, weighted)
    with pytest.raises(InputError, match="of other data"):
        rw.scheme_weights("lipschitz", confidential.iloc[:50], SCENARIO, fit)


def test_weights_that_protect_nobody_are_said(confidential):
    with pytest.warns(FlatWeightsWarning, match="all 60 weights are 1"):
        rw.scheme_weights("uniform", confidential, SCENARIO, c=1)
