"""Datasets that differ in a few columns, of which only those are held."""

from collections.abc import Iterable, Mapping, Sequence
from typing import overload

import pandas as pd

from riskweighted.common.frames import with_columns

__all__ = ["Datasets"]


class Datasets(Sequence[pd.DataFrame]):
    """L frames that share all columns of `base` (n, columns) but some, of which `altered` holds
    Series (n,) by name for each dataset.

    A frame is made when it is asked for, and holds no copy of what is shared: twenty datasets of a
    million records and one synthesized variable are 160 MB, where whole frames of twelve columns
    were two gigabytes.
    """

    def __init__(self, base: pd.DataFrame, altered: Iterable[Mapping[str, pd.Series]]) -> None:
        self.base = base
        self.altered = tuple(altered)

    @classmethod
    def of(
        cls, base: pd.DataFrame, frames: Iterable[pd.DataFrame], names: Sequence[str]
    ) -> "Datasets":
        """Frames that come one after the other and share all columns of `base` but these."""
        return cls(base, ({name: frame[name] for name in names} for frame in frames))

    def __len__(self) -> int:
        return len(self.altered)

    @overload
    def __getitem__(self, number: int) -> pd.DataFrame: ...

    @overload
    def __getitem__(self, number: slice) -> "Datasets": ...

    def __getitem__(self, number: int | slice) -> "pd.DataFrame | Datasets":
        if isinstance(number, slice):
            return Datasets(self.base, self.altered[number])
        return with_columns(self.base, self.altered[number])

    def only(self, names: Sequence[str]) -> "Datasets":
        """The same datasets with these columns alone, in this order."""
        return Datasets(
            self.base[list(names)],
            (
                {name: columns[name] for name in names if name in columns}
                for columns in self.altered
            ),
        )
