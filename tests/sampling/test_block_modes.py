"""The mode under any weights: of a PyMC graph and of a compiled density, held to what is known of
it.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sampling.block_fit import plug_in, prepare_model
from riskweighted.sampling.block_modes import block_modes
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sampling.laplace import Independent, ScaleMixtureDensity, laplace_draws, mode_of

N = 200


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], N)
    return pd.DataFrame(
        {
            "group": group,
            "rent": np.round(np.exp(5 + 0.4 * (group == "b") + 0.5 * rng.normal(size=N)), 1),
        }
    )


def compiled_of(synthesizer, confidential):
    return compile_prepared(prepare_model(synthesizer, confidential))


def modes_for(name, confidential, **settings):
    model = compiled_of(rw.load_synthesizer(name)("rent ~ group", **settings), confidential)
    return block_modes(
        model, model.sample(None, random_seed=1, sampling=rw.Sampling(draws=300, tune=300))
    )


def one(parameters, vector):
    """What a single vector stands for."""
    return {name: values[0] for name, values in parameters(vector[None]).items()}


@pytest.fixture(scope="module")
def linear(confidential):
    return modes_for("linear-regression", confidential, transform="log")


def test_a_draw_of_a_graph_and_its_vector_say_the_same(linear):
    """The start is a draw: what its vector expands to stands in the fit, coordinates, transforms
    and all.
    """
    theta = one(linear.parameters, linear.start)
    drawn = linear.fit.posterior["coefficient"].values.reshape(-1, 3)
    place = np.flatnonzero(np.isclose(drawn, theta["coefficient"], atol=1e-9).all(axis=1))
    assert len(place) > 0  # a chain may stay where it is
    assert theta["sigma"] == pytest.approx(
        linear.fit.posterior["sigma"].values.reshape(-1)[place[0]]
    )


def test_the_mode_of_a_regression_is_its_weighted_ridge(linear, confidential):
    alpha = np.random.default_rng(1).uniform(0.1, 1, N)
    theta = one(linear.parameters, linear.find(alpha))
    prepared = linear.fit.prepared
    columns = np.column_stack([np.ones(N), prepared.raw.columns])
    # N(0, 1) on every coefficient
    precision = columns.T @ (alpha[:, None] * columns) / theta["sigma"] ** 2 + np.eye(3)
    ridge = np.linalg.solve(precision, columns.T @ (alpha * prepared.z) / theta["sigma"] ** 2)
    np.testing.assert_allclose(theta["coefficient"], ridge, atol=1e-3)
    draws = (
        linear.laplace(alpha, linear.find(alpha), 4000, np.random.default_rng(2))
        .posterior["coefficient"]
        .values[0]
    )
    np.testing.assert_allclose(
        draws.std(axis=0), np.sqrt(np.diag(np.linalg.inv(precision))), rtol=0.06
    )


def test_information_at_the_mode_is_half_the_variance_of_what_a_record_adds(linear):
    """By hand: gradients of alpha_i log N(z_i | x_i'b, sigma), and the covariance of b and log
    sigma, which is the posterior's.
    """
    alpha = np.random.default_rng(1).uniform(0.1, 1, N)
    mode = linear.find(alpha)
    theta, prepared = one(linear.parameters, mode), linear.fit.prepared
    columns = np.column_stack([np.ones(N), prepared.raw.columns])
    residual = (prepared.z - columns @ theta["coefficient"]) / theta["sigma"]
    gradient = alpha[:, None] * np.column_stack(
        [columns * residual[:, None] / theta["sigma"], residual**2 - 1]
    )
    drawn = linear.laplace(alpha, mode, 20000, np.random.default_rng(2)).posterior
    covariance = np.cov(
        np.column_stack([drawn["coefficient"].values[0], np.log(drawn["sigma"].values[0])]).T
    )
    by_hand = np.einsum("ij,jk,ik->i", gradient, covariance, gradient) / 2
    found = linear.information(alpha, mode)
    np.testing.assert_allclose(found, by_hand, rtol=0.06, atol=1e-3 * by_hand.max())
    assert found.argmax() == by_hand.argmax()
    assert linear.information(np.where(np.arange(N) == 0, 0.0, alpha), mode)[0] == 0.0


def test_plug_in_fits_hold_the_mode_and_draw_values(linear, confidential):
    alpha = np.full(N, 0.5)
    fixed = linear.plug_in(alpha, linear.find(alpha), 4)
    assert fixed.posterior.sizes["draw"] == 4
    assert (fixed.alpha == 0.5).all()
    assert float(fixed.posterior["sigma"].std()) == 0
    risk = rw.expected_identification_risk(
        rw.Fit.of(fixed), rw.Scenario(known=["group"], synthetic="rent", radius=0.2), draws=4
    )["risk"]
    own = rw.expected_identification_risk(
        rw.Fit.of(linear.fit), rw.Scenario(known=["group"], synthetic="rent", radius=0.2), draws=100
    )["risk"]
    assert risk.mean() == pytest.approx(own.mean(), abs=0.01)


@pytest.mark.long
# of chains, which it does not look at
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_the_mode_of_a_compiled_density_is_that_of_plug_in_draws(confidential):
    modes = modes_for("transformation", confidential)
    alpha = np.ones(N)
    found, stated = one(modes.parameters, modes.find(alpha)), plug_in(modes.fit)
    assert set(found) == set(stated)
    masses = [
        modes.fit.synthesizer.distribution(theta, modes.fit.prepared).mass(
            np.full(N, 100.0), np.full(N, 150.0)
        )
        for theta in (found, stated)
    ]
    np.testing.assert_allclose(*masses, atol=2e-3)


def test_what_estimates_nothing_has_no_mode(confidential):
    model = compiled_of(rw.load_synthesizer("top-coding")("rent ~ 1", quantile=0.9), confidential)
    with pytest.raises(InputError, match="TopCoding estimates nothing"):
        block_modes(model, model.sample(None))


def test_a_search_may_begin_anywhere():
    """Independent parts, one of which has a scale for its parameters; the mode is known: s = 0 at
    scale prior's own mode.
    """

    def scaled(vector):
        log_tau, s = vector[0], vector[1:]
        pull = np.exp(-2 * log_tau)
        height = -0.5 * (log_tau - 0.3) ** 2 - 0.5 * pull * (s @ s) - len(s) * log_tau
        return float(height), np.concatenate(
            [[-(log_tau - 0.3) + pull * (s @ s) - len(s)], -pull * s]
        )

    def bowl(vector):
        return float(-0.5 * ((vector - 2) ** 2).sum()), -(vector - 2)

    density = Independent(
        (
            (3, ScaleMixtureDensity(scaled, log_scale=0, scaled=slice(1, 3), unit=np.ones(2))),
            (2, bowl),
        )
    )
    for start in (None, np.array([1.0, 0.5, -0.5, 4.0, 1.0])):
        np.testing.assert_allclose(mode_of(density, 5, start), [0.3, 0, 0, 2, 2], atol=0.06)
    draws = laplace_draws(density, 5, 3000, np.random.default_rng(1))
    np.testing.assert_allclose(draws[:, 3:].std(axis=0), 1, atol=0.05)
    assert draws[:, 0].mean() == pytest.approx(0.3, abs=0.1)
