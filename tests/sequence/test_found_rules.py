"""A chain keeps implications and sums: what follows is set or computed, what is ruled out is not
drawn, and none of it is modelled.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.risk.ball_masses import ball_masses
from riskweighted.sequence.edit_rules import Rules
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.rule_effects import make_rule_effects

N, L = 900, 5
VARIABLES = ("work", "smoke", "cigarettes", "wage", "help", "income", "pay")
CODES = {"cigarettes": [-8], "wage": [0], "help": [0]}
LINEAR = {"model": "linear-regression"}
SETTINGS = {
    name: LINEAR | ({"codes": CODES[name]} if name in CODES else {}) for name in VARIABLES[2:6]
}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(16, 90, N)
    work = np.where(
        age < 25,
        "pupil",
        np.where(age > 65, "retired", rng.choice(["job", "none"], N, p=[0.7, 0.3])),
    )
    smoke = np.where(age < 25, "no", rng.choice(["yes", "no"], N))
    wage = np.where(work == "job", rng.lognormal(8, 0.7, N).round(), 0)
    gap = rng.random(N) < 0.08
    more = np.where(rng.random(N) < 0.5, 0, rng.lognormal(6, 0.7, N).round())
    frame = {
        "age": age,
        "work": work,
        "smoke": smoke,
        "cigarettes": np.where(smoke == "no", -8.0, rng.integers(1, 60, N)),
        "wage": np.where(gap, np.nan, wage),
        "help": np.where(
            gap, np.nan, np.where(work == "job", more, rng.lognormal(7, 0.5, N).round())
        ),
    }
    data = pd.DataFrame(frame)
    data["income"] = data["wage"] + data["help"]
    data["pay"] = np.where(work == "job", np.where(wage < 3000, "low", "high"), "not paid")
    # an index that is not unique
    return data.set_index(pd.Index([f"p{i % 890}" for i in range(N)]))


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def rules(data):
    return rw.find_structure(data, ["age", *VARIABLES], codes={"cigarettes": [-8]}).settings(
        VARIABLES
    )


def chain(**rules):
    return rw.load_synthesizer("sequential")(
        VARIABLES, predictors=["age"], settings=SETTINGS, **rules
    )


@pytest.fixture(scope="module")
def fitted(data, rules):
    return rw.fit(chain(**rules), data, random_seed=1, draws=400, tune=400, chains=4)


@pytest.mark.quick
def test_what_is_decided_has_no_record_in_a_fit(data, rules):
    prepared = prepare_sequence(chain(**rules), data)
    members = {block.name: block.member for block in prepared.blocks}
    assert "cigarettes is -8" not in members  # follows from smoke
    # missing together, and computed
    assert not {"help is missing", "income", "income is missing"} & set(members)
    assert not members["smoke"][data["work"] == "pupil"].any()
    assert not members["wage is 0"][data["wage"] > 0].any()  # whoever has a job earns something


def test_no_dataset_breaks_a_rule_and_without_the_rules_all_do(data, rules, fitted):
    held = chain(**rules).rules
    assert len(held.rules) >= 8
    frames = fitted.synthesize(L, random_seed=2)
    assert [held.broken(frame) for frame in frames] == [()] * L
    for frame in frames:
        assert frame["income"].sub(frame["wage"] + frame["help"]).abs().max() < 1e-6
        assert frame.index.equals(data.index)
        assert frame.dtypes.equals(data.dtypes)
    shares = np.mean([_shares(frame) for frame in frames], axis=0)
    assert shares == pytest.approx(_shares(data), abs=0.05)


def _shares(frame):
    return [
        (frame["smoke"] == "yes").mean(),
        frame["wage"].isna().mean(),
        (frame["wage"] == 0).mean(),
    ]


def test_the_density_knows_what_is_decided(data, fitted):
    densities = fitted.drawing.log_densities(data)(fitted.thetas(0, 0))
    assert all(np.isfinite(each).all() for each in densities.values())
    assert (densities["income"] == 0).all()  # it follows
    no = np.flatnonzero(data["smoke"] == "no")[:3]
    changed = data.copy()
    changed.iloc[no, changed.columns.get_loc("cigarettes")] = 10.0
    assert np.isneginf(
        fitted.drawing.log_densities(changed)(fitted.thetas(0, 0))["cigarettes"][no]
    ).all()


def test_what_a_rule_rules_out_is_asked_of_no_model(data, fitted):
    gaps = np.flatnonzero(data["wage"].isna() & (data["work"] == "job"))
    changed = data.copy()
    # then help is not missing, and no model of amounts knows a missing one
    changed.iloc[gaps, changed.columns.get_loc("wage")] = 100.0
    found = fitted.drawing.log_densities(changed, elsewhere=True)(fitted.thetas(0, 0))["help"]
    assert np.isneginf(found[gaps]).all()
    assert np.isfinite(np.delete(found, gaps)).all()


@pytest.mark.quick
def test_a_gap_that_a_rule_alone_leaves_is_impossible_where_it_does_not():
    """As of who is asked by a column that predicts, too, and is given another level in turn."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "works": np.repeat(["yes", "no"], [90, 60]),
            "pay": np.exp(rng.normal(3, 0.5, 150)).round(1),
        }
    )
    data.loc[90:, "pay"] = np.nan
    settings = {"pay": {"applies_if": "works == 'yes'", "else_value": "missing"}}
    made = rw.load_synthesizer("sequential")(["pay"], predictors=["works"], settings=settings)
    fitted = rw.fit(made, data, random_seed=1)
    found = fitted.drawing.log_densities(data.assign(works="yes"), elsewhere=True)(
        fitted.thetas(0, 0)
    )["pay"]
    assert np.isfinite(found[:90]).all()
    assert np.isneginf(found[90:]).all()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("none", "rule"),
    [(np.nan, ["missing(pay)", "works == 'no'"]), (0.0, ["pay == 0", "works == 'no'"])],
)
def test_who_can_have_nothing_but_an_amount_is_in_the_fit_of_amounts(none, rule):
    """The amounts of those whose status a rule settles are not those of the others, and nobody else
    tells of them.
    """
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "works": np.repeat(["yes", "no"], [90, 110]),
            "pay": np.exp(rng.normal(np.repeat([5, 3], [90, 110]), 0.3)).round(1),
        }
    )
    data.loc[90:139, "pay"] = none
    prepared = prepare_sequence(
        rw.load_synthesizer("sequential")(["pay"], predictors=["works"], implied=[rule]), data
    )
    *statuses, amounts = prepared.blocks
    assert (amounts.member == data["pay"].notna()).all()
    assert not any(block.member[:90].any() for block in statuses)


