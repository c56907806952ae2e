"""Functions that a study names: in the tables, the verdicts, the pages and a sweep of a run, which
goes on where one fails.
"""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from finished_run import SETTINGS, confidential_data

import riskweighted as rw
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.evaluation.verdicts import NOT_JUDGED, PASS
from riskweighted.runs.study import make_study

CODE = """
import numpy as np

def means(frame):
    groups = np.log(frame["income"]).groupby(frame["group"])
    return {group: (rows.mean(), rows.var(ddof=1) / len(rows)) for group, rows in groups}

def broken(frame):
    raise ValueError(f"secret {frame['income'].iloc[0]}")
"""
GOOD, BROKEN = "users_analyses:means", "users_analyses:broken"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a study that names one function that works and one that does not, and the warnings
    of it.
    """
    folder = tmp_path_factory.mktemp("analyses")
    (folder / "users_analyses.py").write_text(CODE)
    confidential_data().to_csv(folder / "data.csv", index=False)
    settings = SETTINGS | {
        "weights": {"schemes": ["unweighted"]},
        "sampling": {"draws": 20, "tune": 60, "chains": 2},
        "evaluation": {"analyses": [GOOD, BROKEN], "resamples": 20},
        "thresholds": {"analysis-overlap": 0.01},
    }
    sys.path.insert(0, str(folder))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study = make_study(settings, folder)
            rw.run_study(study, folder / "run")
            swept = rw.sweep(rw.Sweep(study, {"release.L": [2, 3]}), folder / "swept", workers=1)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("users_analyses", None)
    return (
        rw.load_run(folder / "run"),
        swept,
        [str(each.message) for each in caught if issubclass(each.category, RiskWeightedWarning)],
    )


def test_a_run_goes_on_and_names_what_failed(run):
    finished, _, told = run
    assert any(
        f"the analysis '{BROKEN}' raised ValueError on the confidential data" in text
        for text in told
    )
    assert not [text for text in told if "secret" in text]
    utility = finished.tables["utility"]
    found = by_label(utility, Statistic("analysis-overlap", term=GOOD))
    assert 0 < found["unweighted"] <= 1
    assert by_label(utility, Statistic("analysis-overlap", term=BROKEN)).isna().all()
    assert set(utility.loc[utility["key"] == "analysis-estimate", "term"]) == {
        f"a in {GOOD}",
        f"b in {GOOD}",
    }
    assert f"mean overlap in {GOOD}" in finished.tables["summary"]
    frames = finished.synthetic["unweighted"]
    expected = [np.log(frame["income"][frame["group"] == "b"]).mean() for frame in frames]
    value = utility[(utility["term"] == f"b in {GOOD}") & (utility["label"] == "unweighted")][
        "value"
    ].iloc[0]
    assert value == pytest.approx(sum(expected) / len(expected))


def test_it_is_judged_by_its_threshold_and_what_failed_is_no_pass(run):
    verdicts = pd.read_csv(run[0].folder / "tables" / "verdicts.csv")
    found = verdicts[verdicts["key"] == "analysis-overlap"].set_index("term")["verdict"]
    assert found.to_dict() == {GOOD: PASS, BROKEN: NOT_JUDGED}


def test_nothing_is_imported_to_read_a_run(run):
    assert "users_analyses" not in sys.modules
    assert run[0].study.evaluation.analyses == (GOOD, BROKEN)
    settings = json.loads((run[0].folder / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert settings["evaluation"]["analyses"] == [GOOD, BROKEN]


@pytest.mark.parametrize("internal", [True, False])
def test_the_page_shows_overlaps_and_inside_the_estimates(run, internal):
    page = rw.render_report(run[0], internal=internal)
    assert f"mean overlap in {GOOD}" in page.lower()
    assert (f"b in {GOOD}" in page) == internal
    assert "secret" not in page


def test_a_sweep_has_the_same_rows(run):
    results = run[1].results
    rows = results[(results["key"] == "analysis-overlap") & (results["term"] == GOOD)]
    assert sorted(rows["release.L"]) == [2, 3]
    assert rows["value"].between(0, 1).all()
