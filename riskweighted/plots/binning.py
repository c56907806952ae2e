"""Counts that show no record: every cell holds a minimum count, no edge is an extreme of the data,
nothing follows by subtraction.

A histogram's end bins are open where the variable has no limits of its own, and its grid is made
from the m-th smallest and m-th largest value: the m - 1 values beyond could lie anywhere and the
histogram would be the same.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, is_number
from riskweighted.common.errors import InputError

__all__ = [
    "BinnedMeans",
    "BinnedScatter",
    "Histogram",
    "binned_means",
    "binned_scatter",
    "merged_histogram",
    "protect_counts",
    "shares_in_bins",
]

Limits = tuple[float, float]


@dataclass(frozen=True)
class Histogram:
    """Records per bin, closed on the left and open on the right; each holds at least the minimum
    count.

    ``edges`` (k + 1,): multiples of ``step``, the width of the grid from which bins were merged;
    the first is -inf and the last inf, unless limits were given. ``reach``: edges of the grid about
    the m-th smallest and the m-th largest value.
    """

    edges: np.ndarray
    counts: np.ndarray
    step: float
    reach: Limits = (-np.inf, np.inf)

    @property
    def drawn_edges(self) -> np.ndarray:
        """The edges as they are drawn: an open end one step wide, and a closed one only as far as
        values reach.
        """
        edges = self.edges.copy()
        edges[0] = edges[1] - self.step if np.isinf(edges[0]) else max(edges[0], self.reach[0])
        edges[-1] = edges[-2] + self.step if np.isinf(edges[-1]) else min(edges[-1], self.reach[1])
        return edges

    def table(self) -> pd.DataFrame:
        """One row per bin: from (included), below, records."""
        return pd.DataFrame(
            {"from": self.edges[:-1], "below": self.edges[1:], "records": self.counts}
        )


@dataclass(frozen=True)
class BinnedScatter:
    """Records per cell (p, q) of a grid over two variables, whose edges are as in `Histogram`, but
    not merged.

    A count is at least the minimum count, or 0 for a cell that is empty or not shown: the two are
    not told apart. ``hidden``: records in cells that are not shown, 0 or at least the minimum
    count.
    """

    x_edges: np.ndarray
    y_edges: np.ndarray
    counts: np.ndarray
    hidden: int

    def table(self) -> pd.DataFrame:
        """One row per cell shown: its bounds (lower included) and records."""
        p, q = np.nonzero(self.counts)
        bounds = {
            "x from": self.x_edges[p],
            "x below": self.x_edges[p + 1],
            "y from": self.y_edges[q],
            "y below": self.y_edges[q + 1],
        }
        return pd.DataFrame({**bounds, "records": self.counts[p, q]})


@dataclass(frozen=True)
class BinnedMeans:
    """Mean of y, rounded to 2 decimals, in bins of x that hold at least the minimum count of
    records.
    """

    histogram: Histogram
    means: np.ndarray


def merged_histogram(
    values: np.ndarray | pd.Series,
    minimum_count: int = 10,
    *,
    limits: Limits | None = None,
    bins: int | None = None,
) -> Histogram:
    """Histogram whose bins with fewer than `minimum_count` records, empty ones too, are merged with
    a neighbour.

    `limits`: where the variable is bounded by its definition, for example (0, 1), and never the
    extremes of the data; the end bins are then closed there. `bins`: about how many the grid has
    (20, and 60 where a bin may hold one record), whose step is 1, 2 or 5 times a power of ten.
    Refused are values that are not finite, outside
    the limits, fewer than `minimum_count`, or without a difference once so many smallest and
    largest are set aside.
    """
    checked = _checked(values, "values", minimum_count)
    fine = 20 if minimum_count > 1 else 60
    edges, step = _grid(checked, minimum_count, limits, fine if bins is None else bins)
    counts = _count(checked, edges)
    starts = _merge(counts, minimum_count)
    ordered = np.sort(checked)
    low, high = ordered[minimum_count - 1], ordered[-minimum_count]
    reach = (float(edges[_bins_of(low, edges)]), float(edges[_bins_of(high, edges) + 1]))
    return Histogram(
        np.append(edges[starts], edges[-1]), np.add.reduceat(counts, starts), step, reach
    )


def binned_scatter(
    x: np.ndarray | pd.Series,
    y: np.ndarray | pd.Series,
    minimum_count: int = 10,
    *,
    x_limits: Limits | None = None,
    y_limits: Limits | None = None,
    bins: int = 20,
) -> BinnedScatter:
    """Records per cell of a grid; cells with fewer than `minimum_count` are not shown.

    Further cells are withheld, smallest first, until in every bin of the merged histograms of x and
    of y (which may be published too) and so in all, the records not shown are none or at least
    `minimum_count`: no small count follows by subtraction. This guards each margin by itself; it is
    no audit of both together.
    """
    m = minimum_count
    across, along = _checked_pair(x, y, m)
    x_edges, _ = _grid(across, m, x_limits, bins)
    y_edges, _ = _grid(along, m, y_limits, bins)
    shape = (len(x_edges) - 1, len(y_edges) - 1)
    cells = np.ravel_multi_index((_bins_of(across, x_edges), _bins_of(along, y_edges)), shape)
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    shown = _withhold(counts, m)
    return BinnedScatter(x_edges, y_edges, np.where(shown, counts, 0), int(counts[~shown].sum()))


def binned_means(
    x: np.ndarray | pd.Series,
    y: np.ndarray | pd.Series,
    minimum_count: int = 10,
    *,
    limits: Limits | None = None,
    bins: int | None = None,
) -> BinnedMeans:
    """Mean of y in the bins of x's merged histogram: see `merged_histogram`."""
    histogram = merged_histogram(x, minimum_count, limits=limits, bins=bins)
    across, along = _checked_pair(x, y, minimum_count)
    sums = np.bincount(
        _bins_of(across, histogram.edges), weights=along, minlength=len(histogram.counts)
    )
    return BinnedMeans(histogram, np.round(sums / histogram.counts, 2))


