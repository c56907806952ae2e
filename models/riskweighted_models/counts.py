"""Continuation-ratio logits for numbers of few values, counts above all (METHODS section 12)."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import holds_numbers, kind_of_values
from riskweighted_models.level_model import Levelled
from riskweighted_models.ordinal import ContinuationRatio

__all__ = ["CountRatio"]


@dataclass(frozen=True)
class CountRatio(ContinuationRatio):
    """A number that takes one of a list of values v_0 < ... < v_(K - 1), by continuation-ratio
    logits.

    On the raw columns x of the design, centred (METHODS section 5.5)::

        logit P(y_i > v_k | y_i >= v_k) = intercept_k + x_i' (slope + u_k drift), k = 0, ..., K - 2
        intercept_k ~ N(log(K - 1 - k), 2^2)     slope_j ~ N(0, 1)     drift_j ~ N(0, 0.5^2)

    with u_k running evenly from -1 to 1, and no drift where K = 2: what makes a count larger than
    nothing need not make it largest.

    Every value has a share of its own, so zeros, heaps and gaps need no distribution; no other
    value is ever drawn. It suits small counts, scores and ages in half years; whole numbers are
    drawn as such. Each intercept is learned from the records that reach its value, alone: where few
    records hold a value, its share follows the prior, and a count of many values is better served
    by a distribution such as the negative binomial.

    Parameters
    ----------
    formula : str
        ``"cigarettes ~ age + C(sex)"``.
    values : sequence of float, optional
        The numbers that the variable can take, in any order; public. Default: those that occur, so
        that a guarantee needs them.
    """

    kind: ClassVar[str] = "value"

    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is None:
            return
        numbers = isinstance(self.values, (list, tuple, range))
        if not numbers or not all(
            isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(value)
            for value in self.values
        ):
            raise InputError("values must be a list of finite numbers")
        if len(set(self.values)) < max(2, len(self.values)):
            got = f"{len(self.values)}, {len(set(self.values))} of them different"
            raise InputError(f"values must be two or more, each given once; got {got}")
        object.__setattr__(self, "values", _plain(np.sort(np.array(self.values, dtype=float))))

    @property
    def _drifts(self) -> bool:
        return True

    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        if not holds_numbers(column):
            raise InputError(
                f"{self.target!r} must hold numbers for this synthesizer, got "
                f"{kind_of_values(column)}"
            )
        return (
            self.values
            if self.values is not None
            else _plain(np.unique(column.to_numpy(dtype=float)))
        )

    def numbers(self, prepared: Levelled) -> np.ndarray:
        return np.array(prepared.levels, dtype=float)


def _plain(numbers: np.ndarray) -> tuple[float, ...]:
    """Python's numbers, whole where all are."""
    whole = bool((numbers == np.rint(numbers)).all())
    return tuple(int(number) if whole else float(number) for number in numbers)
