"""A grid of bins on the positive numbers, its knots, and the points inside a bin that values are
heaped on (METHODS section 5).

Its edges and knots are round numbers. Without knots of your own they follow two robust figures of
the data, the median and the interquartile range of log y, both rounded: to one digit, the median to
more where the spread is small.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.design.precision import round_to, unit_of
from riskweighted_models.kernels.bin_points import draw_points
from riskweighted_models.kernels.bins import Hats

__all__ = [
    "BinEnds",
    "Grid",
    "Heaping",
    "bin_ends",
    "class_of",
    "default_knots",
    "draw_point",
    "find_ends",
    "make_grid",
    "straight",
]

# places of the default knots
_SPREADS = (-4.0, -2.75, -1.75, -1.0, -0.5, 0.0, 0.5, 1.0, 1.75, 2.75, 3.75, 4.75)
# of the bins between the outer knots, in spreads, and of those in the lower tail
_STEP, _LOW_STEP, _LOW = 0.125, 0.25, -2.0
# spreads of log y: of which one or two digits of a round number can tell, and the least that is
# looked at
_USUAL, _NARROWEST = 0.3, 0.01
_FEWEST_KNOTS = 3
# units: how far from a whole one an end may lie, besides rounding, and at most
_SLACK, _MOST_SLACK = 1e-9, 0.4
_MOST_UNITS, _MOST_BINS = 1e15, 500
_FEWEST_BINS = 3
# spreads that a value with a bin of its own stands for to either side; units that it may lie off
# its grid
_CELL, _OFF = 0.25, 1e-6
# and beyond them, a decade
_BELOW, _ABOVE = (1.0, 2.0, 5.0), (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)


Heaping: TypeAlias = tuple[tuple[float, float], ...]  # pairs of a unit and a share


class Grid(NamedTuple):
    """Bins k = 0, ..., K - 1 of positive values, [edge k, edge k + 1), the last one closed.

    ``edges`` (K + 1,) in units, whole numbers where the data are recorded in units; the outer ones
    are the first and the last value possible. ``unit`` of the recorded values, 1 where they are on
    no grid; ``whole``: whether values are multiples of it. ``knots`` (J,) of the slope of h, in
    log(value), and their ``hats``. ``heaps`` (C,): multiples of the unit that values are heaped on,
    each a divisor of the next (1, 10, 100, 500, 1000, ...); ``points`` (K, C): how many points of
    the bin have that one as the largest which divides them, or the bin's width, (K, 1), where
    values are on no grid; ``given`` (C,): log of a point's probability by its heap, up to the bin's
    constant, None where it is learned. ``band`` (K,): decade of the bin, from 0; bins of a decade
    share what they are heaped on. ``single`` (K,): log of the numbers that the value of a bin
    stands for over those in the bin, where it is the bin of one value that many records share; NaN
    for other bins.
    """

    edges: np.ndarray
    unit: float
    whole: bool
    knots: np.ndarray
    hats: Hats
    heaps: np.ndarray
    points: np.ndarray
    given: np.ndarray | None
    band: np.ndarray
    single: np.ndarray

    def bin_of(self, values: np.ndarray) -> np.ndarray:
        """The bin of every value, (n,)."""
        return np.asarray(np.searchsorted(self.edges[1:-1], self.in_units(values), side="right"))

    def in_units(self, values: np.ndarray) -> np.ndarray:
        """Values in units, whole where they should be."""
        scaled = values / self.unit
        return np.rint(scaled) if self.whole else scaled


def default_knots(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Twelve round numbers around the median of positive values (n,), those between the bounds; or
    three of the bounds' own.
    """
    logs = np.log(values)
    lower, upper = np.quantile(logs, [0.25, 0.75])
    spread = _rounded(float(np.clip((upper - lower) / 1.35, _NARROWEST, 3.0)))
    middle = _rounded(float(np.exp(np.median(logs))), 1 + _more_digits(spread))
    knots = np.array(
        [
            _rounded(middle * math.exp(place * spread), 2 + _more_digits(spread))
            for place in _SPREADS
        ]
    )
    knots = np.unique(knots[(knots > low) & (knots < high)])
    return knots if len(knots) >= _FEWEST_KNOTS else _between(low, high)


def _between(low: float, high: float) -> np.ndarray:
    """Knots for bounds that lie between those of the data's spread."""
    lowest = max(low, high / 1000)
    places = np.geomspace(lowest, high, 2 + _FEWEST_KNOTS)[1:-1]
    digits = 2 + _more_digits(math.log(high / lowest) / (1 + _FEWEST_KNOTS))
    return np.array([_rounded(float(place), digits) for place in places])


