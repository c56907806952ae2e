"""Units that `init` finds: what tells their members' order and roles, and what is none."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.runs.study import make_study
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.study_file import study_file_text
from riskweighted.suggest.suggestion import suggest
from riskweighted.suggest.unit_columns import numbers_members, units_among


def households(units=80, seed=1):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, units)
    house = np.repeat(np.arange(units), size)
    line = np.concatenate([np.arange(1, count + 1) for count in size])
    return pd.DataFrame(
        {
            "house": house,
            "line": line,
            "relation": np.where(line == 1, "head", np.where(line == 2, "spouse", "child")),
            "region": rng.choice(["n", "s"], units)[house],
            "nearly": rng.choice(["n", "s"], units)[house],
            "year": 2000 + line,
            "sex": rng.choice(["m", "f"], len(house)),
        }
    )


def among(data, candidates=None, times=(), others=("line", "relation", "sex"), targets=("sex",)):
    others = [name for name in others if name not in targets]
    return units_among(data, candidates or {"house": ["region"]}, times, others, targets)


def test_roles_and_the_number_of_members_are_found_by_their_values():
    data = households()
    found = rw.Units("house", "relation", "head", ["line"], unit_level=["region"])
    assert among(data) == found
    assert among(data.assign(line=data["line"] - 1)) == found
    as_levels = data.assign(line=data["line"].astype("category"))
    assert among(as_levels) == found
    assert among(data, others=["sex"]) == rw.Units("house", unit_level=["region"])


def test_a_time_with_one_record_in_each_makes_a_panel():
    assert among(households(), times=["year"]) == rw.Units(
        "house", time="year", unit_level=["region"]
    )
    twice = households().assign(year=2000)
    assert among(twice, times=["year"]).time is None


def test_a_column_that_differs_in_one_unit_is_of_the_members():
    data = households()
    row = data.index[data["line"] == 2][0]
    data.loc[row, "nearly"] = "other"
    assert among(data, {"house": ["region", "nearly"]}).unit_level == ("region",)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.assign(house=data.index),
        lambda data: data.assign(house=data["house"].where(data.index > 0)),
        lambda data: data.assign(house=0).pipe(lambda one: pd.concat([one] * 2)),
    ],
)
def test_records_alone_gaps_and_units_of_hundreds_are_none(change):
    assert among(change(households())) is None


def test_of_several_the_one_with_an_order_goes_first():
    data = households().assign(area=lambda frame: frame["house"] // 4)
    some = {"area": [], "house": ["region"]}
    assert among(data, some).id == "house"
    assert among(data, some, others=["sex"]).id == "area"


def test_members_columns_that_leave_few_units_alike_do_not_leave():
    """Of panels and large households the sequence of what each member has is soon one of a kind."""
    rng, persons, waves = np.random.default_rng(2), 150, 6
    person = np.repeat(np.arange(persons), waves)
    job = rng.choice(["a", "b", "c"], len(person), p=[0.6, 0.3, 0.1])
    region = rng.choice(["n", "s"], persons)[person]
    wage = np.exp(
        3 + 0.5 * (job == "a") + rng.normal(size=persons)[person] + 0.3 * rng.normal(size=900)
    )
    data = pd.DataFrame(
        {"person": 500 + 3 * person, "region": region, "job": job, "wage": wage.round(2)}
    )
    made = suggest(data, look_at(data), ["wage"])
    assert made.together.id == "person"
    text = study_file_text(made, Path("file.csv"), Path())
    assert "units" in tomllib.loads(text)
    assert make_study(tomllib.loads(text)).units == made.together
    assert made.known == ("region",)
    assert "job" not in {*made.predictors, *made.known}
    assert "a unique composition" in made.left_out["job"]
    once = data.groupby("person").head(1)  # whom nothing groups
    assert "job" in suggest(once, look_at(once), ["wage"]).known


def test_numbers_that_begin_anew_in_every_school_are_no_units():
    data = pd.DataFrame({"school": np.repeat(np.arange(40), 12)})
    data["pupil"] = 1 + data.groupby("school").cumcount()
    found = {"pupil": [], "school": ["type"]}
    assert numbers_members(data, "pupil", found)
    assert not numbers_members(data, "school", found)
    assert not numbers_members(pd.concat([data, data]), "pupil", found)
    assert not numbers_members(data, "pupil", {"pupil": ["class"], "school": ["type"]})
