"""The comparison of engines, without Stan and numpyro: what they are given is one posterior, judged
by what labels do not change.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

# benchmarks are no part of the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks import engines, engines_samplers
from benchmarks.engines_posterior import judged, posterior_of, standard_errors_apart


@pytest.fixture(scope="module")
def posterior():
    return posterior_of("401ksubs", "marginal", records=200)


@pytest.fixture(scope="module")
def vectors(posterior):
    return 0.1 * np.random.default_rng(1).normal(size=(2, 30, posterior.layout.size))


def draws_of(posterior, vectors):
    parameters = posterior.layout.parameters(vectors.reshape(-1, vectors.shape[-1]))
    named = {name: parameters[name] for name in engines_samplers.FREE if name in parameters}
    return {
        name: values.reshape(*vectors.shape[:2], *values.shape[1:])
        for name, values in named.items()
    }


def test_draws_become_the_vectors_they_came_from(posterior, vectors):
    np.testing.assert_allclose(posterior.vectors(draws_of(posterior, vectors)), vectors, atol=1e-12)


def test_nothing_that_is_compared_depends_on_labels(posterior, vectors):
    order = np.array([2, 0, 1])
    other = np.array(
        [[posterior.layout.relabelled(vector, order) for vector in chain] for chain in vectors]
    )
    for what in (posterior.quantities, posterior.components):
        own, swapped = what(vectors), what(other)
        assert list(own) == list(swapped)
        for name, values in own.items():
            np.testing.assert_allclose(values, swapped[name], atol=1e-9, err_msg=name)
    assert (
        posterior.components(vectors)["sigma of sd 1"]
        <= posterior.components(vectors)["sigma of sd 3"]
    ).all()


def test_the_numbers_that_engines_are_given_make_our_log_density(posterior, vectors):
    numbers, flat = posterior.numbers, vectors.reshape(-1, vectors.shape[-1])
    draws, expected = draws_of(posterior, vectors), []
    for place in np.ndindex(vectors.shape[:2]):
        theta = {name: values[place] for name, values in draws.items()}
        slopes = theta["slope"] + theta["slope_spread"] * theta["slope_deviation"]
        mean = theta["centre"] + numbers["columns"][numbers["cell"]] @ slopes.T
        each = (
            theta["weight"]
            / theta["sigma"]
            * np.exp(-0.5 * ((numbers["z"][:, None] - mean) / theta["sigma"]) ** 2)
        )
        squares = sum(
            (theta[name] ** 2).sum() for name in ("centre", "sigma", "slope", "slope_deviation")
        )
        squares += (theta["slope_spread"] / numbers["widest"]) ** 2
        prior = (numbers["concentration"] - 1) * np.log(theta["weight"]).sum() - 0.5 * squares
        expected.append(prior + numbers["alpha"] @ np.log(each.sum(axis=1)))
    assert np.ptp(posterior.heights(flat) - expected) < 1e-9 * np.abs(expected).max()


def test_stan_counts_from_one_and_has_matrices_by_column(posterior, vectors):
    data, draws = engines_samplers._stan_data(posterior), draws_of(posterior, vectors)
    assert (min(data["cell"]), max(data["cell"])) == (1, data["cells"])
    parameters = engines_samplers._stan_parameters(
        {name: values[0, 0] for name, values in draws.items()}
    )
    assert np.shape(parameters["slope_deviation"]) == (posterior.layout.predictors, 3)
    program = (Path(engines.__file__).parent / "engines.stan").read_text()
    assert all(f" {name};" in program for name in [*data, *parameters])

    def messages(chain):
        yield {"topic": "logger", "values": ["info:"]}
        for draw in range(vectors.shape[1]):
            # rows of ours are columns of the program's
            parts = [np.ravel(values[chain, draw]) for values in draws.values()]
            numbers = {
                f"x.{place}": value for place, value in enumerate(np.concatenate(parts).tolist())
            }
            yield {"topic": "sample", "values": {"lp__": 0.0, **numbers}}
        yield {"topic": "sample", "values": {"": "Elapsed"}}

    fits = [
        gzip.compress("\n".join(map(json.dumps, messages(chain))).encode()) for chain in range(2)
    ]
    found = engines_samplers._stan_draws(fits, posterior)
    assert list(found) == list(draws)
    for name, values in draws.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.quick
def test_standard_errors_apart():
    rng = np.random.default_rng(2)
    one, other = (
        judged({"x": mean + sd * rng.normal(size=(4, 500))})
        for mean, sd in ((0.0, 1.0), (1.0, 1.5))
    )
    apart = standard_errors_apart(one, other).loc["x"]
    assert apart["mean"] == pytest.approx(-1 / np.hypot(1, 1.5) * np.sqrt(2000), rel=0.15)
    assert apart["sd"] == pytest.approx(np.log(1 / 1.5) * np.sqrt(2000), rel=0.15)
    assert (standard_errors_apart(one, one) == 0).all(axis=None)


@pytest.mark.quick
def test_the_error_of_an_sd_counts_heavy_tails():
    rng = np.random.default_rng(3)
    for shape, kurtosis in (("normal", 3.0), ("laplace", 6.0)):
        table = judged({"x": getattr(rng, shape)(size=(4, 5000))})
        assert table.loc["x", "log_sd_error"] == pytest.approx(
            np.sqrt((kurtosis - 1) / 4 / 20_000), rel=0.1
        )


def test_ours_is_sampled_read_and_put_in_tables(tmp_path):
    arguments = argparse.Namespace(draws=60, tune=60, chains=2, seed=1, records=300)
    engines.sampled(arguments, "simulated", "marginal", "ours", tmp_path / "draws.npz")
    posterior = posterior_of("simulated", "marginal", 300)
    run = engines.read(posterior, tmp_path / "draws.npz")
    assert run.sampling > 0
    speed, values = engines.tables(
        posterior, {"ours": run, "again": run._replace(compiling=9 * run.sampling)}
    )
    assert speed.loc["ours", "means apart"] == speed.loc["again", "sds apart"] == 0
    assert speed.loc["again", "with compiling"] == pytest.approx(speed.loc["again", "ESS / s"] / 10)
    assert {"predictive_mean", "weight of sd 1", "sigma of sd 3"} <= set(values.index)


def test_what_is_not_installed_is_said_in_a_line(monkeypatch, capsys):
    monkeypatch.setattr(engines_samplers, "find_spec", lambda name: None)
    engines.main(["--engines", "Stan", "numpyro"])
    said = capsys.readouterr().out.splitlines()[1:]
    assert said == [
        "Stan is not installed: pip install httpstan",
        "numpyro is not installed: pip install numpyro",
    ]
