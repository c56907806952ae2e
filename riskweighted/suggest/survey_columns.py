"""How a survey was drawn, as its columns tell by name and shape: weights, strata, primary units,
population sizes, replicate weights.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats
from riskweighted.suggest.column_names import (
    BODY,
    POPULATION,
    PSU,
    STRATUM,
    WEIGHT as CALLED_WEIGHT,
    words_of,
)
from riskweighted.suggest.evidence import DESIGN, WEIGHT, ColumnKind, Evidence
from riskweighted.utility.survey_design import survey_design

__all__ = [
    "SurveyColumns",
    "bare_weight",
    "called_weight",
    "find_survey_columns",
    "is_design",
    "is_weight",
    "replicates",
]

_REPLICATE = re.compile(
    r"(?P<stem>.*(rep|brr|jk|jack|boot|bsw|fstr|fay|wgt|wt|weight|pwgtp)[a-z_]*?)"
    r"(?P<number>\d{1,4})",
    re.IGNORECASE,
)
_FEWEST = 8  # columns of one stem that are taken as replicate weights
_ALIKE = 0.2  # by which share the total of a replicate differs from that of the weights at most


def called_weight(column: Evidence) -> bool:
    """Whether a column of numbers without gaps is called like a survey weight; zeros are not looked
    at.
    """
    return (
        column.is_number
        and column.complete
        and CALLED_WEIGHT(column.name)
        and column.counts.size > 1
    )


def is_weight(column: Evidence) -> bool:
    """Whether a column is a survey weight: called so, without gaps, and above 0."""
    return called_weight(column) and bool((as_floats(column.column) > 0).all())


def bare_weight(column: Evidence, names: Sequence[str]) -> bool:
    """Whether a column is called "weight" and no more, a number after it aside, in a file that also
    measures bodies.
    """
    return words_of(column.name) in (("weight",), ("wt",)) and any(map(BODY, names))


def is_design(column: Evidence) -> bool:
    """Whether a column is called like a stratum, a primary unit or a population size, without gaps,
    and its values occur more than once.
    """
    return (
        column.complete
        and any(hint(column.name) for hint in (STRATUM, PSU, POPULATION))
        and 1 < column.distinct <= column.n / 2
    )


def _stem(name: str) -> str | None:
    """What stands before the number of a column called like a replicate weight."""
    match = _REPLICATE.fullmatch(name)
    return None if match is None else match["stem"]


def replicates(columns: Sequence[Evidence]) -> tuple[str, ...]:
    """The largest family of eight columns and more that are called alike but for a number, and add
    up to about what a weight does.
    """
    families: dict[str, list[Evidence]] = {}
    for column in columns:
        if (stem := _stem(column.name)) is not None:
            families.setdefault(stem, []).append(column)
    family = max(families.values(), key=len, default=[])
    if len(family) < _FEWEST or not all(_is_replicate(column) for column in family):
        return ()
    weights = (column for column in columns if column not in family and is_weight(column))
    totals = [float(as_floats(column.column).sum()) for column in weights]
    sums = [float(as_floats(column.column).sum()) for column in family]
    held = any(all(abs(each - total) <= _ALIKE * total for each in sums) for total in totals)
    return tuple(column.name for column in family) if held else ()


def _is_replicate(column: Evidence) -> bool:
    return column.is_number and column.complete and bool((as_floats(column.column) >= 0).all())


class SurveyColumns(NamedTuple):
    """How a survey was drawn, by the names of columns: None and none where there are none.

    ``weight``: the first of its ``weights``. ``strata``, ``psu``: from which a variance can be had.
    ``other``: the other columns of the design, such as population sizes, and strata with one unit
    alone.
    """

    weight: str | None = None
    strata: str | None = None
    psu: str | None = None
    replicates: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """The replicate weights as the setting names them."""
        return f"{_stem(self.replicates[0]) if self.replicates else ''}[0-9]*"


def find_survey_columns(data: pd.DataFrame, kinds: Sequence[ColumnKind]) -> SurveyColumns:
    """How a survey was drawn, by the kinds of its columns."""
    weights = sorted(
        (of.name for of in kinds if of.kind == WEIGHT), key=lambda name: _stem(name) is not None
    )
    design = [of.name for of in kinds if of.kind == DESIGN]
    called = [
        name
        for name in design
        if any(hint(name) for hint in (STRATUM, PSU, POPULATION)) or _stem(name) is None
    ]
    repeated = tuple(name for name in design if name not in called and _stem(name) is not None)
    strata, psu = (next(filter(hint, called), None) for hint in (STRATUM, PSU))
    for tried in ((strata, psu), (None, psu), (strata, None)):
        if weights and _shows_variance(data, weights[0], *tried):
            other = tuple(name for name in called if name not in tried)
            return SurveyColumns(weights[0], *tried, repeated, tuple(weights), other)
    return SurveyColumns(
        weights[0] if weights else None, None, None, repeated, tuple(weights), tuple(called)
    )


def _shows_variance(data: pd.DataFrame, weight: str, strata: str | None, psu: str | None) -> bool:
    """Whether every stratum has two units or more."""
    try:
        survey_design(data, weight, strata, psu=psu)
    except InputError:
        return False
    return True
