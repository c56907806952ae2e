"""The draws of a saved fit judged again, so that nobody need believe what a file says of their convergence."""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

from riskweighted.common.errors import InputError
from riskweighted.contract.layout import layout_of
from riskweighted.contract.synthesizer import Blueprint
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.compiled import drawn_of_density, without_chains
from riskweighted.sampling.convergence import Drawn, judge, no_diagnostics
from riskweighted.sampling.direct import heights_of
from riskweighted.sampling.graphs import log_prior_and, log_volume
from riskweighted.sampling.released import released_quantities
from riskweighted.sampling.settings import Sampling

__all__ = ["judged_again", "refuse_other_diagnostics"]

_ROUNDING = 1e-6  # relative: of draws that another machine makes again
_NEAR = 0.05  # relative: of diagnostics, where rounding decides which of two draws is farther from the median


def refuse_other_diagnostics(fit: BlockFit, sampling: Sampling) -> None:
    """Refuse a fit whose diagnostics are not those of its posterior draws."""
    made, told = judged_again(fit, sampling), fit.diagnostics
    exact, near = ["converged", "judged", "engine"], ["r_hat", "limit", "ess_bulk", "ess_tail", "ess_spread", "divergences", "pareto_k"]
    same = list(made.index) == list(told.index) and (made[exact].to_numpy() == told[exact].to_numpy()).all()
    if not same or not np.allclose(made[near].to_numpy(float), told[near].to_numpy(float), rtol=_NEAR, equal_nan=True):
        raise InputError(
            f"the fit of {fit.synthesizer.target!r} says of its convergence what its posterior draws do not show: it was changed after the "
            "run, or is of other versions; run the study again"
        )


def judged_again(fit: BlockFit, sampling: Sampling) -> pd.DataFrame:
    """The diagnostics of a fit's posterior draws, whatever the fit says of them; InputError where nothing makes such draws.

    Draws by importance are made again, since nothing in them tells how far they can be relied on; of chains the log densities are. What
    the sampler said of its chains stands as it was kept.
    """
    blueprint = fit.synthesizer.build(fit.prepared)
    if blueprint is None:
        return no_diagnostics()
    if fit.stats is None:
        drawn = _by_importance(fit, blueprint, sampling)
    elif fit.censoring is None and (blueprint.of_vector if fit.centring is None else blueprint.centred) is not None:
        drawn = _of_density(fit, blueprint, fit.stats)
    else:
        drawn = _of_graph(fit, blueprint, fit.stats)
    return judge(drawn, blueprint.monitored, released_quantities(fit))


def _by_importance(fit: BlockFit, blueprint: Blueprint, sampling: Sampling) -> Drawn:
    alpha, plain = fit.weights.to_numpy(), fit.censoring is None
    drawn = without_chains(fit.synthesizer, blueprint, alpha, plain, sampling, fit.random_seed, fit.centring)
    if drawn is None or not _alike(drawn.posterior, fit.posterior):
        raise InputError(f"the posterior draws of {fit.synthesizer.target!r} are not those that its model, data and seed give")
    return drawn


def _alike(mine: xr.Dataset, theirs: xr.Dataset) -> bool:
    """Whether two posteriors hold the same draws, but for rounding."""
    pairs = [(values.values, theirs[name].values) for name, values in mine.data_vars.items() if name in theirs]
    same = len(pairs) == len(mine.data_vars) == len(theirs.data_vars)
    return same and all(a.shape == b.shape and np.allclose(a, b, rtol=_ROUNDING, atol=_ROUNDING) for a, b in pairs)


def _of_density(fit: BlockFit, blueprint: Blueprint, stats: xr.Dataset) -> Drawn:
    """Chains of a density of one vector."""
    layout, alpha, sizes = layout_of(blueprint), fit.weights.to_numpy(), tuple(fit.sizes.values())
    vectors = np.array([layout.vector(fit.draw(*place)) for place in np.ndindex(sizes)])
    density, prior = blueprint.weighted(alpha, fit.centring), blueprint.weighted(np.zeros(len(alpha)))
    assert density is not None
    assert prior is not None
    heights = heights_of(density, vectors).reshape(sizes)
    return drawn_of_density(blueprint, alpha, fit.centring, density, prior, vectors.reshape(*sizes, -1), heights, stats)


def _of_graph(fit: BlockFit, blueprint: Blueprint, stats: xr.Dataset) -> Drawn:
    """Chains of a PyMC model, in the coordinates in which it was sampled."""
    alpha, sizes = fit.weights.to_numpy(), tuple(fit.sizes.values())
    if blueprint.geometry is not None:
        with blueprint.model:
            pm.set_data(blueprint.geometry(alpha))
    log_prior, _ = log_prior_and(blueprint, log_volume(blueprint.model))
    thetas = [fit.draw(*place) for place in np.ndindex(sizes)]
    log_likelihood = np.array([fit.contributions(theta).sum() for theta in thetas]).reshape(sizes)
    heights = log_likelihood + np.array([log_prior(theta, alpha) for theta in thetas]).reshape(sizes)
    return Drawn(fit.posterior, log_likelihood, stats, log_posterior=heights)
