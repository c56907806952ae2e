"""A fit as the installed ArviZ reads it: groups, named coordinates, functions that run on them, a
file that ArviZ opens.
"""

import warnings

import arviz as az
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError

pytestmark = pytest.mark.versions

OLD = az.__version__.startswith("0.")
N = 120
ALL = [
    "posterior",
    "sample_stats",
    "diagnostics",
    "log_likelihood",
    "posterior_predictive",
    "observed_data",
]
MODELS = {
    "transformation": ("income ~ C(group) + age", {}),
    "linear-regression": ("income ~ C(group) + age", {"transform": "log"}),
    "normal-mixture": ("income ~ C(group) + age", {"components": 2}),
    "negative-binomial": ("count ~ C(group) + age", {}),
    "logistic": ("level ~ C(group) + age", {}),
    "multinomial": ("group ~ age", {}),
    "ordinal": ("band ~ C(group) + age", {}),
    "counts": ("count ~ C(group) + age", {}),
    "two-part": ("amount ~ C(group) + age", {}),
    "hierarchical": ("income ~ age", {"groups": ["group"], "transform": "log"}),
}


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    group, age = rng.choice(["a", "b", "c"], N), rng.integers(20, 60, N)
    income = np.exp(3 + (group == "b") + 0.5 * rng.normal(size=N)).round(1)
    frame = pd.DataFrame(
        {
            "group": group,
            "age": age,
            "income": income,
            "count": rng.poisson(3, N),
            "level": rng.choice(["n", "y"], N),
        }
    )
    frame["band"] = pd.Categorical(
        rng.choice(["low", "middle", "high"], N), ["low", "middle", "high"], ordered=True
    )
    return frame.assign(amount=np.where(rng.random(N) < 0.3, 0.0, income))


