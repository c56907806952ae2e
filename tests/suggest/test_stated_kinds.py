"""Kinds that a study says: what they change, what they forbid, and how `init` asks for them."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common.errors import InputError
from riskweighted.runs.check_study import check_study
from riskweighted.runs.study import make_study
from riskweighted.suggest.evidence import KINDS

N = 400
rng = np.random.default_rng(3)
SIZES = np.repeat(np.arange(150), rng.integers(1, 5, 150))[:N]
PEOPLE = pd.DataFrame(
    {
        "household": SIZES,
        "sex": rng.choice(["f", "m"], len(SIZES)),
        "nace": rng.choice([1, 5, 10, 41, 45, 49, 55, 58, 62, 68, 85], len(SIZES)),
        "rooms": rng.integers(1, 5, 150)[SIZES],
        "height": np.round(rng.normal(170, 9, len(SIZES)), 1),
        "weight": np.round(rng.normal(70, 9, len(SIZES)), 1),
        "hhwt": np.round(rng.gamma(4, 50, len(SIZES)), 2),
        "income": np.round(rng.lognormal(9, 1, len(SIZES))),
    }
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


def init(*arguments):
    return CliRunner().invoke(app, ["init", "people.csv", "--force", *arguments])


def study(kinds, **scenario):
    """A study of the people that says kinds."""
    return {
        "data": {"path": "people.csv", "kinds": kinds},
        "scenario": {"known": ["sex"], "synthetic": "income", **scenario},
        "synthesizer": {"name": "linear-regression", "formula": "income ~ nace"},
    }


def test_init_lists_kinds_reasons_questions_and_units(folder):
    done = init("--json", "--synthetic", "income")
    columns = {column["name"]: column for column in json.loads(done.stdout)["columns"]}
    kinds = {
        "household": "unit id",
        "sex": "levels",
        "nace": "levels",
        "hhwt": "weight",
        "weight": "number",
        "income": "number",
    }
    assert {name: columns[name]["kind"] for name in kinds} == kinds
    assert all(column["reason"] and column["kind"] in KINDS for column in columns.values())
    assert [name for name, column in columns.items() if "question" in column] == ["weight"]
    assert columns["rooms"]["within"] == ["household"]
    text = (folder / "study.toml").read_text()
    (asked,) = (line for line in text.splitlines() if line.startswith("# weight:"))
    assert "In force: number" in asked
    assert '"weight" = "weight"' in asked
    found = tomllib.loads(text)
    assert (found["units"]["id"], found["evaluation"]["survey"]) == ("household", "hhwt")
    used = [*found["scenario"]["known"], *found["release"]["columns"], str(found["synthesizer"])]
    assert not any(name in str(used) for name in ("household", "hhwt"))


def test_what_somebody_says_of_a_column_stands_in_the_study_and_overrules(folder):
    done = init("--kind", "household=number", "--kind", "weight=weight", "--synthetic", "income")
    assert done.exit_code == 0, done.exception
    assert "Question" not in done.stdout
    text = (folder / "study.toml").read_text()
    found = tomllib.loads(text)
    assert found["data"]["kinds"] == {"household": "number", "weight": "weight"} | {
        name: kind for name, kind in found["data"]["kinds"].items() if name == "nace"
    }
    assert "unit" not in found["release"]
    for wrong, said in (
        ("sex=number", "cannot be 'number'"),
        ("sex", "NAME=KIND"),
        ("sex=amount", "one of"),
        ("size=levels", "lack"),
    ):
        assert said in str(init("--kind", wrong).exception)


def test_a_property_of_a_unit_is_drawn_once_a_unit_or_said_to_be_one_and_not_proposed(folder):
    done = init("--synthetic", "rooms", "--out", "first.toml")
    assert "is a property of" not in " ".join(done.stderr.split())
    units = tomllib.loads((folder / "first.toml").read_text())["units"]
    assert units["id"] == "household"
    assert "rooms" in units["unit_level"]
    assert json.loads(init("--json").stdout)["synthesize"] != ["rooms"]
    gap = PEOPLE["household"].astype("Int64").where(PEOPLE.index != 3)  # so that it is no unit
    PEOPLE.assign(household=gap).to_csv("people.csv", index=False)
    done = init("--synthetic", "rooms")
    assert "'rooms' is a property of household" in " ".join(done.stderr.split())


def test_stated_levels_are_read_as_categories_and_numbers_as_they_are(folder):
    read = make_study(study({"nace": "levels"}), folder).read_data()
    assert list(read["nace"].cat.categories) == sorted(PEOPLE["nace"].unique())
    assert (
        make_study(study({"nace": "number"}), folder).read_data()["nace"].dtype
        == PEOPLE["nace"].dtype
    )
    assert make_study(study({}), folder).data.to_table() == {
        "path": str(folder / "people.csv"),
        "embedded": None,
    }


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"income": "weight"}, "scenario.synthetic names 'income', which is 'weight'"),
        ({"income": "levels"}, "[data.kinds] says 'levels' of 'income'"),
        ({"sex": "unit id"}, "scenario.known names 'sex', which is 'unit id'"),
        ({"nace": "design"}, "synthesizer names 'nace', which is 'design'"),
        ({"sex": "number"}, "'sex' cannot be 'number'"),
        ({"gone": "levels"}, "names 'gone', which the data lack"),
    ],
)
def test_a_study_whose_kinds_do_not_suit_is_refused_in_a_sentence(folder, kinds, said):
    made = make_study(study(kinds), folder)
    with pytest.raises(InputError, match="kinds") as refused:
        check_study(made, made.read_data())
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_unknown_kinds_are_refused(folder):
    with pytest.raises(InputError, match=r"data\.kinds\.sex must be one of"):
        make_study(study({"sex": "amount"}), folder)
