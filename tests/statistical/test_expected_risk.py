"""Expected risk and influence on the paper's simulated counts, against the values on the exact grid
posterior.
"""

from pathlib import Path

import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.risk.expected_identification import isolated_records

DATA = pd.read_csv(
    Path(__file__).resolve().parents[2] / "experiments" / "simulation_data" / "nb_mixture_n1000.csv"
)
SCENARIO = rw.Scenario(synthetic="outcome", radius=0.2)
EXACT = {  # mean, maximum, isolated records
    "unweighted": (0.2103, 0.2488, 0.030),
    "marginal": (0.1956, 0.2494, 0.0040),
    "pairwise": (0.2100, 0.2496, 0.0211),
}
pytestmark = [pytest.mark.long, pytest.mark.slow]


def fitted(alpha):
    synthesizer = rw.load_synthesizer("negative-binomial")("outcome ~ 1", components=1)
    return rw.fit(synthesizer, DATA, alpha, random_seed=1, chains=2, draws=400, tune=400)


@pytest.fixture(scope="module")
def fits():
    made = {name: fitted(rw.scheme_weights(name, DATA, SCENARIO)) for name in EXACT}
    made["reweighted"] = fitted(rw.scheme_weights("reweighted", DATA, SCENARIO, made["marginal"]))
    made["lipschitz"] = fitted(rw.scheme_weights("lipschitz", DATA, SCENARIO, made["unweighted"]))
    return made


@pytest.mark.parametrize("name", EXACT)
def test_expected_risk_is_that_of_the_exact_posterior(fits, name):
    isolated = isolated_records(rw.identification_risk(DATA, scenario=SCENARIO).to_numpy())
    found = rw.expected_identification_risk(fits[name], SCENARIO, draws=400, random_seed=2)
    mean, maximum, tail = EXACT[name]
    assert found["risk"].mean() == pytest.approx(mean, abs=0.003)
    assert found["risk"].max() == pytest.approx(maximum, abs=0.02)
    # p (1 - p): no record of one pattern can be at more
    assert found["risk"].max() < 0.25 + 4 * found["se"].max()
    assert found["risk"][isolated].mean() == pytest.approx(tail, abs=0.003)


@pytest.mark.parametrize(
    ("name", "exact"),
    [("marginal", 2.12), ("pairwise", 6.7), ("reweighted", 2.13), ("lipschitz", 5.97)],
)
def test_delta_is_that_of_the_exact_posterior(fits, name, exact):
    assert rw.influence(fits[name])["lipschitz"].max() == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize(
    ("name", "exact"), [("marginal", 0.108), ("reweighted", 0.051), ("lipschitz", 0.039)]
)
def test_reweighting_and_lipschitz_weights_cost_what_they_cost(fits, name, exact):
    frames = fits[name].synthesize(200, random_seed=3)
    table = rw.evaluate(
        DATA, {name: frames}, SCENARIO, settings=rw.EvaluationSettings(resamples=2), random_seed=0
    ).utility
    found = float(
        table.loc[(table["key"] == "ecdf-maximum") & (table["label"] == name), "value"].iloc[0]
    )
    assert found == pytest.approx(exact, abs=0.006)