def _more_digits(spread: float) -> int:
    """How many more significant digits round numbers need where values spread less than usual, as
    wages around a minimum do.
    """
    return max(0, math.ceil(math.log10(_USUAL / spread)))


def make_grid(
    low: float,
    high: float,
    knots: np.ndarray,
    precision: float | None,
    heaping: bool | Heaping,
    heaps: Sequence[float] = (),
) -> Grid:
    """Bins from the lower to the upper bound, 0 <= low < high < inf, both public, with their
    points; ``knots`` (J,) increase between them.

    ``precision``: values are multiples of it; None: of nothing. ``heaping``: whether points are
    told apart by what they are multiples of; or the shares of values by the largest of given units
    that divides them. ``heaps``: values that have a bin each. InputError if the upper bound has no
    exact number of units, the bins are too many to sum over, or a heap is no value within the
    bounds.
    """
    unit, whole = (1.0, False) if precision is None else (precision, True)
    if whole and high / unit > _MOST_UNITS:
        raise InputError(
            f"the upper bound {high:g} is more than {_MOST_UNITS:.0e} times the precision "
            f"{unit:g} of the data; lower it (support)"
        )
    edges = _edges(low / unit, high / unit, knots / unit, whole)
    cells = _cells(heaps, edges, unit, whole, knots)
    edges = _parted(edges, cells)
    if len(edges) < _FEWEST_BINS + 1:
        raise InputError(
            f"the bounds {low:g} to {high:g} hold only {len(edges) - 1} of at least "
            f"{_FEWEST_BINS} bins at the precision {unit:g} of the data; "
            "widen them (support), or name values that many records share as codes of 'two-part'"
        )
    if len(edges) > _MOST_BINS:
        raise InputError(
            f"the bounds {low:g} to {high:g} and the knots make {len(edges) - 1} bins, at most "
            f"{_MOST_BINS}; narrow them (support)"
        )
    places = np.log(knots / unit)
    multiples, given = np.ones(1, dtype=np.int64), None
    if not isinstance(heaping, bool):
        multiples, given = _given(heaping, precision)
    elif heaping and whole:
        multiples = _heaps(edges[-1])
    points = _points(edges, multiples) if whole else np.diff(edges)[:, None]
    decades = np.floor(np.log10(np.maximum(edges[:-1], 1.0))).astype(int)
    band = np.unique(decades, return_inverse=True)[1]
    single = np.full(len(band), np.nan)
    single[np.searchsorted(edges, cells.first)] = np.log(cells.width / (cells.end - cells.first))
    return Grid(
        edges,
        unit,
        whole,
        places,
        _hats(_inner(edges, whole), places),
        multiples,
        points,
        given,
        band,
        single,
    )


class _Cells(NamedTuple):
    """The bins [first, end) of values with a bin each, (H,), in units; ``width``: of the numbers
    that each stands for.
    """

    first: np.ndarray
    end: np.ndarray
    width: np.ndarray


def _cells(
    heaps: Sequence[float], edges: np.ndarray, unit: float, whole: bool, knots: np.ndarray
) -> _Cells:
    """A value on a grid has a bin of one unit, another one that of all numbers that are rounded to
    it.

    It stands for the numbers between the middles to its neighbours, and a quarter of a spread to
    either side at most.
    """
    values = np.unique(np.array(heaps, dtype=float))
    units = np.rint(values / unit) if whole else round_to(values, None)
    wrong = (
        (units < edges[0])
        | (units > edges[-1])
        | (np.abs(units * unit - values) > _OFF * unit if whole else units <= 0)
    )
    if wrong.any():
        raise InputError(
            f"heaps: {int(wrong.sum())} of {len(values)} values lie outside the bounds "
            f"{edges[0] * unit:g} to {edges[-1] * unit:g}"
            + (f", or are no multiples of the precision {unit:g} of the data" if whole else "")
        )
    units = np.unique(units)
    half = unit_of(units, 1.0 if whole else None) / 2
    reach = np.exp(_CELL * max(_spread_of(np.log(knots)), _NARROWEST))
    between = (units[1:] + units[:-1]) / 2
    below = np.maximum(np.concatenate([[0.0], between]), units / reach)
    above = np.minimum(np.concatenate([between, [np.inf]]), units * reach)
    first, end = (
        (units, units + 1)
        if whole
        else (np.maximum(units - half, edges[0]), np.minimum(units + half, edges[-1]))
    )
    return _Cells(first, end, np.maximum(above - below, end - first))


