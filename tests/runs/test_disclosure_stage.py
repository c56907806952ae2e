"""A run says first what its datasets give away beyond inference, and what nobody accepted does not
leave.
"""

import json

import numpy as np
import pandas as pd
import pytest
from finished_run import ENTROPY, SETTINGS, confidential_data, finished_chain, finished_run

from riskweighted.common.errors import InputError
from riskweighted.evaluation.verdicts import NOT_JUDGED
from riskweighted.release.pack import release_run
from riskweighted.reports.answer import find_answer
from riskweighted.reports.source import gather
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study

pytestmark = pytest.mark.slow


def of(run, label, key, **which):
    rows = run.tables["risk"]
    rows = rows[(rows["label"] == label) & (rows["key"] == key)]
    for name, value in which.items():
        rows = rows[rows[name].isna()] if value is None else rows[rows[name] == value]
    (row,) = rows.to_dict("records")
    return row


def test_the_figures_of_a_run_are_those_of_its_table_and_stand_first():
    run = load_run(finished_run())
    table = run.tables["disclosure"]
    whole = table[
        (table["label"] == "pairwise")
        & (table["release"] == "shuffled")
        & (table["group"] == "all")
    ].iloc[0]
    assert of(run, "pairwise", "disclosure")["value"] == whole["D"]
    assert of(run, "pairwise", "attack-success")["value"] - of(
        run, "pairwise", "attack-success-leave-one-out"
    )["value"] == pytest.approx(whole["D"])
    assert of(run, "pairwise", "attack-success-no-release")["value"] == whole["none"]
    assert abs(whole["D"]) < 0.1
    assert list(run.tables["summary"])[5] == "disclosure beyond inference"
    assert whole["records"] == 120


@pytest.mark.long
def test_several_variables_have_a_box_and_each_its_own():
    run = load_run(finished_chain())
    box = of(run, "pairwise", "disclosure", variable=None)["value"]
    each = [
        of(run, "pairwise", "disclosure", variable=name)["value"]
        for name in ("marital", "income", "smoke", "cigs")
    ]
    assert np.isfinite([box, *each]).all()


def test_what_is_refused_does_not_leave_until_it_is_accepted_with_a_reason(tmp_path):
    run = load_run(finished_run())
    told = run.tables["disclosure_verdicts"].assign(verdict="refuse", reasons="mean D is 0.300")
    with pytest.raises(
        InputError,
        match=r"'pairwise' are refused for disclosure beyond inference: mean D is 0\.300",
    ):
        release_run(
            run.with_tables({**run.tables, "disclosure_verdicts": told}),
            tmp_path / "pack",
            schemes=["pairwise"],
        )
    told = told.assign(verdict="not judged", reasons="no fit and no folds")
    with pytest.raises(InputError, match="not judged for disclosure beyond inference"):
        release_run(
            run.with_tables({**run.tables, "disclosure_verdicts": told}),
            tmp_path / "pack",
            schemes=["pairwise"],
        )
    assert not (tmp_path / "pack").exists()
    sheet = (
        release_run(run, tmp_path / "pack", schemes=["pairwise"]).folder / "sign_off.md"
    ).read_text()
    assert "pairwise: warn: " in sheet


def test_a_baseline_is_not_judged_and_a_hidden_predictor_is_told(tmp_path):
    data = confidential_data()
    data["income"] = np.round(data["income"] * (1 + 2 * (data["size"] == 3)), 4)
    synthesizer = {**SETTINGS["synthesizer"], "formula": "income ~ group + C(size)"}
    weights, release = {"schemes": ["unweighted"]}, {"L": 3}
    evaluation = {"resamples": 50}
    settings = SETTINGS | {
        "synthesizer": synthesizer,
        "weights": weights,
        "release": release,
        "evaluation": evaluation,
        "top_coding": {},
    }
    run_study(make_study(settings), tmp_path / "run", confidential=data, entropy=ENTROPY)
    run = load_run(tmp_path / "run")
    assert 0 <= of(run, "unweighted", "hidden-named", term="size")["value"] < 0.1  # shuffled
    by_label = {
        verdict.label: verdict.verdict
        for verdict in run.verdicts
        if verdict.statistic.key == "disclosure"
    }
    assert by_label["top-coding"] == NOT_JUDGED
    assert np.isnan(of(run, "top-coding", "disclosure")["value"])
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert {"tables/disclosure.csv", "tables/disclosure_verdicts.csv"} <= set(manifest["files"])
    assert not pd.read_csv(tmp_path / "run" / "tables" / "disclosure.csv").empty


def test_the_report_opens_with_what_is_about_persons(tmp_path):
    run, data = load_run(finished_run()), confidential_data()
    _, told = find_answer(gather(run, False, data, 10)).told
    assert told.startswith(
        "With all 3 datasets of a scheme our attacks find, at the upper limit, fewer than 10 of "
        "120 records' values of income"
    )
    assert "guarantees nothing against others" in told
    none = {of(run, label, "attack-success-no-release")["value"] for label in run.schemes}
    assert len(none) == 1  # one yardstick
    rows = run.tables["risk"]
    without = run.with_tables(
        {**run.tables, "risk": rows[rows["key"] != "persons-disclosed"].reset_index(drop=True)}
    )
    assert len(find_answer(gather(without, True, data, 10)).told) == 1  # what was done, and no more


def test_of_a_scheme_that_is_not_judged_the_page_gives_no_figures():
    run, data = load_run(finished_run()), confidential_data()
    risk, keys = run.tables["risk"], ["persons-disclosed", "attack-success-leave-one-out", "named"]
    for schemes, said in (
        (["pairwise"], "not judged (pairwise)"),
        (list(run.schemes), "is not judged, which is no pass"),
    ):
        blank = risk["key"].isin(keys) & risk["label"].isin(schemes)
        without = run.with_tables(
            {**run.tables, "risk": risk.assign(value=risk["value"].where(~blank))}
        )
        for internal in (True, False):
            assert said in find_answer(gather(without, internal, data, 10)).told[1]
