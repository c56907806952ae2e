"""Coordinates in which a sampler moves freely: a vector of parameters is centre + turn @ w, and
chains move in w.

Centre and turn follow alpha; the posterior of the parameters does not depend on them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from riskweighted.contract.synthesizer import Tensor

__all__ = ["free_normal", "free_vector"]


def free_vector(
    name: str,
    shape: int | tuple[int, ...],
    logp: Callable[[Tensor], Tensor],
    random: Callable[[np.random.Generator], np.ndarray] | None = None,
) -> Tensor:
    """A random vector (d,), or rows of them (..., d), with a prior of one's own, sampled in the
    coordinates w: centre + turn @ w.

    Must be called in a ``pm.Model``, where the ``pm.Data`` ``name_centre`` (d,) and ``name_turn``
    (d, d) hold the coordinates; they begin as 0 and the identity, and `Blueprint.geometry` sets
    them. ``logp``: from vectors (..., d) to their log densities (...); ``random``: one draw (d,)
    from the prior, for calibration; the sampler needs none.
    """
    rows, size = (shape[:-1], shape[-1]) if isinstance(shape, tuple) else ((), shape)
    centre, turn = pm.Data(f"{name}_centre", np.zeros(size)), pm.Data(f"{name}_turn", np.eye(size))

    def density(value: Tensor, centre: Tensor, turn: Tensor) -> Tensor:
        return logp(value)

    def drawn(
        centre: np.ndarray, turn: np.ndarray, rng: np.random.Generator, size: Any = None
    ) -> np.ndarray:
        if random is None:
            raise NotImplementedError(f"{name} has a density alone")
        batch = () if size is None else tuple(np.atleast_1d(size))
        return np.array([random(rng) for _ in range(int(np.prod(batch)))]).reshape(
            *batch, centre.shape[-1]
        )

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
    return free_vector(
        name,
        shape,
        lambda value: -0.5 * (value**2).sum(axis=-1) - constant,
        lambda rng: rng.standard_normal(size),
    )


class _Affine(Transform):  # type: ignore[misc]
    """Between vectors, in the last axis, and their w; centre and turn are the last inputs of the
    random variable.
    """

    name = "coordinates"

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """From w to the vectors."""
        centre, turn = _held(inputs)
        return centre + value @ turn.T

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """From the vectors to w."""
        centre, turn = _held(inputs)
        off = value - centre
        return pt.linalg.solve(turn, off) if off.ndim == 1 else pt.linalg.solve(turn, off.T).T

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """A constant, which no posterior depends on."""
        return pt.zeros_like(value[..., 0])


def _held(inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Centre (d,) and turn (d, d), without the empty axes that PyMC gives the parameters of
    rows.
    """
    centre, turn = inputs[-2:]
    return centre[(0,) * (centre.ndim - 1)], turn[(0,) * (turn.ndim - 2)]
