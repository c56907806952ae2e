"""Bins, points and knots of the transformation model, held to counting by hand."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from riskweighted_models.grid import (
    bin_ends,
    class_of,
    default_knots,
    draw_point,
    find_ends,
    make_grid,
)
from riskweighted_models.kernels.bin_points import shares_below

from riskweighted.common.errors import InputError

KNOTS = np.array([200.0, 1000.0, 5000.0])


@pytest.fixture(scope="module")
def grid():
    return make_grid(0, 20_000, KNOTS, 1.0, True)


def test_points_of_every_bin_are_those_counted_one_by_one(grid):
    values = np.arange(1, 20_001)
    bins, heap = grid.bin_of(values.astype(float)), class_of(values, grid.heaps)
    counted = np.zeros(grid.points.shape)
    np.add.at(counted, (bins, heap), 1)
    np.testing.assert_array_equal(counted, grid.points)


def test_edges_are_round_and_end_at_the_bounds(grid):
    assert grid.edges[0] == 1
    assert grid.edges[-1] == 20_000
    assert all(float(f"{edge:.1e}") == edge for edge in grid.edges)
    assert (np.diff(grid.edges) > 0).all()


@pytest.mark.parametrize(
    ("middle", "sd"), [(13.5, 0.05), (1967.0, 0.008), (1150.0, 0.08), (30_000.0, 0.7)]
)
def test_bins_are_finer_than_the_spread_of_the_values(middle, sd):
    values = middle * np.exp(sd * np.linspace(-2.5, 2.5, 1001))
    grid = make_grid(0, 20 * middle, default_knots(values, 0, 20 * middle), 0.01, True)
    used = np.unique(grid.bin_of(values))
    widths = np.log(grid.edges[used + 1] / grid.edges[used])
    assert np.median(widths) <= sd / 2
    assert (values.min() > np.exp(grid.knots[0]) * grid.unit).all()
    assert (values.max() < np.exp(grid.knots[-1]) * grid.unit).all()


@pytest.mark.parametrize(("low", "high"), [(1300, 1500), (1000, 1050), (0, 3000)])
def test_bounds_between_the_default_knots_have_knots_of_their_own(low, high):
    knots = default_knots(np.linspace(max(low, 1490), high, 200), low, high)
    assert len(knots) >= 3
    assert ((knots > low) & (knots < high)).all()
    assert (np.diff(knots) > 0).all()


def test_bounds_with_hardly_a_value_between_them_are_refused():
    with pytest.raises(
        InputError,
        match=r"the bounds 0 to 2 hold only 1 of at least 3 bins at the precision 1 of the data; "
        r"widen them",
    ):
        make_grid(0, 2, np.array([1.2, 1.5, 1.8]), 1.0, True)


def test_bounds_that_are_values_are_reached(grid):
    assert make_grid(0, 81.63, np.array([5.0, 20.0, 50.0]), 0.01, True).edges[-1] == 8163
    assert make_grid(4.35, 81.63, np.array([5.0, 20.0, 50.0]), 0.01, True).edges[0] == 435


def test_every_heap_divides_the_next():
    heaps = make_grid(0, 3e6, KNOTS, 1.0, True).heaps
    assert list(heaps[:7]) == [1, 10, 100, 500, 1000, 5000, 10_000]
    assert (heaps[1:] % heaps[:-1] == 0).all()


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_points_are_drawn_in_their_bin_and_alike_within_a_heap(seed):
    grid = make_grid(0, 20_000, KNOTS, 1.0, True)
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, len(grid.band), 300)
    drawn = draw_point(grid, bins, rng.gamma(1.0, size=grid.points.shape), rng)
    np.testing.assert_array_equal(grid.bin_of(drawn), bins)
    assert (drawn == np.rint(drawn)).all()


def share_below(grid, value, weight):
    ends = find_ends(grid, np.array([-np.inf]), np.array([value]))
    return shares_below(ends.bins, ends.counts, weight)[ends.of[1, 0]]


def test_share_of_draws_follows_the_weights(grid):
    weight = np.sqrt(grid.heaps) * np.ones(grid.points.shape)
    weight /= (grid.points * weight).sum(axis=1, keepdims=True)
    place = int(grid.bin_of(np.array([4300.0]))[0])
    drawn = draw_point(grid, np.full(50_000, place), weight, np.random.default_rng(1))
    for value in (grid.edges[place] + 7, grid.edges[place] + 100, grid.edges[place + 1] - 1):
        share = share_below(grid, value, weight)
        assert (
            abs((drawn <= value).mean() - share) < 4 * np.sqrt(share * (1 - share) / 50_000) + 1e-12
        )


def test_hats_add_up_to_one_and_integrate_to_the_distance(grid):
    z = np.log(grid.edges[1:-1] - 0.5)
    np.testing.assert_allclose(grid.hats.coefficient.sum(axis=1), np.diff(z), rtol=1e-12)
    used = np.arange(len(grid.knots))
    outside = (used < grid.hats.first[:, None]) | (used >= grid.hats.last[:, None])
    assert (grid.hats.coefficient[outside] == 0).all()


def test_values_on_no_grid_are_spread_over_their_bin():
    grid = make_grid(0.0, 50.0, np.array([1.0, 4.0, 9.0]), None, True)
    weight = 1 / grid.points
    bins = np.full(20_000, len(grid.band) // 2)
    drawn = draw_point(grid, bins, weight, np.random.default_rng(2))
    middle = (grid.edges[bins[0]] + grid.edges[bins[0] + 1]) / 2
    assert abs((drawn <= middle).mean() - 0.5) < 0.02
    assert share_below(grid, middle, weight) == pytest.approx(0.5)


def test_default_knots_are_round_and_depend_on_median_and_quartiles_only():
    values = np.random.default_rng(3).lognormal(10, 0.8, 2000)
    knots = default_knots(values, 0, 1e7)
    changed = values.copy()
    changed[values.argmax()] *= 5
    np.testing.assert_array_equal(knots, default_knots(changed, 0, 1e7))
    assert all(float(f"{knot:.1e}") == knot for knot in knots)
    assert len(knots) == 12


@given(power=st.integers(-8, 2), largest=st.integers(3, 14), middle=st.floats(1e-3, 1))
@settings(max_examples=60, deadline=None)
def test_bins_as_intervals_hold_each_of_their_points_once_whatever_the_units(
    power, largest, middle
):
    unit = 10.0**power
    high = unit * 10.0**largest * 1.5
    knots = high * np.geomspace(1e-2, 0.3, 5) * middle
    grid = (
        make_grid(0, high, knots[knots > 2 * unit], unit, True)
        if (knots > 2 * unit).sum() > 2
        else None
    )
    if grid is None:
        return
    ends = find_ends(grid, *bin_ends(grid))
    below = np.cumsum(grid.points.sum(axis=1)) - grid.points.sum(axis=1)
    held = below[ends.bins] + ends.counts.sum(axis=1)
    np.testing.assert_array_equal(held[ends.of[1]] - held[ends.of[0]], grid.points.sum(axis=1))
