"""Values as a few groups: numbers cut at quantiles, values that many records hold alone, categories by level, missing apart."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, kind_of_values

__all__ = ["group_codes", "group_kind", "most_categories"]

Kind = Literal["numbers", "categories", "nothing"]
_MOST_SHARE = 0.2  # of the records; text of more different values is a measurement, a name or an amount
_FEW = 20  # never too many, whatever the number of records


def most_categories(n: int) -> int:
    """How many different values of n records are taken for categories unasked."""
    return max(_FEW, int(_MOST_SHARE * n))


def group_kind(column: pd.Series, what: str) -> Kind:
    """How a column is grouped, "nothing" where every value is missing; refuses dates, durations, complex and infinite numbers."""
    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
        raise InputError(f"{what}: {column.name!r} has dtype {dtype}; valid are numbers, text, categories and truth values")
    if column.isna().all():
        return "nothing"
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        if kind_of_values(column) in ("datetime", "datetime64", "date", "timedelta", "complex"):
            raise InputError(
                f"{what}: {column.name!r} holds dates or complex numbers; valid are numbers, text, categories and truth values"
            )
        return "categories"
    infinite = int(np.isinf(as_floats(column)).sum())
    if infinite:
        raise InputError(f"{what}: {column.name!r} is infinite in {infinite} of {len(column)} records; values must be finite or missing")
    return "numbers"


def group_codes(columns: Sequence[pd.Series], groups: int, *, numeric: bool, alone: Sequence[float] = ()) -> list[np.ndarray]:
    """The group of every value of a variable in several files, one array a column: whole numbers from 1, and 0 where it is missing.

    Numbers: a value that at least one in `groups` of the first column's records holds (a spike), or that stands in `alone`, is a group
    of its own; the others are cut at their quantiles 1/groups, 2/groups, ... (linear interpolation), equal ones always together,
    unless they are at most `groups` different ones, which are then a group each. The outer groups are open, so other columns may go
    beyond the first. Categories: by level, in the order of the first column's categories, else sorted as text.
    """
    if numeric:
        edges = _edges(as_floats(columns[0]), groups, alone)
        return [_between(as_floats(column), edges) for column in columns]
    first = columns[0].dtype
    declared = list(first.categories) if isinstance(first, pd.CategoricalDtype) else []
    coded = [pd.factorize(column) for column in columns]
    held = [pd.Index(levels, dtype=object) for _, levels in coded]
    index = pd.Index(
        dict.fromkeys([*declared, *sorted(dict.fromkeys(level for present in held for level in present), key=str)]), dtype=object
    )
    return [np.append(index.get_indexer(present) + 1, 0)[which] for present, (which, _) in zip(held, coded, strict=True)]  # -1 is missing


def _edges(values: np.ndarray, groups: int, codes: Sequence[float]) -> np.ndarray:
    """Upper ends of the groups but the last; a spike's group lies between the number just below it and itself."""
    present, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    spike = (counts * groups >= counts.sum()) | np.isin(present, codes)
    if (~spike).sum() <= groups:
        spike[:] = True
    alone, rest = present[spike], np.repeat(present[~spike], counts[~spike])
    cuts = np.quantile(rest, np.arange(1, groups) / groups) if len(rest) else rest
    return np.unique(np.concatenate([cuts, alone, np.nextafter(alone, -np.inf)]))


def _between(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """1 + the number of edges strictly below each value, 0 for NaN."""
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values, side="left"))
