"""Draws by importance of one density: against known densities, its failures, and a fit's way
through it to chains.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from brute import assert_clear
from records import Asked
from riskweighted_models.logistic import Logistic
from scipy import special

import riskweighted as rw
from riskweighted.common.errors import ConvergenceWarning, InputError
from riskweighted.contract.synthesizer import Blueprint, ContractError
from riskweighted.sampling import compilation
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sampling.convergence import deciding_rows, diagnose_direct
from riskweighted.sampling.coordinates import free_vector
from riskweighted.sampling.importance import propose_about_mode
from riskweighted.sampling.laplace import heights_of
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.fitting import compile_model
from riskweighted.sequence.modes import modes_of


def normal(mean, covariance):
    precision = np.linalg.inv(covariance)
    return lambda x: (-0.5 * float((x - mean) @ precision @ (x - mean)), -precision @ (x - mean))


def log_gamma(shape):
    """Logarithms of independent gamma numbers."""
    return lambda x: (float((shape * x - np.exp(x)).sum()), shape - np.exp(x))


def drawn(density, size, count, seed):
    """The proposals for a density, and so many draws."""
    rng = np.random.default_rng(seed)
    near = propose_about_mode(density, size, count, rng)
    return near, near.resampled(count, rng)


def test_draws_of_a_normal_density_have_its_moments():
    factor = np.random.default_rng(1).normal(size=(4, 4))
    mean, covariance = np.array([1.0, -2.0, 0.0, 30.0]), factor @ factor.T + 0.1 * np.eye(4)
    near, found = drawn(normal(mean, covariance), 4, 4000, 1)
    assert near.accepted
    assert found.vectors.shape == (4000, 4)
    assert near.pareto_k < 0.2
    scale = np.sqrt(np.diag(covariance))
    assert (np.abs(found.vectors.mean(axis=0) - mean) < 4 * scale / np.sqrt(near.effective)).all()
    np.testing.assert_allclose(
        np.cov(found.vectors.T), covariance, atol=6 * scale.max() ** 2 / np.sqrt(near.effective)
    )
    np.testing.assert_allclose(
        found.heights, [normal(mean, covariance)(vector)[0] for vector in found.vectors], atol=1e-9
    )


def test_draws_of_a_skewed_density_have_its_moments_not_those_of_the_mode():
    shape = 3.0
    near, found = drawn(log_gamma(shape), 6, 4000, 2)
    table = diagnose_direct(
        {str(place): found.vectors[None, :, place] for place in range(6)},
        found.which,
        near.pareto_k,
    )
    error = np.sqrt(special.polygamma(1, shape) / table["ess_bulk"].to_numpy())
    assert near.accepted
    assert (np.abs(found.vectors.mean(axis=0) - special.digamma(shape)) < 4 * error).all()
    assert abs(special.digamma(shape) - np.log(shape)) > 4 * error.max()  # the mode is log(shape)
    np.testing.assert_allclose(
        found.vectors.std(axis=0), np.sqrt(special.polygamma(1, shape)), rtol=0.15
    )


def test_the_same_seed_gives_the_same_draws_and_every_proposal_is_drawn_as_its_weight_says():
    (near, first), (_, second), (_, other) = (
        drawn(log_gamma(2.0), 3, 1000, seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.vectors, second.vectors)
    assert not np.array_equal(first.vectors, other.vectors)
    weights = np.random.default_rng(3).dirichlet(np.full(len(near.weights), 0.3))
    which = replace(near, weights=weights).resampled(1000, np.random.default_rng(4)).which
    assert (np.abs(np.bincount(which, minlength=len(weights)) - 1000 * weights) < 1).all()
    assert not (np.diff(which) >= 0).all()


def test_what_cannot_be_reached_fails_and_says_so():
    near = propose_about_mode(log_gamma(0.3), 20, 2000, np.random.default_rng(1))
    assert not near.accepted
    assert (
        propose_about_mode(lambda x: (np.nan, np.full(3, np.nan)), 3, 100, np.random.default_rng(1))
        is None
    )
    reached = propose_about_mode(log_gamma(3.0), 2, 2000, np.random.default_rng(1))
    assert reached.accepted
    assert not replace(reached, pareto_k=0.71).accepted
    assert not replace(reached, needed=len(reached.weights)).accepted


def test_heights_are_asked_for_all_at_once_where_they_are_offered():
    class Offering:
        def __call__(self, vector):
            raise AssertionError("one by one")

        def heights(self, vectors):
            return np.where(vectors[:, 0] > 0, -vectors[:, 0], np.nan)

    vectors = np.array([[1.0], [-1.0], [2.0]])
    np.testing.assert_array_equal(heights_of(Offering(), vectors), [-1.0, -np.inf, -2.0])
    np.testing.assert_array_equal(
        heights_of(lambda vector: (vector[0], vector), vectors), [1.0, -1.0, 2.0]
    )


def test_effective_sizes_count_what_was_drawn_twice():
    """Of 4 draws two are the same: the mean has weights 1/2, 1/4, 1/4, worth 1 / (1/4 + 1/16 +
    1/16) of equal squares.
    """
    values = np.array([[1.0, 1.0, -1.0, -1.0]])
    table = diagnose_direct({"a": values, "still": np.zeros((1, 4))}, np.array([7, 7, 2, 3]), 0.3)
    assert table.loc["a", "ess_bulk"] == pytest.approx(1 / (1 / 4 + 2 / 16))
    assert np.isnan(table.loc["still", "ess_bulk"])
    assert not table["converged"].any()
    many = np.random.default_rng(1).normal(size=(4, 500))
    judged = diagnose_direct({"a": many}, np.arange(2000), 0.3)
    assert judged.loc["a", "ess_bulk"] == pytest.approx(2000)
    assert judged.loc["a", "converged"]
    assert judged["r_hat"].isna().all()
    assert not diagnose_direct({"a": many}, np.arange(2000), 0.71)["converged"].any()


# In a fit


@dataclass(frozen=True)
class Skewed:
    """One mean, and nineteen more parameters of which the data say nothing: logarithms of gamma
    numbers of a small shape.
    """

    target: str = "y"
    shape: float = 0.3
    off: float = 0.0  # by which the density is wrong at the first parameter, squared

    def prepare(self, data):
        return data["y"].to_numpy(dtype=float)

    def build(self, prepared):
        shape, y = self.shape, prepared
        with pm.Model() as model:
            held = pm.Data("alpha", np.ones(len(y)))
            vector = free_vector("vector", 20, lambda x: (shape * x - pt.exp(x)).sum(axis=-1))
            total = (held * (-0.5 * (y - vector[0]) ** 2)).sum()

        def densities(alpha):
            def density(x):
                slope = shape - np.exp(x)
                slope[0] += alpha @ (y - x[0])
                height = (
                    (shape * x - np.exp(x)).sum()
                    - 0.5 * alpha @ (y - x[0]) ** 2
                    + self.off * x[1] ** 2
                )
                return float(height), slope

            return density

        return Blueprint(
            model, total, lambda alpha: {"alpha": alpha}, ("vector",), len(y), direct=densities
        )

    def distribution(self, theta, prepared):
        return Asked(self, theta, prepared)

    def log_density(self, theta, prepared, y):
        return -0.5 * (y - theta["vector"][0]) ** 2

    def draw(self, theta, prepared, rng):
        return theta["vector"][0] + rng.normal(size=len(prepared))


FRAME = pd.DataFrame({"y": np.random.default_rng(6).normal(size=60)})


@pytest.mark.slow
def test_a_density_that_cannot_be_drawn_from_directly_is_sampled_by_chains():
    fitted = rw.fit(Skewed(), FRAME, random_seed=1, draws=800, tune=400)
    assert fitted.converged
    assert (fitted.diagnostics["engine"] == "nuts").all()
    assert fitted.diagnostics["pareto_k"].isna().all()
    # neither engine: as any fit that fails
    with pytest.warns(ConvergenceWarning, match="R-hat up to"):
        short = rw.fit(Skewed(), FRAME, random_seed=1, draws=20, tune=20, chains=2)
    assert not short.converged


def test_an_easy_posterior_is_drawn_without_compiling(monkeypatch):
    monkeypatch.setattr(compilation, "_compile", lambda model: pytest.fail("compiled"))
    fitted = rw.fit(Skewed(shape=20.0), FRAME, random_seed=1)
    assert (fitted.diagnostics["engine"] == "direct").all()
    assert fitted.converged
    assert fitted.posterior["vector"].shape == (Sampling().chains, Sampling().draws, 20)
    assert fitted.posterior["vector"].dims == ("chain", "draw", "vector_dim_0")


def test_a_direct_density_that_is_not_that_of_the_model_is_refused():
    with pytest.raises(ContractError, match="not that of its model"):
        rw.fit(Skewed(shape=20.0, off=1e-7), FRAME, random_seed=1)


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(8)
    x = rng.normal(size=300)
    frame = pd.DataFrame(
        {"x": x, "g": rng.choice(["a", "b"], 300), "yes": rng.random(300) < special.expit(x - 0.5)}
    )
    return frame, Logistic("yes ~ x + g", levels=(False, True)), rng.random(300)


@pytest.mark.long
def test_means_and_spreads_are_those_of_chains(binary):
    frame, model, alpha = binary
    directly = rw.fit(model, frame, alpha, random_seed=1, chains=4, draws=1000)
    chains = rw.fit(model, frame, alpha, random_seed=1, draws=1000, engine="nuts")
    tables = [
        fitted.diagnostics.filter(like="coefficient[", axis=0) for fitted in (directly, chains)
    ]
    assert [set(table["engine"]) for table in tables] == [{"direct"}, {"nuts"}]
    drawn = [
        fitted.posterior["coefficient"].values.reshape(4000, -1) for fitted in (directly, chains)
    ]
    worth = 1 / sum(1 / table["ess_bulk"].to_numpy() for table in tables)
    mean, sd = ([part(one, axis=0) for one in drawn] for part in (np.mean, np.std))
    assert (np.abs(mean[0] - mean[1]) < 4 * sd[1] / np.sqrt(worth)).all()
    assert (np.abs(np.log(sd[0] / sd[1])) < 4 / np.sqrt(2 * worth)).all()


def test_a_direct_fit_repeats_on_any_cores_is_saved_and_draws_the_same(binary, tmp_path):
    frame, model, alpha = binary
    first, second, other = (
        rw.fit(model, frame, alpha, random_seed=seed, cores=cores)
        for seed, cores in ((3, 1), (3, 2), (4, 1))
    )
    assert first.posterior.identical(second.posterior)
    pd.testing.assert_frame_equal(first.diagnostics, second.diagnostics, check_exact=True)
    assert not first.posterior.identical(other.posterior)
    first.save(tmp_path / "fit.nc")
    again = rw.load_fit(tmp_path / "fit.nc", model, frame, first.alpha, random_seed=3)
    pd.testing.assert_frame_equal(again.diagnostics, first.diagnostics)
    assert again.posterior.equals(first.posterior)
    for one, same in zip(
        first.synthesize(3, random_seed=1), again.synthesize(3, random_seed=1), strict=True
    ):
        pd.testing.assert_frame_equal(one, same)
    effective = int(deciding_rows(first.diagnostics)["ess_bulk"].min())
    with pytest.warns(ConvergenceWarning, match="effective draws"):
        first.synthesize(effective + 1, random_seed=1)


def test_few_draws_do_not_pass_as_many(binary):
    frame, model, _ = binary
    with pytest.warns(
        ConvergenceWarning,
        match=r"Pareto k-hat -?\d\.\d\d .limit 0\.7., bulk ESS down to \d\d .limit 100",
    ):
        fitted = rw.fit(model, frame, random_seed=1, draws=20, chains=2)
    assert not fitted.converged
    assert (fitted.diagnostics["engine"] == "direct").all()


def test_the_engine_is_checked_before_anything_is_compiled(binary, monkeypatch):
    monkeypatch.setattr(compilation, "_compile", lambda graph: pytest.fail("compiled"))
    frame, model, _ = binary
    for wrong in ("gibbs", None, 3):
        with pytest.raises(InputError) as caught:
            rw.fit(model, frame, engine=wrong)
        assert_clear(caught, "engine", "auto", "nuts")
    for gone in ("direct", "importance"):
        with pytest.raises(InputError) as caught:
            rw.fit(model, frame, engine=gone)
        assert_clear(caught, gone, "write 'auto'")


def test_the_mode_is_that_of_the_direct_density(binary, monkeypatch):
    """Of `tune`, and of datasets that are drawn from the mode: nothing is compiled."""
    frame, model, alpha = binary
    monkeypatch.setattr(compilation, "_compile", lambda graph: pytest.fail("compiled"))
    compiled = compile_model(model, frame)
    fitted = compiled.sample(None, random_seed=1)
    monkeypatch.setattr(PreparedModel, "build", lambda model: pytest.fail("built anew"))
    modes = modes_of(fitted)
    mode = modes.find(alpha)
    assert np.abs(model._density(fitted.block.prepared, alpha)(mode[model.target])[1]).max() < 2
    assert modes.plug_in(alpha, mode, 3).posterior["coefficient"].shape == (1, 3, 3)
    assert len(fitted.synthesize(2, parameters="mode", random_seed=1)) == 2
