import numpy as np
import pandas as pd
import pytest

from riskweighted import Scenario
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.intruder.pairing import check_synthetic, pair

pytestmark = pytest.mark.quick

scenario = Scenario(known="g", synthetic="y")


@pytest.fixture
def confidential():
    return pd.DataFrame(
        {"id": [7, 8, 9], "g": [1, 2, 1], "y": [1.0, 2.0, 3.0]}, index=["a", "b", "c"]
    )


def test_by_index_in_any_order(confidential):
    pd.testing.assert_frame_equal(
        pair(confidential, confidential.iloc[::-1], scenario), confidential[["g", "y"]]
    )


def test_by_position_where_the_index_differs(confidential):
    pd.testing.assert_frame_equal(
        pair(confidential, confidential.reset_index(drop=True), scenario), confidential[["g", "y"]]
    )


def test_by_identifier(confidential):
    shuffled = confidential.sample(frac=1, random_state=1).reset_index(drop=True)
    pd.testing.assert_frame_equal(
        pair(confidential, shuffled, scenario, identifier="id"), confidential[["g", "y"]]
    )


def test_text_digits_are_compared_as_numbers_and_said(confidential):
    with pytest.warns(RiskWeightedWarning, match="'g' is int64.*compared as numbers"):
        paired = pair(confidential, confidential.assign(g=confidential["g"].astype(str)), scenario)
    assert paired["g"].tolist() == [1, 2, 1]


def test_numbers_are_spelled_as_the_confidential_text(confidential):
    text = confidential.assign(g=["01", "02", "01"])
    with pytest.warns(RiskWeightedWarning, match="compared as numbers"):
        paired = pair(text, confidential, scenario)
    assert paired["g"].tolist() == ["01", "02", "01"]


def test_a_missing_number_is_missing_and_no_word(confidential):
    text = confidential.assign(g=["01", "02", "01"])
    with pytest.warns(RiskWeightedWarning, match="compared as numbers"):
        paired = pair(text, confidential.assign(g=[1.0, np.nan, 7.0]), scenario)
    assert paired["g"].isna().tolist() == [False, True, False]
    assert paired["g"].dropna().tolist() == ["01", "7.0"]


@pytest.mark.parametrize(
    ("change", "identifier", "message"),
    [
        (lambda f: f.iloc[1:], None, "3 confidential and 2 synthetic"),
        (lambda f: f.drop(columns="y"), None, "no column 'y'"),
        (
            lambda f: f.assign(g=["x", "y", "z"]),
            None,
            "'g' is numeric in the confidential data and text",
        ),
        (lambda f: f.assign(id=[7, 7, 9]), "id", "'id' is missing or repeated in 1"),
        (lambda f: f.assign(id=[7, 8, 10]), "id", "1 of 3 confidential records"),
        (lambda f: f, "key", "no column 'key'"),
    ],
)
def test_refuses(confidential, change, identifier, message):
    with pytest.raises(InputError, match=message):
        pair(confidential, change(confidential), scenario, identifier=identifier)


def test_missing_known_values_stay_missing(confidential):
    frame = confidential.assign(g=[1, np.nan, 1])
    assert pair(frame, frame, scenario)["g"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_known_values_are_compared_whatever_holds_them(dtype):
    own = pd.DataFrame({"g": ["a", None, "b", "b"], "h": [1, 2, 3, 4], "y": [1.0, 2.0, 3.0, 4.0]})
    both = Scenario(known=("g", "h"), synthetic="y")
    other = own.assign(g=own["g"].astype(dtype), h=own["h"].astype(float))
    check_synthetic(own, other, both, "dataset")
    check_synthetic(own, own.assign(y=own["y"] * 2), both, "dataset")
    with pytest.raises(
        InputError,
        match=r"^dataset: the known variables 'g', 'h' differ from the confidential data in 2 "
        r"records",
    ):
        check_synthetic(own, other.assign(h=[1, 9, 3, 8]), both, "dataset")
    with pytest.raises(InputError, match="in 1 records"):
        check_synthetic(own, own.assign(g=["a", "b", "b", "b"]), both, "dataset")
