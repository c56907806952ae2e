"""Survey weights as a column: normalised, or refused in a line without a value."""

import numpy as np
import pandas as pd
import pytest
from brute import SECRET, assert_clear
from hypothesis import given, strategies as st

import riskweighted as rw
from riskweighted.common.errors import InputError
from riskweighted.common.survey_weights import checked_survey

pytestmark = pytest.mark.quick


def frame(values, **columns):
    return pd.DataFrame({"w": values, **columns}, index=[f"r{i}" for i in range(len(values))])


def test_they_sum_to_n_and_keep_the_index():
    found = rw.survey_weights(frame([1, 2, 5]), "w")
    assert found.tolist() == [0.375, 0.75, 1.875]
    assert (list(found.index), found.name) == (["r0", "r1", "r2"], "survey")


@given(
    st.lists(st.floats(0, 1e300), min_size=1, max_size=30).filter(
        lambda values: max(values) > 1e-300
    ),
    st.floats(1e-3, 1e3),
)
def test_any_scale_gives_the_same(values, scale):
    found = rw.survey_weights(frame(values), "w")
    assert found.sum() == pytest.approx(len(values))
    assert (found >= 0).all()
    again = rw.survey_weights(frame(list(np.array(values) / max(values) * scale)), "w")
    np.testing.assert_allclose(found, again, rtol=1e-9, atol=1e-12)


def test_nullable_and_whole_columns_are_numbers_too():
    assert rw.survey_weights(frame(pd.array([1, 3], dtype="Int64")), "w").tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan, -SECRET], "1 are missing, 0 infinite and 1 negative, of 3"),
        ([1.0, np.inf, SECRET], "0 are missing, 1 infinite and 0 negative, of 3"),
        (pd.array([1, None, 3], dtype="Int64"), "1 are missing"),
        ([0, 0, 0], "all 3 are zero; valid is at least one above 0"),
        (["1", "2", "3"], "must be numbers >= 0, got dtype"),
        ([True, False, True], "got dtype bool"),
        ([1j, 2j, 3j], "got dtype complex128"),
    ],
)
def test_wrong_weights_are_refused_in_a_line(values, message):
    with pytest.raises(InputError, match=message) as raised:
        rw.survey_weights(frame(values), "w")
    assert_clear(raised)


def test_other_wrong_input():
    data = frame([1.0, 2.0])
    with pytest.raises(InputError, match="no column 'v'; it has 'w'"):
        rw.survey_weights(data, "v")
    with pytest.raises(InputError, match="survey must be the name of a column, got int"):
        rw.survey_weights(data, 3)
    with pytest.raises(InputError, match="one weight for each of 2 records"):
        checked_survey(np.ones(3), data)
    with pytest.raises(InputError, match="have the index of the confidential data"):
        checked_survey(pd.Series([1.0, 2.0]), data)
    assert checked_survey(None, data) is None
    pd.testing.assert_series_equal(
        checked_survey(np.array([1.0, 2.0]), data), checked_survey("w", data)
    )
