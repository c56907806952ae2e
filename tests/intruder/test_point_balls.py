"""Records whose ball is a single point cannot be scored, and somebody must say so."""

import warnings

import pandas as pd
import pytest

import riskweighted as rw
from riskweighted.intruder.point_balls import point_balls
from riskweighted.runs.check_study import check_study
from riskweighted.runs.study import make_study

pytestmark = pytest.mark.quick

FRAME = pd.DataFrame({"group": list("aabb"), "income": [0.0, 120.0, 0.0, -80.0]})
DRAWN = FRAME.assign(income=[3.5, 100.0, -0.2, -75.0])


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in found if warning.category is rw.UnscoredWarning]


def test_zeros_that_no_synthetic_value_hits_are_counted_and_min_radius_asked_for():
    scenario = rw.Scenario(known="group", synthetic="income")
    (message,) = caught(lambda: rw.identification_risk(FRAME, DRAWN, scenario))
    assert "2 of 4 records" in message
    assert "min_radius" in message
    assert "'income'" in message


@pytest.mark.parametrize(
    ("changed", "drawn"),
    [
        ({"min_radius": 5}, DRAWN),
        ({"radius": 5, "radius_kind": "absolute"}, DRAWN),
        ({"radius": 0}, DRAWN),
        ({}, DRAWN.assign(income=[0.0, 1, 2, 3])),
    ],
)
def test_nothing_is_said_where_they_can_be_scored(changed, drawn):
    assert not caught(
        lambda: rw.identification_risk(
            FRAME, drawn, rw.Scenario(known="group", synthetic="income", **changed)
        )
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [("counts", 0), ("linear-regression", 1)],
)
def test_before_a_fit_it_is_said_of_models_that_draw_from_a_density_alone(name, said, tmp_path):
    member = [0.0, 1.0, None, 1.0, 0.0] * 30  # whole numbers with gaps are no whole column
    data = pd.DataFrame({"group": list("aabba") * 30, "member": member})
    data.to_csv(tmp_path / "data.csv", index=False)
    study = make_study(
        {
            "data": {"path": "data.csv"},
            "scenario": {"known": ["group"], "synthetic": ["member"], "radius": 0.2},
            "synthesizer": {
                "name": "sequential",
                "predictors": ["group"],
                "variables": {"member": {"model": name}},
            },
        },
        tmp_path,
    )
    assert len(caught(lambda: check_study(study, data))) == said


def test_one_dataset_with_a_zero_is_enough():
    scenario = rw.Scenario(known="group", synthetic="income")
    assert not caught(
        lambda: rw.identification_risk(
            FRAME, [DRAWN, DRAWN.assign(income=[9.0, 0, 2, 3])], scenario
        )
    )


@pytest.mark.parametrize("boundary", ["closed", "open"])
def test_point_balls_are_those_at_zero(boundary):
    assert point_balls(
        FRAME, rw.Scenario(synthetic="income", boundary=boundary), "income"
    ).tolist() == [True, False, True, False]


def test_with_min_radius_zeros_are_scored():
    scenario = rw.Scenario(synthetic="income", min_radius=5)
    assert rw.identification_risk(FRAME, DRAWN, scenario).tolist() == [0.5, 0.75, 0.5, 0.75]
