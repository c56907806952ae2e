"""Centred weights of boxes of several variables: the expectation over later variables, and fits
that stay straight.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.intruder.world import make_world
from riskweighted.weights.by_scheme import own_weights
from riskweighted.weights.match import world_weighting

SCENARIO = rw.Scenario(known="group", synthetic=["rent", "income"], radius=0.2)
RHO = 0.8


def later(rent, rng):
    """Incomes given rents."""
    return np.exp(
        3
        + 0.5
        * (RHO * (np.log(rent) - 3) / 0.5 + np.sqrt(1 - RHO**2) * rng.normal(size=np.shape(rent)))
    )


def tenants(seed, n, patterns):
    rng = np.random.default_rng(seed)
    number, rent = np.arange(n), np.exp(3 + 0.5 * rng.normal(size=n))
    return pd.DataFrame(
        {
            "group": (number % patterns).astype(str),
            "half": number % 2,
            "rent": rent,
            "income": later(rent, rng),
        }
    )


@pytest.mark.parametrize(
    ("scheme", "n"),
    [("marginal+", 300), ("pairwise+", 300), ("power+(g=0.5)", 300), ("marginal+", 1500)],
)
def test_the_first_variable_weighs_what_is_expected_of_the_second(scheme, n):
    data, rng = tenants(0, n, 1), np.random.default_rng(1)
    functions = own_weights(make_world(data, SCENARIO), scheme)
    rents, records = pd.Series([8.0, 14.0, 20.0, 30.0]), np.array([3, 50])
    made = functions["rent"].at(records, rents)
    exact = np.empty(made.shape)
    for row, record in enumerate(records):
        for column, rent in enumerate(rents):
            fresh = later(np.full(100, rent), rng)
            some = []
            for income in fresh[: 100 if n < 1000 and scheme != "pairwise+" else 30]:
                moved = data.copy()
                moved.loc[record, ["rent", "income"]] = [rent, income]
                some.append(
                    rw.scheme_weights(scheme.replace("+", ""), moved, SCENARIO).iloc[record]
                )
            exact[row, column] = np.mean(some)
    assert np.abs(made - exact).max() < 0.1 * exact.max() + 0.01
    assert abs(made.mean() - exact.mean()) < 0.05 * exact.mean() + 0.005


def test_where_nobody_is_near_the_weight_is_that_of_a_record_alone():
    data = tenants(0, 200, 1)
    made = own_weights(make_world(data, SCENARIO), "marginal+")["rent"].at(
        np.array([5]), pd.Series([1e9])
    )
    assert made[0, 0] == pytest.approx(1 / 200)


def chain():
    settings = {
        name: {"model": "linear-regression", "transform": "log"} for name in SCENARIO.synthetic
    }
    settings["income"]["formula"] = "income ~ log(rent)"
    return rw.load_synthesizer("sequential")(
        SCENARIO.synthetic, predictors=["half"], settings=settings
    )


def test_a_chain_of_another_order_is_refused():
    data = tenants(2, 100, 2)
    turned = rw.Scenario(known="group", synthetic=["income", "rent"], radius=0.2)
    weights = world_weighting(make_world(data, turned), "mix+(t=0.5)", match="joint")
    with pytest.raises(rw.InputError, match="take 'rent' to be modelled after it"):
        rw.fit(chain(), data, weights, random_seed=1)


@pytest.mark.long
def test_joint_weights_leave_both_models_straight():
    """At a correlation of .8 plain joint weights take a part of either spread."""
    off = {"pairwise": [], "pairwise+": []}
    for seed in range(3):
        data = tenants(seed, 1000, 10)
        world = make_world(data, SCENARIO)
        for scheme, each in off.items():
            fit = rw.fit(
                chain(),
                data,
                world_weighting(world, scheme, match="joint"),
                random_seed=1,
                draws=300,
                engine="importance",
            )
            made = np.log(pd.concat(fit.synthesize(10, random_seed=2))[list(SCENARIO.synthetic)])
            each.append(np.log(made.std() / np.log(data[list(SCENARIO.synthetic)]).std()))
    assert (np.mean(off["pairwise"], axis=0) < -0.05).all()
    # .034 and .026: the spread of what is drawn holds that of parameters
    assert (np.abs(np.mean(off["pairwise+"], axis=0)) < 0.05).all()
