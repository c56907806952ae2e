"""Ten planted studies that fail: the right reason is named first, and what is advised passes or
lowers the failing figure.
"""

import tomllib

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.evaluation.main_table import FITS
from riskweighted.evaluation.measure_rows import Statistic
from riskweighted.evaluation.verdicts import FAIL, NOT_SHOWN, REFUSE, Verdict, overall
from riskweighted.measures.disclosure_measures import MEAN
from riskweighted.runs.advice import advise, apply_advice
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import read_study

pytestmark = [pytest.mark.filterwarnings("ignore::riskweighted.common.errors.RiskWeightedWarning")]
N = 1400


def people(seed=1):
    rng = np.random.default_rng(seed)
    region, band, school = rng.integers(0, 4, N), rng.integers(0, 3, N), rng.integers(8, 19, N)
    log = 3.2 + 0.15 * region + 0.1 * band + 0.05 * (school - 12) + 0.5 * rng.normal(size=N)
    frame = (
        pd.DataFrame({"region": list("ABCD"), "at": range(4)})
        .set_index("at")
        .loc[region]
        .reset_index(drop=True)
    )
    return frame.assign(band=band, school=school, income=np.exp(log).round(1))


STUDY = """
seed = 1
reproducible = true
[data]
path = "people.csv"
[scenario]
known = ["region", "band"]
synthetic = "income"
radius = 0.2
[synthesizer]
name = "transformation"
formula = "income ~ C(region) + C(band) + school"
[weights]
schemes = ["unweighted"]
[sampling]
draws = 250
tune = 150
chains = 2
[release]
L = 10
"""


def study_of(data, folder, **sections):
    """The study above with other settings, a table a section, and its data."""
    table = tomllib.loads(STUDY)
    for name, settings in sections.items():
        table[name] = settings if name == "synthesizer" else {**table.get(name, {}), **settings}
    data.to_csv(folder / "people.csv", index=False)
    return read_study(table, folder)


def ran(study, out):
    run_study(study, out, cores=1)
    return load_run(out)


def advised(study, data, out):
    """The run, and what is advised."""
    run = ran(study, out)
    return run, advise(run.study, data, run.verdicts, run.tables)


def figure(run, label, key):
    """What was judged of a scheme."""
    return next(
        each.value for each in run.verdicts if each.label == label and each.statistic.key == key
    )


@pytest.mark.long
@pytest.mark.slow
def test_codes_that_are_not_stated(tmp_path):
    data = people()
    data.loc[np.random.default_rng(2).random(N) < 0.3, "income"] = -9.0
    study = study_of(
        data,
        tmp_path,
        synthesizer={
            "name": "linear-regression",
            "formula": "income ~ C(region) + C(band) + school",
        },
    )
    run, advice = advised(study, data, tmp_path / "run")
    assert overall(run.verdicts, "unweighted") == FAIL
    assert "code" in advice[0].reason
    assert "-9" not in " ".join([advice[0].reason, advice[0].what])
    mended, made = apply_advice(study, data, advice)
    assert made == advice[:1]
    after = ran(mended, tmp_path / "after")
    assert sum(after.tables["fit_check"]["verdict"] == "misfits") < sum(
        run.tables["fit_check"]["verdict"] == "misfits"
    )


def test_an_identifier_that_leaves(tmp_path):
    data = people().assign(person=np.random.default_rng(3).permutation(N) + 100_000)
    study = study_of(data, tmp_path, release={"columns": ["person"]})
    advice = advise(study, data)
    assert "person" in advice[0].reason
    assert "names single records" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    assert "person" not in mended.released(data)


@pytest.mark.slow
def test_a_derived_column_that_leaves(tmp_path):
    data = people()
    data = data.assign(monthly=(data["income"] / 12).round(2))
    study = study_of(data, tmp_path, release={"columns": ["monthly"]})
    with pytest.raises(InputError, match="monthly"):
        run_study(study, tmp_path / "run", cores=1)
    advice = advise(study, data)
    assert advice[0].reason.startswith("monthly")
    mended, _ = apply_advice(study, data, advice)
    assert "monthly" not in mended.released(data)
    assert overall(ran(mended, tmp_path / "after").verdicts, "unweighted") != FAIL


@pytest.mark.long
@pytest.mark.slow
def test_too_few_draws(tmp_path):
    data = people()
    model = {
        "name": "normal-mixture",
        "formula": "income ~ C(region)",
        "components": 2,
        "transform": "log",
    }
    study = study_of(
        data, tmp_path, synthesizer=model, sampling={"draws": 20, "tune": 20, "chains": 2}
    )
    run, advice = advised(study, data, tmp_path / "run")
    assert "did not converge" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    assert mended.sampling.draws >= 500
    before, after = run.tables["convergence"], ran(mended, tmp_path / "after").tables["convergence"]
    assert after["ess_bulk"].min() > 2 * before["ess_bulk"].min()


