"""What a fit is judged by is what would leave: what no record informs decides nothing, and a chain
that is stuck is caught.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import riskweighted as rw
from experiments.trust.convergence import KINDS, changed, judged, simulated
from riskweighted.sampling.convergence import PosteriorDraws, deciding_rows, judge
from riskweighted.sampling.monitored import monitored_quantities


@pytest.fixture(scope="module")
def fit():
    synthesizer = rw.load_synthesizer("linear-regression")("amount ~ region + age", transform="log")
    return rw.fit(synthesizer, simulated(1), random_seed=1, engine="nuts").block


def test_what_leaves_is_quantiles_groups_coefficients_and_balls(fit):
    found = monitored_quantities(fit)
    assert {
        "released 0.5 quantile",
        "released mean where region=b",
        "released coefficient of age",
        "released balls",
    } <= set(found)
    assert not any("rare" in name for name in found)  # four of 400 records are no group
    shares = found["released 0.5 quantile"]
    assert shares.shape == tuple(fit.sizes.values())
    assert abs(shares.mean() - 0.5) < 0.05
    theta, below = fit.draw(1, 7), np.quantile(fit.y, 0.5, method="inverted_cdf") + 0.005
    every = fit.distribution(theta).mass(np.full(len(fit.y), -np.inf), np.full(len(fit.y), below))
    assert abs(every.mean() - shares[1, 7]) < 0.03  # a hundred records stand for the file
    table = fit.diagnostics
    assert set(found) < set(deciding_rows(table).index)
    assert not table.loc[table.index.str.startswith("slope"), "judged"].any()
    assert fit.converged


def test_the_same_numbers_whatever_the_size_of_the_file_and_none_without_masses(fit):
    twice = pd.concat([fit.confidential] * 2)
    larger = replace(fit, confidential=twice, prepared=fit.synthesizer.prepare(twice))
    assert len(monitored_quantities(larger)) == len(monitored_quantities(fit))
    held = xr.Dataset(coords={"chain": [0], "draw": [0]})
    assert monitored_quantities(replace(fit, posterior=held)) == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_chain_that_is_stuck_on_purpose_is_caught(fit, kind, seed):
    table = judged(fit, changed(fit, kind, np.random.default_rng(seed)))
    assert not deciding_rows(table)["converged"].all()


def test_chains_that_are_not_changed_pass_the_same_way(fit):
    # folded, the two middle draws tie or do not
    pd.testing.assert_frame_equal(judged(fit, fit.posterior), fit.diagnostics, rtol=1e-2)


def test_a_parameter_that_no_record_informs_decides_nothing(fit):
    """It may be as stuck as it likes, where what leaves does not depend on it."""
    rng = np.random.default_rng(1)
    drifting = np.linspace(0, 9, fit.sizes["draw"]) + rng.normal(size=tuple(fit.sizes.values()))
    posterior = fit.posterior.assign(idle=(("chain", "draw"), drifting))
    drawn = PosteriorDraws(posterior, rng.normal(size=drifting.shape))
    table = judge(drawn, ("idle",), monitored_quantities(fit))
    assert not table.loc["idle", "converged"]
    assert deciding_rows(table)["converged"].all()
    # where nothing is known of what leaves, it decides
    assert not deciding_rows(judge(drawn, ("idle",)))["converged"].all()
