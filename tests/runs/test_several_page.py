"""docs/several-variables.md: its study, its program and its rules, run on some of the records."""

import re
import runpy
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import riskweighted as rw
from riskweighted.commands.main import app
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.data.embedded import load_embedded, load_household_assets, load_households

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "several-variables.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
FEW = {"draws": 40, "tune": 40, "chains": 2}


def test_the_page_has_the_files_it_speaks_of_and_names_public_things_alone():
    assert list(BLOCKS) == ["households.toml", "households.py", "rules.toml"]
    assert not re.findall(
        r"riskweighted\.|from riskweighted|riskweighted_models", BLOCKS["households.py"]
    )
    assert set(re.findall(r"\brw\.(\w+)", BLOCKS["households.py"])) <= set(rw.__all__)


def test_the_households_with_their_savings_are_the_demo_s_and_more():
    households = load_household_assets()
    pd.testing.assert_frame_equal(households[list(load_households().columns)], load_households())
    pd.testing.assert_frame_equal(households, load_embedded("401ksubs-assets"))
    assert 0.3 < (households["net_assets"] <= 0).mean() < 0.4
    assert households["age"].between(25, 64).all()


@pytest.fixture
def folder(tmp_path):
    """The page's files, for 400 records and short chains."""
    load_embedded("401ksubs-assets").sample(400, random_state=1).to_csv(
        tmp_path / "some.csv", index=False
    )
    study = BLOCKS["households.toml"].replace('embedded = "401ksubs-assets"', 'path = "some.csv"')
    study = study.replace('"pairwise", "marginal"', '"pairwise"').replace("L = 20", "L = 2")
    program = (
        BLOCKS["households.py"]
        .replace("synthesize(20", "synthesize(2")
        .replace("risk_draws=100", "risk_draws=20")
    )
    for name, value in FEW.items():
        study = re.sub(rf"^{name} = \d+", f"{name} = {value}", study, flags=re.MULTILINE)
        program = re.sub(rf'"{name}": \d+', f'"{name}": {value}', program)
    (tmp_path / "households.toml").write_text(study)
    (tmp_path / "households.py").write_text(program)
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch):
    """A command in this process and that folder."""
    monkeypatch.chdir(folder)

    def invoke(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RiskWeightedWarning)
            return CliRunner().invoke(app, ["run", "households.toml", "--out", "out", *arguments])

    return invoke


@pytest.mark.long
def test_the_dry_run_says_what_the_page_says(command):
    done = command("--dry-run")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    models = re.search(r"models  (.*)", PAGE)[1]
    assert f"models {models}" in said
    assert "sum of alpha" in said


@pytest.mark.long
@pytest.mark.slow
def test_the_study_runs(folder, command):
    done = command()
    assert done.exit_code in (0, 3), done.output  # 3: so few draws may not have converged
    tables = rw.load_run(folder / "out")
    assert set(tables.study.scenario.synthetic) == {"inc", "eligible_401k", "has_ira", "net_assets"}
    released = list((folder / "out" / "synthetic").rglob("*.csv"))
    assert len(released) == 4
    frame, data = pd.read_csv(released[0]), pd.read_csv(folder / "some.csv")
    assert set(frame["has_ira"]) <= {0, 1}
    assert frame["inc"].between(10, 200).all()
    assert abs((frame["net_assets"] == 0).mean() - (data["net_assets"] == 0).mean()) < 0.08


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of a few draws
def test_the_program_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    runpy.run_path("households.py", run_name="__main__")
    printed = capsys.readouterr().out
    assert "pairwise" in printed
    assert "direct" in printed


@pytest.mark.slow
def test_the_rules_hold_in_what_is_drawn():
    settings = tomllib.loads(BLOCKS["rules.toml"])
    rng, n = np.random.default_rng(3), 300
    smoker = rng.choice(["yes", "no"], n, p=[0.4, 0.6])
    first = rng.integers(15, 20, n)
    frame = pd.DataFrame(
        {
            "age": np.r_[15, rng.integers(16, 80, n - 1)],
            "marital": np.where(np.arange(n) == 0, "single", rng.choice(["married", "single"], n)),
            "smoker": smoker,
            "cigarettes": np.where(smoker == "yes", rng.choice([5, 10, 20], n), -8),
            "first_job": first,
            "retired": first + rng.choice([0, 1, 2, 3], n),
        }
    )
    frame.loc[5, ["smoker", "cigarettes"]] = ["no", 10]  # breaks the rule
    names = ["marital", "smoker", "cigarettes", "first_job", "retired"]
    chain = rw.load_synthesizer("sequential")(
        names, predictors=["age"], settings=settings.pop("variables"), **settings
    )
    for drawn in rw.fit(chain, frame, random_seed=1, draws=60, chains=2).synthesize(
        3, random_seed=2
    ):
        assert ((drawn["cigarettes"] == -8) == (drawn["smoker"] != "yes")).all()
        assert (drawn["first_job"] <= drawn["retired"]).all()
        assert not ((drawn["marital"] == "married") & (drawn["age"] < 16)).any()
