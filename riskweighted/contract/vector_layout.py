"""From the vector that a density is a function of to the variables of its model, and back."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from riskweighted.contract.synthesizer import Blueprint, Draw, Layout, Prepared, Synthesizer

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["EndToEnd", "Joined", "as_posterior", "free_shapes", "layout_of", "n_parameters"]


def free_shapes(model: "pm.Model") -> dict[str, tuple[int, ...]]:
    """Shape of every free variable, in the model's order; a function is compiled only where the
    graph does not say them.
    """
    values = {str(variable.name): model.rvs_to_values[variable] for variable in model.free_RVs}
    shapes = {name: tuple(value.type.shape) for name, value in values.items()}
    if any(size is None for shape in shapes.values() for size in shape):
        start = model.initial_point()
        return {name: np.shape(start[str(value.name)]) for name, value in values.items()}
    return shapes


def n_parameters(synthesizer: Synthesizer, prepared: Prepared) -> int:
    """How many parameters a model has, which it may say before it is built; 0 if it estimates
    nothing.
    """
    told = getattr(synthesizer, "n_parameters", None)
    if told is not None:
        return int(told(prepared))
    blueprint = synthesizer.build(prepared)
    return 0 if blueprint is None else EndToEnd(free_shapes(blueprint.model)).size


@dataclass(frozen=True)
class EndToEnd:
    """The variables themselves, laid end to end: none of them is bounded."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        return sum(map(math.prod, self.shapes.values()))

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        parts = _split(vectors, [math.prod(shape) for shape in self.shapes.values()])
        return {
            name: part.reshape(-1, *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def vector(self, theta: Draw) -> np.ndarray:
        return np.concatenate([np.ravel(theta[name]) for name in self.shapes])

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        return np.zeros(len(vectors))


@dataclass(frozen=True)
class Joined:
    """Layouts side by side, the names of each with a prefix of its own."""

    parts: tuple[tuple[str, Layout], ...]

    @property
    def size(self) -> int:
        return sum(layout.size for _, layout in self.parts)

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        parts = zip(self.parts, self._split(vectors), strict=True)
        return {
            prefix + name: values
            for (prefix, layout), part in parts
            for name, values in layout.parameters(part).items()
        }

    def vector(self, theta: Draw) -> np.ndarray:
        named = [
            layout.vector(
                {
                    name.removeprefix(prefix): value
                    for name, value in theta.items()
                    if name.startswith(prefix)
                }
            )
            for prefix, layout in self.parts
        ]
        return np.concatenate(named)

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        parts = zip(self.parts, self._split(vectors), strict=True)
        return sum(
            (layout.log_jacobian(part) for (_, layout), part in parts), np.zeros(len(vectors))
        )

    def _split(self, vectors: np.ndarray) -> list[np.ndarray]:
        return _split(vectors, [layout.size for _, layout in self.parts])


def _split(vectors: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    """The columns of vectors (S, d), so many at a time."""
    ends = np.cumsum(sizes).tolist()
    return [vectors[:, end - size : end] for size, end in zip(sizes, ends, strict=True)]


def layout_of(blueprint: Blueprint) -> Layout:
    """The blueprint's own, or its free variables end to end."""
    return EndToEnd(free_shapes(blueprint.model)) if blueprint.layout is None else blueprint.layout


def as_posterior(layout: Layout, vectors: np.ndarray) -> xr.Dataset:
    """Vectors (chains, draws, d) as the variables that they stand for, named as nutpie names
    them.
    """
    chains, draws, size = vectors.shape
    variables = {}
    for name, values in layout.parameters(vectors.reshape(-1, size)).items():
        axes = [f"{name}_dim_{axis}" for axis in range(values.ndim - 1)]
        variables[name] = (
            ("chain", "draw", *axes),
            values.reshape(chains, draws, *values.shape[1:]),
        )
    posterior = xr.Dataset(variables)
    return posterior.assign_coords(
        {str(name): np.arange(size) for name, size in posterior.sizes.items()}
    )
