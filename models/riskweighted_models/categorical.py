"""What the models of a categorical variable share: their levels (METHODS section 12)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import kind_of_values
from riskweighted_models.level_model import Levelled, LevelModel

__all__ = ["Categorical"]


@dataclass(frozen=True)
class Categorical(LevelModel):
    """Base of the models of a categorical variable, which draw codes of its levels.

    Parameters
    ----------
    formula : str
        ``"education ~ age + C(region)"``.
    levels : sequence of str, int or bool, optional
        The values that the variable can take, in order; public. Default: the categories of a
        categorical dtype (unused ones too), False and True of a boolean one, else the values that
        occur, sorted. Categories may have been made of the data, so a guarantee needs ``levels``;
        and so does a column of numbers.
    """

    levels: tuple[str | int | bool, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels is None:
            return
        if not isinstance(self.levels, (list, tuple)) or not all(
            isinstance(level, (str, int)) for level in self.levels
        ):
            raise InputError("levels must be a list of texts, whole numbers or truth values")
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise InputError(
                f"levels must be two or more, each given once; got {len(self.levels)}, "
                f"{len(set(self.levels))} of them different"
            )
        object.__setattr__(self, "levels", tuple(self.levels))

    def categories(self, prepared: Levelled) -> tuple[object, ...]:
        """The values of the column, in the order of the codes that `draw` gives."""
        return prepared.levels

    def numbers(self, prepared: Levelled) -> np.ndarray:
        return np.arange(len(prepared.levels))

    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        """The levels, checked against the column's dtype."""
        levels: tuple[object, ...] | None = self.levels
        if levels is None:
            levels = self._found_levels(column)
        elif not _held_by(levels, column.dtype):
            raise InputError(
                f"levels must be values of {self.target!r}, whose dtype {column.dtype} does not "
                "hold all of them"
            )
        return levels

    def _found_levels(self, column: pd.Series) -> tuple[object, ...]:
        """Those of the dtype, or the values of a column of text, sorted."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            return tuple(column.cat.categories.tolist())
        if pd.api.types.is_bool_dtype(column.dtype):
            return (False, True)
        if pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype):
            return tuple(
                sorted(
                    column.unique().tolist(), key=lambda value: (type(value).__name__, str(value))
                )
            )
        raise InputError(
            f"{self.target!r} must hold text, categories or truth values for this synthesizer, "
            f"got {kind_of_values(column)}; numbers that "
            "are codes are levels once the setting 'levels' names them"
        )


def _held_by(levels: tuple[object, ...], dtype: Any) -> bool:
    """Whether a column of that dtype can hold every level as it is."""
    if isinstance(dtype, pd.CategoricalDtype):
        return set(levels) <= set(dtype.categories)
    given = pd.Series(list(levels), dtype=object)
    try:
        cast = given.astype(dtype)
    except (TypeError, ValueError):
        return False
    return bool(cast.notna().all() and (cast.astype(object) == given).all())
