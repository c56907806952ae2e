"""Values as a few groups: numbers cut at quantiles, values that many records hold alone, categories
by level, missing apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, kind_of_values
from riskweighted.common.value_counts import ValueCounts

__all__ = [
    "Grouping",
    "as_text",
    "group_codes",
    "group_kind",
    "level_groups",
    "most_categories",
    "number_groups",
]

Kind = Literal["numbers", "categories", "nothing"]
# of the records; text of more different values is a measurement, a name or an amount
_MOST_SHARE = 0.2
_FEW = 20  # never too many, whatever the number of records


def most_categories(n: int) -> int:
    """How many different values of n records are taken for categories unasked."""
    return max(_FEW, int(_MOST_SHARE * n))


def group_kind(column: pd.Series, what: str) -> Kind:
    """How a column is grouped, "nothing" where every value is missing; refuses dates, durations,
    complex and infinite numbers.
    """
    dtype = column.dtype
    if (
        pd.api.types.is_datetime64_any_dtype(dtype)
        or pd.api.types.is_timedelta64_dtype(dtype)
        or pd.api.types.is_complex_dtype(dtype)
    ):
        raise InputError(
            f"{what}: {column.name!r} has dtype {dtype}; valid are numbers, text, categories and "
            "truth values"
        )
    if column.isna().all():
        return "nothing"
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        if kind_of_values(column) in ("datetime", "datetime64", "date", "timedelta", "complex"):
            raise InputError(
                f"{what}: {column.name!r} holds dates or complex numbers; valid are numbers, "
                "text, categories and truth values"
            )
        return "categories"
    infinite = int(np.isinf(as_floats(column)).sum())
    if infinite:
        raise InputError(
            f"{what}: {column.name!r} is infinite in {infinite} of {len(column)} records; values "
            "must be finite or missing"
        )
    return "numbers"


def group_codes(
    columns: Sequence[pd.Series], groups: int, *, numeric: bool, alone: Sequence[float] = ()
) -> list[np.ndarray]:
    """The group of every value of a variable in several files, one array a column: whole numbers
    from 1, and 0 where it is missing.

    Numbers: a value that at least one in `groups` of the first column's records holds (a spike), or
    that stands in `alone`, is a group of its own; the others are cut at their quantiles 1/groups,
    2/groups, ... (linear interpolation), equal ones always together, unless they are at most
    `groups` different ones, which are then a group each. The outer groups are open, so other
    columns may go beyond the first. Categories: by level, in the order of the first column's
    categories, else sorted as text.
    """
    if numeric:
        grouping = number_groups(ValueCounts.of(_present(columns[0])), groups, alone)
    else:
        first = columns[0].dtype
        declared = first.categories.tolist() if isinstance(first, pd.CategoricalDtype) else ()
        grouping = level_groups(
            declared, (level for column in columns for level in pd.unique(column.dropna()).tolist())
        )
    return [grouping.codes(column) for column in columns]


@dataclass(frozen=True, eq=False)
class Grouping:
    """The groups of one variable, by which any file is coded: upper ``edges`` of those of numbers
    but the last, or ``levels``.
    """

    edges: np.ndarray | None = field(default=None, repr=False)
    levels: tuple[object, ...] = field(default=(), repr=False)

    def codes(self, column: pd.Series) -> np.ndarray:
        """The group of every value, (n,): from 1, 0 where it is missing."""
        if self.edges is not None:
            values = as_floats(column)
            return np.asarray(
                np.where(np.isnan(values), 0, 1 + np.searchsorted(self.edges, values, side="left"))
            )
        which, present = pd.factorize(column)
        places = pd.Index(self.levels, dtype=object).get_indexer(pd.Index(present, dtype=object))
        return np.asarray(np.append(places + 1, 0)[which])  # -1 is missing


def number_groups(counts: ValueCounts, groups: int, alone: Sequence[float] = ()) -> Grouping:
    """The groups that `group_codes` makes of numbers, by how many records of the first file hold
    each.
    """
    spike = (counts.counts * groups >= len(counts)) | np.isin(counts.values, alone)
    if (~spike).sum() <= groups:
        spike[:] = True
    lonely, rest = counts.values[spike], ValueCounts(counts.values[~spike], counts.counts[~spike])
    cuts = (
        [rest.quantile(quantile) for quantile in np.arange(1, groups) / groups] if len(rest) else []
    )
    return Grouping(np.unique(np.concatenate([cuts, lonely, np.nextafter(lonely, -np.inf)])))


def level_groups(declared: Iterable[object], levels: Iterable[object]) -> Grouping:
    """The groups that `group_codes` makes of the levels of all files, those that the first one
    declares before the others.
    """
    return Grouping(levels=tuple(dict.fromkeys([*declared, *as_text(levels)])))


def as_text(levels: Iterable[object]) -> list[object]:
    """Different levels, sorted as text."""
    return sorted(dict.fromkeys(levels), key=lambda level: (str(level), type(level).__name__))


def _present(column: pd.Series) -> np.ndarray:
    values = as_floats(column)
    return np.asarray(values[~np.isnan(values)])
