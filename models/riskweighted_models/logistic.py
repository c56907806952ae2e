"""Logistic regression of a binary variable (METHODS section 12)."""

from dataclasses import dataclass

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted_models.categorical import Categorical
from riskweighted_models.ordinal import ContinuationRatio

__all__ = ["Logistic"]


@dataclass(frozen=True)
class Logistic(ContinuationRatio, Categorical):
    """Two levels, of which the second is modelled.

    On the raw columns x of the design, centred (METHODS section 5.5)::

        logit P(y_i = second level) = intercept + x_i' slope
        intercept ~ N(0, 2^2)     slope_j ~ N(0, 1)

    Parameters
    ----------
    formula, levels
        See `Categorical`.
    """

    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        levels = super()._levels_of(column)
        if len(levels) != 2:
            raise InputError(
                f"{self.target!r} has {len(levels)} levels, and a binary variable has two; use "
                "'ordinal' or 'multinomial', "
                "or drop unused categories"
            )
        return levels
