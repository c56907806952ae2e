"""Softmax regression, for an unordered variable (METHODS section 12)."""

from dataclasses import dataclass

import numpy as np
import pytensor.tensor as pt
from scipy import linalg
from scipy.special import log_softmax

from riskweighted.contract.synthesizer import Tensor
from riskweighted_models.categorical import Categorical
from riskweighted_models.level_densities import Softmax
from riskweighted_models.level_model import INTERCEPT_SD, Levelled

__all__ = ["Multinomial"]


@dataclass(frozen=True)
class Multinomial(Categorical):
    """Unordered levels 0, ..., K - 1 by a softmax.

    On the raw columns x of the design, centred (METHODS section 5.5), for any two levels k and l::

        log P(y_i = k) - log P(y_i = l) = intercept_k - intercept_l + x_i' (slope_k - slope_l)
        intercept_k - intercept_l ~ N(0, 2^2)     slope_kj - slope_lj ~ N(0, 1)

    No level is a reference, so the order of levels does not matter, and with two of them this is
    `Logistic`. The coefficients (K - 1) (1 + p) that are sampled are those of orthonormal contrasts
    C of the levels (K, K - 1), which sum to zero: intercept = C a, a ~ N(0, 2) and slope = C b, b ~
    N(0, 1/2).

    Parameters
    ----------
    formula, levels
        See `Categorical`.
    """

    def labels(self, prepared: Levelled) -> dict[str, list[str]]:
        """What each coefficient is called."""
        terms = ["Intercept", *prepared.design.columns]
        return {
            "coefficient": [
                f"contrast {number}: {term}"
                for number in range(1, len(prepared.levels))
                for term in terms
            ]
        }

    def _prior(self, levels: int, predictors: int) -> tuple[np.ndarray, np.ndarray]:
        sd = np.tile(np.concatenate([[INTERCEPT_SD], np.ones(predictors)]) / np.sqrt(2), levels - 1)
        return np.zeros(len(sd)), sd

    def _graph(self, coefficient: Tensor, rows: np.ndarray, levels: int) -> Tensor:
        by_contrast = coefficient.reshape((levels - 1, -1))
        return pt.special.log_softmax(
            pt.as_tensor(_contrasts(levels)) @ by_contrast @ _with_one(rows).T, axis=0
        )

    def _log_probabilities(
        self, coefficient: np.ndarray, rows: np.ndarray, levels: int
    ) -> np.ndarray:
        by_contrast = coefficient.reshape(levels - 1, -1)
        of_contrasts = by_contrast[:, :1] + (rows @ by_contrast[:, 1:].T).T
        return np.asarray(log_softmax(_contrasts(levels) @ of_contrasts, axis=0))

    def _likelihood(self, rows: np.ndarray, weight: np.ndarray) -> Softmax:
        return Softmax(rows, weight, _contrasts(len(weight)))


def _contrasts(levels: int) -> np.ndarray:
    """Orthonormal columns (K, K - 1) that sum to zero."""
    return np.asarray(linalg.helmert(levels).T)


def _with_one(rows: np.ndarray) -> np.ndarray:
    """1 and the predictors, (m, 1 + p)."""
    return np.column_stack([np.ones(len(rows)), rows])
