"""Columns of a survey's design: recognised by name and shape, shown by `init`, evaluated, and told
of by `check`.
"""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.runs.study import make_study
from riskweighted.runs.undeclared import remarks
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.kinds import kinds_of
from riskweighted.suggest.study_file import study_file_text
from riskweighted.suggest.suggestion import suggest
from riskweighted.suggest.survey_columns import SurveyColumns, find_survey_columns as surveyed_by

N = 400


def surveyed(data: pd.DataFrame) -> SurveyColumns:
    return surveyed_by(data, kinds_of(data))


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age, sex = rng.integers(20, 70, N), rng.choice(["f", "m"], N)
    stratum = np.sort(rng.integers(1, 6, N))
    data = pd.DataFrame(
        {"sex": sex, "age": age, "stratum": stratum, "psu": stratum * 10 + rng.integers(0, 4, N)}
    )
    data["income"] = np.exp(7 + 0.02 * age + 0.3 * (sex == "m") + rng.normal(0, 0.5, N)).round()
    data["wgt"] = rng.gamma(4, 50, N).round(2)
    factors = np.array([1 + np.where(rng.random(N) < 0.5, 1, -1) * 0.5 for _ in range(12)])
    return data.assign(
        **{f"repw{number + 1}": data["wgt"] * factor for number, factor in enumerate(factors)}
    )


def test_columns_of_the_design_are_recognised(survey):
    found = surveyed(survey)
    assert found[:3] == ("wgt", "stratum", "psu")
    assert found.replicates == tuple(f"repw{number}" for number in range(1, 13))
    assert found.pattern == "repw[0-9]*"


@pytest.mark.quick
def test_neither_name_nor_shape_alone_does(survey):
    assert (
        surveyed(survey.rename(columns={"wgt": "amount", "stratum": "part", "psu": "village"}))
        == SurveyColumns()
    )
    wrong = survey.assign(
        wgt=-survey["wgt"], stratum=np.arange(N), psu=survey["psu"].where(survey.index > 3)
    )
    assert surveyed(wrong) == SurveyColumns()
    assert surveyed(survey.assign(repw3="a")).replicates == ()
    assert (
        surveyed(survey.drop(columns=[f"repw{number}" for number in range(5, 13)])).replicates == ()
    )
    assert surveyed(survey.iloc[:0]) == SurveyColumns()
    wages = survey.drop(columns=[name for name in survey if name.startswith("repw")]).assign(
        **{f"wage_wt{k}": 900.0 + k for k in range(12)}
    )
    assert surveyed(wages).replicates == ()  # they do not add up to the weights


@pytest.mark.quick
def test_what_shows_no_variance_is_no_design(survey):
    rare = survey.assign(stratum=np.where(survey.index == 0, 9, survey["stratum"]))
    assert surveyed(rare)[:3] == ("wgt", None, "psu")
    assert surveyed(rare.drop(columns="psu"))[:3] == ("wgt", None, None)


def test_init_shows_them_and_they_are_evaluated(survey):
    text = study_file_text(suggest(survey, look_at(survey), ["income"]), Path("x.csv"), Path())
    study = make_study(tomllib.loads(text), Path())
    assert (study.evaluation.survey, study.evaluation.strata, study.evaluation.psu) == (
        "wgt",
        "stratum",
        "psu",
    )
    assert '# replicates = "repw[0-9]*"' in text
    assert not {"psu", "repw1"} & set(study.synthesizer.columns)
    shown = text.replace('# replicates = "repw[0-9]*"', 'replicates = "repw[0-9]*"').replace(
        '# replication = "brr"', 'replication = "brr"'
    )
    lines = [line for line in shown.splitlines() if not line.startswith(("strata", "psu"))]
    settings = make_study(tomllib.loads("\n".join(lines)), Path()).evaluation.measures
    frames = [survey.assign(income=survey["income"] * factor) for factor in (0.9, 1.0, 1.1)]
    rows = rw.evaluate(survey, {"a": frames}, study.scenario, settings=settings).utility
    means = rows[(rows["key"] == "mean") & (rows["label"] == "confidential")]
    design = rw.survey_design(survey, "wgt", replicates="repw[0-9]*", replication="brr")
    mean = rw.survey_mean(survey["income"].to_numpy(), design)
    assert tuple(means[["value", "lower", "upper"]].iloc[0]) == pytest.approx(
        (mean.value, mean.lower, mean.upper)
    )
    assert "replicate weights, 12 of brr" in means["rule"].iloc[0]


def test_check_says_what_a_study_leaves_out(survey):
    study = {
        "data": {"path": "x.csv"},
        "scenario": {"known": ["sex"], "synthetic": "income"},
        "synthesizer": {"name": "linear-regression", "formula": "income ~ age"},
    }
    told = remarks(make_study(study), survey)
    assert any("'wgt': called like survey weights" in line for line in told)
    told = remarks(make_study({**study, "evaluation": {"survey": "wgt"}}), survey)
    assert any("strata = 'stratum', psu = 'psu'" in line for line in told)
    whole = {"survey": "wgt", "strata": "stratum", "psu": "psu"}
    assert not any(
        "called like" in line
        for line in remarks(make_study({**study, "evaluation": whole}), survey)
    )
