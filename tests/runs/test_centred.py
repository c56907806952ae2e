"""A study that names centred schemes: run, resumed from the fits that it kept, and released."""

import contextlib
import io
import re
import runpy
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.commands.run import _model
from riskweighted.contract.synthesizer import ContractError
from riskweighted.reports.wording import not_mended
from riskweighted.runs.check_study import check_study
from riskweighted.runs.examples import STUDY, data
from riskweighted.runs.study import load_study
from riskweighted.runs.work import Work
from riskweighted.sampling.centred import CentredTerm

SCHEMES = '"unweighted", "mix+(t=0.5)", "bounded+(b=0.2)"'
pytestmark = pytest.mark.filterwarnings("ignore::riskweighted.common.errors.ConvergenceWarning")


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data.to_csv("households.csv", index=False)
    text = STUDY.replace('"unweighted", "marginal"', SCHEMES)
    text = text.replace(
        "resamples = 50",
        'resamples = 50, regression = "income ~ smokes", coefficient = "smokes[T.yes]"',
    )
    text = text.replace("[release]", "[sampling]\nchains = 2\ndraws = 60\ntune = 100\n[release]")
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


@pytest.mark.slow
def test_a_centred_scheme_is_released_and_its_pack_is_what_the_run_makes(study, tmp_path):
    run = rw.run_study(study, tmp_path / "run")
    assert set(run.evaluation.risk["label"]) >= {"mix+(t=0.5)", "bounded+(b=0.2)"}
    table = run.evaluation.utility
    for scheme in ("mix+(t=0.5)", "bounded+(b=0.2)"):
        pack = tmp_path / scheme
        rw.release_run(tmp_path / "run", pack, schemes=[scheme])
        rw.check_release(pack, tmp_path / "run")
        of_scheme = table[table["label"] == scheme]
        (kappa,) = of_scheme.loc[of_scheme["key"] == "variance-ratio", "value"]
        assert kappa >= of_scheme.loc[of_scheme["key"] == "variance-ratio-of", "value"].max() - 1e-6
        assert kappa >= 1
        assert f"kappa = {kappa:.12g} " in (pack / "README.md").read_text()
        methods = (pack / "methods.md").read_text()
        assert f"kappa = {kappa:.12g}" in methods
        assert "centred" in methods
        assert f"kappa = **{kappa:.12g}**" in (pack / "how_to_combine.md").read_text()
        assert '"variance-ratio"' in (pack / "disclosure_record.json").read_text()
        assert "variance-ratio-of" not in (pack / "disclosure_record.json").read_text()
        published = of_scheme[of_scheme["key"] == "coefficient"].iloc[0]
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            runpy.run_path(str(pack / "combine.py"), run_name="__main__")
        printed = [float(number) for number in re.findall(r"-?\d+\.\d+", shown.getvalue())]
        assert printed == pytest.approx(
            [published["value"], published["lower"], published["upper"]], rel=1e-6
        )
    rw.release_run(tmp_path / "run", tmp_path / "plain", schemes=["unweighted"])
    assert not any("kappa" in path.read_text() for path in (tmp_path / "plain").glob("*.md"))


def test_a_density_that_is_not_its_models_is_refused_before_the_first_fit(
    study, tmp_path, monkeypatch
):
    masses = CentredTerm.masses
    monkeypatch.setattr(
        CentredTerm,
        "masses",
        lambda term, theta: (
            masses(term, theta) * np.linspace(1, 1.05, len(term.centring.intervals.lower))
        ),
    )
    monkeypatch.setattr(
        "riskweighted.runs.work.fit_tasks", lambda *_: pytest.fail("a fit was begun")
    )
    with pytest.raises(ContractError, match=r"density|centring"):
        rw.run_study(study, tmp_path / "run")


@pytest.mark.quick
def test_where_the_model_misfits_the_centred_schemes_are_named():
    assert "marginal+" in not_mended(["unweighted", "marginal", "marginal+"])
    assert not_mended(["confidential", "unweighted", "marginal", "top-coding"]) == ""


@pytest.mark.quick
@pytest.mark.parametrize(
    ("labels", "told"), [(["unweighted", "mix+(t=0.5)"], True), (["unweighted", "marginal"], False)]
)
def test_the_terminal_says_of_a_misfit_that_centring_does_not_mend_it(labels, told):
    row = {
        "check": "check-mean",
        "where": "",
        "parameter": "",
        "confidential": 1.0,
        "synthetic": 2.0,
        "effect": 0.5,
        "threshold": 0.1,
        "verdict": "misfits",
    }
    finished = SimpleNamespace(
        fits=False, fit_check=pd.DataFrame([row]), summary=pd.DataFrame(index=labels)
    )
    line = _model(finished)
    assert "misfits" in line
    assert ("mix+(t=0.5)" in line) == told


def said(tmp_path, schemes):
    """Of what check warns for a level of 15 among 915 records, by scheme."""
    levels = pd.DataFrame(
        {
            "region": "one",
            "age": np.tile(np.arange(61), 15),
            "level": np.repeat(["often", "rare"], [900, 15]),
        }
    )
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
        ("others-in-ball+", {rw.OverfillWarning}),
        ("mix+(t=0.5)", set()),
        ("mix(t=0.5)", set()),
    ],
)
def test_a_level_that_plain_weights_erase_is_overfilled_by_centred_ones(tmp_path, scheme, warns):
    assert said(tmp_path, scheme) & {rw.MarginShiftWarning, rw.OverfillWarning} == warns
