import warnings

import brute
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from shared_data import shared

from riskweighted import Scenario, matching_risk
from riskweighted.common.errors import InputError
from riskweighted.intruder.world import make_world
from riskweighted.risk.identification import identification_risks, mean_identification_risk
from riskweighted.risk.matching import match, mean_risk_and_matches

pytestmark = pytest.mark.quick

ACS = Scenario(known=("SEX", "RACE", "MAR"), synthetic=("DIS", "HICOV"))
CE = Scenario(known=("UrbanRural", "Race"), synthetic="Expenditure", radius=0.2)


def test_published_acs():
    confidential, synthetic = shared("ACSdata.csv"), shared("ACSdata_syn.csv")
    risk = matching_risk(confidential, synthetic, ACS)  # its columns stand in another order
    assert risk.expected_match_risk == pytest.approx(64.78361, abs=5e-6)
    assert (risk.true_match_rate, risk.false_match_rate, risk.unique_matches) == (7e-4, 0.72, 25)
    itself = matching_risk(confidential, confidential, ACS)
    assert itself.expected_match_risk == pytest.approx(173)
    assert (itself.true_match_rate, itself.false_match_rate, itself.unique_matches) == (
        0.003,
        0,
        30,
    )


def test_published_ce():
    confidential, synthetic = shared("CEdata.csv"), shared("CEdata_syn_SLR.csv")
    risk = matching_risk(confidential, synthetic, CE)
    assert risk.expected_match_risk == pytest.approx(10.5975, abs=5e-5)
    assert risk.true_match_rate == pytest.approx(0.0003896357, abs=5e-11)
    assert risk.false_match_rate == pytest.approx(0.9230769, abs=5e-8)
    assert risk.unique_matches == 26
    itself = matching_risk(confidential, confidential, CE)
    assert itself.expected_match_risk == pytest.approx(101.41, abs=5e-3)
    assert itself.true_match_rate == pytest.approx(0.0045, abs=5e-5)
    assert (itself.false_match_rate, itself.unique_matches) == (0, 23)


@pytest.mark.parametrize(
    "name", ["lab5_ACSdata_syn.csv", "lab5_ACSdata_syn2.csv", "lab5_ACSdata_syn3.csv"]
)
def test_published_lab_5_is_the_number_of_known_patterns(name):
    scenario = Scenario(
        known=("SEX", "RACE", "MAR"), synthetic=("WAOB", "DIS", "HICOV", "MIG", "SCH")
    )
    risk = matching_risk(shared("lab5_ACSdata_org.csv"), shared(name), scenario, match_on="known")
    assert risk.expected_match_risk == pytest.approx(57)
    assert (risk.true_match_rate, risk.false_match_rate) == (4e-4, 0)


def literal(confidential, released, settings):
    """c, T of every record by loops."""
    records, full = brute._setup(confidential, settings)
    candidates = brute.rows(released)
    table = []
    for i in range(len(records)):
        found = [
            h
            for h in brute.pattern(records, i, full["known"])
            if brute.inside(candidates[h], records[i], full)
        ]
        table.append((len(found), i in found))
    return table


