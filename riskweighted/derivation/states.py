"""Columns as a finder of structure sees them: which value each record has, its amount, and its
state; and states in the words of a rule.
"""

import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, holds_numbers

__all__ = ["AMOUNT", "MISSING", "Looked", "State", "look", "quote_column", "quote_value"]

MISSING, AMOUNT = "missing", "amount"
_MOST_STATES = 30  # levels that are looked at one by one; of numbers 20
_MOST_VALUES = 20
_WORDS = ("missing", "true", "false", "True", "False")


class State(NamedTuple):
    """What a record can be in a column: "value" with the value, "missing", or "amount": anything
    else.
    """

    kind: str
    value: float | str | bool | None = None


@dataclass(frozen=True, eq=False)
class Looked:
    """A column of n records. Confidential.

    ``values`` (n,): which of its different values each has, a missing one among them; ``numbers``
    (n,): its amounts, NaN where missing or a code, None where it holds none; ``states``: what a
    record can be, and ``state`` (n,) which of them it is.
    """

    name: str
    values: np.ndarray = field(repr=False)
    numbers: np.ndarray | None = field(repr=False)
    codes: tuple[float, ...] = field(repr=False)
    states: tuple[State, ...] = field(repr=False)
    state: np.ndarray = field(repr=False)

    @cached_property
    def distinct(self) -> int:
        """How many different values it has, missing one of them."""
        return int(self.values.max()) + 1

    def is_in(self, places: Collection[int]) -> str:
        """The condition that a record is in one of some states, as a rule states it."""
        chosen = [self.states[place] for place in sorted(places)]
        if any(state.kind == AMOUNT for state in chosen):
            return self.is_not_in(
                [place for place in range(len(self.states)) if place not in places]
            )
        name = quote_column(self.name)
        texts = [quote_value(state.value) for state in chosen if state.kind == "value"]
        parts = (
            [f"{name} == {texts[0]}" if len(texts) == 1 else f"{name} in [{', '.join(texts)}]"]
            if texts
            else []
        )
        return " or ".join(
            [*parts, f"missing({name})"]
            if any(state.kind == MISSING for state in chosen)
            else parts
        )

    def is_not_in(self, places: Collection[int]) -> str:
        """The condition that a record is in none of some states."""
        if any(self.states[place].kind == AMOUNT for place in places):
            return self.is_in([place for place in range(len(self.states)) if place not in places])
        text = self.is_in(places)
        return f"not ({text})" if " or " in text else f"not {text}"


def quote_column(name: str) -> str:
    """A column's name in a condition."""
    plain = re.fullmatch(r"[^\W\d]\w*", name) and not keyword.iskeyword(name) and name not in _WORDS
    return name if plain else f"`{name}`"


def quote_value(value: float | str | bool | None) -> str:
    """A value in a condition."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}"


def look(
    data: pd.DataFrame, names: Sequence[str], codes: Mapping[str, Sequence[float]]
) -> list[Looked]:
    """The columns of these names that rules can be about: not those that are constant, dates, or
    cannot be named in a condition.
    """
    looked = [
        _look(data[name], tuple(map(float, codes.get(name, ()))))
        for name in names
        if "`" not in name
    ]
    return [column for column in looked if column is not None]


def _look(column: pd.Series, codes: tuple[float, ...]) -> Looked | None:
    values, different = pd.factorize(column, use_na_sentinel=False)
    kind = "numbers" if holds_numbers(column) else _kind_of(column)
    if len(different) < 2 or kind == "other":
        return None
    if kind != "numbers":
        return _with_states(column, values, None, (), *_of_levels(column, kind))
    numbers = as_floats(column)
    if np.isinf(numbers).any():
        return None
    # 0 adds up and has an order
    amounts = np.where(np.isin(numbers, [code for code in codes if code != 0]), np.nan, numbers)
    there = np.unique(amounts[~np.isnan(amounts)])
    few = len(there) <= _MOST_VALUES and bool((there == np.rint(there)).all())
    single = [*codes, *(there if few else [0.0] if (there == 0).any() else [])]
    return _with_states(column, values, amounts, codes, single, numbers)


def _kind_of(column: pd.Series) -> str:
    """What a column that is no number holds: "text", "truth", "numbers in categories" or
    "other".
    """
    plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    kind = pd.api.types.infer_dtype(plain, skipna=True)
    return {
        "string": "text",
        "boolean": "truth",
        "integer": "numbers in categories",
        "floating": "numbers in categories",
    }.get(kind, "other")


def _of_levels(column: pd.Series, kind: str) -> tuple[list[float | str | bool], np.ndarray]:
    """The levels that are looked at one by one, and the column with plain values."""
    turn = {"text": str, "truth": bool}.get(kind, float)
    plain = column.astype(object)
    levels = [turn(level) for level in plain.dropna().unique()]
    # <NA> equals nothing, not even false
    plain = plain.map(turn, na_action="ignore").where(column.notna(), None).to_numpy(dtype=object)
    return (sorted(levels) if len(levels) <= _MOST_STATES else []), plain


def _with_states(
    column: pd.Series,
    values: np.ndarray,
    numbers: np.ndarray | None,
    codes: tuple[float, ...],
    single: Sequence[float | str | bool],
    plain: np.ndarray,
) -> Looked:
    """A column whose states are the single values, missing, and all else."""
    state, states = np.full(len(column), -1), list[State]()
    for value in dict.fromkeys(single):
        here = np.asarray(plain == value, dtype=bool)
        if here.any():
            state[here & (state < 0)] = len(states)
            states.append(State("value", value if isinstance(value, str | bool) else float(value)))
    missing = column.isna().to_numpy(dtype=bool)
    for kind, here in ((MISSING, missing), (AMOUNT, (state < 0) & ~missing)):
        if here.any():
            state[here] = len(states)
            states.append(State(kind))
    return Looked(str(column.name), np.asarray(values), numbers, codes, tuple(states), state)