def shares_in_bins(values: np.ndarray | pd.Series, histogram: Histogram) -> np.ndarray:
    """Share of other values, for example synthetic ones, in the bins of a histogram; (k,). Values
    beyond count in the end bins.
    """
    checked = _checked(values, "values", 1)
    return _count(checked, histogram.edges) / len(checked)


def protect_counts(counts: np.ndarray | pd.Series, minimum_count: int = 10) -> np.ndarray:
    """Which counts of a list may be published, when their total may be known: a boolean mask.

    Counts from 1 to `minimum_count` - 1 are withheld, and the smallest others too until those
    withheld add up to at least `minimum_count` and are at least two. A count of 0 is published.
    """
    check_count(minimum_count, "minimum_count")
    whole = np.asarray(counts)
    if (
        whole.ndim != 1
        or not np.issubdtype(whole.dtype, np.number)
        or not (np.isfinite(whole) & (whole >= 0) & (whole % 1 == 0)).all()
    ):
        raise InputError("counts must be whole numbers >= 0 in one dimension")
    shown: np.ndarray = (whole == 0) | (whole >= minimum_count)
    while (
        not shown.all()
        and shown[whole > 0].any()
        and ((~shown).sum() < 2 or whole[~shown].sum() < minimum_count)
    ):
        shown[_smallest(whole, shown & (whole > 0))] = False
    return shown


def _checked(values: np.ndarray | pd.Series, what: str, minimum_count: int) -> np.ndarray:
    check_count(minimum_count, "minimum_count")
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise InputError(
            f"{what} must be numbers in one dimension, got {array.ndim} dimensions of dtype "
            f"{array.dtype}"
        )
    array = array.astype(float)
    unusable = int((~np.isfinite(array)).sum())
    if unusable:
        raise InputError(
            f"{what} must be finite: {unusable} of {len(array)} are missing or infinite"
        )
    if len(array) < minimum_count:
        raise InputError(
            f"{len(array)} records are fewer than minimum_count ({minimum_count}), so nothing "
            "can be shown"
        )
    return array


