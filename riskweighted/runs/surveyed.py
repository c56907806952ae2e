"""Columns of a file that tell how its survey was drawn, recognised by name and shape: weights, strata, primary units, replicate weights."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from riskweighted.common.frames import holds_numbers

__all__ = ["Surveyed", "surveyed"]

_WEIGHT = re.compile(r"(^|_)(w|wt|wgt|wght|weights?|pweight|fweight|hhwt|perwt|finalwt)\d*(_|$)", re.IGNORECASE)
_STRATA = re.compile(r"(^|_)(strat(a|um)?|var_?strat|vestrat|sdmvstra|stratvar|estrato)\d*(_|$)", re.IGNORECASE)
_PSU = re.compile(r"(^|_)(psu|secu|upm|cluster(_?id)?|var_?psu|var_?unit|sdmvpsu|vecl|hpsu)\d*(_|$)", re.IGNORECASE)
_REPLICATE = re.compile(r"(?P<stem>.*(rep|brr|jk|jack|boot|bsw|fstr|fay|wgt|wt|weight|pwgtp|w)[a-z_]*?)(?P<number>\d{1,4})", re.IGNORECASE)
_FEWEST = 8  # columns of one stem that are taken as replicate weights


class Surveyed(NamedTuple):
    """Names of columns: survey weights, strata, primary units, and replicate weights; None and none where there are none."""

    weight: str | None = None
    strata: str | None = None
    psu: str | None = None
    replicates: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """The replicate weights as the setting names them."""
        stem = _stem(self.replicates[0]) if self.replicates else ""
        return f"{stem}*"


def surveyed(data: pd.DataFrame) -> Surveyed:
    """What a file has of a design. Weights are numbers above 0; strata and units have no gaps and occur more than once."""
    names = [str(name) for name in data.columns]
    replicates = _replicates(data, names)
    left = [name for name in names if name not in replicates]
    weight = next((name for name in left if _WEIGHT.search(name) and _is_weight(data[name])), None)
    strata = next((name for name in left if _STRATA.search(name) and _is_grouping(data[name])), None)
    psu = next((name for name in left if name != strata and _PSU.search(name) and _is_grouping(data[name])), None)
    return Surveyed(weight, strata, psu, replicates if weight else ())


def _stem(name: str) -> str | None:
    """What stands before the number of a column called like a replicate weight."""
    match = _REPLICATE.fullmatch(name)
    return None if match is None else match["stem"]


def _replicates(data: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    """The largest family of columns that are called alike but for a number, and hold weights."""
    families: dict[str, list[str]] = {}
    for name in names:
        stem = _stem(name)
        if stem is not None:
            families.setdefault(stem, []).append(name)
    largest = max(families.values(), key=len, default=[])
    held = len(largest) >= _FEWEST and all(_is_weight(data[name], zero=True) for name in largest)
    return tuple(largest) if held else ()


def _is_weight(column: pd.Series, *, zero: bool = False) -> bool:
    """Whether a column holds numbers above 0 in every record, or 0 too, which are not all the same."""
    if not holds_numbers(column) or column.isna().any() or not len(column):
        return False
    return bool((column >= 0 if zero else column > 0).all() and column.nunique() > 1)


def _is_grouping(column: pd.Series) -> bool:
    """Whether every record has a value, and values occur more than once."""
    return bool(len(column) and not column.isna().any() and 1 < column.nunique() <= len(column) / 2)
