"""Log densities of the records of a chain, and of other values of them."""

import numpy as np
import pandas as pd
from handmade import given_chain_fit

from riskweighted.contract.synthesizer import load_synthesizer


def test_the_density_of_a_chain_counts_statuses_gaps_and_structural_values():
    rng, n = np.random.default_rng(6), 60
    smoke = rng.random(n) < 0.5
    income = np.round(np.exp(rng.normal(7, 0.6, n)), -1)
    income[:9], income[9:20] = np.nan, -8.0
    data = pd.DataFrame(
        {"income": income, "smoke": smoke, "cigs": np.where(smoke, rng.integers(1, 30, n), 0.0)}
    )
    settings = {
        "income": {"model": "linear-regression", "transform": "log", "codes": [-8]},
        "cigs": {"model": "linear-regression", "applies_if": "smoke == true", "else_value": 0},
    }
    fit = given_chain_fit(
        load_synthesizer("sequential")(["income", "smoke", "cigs"], settings=settings), data
    )
    theta = fit.thetas(1, 3)
    found = fit.drawing.log_densities(data)(theta)
    for name, each in found.items():
        # alpha is 1: log p of the confidential records
        np.testing.assert_allclose(each, fit.contributions(theta, name), rtol=1e-9)
    wrong = data.assign(cigs=np.where(smoke, data["cigs"], 3.0))
    assert (
        np.isneginf(fit.drawing.log_densities(wrong)(theta)["cigs"]).tolist() == (~smoke).tolist()
    )
