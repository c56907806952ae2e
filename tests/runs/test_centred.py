"""A study that names centred schemes: run, resumed from the fits that it kept, and released."""

import warnings

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.runs.checked import check_study
from riskweighted.runs.examples import STUDY, data
from riskweighted.runs.study import load_study
from riskweighted.runs.work import Work

SCHEMES = '"unweighted", "mix+(t=0.5)", "bounded+(b=0.2)"'
pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data.to_csv("households.csv", index=False)
    text = STUDY.replace('"unweighted", "marginal"', SCHEMES)
    (tmp_path / "study.toml").write_text(text)
    return load_study("study.toml")


@pytest.mark.parametrize("scheme", ["mix+(t=0.5)", "bounded+(b=0.2)"])
def test_a_fit_that_was_kept_is_read_and_not_sampled_again(study, tmp_path, monkeypatch, scheme):
    confidential = study.read_data()
    first = Work.of(study, confidential, tmp_path / "kept").fit(scheme)
    monkeypatch.setattr("riskweighted.runs.work.fit_tasks", lambda *_: pytest.fail("sampled again"))
    again = Work.of(study, confidential, tmp_path / "kept").fit(scheme)
    (one,), (other,) = first.blocks.values(), again.blocks.values()
    assert one.posterior.equals(other.posterior)
    assert other.centring is not None
    assert one.centring.label == other.centring.label


def test_a_centred_scheme_is_released_and_its_pack_is_what_the_run_makes(study, tmp_path):
    run = rw.run_study(study, tmp_path / "run")
    assert set(run.evaluation.risk["label"]) >= {"mix+(t=0.5)", "bounded+(b=0.2)"}
    for scheme in ("mix+(t=0.5)", "bounded+(b=0.2)"):
        pack = tmp_path / scheme
        rw.release_run(tmp_path / "run", pack, schemes=[scheme])
        rw.check_release(pack, tmp_path / "run")


def said(tmp_path, schemes):
    """Of what check warns for a level of 15 among 915 records, by scheme."""
    levels = pd.DataFrame({"region": "one", "age": np.tile(np.arange(61), 15), "level": np.repeat(["often", "rare"], [900, 15])})
    text = f'''
data = {{ path = "levels.csv" }}
scenario = {{ known = ["region"], synthetic = ["level"] }}
synthesizer = {{ name = "sequential", predictors = ["age"] }}
weights = {{ schemes = ["unweighted", "{schemes}"] }}
'''
    (tmp_path / "levels.toml").write_text(text)
    levels.to_csv(tmp_path / "levels.csv", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_study(load_study(tmp_path / "levels.toml"), levels)
    return {warning.category for warning in caught}


@pytest.mark.quick
@pytest.mark.parametrize(
    ("scheme", "warns"),
    [
        ("marginal", {rw.MarginShiftWarning}),
        ("marginal+", {rw.OverfillWarning}),
        ("others+", {rw.OverfillWarning}),
        ("mix+(t=0.5)", set()),
        ("mix(t=0.5)", set()),
    ],
)
def test_a_level_that_plain_weights_erase_is_overfilled_by_centred_ones(tmp_path, scheme, warns):
    assert said(tmp_path, scheme) & {rw.MarginShiftWarning, rw.OverfillWarning} == warns
