"""Continuation-ratio logits for an ordered variable (METHODS section 12)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytensor.tensor as pt

from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Tensor
from riskweighted_models.categorical import Categorical
from riskweighted_models.continuation import log_probabilities, log_probability_graph, probabilities
from riskweighted_models.kernels.ratios import fill_by_odds, logs_of_own
from riskweighted_models.level_densities import LARGEST, Continuation, places_of
from riskweighted_models.level_model import INTERCEPT_SD, Levelled, LevelModel

__all__ = ["ContinuationRatio", "Ordinal"]

_DRIFT_SD = 0.5


class _Moderate(NamedTuple):
    """The logit of going on from level k: intercepts_k (K - 1,) + shift (m,) + (k width - 1) drift;
    drift is (m,), or (0,) for none.
    """

    intercepts: np.ndarray
    shift: np.ndarray
    drift: np.ndarray
    width: float


@dataclass(frozen=True)
class ContinuationRatio(LevelModel):
    """Base of the models of the logits of going on to a higher level; coefficients: intercepts,
    slopes, and drifts where slopes drift.

    logit P(y > k | y >= k) = intercept_k + x' (slope + u_k drift), u_k running evenly from -1 to 1;
    of two levels there is no drift.
    """

    @property
    def _drifts(self) -> bool:
        """Whether slopes drift."""
        return False

    def labels(self, prepared: Levelled) -> dict[str, list[str]]:
        """What each coefficient is called."""
        columns, levels = prepared.design.columns, prepared.levels
        drifts = [f"drift {name}" for name in columns] if self._drifts and len(levels) > 2 else []
        return {"coefficient": [*(f"above {level}" for level in levels[:-1]), *columns, *drifts]}

    def _prior(self, levels: int, predictors: int) -> tuple[np.ndarray, np.ndarray]:
        # of going on where all levels are equally likely
        guess = np.log(np.arange(levels - 1, 0, -1))
        drifts = predictors * (self._drifts and levels > 2)
        sd = [np.full(levels - 1, INTERCEPT_SD), np.ones(predictors), np.full(drifts, _DRIFT_SD)]
        return np.concatenate([guess, np.zeros(predictors + drifts)]), np.concatenate(sd)

    def _graph(self, coefficient: Tensor, rows: np.ndarray, levels: int) -> Tensor:
        return log_probability_graph(
            -self._logits(coefficient, pt.as_tensor(rows), rows.shape[1], levels), levels
        )

    def _log_probabilities(
        self, coefficient: np.ndarray, rows: np.ndarray, levels: int
    ) -> np.ndarray:
        return log_probabilities(-self._logits(coefficient, rows, rows.shape[1], levels))

    def probabilities(self, coefficient: np.ndarray, rows: np.ndarray, levels: int) -> np.ndarray:
        at = self._moderate(coefficient, rows, levels)
        if at is None:
            return probabilities(-self._logits(coefficient, rows, rows.shape[1], levels))
        shares = np.empty((levels, len(rows)))
        fill_by_odds(
            np.exp(at.shift - at.drift if len(at.drift) else at.shift),
            np.exp(at.width * at.drift),
            np.exp(at.intercepts),
            shares,
        )
        return shares

    def log_probabilities_at(
        self, coefficient: np.ndarray, prepared: Levelled, code: np.ndarray
    ) -> np.ndarray:
        at = self._moderate(coefficient, prepared.rows, len(prepared.levels))
        if at is None:
            return super().log_probabilities_at(coefficient, prepared, code)
        out = np.empty(len(code))
        logs_of_own(
            at.shift, at.drift, at.intercepts, at.width, np.maximum(code, 0), prepared.which, out
        )
        return out

    def _moderate(self, coefficient: np.ndarray, rows: Any, levels: int) -> "_Moderate | None":
        """The parts of the logits of going on, where no exponential of one overflows."""
        p = rows.shape[1]
        intercepts = np.ascontiguousarray(coefficient[: levels - 1])
        slopes = coefficient[levels - 1 :].reshape(-1, p if p else 1)
        effects = np.ascontiguousarray((rows @ slopes.T).T) if p else np.zeros((1, len(rows)))
        drift, width = (effects[1], 2.0 / (levels - 2)) if len(effects) > 1 else (np.empty(0), 0.0)
        largest = sum(np.abs(part).max(initial=0.0) for part in (intercepts, effects[0], drift))
        return _Moderate(intercepts, effects[0], drift, width) if largest < LARGEST else None

    def _logits(self, coefficient: Any, rows: Any, predictors: int, levels: int) -> Any:
        """Of going on, (K - 1, m), in NumPy or a graph."""
        end = levels - 1 + predictors
        common = coefficient[: levels - 1, None] + (rows @ coefficient[levels - 1 : end])[None]
        if not (self._drifts and levels > 2):
            return common
        return common + places_of(levels)[:, None] * (rows @ coefficient[end:])[None]

    def _likelihood(self, rows: np.ndarray, weight: np.ndarray) -> Continuation:
        return Continuation(rows, weight, drifting=self._drifts and len(weight) > 2)


@dataclass(frozen=True)
class Ordinal(ContinuationRatio, Categorical):
    """Ordered levels 0, ..., K - 1 by continuation-ratio logits.

    On the raw columns x of the design, centred (METHODS section 5.5)::

        logit P(y_i > k | y_i >= k) = intercept_k + x_i' slope,    k = 0, ..., K - 2
        intercept_k ~ N(log(K - 1 - k), 2^2)     slope_j ~ N(0, 1)

    The means of the intercepts are those of K equally likely levels. A positive slope makes higher
    levels likelier. Draws depend on the direction of the order: reversed levels are another model.

    Parameters
    ----------
    formula, levels
        See `Categorical`. Without ``levels`` the column must have an ordered categorical dtype, or
        be boolean.
    drift : bool, default False
        Whether slopes change from level to level: slope + u_k drift takes the place of slope, u_k
        running evenly from -1 to 1, drift_j ~ N(0, 0.5^2).
    """

    drift: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.drift, bool):
            raise InputError(f"drift must be true or false, got {self.drift!r}")

    @property
    def _drifts(self) -> bool:
        return self.drift

    def _found_levels(self, column: pd.Series) -> tuple[object, ...]:
        ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
        if not ordered and (
            isinstance(column.dtype, pd.CategoricalDtype)
            or not pd.api.types.is_bool_dtype(column.dtype)
        ):
            raise InputError(
                f"the order of {self.target!r} is not known: give levels from low to high, or an "
                "ordered categorical dtype"
            )
        return super()._found_levels(column)
