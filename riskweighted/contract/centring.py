"""What centred weights take off the pseudo posterior: the weight that each record's value is
expected to get (METHODS section 15).

A record's weight is a function a_i of its own value, all else held. With l_i its log density the
centred pseudo posterior has

    sum_i alpha_i l_i(theta) - E_theta{a_i(Y) | x_i},    alpha_i = a_i(y_i),

of which every summand has a gradient of mean zero where the model is true. The expectation is a sum
over intervals of the mean weight in each times its probability. Where a model tells kinds of value
first (a code, zero, an amount) the two questions are centred apart, so that their parameters stay
independent: the kind by the mean weight of the others of that kind, the value given its kind by
a_i.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.html_repr import html_repr

__all__ = ["CentredWeights", "Centring", "Intervals", "OwnFunction"]

_ROOM = 1_000_000  # numbers at a time: what is made on the way is some thirty times as many


class OwnFunction(Protocol):
    """The weight of each of n records as a function of its own value."""

    @property
    def pattern(self) -> np.ndarray:
        """The known pattern of each record, (n,)."""

    @property
    def label(self) -> str:
        """What tells it from other functions of the same data."""

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """a_i(y) of some records (R,) at values (G,) as the column holds them, (R, G)."""


@dataclass(frozen=True, eq=False)
class CentredWeights:
    """Centred weights hold each record's weight, and the function of its own value that it comes
    from; `centred_weights` makes them.

    ``alpha`` (n, V): the weights, a column a variable; ``functions``: of each variable.
    Confidential.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> weights = rw.centred_weights("mix+(t=0.5)", data, scenario)
    >>> float(weights.alpha["income"].min()) >= 0.5
    True
    """

    alpha: pd.DataFrame = field(repr=False)
    functions: Mapping[str, OwnFunction] = field(repr=False)

    def _repr_html_(self) -> str:
        means = {
            f"mean weight of {name}": float(column.mean()) for name, column in self.alpha.items()
        }
        note = (
            "alpha holds the weight of each record, functions what it would be with another "
            "value. Confidential."
        )
        return html_repr("Centred weights", facts={"records": len(self.alpha), **means}, note=note)

    def __post_init__(self) -> None:
        if not isinstance(self.functions, Mapping):
            raise InputError(
                "centred weights take a function of a record's own value for each variable, got "
                f"{type(self.functions).__name__}: "
                "rw.centred_weights makes them"
            )


class Intervals(NamedTuple):
    """Disjoint intervals (G,) that a value lies in, on the scale of a model's numbers, and the
    ``kind`` of value of each, 0, ..., S - 1.
    """

    lower: np.ndarray
    upper: np.ndarray
    kind: np.ndarray

    def of(self, y: np.ndarray) -> np.ndarray:
        """The interval of every value, (n,); -1 for none."""
        place = np.full(len(y), -1)
        for number, (low, high) in reversed(
            list(enumerate(zip(self.lower, self.upper, strict=True)))
        ):
            place[(low <= y) & (y <= high)] = number
        return place

    def kind_of(self, y: np.ndarray) -> np.ndarray:
        """The kind of every value, (n,): where it lies beyond bounds that were found, in no
        interval, that of the nearest one.
        """
        place = self.of(y)
        for outside in np.flatnonzero(place < 0):
            place[outside] = np.nan_to_num(
                np.maximum(self.lower - y[outside], y[outside] - self.upper)
            ).argmin()
        return np.asarray(self.kind[place])


@dataclass(frozen=True, eq=False)
class Centring:
    """What is taken off the pseudo posterior of one model, n records. Confidential.

    ``intervals``; ``inside``: from records (R,) to the mean weight that each would get in every
    interval, (R, G); ``own`` (n,): the kind of each record's value; ``kinds`` (n, S): the weight of
    each record's kind of value by what it might be, None where there is one kind; ``survey`` (n,):
    what all is multiplied by; ``label``: what tells it from another of the same data and weights.
    """

    intervals: Intervals
    inside: Callable[[np.ndarray], np.ndarray] = field(repr=False)
    own: np.ndarray = field(repr=False)
    kinds: np.ndarray | None = field(repr=False)
    survey: np.ndarray = field(repr=False)
    label: str

    @property
    def n(self) -> int:
        """Records."""
        return len(self.own)

    @property
    def of_kinds(self) -> np.ndarray:
        """What enters the likelihood of the kind of value, (n,); InputError where there is one
        kind.
        """
        if self.kinds is None:
            raise InputError("there is one kind of value")
        return np.asarray(self.survey * self.kinds[np.arange(self.n), self.own])

    def of_kind(self, kind: int) -> "Centring":
        """That of the values of one kind, given that a value is of it, by intervals of this kind
        alone.
        """
        there, inside = self.intervals.kind == kind, self.inside
        intervals = Intervals(
            self.intervals.lower[there],
            self.intervals.upper[there],
            np.zeros(int(there.sum()), dtype=int),
        )
        own = np.where(self.own == kind, 0, -1)
        return Centring(
            intervals,
            lambda records: inside(records)[:, there],
            own,
            None,
            self.survey,
            f"{self.label} {kind}",
        )

    def weights(self, records: np.ndarray) -> np.ndarray:
        """Mean weights of some records in the intervals of their own kind of value, (R, G); 0 in
        the others.
        """
        there = self.own[records, None] == self.intervals.kind
        return np.where(there, self.inside(records) * self.survey[records, None], 0.0)

    def sums(self, which: np.ndarray, designs: int) -> np.ndarray:
        """Sums of `weights` over the records of each of so many designs, of which `which` (n,) is
        each record's, (designs, G).
        """
        sums = np.zeros((designs, len(self.intervals.lower)))
        for records in self.chunks():
            np.add.at(sums, which[records], self.weights(records))
        return sums

    def sums_of_kinds(self, which: np.ndarray, designs: int) -> np.ndarray:
        """The same of the weights of kinds, (S, designs)."""
        assert self.kinds is not None
        return np.array(
            [
                np.bincount(which, weights=self.survey * of_kind, minlength=designs)
                for of_kind in self.kinds.T
            ]
        )

    def chunks(self) -> Iterator[np.ndarray]:
        """The records, some at a time."""
        step = max(1, _ROOM // max(len(self.intervals.lower), 1))
        return (np.arange(begin, min(begin + step, self.n)) for begin in range(0, self.n, step))
