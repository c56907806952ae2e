"""Draws by importance of compiled densities: against known densities and chains, what is left to chains, and what the draws are worth."""

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.linear_regression import LinearRegression
from riskweighted_models.normal_mixture import NormalMixture
from riskweighted_models.transformation import Transformation
from riskweighted_models.two_part import TwoPart

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sampling.convergence import diagnose_direct
from riskweighted.sampling.laplace import Independent, Offering, Scaled
from riskweighted.sampling.near import draw_near
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.fitting import compile_model

NEAR = Sampling(draws=500, chains=2, tune=200, engine="importance", cores=1)
CHAINS = Sampling(draws=500, chains=2, tune=200, engine="nuts", cores=1)


def scaled_density(data, sd):
    """y_i ~ N(s_i, sd^2), s_i ~ N(0, tau^2), log tau ~ N(0, 1): of the vector (log tau, s)."""

    def density(vector):
        log_tau, s = vector[0], vector[1:]
        weaker, off = np.exp(-2 * log_tau), (data - s) / sd**2
        height = -0.5 * log_tau**2 - len(s) * log_tau - 0.5 * weaker * (s @ s) - 0.5 * ((data - s) @ off)
        return float(height), np.concatenate([[-log_tau - len(s) + weaker * (s @ s)], off - weaker * s])

    return Scaled(density, log_scale=0, scaled=slice(1, None), unit=np.ones(len(data)))


def exact_log_tau(data, sd):
    """Mean and standard deviation of log tau, by a sum over a grid: given tau the data are N(0, tau^2 + sd^2)."""
    grid = np.linspace(-6, 6, 20_001)
    variance = np.exp(2 * grid) + sd**2
    log_density = -0.5 * grid**2 - 0.5 * len(data) * np.log(variance) - 0.5 * (data @ data) / variance
    share = np.exp(log_density - log_density.max())
    mean = (share @ grid) / share.sum()
    return mean, np.sqrt(share @ (grid - mean) ** 2 / share.sum())


@pytest.mark.quick
def test_a_scale_and_what_follows_it_have_the_posterior_of_a_sum_over_a_grid():
    data = np.random.default_rng(1).normal(0, 1.2, 8)
    found = draw_near(scaled_density(data, 1.0), 9, 4000, np.random.default_rng(2))
    mean, sd = exact_log_tau(data, 1.0)
    assert found.pareto_k < 0.7
    worth = diagnose_direct({"log tau": found.vectors[None, :, 0]}, found.which, found.pareto_k)["ess_bulk"].iloc[0]
    assert worth > 300
    assert abs(found.vectors[:, 0].mean() - mean) < 4 * sd / np.sqrt(worth)
    assert abs(np.log(found.vectors[:, 0].std() / sd)) < 4 / np.sqrt(2 * worth)
    np.testing.assert_allclose(found.heights[:5] - found.heights[0], relative(scaled_density(data, 1.0), found.vectors[:5]), atol=1e-8)


def relative(density, vectors):
    heights = np.array([density(vector)[0] for vector in vectors])
    return heights - heights[0]


@pytest.mark.quick
def test_independent_parts_are_proposed_apart_and_drawn_together():
    parts = Independent(((2, lambda x: (-0.5 * float(x @ x), -x)), (1, lambda x: (float(3 * x[0] - np.exp(x[0])), 3 - np.exp(x)))))
    found = draw_near(parts, 3, 4000, np.random.default_rng(1))
    assert found.vectors.shape == (4000, 3)
    assert found.which.shape == (2, 4000)
    assert np.abs(np.corrcoef(found.vectors.T)[2, :2]).max() < 4 / np.sqrt(1000)
    np.testing.assert_allclose(found.heights[:5] - found.heights[0], relative(parts, found.vectors[:5]), atol=1e-8)
    again = draw_near(parts, 3, 4000, np.random.default_rng(1))
    np.testing.assert_array_equal(found.vectors, again.vectors)


@pytest.mark.quick
def test_several_modes_and_what_cannot_be_reached_are_left_to_chains():
    normal = Offering(lambda x: (-0.5 * float(x @ x), -x), starts=lambda: np.zeros((2, 1)))
    assert draw_near(normal, 1, 100, np.random.default_rng(1)) is None
    heavy = draw_near(lambda x: (float((0.3 * x - np.exp(x)).sum()), 0.3 - np.exp(x)), 20, 1000, np.random.default_rng(1))
    assert heavy is None
    assert draw_near(lambda x: (np.nan, np.full(3, np.nan)), 3, 100, np.random.default_rng(1)) is None


