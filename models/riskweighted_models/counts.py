"""Continuation-ratio logits for whole numbers (METHODS section 12)."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import holds_numbers, kind_of_values
from riskweighted_models.level_model import Levelled
from riskweighted_models.ordinal import GoingOn

__all__ = ["CountRatio"]


@dataclass(frozen=True)
class CountRatio(GoingOn):
    """A whole number that takes one of a list of values v_0 < ... < v_(K - 1), by continuation-ratio logits.

    On the raw columns x of the design, centred (METHODS section 5.5)::

        logit P(y_i > v_k | y_i >= v_k) = intercept_k + x_i' (slope + u_k drift),    k = 0, ..., K - 2
        intercept_k ~ N(log(K - 1 - k), 2^2)     slope_j ~ N(0, 1)     drift_j ~ N(0, 0.5^2)

    with u_k running evenly from -1 to 1, and no drift where K = 2: what makes a count larger than nothing need not make it largest.

    Every value has a share of its own, so zeros, heaps and gaps need no distribution; no other value is ever drawn. It suits scores and
    small counts. Each intercept is learned from the records that reach its value, alone: where few records hold a value, its share follows
    the prior, and a count of many values is better served by a distribution such as the negative binomial.

    Parameters
    ----------
    formula : str
        ``"cigarettes ~ age + C(sex)"``.
    values : sequence of int, optional
        The whole numbers that the variable can take, in any order; public. Default: those that occur, so that a guarantee needs them.
    """

    kind: ClassVar[str] = "value"

    values: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is None:
            return
        whole = isinstance(self.values, (list, tuple, range))
        if not whole or not all(isinstance(value, Integral) and not isinstance(value, bool) for value in self.values):
            raise InputError("values must be a list of whole numbers")
        if len(set(self.values)) < max(2, len(self.values)):
            got = f"{len(self.values)}, {len(set(self.values))} of them different"
            raise InputError(f"values must be two or more, each given once; got {got}")
        object.__setattr__(self, "values", tuple(sorted(int(value) for value in self.values)))

    @property
    def _drifts(self) -> bool:
        return True

    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        if not holds_numbers(column):
            raise InputError(f"{self.target!r} must hold whole numbers for this synthesizer, got {kind_of_values(column)}")
        numbers = column.to_numpy(dtype=float)
        broken = int((numbers != np.rint(numbers)).sum())
        if broken:
            raise InputError(f"{self.target!r} must hold whole numbers: it does not in {broken} of {len(numbers)} records")
        return self.values if self.values is not None else tuple(int(value) for value in np.unique(numbers))

    def numbers(self, prepared: Levelled) -> np.ndarray:
        return np.array(prepared.levels, dtype=float)
