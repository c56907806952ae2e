"""Weights of several variables: whose ball they are made of, column by column."""

import warnings

import brute
import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from handmade import given_chain_fit, given_fit

import riskweighted as rw
from riskweighted.common.errors import FlatWeightsWarning, InputError, SingletonWarning
from riskweighted.intruder.world import make_world
from riskweighted.weights.match import world_weights
from riskweighted.weights.subsets import match_subsets

pytestmark = pytest.mark.quick

SYNTHETIC = ("income", "job", "age")


def people(n=80, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "income": np.round(rng.lognormal(7, 0.7, n)),
            "job": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(20, 70, n),
        },
        index=[f"r{i}" for i in range(n)],
    )


SETTINGS = {"known": ("sex",), "radius": {"income": 0.3, "age": 5.0}, "categorical": ()}
scenario = rw.Scenario(synthetic=SYNTHETIC, radius_kind={"age": "absolute"}, **SETTINGS)


def looped(data, name, k):
    """The weights of one variable by the definition."""
    kind = "absolute" if name == "age" else "relative"
    return brute.kway_weights(data, {**SETTINGS, "synthetic": (name,), "radius_kind": kind}, k)


def test_two_variables_worked_by_hand():
    """y = 10, 11, 20 with balls of 2: 10 and 11 are neighbours. c = x, y, y. Marginal weights:
    shares inside.

    Own: y 2/3, 2/3, 1/3; c 1/3, 2/3, 2/3. Joint: nobody shares a box with anybody, 1/3 each.
    """
    data = pd.DataFrame({"y": [10.0, 11.0, 20.0], "c": ["x", "y", "y"]})
    two = rw.Scenario(synthetic=("y", "c"), radius=2, radius_kind="absolute")
    own = rw.match_weights(data, two, "marginal")
    assert list(own.columns) == ["y", "c"]
    np.testing.assert_allclose(own, np.array([[2, 1], [2, 2], [1, 2]]) / 3, atol=1e-15)
    np.testing.assert_allclose(
        rw.match_weights(data, two, "marginal", "joint"), np.full((3, 2), 1 / 3), atol=1e-15
    )


@pytest.mark.parametrize(("scheme", "k"), [("marginal", 1), ("pairwise", 2), ("3-way", 3)])
@pytest.mark.parametrize("name", SYNTHETIC)
def test_own_weights_by_the_definition(scheme, k, name):
    data = people(40)
    own = rw.match_weights(data, scenario, scheme)
    np.testing.assert_allclose(own[name], looped(data, name, k), atol=1e-12)


def test_pairwise_own_is_the_default_and_stands_on_the_index():
    data = people()
    found = rw.match_weights(data, scenario)
    assert found.index.equals(data.index)
    pd.testing.assert_frame_equal(
        found, rw.match_weights(data, scenario, "pairwise", "each-variable")
    )
    alone = rw.Scenario(known="sex", synthetic="age", radius=5, radius_kind="absolute")
    pd.testing.assert_series_equal(
        found["age"], rw.pairwise_weights(data, alone), check_names=False
    )


def test_a_category_beside_other_variables_follows_its_law():
    """METHODS section 3.5, one pattern: marginal p_k exactly, pairwise sum_j p_j^2 + p_k (1 - p_k);
    a box of two follows neither.
    """
    data = pd.DataFrame(
        {
            "c": np.repeat(["x", "y", "z"], [1000, 700, 300]),
            "income": np.random.default_rng(1).lognormal(7, 1, 2000),
        }
    )
    two = rw.Scenario(synthetic=("c", "income"))
    share = data["c"].map({"x": 0.5, "y": 0.35, "z": 0.15}).to_numpy()
    marginal = rw.match_weights(data, two, "marginal")
    np.testing.assert_allclose(marginal["c"], share, atol=1e-15)
    np.testing.assert_allclose(
        rw.match_weights(data, two)["c"],
        0.5**2 + 0.35**2 + 0.15**2 + share * (1 - share),
        atol=1e-3,
    )
    assert (rw.match_weights(data, two, "marginal", "joint")["c"] < share).all()
    released = rw.margin_shift(data, two, marginal, levels=True).head(3)["weighted"]
    np.testing.assert_allclose(
        released, np.square([0.5, 0.35, 0.15]) / (0.5**2 + 0.35**2 + 0.15**2), atol=1e-12
    )