@pytest.mark.quick
def test_draws_of_parts_are_worth_what_the_spread_of_their_means_says():
    """Means of 400 sets of resampled proposals vary as one over the effective size that a set states."""
    rng, means, worth = np.random.default_rng(1), [], []
    for _ in range(400):
        which = np.array([rng.choice(size, 1000, p=rng.dirichlet(np.full(size, 2.0))) for size in (60, 300)])
        values = sum(rng.normal(size=size)[of_part] for size, of_part in zip((60, 300), which, strict=True))
        means.append(values.mean())
        worth.append(diagnose_direct({"sum": values[None]}, which, 0.1)["ess_bulk"].iloc[0])
    assert np.mean(worth) == pytest.approx(2 / np.var(means), rel=0.2)


def households(n=600):
    rng = np.random.default_rng(1)
    group, x = rng.integers(0, 4, n), rng.normal(size=n)
    amount = np.round(np.exp(7 + 0.3 * group + 0.4 * x + rng.gamma(2, 0.3, n)))
    return pd.DataFrame({"group": group.astype(str), "x": x, "income": np.where(rng.random(n) < 0.2, 0, amount)})


@pytest.fixture(scope="module")
def scenario():
    return rw.Scenario(known=["group"], synthetic="income", radius=0.2)


def worst(first, second):
    """The largest z of the differences of means and of log standard deviations of all parameters, and how many there are."""
    differences = []
    for name in first.posterior.data_vars:
        for place in np.ndindex(first.posterior[name].shape[2:]):
            label = str(name).replace("::::", ".") + (f"[{', '.join(map(str, place))}]" if place else "")
            values = [fit.posterior[name].values[(slice(None), slice(None), *place)] for fit in (first, second)]
            worth = [fit.diagnostics.loc[label, "ess_bulk"] for fit in (first, second)]
            sds = [each.std() for each in values]
            of_mean = (values[0].mean() - values[1].mean()) / np.sqrt(sum(sd**2 / own for sd, own in zip(sds, worth, strict=True)))
            of_spread = np.log(sds[0] / sds[1]) / np.sqrt(sum(0.5 / own for own in worth))
            differences += [abs(of_mean), abs(of_spread)]
    return max(differences), len(differences)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["unweighted", "marginal", "mix+(t=0.5)"])
def test_two_part_has_the_posterior_of_its_chains(scheme, scenario):
    data, model = households(), compile_model(TwoPart("income ~ group + x", support=(0, 100_000)), households())
    alpha = rw.centred_weights(scheme, data, scenario) if "+" in scheme else rw.match_weights(data, scenario, scheme)["income"]
    near, chains = (model.sample(alpha, random_seed=1, sampling=sampling) for sampling in (NEAR, CHAINS))
    assert set(near.diagnostics["engine"]) == {"direct"}
    assert set(chains.diagnostics["engine"]) == {"nuts"}
    assert near.converged
    largest, count = worst(near.blocks["income"], chains.blocks["income"])
    assert largest < np.sqrt(2 * np.log(count)) + 1.5


@pytest.mark.slow
def test_who_is_drawn_by_importance_and_only_where_it_is_asked_for():
    data = households()
    data = data[data["income"] > 0].reset_index(drop=True)
    asked = {"importance": NEAR, "auto": Sampling(draws=300, chains=2, tune=200, cores=1)}
    models = (LinearRegression("income ~ group + x", transform="log"), Transformation("income ~ group", support=(0, 100_000)))
    for synthesizer in models:
        engines = {name: compile_model(synthesizer, data).sample(random_seed=1, sampling=each) for name, each in asked.items()}
        assert {name: set(fit.diagnostics["engine"]) for name, fit in engines.items()} == {"importance": {"direct"}, "auto": {"nuts"}}
    mixture = compile_model(NormalMixture("income ~ 1", components=2), data).sample(random_seed=1, sampling=NEAR)
    assert set(mixture.diagnostics["engine"]) == {"nuts"}
    with pytest.raises(InputError, match="'importance'"):
        Sampling(engine="laplace")