@pytest.mark.slow
def test_a_radius_that_looks_wrong_is_not_changed(tmp_path):
    data = people()
    study = study_of(
        data,
        tmp_path,
        scenario={"radius": 2.0, "allow_wide": True},
        thresholds={"expected-mean-risk": 0.001},
    )
    run, advice = advised(study, data, tmp_path / "run")
    assert "radius" in advice[0].reason
    assert "0.2" in advice[0].what
    assert advice[0].change is None
    mended, _ = apply_advice(study, data, advice)
    assert mended.scenario == run.study.scenario
    assert mended.thresholds == run.study.thresholds


@pytest.mark.long
@pytest.mark.slow
def test_a_tail_that_the_model_misses(tmp_path):
    data = people()
    data["income"] = np.where(
        np.random.default_rng(4).random(N) < 0.1, data["income"] * 8, data["income"]
    ).round(1)
    study = study_of(
        data,
        tmp_path,
        synthesizer={
            "name": "linear-regression",
            "formula": "income ~ C(region) + C(band) + school",
        },
    )
    run, advice = advised(study, data, tmp_path / "run")
    assert "misfits" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    after = ran(mended, tmp_path / "after")
    assert sum(after.tables["fit_check"]["verdict"] == "misfits") < sum(
        run.tables["fit_check"]["verdict"] == "misfits"
    )


@pytest.mark.long
@pytest.mark.slow
def test_a_rare_pattern_whose_level_predicts(tmp_path):
    data = people()
    rare, rng = np.arange(N) < 80, np.random.default_rng(6)
    data["region"] = np.where(rare, "Z", data["region"])
    data["income"] = np.where(rare, 100 * np.exp(0.1 * rng.normal(size=N)), data["income"]).round(1)
    data["street"] = np.where(np.arange(N) < 140, 1000 + rng.permutation(N), 0)
    known = {"known": ["region", "band", "street"]}
    study = study_of(data, tmp_path, scenario=known, thresholds={"expected-isolated-risk": 0.3})
    run, advice = advised(study, data, tmp_path / "run")
    assert "isolated" in advice[0].reason
    assert "region" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    after = ran(mended, tmp_path / "after")
    assert figure(after, "unweighted", "expected-isolated-risk") < 0.6 * figure(
        run, "unweighted", "expected-isolated-risk"
    )


@pytest.mark.long
@pytest.mark.slow
def test_predictors_that_tell_the_target(tmp_path):
    data = people()
    grade = pd.qcut(
        data["income"] * np.exp(0.2 * np.random.default_rng(5).normal(size=N)), 6, labels=False
    )
    data = data.assign(grade=grade)
    model = {
        "name": "transformation",
        "formula": "income ~ C(region) + C(band) + C(grade) + school",
    }
    study = study_of(data, tmp_path, synthesizer=model, thresholds={"expected-mean-risk": 0.25})
    _, advice = advised(study, data, tmp_path / "run")
    assert "comes from grade" in advice[0].reason
    assert "inference" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    after = ran(mended, tmp_path / "after")
    assert figure(after, "unweighted", "expected-mean-risk") < 0.25


@pytest.mark.long
@pytest.mark.slow
def test_weights_that_are_too_strong(tmp_path):
    data = people()
    strong = {"schemes": ["unweighted", "uniform(c=0.01)"]}
    study = study_of(data, tmp_path, weights=strong, thresholds={"ecdf-maximum": 0.06})
    run, advice = advised(study, data, tmp_path / "run")
    assert "too strong" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    (weaker,) = (scheme for scheme in mended.weights.schemes if scheme != "unweighted")
    after = ran(mended, tmp_path / "after")
    assert figure(after, weaker, "ecdf-maximum") < figure(run, "uniform(c=0.01)", "ecdf-maximum")


@pytest.mark.long
@pytest.mark.slow
def test_a_target_out_of_reach(tmp_path):
    data = people()
    study = study_of(data, tmp_path, thresholds={"expected-mean-risk": 0.02})
    run, advice = advised(study, data, tmp_path / "run")
    assert "out of reach" in advice[0].what or advice[0].change is None
    if advice[0].change is not None:
        mended, _ = apply_advice(study, data, advice)
        after = ran(mended, tmp_path / "after")
        assert figure(after, "unweighted", "expected-mean-risk") < figure(
            run, "unweighted", "expected-mean-risk"
        )
    assert all(limit.at_most == 0.02 for limit in run.study.thresholds.limits)


def test_a_variable_with_gaps_gets_a_chain(tmp_path):
    data = people()
    data.loc[:20, "income"] = np.nan
    study = study_of(data, tmp_path)
    advice = advise(study, data)
    assert "missing in 21" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    assert mended.synthesizer.formula is None


def test_what_a_check_refuses_is_never_called_nothing_to_mend(tmp_path):
    data = people()
    for sections, named in (
        ({"release": {"columns": ["nosuch"]}}, "nosuch"),
        ({"synthesizer": {"name": "transformation", "formula": "income ~ nosuch"}}, "nosuch"),
    ):
        with pytest.raises(InputError, match=named):
            advise(study_of(data, tmp_path, **sections), data)