@pytest.mark.quick
def test_outcomes_that_are_left_by_hand():
    column = pd.Series([0.0, -9.0, np.nan, 7.0], name="b")
    implied = [["a == 1", "b == 0"], ["a == 2", "not b in [0, -9]"], ["missing(a)", "missing(b)"]]
    rules = Rules(["a", "b"], codes={"b": [0, -9]}, implied=implied)
    decider = make_rule_effects(rules, "b", column, (0.0, -9.0))
    left = decider.left(pd.DataFrame({"a": [1.0, 2.0, np.nan, 3.0]}))
    assert decider.outcomes == (0.0, -9.0, None)
    assert left.allowed.tolist() == [
        [True, False, False, False],
        [False, False, True, True],
        [False, False, True, False],
        [True] * 4,
    ]
    assert left.only.tolist() == [0, -1, 2, -1]
    assert rules.redrawn("b", True) == ()
    turned = make_rule_effects(rules, "a", pd.Series([1.0, 2.0, np.nan]), ())
    assert turned is None  # b is drawn later


@pytest.mark.quick
@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"implied": [["smoke == 'no'"]]}, "two conditions"),
        ({"implied": [["smoke = 'no'", "wage == 0"]]}, "valid are comparisons"),
        ({"sums": [["income"]]}, "total and its parts"),
        (
            {"sums": [["income", "wage", "help"], ["income", "wage", "cigarettes"]]},
            "computed by two sums",
        ),
        ({"implied": [["age < 20", "age == 3"]]}, "names no synthesized variable"),
    ],
)
def test_rules_that_cannot_be_are_refused(settings, found):
    with pytest.raises(InputError, match=found):
        chain(**settings)


@pytest.mark.quick
def test_data_that_break_a_declared_rule_are_refused(data):
    with pytest.raises(InputError, match="break the rule"):
        prepare_sequence(chain(sums=[["income", "wage", "cigarettes"]]), data)


@pytest.mark.slow
def test_masses_are_those_that_draws_have(data, fitted):
    rng, theta = np.random.default_rng(4), fitted.thetas(0, 0)
    names = ("work", "smoke", "cigarettes", "wage", "help", "income")
    scenario = rw.Scenario(
        known=["age"], synthetic=names, radius=0.5, min_radius=1000, codes={"cigarettes": [-8]}
    )
    world = make_world(data, scenario)
    masses = ball_masses(fitted, world)
    told = np.mean([masses(theta, rng, fitted.drawing.made(theta, rng)) for _ in range(10)], axis=0)
    counted = np.mean(
        [world.find(fitted.drawing.made(theta, rng)).own_inside for _ in range(60)], axis=0
    )
    error = np.sqrt((counted * (1 - counted)).sum() / 60) / N
    assert 0.01 < counted.mean() < 0.9
    assert told.mean() == pytest.approx(counted.mean(), abs=5 * error + 0.002)
    by_work = [
        [each[(data["work"] == work).to_numpy()].mean() for each in (told, counted)]
        for work in data["work"].unique()
    ]
    assert np.corrcoef(np.transpose(by_work))[0, 1] > 0.9
