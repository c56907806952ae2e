"""Numbers as people read them."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from shown import read_number, unread

from riskweighted.common.numbers import exactly, format_column, format_columns

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.0671, 0.02085, 0.0000444, 0.0], ["0.067", "0.021", "<0.001", "0.000"]),
        ([19.6113, 4.11, 0.004, -0.002], ["19.61", "4.11", "<0.01", ">-0.01"]),
        ([12345.0, 7.0, math.nan, None], ["12,345", "7", "n/a", "n/a"]),
        ([45123.4, -1234.6, "yes"], ["45,123", "-1,235", "yes"]),
        ([1.0, 0.2197], ["1.000", "0.220"]),
        ([-0.0, 3.0], ["0", "3"]),
        ([1e15, 1.5], ["1,000,000,000,000,000", "2"]),
        ([0.00012], ["<0.001"]),
        ([0.9996, 0.99949], ["1.000", "0.999"]),
        ([], []),
    ],
)
def test_a_column_by_hand(values, shown):
    assert format_column(values) == shown


def test_decimals_that_are_asked_for():
    assert format_column([0.00012, 0.0123], 6) == ["0.000120", "0.012300"]
    assert format_column([1234.5, 0.0004], 0) == ["1,234", "<1"]
    assert format_column([math.nan, 2], 1, missing="-") == ["-", "2.0"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.05, "0.05"),
        (1e-6, "0.000001"),
        (1234567.25, "1,234,567.25"),
        (-0.5, "-0.5"),
        (0, "0"),
        (1e6, "1,000,000"),
        (math.inf, "inf"),
    ],
)
def test_a_setting_keeps_its_digits(value, shown):
    assert exactly(value) == shown


@given(st.lists(st.floats(-1e12, 1e12), min_size=1))
def test_a_column_has_the_same_decimals_and_no_power_of_ten(values):
    shown = format_column(values)
    assert (
        len({len(text.partition(".")[2]) for text in shown if text[0] not in "<>" or text != "<1"})
        == 1
    )
    assert unread(shown) == []
    step = 10.0 ** -len(shown[0].partition(".")[2])
    plain = [
        (read_number(text), value)
        for text, value in zip(shown, values, strict=True)
        if text[0] not in "<>"
    ]
    assert all(abs(read - value) <= step * 0.5001 + 1e-12 * abs(value) for read, value in plain)
    assert all(
        0 < abs(value) <= step for text, value in zip(shown, values, strict=True) if text[0] in "<>"
    )


def test_each_column_of_a_table_by_itself():
    table = pd.DataFrame(
        [[1.0, 0.5, "a"], [20000.0, np.nan, "b"]], columns=["x", "x", "name"], index=["p", "q"]
    )
    shown = format_columns(table, missing="-")
    assert shown.to_numpy().tolist() == [["1", "0.500", "a"], ["20,000", "-", "b"]]
    assert (shown.index.tolist(), shown.columns.tolist()) == (["p", "q"], ["x", "x", "name"])
    assert format_columns(table.iloc[:0]).shape == (0, 3)
