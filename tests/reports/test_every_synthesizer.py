"""What is made of a finished run is made of a run of every synthesizer, by every engine, of one
variable and of several.
"""

import json

import numpy as np
import pandas as pd
import pytest
from finished_run import ACCEPTED, finished_chain
from parted import people, study_file, write_parts
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.contract.synthesizer import baseline_names, load_synthesizer, synthesizer_names
from riskweighted.runs.run import run_study
from riskweighted.runs.study import load_study, make_study

pytestmark = [
    pytest.mark.usefixtures("no_pictures"),
    pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning"),
]
EXAMPLES = {
    "linear-regression": {"formula": "amount ~ group + age", "transform": "log"},
    "normal-mixture": {
        "formula": "amount ~ group",
        "transform": "log",
        "components": 2,
        "gating": True,
    },
    "negative-binomial": {"formula": "count ~ group", "components": 2},
    "hierarchical": {"formula": "amount ~ age", "groups": ["group"], "transform": "log"},
    "transformation": {"formula": "amount ~ group + age", "support": [0, 1_000_000]},
    "two-part": {"formula": "profit ~ group + age", "support": [-10_000, 1_000_000], "codes": [-8]},
    "logistic": {"formula": "smokes ~ group + age"},
    "ordinal": {"formula": "score ~ group + age", "levels": [0, 1, 2, 3, 4]},
    "multinomial": {"formula": "group ~ age"},
    "counts": {"formula": "score ~ group + age"},
}
CORE = [("two-part", "nuts")]
LONG = [  # every synthesizer once, and what is chosen for models of amounts, levels and counts
    *((name, "nuts") for name in EXAMPLES if name not in ("two-part", "logistic", "counts")),
    ("two-part", "auto"),
    ("logistic", "auto"),
    ("counts", "auto"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data that all studies are of."""
    rng, n = np.random.default_rng(2), 160
    group, age = rng.choice(["a", "b", "c"], n), rng.integers(20, 80, n)
    amount = np.exp(8 + 0.4 * (group == "a") + 0.01 * age + 0.6 * rng.normal(size=n)).round(-1)
    profit = np.where(
        rng.random(n) < 0.15, 0.0, np.where(rng.random(n) < 0.15, -(amount / 10).round(), amount)
    )
    columns = {
        "group": group,
        "age": age,
        "amount": amount,
        "profit": np.where(rng.random(n) < 0.1, -8.0, profit),
    }
    columns |= {
        "count": rng.poisson(4, n),
        "score": rng.integers(0, 5, n),
        "smokes": rng.choice(["yes", "no"], n),
    }
    made = tmp_path_factory.mktemp("every")
    pd.DataFrame(columns).to_csv(made / "data.csv", index=False)
    return made


def assert_all_is_made(run):
    """Both pages, the table as text, for a machine and for LaTeX, and what is advised."""
    for arguments in (
        ("report", "--internal"),
        ("report",),
        ("advise",),
        ("summary",),
        ("summary", "--format", "latex"),
    ):
        done = CliRunner().invoke(app, [*arguments, str(run)])
        assert done.exit_code == 0, f"{arguments}: {done.exception}"
    assert json.loads(CliRunner().invoke(app, ["summary", str(run), "--json"]).stdout)["rows"]


@pytest.mark.parametrize(
    ("name", "engine"), [*CORE, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)]
)
def test_of_a_run(folder, name, engine):
    synthesizer = {"name": name, **EXAMPLES[name]}
    target = synthesizer["formula"].partition(" ~")[0]
    settings = {
        "data": {"path": "data.csv"},
        "scenario": {
            "known": ["age"] if target == "group" else ["group"],
            "synthetic": target,
            "allow_wide": True,
            "categorical": [target] if "levels" in synthesizer else [],
        },
        "synthesizer": synthesizer,
        "weights": {"schemes": ["unweighted", "marginal"]},
        "sampling": {"draws": 60, "tune": 100, "chains": 2, "engine": engine},
        "release": {"L": 2, "disclosure": ACCEPTED},
        "evaluation": {"resamples": 10},
    }
    run_study(make_study(settings, folder), folder / f"{name}-{engine}")
    assert_all_is_made(folder / f"{name}-{engine}")


@pytest.mark.long
def test_of_a_run_of_several_variables():
    assert_all_is_made(finished_chain())


@pytest.mark.long
def test_of_a_run_whose_fit_is_of_a_sample(tmp_path):
    write_parts(tmp_path, people(300), [150])
    file = study_file(tmp_path, identified='id = "hh"\nfitted = 150')
    run_study(load_study(file), tmp_path / "results")
    assert_all_is_made(tmp_path / "results")


@pytest.mark.quick
def test_no_synthesizer_of_ours_is_forgotten():
    named = {name for name in synthesizer_names() if name not in baseline_names()}
    assert {
        name
        for name in named
        if load_synthesizer(name).__module__.startswith("riskweighted_models")
    } <= set(EXAMPLES)
