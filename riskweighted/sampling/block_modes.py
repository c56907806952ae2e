"""The mode of a model's pseudo posterior under any weights: parameters in a fraction of a second
where chains take minutes.

It stands in for the posterior while settings of weights are compared; what is released is sampled.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import xarray as xr

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import Centring
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import Blueprint, Density, Draw
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.compilation import CompiledModel
from riskweighted.sampling.convergence import no_diagnostics
from riskweighted.sampling.graphs import PLAIN, unconstrained_value
from riskweighted.sampling.laplace import laplace_draws, laplace_steps, mode_of
from riskweighted.sampling.nuts import graph_density, graph_parameters

__all__ = ["BlockModes", "block_modes"]

_STARTS = 20  # draws of the fit, of which the highest is where the first search begins
_STEP = 0.1  # standard deviations from the mode, of the differences that information is made of


@dataclass(frozen=True, eq=False)
class BlockModes:
    """One model's pseudo posterior as a function of a vector (d,), for any weights. Confidential;
    made by `block_modes`.

    ``fit``: the unweighted one; ``density``: from alpha (n,) and what centring takes off to the log
    density of the vector, with its gradient; ``parameters``: from vectors (S, d) to variables by
    name; ``start`` (d,): a draw of the fit.
    """

    fit: BlockFit = field(repr=False)
    density: Callable[[np.ndarray, Centring | None], Density | None] = field(repr=False)
    parameters: Callable[[np.ndarray], dict[str, np.ndarray]] = field(repr=False)
    start: np.ndarray = field(repr=False)

    def find(
        self, alpha: np.ndarray, near: np.ndarray | None = None, centring: Centring | None = None
    ) -> np.ndarray:
        """The mode (d,) under weights alpha (n,), searched from one that is near; InputError where
        a search ends at no finite density.
        """
        start = self.start if near is None else near
        density = self._density(alpha, centring)
        mode = mode_of(density, len(start), start)
        if not (np.isfinite(mode).all() and np.isfinite(density(mode)[0])):
            raise InputError(
                f"the mode of {type(self.fit.synthesizer).__name__} was not found under some "
                "weights; sample it instead"
            )
        return mode

    def plug_in(
        self, alpha: np.ndarray, mode: np.ndarray, count: int, centring: Centring | None = None
    ) -> BlockFit:
        """A fit whose `count` draws are all the mode, so that only synthetic values vary."""
        theta = self.parameters(mode[None])
        return self._fit(
            alpha,
            centring,
            {
                name: np.broadcast_to(value, (count, *value.shape[1:]))
                for name, value in theta.items()
            },
        )

    def laplace(
        self,
        alpha: np.ndarray,
        mode: np.ndarray,
        count: int,
        rng: np.random.Generator,
        centring: Centring | None = None,
    ) -> BlockFit:
        """A fit of `count` draws from the normal approximation at the mode."""
        vectors = laplace_draws(self._density(alpha, centring), len(mode), count, rng, mode)
        return self._fit(alpha, centring, self.parameters(vectors))

    def information(
        self, alpha: np.ndarray, mode: np.ndarray, centring: Centring | None = None
    ) -> np.ndarray:
        """The information of each record (n,), half the variance of what it adds to the log
        posterior, which counts as straight in the normal approximation at the mode. NaN where that
        is no number.

        Draws of the approximation lie far from the mode in many dimensions, where the log density
        of a record that stands out is not straight, and one such draw decides a variance: over 200
        draws of 131 parameters the largest information was .26, .51 and .72 by three seeds, where
        chains give .23.
        """
        steps = laplace_steps(self._density(alpha, centring), len(mode), _STEP, mode)
        fit = self._fit(alpha, centring, self.parameters(steps.reshape(-1, len(mode))))
        squares = np.zeros(len(alpha))
        for place in range(0, 2 * len(mode), 2):
            with np.errstate(invalid="ignore"):
                change = fit.contributions(fit.draw(0, place)) - fit.contributions(
                    fit.draw(0, place + 1)
                )
            squares += (change / (2 * _STEP)) ** 2
        return np.where(np.isfinite(squares), squares / 2, np.nan)

    def _density(self, alpha: np.ndarray, centring: Centring | None) -> Density:
        density = self.density(self._weights(alpha), centring)
        if density is None:
            name = type(self.fit.synthesizer).__name__
            raise InputError(
                f"{name} is centred in its graph alone, where settings cannot be compared at the "
                "mode; tune an uncentred family"
            )
        return density

    def _weights(self, alpha: np.ndarray) -> np.ndarray:
        """What enters the likelihood, (n,): alpha, times the survey weights if there are any."""
        survey = self.fit.survey
        return alpha if survey is None else alpha * survey.to_numpy()

    def _fit(self, alpha: np.ndarray, centring: Centring | None, draws: Draw) -> BlockFit:
        """A fit of one chain."""
        variables = {
            name: (
                ("chain", "draw", *(f"{name}_{axis}" for axis in range(values.ndim - 1))),
                values[None],
            )
            for name, values in draws.items()
        }
        weights = pd.Series(alpha, self.fit.alpha.index, name="alpha")
        made = {
            "alpha": weights,
            "posterior": xr.Dataset(variables),
            "diagnostics": no_diagnostics(),
            "centring": centring,
        }
        return replace(self.fit, **made, random_seed=None)


def block_modes(model: CompiledModel, fit: BlockFit) -> BlockModes:
    """The pseudo posterior of a compiled model, and where to begin: the draw of its unweighted fit
    of highest density.
    """
    blueprint = model.blueprint
    if blueprint is None:
        raise InputError(
            f"{type(model.model.synthesizer).__name__} estimates nothing: no weights act on it"
        )
    if blueprint.of_vector is not None:
        layout, density = layout_of(blueprint), blueprint.weighted
        parameters: Callable[[np.ndarray], dict[str, np.ndarray]] = layout.parameters
        vectors = [layout.vector(theta) for theta in _spread(fit)]
    else:
        # The coordinates are held: a vector then says the same under every alpha.
        held = (
            {}
            if blueprint.geometry is None
            else blueprint.geometry(np.ones(len(model.model.confidential)))
        )
        compiled = model.compiled.with_data(**held)
        density = partial(_weighted, compiled, blueprint.weigh)
        parameters = graph_parameters(compiled)
        vectors = _unconstrained(blueprint, held, _spread(fit))
    unweighted = density(fit.weights.to_numpy(), None)
    assert unweighted is not None
    return BlockModes(
        fit, density, parameters, max(vectors, key=lambda vector: unweighted(vector)[0])
    )


def _spread(fit: BlockFit) -> list[dict[str, np.ndarray]]:
    """Some draws of a fit."""
    sizes = fit.posterior.sizes
    places = spread_draws(
        sizes["chain"], sizes["draw"], min(_STARTS, sizes["chain"] * sizes["draw"])
    )
    return [fit.draw(*place) for place in places]


def _weighted(
    compiled: Any,
    weigh: Callable[[np.ndarray], dict[str, np.ndarray]],
    alpha: np.ndarray,
    centring: Centring | None,
) -> Density | None:
    """The density of a compiled PyMC model under weights alpha (n,); None of centred ones, of whose
    term it knows nothing.
    """
    return None if centring is not None else graph_density(compiled.with_data(**weigh(alpha)))


def _unconstrained(
    blueprint: Blueprint, held: Draw, thetas: list[dict[str, np.ndarray]]
) -> list[np.ndarray]:
    """Draws of a PyMC model as its unconstrained vectors, in the coordinates of `held`."""
    model = blueprint.model
    outputs = [unconstrained_value(model, variable) for variable in model.free_RVs]
    givens = {
        variable: pt.constant(held[variable.name])
        for variable in model.data_vars
        if variable.name in held
    }
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(
            model.free_RVs,
            outputs,
            givens=givens,
            mode=PLAIN,
            on_unused_input="ignore",
            allow_input_downcast=True,
        )
    names = [str(variable.name) for variable in model.free_RVs]
    return [
        np.concatenate([np.ravel(part) for part in function(*(theta[name] for name in names))])
        for theta in thetas
    ]
