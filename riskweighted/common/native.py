"""Frames of polars and tables of Arrow: in as pandas, and out as what they were, through narwhals.
Those of pandas pass, their numbers among objects as numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import one_name_each, plain_numbers

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["Frame", "GivenFrames", "Native", "as_pandas", "native_of"]

Frame: TypeAlias = "pd.DataFrame | IntoDataFrame"  # of pandas, polars or Arrow
# one, or L of them
GivenFrames: TypeAlias = (
    "pd.DataFrame | IntoDataFrame | Sequence[pd.DataFrame] | Sequence[IntoDataFrame]"
)
T = TypeVar("T")


@overload
def as_pandas(given: Sequence[Frame]) -> list[pd.DataFrame]: ...
@overload
def as_pandas(given: "IntoDataFrame") -> pd.DataFrame: ...
@overload
def as_pandas(given: Mapping[str, GivenFrames]) -> dict[str, pd.DataFrame | list[pd.DataFrame]]: ...
@overload
def as_pandas(given: T) -> T: ...
def as_pandas(given: Any) -> Any:
    """A frame of another library as the pandas frame that a csv file of it would be read as; all
    else, such as pandas' own, as it is.

    Lists, tuples and dicts of frames are looked through. Whole numbers with gaps become floats with
    NaN, text and categories without an order text, decimals floats; levels with an order (polars'
    Enum) ordered categories; rows are numbered from 0. What csv would lose stays: truth values,
    dates, and an empty text. A lazy frame is refused: its rows are not in memory. Of pandas' own,
    columns of objects that are all numbers become numbers, and names of several levels are refused.
    """
    if isinstance(given, (list, tuple)) and type(given) in (list, tuple):
        made = type(given)(as_pandas(part) for part in given)
        return given if all(new is old for new, old in zip(made, given, strict=True)) else made
    if isinstance(given, dict):
        held = {name: as_pandas(part) for name, part in given.items()}
        return given if all(held[name] is given[name] for name in given) else held
    if isinstance(given, pd.DataFrame):
        one_name_each(given, "the data")
        return plain_numbers(given)
    frame = _eager(given)
    return given if frame is None else _to_pandas(frame)


def _eager(given: object) -> Any:
    """A frame that is not of pandas as one of narwhals; None where it is something else."""
    if given is None or isinstance(given, (pd.DataFrame, pd.Series, np.ndarray, str, int, float)):
        return None
    import narwhals as nw

    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"data must be in memory, got {type(given).__name__}, which is not: .collect() it, "
            "or give a pandas DataFrame"
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def _to_pandas(frame: Any) -> pd.DataFrame:
    """Column by column, as csv would say it."""
    return pd.DataFrame(
        {name: _column(frame[name]) for name in frame.columns}, index=pd.RangeIndex(len(frame))
    )


def _column(column: Any) -> pd.Series:
    import narwhals as nw

    kind = column.dtype
    if kind in (nw.Categorical, nw.Enum, nw.String):
        text = pd.Series(column.cast(nw.String).to_list(), dtype=object)
        levels = _levels(column)
        if levels is not None:
            return pd.Series(pd.Categorical(text, categories=levels, ordered=True))
        return text.where(text.notna(), np.nan).astype(_TEXT)
    if kind.is_integer() and kind not in (nw.UInt64, nw.Int128, nw.UInt128):
        column = column.cast(nw.Int64)
    elif kind == nw.Decimal:
        column = column.cast(nw.Float64)
    made = column.to_pandas()
    return made.astype(float) if column.null_count() == len(column) else made


_TEXT = pd.Series(["a"]).dtype  # str of pandas 3, object of pandas 2


def _levels(column: Any) -> list[str] | None:
    """The levels of an Enum of polars or an ordered dictionary of Arrow, in their order; None of
    what has no order.
    """
    import narwhals as nw

    native = column.to_native()
    if getattr(getattr(native, "type", None), "ordered", False):
        return (
            list(native.unify_dictionaries().chunk(0).dictionary.to_pylist())
            if native.num_chunks
            else []
        )
    return list(column.dtype.categories) if column.dtype == nw.Enum else None


@dataclass(frozen=True)
class Native:
    """What frames are given back as: a library, and the dtypes of the columns as they were
    given.
    """

    library: Any
    dtypes: Mapping[str, Any]

    def like(self, frame: pd.DataFrame) -> Any:
        """A pandas frame in that library: a column has its dtype again, unless its values no longer
        fit.
        """
        import narwhals as nw
        import pyarrow as pa

        table = nw.from_arrow(
            pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None),
            backend=self.library,
        )
        return table.with_columns(
            *(_as_given(table[name], dtype) for name, dtype in self.dtypes.items() if name in frame)
        ).to_native()


def _as_given(column: Any, dtype: Any) -> Any:
    """A column with a dtype; as it is, where that would change or lose a value."""
    if column.dtype == dtype:
        return column
    try:
        cast = column.cast(dtype)
        same = (cast.cast(column.dtype) == column).fill_null(True).all()
    except Exception:  # each library has errors of its own, and none may show a value
        return column
    return cast if same and cast.null_count() == column.null_count() else column


def native_of(given: object) -> Native | None:
    """What a frame was given as; None of pandas' own and of what is no frame."""
    frame = _eager(given)
    return None if frame is None else Native(frame.implementation, dict(frame.schema))
