"""Runs of neighbours against one sort of all candidates and a binary search for every ball."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from riskweighted.intruder.kernels.runs import SHORT
from riskweighted.intruder.patterns import number_codes, number_codes_alike
from riskweighted.intruder.sorted_balls import count_covering, find_runs, sort_balls

pytestmark = pytest.mark.quick

numbers = st.sampled_from([-30.0, -10.0, -1.0, 0.0, 1.0, 9.0, 10.0, 11.0, 12.0, 100.0])


def searched(centre_cell, cell, values, lower, upper):
    """Order of the candidates by cell and value, first and last place of each ball: the slow
    way.
    """
    order = np.lexsort((values, cell))
    found = []
    for own, low, high in zip(centre_cell, lower, upper, strict=True):
        begin, end = np.searchsorted(cell[order], [own, own + 1])
        inside = values[order][begin:end]
        found.append(
            [
                begin + np.searchsorted(inside, low, "left"),
                begin + np.searchsorted(inside, high, "right"),
            ]
        )
    return (order, *np.array(found).T)


def assert_same(runs, centre_cell, cell, values, lower, upper):
    order, first, last = searched(centre_cell, cell, values, lower, upper)
    np.testing.assert_array_equal(runs.first, first)
    np.testing.assert_array_equal(runs.last, last)
    np.testing.assert_array_equal(runs.within, last - first)
    np.testing.assert_array_equal(values[runs.order], values[order])
    np.testing.assert_array_equal(cell[runs.order], cell[order])
    covering, sums, weights = np.zeros(len(cell), dtype=int), [], np.arange(len(cell)) ** 2
    for begin, end in zip(first, last, strict=True):
        members = order[begin:end]
        covering[members] += 1
        sums.append(weights[members].sum())
    np.testing.assert_array_equal(runs.covering(), covering)
    np.testing.assert_array_equal(runs.sums(weights), sums)
    if len(cell) == len(centre_cell):
        inside = (cell == centre_cell) & (lower <= values) & (values <= upper)
        np.testing.assert_array_equal(runs.own_inside, inside)


@settings(max_examples=60)
@given(data=st.data(), n=st.integers(1, 25), m=st.integers(1, 25))
def test_runs_are_those_of_a_binary_search(data, n, m):
    def drawn(what, size):
        return np.array(data.draw(st.lists(what, min_size=size, max_size=size)))

    centre_cell = drawn(st.integers(0, 3), n)
    cell = drawn(st.integers(0, 5), m)
    centres = drawn(numbers, n)
    values = drawn(numbers, m)
    # of any width, so that ends do not rise with the centres
    half = drawn(st.sampled_from([0.0, 1.0, 2.0, 50.0]), n)
    balls = (centre_cell, cell, values, centres - half, centres + half)
    assert_same(find_runs(*balls), *balls)
    sorted_once = sort_balls(centre_cell, centres, centres - half, centres + half)
    assert_same(sorted_once.hold(cell, values), *balls)
    assert_same(sorted_once.hold_centres(), centre_cell, centre_cell, centres, *balls[3:])


@pytest.mark.parametrize("size", [SHORT, SHORT + 1, 5 * SHORT])
@pytest.mark.parametrize("share", [0.2, 1.5])
def test_long_cells_and_short_ones_are_sorted_alike(size, share):
    rng = np.random.default_rng(size)
    cell, other = (rng.permutation(np.repeat([0, 1, 3], [size, 3, size])) for _ in range(2))
    centres, values = (np.round(rng.normal(0, 40, len(cell))) for _ in range(2))
    half = share * np.abs(centres)
    balls = sort_balls(cell, centres, centres - half, centres + half)
    # wider ones overtake each other below zero
    assert (balls.by_upper.order is balls.by_centre.order) == (share < 1)
    assert_same(balls.hold(other, values), cell, other, values, centres - half, centres + half)
    assert_same(balls.hold_centres(), cell, cell, centres, centres - half, centres + half)


@settings(max_examples=60)
@given(
    codes=st.lists(st.sampled_from([0, 1, 2, 7, 900, 10**9]), min_size=1, max_size=12),
    other=st.lists(st.integers(0, 1000), min_size=1),
)
def test_codes_are_numbered_as_by_sorting(codes, other):
    codes, other = np.array(codes), np.array(other)
    found, numbers = np.unique(codes, return_inverse=True)
    np.testing.assert_array_equal(number_codes(codes)[0], numbers)
    np.testing.assert_array_equal(number_codes(codes)[1], found)
    place = {code: number for number, code in enumerate(found.tolist())}
    np.testing.assert_array_equal(
        number_codes_alike(other, found), [place.get(code, len(found)) for code in other.tolist()]
    )
    np.testing.assert_array_equal(number_codes_alike(codes, found), numbers)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), numbers, st.sampled_from([-1.0, 0.0, 1.0, 2.0, 30.0])),
        min_size=1,
        max_size=100,
    )
)
def test_balls_that_hold_a_lower_end_are_counted_without_their_runs(balls):
    cell, lower, width = map(np.array, zip(*balls, strict=True))
    # those of negative width are empty
    upper = np.where(width < 0, np.nextafter(lower, -np.inf), lower + width)
    within = (cell[:, None] == cell) & (lower <= lower[:, None]) & (lower[:, None] <= upper)
    np.testing.assert_array_equal(
        count_covering(cell, lower, upper), (within | np.eye(len(cell), dtype=bool)).sum(axis=1)
    )
