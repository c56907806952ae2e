"""The synthetic variables of a scenario as numbers that are near each other as the scenario says:
amounts, statuses and levels alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.intruder.boxes import Boxes
from riskweighted.intruder.patterns import number_codes
from riskweighted.intruder.sorted_balls import count_covering, sort_balls
from riskweighted.intruder.statuses import AMOUNT
from riskweighted.intruder.world import World

__all__ = ["Coding", "coverings"]

_APART = 1e300  # from here on a number is no amount: it is near itself alone


@dataclass(frozen=True, eq=False)
class Coding:
    """How values of V synthetic variables become numbers (V, n): an amount as it is, anything else
    as a number near itself alone.

    `rows`: the records that are looked at, by number; None for all. Confidential: it holds the true
    values.
    """

    world: World = field(repr=False)
    rows: np.ndarray | None = field(default=None, repr=False)

    @property
    def names(self) -> Sequence[str]:
        """The synthetic variables."""
        return self.world.scenario.synthetic

    @cached_property
    def is_numeric(self) -> tuple[bool, ...]:
        """Which variables are matched in a ball."""
        return tuple(name in self.world.numeric for name in self.names)

    @cached_property
    def _levels(self) -> dict[str, pd.Index]:
        named = [
            name for name, numeric in zip(self.names, self.is_numeric, strict=True) if not numeric
        ]
        return {
            name: pd.Index(self.world.confidential[name].astype(object).dropna().unique())
            for name in named
        }

    def numbers(self, frame: pd.DataFrame) -> np.ndarray:
        """The synthetic variables of a frame's rows, of which those that are looked at are kept,
        (V, n).
        """
        made = np.array([self._column(frame[name], name) for name in self.names])
        return made if self.rows is None else made[:, self.rows]

    def _column(self, column: pd.Series, name: str) -> np.ndarray:
        if name not in self._levels:
            statuses = self.world.scenario.statuses(column)
            return np.asarray(
                np.where(
                    statuses.status == AMOUNT, statuses.values, _APART * (1.0 + statuses.status)
                )
            )
        levels = self._levels[name]
        # a level that no confidential record has is -1
        codes = levels.get_indexer(pd.Index(column.astype(object)))
        codes[column.isna().to_numpy()] = len(levels)
        return np.asarray(_APART * (2.0 + codes))

    def ends(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the balls around numbers (V, ...), each of their shape."""
        lower, upper = numbers.copy(), numbers.copy()
        for v, name in enumerate(self.names):
            if self.is_numeric[v]:
                amounts = numbers[v] < _APART
                lower[v][amounts], upper[v][amounts] = self.world.scenario.balls(
                    name, numbers[v][amounts]
                )
        return lower, upper

    @cached_property
    def truth(self) -> np.ndarray:
        """The true values, (V, n)."""
        return self.numbers(self.world.confidential)

    @cached_property
    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the balls of the true values, (V, n) each."""
        return self.ends(self.truth)

    def near(self, numbers: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Which guesses or copies (V, ..., n) lie in the ball of the true values, (..., n); `rows`:
        of those alone.
        """
        lower, upper = self.reach
        inside = [
            (lower[v, rows] <= values) & (values <= upper[v, rows])
            for v, values in enumerate(numbers)
        ]
        return np.asarray(np.logical_and.reduce(inside))

    def is_amount(self, numbers: np.ndarray) -> np.ndarray:
        """Which numbers are amounts, of their shape."""
        return np.asarray(numbers < _APART)


def coverings(lower: np.ndarray, upper: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Return how many of the m boxes of each cell hold the lower corner of each of its boxes, (m,);
    ends (V, m), cells (m,).
    """
    wide = [v for v in range(len(lower)) if (lower[v] < upper[v]).any()]
    for v in range(len(lower)):
        if v not in wide and len(lower) > 1:  # near itself alone: it divides the cells
            _, levels = np.unique(lower[v], return_inverse=True)
            cell, _ = number_codes(cell * (int(levels.max()) + 1) + levels)
    if len(wide) < 2:
        only = wide[0] if wide else 0
        return count_covering(cell, lower[only], upper[only])
    return Boxes(
        tuple(sort_balls(cell, lower[v], lower[v], upper[v]).hold_centres() for v in wide)
    ).covering()