def _checked_pair(
    x: np.ndarray | pd.Series, y: np.ndarray | pd.Series, minimum_count: int
) -> tuple[np.ndarray, np.ndarray]:
    across, along = _checked(x, "x", minimum_count), _checked(y, "y", minimum_count)
    if len(across) != len(along):
        raise InputError(f"x and y must have the same length, got {len(across)} and {len(along)}")
    return across, along


def _grid(values: np.ndarray, m: int, limits: Limits | None, bins: int) -> tuple[np.ndarray, float]:
    """Edges at multiples of a round step, and the step."""
    check_count(bins, "bins", most=1000)
    if limits is not None:
        if not (len(limits) == 2 and all(map(is_number, limits)) and limits[0] < limits[1]):
            raise InputError(f"limits must be (low, high) with low < high, got {limits!r}")
        outside = int(((values < limits[0]) | (values > limits[1])).sum())
        if outside:
            raise InputError(
                f"{outside} of {len(values)} values lie outside the limits {limits[0]:g} to "
                f"{limits[1]:g}"
            )
        step = _round_step((limits[1] - limits[0]) / bins)
        inner = _multiples(limits[0], limits[1], step)
        return np.array(
            [limits[0], *inner[(inner > limits[0]) & (inner < limits[1])], limits[1]]
        ), step
    ordered = np.sort(values)
    low, high = ordered[m - 1], ordered[-m]
    width, size = high / bins - low / bins, max(abs(low), abs(high))
    if width <= 1e-12 * size or width < 1e-290:
        raise InputError(
            f"apart from the {m} smallest and {m} largest of {len(values)} values there is no "
            "difference to show"
        )
    step = _round_step(width)
    inner = _multiples(low, high, step)
    return np.array([-np.inf, *inner[(inner > low) & (inner <= high)], np.inf]), step


def _round_step(width: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `width`."""
    power = int(np.floor(np.log10(width)))
    return next(
        float(f"{factor}e{power}")
        for factor in (1, 2, 5, 10)
        if float(f"{factor}e{power}") >= width * (1 - 1e-9)
    )


def _multiples(low: float, high: float, step: float) -> np.ndarray:
    """The multiples of `step` from at or below `low` to at or above `high`, free of rounding
    noise.
    """
    digits = min(max(0, -int(np.floor(np.log10(step)))), 300)
    multiples = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    return np.unique(np.round(multiples, digits) if digits < 15 else multiples)


def _bins_of(values: np.ndarray | float, edges: np.ndarray) -> np.ndarray:
    """Bin of each value; a value at the upper limit lies in the last bin."""
    return np.searchsorted(edges[1:-1], values, side="right")


def _count(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.bincount(_bins_of(values, edges), minlength=len(edges) - 1)


def _merge(counts: np.ndarray, m: int) -> np.ndarray:
    """First cells of the merged bins: from the left, a bin is closed as soon as it and all that is
    right of it hold m.
    """
    right = counts.sum() - np.cumsum(counts)
    starts, held = [0], 0
    for cell, count in enumerate(counts[:-1]):
        held += count
        if held >= m and right[cell] >= m:
            starts.append(cell + 1)
            held = 0
    return np.array(starts)


def _withhold(counts: np.ndarray, m: int) -> np.ndarray:
    """Cells to show: of at least m records, and leaving none or at least m in every merged row and
    column.
    """
    shown = counts >= m
    margins = counts.sum(axis=1), counts.sum(axis=0)
    groups = [
        np.split(np.arange(size), _merge(margin, m)[1:])
        for size, margin in zip(counts.shape, margins, strict=True)
    ]
    lines = [np.ix_(group, np.arange(counts.shape[1])) for group in groups[0]]
    lines += [np.ix_(np.arange(counts.shape[0]), group) for group in groups[1]]
    settled = False
    while not settled:
        settled = True
        for line in lines:
            part, visible = counts[line], shown[line]
            if 0 < part[~visible].sum() < m:
                visible[np.unravel_index(_smallest(part.ravel(), visible.ravel()), part.shape)] = (
                    False
                )
                shown[line] = visible
                settled = False
    return shown


def _smallest(counts: np.ndarray, among: np.ndarray) -> int:
    """Place of the first smallest count among some."""
    return int(np.flatnonzero(among)[np.argmin(counts[among])])
