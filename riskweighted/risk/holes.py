"""An attack on holes: weights thin out the copies around records that stand out, so an intruder
guesses where copies are missing.

All copies of a known pattern are pooled and counted in bins on a line on which balls are about
equally wide. The guess is the place where their density lies lowest, as a share, under their own
smooth density (METHODS section 13.1). No confidential value has a part in a guess.

Of a file in parts, each of whole known patterns, the parts tell in turn the `Extent` of their
copies, then, on the `Line`, those of patterns with few copies, and whom the guesses find.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from riskweighted.common.order import Bins, OrderCounts
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World

__all__ = ["WIDTHS", "Extent", "Line", "found_on", "lowest_bins", "pooled_copies", "sizes_within"]

# of the density that is looked at, as shares of the radius; each makes a guess of its own
WIDTHS = (0.125, 0.25, 0.5)
_SMOOTH = 2.0  # radii: of the density that it is held against
_BIN = 1 / 16  # of the radius
_MOST_BINS = 4096
_FEWEST = 1000  # copies of a pattern that has a guess of its own; the others have one together
_AT_ONCE = 4_000_000  # numbers that are smoothed together
# quantile of the sizes below which the line of a relative radius without a least one is straight
_NEAR_ZERO = 0.01


class Extent(NamedTuple):
    """Of all copies of a variable, or those of a part of the file, what the line is made of.

    ``sizes``: their absolute values above zero, where the bend of the line is one of their
    quantiles; ``above_zero``: how many there are; ``least``, ``greatest``: of the amounts.
    """

    sizes: OrderCounts | None
    above_zero: int
    least: float
    greatest: float

    @classmethod
    def of(cls, paired: Paired, variable: str) -> "Extent":
        amounts, _ = _copies(paired, variable)
        sizes = np.abs(amounts[amounts != 0])
        counted = OrderCounts.of(sizes) if _bends(paired.world.scenario, variable) else None
        return cls(
            counted,
            len(sizes),
            float(amounts.min(initial=np.inf)),
            float(amounts.max(initial=-np.inf)),
        )

    def __add__(self, other: "Extent") -> "Extent":  # type: ignore[override]
        sizes = None if self.sizes is None or other.sizes is None else self.sizes + other.sizes
        ends = min(self.least, other.least), max(self.greatest, other.greatest)
        return Extent(sizes, self.above_zero + other.above_zero, *ends)

    def unsettled(self) -> Bins | None:
        """Where the sizes must be looked at again before the bend is known."""
        return (
            None
            if self.sizes is None or not self.above_zero
            else self.sizes.unsettled(self.sizes.ranks([_NEAR_ZERO]))
        )


class Line(NamedTuple):
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
    def of(cls, scenario: Scenario, variable: str, extent: Extent) -> "Line":
        """That of a variable, from all of its copies."""
        radius, least, bend = scenario.radius_of(variable), scenario.min_radius_of(variable), np.inf
        if not max(radius, least) or extent.least > extent.greatest:
            return cls(0.0, np.inf)
        if scenario.kind_of(variable) != "relative" or not radius or not extent.above_zero:
            radius = max(radius, least)
        else:
            bend = (
                least / radius if extent.sizes is None else extent.sizes.quantiles([_NEAR_ZERO])[0]
            )
        line = cls(radius, bend)
        low, high = line.places(np.array([extent.least, extent.greatest])).tolist()
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


def sizes_within(paired: Paired, variable: str, bins: Bins) -> OrderCounts:
    """The absolute values above zero of the copies that lie in some bins."""
    amounts, _ = _copies(paired, variable)
    return OrderCounts.of(np.abs(amounts[amounts != 0]), bins)


def pooled_copies(paired: Paired, variable: str, line: Line) -> np.ndarray:
    """How many copies of all patterns with few of them lie in each bin, (bins,)."""
    amounts, rows = _copies(paired, variable)
    of_few = _cells(paired.world, rows)[rows] == 0
    return np.bincount(line.bins_of(amounts[of_few]), minlength=line.bins)


def found_on(paired: Paired, variable: str, line: Line, pooled: np.ndarray) -> np.ndarray:
    """Return which records of a part of the file the guess of each width finds, in whose ball it
    lies, (widths, n).

    None whose value is no amount, and none where balls have no width. `line`: that of the whole
    file; `pooled` (widths,): the bins in which each width guesses for patterns with few copies, -1
    where it does not.
    """
    world, (amounts, rows) = paired.world, _copies(paired, variable)
    found = np.zeros((len(WIDTHS), len(world.confidential)), dtype=bool)
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
    lowest[:, 0] = pooled
    true = world.scenario.statuses(world.confidential[variable])
    lower, upper = world.scenario.balls(variable, true.amounts)
    guessed = line.guesses(lowest)[:, cells[true.is_amount]]
    found[:, true.is_amount] = (lower <= guessed) & (guessed <= upper)
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


def _bends(scenario: Scenario, variable: str) -> bool:
    """Whether the line of a variable bends at a quantile of its copies."""
    return (
        scenario.kind_of(variable) == "relative"
        and bool(scenario.radius_of(variable))
        and not scenario.min_radius_of(variable) > 0
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
