"""A study that names centred schemes: run, resumed from the fits that it kept, and released."""

import pytest

import riskweighted as rw
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
