"""What the two finite mixtures share: component weights, and slopes shrunk towards common ones."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Draw, Tensor

__all__ = [
    "check_mixture",
    "component_weights",
    "label_free",
    "slope_priors",
    "slopes_graph",
    "slopes_of",
    "weights_of",
]


def check_mixture(components: int, concentration: float | str, slope_spread: float) -> None:
    """Refuse settings that define no mixture."""
    if not isinstance(components, int) or isinstance(components, bool) or components < 1:
        raise InputError(f"components must be a whole number >= 1, got {components!r}")
    if concentration != "gamma" and not (is_number(concentration) and float(concentration) > 0):
        raise InputError(
            f"concentration must be a positive number or 'gamma', got {concentration!r}"
        )
    if not (is_number(slope_spread) and slope_spread > 0):
        raise InputError(f"slope_spread must be a positive number, got {slope_spread!r}")


def component_weights(components: int, concentration: float | str) -> Tensor:
    """Weights (K,): Dirichlet(c, ..., c), or Dirichlet(a/K, ..., a/K) with a ~ Gamma(1, 1) for
    ``"gamma"``.
    """
    if components == 1:
        return pt.ones(1)
    if concentration == "gamma":
        each = pm.Gamma("total_concentration", 1.0, 1.0) / components * pt.ones(components)
    else:
        each = np.full(components, float(concentration))
    return pm.Dirichlet("weight", each)


def slope_priors(
    components: int,
    predictors: int,
    slope_spread: float,
    normal: Callable[[str, tuple[int, int]], Tensor],
) -> dict[str, Tensor]:
    """tau ~ N+(slope_spread) and delta (K, p) ~ N(0, 1), which `normal` makes by name and shape:
    slopes are common ones + tau delta_k.
    """
    if components == 1:
        return {}
    spread = pm.HalfNormal("slope_spread", slope_spread)
    return {
        "slope_spread": spread,
        "slope_deviation": normal("slope_deviation", (components, predictors)),
    }


def weights_of(theta: Draw) -> np.ndarray:
    """Component weights of one posterior draw, (K,)."""
    return np.asarray(theta.get("weight", np.ones(1)))


def slopes_graph(theta: Mapping[str, Any]) -> Tensor:
    """Component slopes (K, p), or (1, p) that all have, as an expression."""
    common: Tensor = theta["slope"][None, :]
    return (
        common + theta["slope_spread"] * theta["slope_deviation"]
        if "slope_deviation" in theta
        else common
    )


def slopes_of(theta: Draw, components: int) -> np.ndarray:
    """Component slopes of one posterior draw, (K, p)."""
    common = np.asarray(theta.get("slope", np.zeros(0)))
    if "slope_deviation" in theta:
        return np.asarray(common + theta["slope_spread"] * theta["slope_deviation"])
    return np.broadcast_to(common, (components, len(common)))


def label_free(components: int, predictors: int) -> tuple[str, ...]:
    """The parameters that stay what they are when components swap labels: convergence is judged on
    them.
    """
    slopes = ("slope",) if predictors else ()
    return (
        "predictive_mean",
        "predictive_sd",
        *slopes,
        *(("slope_spread",) if predictors and components > 1 else ()),
    )
