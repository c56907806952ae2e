"""Whether a centred posterior has a second mode, in which the model flees from the values that have
weight (METHODS section 15).

What centring takes off is bounded, so that the posterior is proper; but a model that fits badly may
gain by moving its mass to where hardly any weight is.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import optimize

from riskweighted.common.errors import InputError
from riskweighted.contract.synthesizer import Density
from riskweighted.sampling.laplace import (
    Coordinates,
    Independent,
    NonCentredCoordinates,
    ScaleMixtureDensity,
    round_coordinates,
)

__all__ = ["refuse_second_mode"]

_APART = 3.0  # standard deviations between what may be two modes
_SAME = 0.5  # likewise, where two searches have found the same one
_NEGLIGIBLE = 12.0  # of log density: beside a mode that is so much higher another one has 6e-6
_DIP = 2.0  # of log density between two modes, which chains do not cross often enough
_STEPS = 9
_STOP = {"maxiter": 60, "maxcor": 30, "ftol": 1e-9, "gtol": 1e-2}
_WALL = 1e300


def refuse_second_mode(
    name: str, density: Density, unweighted: Density, nothing: Density, size: int
) -> None:
    """InputError where the centred posterior of the model `name` has two modes, neither negligible,
    that are one in the unweighted one.

    Climbed to from the mode of the `unweighted` posterior, from its image beyond that as seen from
    the centred mode, and from where the prior and the centring term alone (`nothing`) lead, all on
    the same vector (size,). Modes that part in the unweighted posterior too, as those of a mixture
    do, are not centring's doing: convergence is judged of them as ever.
    """
    if isinstance(density, Independent):
        assert isinstance(unweighted, Independent)
        assert isinstance(nothing, Independent)
        for (width, part), (_, one), (_, none) in zip(
            density.parts, unweighted.parts, nothing.parts, strict=True
        ):
            refuse_second_mode(name, part, one, none, width)
        return
    coordinates = round_coordinates(density, size)
    origin = np.zeros(size)
    whole = _of(coordinates, unweighted)
    straight, fled = _climbed(whole, origin), _climbed(_of(coordinates, nothing), origin)
    ends = [_climbed(coordinates, start) for start in (straight, 2 * straight - origin, fled)]
    two = _two_of(coordinates, [origin, *ends])
    if (
        two is not None
        and np.linalg.norm(_climbed(whole, two[0]) - _climbed(whole, two[1])) < _SAME
    ):
        raise InputError(
            f"{name}: the centred posterior has two modes: the model flees from the values that "
            "have weight; valid are weights with a "
            "floor, as in 'mix+(t=0.5)', a model that fits (check_fit of the unweighted fit), or "
            "uncentred weights"
        )


def _of(
    coordinates: Coordinates | NonCentredCoordinates, other: Density
) -> Coordinates | NonCentredCoordinates:
    """Another density of the same vector in the same coordinates."""
    if isinstance(coordinates, NonCentredCoordinates):
        assert isinstance(other, ScaleMixtureDensity)
        return replace(coordinates, of=other)
    return replace(coordinates, density=other)


def _climbed(density: Density, start: np.ndarray) -> np.ndarray:
    """Where a search from a place (d,) ends."""

    def downhill(w: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = density(w)
        return (
            (-height, -slope)
            if np.isfinite(height) and np.isfinite(slope).all()
            else (_WALL, np.zeros(len(w)))
        )

    return np.asarray(
        optimize.minimize(downhill, start, jac=True, method="L-BFGS-B", options=_STOP).x
    )


def _two_of(density: Density, places: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Two of some places that lie apart, with lower ground between, neither far below the other."""
    heights = np.array([density(place)[0] for place in places])
    best = int(heights.argmax())
    for place, height in zip(places, heights, strict=True):
        away = place - places[best]
        if height < heights[best] - _NEGLIGIBLE or np.linalg.norm(away) < _APART:
            continue
        between = [
            density(places[best] + share * away)[0] for share in np.linspace(0, 1, _STEPS + 2)[1:-1]
        ]
        if min(between) < height - _DIP:
            return places[best], place
    return None
