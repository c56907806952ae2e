"""Released numbers are as fine as the confidential column, and no finer."""

import numpy as np
import pandas as pd
import pytest

from riskweighted.design.precision import find_precision, in_words, round_to

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("values", "precision"),
    [
        ([1000, 25000, 0, -3000], 1000),
        ([1.5, 2.0, 0.1], 0.1),
        ([0.01, 1e5, 99.99], 0.01),
        ([3.0, 7.0, np.nan], 1.0),
        ([1e6, 5e6], 1e6),
        ([1 / 3, 2.5], None),
        ([0.0, 0.0], None),
        ([123456789.12345678, 1.0], None),
        ([], None),
        ([1e-4, 3.3e-4, 9.7e-4], 1e-5),
        ([2e-9, 3e-9], None),
        ([*range(100, 4000, 100), 100000 / 3], 100),
        ([1, 2, 100 / 3], None),
        ([*np.arange(1, 400) / 100, 1e12], 0.01),
    ],
)
def test_precision_worked_by_hand(values, precision):
    assert find_precision(pd.Series(values, dtype=float)) == (
        None if precision is None else pytest.approx(precision)
    )


SPREAD = np.exp(np.random.default_rng(0).normal(3.3, 1.6, 400))
CENTS = SPREAD.round(2)


def written(values, digits):
    return [float(f"{value:.{digits}g}") for value in np.asarray(values)]


@pytest.mark.parametrize(
    ("values", "precision"),
    [
        (written(SPREAD.astype(np.float32), 8), None),
        (written(CENTS.astype(np.float32), 8), 0.01),
        (written(CENTS.astype(np.float32), 9), 0.01),
        (CENTS.astype(np.float32).astype(float), 0.01),
        ([*written(CENTS.astype(np.float32), 8), *SPREAD[:10]], 0.01),
        (SPREAD.astype(np.float32), None),
        (SPREAD.astype(np.float16), None),
        *((written(SPREAD, digits), None) for digits in (6, 7, 8)),
        (CENTS, 0.01),
        ((1e4 * SPREAD).round(2), 0.01),
        ((1e4 * SPREAD).round(6), 1e-6),
        ((CENTS * 20).round() / 20, 0.01),
        (500 * (CENTS * 100 // 500), 100),
        (written(1e4 * SPREAD, 2), 10),
        ((1e6 * SPREAD).round(), 1),
    ],
)
def test_numbers_that_were_held_or_written_with_few_digits_lie_on_no_grid_of_their_digits(
    values, precision
):
    assert find_precision(pd.Series(values)) == (
        None if precision is None else pytest.approx(precision)
    )


@pytest.mark.parametrize("constant", [1 / 40, 0.9134, 1 / 1.0948, 1 / 12, 1.37, 250])
def test_the_step_of_multiples_of_one_constant_is_that_constant(constant):
    values = np.random.default_rng(1).lognormal(7, 0.5, 1_500).round() * constant
    step = find_precision(pd.Series([*values, np.nan, 0]))
    assert step == pytest.approx(constant, rel=1e-14)
    assert round_to(values, step) == pytest.approx(values, rel=1e-14)
    assert round_to(values + 0.4 * constant, step) == pytest.approx(values, rel=1e-14)
    assert round_to(np.array([3 / 40]), 1 / 40)[0] == 0.075  # as it is written


def test_one_value_that_is_no_multiple_or_a_divisor_by_chance_leaves_the_power_of_ten():
    values = np.random.default_rng(1).lognormal(7, 0.5, 1_500).round()
    assert find_precision(pd.Series([*(values / 40), 0.013])) == pytest.approx(0.001)
    # three different values say nothing
    assert find_precision(pd.Series([25.0, 50.0, 125.0] * 50)) == 1
    assert find_precision(pd.Series((values * 0.9134).round(2))) == pytest.approx(0.01)


def test_whole_number_and_nullable_columns():
    assert find_precision(pd.Series([50, 100, 150])) == 10
    assert find_precision(pd.Series([1, 2, None], dtype="Int64")) == 1


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
def test_numbers_of_single_precision_are_read_as_their_shortest_decimals(dtype):
    cents = pd.Series([81234.56, 12.35, 0.01, None], dtype=dtype)
    assert find_precision(cents) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (1000, [1000.0, -2000.0, 0.0]),
        (0.01, [1234.57, -1999.99, 0.0]),
        (0.25, [1234.5, -2000.0, 0.0]),
        (None, [1234.568, -1999.99, 0.0001234568]),
    ],
)
def test_rounding_worked_by_hand(precision, expected):
    assert round_to(np.array([1234.56789, -1999.99, 0.00012345678]), precision).tolist() == expected


def test_rounding_makes_no_negative_zero():
    assert not np.signbit(round_to(np.array([-0.1]), 1.0))[0]


def test_in_words():
    assert (in_words(0.01), in_words(None)) == ("multiples of 0.01", "7 significant digits")
