"""Balls of one numeric variable: runs of neighbours ``[first, last)`` in the order of the values.

Both sides are sorted within cells, the balls' ends once for all candidates; one walk through both
lists finds every run. What is said of balls is found in their own order and brought into that of
the records at the end, so that large files are read from front to back.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from riskweighted.intruder.kernels.runs import SHORT, SortedValues, count_held, deal, find_places

__all__ = ["Runs", "SortedBalls", "count_covering", "find_runs", "sort_balls"]


def _sort(
    values: np.ndarray, cell: np.ndarray, cells: int, *, ordered: bool = True
) -> SortedValues:
    """Values (n,) sorted within cells; without `ordered` in a fraction of the time, and the order
    then means nothing.
    """
    line = deal(values, cell, np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells))]))
    for long in np.flatnonzero(np.diff(line.begin) > SHORT).tolist():
        of_cell = slice(line.begin[long], line.begin[long + 1])
        if ordered:
            sort = np.argsort(line.values[of_cell])
            line.values[of_cell], line.order[of_cell] = (
                line.values[of_cell][sort],
                line.order[of_cell][sort],
            )
        else:
            line.values[of_cell].sort()
    return line


def _by_record(values: np.ndarray, line: SortedValues) -> np.ndarray:
    """What stands in the order of a line, in that of the records, (n,)."""
    placed: np.ndarray = np.empty_like(values)
    placed[line.order] = values
    return placed


@dataclass(frozen=True, eq=False)
class SortedBalls:
    """n closed balls in cells, of which one is empty whose lower end is the number after its upper
    end; made by `sort_balls`.

    ``cell``, ``centres``, ``lower``, ``upper`` (n,): by record what a ball is around, and its ends;
    the others are the same sorted.
    """

    cell: np.ndarray = field(repr=False)
    centres: np.ndarray = field(repr=False)
    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)
    by_centre: SortedValues = field(repr=False)
    by_lower: SortedValues = field(repr=False)
    by_upper: SortedValues = field(repr=False)

    def hold(self, cell: np.ndarray, values: np.ndarray) -> "Runs":
        """Which of m candidates lie in which ball; their cells (m,) are numbered as the balls' are,
        higher ones hold no ball.
        """
        cells = max(len(self.by_centre.begin) - 1, int(cell.max()) + 1)
        return self._runs(cell, values, _sort(values, cell, cells, ordered=False))

    def hold_centres(self) -> "Runs":
        """Which centres lie in which ball; each in its own, which holds nothing else where it is
        empty.
        """
        runs = self._runs(self.cell, self.centres, self.by_centre)
        runs.__dict__["order"] = self.by_centre.order
        empty = self.upper < self.lower
        if empty.any():
            for places, ends, after in (
                (runs.opening, self.by_lower, 0),
                (runs.closing, self.by_upper, 1),
            ):
                of_empty = empty[ends.order]
                places[of_empty] = runs.rank[ends.order[of_empty]] + after
        return runs

    def _runs(self, cell: np.ndarray, values: np.ndarray, candidates: SortedValues) -> "Runs":
        return Runs(
            self,
            cell,
            values,
            find_places(candidates, self.by_lower, False),
            find_places(candidates, self.by_upper, True),
        )


@dataclass(frozen=True, eq=False)
class Runs:
    """Neighbours in one dimension, of n balls and m candidates.

    ``cell``, ``values`` (m,): of the candidates. ``opening``, ``closing`` (n,): where the runs
    begin, in the order of the balls' lower ends, and where they end, in that of the upper ones.
    """

    balls: SortedBalls = field(repr=False)
    cell: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    opening: np.ndarray = field(repr=False)
    closing: np.ndarray = field(repr=False)

    @cached_property
    def first(self) -> np.ndarray:
        """The ball of record i holds the candidates at places first[i] .. last[i] - 1 in the order
        of cell and value; (n,).
        """
        return _by_record(self.opening, self.balls.by_lower)

    @cached_property
    def last(self) -> np.ndarray:
        """See `first`; (n,)."""
        return _by_record(self.closing, self.balls.by_upper)

    @property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's ball, (n,)."""
        return self._between(self.opening, self.closing)

    @cached_property
    def order(self) -> np.ndarray:
        """Candidate at each sorted place, (m,); found where it is asked for, since counts need
        none.
        """
        return _sort(self.values, self.cell, int(self.cell.max()) + 1).order

    @cached_property
    def rank(self) -> np.ndarray:
        """Sorted place of each candidate, (m,)."""
        rank = np.empty(len(self.order), dtype=np.int64)
        rank[self.order] = np.arange(len(self.order))
        return rank

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its ball, (n,); there are n
        candidates.
        """
        balls = self.balls
        return np.asarray(
            (balls.cell == self.cell) & (balls.lower <= self.values) & (self.values <= balls.upper)
        )

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Differences of prefix sums, (n,)."""
        before = np.zeros(len(self.order) + 1, np.cumsum(weights[:1]).dtype)
        np.cumsum(weights[self.order], out=before[1:])
        return self._between(before[self.opening], before[self.closing])

    def covering(self) -> np.ndarray:
        """A difference array over the sorted places, summed, (m,)."""
        steps = np.bincount(self.opening, minlength=len(self.order) + 1)
        steps -= np.bincount(self.closing, minlength=len(steps))
        number = np.empty(len(self.order), dtype=np.int64)
        number[self.order] = np.cumsum(steps)[:-1]
        return number

    def _between(self, opening: np.ndarray, closing: np.ndarray) -> np.ndarray:
        """What stands at the end of each run less what stands at its beginning, by record, (n,)."""
        if self.balls.by_lower.order is self.balls.by_upper.order:
            return _by_record(closing - opening, self.balls.by_lower)
        return np.asarray(
            _by_record(closing, self.balls.by_upper) - _by_record(opening, self.balls.by_lower)
        )


def sort_balls(
    cell: np.ndarray, centres: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> SortedBalls:
    """Balls around centres (n,) sorted within their cells, once for all candidates.

    Ends mostly rise with the centres, and then all three share one order.
    """
    line = _sort(centres, cell, int(cell.max()) + 1)
    return SortedBalls(
        cell,
        centres,
        lower,
        upper,
        line,
        _sorted_as(line, lower, cell),
        _sorted_as(line, upper, cell),
    )


def _sorted_as(line: SortedValues, ends: np.ndarray, cell: np.ndarray) -> SortedValues:
    """Ends (n,) sorted within cells, in the order of a line where they rise in it."""
    ordered = ends[line.order]
    falls = ordered[1:] < ordered[:-1]
    falls[line.begin[(line.begin > 0) & (line.begin < len(cell))] - 1] = False
    return (
        _sort(ends, cell, len(line.begin) - 1)
        if falls.any()
        else SortedValues(ordered, line.order, line.begin)
    )


def count_covering(cell: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Number of balls of each cell that hold the lower end of each of its balls, (n,); an empty one
    holds its own alone.
    """
    line = _sort(lower, cell, int(cell.max()) + 1)
    return np.asarray(count_held(line, _sorted_as(line, upper, cell)) + (upper < lower))


def find_runs(
    centre_cell: np.ndarray,
    cell: np.ndarray,
    values: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> Runs:
    """The candidates (m,) in each of n balls that are compared once."""
    return sort_balls(centre_cell, lower, lower, upper).hold(cell, values)
