"""Top-coding, the practice that S003 compares with: values above a bound are set to it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.synthesis.contract import Draw
from riskweighted.synthesis.design import response_name, response_values

__all__ = ["TopCoding"]


@dataclass(frozen=True)
class TopCoding:
    """Values above a bound are set to the bound; all others are released unaltered. Weights play no part.

    Parameters
    ----------
    formula : str
        ``"income ~ 1"``: only the response is used.
    quantile : float, default 0.97
        The bound is this quantile of the confidential values (linear interpolation) ...
    value : float, optional
        ... or this constant, in the units of the response.
    """

    formula: str
    quantile: float = 0.97
    value: float | None = None

    def __post_init__(self) -> None:
        response_name(self.formula)
        if not (is_number(self.quantile) and 0 < self.quantile < 1):
            raise InputError(f"quantile must lie between 0 and 1, got {self.quantile!r}")
        if self.value is not None and not is_number(self.value):
            raise InputError(f"value must be a finite number, got {self.value!r}")

    @property
    def target(self) -> str:
        """The top-coded column."""
        return response_name(self.formula)

    def prepare(self, data: pd.DataFrame) -> np.ndarray:
        """The top-coded values, (n,)."""
        values = response_values(self.formula, data)
        bound = np.quantile(values, self.quantile) if self.value is None else self.value
        return np.minimum(values, bound)

    def build(self, prepared: np.ndarray) -> None:
        """Nothing to estimate."""

    def log_likelihood(self, theta: Draw, prepared: np.ndarray) -> np.ndarray:
        """Top-coding is not a probability model."""
        raise InputError("top-coding has no likelihood")

    def draw(self, theta: Draw, prepared: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The top-coded values, the same every time."""
        return prepared.copy()
