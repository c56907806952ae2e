"""The intervals over whose masses an expectation is summed, and which values of the file stand for
each (METHODS section 15).
"""

from typing import Any, NamedTuple

import numpy as np

from riskweighted.contract.categories import categories_of
from riskweighted.contract.centring import Intervals
from riskweighted.contract.synthesizer import Synthesizer

__all__ = ["Places", "intervals_of", "places_of", "values_within"]

_MOST = 64  # intervals of a model that names none
_VALUES = 4  # of the file, by which the mean weight in an interval is found


class Places(NamedTuple):
    """Where centring looks at weights: ``intervals``, and ``numbers`` (N,) of the file that stand
    for them, with ``whose`` (N,) each is.
    """

    intervals: Intervals
    numbers: np.ndarray
    whose: np.ndarray


def places_of(synthesizer: Synthesizer, prepared: Any, y: np.ndarray) -> Places:
    """Those of a model and all values (n,) of its file, or its different values: it plays no part
    how many records have one.
    """
    intervals = intervals_of(synthesizer, prepared, y)
    return Places(intervals, *values_within(intervals, y))


def intervals_of(synthesizer: Synthesizer, prepared: Any, y: np.ndarray) -> Intervals:
    """Those that a synthesizer names with ``intervals(prepared)``; else its levels, or about
    equally many of its values (n,) in each.
    """
    named = getattr(synthesizer, "intervals", None)
    if callable(named):
        return Intervals(*map(np.asarray, named(prepared)))
    levels = categories_of(synthesizer, prepared)
    if levels is not None:
        codes = np.arange(len(levels), dtype=float)
        return Intervals(codes, codes, np.zeros(len(levels), dtype=int))
    values = np.unique(y)
    chosen = (
        values[np.unique(np.linspace(0, len(values) - 1, _MOST + 1).round().astype(int))]
        if len(values) > _MOST
        else values
    )
    edges = (chosen[1:] + chosen[:-1]) / 2
    if (values == np.rint(values)).all():
        edges = np.unique(np.floor(edges) + 0.5)
    return Intervals(
        np.append(-np.inf, edges), np.append(edges, np.inf), np.zeros(len(edges) + 1, dtype=int)
    )


def values_within(intervals: Intervals, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some values of the file y (n,) in each interval by even steps of rank, or an end where there
    is none: they, and whose each is.
    """
    place, ordered = intervals.of(y), np.argsort(y, kind="stable")
    values, whose = list[float](), list[int]()
    for number, (low, high) in enumerate(zip(intervals.lower, intervals.upper, strict=True)):
        inside = np.unique(y[ordered[place[ordered] == number]])
        if len(inside) == 0:
            inside = np.array([end for end in (low, high) if np.isfinite(end)][:1])
        steps = (
            np.unique(((np.arange(_VALUES) + 0.5) * len(inside) / _VALUES).astype(int))
            if len(inside) > _VALUES
            else range(len(inside))
        )
        values += [float(inside[step]) for step in steps]
        whose += [number] * len(steps)
    return np.array(values), np.array(whose)
