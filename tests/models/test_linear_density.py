"""What is sampled of a linear regression, held to its PyMC model and to NumPy."""

import numpy as np
import pandas as pd
import pytest
from posteriors import log_posterior_of
from records import terms
from riskweighted_models.linear_regression import LinearRegression

from riskweighted.sequence.fitting import compile_model

pytestmark = pytest.mark.quick

N = 300


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], N)
    return pd.DataFrame(
        {
            "group": group,
            "size": rng.normal(3, 1, N),
            "rent": np.exp(5 + 0.4 * (group == "b") + rng.normal(size=N)),
        }
    )


def some_weights():
    return np.where(np.arange(N) % 7 == 0, 0.0, np.random.default_rng(2).random(N))


@pytest.mark.parametrize("formula", ["rent ~ group + size", "rent ~ 1"])
def test_the_density_is_that_of_the_model_and_its_gradient_is_right(confidential, formula):
    synthesizer, rng = LinearRegression(formula, transform="log"), np.random.default_rng(3)
    prepared = synthesizer.prepare(confidential)
    blueprint, alpha = synthesizer.build(prepared), some_weights()
    density = blueprint.density(alpha)
    prior = blueprint.density(np.zeros(N))
    layout = blueprint.layout
    posterior = log_posterior_of(blueprint)
    vectors = rng.normal(0, 0.7, (6, layout.size))
    vectors[:, -1] = [-6, -2, -0.5, 0, 1, 2]  # log sigma
    thetas = [
        {name: values[row] for name, values in layout.parameters(vectors).items()}
        for row in range(6)
    ]
    np.testing.assert_allclose([layout.vector(theta) for theta in thetas], vectors, atol=1e-12)
    stated = np.array([posterior(theta, alpha) for theta in thetas]) + layout.log_jacobian(vectors)
    off = np.array([density(vector)[0] for vector in vectors]) - stated
    assert (np.abs(off - off[3]) <= 1e-10 * np.abs(stated)).all()
    likelihood = [alpha @ terms(synthesizer, theta, prepared, confidential) for theta in thetas]
    np.testing.assert_allclose(
        [density(vector)[0] - prior(vector)[0] for vector in vectors], likelihood, rtol=1e-10
    )
    for vector in vectors[1:]:
        slopes = [
            (density(vector + step)[0] - density(vector - step)[0]) / 2e-6
            for step in 1e-6 * np.eye(layout.size)
        ]
        np.testing.assert_allclose(density(vector)[1], slopes, rtol=1e-6, atol=1e-3)


def test_nothing_is_compiled_and_the_posterior_is_the_conjugate_one_given_sigma(confidential):
    """Given sigma the coefficients are normal: their mean is the mean of ridges over the draws of
    sigma.
    """
    alpha = some_weights()
    synthesizer = LinearRegression("rent ~ group + size", transform="log")
    model = compile_model(synthesizer, confidential)
    assert model.models[0].compiled is None
    fitted = model.sample(alpha, random_seed=1)
    columns = np.column_stack([np.ones(N), fitted.block.prepared.raw.columns])
    gram = columns.T @ (alpha[:, None] * columns)
    pull = columns.T @ (alpha * fitted.block.prepared.z)
    sigma = fitted.posterior["sigma"].values.ravel()
    means = np.array([np.linalg.solve(gram / s**2 + np.eye(4), pull / s**2) for s in sigma])
    drawn = fitted.posterior["coefficient"].values.reshape(-1, 4)
    assert (
        np.abs(drawn.mean(axis=0) - means.mean(axis=0))
        < 4 * drawn.std(axis=0) / np.sqrt(len(drawn) / 2)
    ).all()


def test_far_out_it_is_no_number_rather_than_an_error(confidential):
    synthesizer = LinearRegression("rent ~ 1", transform="log")
    density = synthesizer.build(synthesizer.prepare(confidential)).density(np.ones(N))
    for log_sigma in (-800.0, 800.0):
        assert not np.isfinite(density(np.array([0.0, log_sigma]))[0])
