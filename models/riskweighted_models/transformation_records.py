"""Records under a transformation model: what they have of the probabilities of bins, which are held for a few designs at a time."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Draw
from riskweighted_models.grid import Ends, Grid
from riskweighted_models.kernels.bins import bin_probabilities
from riskweighted_models.kernels.points import by_design, masses_between, pick_bins, probabilities_of, shares_below, units_reaching
from riskweighted_models.transformation_posterior import gamma_of, point_weight, predictor_of

__all__ = ["Designs", "inverse_masses", "masses_of", "pick_record_bins", "record_probabilities"]

_CHUNK = 1024  # designs at a time


class Designs(NamedTuple):
    """Records by their design.

    ``rows`` (d, p); ``order``: places of the records, those of the first design first; ``start`` (d + 1,): where each design begins there.
    """

    rows: np.ndarray
    order: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, which: np.ndarray, records: np.ndarray) -> "Designs":
        """Those of some records, of n whose designs `which` (n,) tells."""
        counts = np.bincount(which[records], minlength=len(rows))
        used, ends = np.flatnonzero(counts), np.cumsum(counts)
        start = np.concatenate([[0], ends[used]])
        return cls(rows if len(used) == len(rows) else rows[used], by_design(which, records, ends - counts), start)

    def probabilities(self, theta: Draw, grid: Grid) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """P(bin) of some designs after the other, (c, K), and where they begin, (c + 1,)."""
        gamma, tilt = gamma_of(theta), np.asarray(theta["tilt"], dtype=float)
        if (len(gamma), len(tilt)) != (len(grid.knots), len(grid.band)):
            raise InputError("these parameters are those of another grid: bounds, knots or the precision of the data differ")
        for begin in range(0, len(self.rows), _CHUNK):
            eta = predictor_of(theta, self.rows[begin : begin + _CHUNK])
            yield bin_probabilities(eta, gamma, tilt, grid.hats), self.start[begin : begin + _CHUNK + 1]


def record_probabilities(theta: Draw, designs: Designs, grid: Grid, bins: np.ndarray) -> np.ndarray:
    """P(own bin) of records (n,); 0 for one that no design has."""
    found = np.zeros(len(bins))
    for probabilities, start in designs.probabilities(theta, grid):
        probabilities_of(probabilities, start, designs.order, bins, found)
    return found


def pick_record_bins(theta: Draw, designs: Designs, grid: Grid, place: np.ndarray) -> np.ndarray:
    """The bin in which each record's share `place` (n,) of all probability is reached, (n,); 0 for one that no design has."""
    found = np.zeros(len(place), dtype=np.int64)
    for probabilities, start in designs.probabilities(theta, grid):
        pick_bins(probabilities, start, designs.order, place, found)
    return found


def masses_of(designs: Designs, grid: Grid, ends: Ends, heap_of: np.ndarray) -> Callable[[Draw], np.ndarray]:
    """From parameters to the probability of each record's interval, (n,); 0 for one that no design has."""
    of = np.take(ends.of, designs.order, axis=1).astype(np.int32)
    bins, n = ends.bins[of].astype(np.int16), ends.of.shape[1]

    def masses(theta: Draw) -> np.ndarray:
        shares, found = shares_below(ends.bins, ends.counts, point_weight(theta, grid, heap_of)), np.zeros(n)
        for probabilities, start in designs.probabilities(theta, grid):
            masses_between(probabilities, start, designs.order, of, bins, shares, found)
        return found

    return masses


def inverse_masses(theta: Draw, designs: Designs, grid: Grid, ends: Ends, heap_of: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The value up to which each record's interval has this share (n,) of its probability, (n,); NaN where it has none."""
    of = np.take(ends.of, designs.order, axis=1).astype(np.int32)
    bins, weight = ends.bins[of].astype(np.int16), point_weight(theta, grid, heap_of)
    shares, found = shares_below(ends.bins, ends.counts, weight), np.full(ends.of.shape[1], np.nan)
    heaps = grid.heaps if grid.whole else np.empty(0, dtype=np.int64)
    for probabilities, start in designs.probabilities(theta, grid):
        units_reaching(probabilities, start, designs.order, of, bins, shares, ends.units, share, grid.edges, heaps, weight, found)
    return found * grid.unit
