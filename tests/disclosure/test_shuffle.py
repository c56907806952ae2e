"""Rows leave in an order that keeps every released pattern and every unit, and says nothing
else.
"""

import numpy as np
import pytest

from riskweighted.disclosure.shuffle import leaving_rows, shuffled_rows

pytestmark = pytest.mark.quick


def test_rows_stay_within_their_pattern_and_every_order_is_as_likely():
    patterns, rng = np.array([2, 0, 2, 0, 2, 1]), np.random.default_rng(1)
    drawn = np.array([shuffled_rows(patterns, rng) for _ in range(6_000)])
    assert (np.sort(drawn, axis=1) == np.arange(6)).all()
    assert (patterns[drawn] == patterns).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 12  # 3! x 2! x 1!
    assert ((counts - 500) ** 2 / 500).sum() < 40  # chi-squared with 11 degrees of freedom


def test_rows_of_a_unit_move_together_to_a_unit_of_the_same_patterns():
    units = np.array([0, 1, 0, 1, 2, 3, 3, 4, 4])
    patterns = np.array([5, 6, 6, 5, 5, 5, 5, 6, 5])
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(200):
        rows = shuffled_rows(patterns, rng, units)
        assert sorted(rows) == list(range(9))
        assert (patterns[rows] == patterns).all()
        for unit in range(5):
            assert len(set(units[rows[units == unit]])) == 1
        seen.add(tuple(units[rows[[0, 1, 7]]]))
    assert len(seen) == 6  # the three units of one row with 5 and one with 6
    assert all(set(order) == {0, 1, 4} for order in seen)


def test_a_row_that_is_alone_stays():
    assert shuffled_rows(np.arange(50), np.random.default_rng(0)).tolist() == list(range(50))


def test_rows_of_no_unit_leave_in_any_order():
    rng = np.random.default_rng(3)
    assert len({tuple(leaving_rows(5, rng)) for _ in range(2_000)}) == 120
