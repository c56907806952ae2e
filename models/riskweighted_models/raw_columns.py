"""Predictors as they were recorded: the columns on which the priors of slopes stand (METHODS
section 5.5).
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from riskweighted.design.design import Design
from riskweighted.design.distinct import Distinct, median_of_rows
from riskweighted.design.level_weights import indicators

__all__ = ["RawColumns", "raw_columns", "ridge", "root_of_inverse"]

_SAME = 1e-9  # of the largest number of a column: rounding


class RawColumns(NamedTuple):
    """The model matrix without its intercept, centred and divided by ``unit`` (p,).

    ``distinct``: its different rows (m, p), and which of them each record has, (n,). The unit of a
    column in the confidential data is its standard deviation; where half of the records or more
    hold one number, as an amount that most records do not have is 0, it is the root mean square
    distance of all other records from that number. It is 1 for a column of 0 and t, 0 < t <= 1. A
    slope b_j ~ N(0, 1) on a column is thus an effect of the order of one standard deviation of the
    response between two levels, t times as much where the indicator says so, or over one standard
    deviation of a numeric predictor, however rare a level or an amount is.
    """

    distinct: Distinct
    unit: np.ndarray

    @property
    def with_one(self) -> Distinct:
        """1 and the columns, rows (m, 1 + p)."""
        return self.distinct._replace(
            rows=np.column_stack([np.ones(len(self.distinct.rows)), self.distinct.rows])
        )

    @property
    def columns(self) -> np.ndarray:
        """The rows of the records, (n, p): made anew when asked for, and large for a large file."""
        return np.asarray(self.distinct.spread(self.distinct.rows))

    def at(self, design: Design) -> "RawColumns":
        """The rows of another frame, whose design is ``Design.at`` of it: the confidential centre
        and unit.
        """
        return self._replace(
            distinct=design.distinct._replace(rows=design.distinct.rows / self.unit)
        )


def raw_columns(design: Design) -> RawColumns:
    """The raw columns of a design that `build_design` made of the confidential data."""
    centred, records = design.distinct, design.distinct.counts
    unit = np.sqrt(records @ centred.rows**2 / records.sum())
    for place, column in enumerate(centred.rows.T):
        usual = median_of_rows(column, records)
        others = records * (np.abs(column - usual) > _SAME * np.abs(column).max())
        if others.sum() <= records.sum() / 2:
            unit[place] = np.sqrt(others @ (column - usual) ** 2 / others.sum())
    unit[indicators(centred.rows + design.centre)] = 1.0
    return RawColumns(centred._replace(rows=centred.rows / unit), unit)


def ridge(
    columns: Distinct | np.ndarray, z: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients with N(0, 1) priors in a weighted normal regression: where they lie, for the
    coordinates of a sampler.

    Of columns (n, d), z and alpha (n,): mean (d,), covariance (d, d) and the residual variance
    (with one record's worth of variance 1).
    """
    held = columns if isinstance(columns, Distinct) else Distinct.apart(columns)
    gram, pull = held.gram(held.sums(alpha)), held.sums(alpha * z) @ held.rows
    first = np.linalg.solve(gram + np.eye(len(gram)), pull)
    variance = float(
        (1 + (alpha * (z - held.spread(held.rows @ first)) ** 2).sum()) / (1 + alpha.sum())
    )
    covariance = np.linalg.inv(gram / variance + np.eye(len(gram)))
    return covariance @ pull / variance, covariance, variance


def root_of_inverse(precision: np.ndarray) -> np.ndarray:
    """R (d, d) with R R' = precision^-1: a normal vector of that precision is R w, w ~ N(0, I)."""
    lower = linalg.cholesky(precision, lower=True)
    return np.asarray(linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).T)
