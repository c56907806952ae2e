"""A column that gives the sensitive one away is found in every disguise; a mere predictor is not."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.risk.copies import as_numbers, find_copies, refuse_copies

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(4)
INCOME = np.round(np.exp(RNG.normal(9.5, 0.7, 382)), 2)
GAPS = pd.Series(INCOME).mask(RNG.random(382) < 0.3)

DISGUISES = {
    "itself": pd.Series(INCOME),
    "one missing": pd.Series(INCOME).where(np.arange(382) != 7),
    "gaps": GAPS,
    "USD": pd.Series([f"{v:.2f} USD" for v in INCOME]),
    "dollars grouped": pd.Series([f"${v:,.2f}" for v in INCOME]),
    "comma": pd.Series([f"{v:.2f}".replace(".", ",") for v in INCOME]),
    "German": pd.Series([f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in INCOME]),
    "category": pd.Series([f"{v:.2f}" for v in INCOME]).astype("category"),
    "monthly": pd.Series(np.round(INCOME / 12, 2)),
    "logarithm": pd.Series(np.log(INCOME)),
    "rank": pd.Series(INCOME).rank(),
    "negated": pd.Series(-INCOME),
    "text with gaps": GAPS.map(lambda v: "n/a" if np.isnan(v) else f"EUR {v:,.0f}"),
    "half of it": pd.Series(INCOME).where(np.arange(382) % 2 == 0, 1.0),
    "half of it in cents": pd.Series(np.where(np.arange(382) % 2 == 0, INCOME * 100, RNG.permutation(INCOME) * 100)),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_copies_are_found(name):
    assert find_copies(INCOME, DISGUISES[name])
    frame = pd.DataFrame({"income": INCOME, "other": DISGUISES[name]})
    with pytest.raises(InputError, match="'other' is to be released unaltered, but it gives away the synthesized 'income'"):
        refuse_copies(frame, "income", ["other"])


@pytest.mark.parametrize(
    "column",
    [
        np.round(INCOME * np.exp(RNG.normal(0, 0.3, 382)), 2),
        RNG.integers(18, 90, 382),
        [f"area {v}" for v in RNG.integers(0, 9, 382)],
        RNG.random(382) < 0.5,
        pd.date_range("2020-01-01", periods=382),
        np.where(np.median(INCOME) < INCOME, "high", "low"),
        [None] * 382,
        np.arange(382),
    ],
)
def test_predictors_are_no_copies(column):
    assert find_copies(INCOME, pd.Series(column)) == ""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234,568", 1234568),
        ("1.234.567,891", 1234567.891),
        ("12,5 %", 12.5),
        ("-3", -3),
        ("1e3", 1000),
        ("a", np.nan),
        ("1 to 2", np.nan),
    ],
)
def test_numbers_in_texts(text, number):
    np.testing.assert_equal(as_numbers(pd.Series([text])), [number])


def test_a_variable_with_missing_values_is_compared_where_it_has_some():
    missing = RNG.random(382) < 0.3
    assert find_copies(np.where(missing, np.nan, INCOME), pd.Series(INCOME)) == "is in the same order"
    whole = pd.Series(np.rint(INCOME)).mask(missing).astype("Int64")
    with pytest.raises(InputError, match="gives away"):
        refuse_copies(pd.DataFrame({"y": whole, "copy": INCOME}), "y", ["copy"])
