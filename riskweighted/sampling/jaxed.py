"""The engine "jax": the log density that is sampled, and its gradient, as JAX computes them, on the device that it finds.

It follows the graph of the PyMC model, of all records as they are, and the layout of the vector. Modes, coordinates and chains stay
those of any other density.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
from pytensor.graph.fg import FunctionGraph

from riskweighted.common.errors import InputError
from riskweighted.common.extras import optional
from riskweighted.contract.layout import layout_of
from riskweighted.contract.synthesizer import Blueprint, Density, Synthesizer
from riskweighted.sampling.agreement import log_posterior_graph
from riskweighted.sampling.laplace import Independent, Offering, Scaled
from riskweighted.sampling.settings import AUTO, JAX, NUTS

__all__ = ["check_jax", "jax_density"]


def check_jax(synthesizer: Synthesizer, blueprint: Blueprint | None, guaranteed: bool) -> None:
    """Refuse the engine "jax" where there is no density of one vector, a guarantee samples another one, or JAX is not installed.

    Raises
    ------
    InputError
    """
    lacking = blueprint is None or blueprint.of_vector is None or not hasattr(layout_of(blueprint), "variables")
    if lacking or guaranteed:
        why = f"{type(synthesizer).__name__} has no density of one vector" if lacking else "a guarantee censors the model"
        raise InputError(f"engine = {JAX!r} is not possible: {why}; valid are {AUTO!r} and {NUTS!r}")
    optional("jax", f"engine = {JAX!r}")


def jax_density(blueprint: Blueprint) -> Callable[[np.ndarray], Density]:
    """What `Blueprint.of_vector` gives, from alpha (n,) to a density of one vector, as JAX computes it; compiled once for all alpha."""
    given, whole = blueprint.of_vector, _compiled(blueprint)
    assert given is not None

    return lambda alpha: _offered(given(alpha), whole(alpha))


def _offered(given: Density, density: Density) -> Density:
    """`density` with the form of the one that is given for the same posterior: independent parts, a scale, places to begin."""
    if isinstance(given, Independent):
        ends = np.cumsum([size for size, _ in given.parts]).tolist()
        places = [slice(end - size, end) for (size, _), end in zip(given.parts, ends, strict=True)]
        parts = zip(given.parts, places, strict=True)
        return Independent(tuple((size, _offered(own, _part(density, place, ends[-1]))) for (size, own), place in parts))
    starts, rough = getattr(given, "starts", None), getattr(given, "rough", None)
    if isinstance(given, Scaled):
        return Scaled(density, given.log_scale, given.scaled, given.unit, starts, rough)
    return Offering(density, starts, rough)


def _part(density: Density, place: slice, size: int) -> Density:
    """The log density as a function of one independent part of its vector; the others stay at 0."""

    def part(vector: np.ndarray) -> tuple[float, np.ndarray]:
        joint = np.zeros(size)
        joint[place] = vector
        height, gradient = density(joint)
        return height, gradient[place]

    return part


def _compiled(blueprint: Blueprint) -> Callable[[np.ndarray], Density]:
    """From alpha (n,) to the density of the whole vector."""
    import jax
    from pytensor.link.jax.dispatch import jax_funcify

    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    layout, names = layout_of(blueprint), [str(variable.name) for variable in blueprint.model.free_RVs]
    inputs, posterior = log_posterior_graph(blueprint)
    with pytensor.config.change_flags(cxx=""), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that checks of what a prior is given, which hold, are left out
        graph = FunctionGraph(inputs, [posterior], clone=False)
        pytensor.compile.mode.JAX.optimizer.rewrite(graph)
        follow: Any = jax_funcify(graph)

    def height(vector: Any, values: tuple[Any, ...]) -> Any:
        vectors = vector[None]
        variables = layout.variables(vectors)
        return follow(*(variables[name][0] for name in names), *values)[0] + layout.log_jacobian(vectors)[0]

    compute = jax.jit(jax.value_and_grad(height))
    fixed = {str(variable.name): variable.get_value() for variable in blueprint.model.data_vars}

    def weighted(alpha: np.ndarray) -> Density:
        values = tuple(jax.device_put(value) for value in (fixed | blueprint.weigh(alpha)).values())

        def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
            found, gradient = compute(vector, values)
            return float(found), np.array(gradient)

        return density

    return weighted
