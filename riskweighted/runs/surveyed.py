"""Columns of a file that tell how its survey was drawn, recognised by name and shape: weights, strata, primary units, replicate weights."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import holds_numbers
from riskweighted.utility.survey_design import survey_design

__all__ = ["Surveyed", "surveyed"]

_WEIGHT = re.compile(r"(^|_)(w|wt|wgt|wght|weights?|pweight|fweight|hhwt|perwt|finalwt)\d*(_|$)", re.IGNORECASE)
_STRATA = re.compile(r"(^|_)(strat(a|um)?|var_?strat|vestrat|sdmvstra|stratvar|estrato)\d*(_|$)", re.IGNORECASE)
_PSU = re.compile(r"(^|_)(psu|secu|upm|cluster(_?id)?|var_?psu|var_?unit|sdmvpsu|vecl|hpsu)\d*(_|$)", re.IGNORECASE)
_REPLICATE = re.compile(r"(?P<stem>.*(rep|brr|jk|jack|boot|bsw|fstr|fay|wgt|wt|weight|pwgtp)[a-z_]*?)(?P<number>\d{1,4})", re.IGNORECASE)
_FEWEST = 8  # columns of one stem that are taken as replicate weights
_ALIKE = 0.2  # by which share the total of a replicate differs from that of the weights at most


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
        return f"{stem}[0-9]*"


def surveyed(data: pd.DataFrame) -> Surveyed:
    """What a file has of a design. Weights are numbers above 0, and replicates add up to what they do; strata and units have no gaps, occur
    more than once and show a variance.
    """
    names = [str(name) for name in data.columns]
    called = sorted((name for name in names if _WEIGHT.search(name)), key=lambda name: _stem(name) is not None)
    weight = next((name for name in called if _is_weight(data[name])), None)
    if weight is None:
        return Surveyed()
    replicates = _replicates(data, [name for name in names if name != weight], float(data[weight].sum()))
    left = [name for name in names if name not in replicates]
    strata = next((name for name in left if _STRATA.search(name) and _is_grouping(data[name])), None)
    psu = next((name for name in left if name != strata and _PSU.search(name) and _is_grouping(data[name])), None)
    for tried in ((strata, psu), (None, psu), (strata, None)):
        if _shows_variance(data, weight, *tried):
            return Surveyed(weight, *tried, replicates)
    return Surveyed(weight, None, None, replicates)


def _shows_variance(data: pd.DataFrame, weight: str, strata: str | None, psu: str | None) -> bool:
    """Whether every stratum has two units or more."""
    try:
        survey_design(data, weight, strata, psu=psu)
    except InputError:
        return False
    return True


def _stem(name: str) -> str | None:
    """What stands before the number of a column called like a replicate weight."""
    match = _REPLICATE.fullmatch(name)
    return None if match is None else match["stem"]


def _replicates(data: pd.DataFrame, names: Sequence[str], total: float) -> tuple[str, ...]:
    """The largest family of columns that are called alike but for a number, and hold weights of about that total."""
    families: dict[str, list[str]] = {}
    for name in names:
        stem = _stem(name)
        if stem is not None:
            families.setdefault(stem, []).append(name)
    largest = max(families.values(), key=len, default=[])
    held = len(largest) >= _FEWEST and all(_is_weight(data[name], zero=True) for name in largest)
    held = held and all(abs(float(data[name].sum()) - total) <= _ALIKE * total for name in largest)
    return tuple(largest) if held else ()


def _is_weight(column: pd.Series, *, zero: bool = False) -> bool:
    """Whether a column holds numbers above 0 in every record, or 0 too, which are not all the same."""
    if not holds_numbers(column) or column.isna().any() or not len(column):
        return False
    return bool((column >= 0 if zero else column > 0).all() and column.nunique() > 1)


def _is_grouping(column: pd.Series) -> bool:
    """Whether every record has a value, and values occur more than once."""
    return bool(len(column) and not column.isna().any() and 1 < column.nunique() <= len(column) / 2)
