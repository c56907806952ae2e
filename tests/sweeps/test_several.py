"""A sweep over a study of several variables: its cells are those of a run, and blocks that cells
share are fitted once.
"""

import numpy as np
import pandas as pd
import pytest
from finished_run import chain_data

from riskweighted.common.errors import InputError
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.runs import work as working
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study
from riskweighted.sweeps import cell_work
from riskweighted.sweeps.cells import identify
from riskweighted.sweeps.settings_grid import Sweep, expand_grid
from riskweighted.sweeps.sweep import sweep

pytestmark = pytest.mark.filterwarnings("ignore")
SETTINGS = {
    "data": {"path": "data.csv"},
    "scenario": {"known": ["region"], "synthetic": ["smoke", "cigs"], "codes": {"cigs": -8}},
    "synthesizer": {
        "name": "sequential",
        "predictors": ["region", "age"],
        "variables": {
            "cigs": {"model": "counts", "applies_if": "smoke == 'YES'", "else_value": -8}
        },
    },
    "weights": {"schemes": ["unweighted", "pairwise"]},
    "sampling": {"chains": 2, "draws": 60, "tune": 50},
    "release": {"L": 2},
    "evaluation": {"resamples": 10},
    "seed": 3,
    "reproducible": True,
}
FORMULAS = {"synthesizer.variables.cigs.formula": ["cigs ~ age", "cigs ~ age + region"]}


@pytest.fixture
def fitted(monkeypatch):
    """The names of the blocks that are fitted."""
    names, fit_tasks = [], working.fit_tasks
    cell_work.forget()

    def counted(tasks, *others):
        names.extend(task.name for task in tasks)
        return fit_tasks(tasks, *others)

    monkeypatch.setattr(working, "fit_tasks", counted)
    return names


@pytest.mark.slow
def test_a_setting_of_one_variable_fits_its_blocks_alone_anew(fitted, tmp_path):
    few = SETTINGS | {"sampling": {"chains": 2, "draws": 10, "tune": 50}}
    plan = Sweep(make_study(few, tmp_path), FORMULAS)
    found = sweep(plan, tmp_path / "out", confidential=chain_data()[:100], workers=1)
    assert len(found.failures) == 0
    assert sorted(fitted) == ["cigs"] * 4 + ["smoke"] * 2  # two schemes; two formulas of cigs
    assert set(found.results["label"]) == {"confidential", "unweighted", "pairwise"}


@pytest.mark.long
@pytest.mark.slow
def test_cells_are_what_a_run_gives(tmp_path):
    changed = {**SETTINGS, "weights": {**SETTINGS["weights"], "risk_of": "joint"}}
    run = run_study(make_study(changed, tmp_path), tmp_path / "run", confidential=chain_data())
    plan = Sweep(make_study(SETTINGS, tmp_path), {"weights.risk_of": ["each-variable", "joint"]})
    results = sweep(plan, tmp_path / "out", confidential=chain_data(), workers=1).results
    joint = results[results["weights.risk_of"] == "joint"]
    for key in ("mean-risk", "expected-mean-risk", "whack-a-mole", "two-way-mean"):
        table = run.evaluation.utility if key == "two-way-mean" else run.evaluation.risk
        statistic = next(
            Statistic(key, None, parameter)
            for parameter in (None, 0.25)
            if len(by_label(table, Statistic(key, None, parameter)))
        )
        of_all = joint[(joint["key"] == key) & joint["variable"].isna()]
        mine = of_all.set_index("label")["value"].dropna()
        theirs = by_label(table, statistic).reindex(mine.index)
        np.testing.assert_allclose(mine, theirs, err_msg=key)
    own = results[
        (results["weights.risk_of"] == "each-variable") & (results["label"] == "pairwise")
    ]
    assert (
        own["mean_weight"].iloc[0] != joint.loc[joint["label"] == "pairwise", "mean_weight"].iloc[0]
    )


def test_the_grid_names_settings_of_a_variable(tmp_path):
    study = make_study(SETTINGS, tmp_path)
    points = expand_grid(Sweep(study, FORMULAS))
    formulas = [
        point.study.synthesizer.settings["variables"]["cigs"]["formula"]
        for point in points
        if point.label == "pairwise"
    ]
    assert formulas == FORMULAS["synthesizer.variables.cigs.formula"]
    assert all(
        point.study.synthesizer.settings["variables"]["cigs"]["else_value"] == -8
        for point in points
    )
    for name in (
        "synthesizer.variables.nope.formula",
        "synthesizer.formula",
        "synthesizer.settings",
        "guarantee.epsilon",
    ):
        with pytest.raises(InputError, match="unknown setting"):
            Sweep(study, {name: ["x"]})
    with pytest.raises(InputError, match="no setting 'nope'"):
        expand_grid(Sweep(study, {"synthesizer.variables.cigs.nope": [1]}))


def test_the_grid_names_settings_of_a_variable_of_a_baseline(tmp_path):
    study = make_study(
        {**SETTINGS, "top_coding": {"quantile": 0.8, "variables": {"smoke": {"quantile": 0.7}}}},
        tmp_path,
    )
    points = expand_grid(Sweep(study, {"top_coding.variables.cigs.quantile": [0.5, 0.9]}))
    tables = [
        point.study.baselines["top-coding"] for point in points if point.label == "top-coding"
    ]
    others = {"quantile": 0.8, "variables": {"smoke": {"quantile": 0.7}}}
    assert tables == [
        others | {"variables": others["variables"] | {"cigs": {"quantile": share}}}
        for share in (0.5, 0.9)
    ]
    cells = {(point.label, identify(point, "data", {}, whack_a_mole=False).key) for point in points}
    assert sorted(label for label, _ in cells) == [
        "confidential",
        "pairwise",
        "top-coding",
        "top-coding",
        "unweighted",
    ]  # no fit is made anew
    absent = make_study(SETTINGS, tmp_path)
    assert (
        expand_grid(Sweep(absent, {"top_coding.variables.cigs.quantile": [0.5]}))[-1].label
        == "top-coding"
    )
    for name in (
        "top_coding.variables.nope.quantile",
        "weights.variables.cigs.scale",
        "nope.variables.cigs.quantile",
    ):
        with pytest.raises(InputError, match="unknown setting"):
            Sweep(study, {name: [0.5]})
    with pytest.raises(InputError, match="no setting 'nope'"):
        expand_grid(Sweep(study, {"top_coding.variables.cigs.nope": [1]}))


def test_what_the_data_refuse_is_said_before_anything_is_fitted(fitted, tmp_path):
    plan = Sweep(make_study(SETTINGS, tmp_path), {"synthesizer.predictors": [["age"], ["nope"]]})
    with pytest.raises(InputError, match=r"at the grid point .*nope"):
        sweep(plan, tmp_path / "out", confidential=chain_data(), workers=1)
    assert (fitted, list(tmp_path.iterdir())) == ([], [])
    one = chain_data().assign(smoke="YES", cigs=lambda d: pd.Series(range(len(d))) % 5)
    with pytest.raises(InputError, match="'smoke' has one value"):
        sweep(plan, tmp_path / "out", confidential=one, workers=1)
