"""What a binned figure publishes: no small count, no extreme, nothing by subtraction."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

from riskweighted.common.errors import InputError
from riskweighted.plots.binning import (
    binned_means,
    binned_scatter,
    merged_histogram,
    protect_counts,
    shares_in_bins,
)

pytestmark = pytest.mark.versions

sizes = st.integers(2, 12)
numbers = st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-20, 20).map(float)
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 0.5, 1.0])


def in_bins(values, edges):
    """Counts by the definition: closed on the left, open on the right, the last closed."""
    return [
        sum(a <= v < b or (v == b and place == len(edges) - 2) for v in values)
        for place, (a, b) in enumerate(pairwise(edges))
    ]


def test_a_histogram_by_hand():
    # With m = 2 the grid is made from 1 and 38: 37 / 20 rounds up to a step of 2. From the left:
    # [.., 2) has 2 records, then the empty and single bins wait for the next record; what is left
    # at the end (38, 900) stays together.
    histogram = merged_histogram(np.array([-50.0, 1.0, 5.0, 6.0, 30.0, 31.0, 38.0, 900.0]), 2)
    assert histogram.step == 2
    np.testing.assert_array_equal(histogram.edges, [-np.inf, 2, 8, 32, np.inf])
    np.testing.assert_array_equal(histogram.counts, [2, 2, 2, 2])
    np.testing.assert_array_equal(histogram.drawn_edges, [0, 2, 8, 32, 34])
    assert histogram.table().to_dict("list") == {
        "from": [-np.inf, 2, 8, 32],
        "below": [2, 8, 32, np.inf],
        "records": [2, 2, 2, 2],
    }
    np.testing.assert_array_equal(
        shares_in_bins(np.array([-1e9, 2.0, 7.9, 8.0, 1e9]), histogram), [0.2, 0.4, 0.2, 0.2]
    )


@given(st.lists(numbers, min_size=30, max_size=120, unique=True), sizes, st.integers(1, 40))
def test_every_bin_holds_enough_and_edges_are_round(values, m, bins):
    ordered = np.sort(values)
    assume(
        len(values) >= 2 * m and ordered[-m] - ordered[m - 1] > 1e-6 * max(1, np.abs(ordered).max())
    )
    histogram = merged_histogram(np.array(values), m, bins=bins)
    assert histogram.counts.min() >= m
    assert histogram.counts.sum() == len(values)
    assert histogram.counts.tolist() == in_bins(values, histogram.edges)
    assert np.isinf(histogram.edges[[0, -1]]).all()
    assert (np.diff(histogram.edges) > 0).all()
    mantissa = histogram.step / 10.0 ** np.floor(np.log10(histogram.step) + 1e-9)
    assert np.isclose(mantissa, [1, 2, 5]).any()
    multiples = histogram.edges[1:-1] / histogram.step
    np.testing.assert_allclose(multiples, np.round(multiples), atol=1e-6)


@given(st.lists(numbers, min_size=8, max_size=60), st.integers(2, 4), st.floats(1, 1e9))
def test_extremes_do_not_show(values, m, further):
    """The m - 1 smallest and largest records could lie anywhere beyond: the histogram is the
    same.
    """
    ordered = np.sort(values)
    assume(ordered[-m] - ordered[m - 1] > 1e-3)
    moved = ordered.copy()
    moved[: m - 1] -= further
    moved[len(ordered) - m + 1 :] += further
    one, other = merged_histogram(ordered, m), merged_histogram(moved, m)
    np.testing.assert_array_equal(one.edges, other.edges)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_no_edge_is_an_extreme_of_continuous_data():
    values = np.random.default_rng(1).lognormal(3, 1, 500)
    edges = merged_histogram(values).edges
    assert not np.isin(edges, values).any()
    assert edges[1] > np.sort(values)[9]
    assert edges[-2] < np.sort(values)[-9]


@given(st.lists(shares, min_size=2, max_size=120), sizes)
def test_limits_of_the_variable_close_the_ends(values, m):
    assume(len(values) >= m)
    histogram = merged_histogram(np.array(values), m, limits=(0, 1))
    assert histogram.edges[0] == 0
    assert histogram.edges[-1] == 1
    assert histogram.counts.min() >= m
    assert histogram.counts.tolist() == in_bins(values, histogram.edges)
    assert set(histogram.edges) <= {round(0.05 * k, 2) for k in range(21)}


def test_a_scatter_by_hand():
    # Grid of 2 x 2 with m = 3: counts [[5, 1], [0, 4]]. The 1 is small, so not shown. Alone it
    # would follow from its row (6 - 5) and its column (5 - 4), so both neighbours go too, and with
    # them everything.
    x = np.repeat([0.1, 0.1, 0.9], [5, 1, 4])
    y = np.repeat([0.1, 0.9, 0.9], [5, 1, 4])
    cells = binned_scatter(x, y, 3, x_limits=(0, 1), y_limits=(0, 1), bins=2)
    np.testing.assert_array_equal(cells.counts, [[0, 0], [0, 0]])
    assert cells.hidden == 10
    # With 3 for the 1, all may be shown, and the empty cell looks like one that is not shown.
    x, y = np.append(x, [0.1, 0.1]), np.append(y, [0.9, 0.9])
    cells = binned_scatter(x, y, 3, x_limits=(0, 1), y_limits=(0, 1), bins=2)
    np.testing.assert_array_equal(cells.counts, [[5, 3], [0, 4]])
    assert cells.hidden == 0
    assert cells.table().to_dict("list") == {
        "x from": [0.0, 0.0, 0.5],
        "x below": [0.5, 0.5, 1.0],
        "y from": [0.0, 0.5, 0.5],
        "y below": [0.5, 1.0, 1.0],
        "records": [5, 3, 4],
    }


@given(
    st.lists(st.tuples(shares, shares), min_size=2, max_size=200),
    sizes,
    st.sampled_from([2, 4, 5, 10]),
)
def test_no_small_count_follows_from_a_scatter_and_its_margins(points, m, bins):
    assume(len(points) >= m)
    x, y = np.array(points).T
    limits = (0.0, 1.0)
    cells = binned_scatter(x, y, m, x_limits=limits, y_limits=limits, bins=bins)
    for p, q in np.ndindex(cells.counts.shape):
        inside_x = (cells.x_edges[p] <= x) & (
            (x < cells.x_edges[p + 1]) | (cells.x_edges[p + 1] == 1) & (x == 1)
        )
        inside_y = (cells.y_edges[q] <= y) & (
            (y < cells.y_edges[q + 1]) | (cells.y_edges[q + 1] == 1) & (y == 1)
        )
        exact = int((inside_x & inside_y).sum())
        assert cells.counts[p, q] in (0, exact)
        assert cells.counts[p, q] == 0 or exact >= m
    assert cells.hidden == len(points) - cells.counts.sum()
    assert cells.hidden == 0 or cells.hidden >= m
    for values, edges, shown in (
        (x, cells.x_edges, cells.counts.sum(axis=1)),
        (y, cells.y_edges, cells.counts.sum(axis=0)),
    ):
        margin = merged_histogram(values, m, limits=limits, bins=bins)
        for low, high, count in zip(
            margin.edges[:-1], margin.edges[1:], margin.counts, strict=True
        ):
            left = count - shown[(edges[:-1] >= low) & (edges[1:] <= high)].sum()
            assert left == 0 or left >= m


def test_a_scatter_of_an_unlimited_variable_has_open_ends():
    rng = np.random.default_rng(2)
    cells = binned_scatter(rng.normal(size=400), rng.uniform(size=400), 5, y_limits=(0, 1))
    assert np.isinf(cells.x_edges[[0, -1]]).all()
    np.testing.assert_array_equal(cells.y_edges[[0, -1]], [0, 1])
    assert 0 < cells.counts.sum() < 400


def test_means_by_hand():
    x = np.array([0.0, 1.0, 2.0, 7.0, 8.0, 9.0])
    binned = binned_means(x, np.array([0.1, 0.2, 0.4, 1.0, 1.0, 0.5]), 3, limits=(0, 10), bins=2)
    np.testing.assert_array_equal(binned.histogram.edges, [0, 5, 10])
    np.testing.assert_array_equal(binned.means, [0.23, 0.83])


def test_protected_by_hand():
    # 3 is small; alone it would follow from the total, so the next smallest goes too. Nothing
    # happened in the last stratum.
    assert protect_counts(np.array([40, 3, 25, 90, 0])).tolist() == [True, False, False, True, True]
    assert protect_counts(np.array([40, 12, 0])).tolist() == [True, True, True]
    assert protect_counts(np.array([4])).tolist() == [False]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), sizes)
def test_protected_leaves_no_small_remainder(counts, m):
    shown = protect_counts(np.array(counts), m)
    withheld = [count for count, seen in zip(counts, shown, strict=True) if not seen]
    assert all(count == 0 or count >= m for count, seen in zip(counts, shown, strict=True) if seen)
    everything = all(count == 0 for count, seen in zip(counts, shown, strict=True) if seen)
    assert not withheld or everything or (len(withheld) >= 2 and sum(withheld) >= m)
    if all(count == 0 or count >= m for count in counts):
        assert not withheld


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: merged_histogram(np.arange(9.0)), "9 records are fewer than minimum_count (10)"),
        (lambda: merged_histogram(np.ones(50)), "no difference to show"),
        (lambda: merged_histogram(np.append(np.arange(19.0), np.nan)), "1 of 20 are missing"),
        (lambda: merged_histogram(np.array(["a"] * 20)), "must be numbers"),
        (lambda: merged_histogram(np.ones((20, 2))), "one dimension"),
        (lambda: merged_histogram(np.arange(50.0), 0), "minimum_count must be a whole number >= 1"),
        (lambda: merged_histogram(np.arange(50.0), bins=0), "bins"),
        (
            lambda: merged_histogram(np.arange(50.0), limits=(0, 40)),
            "9 of 50 values lie outside the limits",
        ),
        (lambda: merged_histogram(np.arange(50.0), limits=(50, 0)), "low < high"),
        (lambda: binned_scatter(np.arange(50.0), np.arange(49.0)), "same length, got 50 and 49"),
        (lambda: binned_means(np.arange(50.0), np.arange(49.0)), "same length, got 50 and 49"),
        (lambda: protect_counts(pd.Series([1.5, 2])), "whole numbers"),
        (lambda: protect_counts(np.array([-1, 2])), "whole numbers"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(InputError) as error:
        call()
    assert named in str(error.value)
