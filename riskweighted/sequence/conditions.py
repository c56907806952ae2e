"""What a rule says about one record: a condition over its columns, met or not; `condition_text`
reads it.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.design.distinct import apply_to_distinct
from riskweighted.sequence.condition_text import (
    ALLOWED,
    ColumnComparison,
    ColumnName,
    Constant,
    JoinedConditions,
    Missing,
    Node,
    Not,
    NotAllowedError,
    Within,
    parse_condition,
)

__all__ = ["ALLOWED", "ComparedColumn", "Condition", "cells_of", "shown"]

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = ("integer", "integer-na", "floating", "mixed-integer-float", "boolean", "decimal")

Kind = Literal["numbers", "text", "nothing"]


class ComparedColumn(NamedTuple):
    """One column to compare: floats (n,) or texts (n,), which are missing (n,), and the levels of
    an ordered categorical.
    """

    kind: Kind
    values: np.ndarray
    missing: np.ndarray
    levels: tuple[object, ...] | None = None


@dataclass(frozen=True)
class Condition:
    """A condition over the columns of a record, as a study file states it.

    Two values: a comparison with a missing value is false, ``!=`` and ``not in`` included, and so
    ``not (x == 1)`` holds where x is missing while ``x != 1`` does not. Ask for missing values by
    ``missing(x)``. True and false are the numbers 1 and 0. Special codes are the numbers that they
    are. Within quotes a quote is written twice, and a backslash means itself. Categories compare by
    value, and by their order under < <= > >= where they have one.

    ``text``: see `ALLOWED`; ``16 <= age < 20`` may stand for both comparisons. ``place``: dotted
    name of the setting, for errors.
    """

    text: str
    place: str = field(default="condition", compare=False)
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(
                f"{self.place} must be a condition in quotes, got {type(self.text).__name__}"
            )
        try:
            tree, names = parse_condition(self.text)
        except NotAllowedError as error:
            raise InputError(self._told(f"{error}; valid are {ALLOWED}")) from None
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "names", names)

    @classmethod
    def parse(cls, text: str, place: str = "condition") -> "Condition":
        """The condition that a text states; `place` names its setting in an error."""
        return cls(text, place)

    def holds(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records meet the condition, bool (n,); InputError where a column is lacking or
        cannot be compared so.
        """
        return apply_to_distinct(frame, self.names, self._holds)

    def _holds(self, frame: pd.DataFrame) -> np.ndarray:
        columns = {name: self._cells(frame, name) for name in self.names}
        return self._meets(self.tree, columns, len(frame))

    def unknown_texts(self, frame: pd.DataFrame) -> tuple[tuple[str, str], ...]:
        """Columns of text or categories and texts that no record has and no category is: misspelt,
        most likely.
        """
        pairs = [
            (name, text)
            for name, text in dict.fromkeys(_texts(self.tree))
            if self._cells(frame, name).kind == "text"
        ]
        return tuple((name, text) for name, text in pairs if text not in _known_texts(frame[name]))

    def _cells(self, frame: pd.DataFrame, name: str) -> ComparedColumn:
        if (frame.columns == name).sum() != 1:
            self._refuse(
                f"there is no column {name!r}"
                if name not in frame.columns
                else f"column {name!r} occurs twice"
            )
        try:
            return cells_of(frame[name])
        except InputError as error:
            raise InputError(self._told(str(error))) from None

    def _meets(self, node: Node, columns: Mapping[str, ComparedColumn], n: int) -> np.ndarray:
        match node:
            case JoinedConditions(every, parts):
                join = np.logical_and if every else np.logical_or
                return np.asarray(
                    join.reduce([self._meets(part, columns, n) for part in parts]), dtype=bool
                ).reshape(n)
            case Not(part):
                return ~self._meets(part, columns, n)
            case Missing(name):
                return columns[name].missing.copy()
            case Within(name, constants, inside):
                each = [
                    self._compare(name, "==", columns[name], Constant(constant), columns)
                    for constant in constants
                ]
                met = np.asarray(np.logical_or.reduce(each), dtype=bool)
                return met if inside else ~met & ~columns[name].missing
            case ColumnComparison(name, sign, other):
                return self._compare(name, sign, columns[name], other, columns)

    def _compare(
        self,
        name: str,
        sign: str,
        cells: ComparedColumn,
        other: ColumnName | Constant,
        columns: Mapping[str, ComparedColumn],
    ) -> np.ndarray:
        """One comparison, (n,); false where a side is missing."""
        there = (
            columns[other.name]
            if isinstance(other, ColumnName)
            else _constant_cells(other.value, len(cells.missing))
        )
        what = f"column {other.name!r}" if isinstance(other, ColumnName) else "a constant"
        missing = cells.missing | there.missing
        if missing.all():
            return np.zeros(len(missing), dtype=bool)
        if there.kind != cells.kind:
            self._refuse(
                f"column {name!r} holds {cells.kind} and is compared with {there.kind}; both "
                "must be numbers, or both text"
            )
        left, right = cells.values, there.values
        if sign not in ("==", "!="):
            if cells.levels is not None or there.levels is not None:
                left, right = self._places(name, cells, there, what, isinstance(other, Constant))
            elif cells.kind == "text":
                self._refuse(
                    f"column {name!r} holds text without an order; use ==, != or in, or make it "
                    "an ordered categorical"
                )
        return np.asarray(_COMPARE[sign](left, right) & ~missing, dtype=bool)

    def _places(
        self, name: str, cells: ComparedColumn, there: ComparedColumn, what: str, constant: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Both sides as places in the order of the categories, (n,) each; -1 where missing."""
        levels = cells.levels
        if levels is None or (not constant and there.levels != levels):
            self._refuse(
                f"column {name!r} and {what} must have the same ordered categories to be compared"
            )
        places = pd.Index(list(levels), dtype=object)
        left, right = (
            places.get_indexer(pd.Index(side.values, dtype=object)) for side in (cells, there)
        )
        if constant and (right < 0).any():
            self._refuse(
                f"column {name!r} has ordered categories, and what it is compared with is none "
                "of them"
            )
        return left, right

    def _refuse(self, why: str) -> NoReturn:
        raise InputError(self._told(why))

    def _told(self, why: str) -> str:
        return f"{self.place} {shown(self.text)}: {why}"


def shown(text: str) -> str:
    """A text of the user's in quotes, on one line, cut after 200 characters."""
    return repr(text if len(text) <= 200 else f"{text[:200]} ...")


def cells_of(column: pd.Series) -> ComparedColumn:
    """A column as floats or texts, boolean values as 1 and 0; InputError where it holds neither,
    such as dates.
    """
    missing = column.isna().to_numpy(dtype=bool)
    levels = (
        tuple(column.cat.categories)
        if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
        else None
    )
    plain = column if not isinstance(column.dtype, pd.CategoricalDtype) else column.astype(object)
    kind = "nothing" if missing.all() else pd.api.types.infer_dtype(plain, skipna=True)
    if kind in _NUMBERS:
        numbers = np.full(len(column), np.nan)
        numbers[~missing] = plain[~missing].to_numpy(dtype=float)
        return ComparedColumn("numbers", numbers, missing, levels)
    if kind == "string":
        texts = np.full(len(column), None, dtype=object)
        texts[~missing] = plain[~missing].to_numpy(dtype=object)
        return ComparedColumn("text", texts, missing, levels)
    if kind == "nothing":
        return ComparedColumn("nothing", np.full(len(column), np.nan), missing, levels)
    raise InputError(
        f"column {column.name!r} holds {kind} values; only numbers, text and true or false are "
        "compared"
    )


def _constant_cells(value: float | str | bool, n: int) -> ComparedColumn:
    """A constant as a column of n records."""
    if isinstance(value, str):
        return ComparedColumn("text", np.full(n, value, dtype=object), np.zeros(n, dtype=bool))
    return ComparedColumn("numbers", np.full(n, float(value)), np.zeros(n, dtype=bool))


def _known_texts(column: pd.Series) -> set[object]:
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    return set(column.cat.categories) if categorical else set(column.dropna().unique())


def _texts(node: Node) -> Iterator[tuple[str, str]]:
    """Every column that is compared with a text, and the text."""
    match node:
        case JoinedConditions(_, parts):
            for part in parts:
                yield from _texts(part)
        case Not(part):
            yield from _texts(part)
        case Within(name, constants, _):
            yield from ((name, constant) for constant in constants if isinstance(constant, str))
        case ColumnComparison(name, _, Constant(str(text))):
            yield name, text