def misfitting():
    """The verdict of a model that misfits, and its checks."""
    row = {
        "label": "unweighted",
        "variable": "",
        "confidential": 0.2,
        "synthetic": 0.3,
        "effect": 0.1,
        "threshold": 0.01,
        "where": "",
    }
    checks = pd.DataFrame(
        [row | {"check": "check-share", "parameter": "exactly 1", "verdict": "misfits"}]
    )
    return [Verdict("unweighted", Statistic(FITS.statistic.key), 0, 1, None, FAIL, "misfits")], {
        "fit_check": checks
    }


def test_a_missing_predictor_is_named_before_another_model(tmp_path):
    data = people()
    study = study_of(
        data, tmp_path, synthesizer={"name": "linear-regression", "formula": "income ~ C(band)"}
    )
    advice = advise(study, data, *misfitting())
    assert "region does not predict" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    assert "region" in mended.synthesizer.columns
    assert "region" in mended.released(data)
    assert mended.synthesizer.name == "linear-regression"


def test_a_chain_that_misfits_is_told_a_predictor_that_apply_adds(tmp_path):
    data = people().assign(
        hours=lambda frame: np.round(
            frame["income"] ** 0.5 + np.random.default_rng(5).normal(size=N), 1
        )
    )
    chain = {"name": "sequential", "predictors": ["band"], "variables": {}}
    study = study_of(data, tmp_path, scenario={"synthetic": ["income", "hours"]}, synthesizer=chain)
    mended, made = apply_advice(study, data, advise(study, data, *misfitting()))
    assert made
    assert mended.synthesizer.settings["predictors"] == ["band", "region"]


def test_a_chain_that_lacks_nothing_is_not_told_what_a_chain_cannot_have(tmp_path):
    chain = {"name": "sequential", "predictors": ["region", "band", "school"], "variables": {}}
    data = people()
    advice = advise(
        study_of(data, tmp_path, synthesizer=chain, release={"columns": ["school"]}),
        data,
        *misfitting(),
    )
    assert advice
    assert not any("auto" in each.what for each in advice)


def test_a_universe_is_the_cure_of_gaps_that_another_column_tells(tmp_path):
    data = people()
    data["income"] = data["income"].where(data["band"] > 0)
    chain = {"name": "sequential", "predictors": ["band", "region"], "variables": {}}
    study = study_of(data, tmp_path, synthesizer=chain)
    advice = advise(study, data, *misfitting())
    assert "not all are asked" in advice[0].reason
    mended, _ = apply_advice(study, data, advice)
    assert mended.synthesizer.settings["variables"]["income"]["applies_if"] == "band != 0"


def test_codes_that_are_taken_for_amounts_are_a_kind(tmp_path):
    data = people().assign(
        industry=lambda frame: np.random.default_rng(6).permutation(40)[:12][frame.index % 12]
    )
    study = study_of(
        data,
        tmp_path,
        synthesizer={"name": "transformation", "formula": "income ~ C(region) + industry"},
        release={"columns": ["industry"]},
    )
    advice = advise(study, data, *misfitting())
    assert "industry" in advice[0].reason
    assert "[data.kinds]" in advice[0].what
    mended, _ = apply_advice(study, data, advice)
    assert mended.data.kinds == {"industry": "levels"}


def test_a_variable_of_a_unit_belongs_in_a_file_of_units(tmp_path):
    data = people(2).sort_values("region", ignore_index=True)
    data["firm"] = 1_000 + 7 * (np.arange(N) // 7)
    data["income"] = data["income"].groupby(data["firm"]).transform("first")
    study = study_of(data, tmp_path)
    advice = advise(study, data, *misfitting())
    assert any("one record a firm" in each.what for each in advice)


def test_a_study_that_leaves_the_model_to_the_run_is_mended_too(tmp_path):
    data = people().assign(person=np.arange(N) + 100_000)
    auto = {"name": "auto", "formula": "income ~ C(region) + school"}
    study = study_of(data, tmp_path, synthesizer=auto, release={"columns": ["person"]})
    mended, made = apply_advice(study, data, advise(study, data))
    assert len(made) == 1
    assert mended.synthesizer.name == "auto"
    assert "person" not in mended.release.columns


@pytest.mark.parametrize("word", [NOT_SHOWN, REFUSE])
def test_what_does_not_leave_is_mended_by_fewer_datasets_or_parameters_and_else_accepted(
    tmp_path, word
):
    data = people()
    verdict = Verdict("unweighted", Statistic(MEAN.key), 0.01, 0.01, None, word, "mean D")
    study = study_of(data, tmp_path)
    told = {"disclosure_verdicts": pd.DataFrame({"label": ["unweighted"], "fewer": [5.0]})}
    mended, made = apply_advice(study, data, advise(study, data, [verdict], told))
    assert mended.release.L == 5
    assert len(made) == 1
    advice = advise(study, data, [verdict], {})
    mended, _ = apply_advice(study, data, advice)
    assert "region" not in mended.synthesizer.columns
    assert ("not_shown" in advice[-1].what) == (word == NOT_SHOWN)
