"""Coordinates in which a sampler moves freely: a vector of parameters is centre + turn @ w, and chains move in w.

Centre and turn follow alpha; the posterior of the parameters does not depend on them.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from scipy import linalg, optimize

from riskweighted.synthesis.agreement import PLAIN

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

__all__ = ["free_normal", "free_vector", "laplace_coordinates"]

Tensor: TypeAlias = "TensorVariable[Any, Any]"

_DIFFERENCE = 1e-4  # step of the differences of gradients
_FLATTEST = 1e-8  # of a Hessian's largest eigenvalue


def free_vector(
    name: str,
    shape: int | tuple[int, ...],
    logp: Callable[[Tensor], Tensor],
    random: Callable[[np.random.Generator], np.ndarray] | None = None,
) -> Tensor:
    """A random vector (d,), or rows of them (..., d), with a prior of one's own, sampled in the coordinates w: centre + turn @ w.

    Must be called in a ``pm.Model``. ``pm.Data`` with the names ``name_centre`` (d,) and ``name_turn`` (d, d) hold the coordinates; they
    begin as 0 and the identity. `Blueprint.geometry` sets them.

    Parameters
    ----------
    name : str
    shape : int or tuple of int
        d, or (..., d) for independent rows, which share their coordinates.
    logp : callable
        From vectors (..., d) to their log densities (...).
    random : callable, optional
        One draw (d,) from the prior, for draws from the prior (calibration); the sampler needs none.
    """
    rows, size = (shape[:-1], shape[-1]) if isinstance(shape, tuple) else ((), shape)
    centre, turn = pm.Data(f"{name}_centre", np.zeros(size)), pm.Data(f"{name}_turn", np.eye(size))

    def density(value: Tensor, centre: Tensor, turn: Tensor) -> Tensor:
        return logp(value)

    def drawn(centre: np.ndarray, turn: np.ndarray, rng: np.random.Generator, size: Any = None) -> np.ndarray:
        if random is None:
            raise NotImplementedError(f"{name} has a density alone")
        batch = () if size is None else tuple(np.atleast_1d(size))
        return np.array([random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, len(centre))

    vector: Tensor = pm.CustomDist(
        name,
        centre,
        turn,
        logp=density,
        random=drawn,
        signature="(n),(n,n)->(n)",
        shape=(*rows, size),
        default_transform=_Affine(),
        initval=np.zeros((*rows, size)),
    )
    return vector


def free_normal(name: str, shape: int | tuple[int, ...]) -> Tensor:
    """A `free_vector`, or rows of them, of independent N(0, 1)."""
    size = shape[-1] if isinstance(shape, tuple) else shape
    constant = 0.5 * size * np.log(2 * np.pi)
    return free_vector(name, shape, lambda value: -0.5 * (value**2).sum(axis=-1) - constant, lambda rng: rng.standard_normal(size))


class _Affine(Transform):  # type: ignore[misc]
    """Between vectors, in the last axis, and their w; centre and turn are the last inputs of the random variable."""

    name = "coordinates"

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """From w to the vectors."""
        centre, turn = _held(inputs)
        vectors: Tensor = centre + value @ turn.T
        return vectors

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """From the vectors to w."""
        centre, turn = _held(inputs)
        off = value - centre
        coordinates: Tensor = pt.linalg.solve(turn, off) if off.ndim == 1 else pt.linalg.solve(turn, off.T).T
        return coordinates

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """A constant, which no posterior depends on."""
        nothing: Tensor = pt.zeros_like(value[..., 0])
        return nothing


def _held(inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Centre (d,) and turn (d, d), without the empty axes that PyMC gives the parameters of rows."""
    centre, turn = inputs[-2:]
    return centre[(0,) * (centre.ndim - 1)], turn[(0,) * (turn.ndim - 2)]


def laplace_coordinates(
    model: pm.Model, weighted_log_likelihood: Tensor, name: str
) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    """Where the weighted posterior of a model with one `free_vector` has its mode, and the turn that makes it round there.

    Parameters
    ----------
    model : pm.Model
        Its only free variable is the vector.
    weighted_log_likelihood : scalar
    name : str
        Of the vector.

    Returns
    -------
    callable
        From the values of the ``pm.Data`` that depend on alpha to those of the two that hold the coordinates:
        the mode (d,), and a root of the inverse of minus the Hessian there (d, d).
    """
    held = {str(variable.name): variable for variable in model.data_vars}
    centre_name, turn_name = (str(held[key].name) for key in held if key.endswith((f"{name}_centre", f"{name}_turn")))
    (value,) = model.value_vars
    (total,) = model.replace_rvs_by_values([weighted_log_likelihood])
    density = model.logp(jacobian=False) + total
    weighed = [key for key in held if key not in (centre_name, turn_name)]
    inputs = {held[key]: held[key].type() for key in weighed}
    size = model.initial_point()[str(value.name)].size
    still = {held[centre_name]: np.zeros(size), held[turn_name]: np.eye(size)}
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(
            [value, *inputs.values()],
            [density, cast(Tensor, pytensor.grad(density, value))],
            givens={**inputs, **still},
            mode=PLAIN,
            on_unused_input="ignore",
        )

    def coordinates(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        def downhill(vector: np.ndarray) -> tuple[float, np.ndarray]:
            height, slope = function(vector, *(np.asarray(values[key], dtype=held[key].dtype) for key in weighed))
            return -float(height), -np.asarray(slope)

        mode, curvature = _mode(downhill, np.zeros(size))
        return {centre_name: mode, turn_name: _root_of_inverse(curvature)}

    return coordinates


def _mode(downhill: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The minimum of a function with its gradient, and the Hessian there: quasi-Newton first, then in the coordinates of the Hessian."""
    place = optimize.minimize(downhill, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "maxcor": 30}).x
    for _ in range(3):
        curvature = _hessian(downhill, place)
        turn = _root_of_inverse(curvature)
        before, slope = downhill(place)
        if np.abs(turn.T @ slope).max() < 0.05:  # standard deviations
            break

        def turned(w: np.ndarray, place: np.ndarray = place, turn: np.ndarray = turn) -> tuple[float, np.ndarray]:
            height, slope = downhill(place + turn @ w)
            return height, turn.T @ slope

        step = optimize.minimize(turned, np.zeros(len(place)), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
        place = place + turn @ step
    return place, _hessian(downhill, place)


def _hessian(downhill: Callable[[np.ndarray], tuple[float, np.ndarray]], place: np.ndarray) -> np.ndarray:
    rows = []
    for direction in np.eye(len(place)) * _DIFFERENCE:
        rows.append((downhill(place + direction)[1] - downhill(place - direction)[1]) / (2 * _DIFFERENCE))
    return np.asarray((np.array(rows) + np.array(rows).T) / 2)


def _root_of_inverse(curvature: np.ndarray) -> np.ndarray:
    """R with R R' = inverse of the matrix, whose eigenvalues are taken as no less than a share of the largest."""
    values, vectors = linalg.eigh(curvature)
    return np.asarray(vectors / np.sqrt(np.maximum(values, _FLATTEST * values[-1])))
