import warnings
from dataclasses import replace

import brute
import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, settings as hypothesis_settings, strategies as st

from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.risk.identification import identification_risk, identification_risks

# toy data are small
pytestmark = [pytest.mark.filterwarnings("ignore::riskweighted.common.errors.UnscoredWarning")]

quick = hypothesis_settings(max_examples=60)
KINDS = st.sampled_from([(True, False), (False, True), (True, True)])
KNOWN = ("sex", "age")
SETTINGS = Scenario(known=KNOWN, synthetic="income")


def betty_and_others(incomes):
    """The paper's example: Betty, first, shares her pattern with 12 others; two more records stand
    in another pattern.
    """
    return pd.DataFrame(
        {"sex": ["f"] * 13 + ["m"] * 2, "age": 40, "income": [*incomes, 100.0, 101.0]},
        index=[f"id{i}" for i in range(15)],
    )


CONFIDENTIAL = betty_and_others([100.0, 81.0, 119.0] + [200.0 + j for j in range(10)])


def test_betty_in_the_confidential_data():
    risk = identification_risk(CONFIDENTIAL, scenario=SETTINGS)
    assert risk["id0"] == 10 / 13
    assert risk["id13"] == 0
    assert risk.name == "identification_risk"
    assert risk.index.equals(CONFIDENTIAL.index)


def test_betty_is_found_among_eight_close_synthetic_values():
    released = betty_and_others([110.0] + [95.0] * 7 + [300.0] * 5)
    risk = identification_risk(CONFIDENTIAL, released, SETTINGS)
    assert risk["id0"] == 5 / 13
    assert risk.name == "identification_risk"
    assert risk.index.equals(CONFIDENTIAL.index)


def test_betty_is_safe_where_her_own_synthetic_value_left_her_ball():
    released = betty_and_others([130.0] + [95.0] * 7 + [300.0] * 5)
    assert identification_risk(CONFIDENTIAL, released, SETTINGS)["id0"] == 0


def test_the_ball_stays_around_the_confidential_value():
    # Her synthetic 120 is on the closed boundary of [80, 120]; around 120 the ball would hold 130
    # as well.
    released = betty_and_others([120.0] + [130.0] * 12)
    assert identification_risk(CONFIDENTIAL, released, SETTINGS)["id0"] == 12 / 13
    opened = Scenario(known=KNOWN, synthetic="income", boundary="open")
    assert identification_risk(CONFIDENTIAL, released, opened)["id0"] == 0


def test_several_datasets_are_averaged():
    near = betty_and_others([110.0] + [95.0] * 7 + [300.0] * 5)
    away = betty_and_others([130.0] + [95.0] * 7 + [300.0] * 5)
    each = identification_risks(make_world(CONFIDENTIAL, SETTINGS).pair([near, away, away]))
    assert each.shape == (3, 15)
    assert each[:, 0].tolist() == [5 / 13, 0, 0]
    mean = identification_risk(CONFIDENTIAL, [near, away, away], SETTINGS)
    np.testing.assert_allclose(mean, each.mean(axis=0), atol=1e-15)
    assert mean["id0"] == pytest.approx(5 / 39, abs=1e-15)
    pd.testing.assert_series_equal(
        identification_risk(CONFIDENTIAL, (near,), SETTINGS),
        identification_risk(CONFIDENTIAL, near, SETTINGS),
    )


def test_releasing_the_confidential_data_gives_the_confidential_risk():
    np.testing.assert_array_equal(
        identification_risk(CONFIDENTIAL, CONFIDENTIAL, SETTINGS),
        identification_risk(CONFIDENTIAL, scenario=SETTINGS),
    )


def test_a_categorical_synthetic_variable_is_matched_by_equality():
    confidential = pd.DataFrame({"job": pd.Series(["a", "a", "b", "c"], dtype="category")})
    released = pd.DataFrame({"job": pd.Series(["a", "b", "b", "a"], dtype="category")})
    risk = identification_risk(confidential, released, Scenario(synthetic="job"))
    assert risk.tolist() == [2 / 4, 0, 2 / 4, 0]


