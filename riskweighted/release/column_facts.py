"""What a codebook says of a released column of data in parts, as facts of its parts that are
added.
"""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from riskweighted.common.frames import nearly_all
from riskweighted.release.codebook import listed_levels, missing_in_words

__all__ = ["ColumnFacts"]

_MOST = 50  # values that a codebook lists


@dataclass(frozen=True)
class ColumnFacts:
    """Of a column its ``dtype``, the number of ``records``, how many are ``missing`` in each
    dataset, and its ``values`` where these are few, else None.
    """

    dtype: Any
    records: int
    missing: tuple[int, ...]
    values: tuple[object, ...] | None = field(repr=False)

    @classmethod
    def of(cls, column: pd.Series) -> "ColumnFacts":
        """Those of the values of a part."""
        distinct = column.dropna().unique()
        values = tuple(distinct.tolist()) if len(distinct) <= _MOST else None
        return cls(column.dtype, len(column), (int(column.isna().sum()),), values)

    def __add__(self, other: "ColumnFacts") -> "ColumnFacts":
        """With those of further records."""
        missing = tuple(
            mine + theirs for mine, theirs in zip(self.missing, other.missing, strict=True)
        )
        return ColumnFacts(
            self.dtype, self.records + other.records, missing, self._values_with(other)
        )

    def beside(self, other: "ColumnFacts | None") -> "ColumnFacts":
        """With those of the same records in further datasets."""
        if other is None:
            return self
        return ColumnFacts(
            self.dtype, self.records, (*self.missing, *other.missing), self._values_with(other)
        )

    def _values_with(self, other: "ColumnFacts") -> tuple[object, ...] | None:
        if self.values is None or other.values is None:
            return None
        values = tuple(dict.fromkeys([*self.values, *other.values]))
        return values if len(values) <= _MOST else None

    @property
    def missing_in_words(self) -> int | str:
        """How many records have no value."""
        return missing_in_words(self.missing)

    @property
    def in_words(self) -> str:
        """The levels, or how many different values there are."""
        if self.values is None:
            return f"more than {_MOST} different values"
        listed = None
        if not nearly_all(len(self.values), self.records):
            # twice: no record has one of its own
            listed = listed_levels(pd.Series([*self.values, *self.values], dtype=self.dtype))
        return f"{len(self.values)} different values" if listed is None else "; ".join(listed)
