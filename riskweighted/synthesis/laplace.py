"""The mode of a log density and the Hessian there: coordinates in which a sampler moves freely, and plug-in parameters."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import linalg, optimize

__all__ = ["at_mode"]

Density: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]

_DIFFERENCE = 1e-4  # step of the differences of gradients
_FLATTEST = 1e-2  # curvature: a parameter that the data say nothing of has its prior's
_TURNS = 3
_NEAR = 0.05  # standard deviations from the mode


def at_mode(density: Density, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where a log density has its mode, and the coordinates in which it is round there.

    Parameters
    ----------
    density : callable
        From a vector (d,) to the log density there and its gradient (d,).
    size : int
        d.

    Returns
    -------
    The mode (d,), and R (d, d) with R R' the inverse of minus the Hessian there: the vector is mode + R w.
    """

    def downhill(vector: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = density(vector)
        return -height, -slope

    mode, curvature = _mode(downhill, np.zeros(size))
    return mode, _root_of_inverse(curvature)


def _mode(downhill: Density, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The minimum of a function with its gradient, and the Hessian there: quasi-Newton first, then in the coordinates of the Hessian."""
    place = optimize.minimize(downhill, start, jac=True, method="L-BFGS-B", options={"maxiter": 300, "maxcor": 30}).x
    curvature = _hessian(downhill, place)
    for _ in range(_TURNS):
        turn = _root_of_inverse(curvature)
        if np.abs(turn.T @ downhill(place)[1]).max() < _NEAR:
            break

        def turned(w: np.ndarray, place: np.ndarray = place, turn: np.ndarray = turn) -> tuple[float, np.ndarray]:
            height, slope = downhill(place + turn @ w)
            return height, turn.T @ slope

        place = place + turn @ optimize.minimize(turned, np.zeros(len(place)), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
        curvature = _hessian(downhill, place)
    return place, curvature


def _hessian(downhill: Density, place: np.ndarray) -> np.ndarray:
    rows = []
    for direction in np.eye(len(place)) * _DIFFERENCE:
        rows.append((downhill(place + direction)[1] - downhill(place - direction)[1]) / (2 * _DIFFERENCE))
    return np.asarray((np.array(rows) + np.array(rows).T) / 2)


def _root_of_inverse(curvature: np.ndarray) -> np.ndarray:
    """R with R R' = inverse of the matrix, whose eigenvalues are taken as no less than a small number."""
    values, vectors = linalg.eigh(curvature)
    return np.asarray(vectors / np.sqrt(np.maximum(values, _FLATTEST)))
