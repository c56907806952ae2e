"""Logistic regression by Newton's method from sums over a dataset, which parts of it add up to
without rounding, a look at them a step.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from riskweighted.common.exact import ExactSum
from riskweighted.utility.cross_products import CrossProducts, LeastSquares

__all__ = ["MOST_LOG_ODDS", "PRECISE", "STEPS", "LogisticSums", "Point", "advanced", "begun"]

STEPS, PRECISE = 50, 1e-10  # the most steps, and that in log odds below which it has arrived
MOST_LOG_ODDS = 30.0  # beyond, the response is separated and there is no estimate


class Point(NamedTuple):
    """Where Newton's method stands: ``coefficients`` (k,) of the columns that are ``free`` (1 +
    p,), the ``step`` (k,) that led there, and how many of them."""

    free: np.ndarray
    coefficients: np.ndarray
    step: np.ndarray
    steps: int


@dataclass(frozen=True, eq=False)
class LogisticSums:
    """At a point, over complete cases: sums of the products of the columns under the curvature,
    ``information`` (k (k + 1) / 2,), of the columns times the fitted probability, ``fitted`` (k,),
    and the largest log odds, and step in them."""

    information: ExactSum = field(repr=False)
    fitted: ExactSum = field(repr=False)
    log_odds: float
    moved: float

    @classmethod
    def of(cls, rows: np.ndarray, counts: np.ndarray, point: Point) -> "LogisticSums":
        """Of different rows (m, p) of the columns, and how many records have each."""
        columns = np.column_stack([np.ones(len(rows)), rows])[:, point.free].T
        log_odds, moved = (_combined(columns, each) for each in (point.coefficients, point.step))
        mean = expit(log_odds)
        curved = columns * (mean * (1 - mean))
        products = [
            ExactSum.of(curved[place] * columns[place:], counts) for place in range(len(columns))
        ]
        fitted = ExactSum.of(columns * mean, counts)
        return cls(
            ExactSum.together(products),
            fitted,
            float(np.abs(log_odds).max(initial=0.0)),
            float(np.abs(moved).max(initial=0.0)),
        )

    def __add__(self, other: "LogisticSums") -> "LogisticSums":
        largest = max(self.log_odds, other.log_odds), max(self.moved, other.moved)
        return LogisticSums(
            self.information + other.information, self.fitted + other.fitted, *largest
        )


def _combined(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Columns (k, m) summed under weights (k,), in this order, so that a row has the same in
    whatever company it stands.
    """
    total = np.zeros(columns.shape[1])
    for column, weight in zip(columns, weights, strict=True):
        total += weight * column
    return total


def begun(products: CrossProducts) -> Point | None:
    """The first step, from coefficients of zero, which the sums of products tell; None where the
    coefficients are not determined.
    """
    free = products.determined()
    if free is None:
        return None
    gram, response = products.moments(free)
    return _moved(
        Point(free, np.zeros(len(gram)), np.zeros(len(gram)), 0),
        gram / 4,
        response - gram[0] / 2,
        gram,
    )


def advanced(
    products: CrossProducts, point: Point | None, sums: LogisticSums
) -> Point | LeastSquares | None:
    """The next point, the estimates where this is the last one, None where there are none."""
    if (
        point is None
        or not np.isfinite(point.coefficients).all()
        or not sums.log_odds <= MOST_LOG_ODDS
    ):
        return None
    width = len(point.coefficients)
    information = np.empty((width, width))
    upper = np.triu_indices(width)
    information[upper] = information[upper[::-1]] = sums.information.sums
    gram, response = products.moments(point.free)
    if sums.moved < PRECISE:
        scale = np.sqrt(np.diag(gram))
        return LeastSquares(
            point.free,
            point.coefficients,
            np.linalg.inv(information / np.outer(scale, scale)) / np.outer(scale, scale),
            np.inf,
        )
    return (
        None
        if point.steps == STEPS
        else _moved(point, information, response - sums.fitted.sums, gram)
    )


def _moved(
    point: Point, information: np.ndarray, slope: np.ndarray, gram: np.ndarray
) -> Point | None:
    scale = np.sqrt(np.diag(gram))
    try:
        step = np.linalg.solve(information / np.outer(scale, scale), slope / scale) / scale
    except np.linalg.LinAlgError:
        return None
    return Point(point.free, point.coefficients + step, step, point.steps + 1)
