"""Draws by importance of compiled densities: against known densities and chains, what is left to
chains, and what the draws are worth.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from riskweighted_models.linear_regression import LinearRegression
from riskweighted_models.normal_mixture import NormalMixture
from riskweighted_models.transformation import Transformation
from riskweighted_models.two_part import TwoPart
from scipy import signal
from scipy.special import digamma, polygamma

import riskweighted as rw
from riskweighted.sampling.convergence import PosteriorDraws, diagnose_direct, judge
from riskweighted.sampling.density_parts import find_parts
from riskweighted.sampling.importance import propose_about_mode
from riskweighted.sampling.laplace import DensityWithStarts, Independent, ScaleMixtureDensity
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.fitting import compile_model

NEAR = Sampling(draws=500, chains=2, tune=200, cores=1)
CHAINS = Sampling(draws=500, chains=2, tune=200, engine="nuts", cores=1)


def scaled_density(data, sd):
    """y_i ~ N(s_i, sd^2), s_i ~ N(0, tau^2), log tau ~ N(0, 1): of the vector (log tau, s)."""

    def density(vector):
        log_tau, s = vector[0], vector[1:]
        weaker, off = np.exp(-2 * log_tau), (data - s) / sd**2
        height = (
            -0.5 * log_tau**2 - len(s) * log_tau - 0.5 * weaker * (s @ s) - 0.5 * ((data - s) @ off)
        )
        return float(height), np.concatenate(
            [[-log_tau - len(s) + weaker * (s @ s)], off - weaker * s]
        )

    return ScaleMixtureDensity(density, log_scale=0, scaled=slice(1, None), unit=np.ones(len(data)))


def exact_log_tau(data, sd):
    """Mean and standard deviation of log tau, by a sum over a grid: given tau the data are N(0,
    tau^2 + sd^2).
    """
    grid = np.linspace(-6, 6, 20_001)
    variance = np.exp(2 * grid) + sd**2
    log_density = (
        -0.5 * grid**2 - 0.5 * len(data) * np.log(variance) - 0.5 * (data @ data) / variance
    )
    share = np.exp(log_density - log_density.max())
    mean = (share @ grid) / share.sum()
    return mean, np.sqrt(share @ (grid - mean) ** 2 / share.sum())


@pytest.mark.quick
def test_a_scale_and_what_follows_it_have_the_posterior_of_a_sum_over_a_grid():
    data = np.random.default_rng(1).normal(0, 1.2, 8)
    density = scaled_density(data, 1.0)
    near = propose_about_mode(density, 9, 4000, np.random.default_rng(2))
    mean, sd = exact_log_tau(data, 1.0)
    assert near.accepted
    vectors, heights, which = near.resampled(4000, np.random.default_rng(3))
    worth = diagnose_direct({"log tau": vectors[None, :, 0]}, which, near.pareto_k)[
        "ess_bulk"
    ].iloc[0]
    assert worth > 250
    assert abs(vectors[:, 0].mean() - mean) < 4 * sd / np.sqrt(worth)
    assert abs(np.log(vectors[:, 0].std() / sd)) < 4 / np.sqrt(2 * worth)
    np.testing.assert_allclose(heights[:5] - heights[0], relative(density, vectors[:5]), atol=1e-8)


def relative(density, vectors):
    heights = np.array([density(vector)[0] for vector in vectors])
    return heights - heights[0]


def bowl(x):
    return -0.5 * float(x @ x), -x


def skewed(x):
    return float((3 * x - np.exp(x)).sum()), 3 - np.exp(x)


def heavy(x):
    """Of so many exponentials that no proposals are near it."""
    return float((0.3 * x - np.exp(x)).sum()), 0.3 - np.exp(x)


@pytest.mark.quick
def test_independent_parts_are_proposed_apart_and_drawn_together():
    density, asked = Independent(((2, bowl), (1, skewed))), replace(NEAR, chains=4, draws=1000)
    parts = find_parts(density, 3, asked, 1, tried=True)
    found = parts.draw(asked, *parts.lengths(asked)[0], None)
    assert found.vectors.shape == (4, 1000, 3)
    assert found.which.shape == (2, 4000)
    assert found.stats is None
    flat = found.vectors.reshape(-1, 3)
    assert np.abs(np.corrcoef(flat.T)[2, :2]).max() < 4 / np.sqrt(1000)
    np.testing.assert_allclose(
        found.heights[0, :5] - found.heights[0, 0], relative(density, flat[:5]), atol=1e-8
    )
    again = find_parts(density, 3, asked, 1, tried=True).draw(asked, asked, False, None)
    np.testing.assert_array_equal(found.vectors, again.vectors)


@pytest.mark.quick
def test_several_modes_and_what_cannot_be_reached_are_left_to_chains():
    parts = Independent(
        (
            (1, DensityWithStarts(bowl, starts=lambda: np.zeros((2, 1)))),
            (20, heavy),
            (3, lambda x: (np.nan, np.full(3, np.nan))),
        )
    )
    near = find_parts(parts, 24, NEAR, 1, tried=True)
    assert near.of_chains == 3
    assert [each is None for each in near.near] == [True, False, True]
    assert near.lengths(NEAR) == ((NEAR, False),)  # of what importance knows nothing of


@pytest.mark.quick
def test_parts_are_drawn_by_importance_only_where_that_is_tried():
    parts = Independent(((1, bowl), (1, DensityWithStarts(bowl))))
    assert [find_parts(parts, 2, NEAR, 1, tried=tried).of_chains for tried in (True, False)] == [
        0,
        2,
    ]


@pytest.mark.quick
def test_a_refused_part_alone_has_chains_short_ones_first_and_all_parts_end_with_as_many_draws():
    """exp(x) is Gamma(.3) there, whose log has the mean digamma(.3) and the variance
    trigamma(.3).
    """
    asked = Sampling(draws=400, chains=2, tune=400, cores=1)
    parts = find_parts(Independent(((2, bowl), (20, heavy))), 22, asked, 1, tried=True)
    assert parts.of_chains == 1
    lengths = parts.lengths(asked)
    assert [(each.tune, each.draws, short) for each, short in lengths] == [
        (60, 200, True),
        (120, 400, True),
        (400, 800, False),
    ]
    told = []
    found = parts.draw(asked, *lengths[0], lambda done, total: told.append((done, total)))
    assert found.vectors.shape == (2, 400, 22)
    # of 200 draws each stands twice
    np.testing.assert_array_equal(found.vectors[:, ::2, 2:], found.vectors[:, 1::2, 2:])
    assert found.stats["diverging"].shape == (2, 400)
    # nothing is told of the part that has no chains
    assert {total for _, total in told} <= {2 * (60 + 200)}
    table = judge(
        PosteriorDraws(
            None, found.heights, found.stats, which=found.which, pareto_k=found.pareto_k
        ),
        (),
        by_place(found.vectors),
    )
    assert (table["engine"] == "nuts").all()
    assert (table["pareto_k"] < 0.7).all()
    longest = parts.draw(asked, *lengths[2], None).vectors
    worth = judge(PosteriorDraws(None, found.heights, found.stats), (), by_place(longest))[
        "ess_bulk"
    ].to_numpy()[1:]
    off = (longest.reshape(-1, 22).mean(axis=0) - [0, 0, *[digamma(0.3)] * 20]) / np.sqrt(
        [1, 1, *[polygamma(1, 0.3)] * 20] / worth
    )
    assert np.abs(off).max() < 4.5


def by_place(vectors):
    return {f"released {place}": vectors[:, :, place] for place in range(vectors.shape[2])}


@pytest.mark.quick
def test_the_errors_of_chains_and_of_importance_add():
    """Means of sets in which one part is a slow chain and the other resampled proposals vary as one
    over the effective size stated.
    """
    rng, means, worth = np.random.default_rng(1), [], []
    stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((4, 250), dtype=bool))})
    for _ in range(200):
        steps = rng.normal(size=(4, 350))
        chains = signal.lfilter([np.sqrt(1 - 0.6**2)], [1, -0.6], steps, axis=1)[:, 100:]
        which = np.array(
            [np.arange(1000), rng.choice(200, 1000, p=rng.dirichlet(np.full(200, 2.0)))]
        )
        values = chains + rng.normal(size=200)[which[1]].reshape(4, 250)
        means.append(values.mean())
        table = judge(
            PosteriorDraws(None, values, stats, which=which, pareto_k=0.1),
            (),
            {"released sum": values},
        )
        worth.append(table["ess_bulk"].iloc[0])
    assert np.mean(worth) == pytest.approx(2 / np.var(means), rel=0.25)


@pytest.mark.quick
def test_draws_of_parts_are_worth_what_the_spread_of_their_means_says():
    """Means of 400 sets of resampled proposals vary as one over the effective size that a set
    states.
    """
    rng, means, worth = np.random.default_rng(1), [], []
    for _ in range(400):
        which = np.array(
            [rng.choice(size, 1000, p=rng.dirichlet(np.full(size, 2.0))) for size in (60, 300)]
        )
        values = sum(
            rng.normal(size=size)[of_part] for size, of_part in zip((60, 300), which, strict=True)
        )
        means.append(values.mean())
        worth.append(diagnose_direct({"sum": values[None]}, which, 0.1)["ess_bulk"].iloc[0])
    assert np.mean(worth) == pytest.approx(2 / np.var(means), rel=0.2)


def households(n=600):
    rng = np.random.default_rng(1)
    group, x = rng.integers(0, 4, n), rng.normal(size=n)
    amount = np.round(np.exp(7 + 0.3 * group + 0.4 * x + rng.gamma(2, 0.3, n)))
    return pd.DataFrame(
        {"group": group.astype(str), "x": x, "income": np.where(rng.random(n) < 0.2, 0, amount)}
    )


@pytest.fixture(scope="module")
def scenario():
    return rw.Scenario(known=["group"], synthetic="income", radius=0.2)


def worst(first, second):
    """The largest z of the differences of means and of log standard deviations of all parameters,
    and how many there are.
    """
    differences = []
    for name in first.posterior.data_vars:
        for place in np.ndindex(first.posterior[name].shape[2:]):
            label = str(name).replace("::::", ".") + (
                f"[{', '.join(map(str, place))}]" if place else ""
            )
            values = [
                fit.posterior[name].values[(slice(None), slice(None), *place)]
                for fit in (first, second)
            ]
            worth = [fit.diagnostics.loc[label, "ess_bulk"] for fit in (first, second)]
            sds = [each.std() for each in values]
            of_mean = (values[0].mean() - values[1].mean()) / np.sqrt(
                sum(sd**2 / own for sd, own in zip(sds, worth, strict=True))
            )
            of_spread = np.log(sds[0] / sds[1]) / np.sqrt(sum(0.5 / own for own in worth))
            differences += [abs(of_mean), abs(of_spread)]
    return max(differences), len(differences)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["marginal", "mix+(t=0.5)"])
def test_two_part_has_the_posterior_of_its_chains(scheme, scenario):
    data = households()
    model = compile_model(TwoPart("income ~ group + x", support=(0, 100_000)), households())
    alpha = (
        rw.centred_weights(scheme, data, scenario)
        if "+" in scheme
        else rw.match_weights(data, scenario, scheme)["income"]
    )
    near, chains = (
        model.sample(alpha, random_seed=1, sampling=sampling) for sampling in (NEAR, CHAINS)
    )
    assert set(near.diagnostics["engine"]) == {"direct"}
    assert set(chains.diagnostics["engine"]) == {"nuts"}
    assert near.converged
    largest, count = worst(near.blocks["income"], chains.blocks["income"])
    assert largest < np.sqrt(2 * np.log(count)) + 1.5


@pytest.mark.slow
def test_the_package_chooses_importance_where_it_can_and_chains_are_run_where_they_are_asked_for():
    data = households()
    data = data[data["income"] > 0].reset_index(drop=True)
    asked = {"auto": NEAR, "nuts": Sampling(draws=300, chains=2, tune=200, cores=1, engine="nuts")}
    models = (
        LinearRegression("income ~ group + x", transform="log"),
        Transformation("income ~ group", support=(0, 100_000)),
    )
    for synthesizer in models:
        engines = {
            name: compile_model(synthesizer, data).sample(random_seed=1, sampling=each)
            for name, each in asked.items()
        }
        assert {name: set(fit.diagnostics["engine"]) for name, fit in engines.items()} == {
            "auto": {"direct"},
            "nuts": {"nuts"},
        }
    mixture = compile_model(NormalMixture("income ~ 1", components=2), data).sample(
        random_seed=1, sampling=NEAR
    )
    assert set(mixture.diagnostics["engine"]) == {"nuts"}
