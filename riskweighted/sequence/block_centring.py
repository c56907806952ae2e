"""The centring of every block of a sequence, from the weights of its variable as functions of a
record's own value (METHODS section 15).

A block that tells whether a value is of some status looks at statuses alone, and so does its
weight: it is the mean of what the *other* records of the known pattern that have the status would
weigh with it. Given the others it is a function of a record's own status, so that the block is
centred whatever its later blocks say.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import pandas as pd

from riskweighted.contract.categories import categories_of, target_numbers
from riskweighted.contract.centring import Centring, Intervals, OwnFunction
from riskweighted.contract.intervals import Places, places_of
from riskweighted.sequence.blocks import Block, PreparedSequence

__all__ = ["centring_of", "weights_of_status"]

_ROOM = 4_000_000  # numbers that are kept
_OTHERS = 16  # values of others by which the weight of a kind of value is found


def centring_of(
    prepared: PreparedSequence, block: Block, function: OwnFunction, places: Places | None = None
) -> Centring | None:
    """What is taken off the pseudo posterior of a block; None where no record's weight depends on
    its value: it is constant then.

    `places`: those of the whole file, where the records are a part of it.
    """
    model, members = block.model, np.flatnonzero(block.member)
    y = target_numbers(model.synthesizer, model.prepared, model.confidential)
    intervals, numbers, whose = places or places_of(model.synthesizer, model.prepared, y)
    own, kinds = intervals.kind_of(y), None
    column = prepared.confidential[block.variable]
    if block.status is not None:
        outcome = np.nan if block.status.outcome is None else block.status.outcome
        levels = categories_of(model.synthesizer, model.prepared)
        hit = y == (1.0 if levels is None else float(levels.index(True)))
        by_status = np.column_stack(
            [
                _weight_of_kind(
                    function, members, column.iloc[members], ~hit, np.arange(len(members))
                ),
                function.at(members, _values(column, [outcome]))[:, 0],
            ]
        )
        order = np.zeros(2, dtype=int)
        (
            order[0 if levels is None else levels.index(False)],
            order[1 if levels is None else levels.index(True)],
        ) = 0, 1
        inside = partial(_taken, by_status[:, order])
    else:
        levels = categories_of(model.synthesizer, model.prepared)
        asked = _values(
            column, list(numbers) if levels is None else [levels[int(number)] for number in numbers]
        )
        inside = partial(_inside, function, members, asked, whose, len(intervals.lower))
        if intervals.kind.max() > 0:
            kinds = _weights_of_kinds(function, members, column.iloc[members], intervals, own)
    survey = np.ones(len(members)) if model.survey is None else model.survey.to_numpy()
    label = hashlib.sha256(f"{function.label}/{block.name}".encode()).hexdigest()[:24]
    centring = Centring(
        intervals, _once(inside, len(members), len(intervals.lower)), own, kinds, survey, label
    )
    if places is not None:  # of the other parts it may depend
        return centring
    depends = any((weights != weights[:, :1]).any() for weights in map(inside, centring.chunks()))
    return centring if depends or kinds is not None else None


def weights_of_status(block: Block, centring: Centring) -> np.ndarray:
    """The weight of each member's own status, (m,)."""
    model = block.model
    y = target_numbers(model.synthesizer, model.prepared, model.confidential)
    return np.asarray(
        centring.inside(np.arange(centring.n))[np.arange(centring.n), centring.intervals.of(y)]
    )


def _values(column: pd.Series, values: Sequence[object]) -> pd.Series:
    """Values as a column holds them."""
    numbers = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(
        column.dtype
    )
    return pd.Series(values, dtype=float if numbers else object, name=column.name)


def _once(
    inside: Callable[[np.ndarray], np.ndarray], n: int, intervals: int
) -> Callable[[np.ndarray], np.ndarray]:
    """The same, found once where that takes little room."""
    if n * intervals > _ROOM:
        return inside
    found = cache(lambda: inside(np.arange(n)))
    return lambda records: found()[records]


def _taken(weights: np.ndarray, records: np.ndarray) -> np.ndarray:
    return np.asarray(weights[records])


def _inside(
    function: OwnFunction,
    members: np.ndarray,
    values: pd.Series,
    whose: np.ndarray,
    intervals: int,
    records: np.ndarray,
) -> np.ndarray:
    """Mean weights of some members in every interval, by the values that lie in each, (R, G)."""
    begins = np.searchsorted(whose, np.arange(intervals))
    made = function.at(members[records], values)
    counts = np.diff(np.append(begins, len(whose)))
    sums = np.add.reduceat(made, np.minimum(begins, len(whose) - 1), axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), 0.0))


def _weights_of_kinds(
    function: OwnFunction,
    members: np.ndarray,
    column: pd.Series,
    intervals: Intervals,
    own: np.ndarray,
) -> np.ndarray:
    """The weight of each kind of value for each member, (n, S): of a single value its own, else the
    mean over others of that kind.
    """
    weights = np.empty((len(members), int(intervals.kind.max()) + 1))
    for kind in range(weights.shape[1]):
        there = np.flatnonzero(intervals.kind == kind)
        if len(there) == 1 and intervals.lower[there[0]] == intervals.upper[there[0]]:
            weights[:, kind] = function.at(
                members, _values(column, [float(intervals.lower[there[0]])])
            )[:, 0]
        else:
            weights[:, kind] = _weight_of_kind(
                function, members, column, own == kind, np.arange(len(members))
            )
    return weights


def _weight_of_kind(
    function: OwnFunction,
    members: np.ndarray,
    column: pd.Series,
    having: np.ndarray,
    records: np.ndarray,
) -> np.ndarray:
    """The mean over *other* members of the known pattern that have a kind of value of what each
    record would weigh with theirs, (R,).

    Of at most so many others, by even steps of rank; where a pattern has none, of all patterns'.
    """
    pattern, weights = function.pattern[members], np.empty(len(records))
    everywhere = _chosen(np.flatnonzero(having), column)
    for code in np.unique(pattern[records]):
        rows = records[pattern[records] == code]
        chosen = _chosen(np.flatnonzero(having & (pattern == code)), column)
        for some in (chosen, everywhere):
            made = function.at(members[rows], column.iloc[some])
            other = rows[:, None] != some
            count = other.sum(axis=1)
            if (count > 0).all():
                weights[rows] = np.where(other, made, 0.0).sum(axis=1) / count
                break
        else:
            weights[rows] = made.mean(axis=1) if made.shape[1] else 1.0
    return weights


def _chosen(places: np.ndarray, column: pd.Series) -> np.ndarray:
    """At most so many of some places, by even steps of rank."""
    if len(places) <= _OTHERS:
        return places
    values = column.iloc[places]
    ranked = places[
        np.argsort(
            values.to_numpy() if values.dtype != object else pd.factorize(values, sort=False)[0],
            kind="stable",
        )
    ]
    return np.asarray(ranked[((np.arange(_OTHERS) + 0.5) * len(places) / _OTHERS).astype(int)])
