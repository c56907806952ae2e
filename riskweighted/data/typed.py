"""Columns with the types that are stated of them, where a file's format does not hold these."""

import datetime
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers, kind_of_values, with_columns
from riskweighted.common.text import reads_as_number
from riskweighted.data.variable import CATEGORIES, TEXTS, Variable

__all__ = [
    "apply_types",
    "as_categories",
    "as_plain_numbers",
    "drop_unlabelled_levels",
    "labelled_levels",
    "order_by_labels",
    "type_of",
]

_DATES = {
    "year-month-day": "%Y-%m-%d",
    "day.month.year": "%d.%m.%Y",
    "day/month/year": "%d/%m/%Y",
    "month/day/year": "%m/%d/%Y",
}
_MOMENTS = {"year-month-day time": "ISO8601"}
_TRUTHS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}
_KEPT = "datetime64[us]"


def apply_types(table: pd.DataFrame, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """A table whose columns have the types that are stated; refuses a column that does not hold
    what is stated, without a value of it.
    """
    changed = {}
    for name in table:
        variable = variables.get(str(name))
        if variable is not None and variable.type:
            changed[name] = _as_stated(table[name], variable)
    return with_columns(table, changed) if changed else table


def as_categories(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """A table in which some columns of numbers are categories, whose levels are these numbers."""
    changed = {
        name: _as_category(table[name], Variable()) for name in names if holds_numbers(table[name])
    }
    return with_columns(table, changed) if changed else table


def as_plain_numbers(column: pd.Series) -> pd.Series:
    """A category whose levels are numbers as these numbers; other columns as they are."""
    if not isinstance(column.dtype, pd.CategoricalDtype) or not holds_numbers(
        column.cat.categories.to_series()
    ):
        return column
    whole = pd.api.types.is_integer_dtype(column.cat.categories.dtype)
    return column.astype("Int64" if whole and column.hasnans else column.cat.categories.dtype)


def _as_stated(column: pd.Series, variable: Variable) -> pd.Series:
    kind = variable.type
    if kind in ("numeric", "whole number", "number"):
        return _as_number(column, kind)
    if kind in TEXTS:
        return _as_text(column)
    if kind in CATEGORIES:
        return _as_category(column, variable)
    if kind == "yes or no":
        return _as_truth(column)
    return _as_date(column, _DATES if kind == "date" else _MOMENTS)


def _refused(column: pd.Series, kind: str, wrong: int | None = None) -> InputError:
    some = "" if wrong is None else f", which {wrong} of its {len(column)} records do not hold"
    return InputError(
        f"{column.name!r} is stated to be {kind!r}{some or f', got {kind_of_values(column)}'}"
    )


def _as_number(column: pd.Series, kind: str) -> pd.Series:
    if not holds_numbers(column):
        if column.isna().all():
            return column.astype(float)
        raise _refused(column, kind)
    if kind == "number":
        return (
            column
            if pd.api.types.is_float_dtype(column.dtype)
            else column.astype("Float64" if column.hasnans else float)
        )
    if kind == "whole number" and not pd.api.types.is_integer_dtype(column.dtype):
        values = as_floats(column)
        values = values[~np.isnan(values)]
        if wrong := int((values != np.rint(values)).sum()):
            raise _refused(column, kind, wrong)
        return column.astype("Int64" if column.hasnans else "int64")
    return column


def _as_text(column: pd.Series) -> pd.Series:
    """Text as it is; what a format made numbers of as text again."""
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_string_dtype(
        column.dtype
    ):
        codes, levels = pd.factorize(column)
        texts = np.array([*map(_spelled, levels), np.nan], dtype=object)
        return pd.Series(texts[codes], column.index, name=column.name, dtype=pd.Series(["a"]).dtype)
    return column


def _spelled(cell: object) -> str:
    return str(_plain_level(cell))


def _plain_level(cell: object) -> object:
    """Whole numbers without a point."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _as_category(column: pd.Series, variable: Variable) -> pd.Series:
    """The stated levels in their order, then others that occur; numbers where all are."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    codes, there = pd.factorize(column, sort=True)
    found = list(map(_plain_level, there))
    as_number = (
        holds_numbers(column)
        and len(there) > 0
        and all(map(reads_as_number, map(str, variable.values)))
    )
    stated = (
        [_whole(float(code)) for code in variable.values]
        if as_number
        else list(map(str, variable.values))
    )
    if len(set(stated)) < len(stated):
        raise InputError(
            f"{column.name!r} holds numbers, and of its {len(stated)} stated values some are the "
            "same number: give each once"
        )
    found = found if as_number else list(map(str, found))
    levels = list(dict.fromkeys([*stated, *found]))
    places = {level: place for place, level in enumerate(levels)}
    place = np.array([*(places[level] for level in found), -1])
    made = pd.Categorical.from_codes(
        place[codes], levels, ordered=variable.type == "ordered category"
    )
    return pd.Series(made, column.index, name=column.name)


def labelled_levels(column: pd.Series, variable: Variable) -> dict[float | str, str]:
    """The value labels of a column (n,), without levels that have no label and do not occur: the
    data may have made these.

    Levels without a label stand last, by name, if they are not those of an ordered category: they
    may be listed as they first appear.
    """
    if all(variable.values.values()):
        return dict(variable.values)
    there = set(map(_spelled, column.dropna().unique()))
    levels = (
        list(variable.values)
        if _is_ordered(column, variable)
        else _by_name(variable.values, variable)
    )
    return {
        code: variable.values[code]
        for code in levels
        if variable.values[code] or _spelled(code) in there
    }


def drop_unlabelled_levels(columns: Sequence[pd.Series], variable: Variable) -> list[pd.Series]:
    """Columns (n,), of categories those alone that occur in one of the columns or have a label;
    columns of other types as they are.

    A file of parquet holds every category of a column, whether a record has it or not.
    """
    categorical = [
        column.cat for column in columns if isinstance(column.dtype, pd.CategoricalDtype)
    ]
    there = {
        level for each in categorical for level in each.categories[np.setdiff1d(each.codes, -1)]
    }
    labelled = {_spelled(code) for code, label in variable.values.items() if label}
    return (
        [_with_levels(column, there, labelled) for column in columns]
        if categorical
        else list(columns)
    )


def order_by_labels(column: pd.Series, variable: Variable) -> pd.Series:
    """A column (n,) whose categories, unless ordered, stand as their labels are stated and else by
    name, since in a file of the data they may stand as they first appear there.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype) or _is_ordered(column, variable):
        return column
    levels = list(column.cat.categories)
    told = _by_name(levels, variable)
    return column if told == levels else column.cat.reorder_categories(told)


def _is_ordered(column: pd.Series, variable: Variable) -> bool:
    return variable.type == "ordered category" or (
        isinstance(column.dtype, pd.CategoricalDtype) and bool(column.dtype.ordered)
    )


def _by_name(levels: Iterable[Any], variable: Variable) -> list[Any]:
    """Levels that have a label in the order in which these are stated, then the others, numbers by
    their size and texts by name.
    """
    stated = {
        _spelled(code): place
        for place, (code, label) in enumerate(variable.values.items())
        if label
    }
    return sorted(
        levels,
        key=lambda level: (
            stated.get(_spelled(level), len(stated)),
            "" if pd.api.types.is_number(level) else type(level).__name__,
            level,
        ),
    )


def _with_levels(column: pd.Series, there: Set[object], labelled: Set[str]) -> pd.Series:
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    levels = column.cat.categories
    kept = levels[[level in there or _spelled(level) in labelled for level in levels]]
    return column.cat.set_categories(kept) if len(kept) < len(levels) else column


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def _as_truth(column: pd.Series) -> pd.Series:
    if pd.api.types.is_bool_dtype(column.dtype):
        return column
    codes, there = pd.factorize(column)
    truths = [_TRUTHS.get(_spelled(cell)) for cell in there]
    strange = [number for number, truth in enumerate(truths) if truth is None]
    if strange:
        raise _refused(column, "yes or no", int(np.isin(codes, strange).sum()))
    cells = np.array([*truths, None], dtype=object)[codes]
    return pd.Series(
        cells, column.index, name=column.name, dtype="boolean" if (codes < 0).any() else bool
    )


def _as_date(column: pd.Series, formats: Mapping[str, str]) -> pd.Series:
    """Dates, or dates with times, read in the one way that suits all of a column."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column if column.dt.tz is not None else column.astype(_KEPT)
    there = column.dropna()
    if there.map(lambda cell: isinstance(cell, (datetime.date, pd.Timestamp))).all():
        return pd.to_datetime(column, errors="coerce").astype(_KEPT)
    texts = there.astype(str).str.strip()
    suiting = {
        name: read
        for name, form in formats.items()
        if not (read := pd.to_datetime(texts, format=form, errors="coerce")).isna().any()
    }
    different = list(suiting.values())
    if len(different) == 0 or not all(other.equals(different[0]) for other in different):
        found = "two ways" if suiting else "no one way"
        raise InputError(
            f"{column.name!r} is stated to be dates, and {found} of writing them suits all of "
            "its records; "
            f"valid is one of {listing(suiting or formats)}"
        )
    moments = pd.Series(np.datetime64("NaT", "us"), range(len(column)), dtype=_KEPT)
    moments[column.notna().to_numpy()] = different[0].astype(_KEPT).to_numpy()
    return moments.set_axis(column.index).rename(column.name)


def type_of(column: pd.Series) -> str:
    """The stated type that a column's own dtype amounts to; "" where it is none of them."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered category" if dtype.ordered else "category"
    if pd.api.types.is_bool_dtype(dtype):
        return "yes or no"
    if holds_numbers(column):
        return "whole number" if pd.api.types.is_integer_dtype(dtype) else "number"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        days = column.dropna()
        return (
            "date"
            if days.dt.tz is None and (days == days.dt.normalize()).all()
            else "date and time"
        )
    kind = kind_of_values(column)
    return {"date": "date", "boolean": "yes or no", "datetime": "date and time"}.get(
        kind, "text" if "str" in kind or kind == "empty" else ""
    )
