"""The mode of a log density and the Hessian there: coordinates in which a sampler moves freely, and plug-in parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import linalg, optimize

__all__ = ["Independent", "at_mode"]

Density: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]

_DIFFERENCE = 1e-4  # step of the differences of gradients
_FLATTEST = 1e-2  # curvature: a parameter that the data say nothing of has its prior's
_TURNS = 6
_NEAR = 0.05  # standard deviations from the mode
_WALL = 1e300  # where a density is no number


@dataclass(frozen=True)
class Independent:
    """A log density of parts that do not depend on each other, side by side: called like any other, and searched part by part.

    ``parts``: size of each, and its density.
    """

    parts: tuple[tuple[int, Density], ...]

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density (sum) and its gradient (d,)."""
        ends = np.cumsum([size for size, _ in self.parts])
        found = [part(vector[end - size : end]) for (size, part), end in zip(self.parts, ends, strict=True)]
        return sum(height for height, _ in found), np.concatenate([gradient for _, gradient in found])


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
    if isinstance(density, Independent):
        found = [at_mode(part, width) for width, part in density.parts]
        return np.concatenate([mode for mode, _ in found]), linalg.block_diag(*(turn for _, turn in found))
    place, turn = np.zeros(size), np.eye(size)
    for _ in range(_TURNS):
        turn = _root_of_inverse(_hessian(density, place))
        if np.abs(turn.T @ density(place)[1]).max() < _NEAR:
            break
        place = place + turn @ _descended(density, place, turn)
    return place, turn


def _descended(density: Density, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """From a place towards the mode, in the coordinates of the Hessian there, (d,)."""

    def downhill(w: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = density(place + turn @ w)
        return (-height, -(turn.T @ slope)) if np.isfinite(height) else (_WALL, np.zeros(len(w)))

    options = {"maxiter": 150, "maxcor": 30, "ftol": 1e-12}
    return np.asarray(optimize.minimize(downhill, np.zeros(len(place)), jac=True, method="L-BFGS-B", options=options).x)


def _hessian(density: Density, place: np.ndarray) -> np.ndarray:
    """Minus the second derivatives, (d, d), from differences of gradients."""
    rows = []
    for direction in np.eye(len(place)) * _DIFFERENCE:
        rows.append((density(place - direction)[1] - density(place + direction)[1]) / (2 * _DIFFERENCE))
    return np.asarray((np.array(rows) + np.array(rows).T) / 2)


def _root_of_inverse(curvature: np.ndarray) -> np.ndarray:
    """R with R R' = inverse of the matrix. Its eigenvalues, of which some are negative away from the mode, count by their size."""
    values, vectors = linalg.eigh(curvature)
    return np.asarray(vectors / np.sqrt(np.maximum(np.abs(values), _FLATTEST)))
