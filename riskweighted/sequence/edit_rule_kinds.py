"""Each kind of rule: a structural value, an order, a forbidden combination, an implication, a sum;
which records break it.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.derivation.orders import holds_sum
from riskweighted.design.distinct import apply_to_distinct
from riskweighted.sequence.conditions import Condition, cells_of, shown

__all__ = ["Forbidden", "Implied", "Order", "Rule", "Structure", "Sum"]

MISSING = "missing"


@dataclass(frozen=True)
class Structure:
    """Where `applies_if` does not hold, a variable has one value, with no probability.

    ``applies_if``: over columns that are known once the variable is drawn, earlier variables and
    columns that are not synthesized; ``else_value``: the value of the other records, where
    "missing" is a missing value unless the column has a category or a record with that text;
    ``place``: dotted name of the variable's settings, for errors.
    """

    variable: str
    applies_if: Condition
    else_value: float | str | bool
    place: str = field(default="structure", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.applies_if, Condition):
            raise InputError(
                f"{self.place}.applies_if must be a condition, got {type(self.applies_if).__name__}"
            )
        if not isinstance(self.else_value, str | bool) and not is_number(self.else_value):
            raise InputError(
                f"{self.place}.else_value must be a number, true, false or a text, got "
                f"{type(self.else_value).__name__}"
            )

    @classmethod
    def read(
        cls, variable: str, applies_if: object, else_value: object, place: str
    ) -> "Structure | None":
        """The structure that the settings `applies_if` and `else_value` of a variable state; None
        where both are None.
        """
        if applies_if is None and else_value is None:
            return None
        if applies_if is None or else_value is None:
            given, lacking = (
                ("applies_if", "else_value") if else_value is None else ("else_value", "applies_if")
            )
            raise InputError(f"{place} has {given!r} without {lacking!r}; state both, or neither")
        condition = Condition(applies_if, f"{place}.applies_if")  # type: ignore[arg-type]  # checked there
        return cls(variable, condition, else_value, place)  # type: ignore[arg-type]  # checked there

    @property
    def text(self) -> str:
        value = self.else_value
        return (
            f"{self.variable}: {shown(value) if isinstance(value, str) else value} "
            f"unless {self.applies_if.text}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns, the variable's own included."""
        return tuple(dict.fromkeys((*self.applies_if.names, self.variable)))

    def fixed(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records have the value `else_value`, bool (n,)."""
        return ~self.applies_if.holds(frame)

    def value(self, column: pd.Series) -> float | str | bool | None:
        """What `else_value` is in the variable's confidential column, None for a missing value;
        InputError where that cannot hold it.
        """
        kind = cells_of(column).kind
        categories = (
            column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else None
        )
        if (
            self.else_value == MISSING
            and not (kind == "text" and bool((column == MISSING).any()))
            and not _among(MISSING, categories)
        ):
            if _never_missing(column):
                raise self._unfit("missing values", column)
            return None
        given = "text" if isinstance(self.else_value, str) else "numbers"
        if kind not in (given, "nothing"):
            raise InputError(
                f"{self.place}.else_value must be of the kind of {self.variable!r}, which holds "
                f"{kind}; got {given}"
            )
        if categories is not None and not _among(self.else_value, categories):
            raise InputError(
                f"{self.place}.else_value must be a category of {self.variable!r} or 'missing', "
                f"got {self.else_value!r}"
            )
        if pd.api.types.is_integer_dtype(column.dtype) and float(self.else_value) % 1:
            raise self._unfit("parts of whole numbers", column)
        if pd.api.types.is_bool_dtype(column.dtype) and self.else_value not in (0, 1):
            raise self._unfit("numbers other than 0 and 1", column)
        return self.else_value

    def broken(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records should have the value and do not, bool (n,)."""
        return apply_to_distinct(frame, self.names, self._broken)

    def _broken(self, frame: pd.DataFrame) -> np.ndarray:
        column = frame[self.variable]
        value, cells = self.value(column), cells_of(column)
        obeyed = np.asarray(cells.values.astype(object) == value, dtype=bool) & ~cells.missing
        if self.else_value == MISSING:  # or the level of that name, which a drawn column may lack
            obeyed = cells.missing | np.asarray(cells.values.astype(object) == MISSING, dtype=bool)
        return np.asarray(self.fixed(frame) & ~obeyed, dtype=bool)

    def _unfit(self, what: str, column: pd.Series) -> InputError:
        return InputError(
            f"{self.place}.else_value is {self.else_value!r}, but {self.variable!r} "
            f"({column.dtype}) cannot hold {what}"
        )


@dataclass(frozen=True)
class Order:
    """`low` is at most `high` where both are amounts; missing values and special codes pass."""

    low: str
    high: str
    codes: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    place: str = field(default="order", compare=False)

    @property
    def text(self) -> str:
        return f"{self.low} <= {self.high}"

    @property
    def names(self) -> tuple[str, ...]:
        return self.low, self.high

    def amounts(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Both columns of a frame, (n,) each; NaN where they hold no amount."""
        low, high = (
            _amounts(frame[name], codes, self.place, "an order")
            for name, codes in zip(self.names, self.codes, strict=True)
        )
        return low, high

    def broken(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records stand in the other order, bool (n,)."""
        low, high = self.amounts(frame)
        return np.asarray(low > high, dtype=bool)


@dataclass(frozen=True)
class Forbidden:
    """No record meets the condition."""

    condition: Condition

    @property
    def text(self) -> str:
        return f"never {self.condition.text}"

    @property
    def place(self) -> str:
        return self.condition.place

    @property
    def names(self) -> tuple[str, ...]:
        return self.condition.names

    def broken(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records meet it, bool (n,)."""
        return self.condition.holds(frame)


@dataclass(frozen=True)
class Implied:
    """Every record that meets `when` meets `then`."""

    when: Condition
    then: Condition
    place: str = field(default="implied", compare=False)

    @property
    def text(self) -> str:
        return f"{self.then.text} where {self.when.text}"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.when.names, *self.then.names)))

    @property
    def conditions(self) -> tuple[Condition, Condition]:
        return self.when, self.then

    def broken(self, frame: pd.DataFrame) -> np.ndarray:
        """Which records meet the first condition and not the second, bool (n,)."""
        return np.asarray(self.when.holds(frame) & ~self.then.holds(frame), dtype=bool)


@dataclass(frozen=True)
class Sum:
    """Where all are amounts the first column is the sum of the others; ``codes``: special codes of
    each, which are no amounts.
    """

    total: str
    parts: tuple[str, ...]
    codes: tuple[tuple[float, ...], ...] = ()
    place: str = field(default="sums", compare=False)

    @property
    def text(self) -> str:
        return f"{self.total} = {' + '.join(self.parts)}"

    @property
    def names(self) -> tuple[str, ...]:
        return self.total, *self.parts

    def broken(self, frame: pd.DataFrame) -> np.ndarray:
        """In which records they add up to something else, bool (n,)."""
        total, *parts = self._columns(frame, self.names)
        return ~holds_sum(total, parts)

    def value(self, frame: pd.DataFrame, variable: str) -> np.ndarray:
        """What one of the columns comes to, (n,); NaN where one of the others is no amount."""
        others = [name for name in self.names if name != variable]
        amounts = self._columns(frame, others)
        return np.asarray(sum(amounts) if variable == self.total else amounts[0] - sum(amounts[1:]))

    def _columns(self, frame: pd.DataFrame, names: tuple[str, ...] | list[str]) -> list[np.ndarray]:
        codes = dict(zip(self.names, self.codes, strict=True)) if self.codes else {}
        return [_amounts(frame[name], codes.get(name, ()), self.place, "a sum") for name in names]


Rule = Structure | Order | Forbidden | Implied | Sum


def _amounts(column: pd.Series, codes: tuple[float, ...], place: str, what: str) -> np.ndarray:
    """Values (n,); NaN where missing or a code, which no comparison meets."""
    cells = cells_of(column)
    if cells.kind == "text":
        raise InputError(
            f"{place} names {column.name!r}, which holds text; only numbers can be in {what}"
        )
    return np.where(np.isin(cells.values, codes), np.nan, cells.values)


def _among(value: object, categories: pd.Index | None) -> bool:
    return categories is not None and value in set(categories)


def _never_missing(column: pd.Series) -> bool:
    """Plain integers and truth values have no missing value."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biu"
