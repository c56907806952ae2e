"""The codebook of a release: what each variable is, made from the released datasets and what is
public of it, as a table.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.found import NOT_SHOWN, is_found
from riskweighted.common.frames import own_value_for_each, with_columns
from riskweighted.common.numbers import exactly
from riskweighted.common.text import escape_markdown, for_spreadsheet
from riskweighted.data.variable import Variable
from riskweighted.intruder.statuses import MISSING, find_statuses, status_name

__all__ = [
    "codebook",
    "codebook_markdown",
    "listed_levels",
    "parse_units",
    "with_descriptions",
]


_MOST_CATEGORIES = 50
_MOST_NUMBERS = 20  # numbers of more different values are measurements, not codes


def parse_units(pairs: Sequence[str]) -> dict[str, str]:
    """VARIABLE=UNIT of a command line as a mapping."""
    wrong = sum("=" not in pair for pair in pairs)
    if wrong:
        raise InputError(f"a unit is given as VARIABLE=UNIT; {wrong} of {len(pairs)} have no '='")
    return {name.strip(): unit.strip() for name, unit in (pair.split("=", 1) for pair in pairs)}


def codebook(
    datasets: Sequence[pd.DataFrame],
    synthesized: Sequence[str],
    units: Mapping[str, str] | None = None,
    codes: Mapping[str, Sequence[float]] | None = None,
    levels: Sequence[str] = (),
) -> pd.DataFrame:
    """Every variable of the released datasets, described from nothing else, so that the codebook
    tells no more than they do.

    Columns: variable, type, status (synthesized or unaltered), values, missing (records; from the
    least to the most where datasets differ), unit. Of synthesized numbers the middle 90 % of the
    values is given, and no extreme; `codes`, the special codes by variable, are no amounts; the
    numbers of `levels`, variables, are codes and listed. An apostrophe stands before text that a
    spreadsheet would run as a formula.
    """
    units = dict(units or {})
    unknown = [name for name in units if name not in datasets[0].columns]
    if unknown:
        raise InputError(
            f"units names {listing(unknown)}; the data has {listing(datasets[0].columns)}"
        )
    rows: list[dict[str, object]] = []
    for name in datasets[0]:
        pooled = (
            pd.concat([frame[name] for frame in datasets], ignore_index=True)
            if name in synthesized
            else datasets[0][name]
        )
        amounts = name in synthesized and name not in levels
        rows.append(
            {
                "variable": str(name),
                "type": _type(pooled),
                "status": "synthesized" if name in synthesized else "unaltered",
                "values": _middle(pooled, (codes or {}).get(str(name), ()))
                if amounts
                else _values(pooled),
                "missing": _missing(
                    [frame[name] for frame in (datasets if name in synthesized else datasets[:1])]
                ),
                "unit": units.get(str(name), ""),
            }
        )
    return pd.DataFrame(
        [
            {
                key: for_spreadsheet(cell) if isinstance(cell, str) else cell
                for key, cell in row.items()
            }
            for row in rows
        ]
    )


def with_descriptions(
    book: pd.DataFrame, names: Sequence[str], described: Mapping[str, Variable]
) -> pd.DataFrame:
    """A codebook of the columns `names` with what is said of each: label, value labels, codes that
    mean missing.
    """
    told = pd.DataFrame([described.get(name, Variable()).in_words() for name in names])
    return with_columns(book, {str(name): list(map(for_spreadsheet, told[name])) for name in told})


def _type(column: pd.Series) -> str:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "yes or no"
    if pd.api.types.is_integer_dtype(column.dtype):
        return "whole number"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "number"
    return "date" if pd.api.types.is_datetime64_any_dtype(column.dtype) else "text"


def _missing(columns: Sequence[pd.Series]) -> int | str:
    """How many records have no value, in each of these datasets."""
    return _missing_in_words([int(column.isna().sum()) for column in columns])


def _missing_in_words(counts: Sequence[int]) -> int | str:
    """How many records have no value in each dataset; from the least to the most where these
    differ.
    """
    return (
        counts[0]
        if min(counts) == max(counts)
        else f"{min(counts)} to {max(counts)}, differs by dataset"
    )


def _middle(column: pd.Series, codes: Sequence[float]) -> str:
    """Of numbers the middle of the amounts, and the special codes among them."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return _values(column)
    statuses = find_statuses(column, codes)
    low, high = (
        np.quantile(statuses.amounts, [0.05, 0.95])
        if statuses.is_amount.any()
        else (np.nan, np.nan)
    )
    held = [status_name(status, codes) for status in statuses.present if status != MISSING]
    special = (
        f"; special codes, no amounts: {NOT_SHOWN if is_found(codes) else ', '.join(held)}"
        if held
        else ""
    )
    return (
        f"90 % of the synthetic {'amounts' if held else 'values'} lie between "
        f"{_three_digits(low)} and {_three_digits(high)}{special}"
    )


def _three_digits(value: float) -> str:
    return exactly(float(f"{value:.3g}"))


def _values(column: pd.Series) -> str:
    """The categories, or how many different values there are where these are measurements or
    names.
    """
    levels = listed_levels(column)
    return f"{column.nunique():,} different values" if levels is None else "; ".join(levels)


def listed_levels(column: pd.Series) -> list[str] | None:
    """The categories in their order; None of measurements and names, whose values are not
    listed.
    """
    levels = column.dropna().unique()
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    if len(levels) > (_MOST_NUMBERS if numeric else _MOST_CATEGORIES) or own_value_for_each(column):
        return None
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [str(level) for level in column.cat.categories if level in levels]
    return [str(level) for level in sorted(levels, key=lambda level: (type(level).__name__, level))]


def codebook_markdown(table: pd.DataFrame) -> str:
    """The codebook as a page: a table in which every label is shown as text."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + ":--|" * len(table.columns)]
    for row in table.itertuples(index=False):
        lines.append("| " + " | ".join(escape_markdown(str(value)) for value in row) + " |")
    return "\n".join(lines) + "\n"