def _parted(edges: np.ndarray, cells: _Cells) -> np.ndarray:
    """Edges (K + 1,) with those of the bins of single values, in which no other one lies."""
    last = np.searchsorted(cells.first, edges, side="right") - 1
    inside = (last >= 0) & (edges < np.append(cells.end, 0.0)[last])
    inner = np.unique(np.concatenate([edges[1:-1][~inside[1:-1]], cells.first, cells.end]))
    # the last number may have a bin of its own
    inner = inner[(inner > edges[0]) & ((inner < edges[-1]) | np.isin(inner, cells.first))]
    return np.concatenate([edges[:1], inner, edges[-1:]])


def straight(grid: Grid) -> Grid:
    """The same bins with one knot, the middle one: h is then a straight line in log(value)."""
    knots = grid.knots[[len(grid.knots) // 2]]
    return grid._replace(knots=knots, hats=_hats(_inner(grid.edges, grid.whole), knots))


def _inner(edges: np.ndarray, whole: bool) -> np.ndarray:
    """Where h is taken: log of the inner edges, or of the middle between a whole one and the number
    before it, (K - 1,).
    """
    return np.asarray(np.log(edges[1:-1] - (0.5 if whole else 0.0)))


def _rounded(value: float, digits: int = 1) -> float:
    """To so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def _edges(low: float, high: float, knots: np.ndarray, whole: bool) -> np.ndarray:
    """Round numbers, close together between the outer knots; first and last: the first and last
    value possible.
    """
    first, last = (
        (max(math.ceil(low - _rounding(low)), 1), math.floor(high + _rounding(high)))
        if whole
        else (low, high)
    )
    logs = np.log(knots)
    spread = _spread_of(logs)
    width = max(spread, _NARROWEST)
    digits = 2 + _more_digits(width)
    turn = logs[0] + (_LOW - _SPREADS[0]) * width
    inside = np.exp(
        np.concatenate(
            [
                np.arange(logs[0], turn, _LOW_STEP * width),
                np.arange(turn, logs[-1] + spread, _STEP * width),
            ]
        )
    )
    lowest = (
        math.floor(math.log10(first if first > 0 else knots[0]))
        if whole
        else math.floor(math.log10(knots[0])) - 3
    )
    decades = 10.0 ** np.arange(lowest, math.ceil(math.log10(last)) + 1)
    below, above = (np.outer(decades, series).ravel() for series in (_BELOW, _ABOVE))
    below, above = below[below < inside[0] * 0.8], above[above > inside[-1] * 1.2]
    rounded = np.array([_rounded(edge, digits) for edge in np.concatenate([inside, below, above])])
    rounded = np.unique(np.rint(rounded) if whole else rounded)
    inner = rounded[(rounded > first) & (rounded < last)]
    return np.concatenate([[first], inner, [last]])


def _spread_of(logs: np.ndarray) -> float:
    """That of log y, as the distance of the outer knots (J,) tells it."""
    return float((logs[-1] - logs[0]) / (_SPREADS[-1] - _SPREADS[0])) if len(logs) > 1 else 1.0


def _heaps(last: float) -> np.ndarray:
    heaps = [1, 10, 100]
    while heaps[-1] * 10 <= last:
        heaps.append(heaps[-1] * (5 if str(heaps[-1])[0] == "1" else 2))
    return np.array([heap for heap in heaps if heap == 1 or heap <= last], dtype=np.int64)


def _given(heaping: Heaping, precision: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Units in units of the precision, and log of the probability of a point of each: its share,
    over how dense such points are.
    """
    units, shares = np.array(heaping).T
    if precision is None or not np.isclose(units[0], precision):
        raise InputError(
            "heaping must begin with the precision of the data, "
            f"{precision or 'of which they have none'}, got {units[0]:g}"
        )
    heaps = np.rint(units / precision).astype(np.int64)
    density = 1 / heaps - np.append(1 / heaps[1:], 0)
    return heaps, np.log(shares / density)


def _points(edges: np.ndarray, heaps: np.ndarray) -> np.ndarray:
    """Points of every bin by the largest heap that divides them, (K, C)."""
    ends = edges[1:].copy()
    ends[-1] += 1  # the last bin is closed
    multiples = np.ceil(ends[:, None] / heaps) - np.ceil(edges[:-1, None] / heaps)
    return np.asarray(multiples - np.column_stack([multiples[:, 1:], np.zeros(len(ends))]))


def class_of(units: np.ndarray, heaps: np.ndarray) -> np.ndarray:
    """The last heap that divides each whole number, (n,)."""
    return np.asarray((np.rint(units)[:, None] % heaps == 0).sum(axis=1) - 1)


def _hats(z: np.ndarray, knots: np.ndarray) -> Hats:
    """Integrals of the hat functions between inner edges z (K - 1,); constant beyond the outer
    knots.
    """
    integral = np.column_stack([_integral(z, knots, j) for j in range(len(knots))])
    coefficient = np.diff(integral, axis=0)
    used = coefficient > 0
    first, last = used.argmax(axis=1), len(knots) - used[:, ::-1].argmax(axis=1)
    middle = (knots[0] + knots[-1]) / 2
    place = (knots - middle) / max((knots[-1] - knots[0]) / 2, 1e-9)
    origin = np.abs(z - knots[len(knots) // 2]).argmin()
    return Hats(first, last, coefficient, place, np.array([origin]))


def _integral(z: np.ndarray, knots: np.ndarray, j: int) -> np.ndarray:
    """Integral of the hat of knot j from the first knot to z (negative before it), (number of
    z,).
    """
    values = (np.arange(len(knots)) == j).astype(float)
    inner = np.clip(z, knots[0], knots[-1])
    areas = np.concatenate([[0.0], np.cumsum(np.diff(knots) * (values[1:] + values[:-1]) / 2)])
    place = np.clip(np.searchsorted(knots, inner, side="right") - 1, 0, max(len(knots) - 2, 0))
    height = np.interp(inner, knots, values)
    within = areas[place] + (inner - knots[place]) * (values[place] + height) / 2
    return np.asarray(
        within + np.minimum(z - knots[0], 0) * values[0] + np.maximum(z - knots[-1], 0) * values[-1]
    )


class BinEnds(NamedTuple):
    """Ends of intervals, each once.

    ``bins`` (e,): where they lie; ``counts`` (e, C): points of the bin up to each, by heap, or how
    far into it one lies in units; ``of`` (2, n): which of them is the lower and the upper one of n
    intervals; ``units`` (e,): where each is. On a grid of whole units the lower one is the last
    unit below the interval.
    """

    bins: np.ndarray
    counts: np.ndarray
    of: np.ndarray
    units: np.ndarray


def find_ends(grid: Grid, lower: np.ndarray, upper: np.ndarray) -> BinEnds:
    """Those of closed intervals (n,) on the original scale; what lies outside the grid counts as
    its nearer end.
    """
    lowest, highest = grid.edges[0], grid.edges[-1]
    ends = np.clip(np.stack([lower, upper]) / grid.unit, lowest - 2, highest + 2)
    if grid.whole:
        slack = _rounding(ends[1])
        ends[0], ends[1] = np.ceil(ends[0] - slack) - 1, np.floor(ends[1] + slack)
    units, of = np.unique(np.clip(ends, lowest - 1, highest), return_inverse=True)
    bins = np.clip(np.searchsorted(grid.edges[1:-1], units, side="right"), 0, len(grid.band) - 1)
    return BinEnds(bins, _counts_below(grid, bins, units), of.reshape(ends.shape), units)


def _rounding(units: np.ndarray | float) -> Any:
    """How far from a whole number of units an end may lie and still stand for it; less than half of
    one, however many there are.
    """
    return np.minimum(_SLACK + 16 * np.finfo(float).eps * np.abs(units), _MOST_SLACK)


def _counts_below(grid: Grid, bins: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Points of each bin up to `units`, (e, C), or how far these reach into it; outside it they
    count as its nearer end.
    """
    first, end = grid.edges[bins], grid.edges[bins + 1] + (bins == len(grid.edges) - 2) * grid.whole
    if not grid.whole:
        return np.asarray((np.clip(units, first, end) - first)[:, None])
    stop = np.clip(np.floor(units) + 1, first, end)
    multiples = np.ceil(stop[:, None] / grid.heaps) - np.ceil(first[:, None] / grid.heaps)
    return np.asarray(multiples - np.column_stack([multiples[:, 1:], np.zeros(len(units))]))


def bin_ends(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last value of every bin on the original scale, (K,) each."""
    last = grid.edges[1:].copy()
    if grid.whole:
        last[:-1] -= 1
    return grid.edges[:-1] * grid.unit, last * grid.unit


def draw_point(
    grid: Grid, bins: np.ndarray, point_weight: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """A value of each bin, (n,), on the original scale: a heap, then one of its points alike."""
    if not grid.whole:
        first, last = grid.edges[bins], grid.edges[bins + 1]
        return np.asarray(grid.unit * (first + rng.random(len(bins)) * (last - first)))
    below = np.cumsum(grid.points * point_weight, axis=1)
    return draw_points(
        bins, grid.edges, grid.heaps, grid.points, below, rng.random((2, len(bins))), grid.unit
    )
