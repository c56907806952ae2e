"""Top-coding, the practice that Hu et al. 2022 compare with: values above a bound are set to it."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Draw
from riskweighted.design.design import response_values
from riskweighted_models.scaling import OfFormula

__all__ = ["TopCoded", "TopCoding"]


class TopCoded(NamedTuple):
    """``values`` (n,): min(y, bound)."""

    values: np.ndarray
    bound: float
    formula: str

    def at(self, frame: pd.DataFrame) -> "TopCoded":
        """Other rows cut at the confidential bound; they need the column, which top-coding changes
        and does not draw.
        """
        return self._replace(
            values=np.minimum(response_values(self.formula, frame, "frame"), self.bound)
        )

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The top-coded values, (n,)."""
        return self.values.copy()


@dataclass(frozen=True)
class TopCoding(OfFormula):
    """Values above a bound are set to the bound; all others are released unaltered. Weights play no
    part.

    Parameters
    ----------
    formula : str
        ``"income ~ 1"``: only the response is used.
    quantile : float, default 0.97
        The bound is this quantile of the confidential values (linear interpolation) ...
    value : float, optional
        ... or this constant, in the units of the response.
    """

    keeps_true_values: ClassVar[bool] = True

    quantile: float = 0.97
    value: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.quantile) and 0 < self.quantile < 1):
            raise InputError(f"quantile must lie between 0 and 1, got {self.quantile!r}")
        if self.value is not None and not is_number(self.value):
            raise InputError(f"value must be a finite number, got {self.value!r}")

    def prepare(self, data: pd.DataFrame) -> TopCoded:
        """The top-coded values and their bound."""
        values = response_values(self.formula, data)
        bound = np.quantile(values, self.quantile) if self.value is None else self.value
        return TopCoded(np.minimum(values, bound), float(bound), self.formula)

    def build(self, prepared: TopCoded) -> None:
        """Nothing to estimate."""

    def distribution(self, theta: Draw, prepared: TopCoded) -> TopCoded:
        """The top-coded values, the same every time: no probability model."""
        return prepared
