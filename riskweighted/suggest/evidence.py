"""What a column shows, before anybody says what it is: its values, how many differ, how they
lie.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers, kind_of_values
from riskweighted.data.variable import Variable
from riskweighted.suggest.codes import find_codes

__all__ = ["Evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """A column of a frame, with what is said of it. ``values``: those of the records that have one,
    in file order; of a column of numbers without codes that are declared to mean missing, or seem
    to be such codes."""

    column: pd.Series
    stated: Variable

    @cached_property
    def name(self) -> str:
        """Its name."""
        return str(self.column.name)

    @cached_property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return holds_numbers(self.column)

    @cached_property
    def is_date(self) -> bool:
        """Whether its type is one of dates or times."""
        return any(word in kind_of_values(self.column) for word in ("date", "time", "period"))

    @cached_property
    def is_truth(self) -> bool:
        """Whether it holds truth values."""
        return "bool" in kind_of_values(self.column)

    @cached_property
    def counts(self) -> pd.Series:
        """How many records have each value, codes among them."""
        counts = self.column.value_counts()
        return counts[counts > 0]

    @cached_property
    def codes(self) -> tuple[float, ...]:
        """Codes of a column of numbers: declared to mean missing, or apart at an end."""
        return find_codes(self.counts, len(self.column), self.stated) if self.is_number else ()

    @cached_property
    def values(self) -> np.ndarray:
        """The values there are, (n,): floats, or texts."""
        if not self.is_number:
            return np.asarray(self.column.dropna().astype(str))
        numbers = as_floats(self.column)
        return np.asarray(numbers[np.isfinite(numbers) & ~np.isin(numbers, self.codes)])

    @property
    def n(self) -> int:
        """How many records have a value."""
        return len(self.values)

    @cached_property
    def _tallied(self) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(self.values, return_counts=True)

    @property
    def different(self) -> np.ndarray:
        """The different values in their order, (D,)."""
        return self._tallied[0]

    @property
    def tallies(self) -> np.ndarray:
        """How many records have each of them, (D,)."""
        return self._tallied[1]

    @cached_property
    def distinct(self) -> int:
        """D, how many values differ."""
        return len(self.different)

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers, however they are stored."""
        return self.is_number and bool(
            np.isfinite(as_floats(self.column.dropna())).all()
            and (self.values == np.rint(self.values)).all()
        )

    @property
    def range(self) -> float:
        """The largest less the smallest number."""
        return float(self.different[-1] - self.different[0])

    @property
    def no_gaps(self) -> bool:
        """Whether few whole numbers between the smallest and the largest are left out."""
        return self.range < 1.5 * self.distinct

    @cached_property
    def unevenness(self) -> float:
        """The largest distance between the sorted different values and a straight line, as a share
        of their range.
        """
        scaled = (self.different - self.different[0]) / self.range
        return float(np.abs(scaled - np.linspace(0, 1, self.distinct)).max())

    @cached_property
    def is_sorted(self) -> bool:
        """Whether its numbers never fall in the order of the file."""
        return bool((np.diff(self.values) >= 0).all())

    def within(self, least: float, most: float) -> bool:
        """Whether all its numbers lie between two others."""
        return bool(least <= self.different[0] and self.different[-1] <= most)

    @property
    def fills_half(self) -> bool:
        """Whether half of the whole numbers from the smallest to the largest occur."""
        return self.distinct >= (self.range + 1) / 2

    @cached_property
    def complete(self) -> bool:
        """Whether every record has a value."""
        return not self.column.isna().any()

    @cached_property
    def groups(self) -> np.ndarray:
        """Which of its values each record has, (records,): -1 where there is none."""
        return np.asarray(pd.factorize(self.column)[0])