def test_joint_weights_are_those_of_the_box_in_every_column():
    data = people()
    found = rw.match_weights(data, scenario, "marginal", "joint")
    box = rw.marginal_weights(data, scenario)
    for name in SYNTHETIC:
        pd.testing.assert_series_equal(found[name], box, check_names=False)
    assert (found.sum() < rw.match_weights(data, scenario, "marginal").sum()).all()


def test_subsets_have_a_box_each_in_the_order_of_the_scenario():
    data = people()
    found = rw.match_weights(data, scenario, "pairwise", [["age", "income"], ["job"]])
    assert list(found.columns) == list(SYNTHETIC)
    pair = rw.Scenario(
        known="sex",
        synthetic=("income", "age"),
        radius={"income": 0.3, "age": 5},
        radius_kind={"age": "absolute"},
    )
    np.testing.assert_allclose(found["age"], rw.pairwise_weights(data, pair), atol=1e-15)
    np.testing.assert_allclose(found["income"], found["age"], atol=0)
    np.testing.assert_allclose(
        found["job"],
        rw.pairwise_weights(data, rw.Scenario(known="sex", synthetic="job")),
        atol=1e-15,
    )
    one_each = rw.match_weights(data, scenario, "pairwise", [["job"], ["income"], ["age"]])
    pd.testing.assert_frame_equal(one_each, rw.match_weights(data, scenario))


def test_one_variable_is_what_it_always_was():
    data, one = people(), rw.Scenario(known="sex", synthetic="income")
    for match in ("each-variable", "joint", [["income"]]):
        found = rw.match_weights(data, one, "pairwise", match)
        pd.testing.assert_series_equal(
            found["income"], rw.pairwise_weights(data, one), check_names=False
        )


def test_adjusted_column_by_column():
    data = people().assign(home=np.repeat(range(20), 4))
    plain = rw.match_weights(data, scenario, "marginal")
    found = rw.match_weights(data, scenario, "marginal", scale=0.5, shift=0.1, cluster="home")
    for name in SYNTHETIC:
        expected = rw.cluster_weights(rw.adjust_weights(plain[name], 0.5, 0.1), data["home"])
        pd.testing.assert_series_equal(found[name], expected, check_names=False)
    unweighted = rw.match_weights(
        data, scenario, "unweighted", scale=0.5, shift=0.1, cluster="home"
    )
    assert (unweighted == 1).all(axis=None)


def test_schemes_with_a_parameter_are_made_of_each_variable_s_own_risk():
    data = people()
    found = rw.match_weights(data, scenario, "mix(t=0.5)")
    pd.testing.assert_frame_equal(
        found, 1 - 0.5 * (1 - rw.match_weights(data, scenario, "marginal"))
    )
    assert (rw.match_weights(data, scenario, "uniform(c=0.25)") == 0.25).all(axis=None)


def counts(n=30):
    rng = np.random.default_rng(2)
    return pd.DataFrame({"jobs": rng.poisson(50, n), "kind": rng.choice(list("ab"), n)})


def test_schemes_made_of_a_fit_take_that_of_the_variable():
    data = counts()
    one = rw.Scenario(synthetic="jobs")
    fit = given_fit(data)
    found = rw.match_weights(data, one, "lipschitz", fit=fit)
    pd.testing.assert_series_equal(
        found["jobs"], rw.scheme_weights("lipschitz", data, one, fit), check_names=False
    )
    two = rw.Scenario(synthetic=("jobs", "kind"))
    with pytest.raises(
        InputError, match="the fit is one of 'jobs', and the scenario synthesizes 'kind'"
    ):
        rw.match_weights(data, two, "lipschitz", fit=fit)
    with pytest.raises(InputError, match="made of a fit of the weighted model: pass fit"):
        rw.match_weights(data, two, "reweighted(of=pairwise)")
    with pytest.raises(
        InputError, match="gives each of 'jobs', 'kind' weights of its own: see match_weights"
    ):
        rw.scheme_weights("lipschitz", data, two, fit)


