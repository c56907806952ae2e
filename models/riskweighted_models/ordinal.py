"""Continuation-ratio logits with common slopes, for an ordered variable (METHODS section 12)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pytensor.tensor as pt

from riskweighted.common.errors import InputError
from riskweighted_models.categorical import Categorical
from riskweighted_models.continuation import log_probabilities, log_probability_graph
from riskweighted_models.level_densities import Continuation
from riskweighted_models.level_model import INTERCEPT_SD, LevelModel

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

__all__ = ["CommonSlopes", "Ordinal"]

Tensor: TypeAlias = "TensorVariable[Any, Any]"


@dataclass(frozen=True)
class CommonSlopes(LevelModel):
    """Base of the models whose logits of going on to a higher level all have the same slopes; coefficients: intercepts, then slopes."""

    def _prior(self, levels: int, predictors: int) -> tuple[np.ndarray, np.ndarray]:
        guess = np.log(np.arange(levels - 1, 0, -1))  # of going on where all levels are equally likely
        return np.concatenate([guess, np.zeros(predictors)]), np.concatenate([np.full(levels - 1, INTERCEPT_SD), np.ones(predictors)])

    def _graph(self, coefficient: Tensor, rows: np.ndarray, levels: int) -> Tensor:
        going_on = coefficient[: levels - 1, None] + (pt.as_tensor(rows) @ coefficient[levels - 1 :])[None]
        return log_probability_graph(-going_on, levels)

    def _log_probabilities(self, coefficient: np.ndarray, rows: np.ndarray, levels: int) -> np.ndarray:
        return log_probabilities(-(coefficient[: levels - 1, None] + rows @ coefficient[levels - 1 :]))

    def _likelihood(self, rows: np.ndarray, weight: np.ndarray) -> Continuation:
        return Continuation(rows, weight)


@dataclass(frozen=True)
class Ordinal(CommonSlopes, Categorical):
    """Ordered levels 0, ..., K - 1 by continuation-ratio logits.

    On the raw columns x of the design, centred (METHODS section 5.5)::

        logit P(y_i > k | y_i >= k) = intercept_k + x_i' slope,    k = 0, ..., K - 2
        intercept_k ~ N(log(K - 1 - k), 2^2)     slope_j ~ N(0, 1)

    The means of the intercepts are those of K equally likely levels. A positive slope makes higher levels likelier. Draws depend on the
    direction of the order: reversed levels are another model.

    Parameters
    ----------
    formula, levels
        See `Categorical`. Without ``levels`` the column must have an ordered categorical dtype, or be boolean.
    """

    def _found_levels(self, column: pd.Series) -> tuple[object, ...]:
        ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
        if not ordered and (isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_bool_dtype(column.dtype)):
            raise InputError(f"the order of {self.target!r} is not known: give levels from low to high, or an ordered categorical dtype")
        return super()._found_levels(column)
