"""``riskweighted init`` as a user meets it."""

import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import riskweighted, without_log
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common.errors import InputError
from riskweighted.runs.study import load_study

pytestmark = pytest.mark.versions

N = 300
rng = np.random.default_rng(13)
HOUSEHOLDS = pd.DataFrame(
    {
        "household id": np.arange(N) + 7_654_321,
        "sex": rng.choice(["female", "male"], N),
        "region": rng.choice(["north", "south", "west"], N),
        "interviewed": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        "income": np.where(rng.random(N) < 0.15, -8, np.round(rng.lognormal(10, 0.8, N))).astype(
            int
        ),
        "notes": [None] * N,
    }
)


@pytest.fixture
def folder(tmp_path):
    HOUSEHOLDS.to_csv(tmp_path / "households.csv", index=False)
    return tmp_path


def command(*arguments):
    """In this process, which has loaded everything."""
    return CliRunner().invoke(app, ["init", *arguments])


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("width", [60, 100])
def test_from_a_file_to_a_study_that_is_checked(folder, width):
    before = os.umask(0o022)
    try:
        done = riskweighted("init", "households.csv", cwd=folder, columns=width)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    assert without_log(done.stderr) == ""
    assert max(map(len, done.stdout.splitlines())) <= width
    text = " ".join(re.sub(r"[│┃\n]", " ", done.stdout).split())
    for said in (
        "300 records, columns: 6",
        "whole numbers; 1 likely code",
        "record id",
        "dates",
        "empty",
        "riskweighted check study.toml",
    ):
        assert said in text
    assert "spike: " not in text  # of the words of the table those that stand in it are explained
    shown = set(re.findall(r"-?\d+", done.stdout.replace(",", "")))
    assert not shown & {
        str(value) for value in HOUSEHOLDS["income"] if abs(value) > 400 or value == -8
    }
    assert not {"female", "north", "7654321", "2024-01-01"} & set(
        re.findall(r"[\w-]+", done.stdout)
    )
    assert mode(folder / "study.toml") == 0o600  # it holds the code
    if width == 100:
        return  # the same study, only the table is wider
    checked = riskweighted("check", "study.toml", cwd=folder)
    assert checked.returncode == 0, checked.stderr
    assert "known patterns         6" in checked.stdout


@pytest.mark.parametrize(("word", "cells"), [("n/a", 1), ("quokka", 20), ("ask", 2)])
def test_a_few_words_in_a_column_of_numbers_are_counted_and_the_column_is_taken(
    folder, monkeypatch, word, cells
):
    monkeypatch.chdir(folder)
    table = HOUSEHOLDS.assign(
        income=HOUSEHOLDS["income"].astype(object), assets_total=np.arange(N) ** 2
    )
    table.loc[: cells - 1, "income"] = word
    table.loc[N - 1, "income"] = "NA"  # is missing in any column of numbers
    table.to_csv("households.csv", index=False)
    done = command("households.csv")
    assert done.exit_code == 0, done.exception
    told = {
        1: "1 cell that is not a number",
        2: "2 cells that are not numbers",
        20: "20 cells that are not numbers",
    }[cells]
    (line,) = (
        line for line in done.stderr.splitlines() if line.startswith("warning: 'income' has")
    )
    assert f"has {told}, of 300;" in line
    assert "empty them in the file" in line
    assert "Synthesized: income (guessed" in done.stdout
    assert word not in done.stdout + done.stderr
    assert json.loads(command("households.csv", "--force", "--json").stdout)["no_numbers"] == {
        "income": cells
    }
    study = load_study("study.toml")
    assert study.read_data()["income"].isna().sum() == cells + 1
    assert mode(Path("study.toml")) == 0o600
    assert CliRunner().invoke(app, ["check", "study.toml"]).exit_code == 0


def test_what_offices_write_for_a_missing_number_is_stated_in_the_study_and_read_so(
    folder, monkeypatch
):
    monkeypatch.chdir(folder)
    table = HOUSEHOLDS.assign(income=HOUSEHOLDS["income"].astype(object))
    table.loc[:1, "income"] = "-"
    table.to_csv("households.csv", index=False)
    done = command("households.csv")
    assert "Read as a csv with missing ['-']: guessed" in " ".join(done.stdout.split())
    assert "not numbers" not in done.stderr
    study = load_study("study.toml")
    assert study.data.missing == ("-",)
    assert study.read_data()["income"].isna().sum() == 2
    assert json.loads(command("households.csv", "--force", "--json").stdout)["no_numbers"] == {}


def test_a_column_of_mostly_words_stays_text(folder, monkeypatch):
    monkeypatch.chdir(folder)
    table = HOUSEHOLDS.assign(income=HOUSEHOLDS["income"].astype(object))
    table.loc[: N // 5, "income"] = "n/a"
    table.to_csv("households.csv", index=False)
    done = command("households.csv", "--json")
    found = json.loads(done.stdout)
    assert found["no_numbers"] == {}
    assert "income" not in found["synthesize"]


def test_what_is_written_is_not_overwritten(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "study.toml").write_text("mine")
    done = command("households.csv")
    assert isinstance(done.exception, InputError)
    assert "'study.toml' exists" in str(done.exception)
    assert (folder / "study.toml").read_text() == "mine"
    done = command("households.csv", "--force", "--quiet", "--synthetic", "region")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "Written to study.toml\n", "")
    assert 'synthetic = "region"' in (folder / "study.toml").read_text()


def test_as_json_without_a_value_of_the_data(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = command("households.csv", "--out", "studies/first.toml", "--json")
    found = json.loads(done.stdout)
    assert (found["command"], found["results"], found["confidential"]) == (
        "init",
        "studies/first.toml",
        True,
    )
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert all(column["reason"] for column in found["columns"])
    assert kinds == {
        "household id": "record id",
        "sex": "levels",
        "region": "levels",
        "interviewed": "time",
        "income": "number",
        "notes": "constant",
    }
    assert (found["synthesize"], found["known"], found["refused"]) == (
        ["income"],
        ["sex", "region"],
        None,
    )
    assert "-8" not in done.stdout
    assert 'path = "../households.csv"' in (folder / "studies" / "first.toml").read_text()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("", "'data.csv' is empty"),
        ("a,b\n", "'data.csv' has no records"),
        ("a\n1\n1\n", "no column of the file can be synthesized: 'a': constant"),
        ("a,b\n1,x\n2\n3,y,z\n", "'data.csv' cannot be read"),
    ],
)
def test_files_of_which_no_study_can_be_made(tmp_path, monkeypatch, content, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(content)
    done = command("data.csv")
    assert isinstance(done.exception, InputError)
    assert named in str(done.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("absent.csv",), "there is no file 'absent.csv'"),
        (("households.csv", "--synthetic", "wealth"), "has no column 'wealth'"),
        (("households.csv", "--synthetic", "notes"), "'notes' cannot be synthesized: constant"),
        (("households.csv", "--out", "study.txt"), "must end in .toml"),
        (("households.csv", "--out", "results/study.toml"), "lies in the finished result"),
    ],
)
def test_what_is_refused(folder, monkeypatch, arguments, named):
    monkeypatch.chdir(folder)
    (folder / "results").mkdir()
    (folder / "results" / "manifest.json").write_text(
        '{"versions": {"riskweighted": "0.1.0"}, "files": {}}'
    )
    done = command(*arguments)
    assert isinstance(done.exception, InputError)
    assert done.stdout == ""
    assert named in str(done.exception)
    assert not (folder / "study.toml").exists()
