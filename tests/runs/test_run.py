"""The main job in one process: what it writes, and how it goes on after an interruption."""

import json

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.runs.checked import plan_study
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study
from riskweighted.synthesis import fitting

SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": "group", "synthetic": "income"},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "sampling": {"draws": 400, "tune": 200},
    "release": {"L": 3, "format": "parquet"},
    "evaluation": {"resamples": 20},
}


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(1)
    group = pd.Categorical(rng.choice(["a", "b"], 100))
    return pd.DataFrame({"group": group, "income": np.exp(3 + (group == "b") + rng.normal(size=100))}, index=[f"r{i}" for i in range(100)])


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_an_interrupted_run_resumes_with_the_same_bytes(tmp_path, confidential, monkeypatch):
    study = make_study(SETTINGS)
    whole = run_study(study, tmp_path / "whole", confidential=confidential)
    assert whole.summary.loc["marginal", "converged"] == "yes"
    assert np.isnan(whole.summary.loc["confidential", "largest R-hat"])

    sample, calls = fitting.CompiledModel.sample, []

    def interrupted_in_the_second(self, *arguments, **settings):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return sample(self, *arguments, **settings)

    monkeypatch.setattr(fitting.CompiledModel, "sample", interrupted_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "parts", confidential=confidential)
    assert not (tmp_path / "parts").exists()
    assert len(list((tmp_path / "parts.partial").glob("*.nc"))) == 1
    run_study(study, tmp_path / "parts", confidential=confidential)
    assert len(calls) == 4  # one before the interruption, the interrupted one, and the two that were left
    assert content(tmp_path / "parts") == content(tmp_path / "whole")
    assert not (tmp_path / "parts.partial").exists()

    # Other data or settings never pick up a finished fit.
    monkeypatch.setattr(fitting.CompiledModel, "sample", sample)
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text())
    assert manifest["settings"]["release"]["format"] == "parquet"
    frame = pd.read_parquet(tmp_path / "whole" / "synthetic" / "marginal" / "synthetic_2.parquet")
    assert frame["group"].tolist() == confidential["group"].tolist()


def test_the_plan_counts_what_the_data_hold(confidential):
    plan = plan_study(make_study(SETTINGS), confidential)
    assert (plan.records, plan.patterns, plan.singletons, plan.predictors, plan.datasets) == (100, 2, 0, 1, 3)
    assert plan.mean_weight["unweighted"] == 1
    assert plan.mean_weight["marginal"] < plan.mean_weight["pairwise"] < 1
    assert 0 < plan.seconds[0] < plan.seconds[1]


def test_a_folder_that_is_no_result_is_never_replaced(tmp_path, confidential):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("dear")
    with pytest.raises(InputError, match="not the result of a run"):
        run_study(make_study(SETTINGS), tmp_path / "thesis", confidential=confidential, force=True)
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "dear"


def test_weights_that_are_all_zero_are_refused_before_any_fit(tmp_path, confidential):
    study = make_study(SETTINGS | {"weights": {"schemes": ["marginal"], "shift": -1.0}})
    with pytest.raises(InputError, match="'marginal' gives every record weight zero"):
        run_study(study, tmp_path / "out", confidential=confidential)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_are_left_alone(tmp_path, confidential):
    study = make_study(SETTINGS)
    (tmp_path / "a.partial").mkdir()
    (tmp_path / "a.partial" / "thesis.txt").write_text("dear")
    with pytest.raises(InputError, match="not the working folder of a run"):
        run_study(study, tmp_path / "a", confidential=confidential)
    assert (tmp_path / "a.partial" / "thesis.txt").read_text() == "dear"
    (tmp_path / "web").mkdir()
    for name, text in (("manifest.json", '{"files": {}}'), ("thesis.txt", "dear")):
        (tmp_path / "web" / name).write_text(text)
    with pytest.raises(InputError, match=r"'thesis\.txt'"):
        run_study(study, tmp_path / "web", confidential=confidential, force=True)


def test_an_error_leaves_no_working_folder(tmp_path, confidential, monkeypatch):
    def fails(*arguments):
        raise InputError("too late")

    monkeypatch.setattr("riskweighted.synthesis.fitting.PreparedModel.compile", fails)
    with pytest.raises(InputError, match="too late"):
        run_study(make_study(SETTINGS), tmp_path / "out", confidential=confidential)
    assert list(tmp_path.iterdir()) == []
