"""Measures as sums over parts of a file: what each part is asked for, how the answers are added,
what is said of the total.

A tally is small, can be pickled, and is the same to the last bit whatever the order and the
grouping in which parts are added. The whole file in memory is the case of one part, so that there
is no other way to compute such a measure.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from riskweighted.measures.measure import Measure, Value

if TYPE_CHECKING:
    from riskweighted.measures.context import Context

__all__ = ["ByParts", "Largest", "Tally", "by_parts", "found_over", "plus", "total_of"]


class Tally(dict[str, Any]):
    """Numbers, arrays, sums and counts by name; two tallies are added name by name, and what one of
    them lacks is taken as it is.
    """

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            {name: plus(self.get(name), other.get(name)) for name in dict.fromkeys([*self, *other])}
        )


@dataclass(frozen=True)
class Largest:
    """The largest of some numbers (n,), or of each row (K, n); the sum of two is the larger one.
    NaN where one of them is NaN.
    """

    values: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, values: np.ndarray) -> "Largest":
        return cls(np.asarray(np.max(values, axis=-1, initial=-np.inf)))

    def __add__(self, other: "Largest") -> "Largest":
        return Largest(np.maximum(self.values, other.values))


def plus(one: Any, other: Any) -> Any:
    """The sum of two tallies; None says nothing, and tuples of one length are added place by
    place.
    """
    if one is None or other is None:
        return other if one is None else one
    if type(one) is tuple:
        return tuple(plus(*pair) for pair in zip(one, other, strict=True))
    return one + other


@dataclass(frozen=True, eq=False)
class ByParts:
    """A computation of a `Measure` that is a sum over parts of a file; called with a `Context` of
    the whole file, it gives the values.

    Attributes
    ----------
    tally : callable
        From a part's `Context` to its tally, None where there is nothing to say of the label. It
        draws no random numbers. Computations that name the same function share its tally.
    values : callable
        From the total and a `Context` to the value, or to `Value` after `Value`. Of the context it
        reads only what is the same in every part, such as label, settings, scenario, variable and
        random numbers; no frame, and no array of records.
    further : callable, optional
        From the total and such a context to what the parts must be told for another look, None
        where nothing is left to be found.
    again, completed : callable, optional
        From a part's context and what it is told to another tally; from the total and the total of
        those to the completed one.
    """

    tally: "Callable[[Context], Any]"
    values: "Callable[[Any, Context], float | Iterable[Value]]"
    further: "Callable[[Any, Context], Any] | None" = None
    again: "Callable[[Context, Any], Any] | None" = None
    completed: "Callable[[Any, Any], Any] | None" = None

    def __call__(self, context: "Context") -> "float | Iterable[Value]":
        return self.values(total_of(self, [context]), context)

    @property
    def name(self) -> str:
        """By which its tally is known, in whatever process."""
        return f"{self.tally.__module__}.{self.tally.__qualname__}"


def total_of(computation: ByParts, contexts: "Sequence[Context]") -> Any:
    """The total over the parts, looked at as often as it takes."""
    total = None
    for context in contexts:
        total = plus(total, computation.tally(context))
    while (
        computation.further is not None
        and (told := computation.further(total, contexts[0])) is not None
    ):
        assert computation.again is not None
        assert computation.completed is not None
        more = None
        for context in contexts:
            more = plus(more, computation.again(context, told))
        total = computation.completed(total, more)
    return total


def found_over(computation: ByParts, contexts: "Sequence[Context]") -> Any:
    """What a computation gives of parts that are all in memory."""
    return computation.values(total_of(computation, contexts), contexts[0])


def by_parts(measure: Measure) -> bool:
    """Whether a measure of an evaluation is a sum over parts of a file."""
    return isinstance(measure.compute, ByParts)