@settings(max_examples=60)
@given(
    data=st.data(),
    frame=brute.frames(),
    kind=st.sampled_from([(True, False), (False, True), (True, True)]),
)
def test_equals_brute_force(data, frame, kind):
    keys = data.draw(brute.settings(*kind))
    released = data.draw(brute.released(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        risk = matching_risk(frame, released, Scenario(**keys))
    table = literal(frame, released, keys)
    assert list(zip(risk.records["c"], risk.records["T"], strict=True)) == table
    unique = [inside for count, inside in table if count == 1]
    assert risk.expected_match_risk == pytest.approx(
        sum(inside / count for count, inside in table if count)
    )
    assert risk.true_match_rate == pytest.approx(sum(unique) / len(table))
    assert risk.unique_matches == len(unique)
    if unique:
        assert risk.false_match_rate == pytest.approx((len(unique) - sum(unique)) / len(unique))
    else:
        assert np.isnan(risk.false_match_rate)


@settings(max_examples=30)
@given(
    data=st.data(),
    frame=brute.frames(),
    kind=st.sampled_from([(True, False), (False, True), (True, True)]),
)
def test_one_walk_finds_both_risks(data, frame, kind):
    keys = data.draw(brute.settings(*kind))
    released = [data.draw(brute.released(frame)) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paired = make_world(frame, Scenario(**keys)).pair(released)
        risk, matched = mean_risk_and_matches(paired)
        np.testing.assert_array_equal(risk, mean_identification_risk(paired))
        np.testing.assert_allclose(
            risk, identification_risks(paired).mean(axis=0), rtol=0, atol=1e-15
        )
        np.testing.assert_allclose(matched, match(paired).expected_by_target, rtol=0, atol=1e-15)
        assert matched.sum() == pytest.approx(match(paired).expected_match_risk, abs=1e-12)


@pytest.fixture
def small():
    return pd.DataFrame(
        {"g": ["a", "a", "b", "b"], "y": [10.0, 100.0, 10.0, 100.0]}, index=list("wxyz")
    )


def test_hand_worked(small):
    # w: 11 and 9 near 10, own is 11: c 2, T 1. x: none near 100: c 0. y: 100, 10: own is 100: c 1,
    # T 0. z likewise.
    synthetic = small.assign(y=[11.0, 9.0, 100.0, 10.0])
    risk = matching_risk(small, synthetic, Scenario(known="g", synthetic="y"))
    assert risk.records["c"].tolist() == [2, 0, 1, 1]
    assert risk.records["T"].tolist() == [True, False, False, False]
    assert (
        risk.expected_match_risk,
        risk.true_match_rate,
        risk.false_match_rate,
        risk.unique_matches,
    ) == (0.5, 0, 1, 2)


def test_targets_are_a_subset(small):
    scenario = Scenario(known="g", synthetic="y")
    by_label = matching_risk(small, small, scenario, targets=["y", "z"])
    assert (by_label.targets, by_label.expected_match_risk, by_label.true_match_rate) == (2, 2, 1)
    mask = matching_risk(small, small, scenario, targets=np.array([False, False, True, True]))
    pd.testing.assert_frame_equal(by_label.records, mask.records)


def test_several_datasets_are_averaged_and_kept(small):
    scenario = Scenario(known="g", synthetic="y")
    shuffled = small.assign(y=small["y"].to_numpy()[::-1])
    risk = matching_risk(small, [small, shuffled], scenario)
    assert risk.by_dataset["expected_match_risk"].tolist() == [4, 0]
    assert risk.expected_match_risk == 2
    assert len(risk.records) == 8


def test_no_unique_match_leaves_the_false_match_rate_undefined(small):
    assert np.isnan(matching_risk(small, small, Scenario(synthetic="y")).false_match_rate)


def test_open_and_closed_boundary(small):
    synthetic = small.assign(y=[12.0, 50.0, 12.0, 50.0])
    closed, opened = (
        matching_risk(small, synthetic, Scenario(synthetic="y", boundary=rule))
        for rule in ("closed", "open")
    )
    assert closed.records["c"].tolist() == [2, 0, 2, 0]
    assert opened.records["c"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": ["q"]}, "1 of 1 targets"),
        ({"targets": []}, "name no record"),
        ({"targets": np.array([True])}, "got 1 for 4"),
        ({"match_on": "y"}, "'both' or 'known'"),
    ],
)
def test_refuses(small, change, message):
    with pytest.raises(InputError, match=message):
        matching_risk(small, small, Scenario(known="g", synthetic="y"), **change)


def test_refuses_no_dataset(small):
    with pytest.raises(InputError, match="at least one"):
        matching_risk(small, [], Scenario(synthetic="y"))
