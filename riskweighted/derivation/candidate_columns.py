"""Columns as what may tell a sensitive variable: numbers, whatever they are written as, and
levels.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

__all__ = ["LEAST", "MOST_LEVELS", "Columns", "as_numbers"]

LEAST = 20  # records below which nothing is judged
MOST_LEVELS = 50  # of a column whose levels are looked at one by one
_FEW_LEVELS = 12  # of a column whose levels enter a fit
_READ = 0.9  # of the texts of a column that are dates, if it is one of dates
_DATES = ("ISO8601", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d")
_DAY = pd.Timedelta(days=1)
_NUMBER = re.compile(r"[-+\u2212]?\d[\d.,'\u2019_ \u00a0\u2009\u202f]*(?:[eE][-+]?\d+)?")


def as_numbers(column: pd.Series) -> np.ndarray:
    """A column as numbers (n,), NaN where it holds none: dates as days, truth values as 0 and 1,
    and text without its currency, unit and separators of thousands."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _days(column)
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return np.asarray((column / _DAY).to_numpy(dtype=float))
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        numbers = np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
        return np.where(np.isfinite(numbers), numbers, np.nan)
    codes, different = pd.factorize(column)  # missing: -1, the last place
    texts = pd.Series([str(value) for value in different], dtype=object)
    dates = _dates_in(texts)
    numbers = (
        np.array([_number_in(text) for text in texts], dtype=float) if dates is None else dates
    )
    return np.asarray(np.append(numbers, np.nan)[codes])


def _days(column: pd.Series) -> np.ndarray:
    """Days since 1970, (n,)."""
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(((column - pd.Timestamp(0)) / _DAY).to_numpy(dtype=float))


def _dates_in(texts: pd.Series) -> np.ndarray | None:
    """Texts as days, by the way of writing dates that reads nearly all of them; None where none
    does.
    """
    if not len(texts) or texts.str.contains(r"\d[-/.]\d+[-/.]\d", regex=True).mean() < _READ:
        return None
    for written in _DATES:
        read = pd.to_datetime(texts, format=written, errors="coerce", utc=True)
        if read.notna().mean() >= _READ:
            return _days(read)
    return None


def _number_in(text: str) -> float:
    """The one number in a text, NaN if there is none or more than one."""
    parts = _NUMBER.findall(text)
    if len(parts) != 1:
        return np.nan
    digits = (
        re.sub("['\u2019_ \u00a0\u2009\u202f]", "", parts[0]).replace("\u2212", "-").rstrip(".,")
    )
    marks = [mark for mark in digits if mark in ".,"]
    if marks and (len(set(marks)) > 1 or marks.count(marks[-1]) == 1):
        decimal = marks[-1]
        grouped = (
            len(set(marks)) == 1
            and re.fullmatch(r"[-+]?\d{1,3}[.,]\d{3}", digits) is not None
            and decimal == ","
        )
        digits = digits.replace("." if decimal == "," else ",", "").replace(
            decimal, "" if grouped else "."
        )
    else:
        digits = digits.replace(",", "").replace(".", "")
    try:
        return float(digits)
    except ValueError:
        return np.nan


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of n records by name: ``values`` their numbers (NaN where there are none), ``codes``
    their levels from 0, a missing value being one, and where it is ``missing``; (n,) each."""

    values: Mapping[str, np.ndarray]
    codes: Mapping[str, np.ndarray]
    missing: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, table: Mapping[str, pd.Series]) -> "Columns":
        """The columns of a table."""
        codes = {
            name: np.asarray(pd.factorize(column, use_na_sentinel=False)[0])
            for name, column in table.items()
        }
        missing = {name: column.isna().to_numpy() for name, column in table.items()}
        return cls({name: as_numbers(column) for name, column in table.items()}, codes, missing)

    def among(self, rows: np.ndarray) -> "Columns":
        """The same of some records (m,), without the columns that are constant there."""
        codes = {
            name: np.unique(codes[rows], return_inverse=True)[1]
            for name, codes in self.codes.items()
        }
        kept = [name for name, of_rows in codes.items() if of_rows.max() > 0]
        return Columns(
            {name: self.values[name][rows] for name in kept},
            {name: codes[name] for name in kept},
            {name: self.missing[name][rows] for name in kept},
        )

    def without(self, names: set[str]) -> "Columns":
        """The other columns."""
        kept = [name for name in self.codes if name not in names]
        return Columns(
            *(
                {name: part[name] for name in kept}
                for part in (self.values, self.codes, self.missing)
            )
        )

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Those that hold different numbers in enough records."""
        present = {name: np.isfinite(values) for name, values in self.values.items()}
        return {
            name: values
            for name, values in self.values.items()
            if present[name].sum() >= LEAST and np.ptp(values[present[name]]) > 0
        }

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many different values each holds."""
        return {name: int(codes.max()) + 1 for name, codes in self.codes.items()}

    @cached_property
    def many(self) -> dict[str, np.ndarray]:
        """Numbers of more than two values, those of most values first."""
        names = [
            name for name in self.numbers if self.counts[name] - int(self.missing[name].any()) > 2
        ]
        return {
            name: self.numbers[name] for name in sorted(names, key=lambda name: -self.counts[name])
        }

    @cached_property
    def grouping(self) -> dict[str, np.ndarray]:
        """Levels of the columns that have few of them."""
        return {
            name: codes for name, codes in self.codes.items() if self.counts[name] <= MOST_LEVELS
        }

    @cached_property
    def indicators(self) -> dict[str, list[np.ndarray]]:
        """By column of no numbers 0 and 1 for each of its levels but one, where they are few."""
        few = [
            name
            for name, count in self.counts.items()
            if name not in self.numbers and count <= _FEW_LEVELS
        ]
        return {
            name: [
                (self.codes[name] == level).astype(float) for level in range(self.counts[name] - 1)
            ]
            for name in few
        }
