"""Conditional transformation model on a grid of bins, for positive values such as incomes (METHODS
section 5).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytensor.tensor as pt

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.common.found import FoundNumbers, found_numbers, is_found
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import cached_on_arrays, is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Density, Draw
from riskweighted.contract.vector_layout import EndToEnd
from riskweighted.design.design import build_design, response_values
from riskweighted.design.formulas import response_name
from riskweighted.design.precision import find_precision
from riskweighted_models.bounds import (
    Bounds,
    FoundBoundsMark,
    check_within,
    checked_bounds,
    interval_ends,
    largest_of,
)
from riskweighted_models.grid import (
    Heaping,
    bin_ends,
    default_knots,
    draw_point,
    find_ends,
    make_grid,
    straight,
)
from riskweighted_models.raw_columns import raw_columns
from riskweighted_models.scaling import OfFormula
from riskweighted_models.transformation_posterior import (
    density_of,
    log_bins_graph,
    log_points_graph,
    point_weight,
    priors,
    written_sum,
)
from riskweighted_models.transformation_records import (
    Binned,
    interval_table,
    inverse_masses,
    masses_of,
    pick_record_bins,
    place_values,
    record_probabilities,
)

__all__ = ["FEWEST_DISTINCT", "Binned", "Transformation"]

FEWEST_DISTINCT = 20
_FEWEST_HEAPS = 2
_FEWEST_KNOTS, _MOST_KNOTS = 3, 40


@dataclass(frozen=True)
class Transformation(OfFormula):
    """Transformation model with bin tilts and heaping, for positive values.

    With z = log y, F the normal distribution function (to 2e-4, see
    `riskweighted_models.kernels.bins`), hat functions B_j on J knots u_j (scaled to [-1, 1]) that
    are constant beyond the outer ones, and predictors x on their raw columns (dummies as they are,
    others in standard deviations; centred)::

        h(z | x) = c + x'b + integral from z0 to z of sum_j exp(gamma_j + x'g0 + u_j x'g1) B_j
        P(bin k | x) proportional to (F(h(edge k+1 | x)) - F(h(edge k | x))) exp(delta_k)
        P(point of bin k) proportional to phi[decade of k, heap of the point]
        c ~ N(0, 2)    b ~ N(0, 1)    g0, delta ~ N(0, 0.3)    g1 ~ N(0, 0.15)
        log phi ~ N(log(heap), 2)
        delta ~ N(log(cell / bin), 2) of a heap, whose cell ends half way to the next one
        gamma ~ N(0, 1) at the middle knot, from there a random walk
            with sd tau sqrt(distance of knots)
        log tau ~ N(log 0.5, 0.5)

    (METHODS section 5; Hothorn, Moest and Buehlmann 2018.) The likelihood of a record is the
    probability of its recorded value, so log-likelihoods compare with those of other such models
    only. The outer bins are open: they take all that F leaves, and draws from them lie within the
    bounds. Edges are round numbers. Values that are recorded as multiples of a power of ten are
    drawn as such, with the same tendency to round numbers; others are uniform within their bin.

    Parameters
    ----------
    formula : str
        ``"income ~ log(expenditure) + C(region)"``.
    support : (low, high), optional
        Public bounds of the values; a lower one below 0 counts as 0. Default: 0, and ten times the
        power of ten above the largest value, which tells its order of magnitude. ``(low, high,
        "found")``: bounds found in the data; values beyond count as the bound.
    knots : sequence of numbers, optional
        In the units of the response, increasing, within the bounds. Default: twelve round numbers
        around the median, at distances that follow the interquartile range of log y; both are
        rounded first, to one digit unless the spread is small.
    heaping : bool, or pairs of a unit and a share, default True
        Whether the tendency to multiples of 10, 100, 500, ... is learned; False: all points of a
        bin are alike. Pairs give it: ``((1, 0.3), (100, 0.5), (1000, 0.2))``, the shares of values
        by the largest of these units that divides them, which must begin with the precision of the
        data.
    heaps : sequence of numbers, optional
        Values that many records share and no multiple explains, each with a bin and so a share of
        its own: pay by the hour that was computed from pay by the week, amounts in another
        currency. ``(4.5, 7.25, "found")``: found in the data.
    """

    support: tuple[float | None, float | None] | None = None
    knots: tuple[float, ...] | None = None
    heaping: bool | Heaping = True
    heaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "support", checked_bounds(self.support))
        if self.knots is not None:
            object.__setattr__(self, "knots", _checked_knots(self.knots))
        if not isinstance(self.heaping, bool):
            object.__setattr__(self, "heaping", _checked_heaping(self.heaping))
        object.__setattr__(self, "heaps", _checked_heaps(self.heaps))

    @property
    def data_dependent(self) -> tuple[str, ...]:
        """Bounds and knots where they are left to the data, heaps that were found in it, and the
        unit of the grid, which always is.
        """
        bounds = checked_bounds(self.support)
        open_above = bounds is None or np.isinf(bounds.high) or isinstance(bounds, FoundBoundsMark)
        left = {
            "support": open_above,
            "knots": self.knots is None,
            "heaps": is_found(self.heaps),
            "the unit of the grid (precision)": True,
        }
        return tuple(name for name, so in left.items() if so)

    def prepare(self, data: pd.DataFrame) -> Binned:
        """Make the grid, put the values in its bins, and build the design."""
        return self._prepare(data, FEWEST_DISTINCT, lambda: find_precision(data[self.target]))

    def prepare_part(self, data: pd.DataFrame, precision: float | None, *, few: bool) -> Binned:
        """The same for a part of a column, whose precision is that of all of it, and any number of
        distinct values.

        If few, h is a straight line in log y: a log-normal shape but for the tilts, which a handful
        of records can tell of.
        """
        prepared = self._prepare(data, 1, lambda: precision)
        return replace(prepared, grid=straight(prepared.grid)) if few else prepared

    def _prepare(
        self,
        data: pd.DataFrame,
        fewest: int,
        find: Callable[[], float | None],
    ) -> Binned:
        """`find`: what finds how finely the column is recorded."""
        values = response_values(self.formula, data)
        precision = find()
        unfit = int((values <= 0).sum())
        if unfit:
            raise InputError(
                f"{self.target!r} must be positive for a transformation model: {unfit} of "
                f"{len(values)} records are zero or negative; "
                "'two-part' models their share first"
            )
        distinct = len(np.unique(values))
        if distinct < fewest:
            raise InputError(
                f"{self.target!r} has {distinct} distinct values, and a transformation model "
                f"needs {fewest}: "
                "'negative-binomial' suits counts with their zeros, 'normal-mixture' amounts"
            )
        bounds = self._bounds(values, data[self.target].dtype)
        check_within(values, bounds, self.target)
        knots = default_knots(values, *bounds) if self.knots is None else np.array(self.knots)
        outside = int(((knots <= bounds.low) | (knots >= bounds.high)).sum())
        if outside:
            raise InputError(
                f"{outside} of {len(knots)} knots lie outside the bounds {bounds.low:g} to "
                f"{bounds.high:g}"
            )
        grid = make_grid(*bounds, knots, precision, self.heaping, self.heaps)
        design = build_design(self.formula, data)
        return Binned(
            design,
            raw_columns(design),
            grid,
            *place_values(values, grid, bounds, self.target),
            bounds,
        )

    def _bounds(self, values: np.ndarray, dtype: Any) -> Bounds:
        bounds = checked_bounds(self.support) or Bounds(0.0, np.inf)
        low, high = bounds
        if np.isinf(high):
            high = min(10.0 ** min(np.ceil(np.log10(values.max())) + 1, 308), largest_of(dtype))
        return bounds._replace(low=max(low, 0.0), high=high)

    def build(self, prepared: Binned) -> Blueprint:
        """Priors and weighted likelihood; the same as a compiled density, which is sampled."""
        import pymc as pm

        cells = prepared.cells
        with pm.Model() as model:
            data = {
                name: pm.Data(name, value)
                for name, value in cells.weigh(np.ones(len(cells.which))).items()
            }
            total = written_sum(priors(cells), cells, data)
        terms = len(cells.rows) * len(prepared.grid.band) // 5

        def centred(alpha: np.ndarray, centring: Centring) -> Density:
            return density_of(cells, alpha, centring.sums(cells.which, len(cells.rows)))

        return Blueprint(
            model,
            total,
            cells.weigh,
            tuple(cells.shapes),
            terms,
            density=partial(density_of, cells),
            centred=centred,
        )

    def n_parameters(self, prepared: Binned) -> int:
        """How many parameters `build` gives the model."""
        return EndToEnd(prepared.cells.shapes).size

    def intervals(self, prepared: Binned) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bins, for what is expected over values
        (`riskweighted.contract.centring.Intervals`).
        """
        return *bin_ends(prepared.grid), np.zeros(len(prepared.grid.band), dtype=int)

    def distribution(self, theta: Draw, prepared: Binned, wanted: np.ndarray | None = None) -> Any:
        """The shares of the bins in each design: `BinnedRecords`, or `BinnedGraph` of expressions.

        Of `wanted` records (booleans (n,)) alone, if they are given, the same as without.
        """
        if is_symbolic(theta):
            log_mass = log_bins_graph(theta, prepared.distinct.rows, prepared.grid)
            points = log_points_graph(theta, prepared.grid, prepared.heap_of)
            return BinnedGraph(log_mass - pt.logsumexp(log_mass, axis=0), points, prepared)
        return BinnedRecords(theta, prepared, wanted)


