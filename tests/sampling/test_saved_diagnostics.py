"""A saved fit is judged again from its draws, whichever engine made them; what its file says of
them is not believed.
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from riskweighted_models.linear_regression import LinearRegression
from riskweighted_models.negative_binomial import NegativeBinomial
from riskweighted_models.transformation import Transformation
from small_graph import PoissonGraph

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.sampling import convergence
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sampling.saved_diagnostics import judged_again, refuse_other_diagnostics

N = 60
LINEAR = LinearRegression("y ~ group")
COUNTS = NegativeBinomial("count ~ 1")
# what they are heaped on is drawn by importance
AMOUNTS = Transformation("amount ~ 1", support=(0, 2000))
FITS = {  # model, engine, scheme
    "direct": (LINEAR, "auto", None),
    "chains of a density": (LINEAR, "nuts", None),
    "centred chains": (LINEAR, "nuts", "marginal+"),
    "importance": (COUNTS, "auto", None),
    "chains of one part": (AMOUNTS, "auto", None),
    "graph": (PoissonGraph("count ~ 1"), "auto", None),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    amount = rng.lognormal(4, 0.8, N).round()
    return pd.DataFrame(
        {
            "group": rng.choice(["a", "b"], N),
            "y": rng.normal(5, 1, N),
            "count": rng.poisson(6, N),
            "amount": amount,
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_draws_are_judged_again_as_they_were(data, name, tmp_path):
    model, engine, scheme = FITS[name]
    sampling = Sampling(draws=300, chains=2, tune=150, engine=engine, cores=1)
    scenario = rw.Scenario(synthetic=model.target, known=["group"], radius=0.2)
    alpha = np.full(N, 0.5) if scheme is None else rw.centred_weights(scheme, data, scenario)
    rw.fit(model, data, alpha, random_seed=3, draws=300, chains=2, tune=150, engine=engine).save(
        tmp_path / "fit"
    )
    block = rw.load_fit(tmp_path / "fit", model, data, alpha).block
    refuse_other_diagnostics(block, sampling)
    again = judged_again(block, sampling)
    assert again["pareto_k"].notna().all() == (block.stats is None or name == "chains of one part")
    assert (again["engine"] == ("nuts" if block.stats is not None else "direct")).all()
    better = block.diagnostics.assign(r_hat=1.0, ess_bulk=900.0, converged=True)
    stuck = block.posterior.map(
        lambda values: values.where(values["chain"] == 0, values + 50 * float(values.std()) + 1)
    )
    for changed in (
        replace(block, diagnostics=better),
        replace(block, posterior=stuck),
        replace(block, stats=None, posterior=stuck),
    ):
        with pytest.raises(InputError) as caught:
            refuse_other_diagnostics(changed, sampling)
        assert "\n" not in str(caught.value)


@pytest.mark.quick
def test_what_importance_does_not_make_sure_of_has_chains_if_many_draws_are_asked_for(
    data, monkeypatch
):
    monkeypatch.setattr(convergence, "K_LIMIT", -10.0)  # what is judged fails, by importance
    asked = {"chains": 2, "tune": 150, "random_seed": 3}
    for draws, chains in ((500, True), (300, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rw.ConvergenceWarning)
            block = rw.fit(LINEAR, data, draws=draws, **asked).block
        assert (block.stats is not None, block.converged) == (chains, chains)
        assert block.posterior.sizes["draw"] == draws
        refuse_other_diagnostics(block, Sampling(draws=draws, chains=2, tune=150, cores=1))
