"""Scales on which a sensitive variable is modelled; balls and utility stay on its original
scale.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.numbers import exactly

__all__ = ["TRANSFORMS", "Transform"]

Function = Callable[[np.ndarray, float], np.ndarray]

# name: (forward, inverse, what values the forward direction needs, default constant c)
TRANSFORMS: dict[
    str, tuple[Function, Function, Callable[[np.ndarray, float], np.ndarray], float | None]
] = {
    "identity": (lambda y, c: y, lambda z, c: z, lambda y, c: np.isfinite(y), 0.0),
    "log": (lambda y, c: np.log(y), lambda z, c: np.exp(z), lambda y, c: y > 0, 0.0),
    "shifted-log": (
        lambda y, c: np.log(y + c),
        lambda z, c: np.exp(z) - c,
        lambda y, c: y + c > 0,
        None,
    ),
    "asinh": (
        lambda y, c: np.arcsinh(y / c),
        lambda z, c: c * np.sinh(z),
        lambda y, c: np.isfinite(y),
        1.0,
    ),
    "signed-log": (
        lambda y, c: np.sign(y) * np.log1p(np.abs(y) / c),
        lambda z, c: np.sign(z) * c * np.expm1(np.abs(z)),
        lambda y, c: np.isfinite(y),
        1.0,
    ),
}


@dataclass(frozen=True)
class Transform:
    """A transform is a monotone change of scale of the sensitive variable y.

    Parameters
    ----------
    name : {"identity", "log", "shifted-log", "asinh", "signed-log"}
        y; log(y); log(y + c); arcsinh(y / c); sign(y) log(1 + abs(y) / c).
    constant : float, optional
        c, in the units of y. "shifted-log" has no default: a shift taken from the smallest value
        would disclose it.

    Examples
    --------
    >>> scale = rw.Transform("signed-log", 100.0)
    >>> scale.forward(np.array([-100.0, 0.0, 100.0]), "income").round(3).tolist()
    [-0.693, 0.0, 0.693]
    """

    name: str
    constant: float | None = None

    def __post_init__(self) -> None:
        if self.name not in TRANSFORMS:
            raise InputError(f"unknown transform {self.name!r}; valid are {listing(TRANSFORMS)}")
        if self.constant is not None and not is_number(self.constant):
            raise InputError(
                f"transform {self.name!r}: transform_constant must be a finite number, got "
                f"{self.constant!r}"
            )
        if math.isnan(self._constant):
            raise InputError(
                "transform 'shifted-log' needs transform_constant: a number that makes every "
                "value positive"
            )
        if self.name in ("asinh", "signed-log") and not self._constant > 0:
            raise InputError(
                f"transform {self.name!r} needs a positive transform_constant, got "
                f"{self.constant!r}"
            )

    @property
    def _constant(self) -> float:
        default = TRANSFORMS[self.name][3] if self.constant is None else self.constant
        return math.nan if default is None else float(default)

    def forward(self, values: np.ndarray, variable: str) -> np.ndarray:
        """From the original scale to the model's; refuses values outside the domain, counting
        them.
        """
        function, _, valid, _ = TRANSFORMS[self.name]
        infinite = int((~np.isfinite(values)).sum())
        if infinite:
            raise InputError(
                f"transform {self.name!r}: {variable!r} is missing or infinite in {infinite} of "
                f"{len(values)} records"
            )
        bad = int((~valid(values, self._constant)).sum())
        if bad:
            others = (
                "'shifted-log', 'asinh' or 'signed-log'"
                if self.name == "log"
                else "a larger transform_constant"
            )
            raise InputError(
                f"transform {self.name!r} needs positive values of {variable!r}: {bad} of "
                f"{len(values)} records "
                f"are zero or negative; use {others}"
            )
        return function(values, self._constant)

    def words(self, variable: str) -> str:
        """The modelled number of a variable, as a phrase; "" where it is the variable itself."""
        c, of_unit = exactly(self._constant), variable
        if self._constant != 1:
            of_unit = f"{variable} / {c}"
        return {
            "identity": "",
            "log": f"the logarithm of {variable}",
            "shifted-log": f"the logarithm of {variable} + {c}",
            "asinh": f"arcsinh({of_unit})",
            "signed-log": f"the logarithm of 1 + abs({of_unit}), with the sign of {variable}",
        }[self.name]

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """From the model's scale back to the original one."""
        with np.errstate(over="ignore"):
            return TRANSFORMS[self.name][1](values, self._constant)

    def bound(self, values: np.ndarray) -> np.ndarray:
        """Ends of intervals, from the original scale to the model's: those below the domain go to
        -inf, +-inf stay.
        """
        function, _, valid, _ = TRANSFORMS[self.name]
        values = np.asarray(values, dtype=float)
        missing = int(np.isnan(values).sum())
        if missing:
            raise InputError(
                f"bounds of intervals must be numbers, infinite ones included: {missing} of "
                f"{values.size} are missing"
            )
        inside = valid(values, self._constant) & np.isfinite(values)
        mapped = np.where(np.isposinf(values), np.inf, -np.inf)
        mapped[inside] = function(values[inside], self._constant)
        return mapped
