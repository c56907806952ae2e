import brute
import numpy as np
import pandas as pd
import pytest
from brute import assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.intruder.neighbours import Neighbourhood, sort_centres
from riskweighted.intruder.patterns import known_patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world

pytestmark = pytest.mark.quick

quick = hypothesis_settings(max_examples=60)


def neighbourhood(data, scenario):
    world = make_world(data, scenario)
    return Neighbourhood(world.patterns.in_pattern, world.neighbours.within)


def within(values, **changed):
    return neighbourhood(
        pd.DataFrame({"y": values}), Scenario(synthetic="y", **changed)
    ).within.tolist()


@pytest.mark.parametrize(
    ("values", "changed", "expected"),
    [
        ([100.0, 110.0, 200.0], {}, [2, 2, 1]),
        ([10.0, 12.0, 8.0], {}, [3, 2, 1]),  # both ends of 10's ball, closed
        ([10.0, 12.0, 8.0], {"boundary": "open"}, [1, 2, 1]),
        ([-10.0, -12.0, -8.0], {}, [3, 2, 1]),  # the same below zero
        ([0.0, 0.0, -0.0, 1.0], {}, [3, 3, 3, 1]),
        ([0.0, 0.0, 1.0, 2.0], {"boundary": "open"}, [1, 1, 1, 1]),  # of no width: the record alone
        ([0.0, 0.0, 1.0, 1.0], {"boundary": "open"}, [1, 1, 2, 2]),
        # less than a floating-point number wide, but wide
        ([1.0, 1.0, 2.0], {"radius": 1e-17, "boundary": "open"}, [2, 2, 1]),
        ([5.0, 5.0, 5.0], {"radius": 0}, [3, 3, 3]),
        ([5.0, 5.0, 5.5], {"radius": 0, "boundary": "open"}, [2, 2, 1]),
        ([0.0, 1.0, -1.0], {"min_radius": 1}, [3, 2, 2]),
        ([0.0, 1.0, -1.0], {"min_radius": 1, "boundary": "open"}, [1, 1, 1]),
        # a radius above 1 reaches over zero
        ([1.0, -1.0, 3.0], {"radius": 2, "allow_wide": True}, [3, 2, 3]),
        ([0.0, 3.0, 7.0], {"radius": 3, "radius_kind": "absolute"}, [2, 2, 1]),
        ([0.0, 3.0, 7.0], {"radius": {"y": 4}, "radius_kind": "absolute"}, [2, 3, 2]),
    ],
)
def test_neighbours_worked_by_hand(values, changed, expected):
    assert within(values, **changed) == expected


def test_risk_is_the_share_of_the_pattern_outside():
    hood = Neighbourhood(np.array([13, 4, 1]), np.array([3, 4, 1]))
    np.testing.assert_array_equal(hood.risk, [10 / 13, 0, 0])


def test_neighbours_count_only_within_the_pattern():
    data = pd.DataFrame({"sex": ["f", "m", "f", "m"], "y": [10.0, 10.0, 11.0, 50.0]})
    hood = neighbourhood(data, Scenario(known="sex", synthetic="y"))
    assert hood.in_pattern.tolist() == [2, 2, 2, 2]
    assert hood.within.tolist() == [2, 1, 2, 1]


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_text_is_matched_by_equality(dtype):
    data = pd.DataFrame({"y": pd.Series(["a", "b", "a", "a"], dtype=dtype)})
    assert neighbourhood(data, Scenario(synthetic="y")).within.tolist() == [3, 1, 3, 3]


def test_booleans_are_matched_by_equality_even_with_a_wide_radius():
    data = pd.DataFrame({"y": [True, False, True]})
    assert neighbourhood(
        data, Scenario(synthetic="y", radius=5, allow_wide=True)
    ).within.tolist() == [2, 1, 2]


def test_a_box_needs_every_synthetic_variable_to_match():
    data = pd.DataFrame({"y": [10.0, 11.0, 10.0, 30.0], "g": [1, 1, 2, 2]})
    hood = neighbourhood(data, Scenario(synthetic=("g", "y"), categorical="g"))
    assert hood.in_pattern.tolist() == [4, 4, 4, 4]
    assert hood.within.tolist() == [2, 2, 1, 1]


def test_neighbours_check_the_data():
    with pytest.raises(InputError) as caught:
        neighbourhood(pd.DataFrame({"y": [np.nan, np.nan]}), Scenario(synthetic="y"))
    assert_clear(caught, "'y'", "missing in 2 of 2")


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "Float64", "int64[pyarrow]"])
def test_every_numeric_dtype_gives_the_same_neighbours(dtype):
    data = pd.DataFrame({"y": pd.Series([10, 12, 8, 0, -12], dtype=dtype)})
    assert neighbourhood(data, Scenario(synthetic="y")).within.tolist() == [3, 2, 1, 1, 1]


def expected_members(confidential, candidates, settings):
    records, full = brute._setup(confidential, settings)
    others = records if candidates is confidential else brute.rows(candidates)
    return [
        {
            h
            for h in brute.pattern(records, i, full["known"])
            if brute.inside(others[h], records[i], full)
        }
        for i in range(len(records))
    ]


@given(
    data=st.data(),
    frame=brute.frames(),
    kind=st.sampled_from([(True, False), (False, True), (True, True)]),
)
@quick
def test_runs_hold_the_members_of_the_ball(data, frame, kind):
    settings = data.draw(brute.settings(*kind))
    candidates = data.draw(brute.released(frame))
    patterns = known_patterns(frame, settings["known"])
    runs = sort_centres(frame, Scenario(**settings), patterns).find(candidates)
    assert sorted(runs.order) == list(range(len(frame)))
    for i, members in enumerate(expected_members(frame, candidates, settings)):
        assert set(runs.order[runs.first[i] : runs.last[i]]) == members
        assert runs.within[i] == len(members)
        assert runs.own_inside[i] == (i in members)
    weights = np.arange(len(frame)) ** 2
    assert runs.sums(weights).tolist() == [
        sum(weights[h] for h in ball) for ball in expected_members(frame, candidates, settings)
    ]


@given(
    data=st.data(),
    frame=brute.frames(),
    kind=st.sampled_from([(True, False), (False, True), (True, True)]),
)
@quick
def test_covering_counts_the_balls_over_each_candidate(data, frame, kind):
    settings = data.draw(brute.settings(*kind))
    runs = make_world(frame, Scenario(**settings)).neighbours
    members = expected_members(frame, frame, settings)
    assert runs.covering().tolist() == [
        sum(h in ball for ball in members) for h in range(len(frame))
    ]


def test_a_larger_sample_agrees_with_direct_comparison():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"a": rng.integers(0, 7, 600), "y": np.round(rng.normal(0, 40, 600))})
    hood = neighbourhood(frame, Scenario(known="a", synthetic="y", radius=0.3))
    y, a = frame["y"].to_numpy(), frame["a"].to_numpy()
    half = 0.3 * np.abs(y)
    inside = (y >= (y - half)[:, None]) & (y <= (y + half)[:, None]) & (a == a[:, None])
    np.testing.assert_array_equal(hood.within, inside.sum(axis=1))
