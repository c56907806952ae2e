"""An attack on holes: weights thin out the copies around records that stand out, so an intruder
guesses where copies are missing.

All copies of a known pattern are pooled and counted in bins on a line on which balls are about
equally wide. The guess is the place where their density lies lowest, as a share, under their own
smooth density (METHODS section 13.1). No confidential value has a part in a guess.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World

__all__ = ["WIDTHS", "BinLine", "find_by_gaps", "lowest_bins"]

# of the density that is looked at, as shares of the radius; each makes a guess of its own
WIDTHS = (0.125, 0.25, 0.5)
_SMOOTH = 2.0  # radii: of the density that it is held against
_BIN = 1 / 16  # of the radius
_MOST_BINS = 4096
_FEWEST = 1000  # copies of a pattern that has a guess of its own; the others have one together
_AT_ONCE = 4_000_000  # numbers that are smoothed together
# quantile of the sizes below which the line of a relative radius without a least one is straight
_NEAR_ZERO = 0.01


class BinLine(NamedTuple):
    """Bins on a line whose unit is a ball's half width: of a relative radius about logarithmic, but
    for amounts near zero.

    ``bend``: the amount below which it is straight; infinite where it is straight everywhere.
    ``bins`` of ``step`` units from ``low`` on; none where balls have no width, or there is no copy.
    """

    unit: float
    bend: float
    low: float = 0.0
    step: float = 1.0
    bins: int = 0

    @classmethod
    def of(cls, scenario: Scenario, variable: str, amounts: np.ndarray) -> "BinLine":
        """That of a variable, from all of its copies."""
        radius, least, bend = scenario.radius_of(variable), scenario.min_radius_of(variable), np.inf
        if not max(radius, least) or not len(amounts):
            return cls(0.0, np.inf)
        sizes = np.abs(amounts[amounts != 0])
        if scenario.kind_of(variable) != "relative" or not radius or not len(sizes):
            radius = max(radius, least)
        else:
            bend = least / radius if least > 0 else float(np.quantile(sizes, _NEAR_ZERO))
        line = cls(radius, bend)
        low, high = line.places(np.array([amounts.min(), amounts.max()])).tolist()
        step = max(_BIN, (high - low) / (_MOST_BINS - 1))
        return line._replace(low=low, step=step, bins=int((high - low) / step) + 1)

    def places(self, amounts: np.ndarray) -> np.ndarray:
        return np.asarray(
            (amounts if np.isinf(self.bend) else np.arcsinh(amounts / self.bend)) / self.unit
        )

    def bins_of(self, amounts: np.ndarray) -> np.ndarray:
        return np.clip(
            ((self.places(amounts) - self.low) / self.step).astype(np.int64), 0, self.bins - 1
        )

    def guesses(self, bins: np.ndarray) -> np.ndarray:
        """The amounts in the middle of bins, NaN for -1."""
        places = (self.low + (bins + 0.5) * self.step) * self.unit
        return np.where(
            bins < 0, np.nan, places if np.isinf(self.bend) else self.bend * np.sinh(places)
        )


def find_by_gaps(paired: Paired, variable: str) -> np.ndarray:
    """Return which records the guess of each width finds, in whose ball it lies, (widths, n).

    None whose value is no amount, and none where balls have no width.
    """
    world, (amounts, rows) = paired.world, _copies(paired, variable)
    found = np.zeros((len(WIDTHS), len(world.confidential)), dtype=bool)
    line = BinLine.of(world.scenario, variable, amounts)
    if not line.bins:
        return found
    cells, bins = _cells(world, rows), line.bins_of(amounts)
    lowest = np.concatenate(
        [
            lowest_bins(counts, line.step)
            for counts in _counted(cells, cells[rows], bins, line.bins)
        ],
        axis=1,
    )
    true = world.scenario.statuses(world.confidential[variable])
    lower, upper = world.scenario.balls(variable, true.amounts)
    for of_width, guesses in zip(found, line.guesses(lowest), strict=True):
        guessed = guesses[cells[true.is_amount]]
        of_width[true.is_amount] = (lower <= guessed) & (guessed <= upper)
    return found


def lowest_bins(counts: np.ndarray, step: float) -> np.ndarray:
    """Return the bin in which each width guesses, (widths, cells), from counts of copies (cells,
    bins) of `step` radii each.

    It is the bin of the least (f + 1) / (s + 1) between the first and the last copy: f and s are
    the copies that the density and the smooth one expect where one copy is spread. The one keeps
    gaps between the few copies of a tail from passing for holes. -1 where there is no copy.
    """
    from scipy.ndimage import gaussian_filter1d

    def smoothed(width: float) -> np.ndarray:
        return np.asarray(
            gaussian_filter1d(counts.astype(float), max(width / step, 0.5), axis=1, mode="constant")
        )

    smooth, there = smoothed(_SMOOTH), counts > 0
    between = (
        np.logical_or.accumulate(there, axis=1)
        & np.logical_or.accumulate(there[:, ::-1], axis=1)[:, ::-1]
    )
    lowest = np.empty((len(WIDTHS), len(counts)), dtype=np.int64)
    for number, width in enumerate(WIDTHS):
        spread = 2 * np.sqrt(np.pi) * max(width / step, 0.5)  # bins over which one copy is spread
        share = (spread * smoothed(width) + 1) / (spread * smooth + 1)
        lowest[number] = np.where(
            there.any(axis=1), np.where(between, share, np.inf).argmin(axis=1), -1
        )
    return lowest


def _copies(paired: Paired, variable: str) -> tuple[np.ndarray, np.ndarray]:
    """The amounts of all datasets, one after the other, and the records that they are copies of."""
    statuses = paired.statuses(variable)
    return np.concatenate([of.amounts for of in statuses]), np.concatenate(
        [np.flatnonzero(of.is_amount) for of in statuses]
    )


def _cells(world: World, rows: np.ndarray) -> np.ndarray:
    """The cell whose copies are pooled for each record, (n,): its known pattern, or 0, one of all
    patterns with few copies.
    """
    codes = world.patterns.codes
    many = np.bincount(codes[rows], minlength=len(world.patterns.sizes)) >= _FEWEST
    return np.asarray(np.where(many, np.cumsum(many), 0)[codes])


def _counted(
    cells: np.ndarray, of_copies: np.ndarray, bins: np.ndarray, count: int
) -> Iterator[np.ndarray]:
    """Copies by cell and bin, some cells at a time."""
    keys = np.sort(of_copies * count + bins)
    total, some = int(cells.max()) + 1, max(1, _AT_ONCE // count)
    for first in range(0, total, some):
        last = min(first + some, total)
        begin, end = np.searchsorted(keys, [first * count, last * count])
        yield np.bincount(
            keys[begin:end] - first * count, minlength=(last - first) * count
        ).reshape(-1, count)
