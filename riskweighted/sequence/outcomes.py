"""The values of a variable of a sequence as numbers, while they are drawn: amounts and codes as
they are, levels as places in a list.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.contract.categories import codes_in
from riskweighted.contract.drawn_columns import check_codes, check_room, levels_at
from riskweighted.design.distinct import Distinct
from riskweighted.sequence.recoding import Recipe

__all__ = ["Outcomes", "is_missing"]


def is_missing(value: object) -> bool:
    """Whether a single value is none."""
    return value is None or value is pd.NA or value != value


class Outcomes:
    """All that one variable can be, and its values as numbers: NaN is a missing number, -1 a
    missing level. Confidential.

    ``original`` (n,): the confidential column, whose dtype, index and name drawn columns have;
    ``categories``: the levels that its model draws codes of; ``others``: further values of a
    categorical variable, whatever they are.
    """

    def __init__(
        self,
        original: pd.Series,
        categories: Sequence[object] | None = None,
        others: Iterable[object] = (),
    ) -> None:
        self._original = original
        self._categories = categories
        self._names = np.empty(0, dtype=object)
        self._of_levels = not holds_numbers(original)
        if self._of_levels:
            levels = list(categories or ())
            for level in dict.fromkeys((*others, *original.dropna().unique())):
                if not is_missing(level) and level not in levels:
                    levels.append(level)
            self._names = np.empty(len(levels) + 1, dtype=object)
            self._names[:] = [*levels, np.nan]  # the last one is where place -1 finds it

    def empty(self, count: int) -> np.ndarray:
        """Room for values, all of them missing."""
        return np.full(count, -1) if self._of_levels else np.full(count, np.nan)

    def number(self, value: object) -> float:
        """A single value of the column as a number."""
        if not self._of_levels:
            return np.nan if is_missing(value) else float(value)  # type: ignore[arg-type]
        return -1 if is_missing(value) else float(self._names[:-1].tolist().index(value))

    def numbers(self, column: pd.Series) -> np.ndarray:
        """A column of the variable as numbers."""
        if not self._of_levels:
            return as_floats(column).copy()
        return codes_in(column, self._names[:-1].tolist())

    def drawn(self, numbers: np.ndarray) -> np.ndarray:
        """What the model of the values draws, as numbers of the column: levels are the first ones
        of the list.
        """
        if self._categories is not None:
            check_codes(numbers, self._original.name, len(self._categories))
        elif not self._of_levels and np.isnan(numbers).any():
            # refuses them: a missing number is drawn as such by a status
            check_room(numbers, self._original)
        if self._of_levels:
            return numbers.astype(np.int64)
        return (
            numbers
            if self._categories is None
            else levels_at(numbers, self._categories).astype(float)
        )

    def column(self, values: np.ndarray, rows: np.ndarray | None = None) -> pd.Series:
        """Values (n,), or those of some rows, as a column like the confidential one; InputError
        where its dtype has no room for them.
        """
        original = self._original if rows is None else self._original.iloc[rows]
        if not self._of_levels:
            values = np.rint(values) if pd.api.types.is_integer_dtype(original.dtype) else values
            check_room(values[~np.isnan(values)], original)
        try:
            if not self._of_levels:
                return pd.Series(values, original.index, name=original.name).astype(original.dtype)
            levels, which = self._used(values)
            return pd.Series(
                levels.array.take(which), original.index, original.dtype, original.name
            )
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"drawn values of {original.name!r} do not fit dtype {original.dtype}; set "
                "support within its range or widen the dtype"
            ) from None

    def table(self, values: np.ndarray, column: pd.Series, recipe: Recipe) -> Distinct:
        """The numeric columns of values (n,), and of the column that they are, as predictors."""
        if not self._of_levels:
            return recipe.table(column)
        levels, which = self._used(values)
        try:
            return Distinct(recipe.columns(levels), which)
        except InputError:  # whose message counts records
            return Distinct.apart(recipe.columns(column))

    def _used(self, values: np.ndarray) -> tuple[pd.Series, np.ndarray]:
        """The levels that values (n,) have, in the dtype of the column, and which of them each
        is.
        """
        there = np.bincount(values + 1, minlength=len(self._names)) > 0
        which = np.cumsum(there) - 1
        levels = pd.Series(
            self._names[np.flatnonzero(there) - 1], dtype=object, name=self._original.name
        )
        return levels.astype(self._original.dtype), which[values + 1]
