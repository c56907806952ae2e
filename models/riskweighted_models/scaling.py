"""The response of a continuous model: transformed, then put in standard units so that priors need
no units.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import cached_on_arrays
from riskweighted.design.design import Design, build_design, response_values
from riskweighted.design.formulas import response_name
from riskweighted.design.predictor_tables import Tables
from riskweighted.design.transforms import Transform
from riskweighted_models.bounds import Bounds, FoundBoundsMark, check_within, checked_bounds
from riskweighted_models.normal_graphs import GraphParts
from riskweighted_models.normal_parts import NormalParts
from riskweighted_models.raw_columns import RawColumns, raw_columns

__all__ = [
    "OfFormula",
    "ScaledRecords",
    "ScaledResponse",
    "StandardUnits",
    "expected_masses",
    "standard_units",
    "transform_response",
]


@dataclass(frozen=True)
class OfFormula:
    """Base of the models of one variable, ``"response ~ predictors"``."""

    formula: str

    def __post_init__(self) -> None:
        response_name(self.formula)

    @property
    def target(self) -> str:
        return response_name(self.formula)


class ScaledResponse(NamedTuple):
    """``z`` (n,): (transform(y) - location) / scale; the design of the predictors, and its raw
    columns, on which the priors stand.
    """

    z: np.ndarray
    design: Design
    raw: RawColumns
    location: float
    scale: float
    transform: Transform

    def at(self, frame: pd.DataFrame) -> "ScaledResponse":
        """Other rows on the confidential scale, location and design; z is NaN where the frame lacks
        the response.
        """
        design = self.design.at(frame)
        return self._replace(
            z=standard_units(self, design.response(frame)), design=design, raw=self.raw.at(design)
        )

    def from_tables(self, columns: Tables) -> "ScaledResponse":
        """Records of which only the predictors are known, by their model matrix."""
        design = self.design.from_tables(columns)
        return self._replace(
            z=np.full(len(columns), np.nan), design=design, raw=self.raw.at(design)
        )


def transform_response(y: np.ndarray, transform: Transform, formula: str) -> np.ndarray:
    """A response (m,) on the model's scale; NaN where all of it is missing."""
    return y if np.isnan(y).all() else transform.forward(y, response_name(formula))


@cached_on_arrays
def standard_units(prepared: ScaledResponse, y: np.ndarray) -> np.ndarray:
    """A response (m,) in standard units; NaN where all of it is missing."""
    return (
        transform_response(y, prepared.transform, prepared.design.formula) - prepared.location
    ) / prepared.scale


@cached_on_arrays
def _standard_ends(
    prepared: ScaledResponse, lower: np.ndarray, upper: np.ndarray
) -> list[np.ndarray]:
    """Ends of intervals (n,) in standard units."""
    n = len(prepared.raw.distinct.which)
    return [
        (prepared.transform.bound(np.broadcast_to(end, n)) - prepared.location) / prepared.scale
        for end in (lower, upper)
    ]


def expected_masses(
    prepared: ScaledResponse, centring: Centring, rows: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends (G + 1,) of adjoining intervals in standard units, and the weights expected in each by
    the design of each record, (m, G).
    """
    ends = np.append(centring.intervals.lower, centring.intervals.upper[-1])
    return (prepared.transform.bound(ends) - prepared.location) / prepared.scale, centring.sums(
        which, len(rows)
    )


class ScaledRecords(NamedTuple):
    """Responses that are normal, or mixtures of normal distributions, in standard units: see
    `Records`.
    """

    parts: NormalParts | GraphParts
    prepared: ScaledResponse
    support: Bounds | None

    def log_density(self, y: np.ndarray) -> Any:
        """log p(z_i | theta) in standard units, without the bounds of the support."""
        return self.parts.log_density(standard_units(self.prepared, y))

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Any:
        return self.parts.mass(*_standard_ends(self.prepared, lower, upper))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """New responses within the support."""
        assert isinstance(self.parts, NormalParts)
        values = self.prepared.transform.inverse(
            self.prepared.location + self.prepared.scale * self.parts.draw(rng)
        )
        # round-off alone: z is within them
        return values if self.support is None else np.clip(values, *self.support)


@dataclass(frozen=True)
class StandardUnits(OfFormula):
    """Base of the models whose priors stand in standard units of the transformed response.

    Parameters
    ----------
    formula : str
        ``"response ~ predictors"`` (formulaic).
    transform : str
        Scale on which the response is modelled: see `riskweighted.design.transforms.Transform`.
    transform_constant : float, optional
        Its constant, in the units of the response.
    location, scale : float, optional
        Origin and unit of the priors on the transformed scale. Default: mean and standard deviation
        of the transformed confidential response, unweighted. Give both for priors that do not look
        at the data.
    support : (low, high), optional
        Public bounds of the response on its original scale; each may be infinite or None. Draws are
        truncated to them, never clipped, and ``mass`` is that of truncated draws. The likelihood,
        and so the posterior, is the untruncated one. ``(low, high, "found")``: bounds found in the
        data, beyond which a few values lie.
    """

    transform: str = "identity"
    transform_constant: float | None = None
    location: float | None = None
    scale: float | None = None
    support: Bounds | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "support", checked_bounds(self.support))
        Transform(self.transform, self.transform_constant)
        if (self.location is None) != (self.scale is None):
            raise InputError(
                "location and scale go together: give both, or neither to take them from the data"
            )
        if self.scale is not None and not (
            is_number(self.location) and is_number(self.scale) and self.scale > 0
        ):
            raise InputError(
                f"location and scale must be numbers, the scale positive: got {self.location!r} "
                f"and {self.scale!r}"
            )

    def prepare(self, data: pd.DataFrame) -> ScaledResponse:
        """Transform and scale the response, build the design."""
        original = response_values(self.formula, data)
        values = self._transform.forward(original, self.target)
        if self.support is not None:
            check_within(original, self.support, self.target)
        if values.min() == values.max():
            raise InputError(
                f"{self.target!r} is constant in all {len(values)} records: there is nothing to "
                "synthesize"
            )
        location = float(values.mean()) if self.location is None else float(self.location)
        scale = float(values.std()) if self.scale is None else float(self.scale)
        design = build_design(self.formula, data)
        return ScaledResponse(
            (values - location) / scale,
            design,
            raw_columns(design),
            location,
            scale,
            self._transform,
        )

    @property
    def data_dependent(self) -> tuple[str, ...]:
        """Location and scale where they are left to the data, and bounds that were found there."""
        return (
            *(("location", "scale") if self.location is None else ()),
            *(("support",) if isinstance(self.support, FoundBoundsMark) else ()),
        )

    def unbounded(self) -> Self:
        """The same model without public bounds, as its likelihood is."""
        return replace(self, support=None)

    def response(self, prepared: ScaledResponse) -> np.ndarray:
        """The transformed response in standard units, (n,)."""
        return prepared.z

    def from_response(self, responses: np.ndarray, prepared: ScaledResponse) -> np.ndarray:
        """The values on the original scale that stand at these in standard units, (m,)."""
        return np.asarray(
            prepared.transform.inverse(prepared.location + prepared.scale * responses)
        )

    @property
    def _transform(self) -> Transform:
        return Transform(self.transform, self.transform_constant)

    def _bounds(self, prepared: ScaledResponse) -> Bounds | None:
        """The public bounds in standard units."""
        if self.support is None:
            return None
        low, high = (
            self._transform.bound(np.array(self.support)) - prepared.location
        ) / prepared.scale
        return Bounds(float(low), float(high))
