"""Rules between members of a unit: read, refused where the data break them, held in every draw."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from houses import SETTINGS, households

import riskweighted as rw
from riskweighted.common.errors import InputError, UnitsWarning
from riskweighted.intruder.world import make_world
from riskweighted.release import leak_check
from riskweighted.risk.ball_masses import ball_masses
from riskweighted.runs.check_study import check_study
from riskweighted.runs.study import make_study
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.unit_rules import Never

RULES = {
    "gaps": [
        {"of": "age", "from": "first", "where": "relation == 'child'", "most": -15},
        {
            "of": "age",
            "from": "spouse",
            "where": "relation == 'head'",
            "least": -25,
            "most": 25,
        },
    ],
    "forbidden": ["head.age < 30 and rent > 24", "previous.age > 60 and age < 5"],
}
ORDERED = rw.Units(
    id="house", role="relation", first="head", order=["line"], unit_level=["rent"], rules=RULES
)
PANEL = rw.Units(
    id="person",
    time="year",
    rules={
        "steps": {"experience": 1},
        "gaps": [{"of": "children", "from": "last", "least": -1, "most": 3}],
        "forbidden": ["last.retired == 'yes' and retired == 'no'"],
    },
)


def obeying():
    """Households whose persons obey the rules, each with its place in the house."""
    data = households(160)
    data = data.assign(line=data.groupby("house").cumcount())
    head = data["house"].map(data[data["relation"] == "head"].set_index("house")["age"])
    child = data["relation"] == "child"
    age = data["age"].where(~child, np.minimum(data["age"], head - 16)).round(1)
    age = age.where(child, np.maximum(age, 18.0))
    spouse = data["relation"] == "spouse"
    age = age.where(~spouse, np.clip(age, head - 20, head + 20).round(1))
    data = data.assign(age=age, rent=data["rent"].where(head >= 30, 20.0))
    bad = child & (data["age"] > 60)
    return data.assign(age=data["age"].mask(bad, 40.0)).round({"rent": 1, "age": 1})


def waves(persons=120, seed=5):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), 4)
    wave = np.tile(np.arange(4), persons)
    wave = wave + (wave == 3) * rng.integers(0, 2, persons)[person]  # some miss the last but one
    children = np.clip(rng.integers(0, 3, persons)[person] + wave // 2, 0, 5)
    return pd.DataFrame(
        {
            "person": person,
            "year": 1990 + wave,
            "sex": rng.choice(["m", "f"], persons)[person],
            "experience": rng.integers(1, 30, persons)[person] + wave,
            "children": children,
            "retired": np.where(wave >= rng.integers(1, 9, persons)[person], "yes", "no"),
        }
    )


def panel_chain(units=PANEL, **more):
    models = {
        "experience": {"model": "linear-regression"},
        "children": {"model": "linear-regression"},
    }
    return rw.load_synthesizer("sequential")(
        ("experience", "children", "retired"), ["sex"], models, units=units, **more
    )


def house_chain(units=ORDERED, variables=("age", "rent"), **more):
    models = {name: {"model": "linear-regression"} for name in variables}
    return rw.load_synthesizer("sequential")(variables, ["region"], models, units=units, **more)


@pytest.fixture(scope="module")
def data():
    return obeying()


@pytest.fixture(scope="module")
def drawn(data):
    fit = rw.fit(house_chain(), data, draws=50, tune=50, random_seed=1)
    return fit, fit.synthesize(4, random_seed=2)


@pytest.fixture(scope="module")
def panel():
    fit = rw.fit(panel_chain(), waves(), draws=50, tune=50, random_seed=1)
    return fit, fit.synthesize(4, random_seed=2)


def test_gaps_and_combinations_hold_between_members_in_every_dataset(drawn):
    for frame in drawn[1]:
        held = frame.set_index(["house", "relation"])["age"]
        heads = held.xs("head", level="relation")
        of_head = frame["house"].map(heads)
        child = frame["relation"] == "child"
        assert (frame["age"] - of_head)[child].max() <= -15
        spouses = held.xs("spouse", level="relation")
        off = (heads - spouses).dropna()
        assert off.abs().max() <= 25, "who stands after is drawn again"
        assert not ((of_head < 30) & (frame["rent"] > 24)).any()
        assert (frame.groupby("house")["rent"].nunique() == 1).all()


def test_rules_take_away_what_they_forbid_and_nothing_else(data, drawn):
    free = rw.fit(
        house_chain(dataclasses.replace(ORDERED, rules={})), data, draws=50, tune=50, random_seed=1
    )
    (loose,) = free.synthesize(1, random_seed=2)
    heads = loose["relation"] == "head"
    same = drawn[1][0].loc[heads, "age"] == loose.loc[heads, "age"]
    child = loose["relation"] == "child"
    gap = (loose["age"] - loose["house"].map(loose[heads].set_index("house")["age"]))[child]
    assert (gap > -15).any(), "without them a child may be older"
    assert same.mean() > 0.5, "whoever breaks none is drawn as before"


def test_only_the_first_value_of_a_step_is_drawn(panel):
    data, (fit, frames) = waves(), panel
    block = next(each for each in fit.prepared.blocks if each.variable == "experience")
    assert block.member.sum() == 120
    for frame in frames:
        since = frame["year"] - frame.groupby("person")["year"].transform("min")
        start = frame["experience"] - since
        assert (start.groupby(frame["person"]).nunique() == 1).all()
        assert (frame["experience"] != data["experience"]).mean() > 0.5
        moved = frame.groupby("person")["children"].diff().dropna()
        assert moved.between(-1, 3).all()
        before = frame.groupby("person")["retired"].shift()
        assert not ((before == "yes") & (frame["retired"] == "no")).any()


def test_every_wave_of_a_step_is_as_likely_guessed_as_the_first(panel):
    fit = panel[0]
    scenario = rw.Scenario(known=["sex"], synthetic=["experience"], radius=0.2)
    world = make_world(fit.confidential, scenario, PANEL)
    mass = ball_masses(fit, world)(fit.thetas(0, 0), np.random.default_rng(1), fit.confidential)
    by_person = pd.Series(mass).groupby(fit.confidential["person"])
    assert by_person.nunique().max() == 1
    assert mass.max() > 0


def test_a_rule_that_the_model_knows_little_of_warns(drawn):
    assert sum(broken for broken, _ in drawn[0].drawing.rejected.values()) > 0
    fit = dataclasses.replace(drawn[0])
    fit.drawing.rejected["made up"] = (60, 1000)
    with pytest.warns(UnitsWarning, match="'made up' was broken by 6 %"):
        fit.synthesize(1, random_seed=2)


def test_a_pack_that_breaks_a_rule_is_refused(panel):
    data = waves()
    settings = {
        "data": {"path": "data.csv"},
        "scenario": {
            "known": ["sex"],
            "synthetic": ["experience", "children", "retired"],
            "radius": 0.2,
        },
        "units": {"id": "person", "time": "year", "rules": dict(PANEL.rules)},
        "synthesizer": {"name": "sequential", "predictors": ["sex"]},
    }
    study = make_study(settings)
    frame = panel[1][0].assign(person=panel[1][0]["person"] + 1)
    held = data.assign(person=data["person"] + 1000)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(leak_check, "rows_of", lambda run, data: np.arange(len(data)))
        run = SimpleNamespace(study=study)
        secrets = leak_check.Secrets(held, (), {}, None, run, {"a": [frame]})
        leak_check._check_units("a", secrets)
        later = frame["experience"] + (frame.index == 1)
        for wrong, says in (
            (frame.assign(experience=later), "1 units that break 'experience goes up by 1"),
            (frame.assign(retired=["yes", "no"] * 240), "120 units that break .never last.retired"),
        ):
            changed = dataclasses.replace(secrets, leaving={"a": [wrong]})
            with pytest.raises(InputError, match=says):
                leak_check._check_units("a", changed)


def test_other_members_are_read_by_who_they_are():
    rule = Never.parse("last.retired == 'first.a' and `x y` == 1 and head.`b c` > 2.5", "here")
    assert rule.own == ("x y",)
    assert rule.others == {"last": ("retired",), "head": ("b c",)}
    assert rule.names == ("x y", "retired", "b c")


def test_units_that_break_a_rule_are_refused_with_their_number_or_left_out(data):
    houses = data["house"].unique()[:3]
    first = data["relation"] == "head"
    wrong = data.assign(age=data["age"].mask(first & data["house"].isin(houses), 17.0))
    rules = {"gaps": [{"of": "age", "from": "last", "least": -90, "most": 16}]}
    units = dataclasses.replace(ORDERED, rules=rules)
    place = wrong["relation"].map({"head": 0, "child": 1, "spouse": 2})
    sorted_ones = wrong.assign(place=place).sort_values(["house", "place", "line"])
    off = sorted_ones.groupby("house")["age"].diff() > 16
    broken = sorted_ones.loc[off, "house"].nunique()
    assert broken
    with pytest.raises(InputError, match=f"of 160 units .*, {broken} break '-90 <= age"):
        prepare_sequence(house_chain(units), wrong)
    left = prepare_sequence(house_chain(units, violations="exclude"), wrong)
    out = left.aside["age"]
    assert len(wrong.loc[out, "house"].unique()) == broken
    assert out.sum() == wrong["house"].isin(wrong.loc[out, "house"]).sum(), "whole units"
    assert not left.aside["rent"].any()


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"order": []}, "unknown setting 'units.rules.order'"),
        ({"gaps": [{"of": "age", "to": "first"}]}, "unknown setting 'units.rules.gaps.0..to'"),
        ({"gaps": [{"of": "age", "from": "first"}]}, "must have least, most"),
        ({"gaps": [{"of": "age", "from": "first", "least": 1, "most": 1}]}, "least below most"),
        ({"gaps": [{"of": "region", "from": "first", "most": 1}]}, "no synthesized variable"),
        ({"gaps": [{"of": "nope", "from": "first", "most": 1}]}, "'nope'"),
        ({"gaps": [{"of": "age", "from": "boss", "most": 1}]}, "names 'boss'; valid are first"),
        ({"gaps": [{"of": "age", "from": "child", "most": 1}]}, "'head', 'spouse'"),
        ({"steps": {"age": 1}}, "valid are synthesized numbers of units with a time"),
        ({"forbidden": ["age > 100"]}, "names no other member"),
        ({"forbidden": ["last.age >"]}, "cannot be read"),
    ],
)
def test_rules_that_no_draw_could_obey_are_refused(data, rules, says):
    with pytest.raises(InputError, match=says):
        prepare_sequence(house_chain(dataclasses.replace(ORDERED, rules=rules)), data)


def test_who_stands_before_must_be_known(data):
    units = dataclasses.replace(ORDERED, order=[])
    with pytest.raises(InputError, match=r"are in a random order .* nobody is 'previous'"):
        prepare_sequence(house_chain(units), data)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ({"sex": 1}, "valid are synthesized numbers"),
        ({"retired": 1}, "valid are synthesized numbers"),
        ({"children": 1}, "120 break 'children goes up by 1 per time'"),
        ({"experience": "a"}, "steps.experience must be"),
    ],
)
def test_steps_that_are_none_are_refused(steps, says):
    units = dataclasses.replace(PANEL, rules={"steps": steps})
    with pytest.raises(InputError, match=says):
        prepare_sequence(panel_chain(units), waves())


def test_a_rule_of_what_does_not_leave_is_refused():
    data = obeying()
    rules = {"gaps": [{"of": "age", "from": "last", "most": 90}]}
    units = {**SETTINGS["units"], "order": ["line"], "rules": rules}
    with pytest.raises(InputError, match="'line', which is not released"):
        check_study(make_study(SETTINGS | {"units": units}), data)