def test_a_warning_is_given_once_or_names_its_variables():
    data = people(20).assign(sex=["z", *people(20)["sex"][1:]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rw.match_weights(data, scenario)
    assert [one.category for one in caught] == [SingletonWarning]
    constant = people().assign(job="a")
    with pytest.warns(FlatWeightsWarning, match="^'job': all 80 weights are 1") as flat:
        rw.match_weights(constant, scenario)
    assert len(flat) == 1


def test_the_patterns_are_found_once():
    world = make_world(people(), scenario)
    assert world.only("age").patterns is world.patterns
    pd.testing.assert_frame_equal(
        world_weights(world, "pairwise"), rw.match_weights(people(), scenario)
    )


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (
            "all",
            "risk_of must be 'each-variable', 'joint' or a list of lists of variables, got 'all'",
        ),
        (3, "got 3"),
        (None, "got None"),
        (["income", "job", "age"], "list of lists"),
        ([["income", "job", "age"], []], "list of lists"),
        ([["income"], ["job"]], "'age' in no subset"),
        ([["income", "job"], ["job", "age"]], "'job' in two subsets"),
        ([["income", "job"], ["sex"], ["age"]], "'sex' which is not synthetic"),
        ([["income", "income"], ["job"], ["age"]], "'income' more than once"),
        ([["income", 3], ["job"], ["age"]], "must be column names"),
    ],
)
def test_refuses_other_subsets(match, message):
    with pytest.raises(InputError, match=message):
        match_subsets(match, SYNTHETIC)
    with pytest.raises(InputError, match=message):
        rw.match_weights(people(), scenario, "pairwise", match)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scheme": "nope"}, "unknown weighting scheme"),
        ({"scheme": "uniform"}, "needs its setting c"),
        ({"scale": -1}, "scale must be"),
        ({"cluster": "nope"}, "no column 'nope'"),
    ],
)
def test_refuses_settings(change, message):
    with pytest.raises(InputError, match=message):
        rw.match_weights(people(), scenario, **change)


def test_no_value_of_the_data_is_told():
    data = people().assign(income=[SECRET, np.inf, *people()["income"][2:]])
    with pytest.raises(InputError, match="infinite in 1 of 80") as caught:
        rw.match_weights(data, scenario)
    assert_clear(caught)


def test_weights_made_of_a_fit_of_several_variables_follow_from_each_one_s_own_blocks():
    """The parameters of the blocks are independent, so a record's influence on one variable says
    nothing of another's.
    """
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 40),
            "kind": rng.choice(list("ab"), 40),
            "pay": rng.normal(size=40).round(3),
        }
    )
    settings = {"pay": {"model": "linear-regression"}}
    chain = rw.load_synthesizer("sequential")(
        ["kind", "pay"], predictors=["age"], settings=settings
    )
    fit = given_chain_fit(chain, data, draws=20)
    two = rw.Scenario(known="age", synthetic=["kind", "pay"])
    found = rw.match_weights(data, two, "lipschitz", "joint", fit=fit)
    for name in two.synthetic:
        terms = [
            np.abs(fit.contributions(fit.draw(chain, draw), name))
            for chain in range(2)
            for draw in range(20)
        ]
        largest = np.max(terms, axis=0)
        np.testing.assert_allclose(
            found[name], 1 - (largest - largest.min()) / np.ptp(largest), err_msg=name
        )
    assert not np.allclose(found["kind"], found["pay"])
    target = rw.match_weights(data, two, "lipschitz-target(D=1)", fit=fit, scale=0.5)
    assert (target <= 0.5).all(axis=None)
    halved = given_chain_fit(chain, data, 0.5, draws=20)
    with pytest.raises(
        InputError, match="made of the unweighted fit, and the weights of this one are not all 1"
    ):
        rw.match_weights(data, two, "lipschitz", fit=halved)
    again = rw.match_weights(data, two, "reweighted", fit=halved)
    # the record of the largest influence keeps c times its weight, others gain
    assert (again >= 0.95 * 0.5 - 1e-12).all(axis=None)
