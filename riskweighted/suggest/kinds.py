"""What every column of a file is: one of nine kinds, by what is said of it, its values, and its
name.
"""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats
from riskweighted.common.text import plain
from riskweighted.data.variable import CATEGORIES, Variable
from riskweighted.suggest.evidence import (
    CONSTANT,
    DESIGN,
    LEVELS,
    NUMBER,
    TEXT,
    TIME,
    UNIT_ID,
    WEIGHT,
    ColumnKind,
    Evidence,
)
from riskweighted.suggest.survey_columns import (
    bare_weight,
    called_weight,
    is_design,
    is_weight,
    replicates,
)
from riskweighted.suggest.texts import kind_of_text
from riskweighted.suggest.times import why_time, year_or_number
from riskweighted.suggest.whole_numbers import Others, kind_of_whole

__all__ = ["check_kinds", "kinds_of"]

_LEAST_TICKED, _MOST_TICKED = 0.02, 0.95  # of the records that have the one value of a tick box
_LABELLED, _FEWEST_LABELS = 0.8, 3  # of the different values of a column of levels
_NO_PREDICTORS = (DESIGN, WEIGHT, TEXT, CONSTANT)


def kinds_of(
    data: pd.DataFrame,
    described: Mapping[str, Variable] | None = None,
    stated: Mapping[str, str] | None = None,
) -> list[ColumnKind]:
    """What every column of a frame is, and why, by its values and its name; a question where the
    evidence is split.

    `described`: what is said of the columns: categories come before every rule but that of one
    value, value labels before those of whole numbers, and codes that mean missing are no values.
    `stated`: kinds of columns by name that a study says, which come before all that.
    """
    said = described or {}
    evidence = [
        Evidence(data.iloc[:, place], said.get(str(name), Variable()))
        for place, name in enumerate(data.columns)
    ]
    found: list[ColumnKind | None] = [None] * len(evidence)
    repeated = {*replicates(evidence)}
    names = [column.name for column in evidence]
    for place, column in enumerate(evidence):
        found[place] = _by_itself(column, names, repeated)
    check_kinds(data, stated or {})
    for place, name in enumerate(names):
        if name in (stated or {}):
            found[place] = ColumnKind(
                name, (stated or {})[name], "as [data.kinds] says", stated=True
            )
    places = range(len(evidence))
    texts = [
        place for place in places if not evidence[place].is_number and not evidence[place].is_date
    ]
    times = [
        place for place in places if (known := found[place]) is not None and known.kind == TIME
    ]
    told = [
        place
        for place in places
        if (known := found[place]) is None or known.kind not in _NO_PREDICTORS
    ]
    others = Others(evidence, texts, times, told)
    kinds = [
        known or _by_others(column, others) for known, column in zip(found, evidence, strict=True)
    ]
    held = {
        of.name: set(others.held(column, banded=True))
        for of, column in zip(kinds, evidence, strict=True)
        if of.kind == UNIT_ID
    }
    return [
        replace(of, within=tuple(unit for unit, names in held.items() if of.name in names))
        for of in kinds
    ]


def _by_itself(column: Evidence, names: list[str], repeated: set[str]) -> ColumnKind | None:
    """The kind that a column shows by itself; None where it depends on other columns."""
    name, distinct = column.name, len(column.counts)
    if distinct <= 1:
        ticked = (
            distinct
            and _LEAST_TICKED <= 1 - column.column.isna().mean() <= _MOST_TICKED
            and column.counts.index[0] not in (0, "0")
        )
        if ticked and not column.is_date:
            return ColumnKind(name, LEVELS, "a tick box: one value, else empty")
        return ColumnKind(
            name, CONSTANT, "one value" if distinct else "empty: missing in every record"
        )
    if column.stated.type in (*CATEGORIES, "yes or no"):
        return ColumnKind(name, LEVELS, f"stated to be {column.stated.type}")
    if name in repeated:
        return ColumnKind(name, DESIGN, "one of the replicate weights")
    if why := why_time(column):
        return ColumnKind(name, TIME, why)
    if is_weight(column):
        if bare_weight(column, names):
            return ColumnKind(name, NUMBER, "beside measures of bodies").asking(
                "body weight or survey weight?", WEIGHT
            )
        return ColumnKind(name, WEIGHT, "called like a survey weight, no gaps, above 0")
    if is_design(column):
        return ColumnKind(
            name, DESIGN, "called like a stratum, a primary unit or a population size, no gaps"
        )
    if not column.is_number:
        return kind_of_text(column)
    labels = column.stated.number_labels
    labelled = sum(value in labels for value in column.different.tolist()) if labels else 0
    if column.whole and labelled >= max(_FEWEST_LABELS, _LABELLED * column.distinct):
        return ColumnKind(name, LEVELS, "its values have labels")
    if column.distinct <= 2:
        return ColumnKind(
            name,
            LEVELS,
            "two values" if column.distinct == 2 else "one value beside codes",
            counts=True,
        )
    if column.whole:
        return None
    zeros = "; called like a weight, but not above 0 throughout" if called_weight(column) else ""
    return ColumnKind(name, NUMBER, f"numbers with decimals{zeros}")


def _by_others(column: Evidence, others: Others) -> ColumnKind:
    """The kind of whole numbers, which other columns tell, too."""
    found = kind_of_whole(column, others)
    if found.kind in (LEVELS, NUMBER) and not found.question and year_or_number(column):
        return found.asking("an amount, or years of two digits?", TIME)
    return found


def check_kinds(data: pd.DataFrame, stated: Mapping[str, str]) -> None:
    """Refuse kinds that a study says of columns that the data lack, or that cannot have them."""
    unknown = [name for name in stated if name not in data]
    if unknown:
        raise InputError(
            f"[data.kinds] names {listing(unknown)}, which the data lack; valid are "
            f"{listing(data.columns)}"
        )
    for name, kind in stated.items():
        if because := _impossible(Evidence(data[name], Variable()), kind):
            raise InputError(
                f"[data.kinds] {plain(name)!r} cannot be {kind!r}: a column of that kind {because}"
            )


def _impossible(column: Evidence, kind: str) -> str:
    """Why a column cannot be of a kind; "" where it can."""
    distinct = len(column.counts)
    if kind != CONSTANT and not distinct:
        return "has values, and it is missing in every record"
    if kind in (NUMBER, WEIGHT) and not column.is_number:
        return "holds numbers, and it holds others"
    if kind == WEIGHT and not (column.complete and (as_floats(column.column) > 0).all()):
        return "has a number above 0 in every record, and it has gaps or others"
    if kind == DESIGN and not column.complete:
        return "has no gaps, and it has some"
    if kind == TEXT and column.is_number:
        return "holds texts, and it holds numbers"
    return (
        f"has one value, and it has {distinct:,} different ones"
        if kind == CONSTANT and distinct > 1
        else ""
    )