def fitted(data: pd.DataFrame, name: str, **sampling: object) -> rw.Fit:
    formula, settings = MODELS[name]
    model = rw.load_synthesizer(name)(formula, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alpha = rw.marginal_weights(data, rw.Scenario(known="level", synthetic="income"))
        return rw.fit(
            model,
            data,
            alpha,
            random_seed=1,
            **{"draws": 40, "tune": 60, "chains": 2, "engine": "nuts"} | sampling,
        )


@pytest.fixture(scope="module")
def fit(data) -> rw.Fit:
    return fitted(data, "linear-regression")


@pytest.mark.quick
def test_the_groups_hold_the_posterior_its_density_and_the_diagnostics(fit):
    tree = fit.to_datatree(ALL, random_seed=1)
    np.testing.assert_array_equal(
        tree["posterior"]["coefficient"].values, fit.posterior["coefficient"].values
    )
    terms = fit.block.terms(fit.block.draw(1, 7))
    at = {"chain": 1, "draw": 7}
    assert float(tree["sample_stats"]["lp"].sel(at)) == pytest.approx(
        (fit.alpha.to_numpy() * terms).sum()
    )
    np.testing.assert_allclose(tree["log_likelihood"]["income"].sel(at), terms)
    assert tree["diagnostics"]["r_hat"].values.tolist() == fit.diagnostics["r_hat"].tolist()
    np.testing.assert_array_equal(tree["observed_data"]["income"], fit.confidential["income"])
    assert tree["posterior_predictive"]["income"].shape == (2, 40, N)
    assert tree["log_likelihood"].attrs["weighted"] == "not weighted"
    assert all("Confidential" in tree[group].attrs["confidential"] for group in ALL)
    weighted = fit.to_datatree(["log_likelihood"], weighted=True)["log_likelihood"]
    np.testing.assert_allclose(weighted["income"].sel(at), fit.alpha.to_numpy() * terms)
    assert "weight" in weighted.attrs["weighted"]
    assert weighted.attrs["weighted"] != "not weighted"


@pytest.mark.quick
def test_coefficients_are_called_as_the_columns_of_the_model(fit):
    posterior = fit.to_datatree()["posterior"]
    assert posterior["coefficient"].dims == ("chain", "draw", "term")
    assert posterior["coefficient"]["term"].values.tolist() == [
        "Intercept",
        "C(group)[b]",
        "C(group)[c]",
        "age",
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_arviz_works_on_every_synthesizer(data, name):
    """Whatever the version: summaries, diagnostics, trace and rank, energy, forest, predictive
    check, and leave-one-out.
    """
    mpl.use("Agg")
    tree = fitted(data, name).to_datatree(ALL, random_seed=2)
    posterior = tree["posterior"]
    held = [str(variable) for variable in posterior.data_vars if "predictive" not in str(variable)]
    first = next(
        (variable for variable in held if variable.rsplit(".", 1)[-1] in ("slope", "coefficient")),
        held[0],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(az.summary(tree, var_names=[first]))
        for measure in (az.ess, az.rhat):
            assert first in measure(tree, var_names=[first])
        for plot in (az.plot_trace, az.plot_rank, az.plot_forest):
            plot(tree, var_names=[first])
        az.plot_energy(tree)
        (az.plot_ppc if OLD else az.plot_ppc_dist)(tree)
        loo = az.loo(tree)
        assert np.isfinite(getattr(loo, "elpd_loo", getattr(loo, "elpd", np.nan)))
        assert len(az.compare({"one": loo, "other": az.loo(tree)})) == 2
    mpl.pyplot.close("all")
    if name in ("transformation", "normal-mixture", "negative-binomial"):
        assert posterior["slope"]["predictor"].values.tolist() == [
            "C(group)[b]",
            "C(group)[c]",
            "age",
        ]
    labels = {"counts": "drift age", "ordinal": "above middle", "multinomial": "contrast 2: age"}
    if name in labels:
        assert labels[name] in posterior["coefficient"]["term"].values.tolist()
    if name == "two-part":
        assert posterior["positive.slope"]["predictor"].values.tolist() == [
            "C(group)[b]",
            "C(group)[c]",
            "age",
        ]


def test_direct_draws_have_no_energy(data):
    tree = fitted(data, "transformation").to_datatree()
    # chains, where importance does not do
    assert set(tree["sample_stats"].data_vars) in ({"lp"}, {"lp", "diverging", "energy"})


def test_of_several_variables_each_name_has_its_model_before_it(data):
    chain = rw.load_synthesizer("sequential")(["level", "income"], predictors=["group", "age"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rw.fit(chain, data, draws=20, tune=30, chains=2, random_seed=1)
    tree = fit.to_datatree(ALL, random_seed=1)
    assert {str(name).split(":")[0] for name in tree["posterior"].data_vars} == {"level", "income"}
    assert {str(name).split(": ")[-1] for name in tree["log_likelihood"].data_vars} == {
        "level",
        "income",
    }


def test_arviz_opens_what_is_saved(fit, tmp_path):
    kept = {} if OLD else {"engine": "h5netcdf"}
    fit.to_datatree().to_netcdf(str(tmp_path / "fit.nc"), **kept)
    read = az.from_netcdf(str(tmp_path / "fit.nc"))
    np.testing.assert_array_equal(read["posterior"]["sigma"].values, fit.posterior["sigma"].values)
    assert "lp" in read["sample_stats"]
    assert "Confidential" in read["posterior"].attrs["confidential"]


def test_what_the_sampler_says_is_kept_in_a_saved_fit(data, tmp_path):
    fit = fitted(data, "normal-mixture")
    fit.save(tmp_path / "fit")
    again = rw.load_fit(tmp_path / "fit", fit.synthesizer, data, fit.alpha)
    assert again.block.stats is not None
    assert again.block.stats.equals(fit.block.stats)
    assert again.posterior.equals(fit.posterior)


def test_top_coding_has_no_parameters_and_an_empty_tree():
    data = pd.DataFrame({"income": np.arange(1.0, 41.0)})
    tree = rw.fit(rw.load_synthesizer("top-coding")("income ~ 1", quantile=0.9), data).to_datatree()
    for group in ("posterior", "sample_stats"):  # ArviZ 0 keeps no empty group
        assert group not in tree.groups() if OLD else not tree[group].data_vars


@pytest.mark.quick
def test_what_cannot_be_given_is_refused(fit, monkeypatch):
    with pytest.raises(InputError, match="groups names 'prior'; valid are 'posterior'"):
        fit.to_datatree(["prior"])
    monkeypatch.setattr("riskweighted.sequence.as_arviz._MOST", 1_000)
    with pytest.raises(
        InputError,
        match="would hold 9,600 numbers, one for each record and draw; at most are 1,000",
    ):
        fit.to_datatree(["log_likelihood"])
    assert "posterior" in fit.to_datatree(["posterior"])
