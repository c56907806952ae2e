"""The weight with another value: against the weights made anew of data in which the record has that
value.
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.intruder.world import make_world
from riskweighted.weights.adjust import adjust_weights, cluster_weights
from riskweighted.weights.by_scheme import own_weights
from riskweighted.weights.schemes import scheme_alpha

pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.SingletonWarning")
SCHEMES = ["marginal+", "pairwise+", "3-way+", "power+(g=0.5)", "mix+(t=0.5)", "others-in-ball+"]


def households(seed=0, n=60):
    """Patterns of 1, 2, 5 and many; ties, codes, missing values and a zero."""
    rng = np.random.default_rng(seed)
    group = np.array(["alone"] + ["two"] * 2 + ["five"] * 5 + ["many"] * (n - 8))
    income = np.round(np.exp(rng.normal(3, 0.5, n)))
    income[10:14], income[14:17], income[20] = -8, np.nan, 0
    return pd.DataFrame(
        {
            "group": group,
            "income": income,
            "kind": rng.choice(list("abc"), n),
            "house": np.arange(n) // 3,
        }
    )


SCENARIO = rw.Scenario(known="group", synthetic="income", radius=0.2, codes={"income": [-8]})
LEVELS = rw.Scenario(known="group", synthetic="kind")


@pytest.mark.quick
@pytest.mark.parametrize("scheme", [*SCHEMES, "drop-riskiest+(q=0.1)"])
@pytest.mark.parametrize(
    "scenario",
    [SCENARIO, LEVELS, rw.Scenario(known="group", synthetic="income", radius=0.2, boundary="open")],
)
def test_own_value_gives_the_weight(scheme, scenario):
    data = households()
    if scenario.boundary == "open":
        data["income"] = data["income"].clip(lower=1).fillna(5)
    world = make_world(data, scenario)
    function, alpha = own_weights(world, scheme), scheme_alpha(world, scheme).to_numpy()
    own = function.at(np.arange(len(data)), data[scenario.synthetic[-1]])
    assert np.allclose(np.diag(own), alpha, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("policy", ["protect", "paper"])
@pytest.mark.parametrize("scenario", [SCENARIO, LEVELS])
def test_another_value_gives_the_weight_of_data_that_hold_it(scheme, policy, scenario):
    data, name = households(), scenario.synthetic[-1]
    scenario = dataclasses.replace(scenario, singletons=policy)
    records = np.array([0, 1, 4, 9, 12, 15, 30])
    values = pd.Series(
        [20.0, 25.0, 1.0, -8.0, np.nan, 0.0, 18.0] if name == "income" else ["a", "b", "c"]
    )
    made = own_weights(make_world(data, scenario), scheme).at(records, values)
    for row, record in enumerate(records):
        for column, value in enumerate(values):
            moved = data.copy()
            moved.loc[record, name] = value
            expected = scheme_alpha(make_world(moved, scenario), scheme).iloc[record]
            assert made[row, column] == pytest.approx(expected, abs=1e-12)


def test_adjusted_and_of_clusters():
    data = households()
    world = make_world(data, SCENARIO)
    alpha = adjust_weights(scheme_alpha(world, "marginal"), 1.5, 0.05)
    function = own_weights(
        world, "marginal+", scale=1.5, shift=0.05, cluster="house", alpha=alpha.to_numpy()
    )
    own = function.at(np.arange(len(data)), data["income"])
    assert np.allclose(np.diag(own), cluster_weights(alpha, data["house"]), rtol=0, atol=1e-12)


def test_a_value_that_nobody_has_is_a_level_of_its_own():
    data = households()
    made = own_weights(make_world(data, LEVELS), "marginal+").at(
        np.array([20]), pd.Series(["never"])
    )
    assert made[0, 0] == pytest.approx(1 / (data["group"] == "many").sum())


@pytest.mark.parametrize(
    ("scheme", "says"),
    [
        ("unweighted+", "nothing to centre"),
        ("uniform+(c=0.5)", "nothing to centre"),
        ("bounded+(b=1)", "made of a fit"),
        ("best+", "unknown"),
    ],
)
def test_what_cannot_be_centred_is_refused(scheme, says):
    with pytest.raises(rw.InputError, match=says):
        scheme_alpha(make_world(households(), SCENARIO), scheme)


@pytest.fixture(scope="module")
def fitted():
    data = households(n=200)
    data["income"] = data["income"].where(data["income"] > 0, 15.0)
    scenario = rw.Scenario(known="group", synthetic="income", radius=0.2)
    model = rw.load_synthesizer("linear-regression")("income ~ group", transform="log")
    return data, scenario, rw.fit(model, data, draws=40, tune=60, chains=2, random_seed=1)


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
@pytest.mark.parametrize("scheme", ["bounded+(b=0.1)", "budget+(b=0.3)"])
def test_weights_of_a_fit_are_those_of_own_values(fitted, scheme):
    data, scenario, fit = fitted
    weights = rw.centred_weights(scheme, data, scenario, fit=fit)
    own = weights.functions["income"].at(np.arange(len(data)), data["income"])
    # scores are differences
    assert np.allclose(np.diag(own), weights.alpha["income"], rtol=0, atol=1e-8)
    far = weights.functions["income"].at(np.array([20]), pd.Series([20.0, 2000.0]))[0]
    assert far[1] < far[0]


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")
def test_scores_are_those_of_a_normal_regression(fitted):
    """|H^(-1/2) s| of y ~ N(mean, sigma) with one mean: s = (e / sigma, e^2 - 1), H nearly diag(n /
    sigma^2, 2 n) but for the priors.
    """
    data, scenario, _ = fitted
    model = rw.load_synthesizer("linear-regression")("income ~ 1", transform="log")
    fit = rw.fit(model, data, draws=40, tune=60, chains=2, random_seed=1)
    alpha = rw.scheme_weights("bounded(b=0.05)", data, scenario, fit=fit).to_numpy()
    logs = np.log(data["income"])
    e = ((logs - logs.mean()) / logs.std(ddof=0)).to_numpy()
    lengths = np.sqrt((e**2 + (e**2 - 1) ** 2 / 2) / len(data))
    assert np.allclose(alpha, np.minimum(1, 0.05 / lengths), rtol=0.03)
    safe = 1 - rw.identification_risk(data, scenario=scenario).to_numpy()
    alpha = rw.scheme_weights("budget(b=0.05)", data, scenario, fit=fit).to_numpy()
    assert np.allclose(alpha, np.minimum(1, 0.05 * safe / lengths), rtol=0.03)
