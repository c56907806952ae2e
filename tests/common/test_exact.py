"""Sums and order statistics that do not show how a file was cut."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from riskweighted.common import order
from riskweighted.common.exact import ExactSum
from riskweighted.common.order import OrderCounts

pytestmark = pytest.mark.quick

NUMBERS = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30)


@given(NUMBERS, st.integers(0, 30))
def test_a_sum_is_rounded_once(numbers, cut):
    values, exact = np.array(numbers), sum(map(Fraction, numbers))
    found = ExactSum.of(values[cut:]) + ExactSum.of(values[:cut])
    assert found == ExactSum.of(values)
    assert found.sum == float(exact)
    assert found.mean == float(exact / len(numbers))


@given(
    st.lists(st.tuples(st.floats(-1e300, 1e300), st.integers(0, 2**30)), min_size=1, max_size=20)
)
def test_counts_stand_for_equal_numbers(pairs):
    values = np.array([value for value, _ in pairs])
    counts = np.array([count for _, count in pairs])
    found = ExactSum.of(values, counts)
    assert found.units[0] == sum(Fraction(value) * count for value, count in pairs) * 2**1074
    assert found.count == counts.sum()


def test_rows_are_sums_of_their_own_and_what_is_no_number_stays_so():
    values = np.array([[1.0, 2.0], [np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1.0], [-0.0, 5e-324]])
    np.testing.assert_array_equal(ExactSum.of(values).sums, [3.0, np.inf, np.nan, np.nan, 5e-324])
    np.testing.assert_array_equal(
        ExactSum.of(np.tile(values, (30, 1))).means[-5:], [1.5, np.inf, np.nan, np.nan, 0.0]
    )
    assert math.isnan(ExactSum.of(np.empty(0)).mean)
    assert ExactSum.of(np.full(3, 1e308)).sum == math.inf


@given(NUMBERS, st.integers(0, 30), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(numbers, cut, quantile):
    values = np.array(numbers)
    found = OrderCounts.of(values[cut:]) + OrderCounts.of(values[:cut])
    assert len(found) == len(numbers)
    assert found.quantiles([quantile]) == [np.quantile(values, quantile)]


@pytest.mark.parametrize("most", [1, 7, 300])
def test_a_bounded_count_finds_them_in_a_few_looks(most, monkeypatch):
    monkeypatch.setattr(order, "_MOST", most)
    rng = np.random.default_rng(most)
    values = np.concatenate(
        [
            rng.random(900),
            rng.normal(size=900) * 1e-3,
            np.zeros(300),
            np.full(7, -0.0),
            rng.integers(0, 20, 400) / 20,
        ]
    )
    parts, quantiles = np.array_split(rng.permutation(values), 5), [0.0, 0.25, 0.5, 0.75, 0.95, 1.0]
    found, looks = sum((OrderCounts.of(part) for part in parts[1:]), OrderCounts.of(parts[0])), 1
    # bins of 16 bits, however few are allowed, against 2,000 different numbers
    assert len(found.first) < 400
    while (bins := found.unsettled(found.ranks(quantiles))) is not None:
        looked = [OrderCounts.of(part, bins) for part in parts]
        again = sum(looked[1:], looked[0])
        backwards = sum(looked[-2::-1], looked[-1])
        np.testing.assert_array_equal(again.first, backwards.first)
        np.testing.assert_array_equal(again.bits, backwards.bits)
        found, looks = found.finer(again), looks + 1
    assert 1 < looks <= 4
    assert len(found) == len(values)
    assert found.quantiles(quantiles) == np.quantile(values, quantiles).tolist()
