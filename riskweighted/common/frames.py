"""Checks of data: the columns of a frame, the values of a column, one weight per record. No message
shows a value.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing

__all__ = [
    "as_floats",
    "check_weights",
    "holds_numbers",
    "kind_of_values",
    "nearly_all",
    "one_name_each",
    "own_value_for_each",
    "plain_numbers",
    "refuse_infinite",
    "require_columns",
    "require_finite",
    "require_plain_values",
    "require_target",
    "with_columns",
]

_NEARLY_ALL = 0.95  # of the records: different values
_NEAR = 0.75  # of a misspelling
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_NESTED = (list, tuple, dict, set, frozenset, np.ndarray)


def with_columns(frame: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    """The frame with these columns in place of its own or after them, whatever their names;
    `assign` takes no column called "self" or 0.
    """
    made = frame.copy(deep=False)
    for name, values in columns.items():
        made[name] = values
    return made


def kind_of_values(column: pd.Series) -> str:
    """The dtype for a message, or what a column of objects holds: pandas 2 keeps text as
    objects.
    """
    return (
        pd.api.types.infer_dtype(column)
        if pd.api.types.is_object_dtype(column.dtype)
        else str(column.dtype)
    )


def holds_numbers(column: pd.Series) -> bool:
    """Whether a column holds numbers, which truth values are not."""
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) and not pd.api.types.is_bool_dtype(
        column.dtype
    )


def as_floats(column: pd.Series) -> np.ndarray:
    """A column of numbers as floats (n,), NaN where it is missing."""
    return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))


def one_name_each(data: pd.DataFrame, what: str) -> None:
    """Refuse columns whose names have several levels."""
    if data.columns.nlevels > 1:
        raise InputError(
            f"{what} has column names of {data.columns.nlevels} levels; a column must have one "
            "name, such as 'income_2024'"
        )


def plain_numbers(data: pd.DataFrame) -> pd.DataFrame:
    """A frame with numbers, decimals among them, where columns of objects hold nothing else; itself
    where none does.

    Whole numbers without gaps become integers, all others floats, NaN where one is missing.
    """
    objects = [
        place for place, dtype in enumerate(data.dtypes) if pd.api.types.is_object_dtype(dtype)
    ]
    numbers = [
        place for place in objects if pd.api.types.infer_dtype(data.iloc[:, place]) in _NUMBERS
    ]
    made = data.copy(deep=False) if numbers else data
    for place in numbers:
        column = data.iloc[:, place]
        values = column.where(column.notna(), np.nan).astype(float)
        small = not values.hasnans and all(
            isinstance(cell, (int, np.integer)) and -(2**63) <= cell < 2**63 for cell in column
        )
        made.isetitem(place, column.astype("int64") if small else values)
    return made


def require_columns(data: pd.DataFrame, names: Sequence[str], what: str) -> None:
    """Refuse an empty frame, and a needed column that is absent, stands there twice or holds
    lists.
    """
    if not isinstance(data, pd.DataFrame):
        raise InputError(
            f"{what} must be a DataFrame of pandas or polars, or a table of Arrow, got "
            f"{type(data).__name__}"
        )
    if len(data) == 0:
        raise InputError(f"{what} has no records")
    unknown = [name for name in names if name not in data.columns]
    if unknown:
        index = (
            "; of its index reset_index() makes columns" if {*unknown} & {*data.index.names} else ""
        )
        raise InputError(
            f"{what} has no column {listing(unknown)}; it has "
            f"{listing(_nearest_first(unknown, data.columns))}{index}"
        )
    require_plain_values(data, names, what)
    twice = [name for name in names if (data.columns == name).sum() > 1]
    if twice:
        raise InputError(
            f"{what} has column {listing(twice)} more than once: column names must be unique"
        )


def _nearest_first(unknown: Iterable[str], columns: Iterable[Hashable]) -> list[str]:
    """The names of columns, first those that an unknown name may be a misspelling of: a list is
    cut.
    """
    names = list(map(str, columns))
    near = [
        name
        for misspelt in unknown
        for name in get_close_matches(str(misspelt), names, cutoff=_NEAR)
    ]
    return list(dict.fromkeys([*near, *names]))


def require_plain_values(data: pd.DataFrame, names: Iterable[Hashable], what: str) -> None:
    """Refuse columns whose cells are lists, tables or sets, as parquet and Python may hold: no
    measure compares those.
    """
    wanted, columns = set(names), enumerate(zip(data.columns, data.dtypes, strict=True))
    objects = [
        (number, name)
        for number, (name, dtype) in columns
        if pd.api.types.is_object_dtype(dtype) and name in wanted
    ]
    # only what pandas calls mixed can hold them; it tells text apart much faster than we could cell
    # by cell
    mixed = [
        (number, name)
        for number, name in objects
        if pd.api.types.infer_dtype(data.iloc[:, number]).startswith("mixed")
    ]
    nested = [
        name
        for number, name in mixed
        if data.iloc[:, number].map(lambda cell: isinstance(cell, _NESTED)).any()
    ]
    if nested:
        raise InputError(
            f"{what}: {listing(nested)} holds lists or tables; a column must hold numbers, text "
            "or dates, one in each cell"
        )


def require_finite(column: pd.Series, what: str, otherwise: str = "") -> None:
    """Refuse missing values, and infinite ones in a numeric column; the message counts them and
    shows none.
    """
    missing = int(column.isna().sum())
    if missing:
        raise InputError(
            f"{what}: {column.name!r} is missing in {missing} of {len(column)} records; fill or "
            f"drop them first{otherwise}"
        )
    refuse_infinite(column, what)


def require_target(column: pd.Series, what: str) -> None:
    """The same of a variable that is to be synthesized by itself; says what synthesizes missing
    values.
    """
    chain = (
        ", or make it one of a chain of variables (synthetic = [...]), which synthesizes missing "
        "values as missing"
    )
    require_finite(column, what, chain)


def refuse_infinite(column: pd.Series, what: str) -> None:
    """Refuse infinite values in a numeric column; missing ones may be there."""
    if holds_numbers(column):
        infinite = int(np.isinf(as_floats(column)).sum())
        if infinite:
            raise InputError(
                f"{what}: {column.name!r} is infinite in {infinite} of {len(column)} records; "
                "values must be finite"
            )


def own_value_for_each(column: pd.Series) -> bool:
    """Whether nearly every record has a value of its own, as a name or a number of a person has."""
    return nearly_all(column.nunique(), len(column))


def nearly_all(values: int, records: int) -> bool:
    """Whether so many different values are nearly as many as the records."""
    return records > 1 and values >= _NEARLY_ALL * records


def check_weights(
    weights: pd.Series | np.ndarray, index: pd.Index, *, what: str = "weights"
) -> pd.Series:
    """Return weights as a Series on `index`, or refuse: wrong length or index, NaN, or outside [0,
    1].
    """
    if not isinstance(weights, pd.Series):
        values = np.asarray(weights)
        if values.ndim != 1:
            raise InputError(f"{what} must have one dimension, got {values.ndim}")
        weights = pd.Series(values, index if len(values) == len(index) else None, name="alpha")
    if len(weights) != len(index):
        raise InputError(
            f"{what} must have one value per record: got {len(weights)} for {len(index)} records"
        )
    if not weights.index.equals(index):
        raise InputError(
            f"{what} must have the index of the confidential data, in its order; got another index"
        )
    if not pd.api.types.is_numeric_dtype(weights.dtype) or pd.api.types.is_complex_dtype(
        weights.dtype
    ):
        raise InputError(f"{what} must be numbers in [0, 1], got dtype {weights.dtype}")
    values = weights.to_numpy(dtype=float, na_value=np.nan)
    missing, outside = int(np.isnan(values).sum()), int(((values < 0) | (values > 1)).sum())
    if missing or outside:
        raise InputError(
            f"{what} must lie in [0, 1]: {missing} are missing and {outside} lie outside, of "
            f"{len(values)}"
        )
    return pd.Series(values, index, name=weights.name)
