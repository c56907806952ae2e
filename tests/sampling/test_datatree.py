"""A posterior as ArviZ reads it, and as a file that ArviZ opens."""

import arviz as az
import numpy as np
import pandas as pd
import pytest

import riskweighted as rw

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 200)
    data = pd.DataFrame({"group": group, "income": np.exp(3 + (group == "b") + 0.5 * rng.normal(size=200))})
    alpha = rw.marginal_weights(data, rw.Scenario(known="group", synthetic="income"))
    synthesizer = rw.load_synthesizer("linear-regression")("income ~ group", transform="log")
    return rw.fit(synthesizer, data, alpha, random_seed=1, draws=500, tune=200, chains=2)


def test_the_groups_hold_the_posterior_its_density_and_the_diagnostics(fit):
    tree = fit.to_datatree()
    assert tree["posterior"].to_dataset().equals(fit.posterior)
    terms = fit.alpha.to_numpy() * fit.block.terms(fit.block.draw(1, 7))
    assert float(tree["sample_stats"]["lp"].sel(chain=1, draw=7)) == pytest.approx(terms.sum())
    assert tree["diagnostics"]["r_hat"].values.tolist() == fit.diagnostics["r_hat"].tolist()
    assert tree["diagnostics"]["quantity"].values.tolist() == list(fit.diagnostics.index)


def test_arviz_opens_what_is_saved(fit, tmp_path):
    fit.to_datatree().to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    read = az.from_netcdf(tmp_path / "fit.nc")
    np.testing.assert_array_equal(read["posterior"]["sigma"].values, fit.posterior["sigma"].values)
    assert "lp" in read["sample_stats"]


def test_top_coding_has_no_parameters_and_an_empty_tree():
    data = pd.DataFrame({"income": np.arange(1.0, 41.0)})
    tree = rw.fit(rw.load_synthesizer("top-coding")("income ~ 1", quantile=0.9), data).to_datatree()
    assert not tree["posterior"].data_vars
    assert not tree["sample_stats"].data_vars
