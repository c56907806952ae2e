"""Weights of the members of units: each a function of its own value and those before it; of what is
of the unit, one a unit.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.weights.adjust import running_weights
from riskweighted.weights.match import world_functions, world_weights
from riskweighted.weights.of_fit import find_scored

UNITS = rw.Units(id="person", time="year", unit_level=["wealth"])
SCENARIO = rw.Scenario(known=["year"], synthetic=["wage"], radius=0.2)
BOTH = rw.Scenario(known=["group"], synthetic=["wealth", "wage"], radius=0.2)


def panel(persons=60, seed=2):
    rng = np.random.default_rng(seed)
    waves = rng.integers(1, 5, persons)
    person = np.repeat(np.arange(persons), waves)
    begins = np.append(True, person[1:] != person[:-1])
    year = np.arange(len(person)) - np.maximum.accumulate(
        np.where(begins, np.arange(len(person)), 0)
    )
    wage = np.exp(3 + 0.4 * rng.normal(size=persons)[person] + 0.2 * rng.normal(size=len(person)))
    return pd.DataFrame(
        {
            "person": person,
            "year": 2000 + year,
            "group": rng.choice(["a", "b"], persons)[person],
            "wealth": np.round(np.exp(8 + rng.normal(size=persons)))[person],
            "wage": np.round(wage, 2),
        }
    ).sample(frac=1.0, random_state=1, ignore_index=True)


@pytest.fixture(scope="module")
def data():
    return panel()


@pytest.fixture(scope="module")
def fit(data):
    chain = rw.load_synthesizer("sequential")(
        ["wage"], [], {"wage": {"model": "linear-regression", "transform": "log"}}, units=UNITS
    )
    return rw.fit(chain, data, draws=100, tune=100, random_seed=1)


def test_a_member_weighs_the_smallest_of_its_own_and_the_weights_before_it(data):
    world = make_world(data, SCENARIO, UNITS)
    alone = world_weights(make_world(data, SCENARIO), "mix(t=0.8)")["wage"].to_numpy()
    made = world_weights(world, "mix(t=0.8)")["wage"].to_numpy()
    for row in range(len(data)):
        same = (data["person"] == data["person"][row]) & (data["year"] <= data["year"][row])
        assert made[row] == alone[same.to_numpy()].min()
    assert (made < alone).any()


@pytest.mark.parametrize(
    "scheme", ["mix+(t=0.5)", "marginal+", "bounded+(b=0.2)", "budget+(b=0.4)"]
)
def test_functions_of_the_own_value_give_the_weights(data, fit, scheme):
    world = make_world(data, SCENARIO, UNITS)
    alphas = world_weights(world, scheme, fit=fit)
    function = world_functions(world, scheme, fit=fit)["wage"]
    rows = np.arange(len(data))
    own = function.at(rows, data["wage"]).diagonal()
    assert own == pytest.approx(
        alphas["wage"].to_numpy(), abs=1e-12 if "b=" not in scheme else 1e-7
    )
    assert 0 < alphas["wage"].mean() < 1


def test_scores_of_first_and_later_waves_add_up_in_parameters_of_their_own():
    """Of 200 amounts and more each has a model, and a bound holds for both together."""
    many, bound = panel(220), 0.2
    chain = rw.load_synthesizer("sequential")(
        ["wage"], [], {"wage": {"model": "linear-regression", "transform": "log"}}, units=UNITS
    )
    both = rw.fit(chain, many, draws=100, tune=100, random_seed=1)
    assert list(both.blocks) == ["wage of first waves", "wage of later waves"]
    world, scheme = make_world(many, SCENARIO, UNITS), f"bounded+(b={bound})"
    alpha = world_weights(world, scheme, fit=both)["wage"].to_numpy()
    function = world_functions(world, scheme, fit=both)["wage"]
    own = [function.at(np.array([row]), many["wage"][[row]])[0, 0] for row in range(0, 400, 7)]
    assert own == pytest.approx(alpha[:400:7], abs=1e-7)
    parts, vectors = find_scored(both, "wage", "bounded")
    assert [part.places.stop for part in parts][-1] == vectors.shape[1]
    weighted = pd.DataFrame(alpha[:, None] * vectors).groupby(many["person"].to_numpy()).sum()
    lengths = np.linalg.norm(weighted, axis=1)
    assert lengths.max() <= bound + 1e-9
    assert (np.abs(lengths - bound) < 1e-9).any()


def test_a_weight_does_not_tell_of_later_members(data):
    """A later member whose value is alone has the smallest weight, and none before it has that."""
    arrangement = UNITS.check(data)
    last = np.flatnonzero(arrangement.position == 3)[:1]
    alone = data["wage"].where(~data.index.isin(last), 1e6)
    world = make_world(data.assign(wage=alone), SCENARIO, UNITS)
    least = world_functions(world, "marginal+")["wage"].least
    same = arrangement.unit == arrangement.unit[last[0]]
    alpha = world_weights(make_world(data.assign(wage=alone), SCENARIO), "marginal")["wage"]
    assert alpha[last[0]] == alpha[same].min()
    assert (least[same] > alpha[last[0]]).all()


def test_the_scores_of_the_members_up_to_each_add_up_to_the_bound_at_most(data, fit):
    bound = 0.2
    alpha = world_weights(make_world(data, SCENARIO, UNITS), f"bounded(b={bound})", fit=fit)[
        "wage"
    ].to_numpy()
    _, vectors = find_scored(fit, "wage", "bounded")
    of = UNITS.check(data)
    total, lengths = np.zeros((len(of.sizes), vectors.shape[1])), np.empty(len(data))
    for rows in of.by_position:
        total[of.unit[rows]] += alpha[rows, None] * vectors[rows]
        lengths[rows] = np.linalg.norm(total[of.unit[rows]], axis=1)
    assert lengths.max() <= bound + 1e-9
    assert ((alpha == 1) | (np.abs(lengths - bound) < 1e-9)).all(), "no weight could be larger"
    assert (alpha < 1).any()
    assert (alpha == 1).any()


def test_a_variable_of_the_unit_is_compared_with_one_row_a_unit(data):
    world = make_world(data, BOTH, UNITS)
    first = UNITS.check(data).position == 0
    own = rw.Scenario(known=["group"], synthetic=["wealth"], radius=0.2)
    expected = rw.marginal_weights(data[first], own)
    made = world_weights(world, "marginal")["wealth"]
    assert made[first].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-15)
    assert (made.groupby(data["person"]).nunique() == 1).all()
    function = world_functions(world, "marginal+")["wealth"]
    own_values = function.at(np.arange(len(data)), data["wealth"]).diagonal()
    assert own_values == pytest.approx(made.to_numpy(), abs=1e-12)
    assert len(function.pattern) == len(data)


def test_units_of_one_weigh_as_records_alone(data):
    alone = data.drop_duplicates("person", ignore_index=True)
    with_one_pair = pd.concat([alone, data.tail(0)], ignore_index=True)
    units = rw.Units(id="person")
    arrangement = units.arranged(with_one_pair)
    alpha = world_weights(make_world(alone, SCENARIO), "mix(t=0.5)")["wage"]
    assert running_weights(alpha, arrangement).tolist() == alpha.tolist()


def test_a_box_of_what_is_of_the_unit_and_of_its_members_is_refused(data):
    with pytest.raises(InputError, match="of which some are of the unit and some of its members"):
        world_weights(make_world(data, BOTH, UNITS), "marginal", "joint")


def test_centred_weights_of_units_are_fitted(data, fit):
    world = make_world(data, SCENARIO, UNITS)
    weights = rw.CentredWeights(
        world_weights(world, "mix+(t=0.5)"), world_functions(world, "mix+(t=0.5)")
    )
    made = rw.fit(fit.synthesizer, data, weights, draws=100, tune=100, random_seed=1)
    assert made.converged
    assert made.blocks["wage"].centring is not None
    middle, plain = (
        np.log(each.synthesize(1, random_seed=3)[0]["wage"]).median() for each in (made, fit)
    )
    assert middle == pytest.approx(plain, abs=0.3)
