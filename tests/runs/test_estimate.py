"""What a run takes, said beforehand: every step has its time, counts enter as they should, and what
does not fit is said.
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common import resources
from riskweighted.runs import estimate, plan
from riskweighted.runs.check_study import check_study
from riskweighted.runs.estimate import estimate_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import load_study

DISCLOSING = {"disclosure"}
STEPS = {
    "compiling",
    "fitting",
    "drawing",
    "expected risk",
    "comparing with the data",
    "measuring",
    "writing",
    *DISCLOSING,
}
STUDY = """
[data]
path = "data.csv"
[scenario]
known = ["group"]
synthetic = {synthetic}
[synthesizer]
{synthesizer}
[sampling]
draws = 50
tune = 50
chains = 2
[release]
L = {datasets}
"""
MODELS = {
    "linear-regression": 'name = "linear-regression"\nformula = "income ~ group"\n'
    'transform = "log"',
    "normal-mixture": 'name = "normal-mixture"\nformula = "income ~ group"\ncomponents = 2',
    "two-part": 'name = "two-part"\nformula = "income ~ group"\nsupport = [0, 1000000]',
    "negative-binomial": 'name = "negative-binomial"\nformula = "children ~ group"',
    "sequential": 'name = "sequential"\npredictors = ["group"]',
    "hierarchical": 'name = "hierarchical"\nformula = "income ~ 1"\ngroups = "group"\n'
    'transform = "log"',
}


@pytest.fixture
def make(tmp_path):
    """A study by name of its model, checked."""
    rng = np.random.default_rng(1)
    n = 300
    group = rng.choice(["a", "b", "c"], n)
    income = np.exp(8 + (group == "b") + 0.5 * rng.normal(size=n)).round()
    working = rng.choice(["yes", "no"], n)
    children = rng.poisson(2, n)
    pd.DataFrame(
        {"group": group, "income": income, "working": working, "children": children}
    ).to_csv(tmp_path / "data.csv", index=False)

    def made(model, datasets=3):
        synthetic = {
            "sequential": '["working", "children"]',
            "negative-binomial": '"children"',
        }.get(model, '"income"')
        path = tmp_path / "study.toml"
        path.write_text(
            STUDY.format(synthetic=synthetic, synthesizer=MODELS[model], datasets=datasets)
        )
        study = load_study(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check_study(study, study.read_data()).work

    return made


@pytest.mark.parametrize("model", list(MODELS))
def test_every_step_of_a_run_has_its_time(make, model):
    found = estimate_run(make(model))
    missing = (
        {"drawing", "expected risk", "comparing with the data", *DISCLOSING}
        if model == "hierarchical"
        else set()
    )
    assert set(found.seconds) == STEPS - missing
    assert all(seconds >= 0 for seconds in found.seconds.values())
    assert found.seconds["fitting"] > 0
    assert found.total == pytest.approx(sum(found.seconds.values()))
    assert found.memory > 1e8


def test_more_copies_take_longer(make):
    work = make("linear-regression")
    # 40 datasets, and 400
    few, many = (
        replace(work.study, sampling=replace(work.study.sampling, draws=draws))
        for draws in (20, 200)
    )
    taken = [
        min(estimate_run(work.at(study)).seconds["disclosure"] for _ in range(2))
        for study in (few, many)
    ]
    assert taken[1] > 1.1 * taken[0]


def test_of_learned_scores_folds_are_fitted(make):
    work = make("sequential")
    learned = replace(
        work.study.synthesizer, settings={**work.study.synthesizer.settings, "learned": ["group"]}
    )
    optional = pytest.importorskip("sklearn", reason="needs riskweighted[learned]")
    assert optional is not None
    found = estimate_run(work.at(replace(work.study, synthesizer=learned))).seconds
    assert found["fits without a fold"] > 0


def test_a_part_of_the_records_stands_for_all_of_them(make, monkeypatch):
    whole = estimate_run(make("linear-regression"))
    monkeypatch.setattr(estimate, "_ROWS", 100)
    some = estimate_run(make("linear-regression"))
    assert some.disk == pytest.approx(whole.disk, rel=0.1)
    assert estimate_run(make("sequential")).disk > 0


def test_bytes_written_are_those_that_a_run_writes(make, tmp_path):
    checked = make("linear-regression", datasets=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_study(checked.study, tmp_path / "out")
    written = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert written / 2 < estimate_run(checked).disk < 2 * written


def test_a_dry_run_says_what_does_not_fit(make, tmp_path, monkeypatch):
    found = estimate_run(make("linear-regression"))
    monkeypatch.setattr(plan, "estimate_run", lambda work: found)
    for share, refused, said in (
        (100, False, ""),
        (0.7, False, "warning: the run may not fit"),
        (0.1, True, "will not fit"),
    ):
        monkeypatch.setattr(resources, "disk_free", lambda path, share=share: share * found.disk)
        done = CliRunner().invoke(
            app, ["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"), "--dry-run"]
        )
        text = " ".join((done.output + str(done.exception or "")).split())
        assert said in text
        assert ("disk: needs about" in text) == (share < 1)
        assert (done.exception is not None) == refused
        assert not (tmp_path / "out").exists()