@given(data=st.data(), frame=brute.frames(), kind=KINDS)
@quick
def test_synthetic_risk_is_that_of_the_loops(data, frame, kind):
    settings = data.draw(brute.settings(*kind))
    synthetic = [data.draw(brute.released(frame)) for _ in range(2)]
    expected = np.array([brute.synthetic_risk(frame, one, settings) for one in synthetic])
    risks = identification_risks(make_world(frame, Scenario(**settings)).pair(synthetic))
    np.testing.assert_allclose(risks, expected, rtol=0, atol=1e-12)
    mean = identification_risk(frame, synthetic, Scenario(**settings))
    np.testing.assert_allclose(mean, expected.mean(axis=0), rtol=0, atol=1e-12)
    assert mean.index.equals(frame.index)


@given(data=st.data(), frame=brute.frames(), kind=KINDS)
@quick
def test_confidential_risk_is_that_of_the_loops(data, frame, kind):
    settings = data.draw(brute.settings(*kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingletonWarning)
        risk = identification_risk(frame, scenario=Scenario(**settings))
    np.testing.assert_allclose(risk, brute.confidential_risk(frame, settings), rtol=0, atol=1e-12)


@given(data=st.data(), frame=brute.frames())
@quick
def test_permuting_the_records_permutes_the_risk(data, frame):
    scenario = Scenario(**data.draw(brute.settings()))
    synthetic = data.draw(brute.released(frame))
    order = data.draw(st.permutations(range(len(frame))))
    risk = identification_risk(frame, synthetic, scenario)
    shuffled = identification_risk(frame.iloc[order], synthetic.iloc[order], scenario)
    np.testing.assert_array_equal(shuffled, risk.iloc[order])


def test_a_record_alone_in_its_pattern_is_found_by_it():
    alone = CONFIDENTIAL.iloc[[0, 13, 14]]
    with pytest.warns(SingletonWarning, match="1 of 2 known patterns"):
        assert identification_risk(alone, scenario=SETTINGS).tolist() == [1, 0, 0]
    assert identification_risk(alone, alone, SETTINGS).tolist() == [1, 0, 0]
    paper = replace(SETTINGS, singletons="paper")
    assert identification_risk(alone, alone, paper).tolist() == [0, 0, 0]


def test_missing_known_values_pair_across_frames_of_other_dtypes():
    confidential = pd.DataFrame(
        {"a": pd.Series(["x", None, None], dtype="category"), "y": [1.0, 5.0, 50.0]}
    )
    released = confidential.assign(
        a=pd.Series(["x", np.nan, pd.NA], dtype=object), y=[1.0, 5.0, 5.0]
    )
    assert identification_risk(
        confidential, released, Scenario(known="a", synthetic="y")
    ).tolist() == [1, 0, 0]
    assert identification_risk(
        confidential, confidential, Scenario(known="a", synthetic="y")
    ).tolist() == [1, 0.5, 0.5]


def test_more_columns_and_their_order_do_not_matter():
    released = betty_and_others([110.0] + [95.0] * 7 + [300.0] * 5)
    other = released.assign(extra=np.nan)[["extra", "income", "age", "sex"]]
    expected = identification_risk(CONFIDENTIAL, released, SETTINGS)
    pd.testing.assert_series_equal(identification_risk(CONFIDENTIAL, other, SETTINGS), expected)


def test_a_numeric_variable_may_come_back_in_another_numeric_dtype():
    whole = CONFIDENTIAL.assign(income=CONFIDENTIAL["income"].astype("Int64"))
    expected = identification_risk(CONFIDENTIAL, CONFIDENTIAL, SETTINGS)
    np.testing.assert_array_equal(identification_risk(CONFIDENTIAL, whole, SETTINGS), expected)


SECRETS = betty_and_others([SECRET] * 13)


@pytest.mark.parametrize(
    ("released", "named"),
    [
        (SECRETS.iloc[:-1], ["14 records", "15"]),
        (SECRETS.iloc[:0], ["no records"]),
        (SECRETS.reset_index(drop=True), ["index", "order"]),
        (SECRETS.iloc[::-1], ["index", "order"]),
        (SECRETS.drop(columns="income"), ["'income'", "'sex'"]),
        (SECRETS.drop(columns="age"), ["'age'", "'income'"]),
        (pd.concat([SECRETS, SECRETS[["income"]]], axis=1), ["'income'", "more than once"]),
        (
            SECRETS.assign(income=[SECRET] * 12 + [np.nan] * 3),
            ["'income'", "missing in 3 of 15", "none of the confidential"],
        ),
        (SECRETS.assign(income=[SECRET] * 14 + [np.inf]), ["'income'", "infinite in 1 of 15"]),
        (SECRETS.assign(income="987654.321"), ["'income'", "dtype", "float64"]),
        (SECRETS.assign(income=True), ["'income'", "dtype bool", "float64"]),
        (SECRETS.assign(age=[987654] * 2 + [40] * 13), ["'age'", "in 2 records"]),
        (SECRETS.assign(sex=["f"] * 13 + ["m", None]), ["'sex'", "in 1 records"]),
        (SECRETS.to_numpy(), ["DataFrame", "ndarray"]),
    ],
)
def test_a_synthetic_frame_that_does_not_pair_is_refused_with_its_number(released, named):
    with pytest.raises(InputError) as caught:
        identification_risk(SECRETS, [SECRETS, released], SETTINGS)
    assert_clear(caught, "synthetic dataset 2", *named)


def test_two_records_that_swap_their_known_values_are_noticed():
    swapped = CONFIDENTIAL.assign(sex=["m", *["f"] * 12, "f", "m"])
    with pytest.raises(InputError) as caught:
        identification_risk(CONFIDENTIAL, swapped, SETTINGS)
    assert_clear(caught, "'sex', 'age'", "in 2 records", "synthetic dataset 1")


def test_text_released_as_numbers_is_refused():
    confidential = pd.DataFrame({"job": ["a", "b"]})
    with pytest.raises(InputError) as caught:
        identification_risk(
            confidential, pd.DataFrame({"job": [SECRET, 2.0]}), Scenario(synthetic="job")
        )
    assert_clear(caught, "'job'", "dtype float64")


def test_no_synthetic_dataset_is_refused():
    with pytest.raises(InputError) as caught:
        identification_risk(SECRETS, [], SETTINGS)
    assert_clear(caught, "synthetic dataset", "at least one")


@pytest.mark.parametrize("released", [None, CONFIDENTIAL], ids=["confidential", "synthetic"])
@pytest.mark.parametrize(
    ("confidential", "named"),
    [
        (SECRETS.drop(columns="sex"), ["'sex'"]),
        (SECRETS.assign(income=np.nan), ["'income'", "missing in 15 of 15"]),
        (SECRETS.assign(income=[SECRET] * 14 + [-np.inf]), ["'income'", "infinite in 1 of 15"]),
        (SECRETS.iloc[:0], ["no records"]),
    ],
)
def test_unusable_confidential_data_are_refused(confidential, named, released):
    with pytest.raises(InputError) as caught:
        identification_risk(confidential, released, SETTINGS)
    assert_clear(caught, "confidential data", *named)


def test_the_order_is_confidential_synthetic_scenario_and_any_order_by_name():
    released = CONFIDENTIAL.assign(income=CONFIDENTIAL["income"].to_numpy()[::-1])
    expected = identification_risk(CONFIDENTIAL, released, SETTINGS)
    pd.testing.assert_series_equal(
        identification_risk(CONFIDENTIAL, scenario=SETTINGS, synthetic=released), expected
    )
    of_the_data = identification_risk(CONFIDENTIAL, None, SETTINGS)
    pd.testing.assert_series_equal(
        identification_risk(CONFIDENTIAL, scenario=SETTINGS), of_the_data
    )
    assert not expected.equals(of_the_data)


@pytest.mark.parametrize(
    "arguments",
    [
        (CONFIDENTIAL, SETTINGS),
        (CONFIDENTIAL, SETTINGS, CONFIDENTIAL),
        (CONFIDENTIAL,),
        (CONFIDENTIAL, CONFIDENTIAL),
    ],
)
def test_the_old_order_by_position_and_no_scenario_are_refused(arguments):
    with pytest.raises(InputError) as caught:
        identification_risk(*arguments)
    assert_clear(caught, "scenario", "identification_risk(confidential, synthetic, scenario)")


def test_a_record_alone_in_its_pattern_is_as_risky_as_its_value_is_near():
    frame = pd.DataFrame({"group": list("abb"), "y": [100.0, 50.0, 200.0]})
    near, far = (frame.assign(y=[value, 60.0, 70.0]) for value in (101.0, 500.0))
    protect = Scenario(known="group", synthetic="y")
    assert identification_risk(frame, near, protect).iloc[0] == 1
    assert identification_risk(frame, far, protect).iloc[0] == 0
    assert identification_risk(frame, [near, far, far, near], protect).iloc[0] == 0.5
    assert (
        identification_risk(
            frame, near, Scenario(known="group", synthetic="y", singletons="paper")
        ).iloc[0]
        == 0
    )
