import numpy as np
import pandas as pd
import pytest

from riskweighted.common.groups import group_codes

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(1, 11), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),  # quintiles
        # at most five values beside the spike: one group each
        ([0, 0, 0, 0, 0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]),
        # the others into quintiles of their own
        ([-8] * 10 + list(range(1, 11)), [-8] * 10 + [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        ([3, 1, 2, 3], [3, 1, 2, 3]),
        ([7, 7, 7], [7, 7, 7]),
        ([1, np.nan, 2], [1, np.nan, 2]),
        ([np.nan, np.nan], [np.nan, np.nan]),
    ],
)
def test_groups_of_numbers(values, expected):
    codes = group_codes([pd.Series(list(values), dtype=float)], 5, numeric=True)[0]
    theirs = pd.factorize(pd.Series(expected, dtype=float))[0]
    np.testing.assert_array_equal(pd.factorize(pd.Series(codes).where(codes > 0))[0], theirs)
    order = pd.DataFrame({"value": list(values), "code": codes}).dropna().sort_values("value")
    assert order["code"].is_monotonic_increasing


def test_a_spike_inside_the_range_keeps_both_its_sides_apart():
    values = pd.Series([-3.0, -2, -1] * 10 + [0.0] * 60 + [10.0, 20, 30, 40, 50, 60] * 10)
    codes = group_codes([values, pd.Series([-1e9, -1e-300, 0.0, 1e-300, 1e9])], 5, numeric=True)
    assert len({code for value, code in zip(values, codes[0], strict=True) if value == 0}) == 1
    assert set(codes[0][values < 0]).isdisjoint(codes[0][values == 0])
    assert set(codes[0][values > 0]).isdisjoint(codes[0][values == 0])
    assert len(set(codes[1])) == 5
    assert codes[1].min() >= 1


@pytest.mark.parametrize("dtype", [object, "category", "string"])
def test_groups_of_categories_are_alike_in_all_columns(dtype):
    first = pd.Series(["b", "a", None, "b"], dtype=dtype)
    second = pd.Series([None, "c", "a", "b"], dtype=object)
    codes = group_codes([first, second], 5, numeric=False)
    np.testing.assert_array_equal(codes[0], [2, 1, 0, 2])
    np.testing.assert_array_equal(codes[1], [0, 3, 1, 2])


def test_declared_categories_keep_their_order():
    column = pd.Series(
        pd.Categorical(["low", "high", None], categories=["low", "middle", "high"], ordered=True)
    )
    np.testing.assert_array_equal(group_codes([column], 5, numeric=False)[0], [1, 3, 0])


def test_truth_values_and_mixed_objects():
    np.testing.assert_array_equal(
        group_codes([pd.Series([True, False, True])], 5, numeric=False)[0], [2, 1, 2]
    )
    mixed = pd.Series([1, "a", None, pd.NA, float("nan"), 1], dtype=object)
    np.testing.assert_array_equal(group_codes([mixed], 5, numeric=False)[0], [1, 2, 0, 0, 0, 1])


def test_a_column_without_values_sets_no_cut():
    codes = group_codes(
        [pd.Series([None, None], dtype=object), pd.Series([1.0, 2.0])], 5, numeric=True
    )
    assert [list(own) for own in codes] == [[0, 0], [1, 1]]
