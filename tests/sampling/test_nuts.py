"""How a compiled density is sampled: its steps, and what happens where chains diverge or move
slowly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import special
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.contract.synthesizer import ContractError
from riskweighted.sampling import nuts as chains
from riskweighted.sampling.laplace import ScaleMixtureDensity
from riskweighted.sampling.sampling_settings import Sampling

pytestmark = pytest.mark.versions

FREE, STUCK = "draws that know nothing of each other", "a chain that hardly moves"
LONG, FAR = 10, 3


def drawn(how, divergences):
    """What a run gives: two chains of 400 draws of two parameters."""
    steps = np.random.default_rng(1).normal(size=(2, 400, 2))
    vectors = (
        steps
        if how == FREE
        else np.concatenate([steps[:, :, :1], steps[:, :, 1:].cumsum(axis=1)], axis=2)
    )
    stats = xr.Dataset(
        {"diverging": (("chain", "draw"), np.arange(800).reshape(2, 400) < divergences)}
    )
    return chains.Chains(
        xr.Dataset({"vector": (("chain", "draw", "place"), vectors)}), np.zeros((2, 400)), stats
    )


@pytest.mark.parametrize(
    ("modes", "prior_share", "given", "runs", "asked"),
    [
        (1, 0.0, None, [(FREE, 0)], [(0.7, FAR)]),
        # once: a long trajectory is all there is
        (1, 0.0, None, [(STUCK, 0), (STUCK, 0)], [(0.7, FAR), (0.7, LONG)]),
        (1, 0.0, None, [(FREE, 4), (FREE, 0)], [(0.7, FAR), (0.91, LONG)]),
        (1, 0.0, None, [(STUCK, 0), (FREE, 4), (FREE, 0)], [(0.7, FAR), (0.7, LONG), (0.91, LONG)]),
        (1, 1.0, None, [(FREE, 0)], [(0.9, LONG)]),  # steps so short that few of them lead nowhere
        (1, 1.0, None, [(FREE, 4), (FREE, 0)], [(0.9, LONG), (0.97, LONG)]),
        (
            1,
            1.0,
            None,
            [(FREE, 4), (FREE, 2), (FREE, 1)],
            [(0.9, LONG), (0.97, LONG), (0.991, LONG)],
        ),
        (1, 1.0, 0.8, [(FREE, 4)], [(0.9, FAR)]),  # which a target of one's own replaces
        (1, 0.0, 0.95, [(FREE, 0)], [(0.7, LONG)]),
        (2, 0.0, None, [(FREE, 0)], [(0.7, LONG)]),
    ],
)
def test_a_part_is_run_again_with_longer_ways_or_shorter_steps(
    monkeypatch, modes, prior_share, given, runs, asked
):
    results, calls = [drawn(*run) for run in runs], []

    def run(model, sampling, seed, progress, target, doublings):
        calls.append((seed, target, doublings))
        return results[len(calls) - 1]

    monkeypatch.setattr(chains, "run_chains", run)
    assert (
        chains._run_part("model", modes, prior_share, Sampling(target_accept=given), 7, None)
        is results[-1]
    )
    assert [target for _, target, _ in calls] == pytest.approx([target for target, _ in asked])
    assert [doublings for _, _, doublings in calls] == [doublings for _, doublings in asked]
    assert len({seed for seed, _, _ in calls}) == len(calls)


def test_chains_at_different_modes_are_not_slow():
    vectors = drawn(FREE, 0).posterior["vector"].values
    assert not chains._slow(vectors + np.array([0.0, 50.0])[:, None, None])
    assert chains._slow(drawn(STUCK, 0).posterior["vector"].values)


@pytest.mark.parametrize(
    ("seconds", "cores", "expected"),
    [(0.0, None, 1), (8e-4, None, 2), (0.02, None, 4), (0.0, 3, 3), (0.02, 1, 1)],
)
def test_chains_run_side_by_side_where_a_gradient_is_long(monkeypatch, seconds, cores, expected):
    clock = iter(np.arange(100) * seconds)
    monkeypatch.setattr(chains, "worker_threads", lambda: 8)
    monkeypatch.setattr(chains.time, "perf_counter", lambda: next(clock))
    assert (
        chains._side_by_side(normal, np.zeros(2), Sampling(chains=4, cores=cores)).cores == expected
    )


def test_a_model_that_reports_is_another_one():
    @dataclass(frozen=True)
    class Model:
        _make_sampler: Callable[..., tuple[object, ...]]

    def made(*arguments):
        return arguments

    model = Model(made)
    assert chains._reporting(model, 1, lambda done, total: None, [])._make_sampler is not made
    assert model._make_sampler is made  # or a second run would report as the first one did


def normal(vector):
    return -0.5 * float(vector @ vector), -vector


def scale_mixture(vector):
    """Two effects with the scale exp(vector[0]), seen with noise."""
    log_tau, effects = vector[0], vector[1:]
    standard, off = effects * np.exp(-log_tau), np.array([1.0, 3.0]) - effects
    height = -0.5 * float(standard @ standard + off @ off) - 2 * log_tau - 0.5 * log_tau**2
    return height, np.concatenate(
        [[standard @ standard - 2 - log_tau], -standard * np.exp(-log_tau) + off]
    )


@pytest.mark.parametrize(
    "density",
    [normal, ScaleMixtureDensity(scale_mixture, log_scale=0, scaled=slice(1, 3), unit=np.ones(2))],
    ids=["round", "scaled"],
)
def test_heights_are_the_density_of_the_vectors_up_to_one_constant(density):
    found = chains.run_density(density, 3, Sampling(draws=60, tune=60, chains=2, cores=1), 1, None)
    own = np.array([[density(vector)[0] for vector in chain] for chain in found.vectors])
    assert np.ptp(own) > 1
    assert np.ptp(found.heights - own) < 1e-8


@dataclass(frozen=True)
class WeighedPrior(PoissonGraph):
    """A plug-in whose prior follows alpha, with a density that takes that into account, or not."""

    follows: bool = True

    def build(self, prepared):
        def weigh(alpha):
            return {
                "alpha": np.bincount(prepared.which, weights=alpha, minlength=len(prepared.counts)),
                "sd": np.array(1 / (0.1 + alpha.mean())),
            }

        with pm.Model() as model:
            alpha, sd = (
                pm.Data(name, value) for name, value in weigh(np.ones(len(prepared.which))).items()
            )
            intercept = pm.Normal("intercept", 0.0, sd)
            total = (
                alpha
                * (
                    prepared.counts * intercept
                    - pm.math.exp(intercept)
                    - special.gammaln(prepared.counts + 1)
                )
            ).sum()

        def density(given):
            weight = weigh(given)["alpha"]
            precision = (0.1 + given.mean()) ** 2 if self.follows else 1.0

            def height(vector):
                mean = np.exp(vector[0])
                slope = weight @ (prepared.counts - mean) - precision * vector[0]
                return float(
                    weight @ (prepared.counts * vector[0] - mean) - 0.5 * precision * vector[0] ** 2
                ), np.array([slope])

            return height

        return rw.Blueprint(
            model, total, weigh, ("intercept",), len(prepared.counts), density=density
        )


def test_a_prior_that_follows_alpha_is_held_to_it():
    data = pd.DataFrame({"jobs": np.random.default_rng(4).poisson(0.2, 20)})
    settings = {"random_seed": 1, "draws": 500, "tune": 100, "chains": 2}
    assert rw.fit(WeighedPrior("jobs ~ 1"), data, np.full(20, 0.1), **settings).converged
    with pytest.raises(ContractError, match="not that of its model"):
        rw.fit(WeighedPrior("jobs ~ 1", follows=False), data, np.full(20, 0.1), **settings)
