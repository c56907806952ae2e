"""``riskweighted init --like``: next year's file by last year's study."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common.errors import InputError

N = 240
STUDY = """
seed = 3
[data]
path = "old.csv"
kinds = { grade = "levels", bonus = "number" }
[scenario]
known = ["sex", "region"]
synthetic = ["income", "tax"]
radius = { income = [77.0, "found"], tax = 0.3 }
radius_kind = { income = "absolute" }
[synthesizer]
name = "sequential"
predictors = ["sex", "region", "grade", "adult"]
order = [["tax", "income"]]
[synthesizer.variables.income]
applies_if = "adult == 'yes'"
else_value = "missing"
support = [0, 2000, "found"]
[synthesizer.variables.tax]
support = [0, 1000]
[release]
L = 3
columns = ["adult"]
unit = "person"
[evaluation]
regressions = ["income ~ sex", "income ~ grade"]
[thresholds]
policy = "own.toml"
"""


def year(seed):
    """Two waves of half as many persons."""
    rng = np.random.default_rng(seed)
    income, adult = rng.normal(1_000, 150, N).round(), rng.random(N) < 0.8
    return pd.DataFrame(
        {
            "person": np.tile(np.arange(N // 2) + 70_001, 2),
            "year": np.repeat([2021, 2022], N // 2),
            "sex": rng.choice(["f", "m"], N),
            "region": rng.choice(["north", "south"], N),
            "grade": rng.integers(1, 13, N),
            "bonus": rng.integers(1, 4, N),
            "adult": np.where(adult, "yes", "no"),
            "income": np.where(adult, income, np.nan),
            "tax": (0.2 * income * rng.random(N)).round(),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    year(1).to_csv("old.csv", index=False)
    Path("study.toml").write_text(STUDY.replace('policy = "own.toml"', ""))
    return tmp_path


def carried(data, *options):
    """What the command says of a new file, and the table that it writes."""
    data.to_csv("new.csv", index=False)
    done = CliRunner().invoke(
        app, ["init", "new.csv", "--like", "study.toml", "--out", "new.toml", "--json", *options]
    )
    if done.exception is not None:
        raise done.exception
    said, text = json.loads(done.stdout), Path("new.toml").read_text()
    assert all(f"# - {line}" in text for line in said["changes"])
    return said, tomllib.loads(text)


def test_a_file_like_the_last_one_keeps_everything_that_was_said(folder):
    said, made = carried(year(2))
    assert (said["changes"], said["refused"]) == ([], None)
    old = tomllib.loads(Path("study.toml").read_text())
    found = made["scenario"]["radius"]["income"]
    assert found[1] == "found"
    assert found[0] != 77  # found again in the new data
    assert made["scenario"] == old["scenario"] | {"radius": {"income": found, "tax": 0.3}}
    assert made["data"] == old["data"] | {"path": "new.csv"}
    assert {name: made[name] for name in made if name not in ("data", "scenario")} == {
        name: old[name] for name in old if name not in ("data", "scenario")
    }
    assert Path("new.toml").stat().st_mode & 0o077 == 0


def test_what_is_no_longer_true_is_listed_and_the_rest_runs(folder):
    data = year(2)
    # breaks the universe
    data.loc[data["adult"] == "no", "income"] = [
        500.0,
        *[np.nan] * ((data["adult"] == "no").sum() - 1),
    ]
    data["income"] *= 10  # beyond the bounds
    data.loc[0, ["adult", "income", "tax"]] = ["yes", 100.0, 900.0]  # breaks the order
    data.loc[:9, "region"] = "islands"
    data["bonus"] = data["bonus"].map({1: "low", 2: "middle", 3: "high"})
    data.loc[3, "person"] = data.loc[4, "person"]
    said, made = carried(data.drop(columns="grade").assign(wealth=np.arange(N) % 97))
    lines = said["changes"]
    assert said["refused"] is None

    def told(*words):
        return sum(all(word in line for word in words) for line in lines)

    assert (
        told("gone", "column grade")
        == told("new", "column wealth")
        == told("region", "1 level is new")
        == 1
    )
    assert (
        told("gone", "income ~ grade")
        == told("bonus", "cannot be 'number'")
        == told("person", "year", "1 repeat")
        == 1
    )
    assert told("1 record breaks", "adult == 'yes'") == told("1 record breaks", "order", "tax") == 1
    assert told("income", "beyond", "found again") == 1
    assert len(lines) == 9
    assert not {"islands", "70004", "70005"} & set(" ".join(lines).split())
    assert "kinds" not in made["data"]
    assert "order" not in made["synthesizer"]
    assert made["synthesizer"]["predictors"] == ["sex", "region", "adult"]
    assert made["synthesizer"]["variables"] == {
        "income": {"support": [0, 20000, "found"]},
        "tax": {"support": [0, 1000]},
    }
    assert made["evaluation"]["regressions"] == ["income ~ sex"]


def test_a_kind_that_was_guessed_stays_where_the_new_data_look_otherwise(folder):
    study = (
        Path("study.toml")
        .read_text()
        .replace('"grade", "adult"]', '"grade", "adult", "bonus"]')
        .replace(', bonus = "number"', "")
    )
    Path("study.toml").write_text(study)
    more = year(2)
    more["bonus"] = np.random.default_rng(5).integers(1, 60, N)
    said, made = carried(more)
    assert [line for line in said["changes"] if "bonus was levels" in line]
    assert made["data"]["kinds"] == {"bonus": "levels", "grade": "levels"}
    assert carried(more, "--force", "--kind", "bonus=number")[1]["data"]["kinds"] == {
        "bonus": "number",
        "grade": "levels",
    }


def test_without_the_old_data_what_is_new_is_not_said(folder):
    Path("old.csv").unlink()
    said, made = carried(year(2))
    assert ["not there" in line for line in said["changes"]] == [True]
    assert made["scenario"]["known"] == ["sex", "region"]


def test_bounds_that_were_stated_stay_and_paths_are_as_seen_from_the_new_study(folder):
    Path("study.toml").write_text(STUDY)
    Path("own.toml").write_text("")
    data = year(2)
    data.loc[0, ["adult", "income", "tax"]] = ["yes", 2_000.0, 1_500.0]
    data.to_csv("new.csv", index=False)
    done = CliRunner().invoke(
        app, ["init", "new.csv", "--like", "study.toml", "--out", "next/new.toml"]
    )
    assert done.exception is None
    text = Path("next/new.toml").read_text()
    made, lines = (
        tomllib.loads(text),
        [line for line in text.splitlines() if line.startswith("# - ")],
    )
    assert made["thresholds"]["policy"] == "../own.toml"
    assert made["data"]["path"] == "../new.csv"
    assert made["synthesizer"]["variables"]["tax"]["support"] == [0, 1000]
    assert ["stated in support" in line for line in lines] == [True, False]
    assert "will not run yet: variable 'tax': support excludes 1" in lines[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--synthetic", "tax"], "--synthetic"), ([], "no column 'income', 'tax'")],
)
def test_what_cannot_be_carried_is_refused_in_one_line(folder, options, said):
    with pytest.raises(InputError, match=said):
        carried(year(2).drop(columns=["income", "tax"]), *options)


def test_a_heap_of_one_firm_is_not_found_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "firm": rng.integers(1, 60, 600),
            "sex": rng.choice(["f", "m"], 600),
            "pay": np.exp(rng.normal(7, 0.5, 600)).round(2),
        }
    )
    data.loc[:29, ["firm", "pay"]] = 77, 1234.56
    data.loc[30:59, "pay"] = 987.65
    data.to_csv("old.csv", index=False)
    setting = (
        '[synthesizer]\nname = "transformation"\nformula = "pay ~ sex"\nheaps = [1234.56, '
        '987.65, "found"]\n'
    )
    Path("study.toml").write_text(
        '[data]\npath = "old.csv"\n[scenario]\nknown = ["sex"]\nsynthetic = '
        f'"pay"\n{setting}[release]\nunit = "firm"\n'
    )
    _, table = carried(data)
    assert table["synthesizer"]["heaps"] == [987.65, "found"]