class BinnedRecords(NamedTuple):
    """Values of the points of a grid: see `Records`."""

    theta: Draw
    prepared: Binned
    wanted: np.ndarray | None

    def log_density(self, y: np.ndarray) -> np.ndarray:
        prepared, (bins, heap) = self.prepared, _recorded(self.prepared, y)
        shares = record_probabilities(
            self.theta, prepared.designs_of(self.wanted), prepared.grid, np.maximum(bins, 0)
        )
        with np.errstate(divide="ignore"):
            each = np.log(shares) + np.log(self._point_weight)[np.maximum(bins, 0), heap]
        return np.where(bins < 0, np.nan, each)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return _masses(self.prepared, lower, upper)(self.theta)

    def masses_of(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The masses of the same intervals (G,) for every record, (n, G), where each of them would
        be asked of all.
        """
        prepared = self.prepared
        return interval_table(
            self.theta,
            prepared.designs,
            prepared.grid,
            find_ends(prepared.grid, lower, upper),
            self._point_weight,
        )

    def inverse(self, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The value inside each interval up to which it has this share of its mass; NaN where it
        has none.
        """
        prepared, n = self.prepared, len(self.prepared.bins)
        ends = _ends(prepared.grid, interval_ends(lower, n), interval_ends(upper, n))
        wide = ends.of[0] != ends.of[1]
        designs = prepared.designs_of(wide if self.wanted is None else wide & self.wanted)
        return inverse_masses(self.theta, designs, prepared.grid, ends, prepared.heap_of, share)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """New values on the original scale."""
        prepared = self.prepared
        bins = pick_record_bins(
            self.theta,
            prepared.designs_of(self.wanted),
            prepared.grid,
            rng.random(len(prepared.bins)),
        )
        return draw_point(prepared.grid, bins, self._point_weight, rng)

    @property
    def _point_weight(self) -> np.ndarray:
        """P(point | bin) by heap, (K, C)."""
        return point_weight(self.theta, self.prepared.grid, self.prepared.heap_of)


class BinnedGraph(NamedTuple):
    """The same of expressions: ``log_bins`` (K, m) of the designs, ``log_points`` (K, C) of a point
    of a bin by heap.
    """

    log_bins: Any
    log_points: Any
    prepared: Binned

    def log_density(self, y: np.ndarray) -> Any:
        bins, heap = _recorded(self.prepared, y)
        return self.log_bins[bins, self.prepared.distinct.which] + self.log_points[bins, heap]

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Any:
        n, grid = len(self.prepared.bins), self.prepared.grid
        ends = find_ends(grid, interval_ends(lower, n), interval_ends(upper, n))
        which = self.prepared.distinct.which
        weight = pt.switch(grid.points > 0, pt.exp(self.log_points), 0.0)
        share, shares = (ends.counts * weight[ends.bins]).sum(axis=1), pt.exp(self.log_bins)
        before = pt.cumsum(shares, axis=0) - shares
        low, high = (
            before[ends.bins[of], which] + shares[ends.bins[of], which] * share[of]
            for of in ends.of
        )
        return pt.maximum(high - low, 0.0)


@cached_on_arrays
def _recorded(prepared: Binned, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bin and heap of values (n,)."""
    return place_values(y, prepared.grid, prepared.bounds, response_name(prepared.design.formula))


_ends = cached_on_arrays(
    find_ends
)  # on a grid, which records share whatever their predictors are drawn to be


@cached_on_arrays
def _masses(prepared: Binned, lower: np.ndarray, upper: np.ndarray) -> Callable[[Draw], np.ndarray]:
    """From parameters to the masses of intervals."""
    n = len(prepared.bins)
    ends = _ends(prepared.grid, interval_ends(lower, n), interval_ends(upper, n))
    return masses_of(
        prepared.designs_of(ends.of[0] != ends.of[1]), prepared.grid, ends, prepared.heap_of
    )


def _checked_heaping(heaping: Any) -> Heaping:
    try:
        given = tuple((float(unit), float(share)) for unit, share in heaping)
        units, shares = np.array(given).T
        ratio = units[1:] / units[:-1]
        right = bool(
            np.isfinite(given).all()
            and units[0] > 0
            and (ratio > 1.5).all()
            and np.allclose(ratio, np.rint(ratio))
            and (shares > 0).all()
        )
    except (TypeError, ValueError):
        right = False
    if not right or abs(shares.sum() - 1) > 1e-6 or len(given) < _FEWEST_HEAPS:
        raise InputError(
            "heaping must be true or false, or two or more pairs of a unit and a share such as "
            "[[1, 0.3], [100, 0.5], [1000, 0.2]], "
            "each unit a multiple of the one before it, shares positive with sum 1; got "
            f"{heaping!r}"
        )
    return given


def _checked_heaps(heaps: Any) -> tuple[float, ...]:
    values, found = found_numbers(heaps)
    given = tuple(values) if isinstance(values, (tuple, list, np.ndarray)) else (values,)
    if not all(is_number(value) and value > 0 for value in given):
        raise InputError(
            "heaps must be positive numbers, and 'found' at the end, got other entries"
        )
    numbers = tuple(float(value) for value in given)
    twice = len(numbers) - len(set(numbers))
    if twice:
        raise InputError(f"heaps name each value once, got {twice} of {len(numbers)} again")
    return FoundNumbers(numbers) if found else numbers


def _checked_knots(knots: Any) -> tuple[float, ...]:
    given = tuple(knots) if isinstance(knots, (tuple, list, np.ndarray)) else ()
    if not _FEWEST_KNOTS <= len(given) <= _MOST_KNOTS or not all(
        is_number(knot) and knot > 0 for knot in given
    ):
        raise InputError(
            f"knots must be {_FEWEST_KNOTS} to {_MOST_KNOTS} positive numbers, got {knots!r}"
        )
    if any(later <= earlier for earlier, later in pairwise(given)):
        raise InputError(f"knots must increase, got {list(given)}")
    return tuple(float(knot) for knot in given)
