"""Records under a transformation model: what they have of the probabilities of bins, which are held
for a few designs at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Draw
from riskweighted.design.design import Design
from riskweighted.design.distinct import Distinct
from riskweighted.design.formulas import response_name
from riskweighted.design.predictor_tables import Tables
from riskweighted_models.bounds import Bounds, FoundBoundsMark, check_within
from riskweighted_models.grid import BinEnds, Grid, class_of
from riskweighted_models.kernels.bin_points import (
    masses_between,
    pick_bins,
    probabilities_of,
    shares_below,
    sort_by_design,
    units_reaching,
)
from riskweighted_models.kernels.bins import bin_probabilities
from riskweighted_models.raw_columns import RawColumns
from riskweighted_models.transformation_posterior import (
    LikelihoodCells,
    gamma_of,
    point_weight,
    predictor_of,
    tilts_of,
)

__all__ = [
    "Binned",
    "Designs",
    "interval_table",
    "inverse_masses",
    "masses_of",
    "pick_record_bins",
    "place_values",
    "record_probabilities",
]

_CHUNK = 1024  # designs at a time
_KEPT = 4 * _CHUNK  # as many at most are held until other parameters are asked
_MOST_KEPT = 4  # sets of designs under one theta
_MOST = 0.5  # of the records, above which it is as fast to take all


@dataclass(eq=False)
class Kept:
    """The probabilities of bins under the last parameters, by designs and grid: density, draws and
    masses are asked of one theta, of the same records once and again."""

    theta: Draw | None = None
    known: list[tuple[np.ndarray, Grid, list[np.ndarray]]] = field(default_factory=list, repr=False)

    def of(
        self, theta: Draw, rows: np.ndarray, grid: Grid, make: Callable[[], Iterable[np.ndarray]]
    ) -> list[np.ndarray]:
        """Those of designs (d, p), made where they are not known."""
        if theta is not self.theta:
            self.theta, self.known = theta, []
        for known, of_grid, probabilities in self.known:
            if of_grid is grid and (known is rows or _same(known, rows)):
                return probabilities
        self.known = [*self.known[1 - _MOST_KEPT :], (rows, grid, list(make()))]
        return self.known[-1][2]


def _same(known: np.ndarray | Tables, rows: np.ndarray | Tables) -> bool:
    if isinstance(known, Tables) and isinstance(rows, Tables):
        return known.same_as(rows)
    return known.shape == rows.shape and np.array_equal(known, rows)


@dataclass(eq=False)
class Designs:
    """Records by their design.

    ``rows`` (d, p); ``order``: places of the records, those of the first design first; ``start`` (d
    + 1,): where each design begins there.
    """

    rows: np.ndarray
    order: np.ndarray
    start: np.ndarray
    kept: Kept = field(repr=False)

    @classmethod
    def of(cls, rows: np.ndarray, which: np.ndarray, records: np.ndarray, kept: Kept) -> "Designs":
        """Those of some records, of n whose designs `which` (n,) tells."""
        counts = np.bincount(which[records], minlength=len(rows))
        used, ends = np.flatnonzero(counts), np.cumsum(counts)
        start = np.concatenate([[0], ends[used]])
        return cls(
            rows if len(used) == len(rows) else rows[used],
            sort_by_design(which, records, ends - counts),
            start,
            kept,
        )

    def probabilities(self, theta: Draw, grid: Grid) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """P(bin) of some designs after the other, (c, K), and where they begin, (c + 1,)."""
        made = (
            self._made(theta, grid)
            if len(self.rows) > _KEPT
            else self.kept.of(theta, self.rows, grid, lambda: self._made(theta, grid))
        )
        for begin, probabilities in zip(range(0, len(self.rows), _CHUNK), made, strict=True):
            yield probabilities, self.start[begin : begin + _CHUNK + 1]

    def _made(self, theta: Draw, grid: Grid) -> Iterator[np.ndarray]:
        gamma, tilt = gamma_of(theta), np.asarray(theta["tilt"], dtype=float)
        if (len(gamma), len(tilt)) != (len(grid.knots), len(grid.band)):
            raise InputError(
                "these parameters are those of another grid: bounds, knots or the precision of "
                "the data differ"
            )
        for begin in range(0, len(self.rows), _CHUNK):
            yield bin_probabilities(
                predictor_of(theta, self.rows[begin : begin + _CHUNK]),
                gamma,
                tilts_of(tilt, grid),
                grid.hats,
            )


@dataclass(frozen=True, eq=False)
class Binned:
    """Values as bins and points of a grid, predictors as distinct designs. Confidential.

    ``bins`` (n,): bin of each value, -1 where there is none; ``heap`` (n,): place in ``grid.heaps``
    of what each value is a multiple of; ``kept``: what all records on this grid share.
    """

    design: Design
    raw: RawColumns
    grid: Grid
    bins: np.ndarray
    heap: np.ndarray
    bounds: Bounds
    kept: Kept = field(default_factory=Kept, repr=False)

    def at(self, frame: pd.DataFrame) -> "Binned":
        """Other rows on the confidential design and grid; bin -1 where the frame lacks the
        response.
        """
        design = self.design.at(frame)
        bins, heap = place_values(
            design.response(frame), self.grid, self.bounds, response_name(design.formula)
        )
        return replace(self, design=design, raw=self.raw.at(design), bins=bins, heap=heap)

    def from_tables(self, columns: Tables) -> "Binned":
        """Records of which only the predictors are known, by their model matrix."""
        design = self.design.from_tables(columns)
        nowhere = np.full(len(columns), -1)
        return replace(
            self, design=design, raw=self.raw.at(design), bins=nowhere, heap=np.zeros_like(nowhere)
        )

    @property
    def distinct(self) -> Distinct:
        """The different designs (m, p), and which is each record's (n,)."""
        return self.raw.distinct

    @cached_property
    def designs(self) -> Designs:
        """All records by their design."""
        return Designs.of(*self.distinct, np.arange(len(self.bins)), self.kept)

    def designs_of(self, wanted: np.ndarray | None) -> Designs:
        """Those of the wanted records (booleans (n,)), and where these are most, of all."""
        if wanted is None or wanted.mean() > _MOST:
            return self.designs
        return Designs.of(*self.distinct, np.flatnonzero(wanted), self.kept)

    @cached_property
    def heap_of(self) -> np.ndarray:
        """Place among the heaping parameters of each bin's heaps, (K, C): one of each heap in a
        decade; -1 where there is no such point.
        """
        points, band = self.grid.points, self.grid.band
        place = np.full(points.shape, -1)
        if points.shape[1] > 1 and self.grid.given is None:
            there = np.array(
                [points[band == decade].sum(axis=0) > 0 for decade in range(band.max() + 1)]
            )
            place = np.where(there, np.cumsum(there).reshape(there.shape) - 1, -1)[band]
        return place

    @cached_property
    def cells(self) -> LikelihoodCells:
        """What the likelihood depends on."""
        rows, which = self.distinct
        bins, heaps = self.grid.points.shape
        pair, of_pair = np.unique(which * bins + self.bins, return_inverse=True)
        start = np.searchsorted(pair // bins, np.arange(len(rows) + 1))
        _, first = np.unique(self.heap_of, return_index=True)
        units = np.log(self.grid.heaps.astype(float))[first % heaps][
            self.heap_of.ravel()[first] >= 0
        ]
        return LikelihoodCells(
            rows,
            which,
            of_pair.reshape(-1),
            pair % bins,
            start,
            self.bins * heaps + self.heap,
            self.grid,
            self.heap_of,
            units,
        )


def place_values(
    values: np.ndarray, grid: Grid, bounds: Bounds, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Bin and heap of values (n,), -1 and 0 where they are missing."""
    there = ~np.isnan(values)
    # beyond those that were found in the file a few of its values lie, maybe all in these records
    if not isinstance(bounds, FoundBoundsMark):
        check_within(values[there], bounds, name)
    filled = np.where(there, values, grid.edges[0] * grid.unit)
    if isinstance(bounds, FoundBoundsMark):
        filled = np.clip(filled, *bounds)
    heap = (
        class_of(grid.in_units(filled), grid.heaps)
        if grid.whole
        else np.zeros(len(values), dtype=np.int64)
    )
    return np.where(there, grid.bin_of(filled), -1), np.where(there, heap, 0)


def record_probabilities(theta: Draw, designs: Designs, grid: Grid, bins: np.ndarray) -> np.ndarray:
    """P(own bin) of records (n,); 0 for one that no design has."""
    shares = np.zeros(len(bins))
    for probabilities, start in designs.probabilities(theta, grid):
        probabilities_of(probabilities, start, designs.order, bins, shares)
    return shares


def pick_record_bins(theta: Draw, designs: Designs, grid: Grid, place: np.ndarray) -> np.ndarray:
    """The bin in which each record's share `place` (n,) of all probability is reached, (n,); 0 for
    one that no design has.
    """
    bins = np.zeros(len(place), dtype=np.int64)
    for probabilities, start in designs.probabilities(theta, grid):
        pick_bins(probabilities, start, designs.order, place, bins)
    return bins


def masses_of(
    designs: Designs, grid: Grid, ends: BinEnds, heap_of: np.ndarray
) -> Callable[[Draw], np.ndarray]:
    """From parameters to the probability of each record's interval, (n,); 0 for one that no design
    has.
    """
    of = np.take(ends.of, designs.order, axis=1).astype(np.int32)
    bins, n = ends.bins[of].astype(np.int16), ends.of.shape[1]

    def masses(theta: Draw) -> np.ndarray:
        shares = shares_below(ends.bins, ends.counts, point_weight(theta, grid, heap_of))
        out = np.zeros(n)
        for probabilities, start in designs.probabilities(theta, grid):
            masses_between(probabilities, start, designs.order, of, bins, shares, out)
        return out

    return masses


def interval_table(
    theta: Draw, designs: Designs, grid: Grid, ends: BinEnds, weight: np.ndarray
) -> np.ndarray:
    """The probability of each of some intervals (G,) for every record, (n, G)."""
    shares = shares_below(ends.bins, ends.counts, weight)
    table = np.empty((len(designs.order), ends.of.shape[1]))
    for probabilities, start in designs.probabilities(theta, grid):
        below = np.cumsum(probabilities, axis=1) - probabilities
        at = below[:, ends.bins] + probabilities[:, ends.bins] * shares
        masses = np.maximum(at[:, ends.of[1]] - at[:, ends.of[0]], 0.0)
        table[designs.order[start[0] : start[-1]]] = np.repeat(masses, np.diff(start), axis=0)
    return table


def inverse_masses(
    theta: Draw, designs: Designs, grid: Grid, ends: BinEnds, heap_of: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """The value up to which each record's interval has this share (n,) of its probability, (n,);
    NaN where it has none.
    """
    of = np.take(ends.of, designs.order, axis=1).astype(np.int32)
    bins, weight = ends.bins[of].astype(np.int16), point_weight(theta, grid, heap_of)
    shares, out = shares_below(ends.bins, ends.counts, weight), np.full(ends.of.shape[1], np.nan)
    heaps = grid.heaps if grid.whole else np.empty(0, dtype=np.int64)
    for probabilities, start in designs.probabilities(theta, grid):
        units_reaching(
            probabilities,
            start,
            designs.order,
            of,
            bins,
            shares,
            ends.units,
            share,
            grid.edges,
            heaps,
            weight,
            out,
        )
    return out * grid.unit
