"""Predictors as they were recorded: the columns on which the priors of slopes stand (METHODS section 5.5)."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from riskweighted.synthesis.design import Design

__all__ = ["RawColumns", "raw_columns", "ridge_turn"]


class RawColumns(NamedTuple):
    """``columns`` (n, p): the model matrix without its intercept, centred and divided by ``unit`` (p,).

    The unit of a column that holds only 0 and 1 in the confidential data is 1; that of any other is its standard deviation
    there. A slope b_j ~ N(0, 1) on a column is thus an effect of the order of one standard deviation of the response between two
    levels, or over one standard deviation of a numeric predictor, however rare a level is.
    """

    columns: np.ndarray
    unit: np.ndarray

    def at(self, design: Design) -> "RawColumns":
        """The rows of another frame, whose design is ``Design.at`` of it: the confidential centre and unit."""
        return self._replace(columns=design.centred / self.unit)


def raw_columns(design: Design) -> RawColumns:
    """The raw columns of a design that `build_design` made of the confidential data."""
    recorded = design.centred + design.centre
    binary = (np.minimum(np.abs(recorded), np.abs(recorded - 1.0)) <= 1e-9).all(axis=0)
    unit = np.where(binary, 1.0, np.sqrt((design.centred**2).mean(axis=0)))
    return RawColumns(design.centred / unit, unit)


def ridge_turn(columns: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """R (p, p), upper triangular, with R R' = (X' diag(alpha) X + I)^-1: a normal posterior of slopes with N(0, I) priors is round in R w.

    Parameters
    ----------
    columns : array (n, p)
        X.
    alpha : array (n,), in units of the residual variance
    """
    precision = columns.T @ (alpha[:, None] * columns) + np.eye(columns.shape[1])
    lower = linalg.cholesky(precision, lower=True)
    return np.asarray(linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).T)
