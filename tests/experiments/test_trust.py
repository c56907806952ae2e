"""What docs/trust.md says of centred weights, on fewer samples: left-out records, small patterns,
shares of levels, intervals.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw

# experiments are no part of the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.trust import calibrated, leave_one_out, unbiased
from experiments.trust.pseudo import pseudo_posterior, weights_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning"),
]


def test_centring_takes_out_what_a_record_does_through_the_weights_of_others():
    data, records = leave_one_out.sample(0), np.arange(0, 200, 10)
    found = {
        scheme: leave_one_out.divergences(data, scheme, records)
        for scheme in ("marginal", "marginal+", "uniform(c=0.25)")
    }
    ratio = {scheme: made["anew"].mean() / made["held"].mean() for scheme, made in found.items()}
    assert ratio["marginal+"] < 1.3
    assert ratio["marginal"] > 2
    assert ratio["uniform(c=0.25)"] == pytest.approx(1)
    assert found["marginal+"]["anew"].mean() < 0.6 * found["marginal"]["anew"].mean()


@pytest.mark.parametrize("scheme", ["drop-riskiest+(q=0.05)", "drop-riskiest+, cut stated"])
def test_a_cut_exposes_the_next_record(scheme):
    """Found in the data or stated: who is left out takes another record's weight from 1 to 0."""
    data = leave_one_out.sample(0)
    risk = rw.identification_risk(data, scenario=leave_one_out.SCENARIO).to_numpy()
    isolated = np.flatnonzero(risk >= np.quantile(risk, 0.95))
    means = leave_one_out.divergences(data, scheme, isolated).mean()
    assert means["anew"] > 1.5 * means["held"]


def test_small_patterns_are_unbiased_by_the_own_function_and_not_by_the_common_one():
    means = unbiased.summarise(unbiased.patterns_once, 100)
    assert means.loc["own", ["log sigma", "slope"]].abs().max() < 0.015
    assert means.loc["common", "log sigma"] > 0.02
    assert means.loc["plain", "log sigma"] < -0.05


@pytest.mark.parametrize(
    "scheme", ["marginal+", "pairwise+", "mix+(t=0.5)", "power+(g=0.5)", "others-in-ball+"]
)
def test_centred_modes_are_the_shares_of_levels(scheme):
    """Without the prior, which pulls where weights are small; plain ones are p^2 / sum p^2."""
    shares = np.array([0.55, 0.25, 0.12, 0.05, 0.03])
    data = pd.DataFrame({"level": np.repeat(list("abcde"), (4000 * shares).astype(int))})
    model = rw.load_synthesizer("multinomial")("level ~ 1")
    scenario = rw.Scenario(synthetic="level")

    def at_mode(weights):
        fitted = pseudo_posterior(model, data, weights, flat=True)
        records = model.distribution(fitted.mode(), fitted.prepared)
        return np.array(
            [records.mass(np.full(4000, float(k)), np.full(4000, float(k)))[0] for k in range(5)]
        )

    assert np.abs(at_mode(weights_of(scheme, data, scenario)) - shares).max() < 1e-3
    assert (
        np.abs(
            at_mode(weights_of("marginal", data, scenario)) - shares**2 / (shares**2).sum()
        ).max()
        < 1e-3
    )


def test_centred_posteriors_are_too_wide_and_plain_ones_off():
    table = calibrated.summarise(
        pd.concat([calibrated.replicate(seed) for seed in range(60)])
    ).set_index(["scheme", "parameter"])
    assert table.loc[("unweighted", "slope"), "sd ratio"] == pytest.approx(1, abs=0.25)
    for scheme in ("marginal+", "mix+(t=0.5)"):
        assert table.loc[(scheme, "slope"), "0.95"] >= 0.95
        assert table.loc[(scheme, "slope"), "sd ratio"] > 1.15
    assert table.loc[("marginal", "slope"), "0.5"] < 0.5
