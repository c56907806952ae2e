"""Baselines of several variables: amounts protected column by column, everything else as it is, all
the way to the report.
"""

import numpy as np
import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.reports.render import render_report
from riskweighted.runs.finished import load_run
from riskweighted.runs.run import run_study
from riskweighted.runs.study import make_study
from riskweighted.runs.work import Work
from riskweighted.sweeps.settings_grid import Sweep

# by hand: the median of 10, 20, 30, 40 is 25, that of 1, 2, 3, 4, 5 is 3
EIGHT = pd.DataFrame(
    {
        "region": ["a"] * 8,
        "smokes": ["yes", "no", None, "yes", "no", "yes", "no", "no"],
        "income": [10.0, 20, 30, 40, -8, -8, np.nan, np.nan],
        "rooms": [1, 2, 3, 4, 5, 3, 3, 1],
    }
)


def study(data=None, **top_coding):
    return make_study(
        {
            "data": {"path": "people.csv"},
            "scenario": {
                "known": ["region"],
                "synthetic": ["smokes", "income", "rooms"],
                "radius": 0.1,
            },
            "synthesizer": {
                "name": "sequential",
                "predictors": ["region"],
                "variables": {"income": {"codes": [-8]}},
            },
            "weights": {"schemes": ["unweighted"]},
            "sampling": {"chains": 2, "draws": 60, "tune": 60},
            "release": {"L": 2},
            "evaluation": {"resamples": 20},
            "reproducible": True,
            "top_coding": top_coding,
        }
    )


def protected(**top_coding):
    return Work.of(study(**top_coding), EIGHT).fit("top-coding")


def test_every_variable_is_cut_at_its_own_quantile_and_codes_gaps_and_levels_stay():
    fitted = protected(quantile=0.5)
    frame = fitted.synthesize(1, random_seed=1)[0]
    expected = EIGHT.assign(
        income=[10, 20, 25, 25, -8, -8, np.nan, np.nan], rooms=[1, 2, 3, 3, 3, 3, 3, 1]
    )
    pd.testing.assert_frame_equal(frame, expected)
    assert fitted.keeps_true_values
    assert not fitted.estimates


def test_a_variable_has_settings_of_its_own():
    frame = protected(quantile=0.5, variables={"rooms": {"value": 4}}).synthesize(1, random_seed=1)[
        0
    ]
    assert frame["income"].max() == 25
    assert frame["rooms"].tolist() == [1, 2, 3, 4, 4, 3, 3, 1]


def test_its_expected_risk_is_whether_what_is_released_lies_in_the_ball():
    fitted = protected(quantile=0.5)
    scenario = rw.Scenario(
        known="region", synthetic=["income", "rooms"], radius=0.1, codes={"income": (-8,)}
    )
    risk = rw.expected_identification_risk(fitted, scenario, random_seed=1)
    # by hand: 30 and 40 become 25 and 4 and 5 rooms become 3, beyond a tenth; the others are as
    # they were
    assert risk["own_mass"].tolist() == [1, 1, 0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(risk["risk"], [7 / 8, 7 / 8, 0, 0, 0, 6 / 8, 7 / 8, 7 / 8])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variables": {"nope": {"quantile": 0.5}}}, "'nope'; valid are"),
        ({"variables": {"rooms": {"quantile": 2}}}, "quantile must lie between 0 and 1"),
        ({"variables": {"rooms": 3}}, "top_coding.variables.rooms"),
        ({"nope": 3}, "no setting 'nope'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        study(**settings)


def test_levels_alone_have_nothing_to_be_cut():
    of_levels = study(quantile=0.5)
    with pytest.raises(InputError, match="leave it out"):
        Work.of(of_levels, EIGHT.assign(income="a", rooms="b")).prepared("top-coding")


@pytest.mark.long
def test_a_run_its_report_and_a_sweep_have_it(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {"region": rng.choice(["a", "b"], 200), "smokes": rng.choice(["yes", "no"], 200)}
    )
    people = people.assign(income=rng.integers(1, 200, 200) * 10.0, rooms=rng.poisson(4, 200))
    people.loc[:9, "income"] = -8
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    coded = study(quantile=0.8)
    with pytest.warns(RiskWeightedWarning):  # so few draws
        run = run_study(coded, "run")
    released = load_run(run.folder).baseline("top-coding")
    bound = people["income"][people["income"] > 0].quantile(0.8)
    np.testing.assert_array_equal(released["income"], people["income"].clip(upper=bound))
    np.testing.assert_array_equal(released["smokes"], people["smokes"])
    assert (
        run.summary.loc["top-coding", "expected match risk"]
        > run.summary.loc["unweighted", "expected match risk"]
    )
    assert not (run.folder / "synthetic" / "top-coding").exists()
    assert "top-coding" in render_report(load_run(run.folder), confidential="people.csv")
    swept = rw.sweep(
        Sweep(coded, {"top_coding.quantile": [0.8], "weights.schemes": ["unweighted"]}),
        "swept",
        workers=1,
    )
    assert not len(swept.failures)
    rows = swept.results[
        (swept.results["label"] == "top-coding") & (swept.results["key"] == "expected-match")
    ]
    assert rows["value"].tolist() == [run.summary.loc["top-coding", "expected match risk"]]
