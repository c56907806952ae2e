"""A fit without chains: the draws of `riskweighted.sampling.direct` as those of a posterior."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from riskweighted.common.errors import InputError
from riskweighted.contract.layout import as_posterior, layout_of
from riskweighted.contract.synthesizer import Blueprint, Synthesizer
from riskweighted.sampling.direct import draw_directly, heights_of
from riskweighted.sampling.loo import K_LIMIT
from riskweighted.sampling.settings import AUTO, DIRECT, NUTS, Sampling

__all__ = ["DirectFit", "draw_or_refuse", "not_possible"]


@dataclass(frozen=True, eq=False)
class DirectFit:
    """Draws of the direct engine, accepted.

    Attributes
    ----------
    posterior : xr.Dataset
        By (chain, draw), as chains would leave it.
    log_likelihood : array (chains, draws)
        The log pseudo-likelihood, up to a constant.
    which : array (chains x draws,)
        The number of the proposal that each draw is.
    pareto_k : float
    """

    posterior: xr.Dataset
    log_likelihood: np.ndarray
    which: np.ndarray
    pareto_k: float


def draw_or_refuse(
    synthesizer: Synthesizer, blueprint: Blueprint, alpha: np.ndarray, possible: bool, sampling: Sampling, random_seed: int | None
) -> DirectFit | None:
    """What the direct engine draws under weights alpha (n,); None where chains are to be run.

    Parameters
    ----------
    synthesizer, blueprint
    alpha : array (n,)
    possible : bool
        Whether there is a density to draw from, which is what is to be sampled: a guarantee samples another one.
    sampling : Sampling
    random_seed : int or None

    Raises
    ------
    InputError
        If the engine is "direct", and it is not possible or its draws may not be used.
    """
    name = type(synthesizer).__name__
    if sampling.engine == DIRECT and not possible:
        raise not_possible(synthesizer, blueprint)
    if not possible or sampling.engine == NUTS:
        return None
    assert blueprint.direct is not None
    layout, shape = layout_of(blueprint), (sampling.chains, sampling.draws)
    direct = draw_directly(blueprint.direct(alpha), layout.size, sampling.chains * sampling.draws, np.random.default_rng(random_seed))
    if direct.accepted:
        prior = heights_of(blueprint.direct(np.zeros(len(alpha))), direct.vectors)
        posterior = as_posterior(layout, direct.vectors.reshape(*shape, layout.size))
        return DirectFit(posterior, (direct.heights - prior).reshape(shape), direct.which, direct.pareto_k)
    if sampling.engine == DIRECT:
        raise InputError(
            f"engine = {DIRECT!r} failed for {name}: Pareto k-hat {direct.pareto_k:.2f} (at most {K_LIMIT}) and {direct.effective:.0f} "
            f"effective of {direct.proposals} proposals (at least {direct.needed}); {AUTO!r} and {NUTS!r} run chains"
        )
    return None


def not_possible(synthesizer: Synthesizer, blueprint: Blueprint | None) -> InputError:
    """Why the direct engine cannot be asked for: there is no density, or a guarantee samples another one."""
    lacking = blueprint is None or blueprint.direct is None
    why = f"{type(synthesizer).__name__} has no density to draw from directly" if lacking else "a guarantee censors the model"
    return InputError(f"engine = {DIRECT!r} is not possible: {why}; valid are {AUTO!r} and {NUTS!r}")
