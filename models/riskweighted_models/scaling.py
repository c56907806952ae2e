"""The response of a continuous model: transformed, then put in standard units so that priors need no units."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.synthesis.design import Design, build_design, response_values
from riskweighted.synthesis.formulas import response_name
from riskweighted.synthesis.transforms import Transform

__all__ = ["ScaledResponse", "StandardUnits", "normal_mass", "transformed"]


class ScaledResponse(NamedTuple):
    """``z`` (n,): (transform(y) - location) / scale; the design of the predictors."""

    z: np.ndarray
    design: Design
    location: float
    scale: float
    transform: Transform

    def at(self, frame: pd.DataFrame) -> "ScaledResponse":
        """Other rows on the confidential scale, location and design; z is NaN where the frame lacks the response."""
        design = self.design.at(frame)
        z = (transformed(design, frame, self.transform) - self.location) / self.scale
        return self._replace(z=z, design=design)


def transformed(design: Design, frame: pd.DataFrame, transform: Transform) -> np.ndarray:
    """The response of a frame on the model's scale, (m,); NaN where the frame has none."""
    name = response_name(design.formula)
    return transform.forward(design.response(frame), name) if name in frame.columns else np.full(len(frame), np.nan)


def normal_mass(lower: np.ndarray, upper: np.ndarray, mean: np.ndarray, sd: np.ndarray | float) -> np.ndarray:
    """P(lower <= z <= upper) for z ~ N(mean, sd): a difference of the tails that are near, so that small masses keep their digits."""
    low, high = (lower - mean) / sd, (upper - mean) / sd
    above = low > 0
    mass: np.ndarray = np.maximum(ndtr(np.where(above, -low, high)) - ndtr(np.where(above, -high, low)), 0.0)
    return mass


@dataclass(frozen=True)
class StandardUnits:
    """Base of the models whose priors stand in standard units of the transformed response.

    Parameters
    ----------
    formula : str
        ``"response ~ predictors"`` (formulaic).
    transform : str
        Scale on which the response is modelled: see `riskweighted.synthesis.transforms.Transform`.
    transform_constant : float, optional
        Its constant, in the units of the response.
    location, scale : float, optional
        Origin and unit of the priors on the transformed scale. Default: mean and standard deviation of the
        transformed confidential response, unweighted. Give both for priors that do not look at the data.
    """

    formula: str
    transform: str = "identity"
    transform_constant: float | None = None
    location: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        response_name(self.formula)
        Transform(self.transform, self.transform_constant)
        if (self.location is None) != (self.scale is None):
            raise InputError("location and scale go together: give both, or neither to take them from the data")
        if self.scale is not None and not (is_number(self.location) and is_number(self.scale) and self.scale > 0):
            raise InputError(f"location and scale must be numbers, the scale positive: got {self.location!r} and {self.scale!r}")

    @property
    def target(self) -> str:
        """The synthesized column."""
        return response_name(self.formula)

    def prepare(self, data: pd.DataFrame) -> ScaledResponse:
        """Transform and scale the response, build the design."""
        values = self._transform.forward(response_values(self.formula, data), self.target)
        if values.min() == values.max():
            raise InputError(f"{self.target!r} is constant in all {len(values)} records: there is nothing to synthesize")
        location = float(values.mean()) if self.location is None else float(self.location)
        scale = float(values.std()) if self.scale is None else float(self.scale)
        return ScaledResponse((values - location) / scale, build_design(self.formula, data), location, scale, self._transform)

    @property
    def _transform(self) -> Transform:
        return Transform(self.transform, self.transform_constant)

    def _standard(self, bounds: np.ndarray | float, prepared: ScaledResponse) -> np.ndarray:
        """Bounds on the original scale in standard units, (n,)."""
        return (self._transform.bound(np.broadcast_to(bounds, prepared.z.shape)) - prepared.location) / prepared.scale

    def _original(self, z: np.ndarray, prepared: ScaledResponse) -> np.ndarray:
        """From standard units back to the original scale."""
        return self._transform.inverse(prepared.location + prepared.scale * z)
