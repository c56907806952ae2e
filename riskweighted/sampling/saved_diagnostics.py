"""The draws of a saved fit judged again, so that nobody need believe what a file says of their
convergence.
"""

import numpy as np
import pandas as pd
import xarray as xr

from riskweighted.common.errors import InputError
from riskweighted.common.extras import late
from riskweighted.contract.synthesizer import Blueprint, Density
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.block_fit import BlockFit, built
from riskweighted.sampling.compiled import drawn_of_density, weighted_of
from riskweighted.sampling.convergence import PosteriorDraws, judge, no_diagnostics
from riskweighted.sampling.density_parts import DensityParts, PartDraws
from riskweighted.sampling.graphs import log_prior_and, log_volume
from riskweighted.sampling.laplace import heights_of
from riskweighted.sampling.monitored import monitored_quantities
from riskweighted.sampling.sampling_settings import Sampling

__all__ = ["judged_again", "refuse_other_diagnostics"]

_ROUNDING = 1e-6  # relative: of draws that another machine makes again
# relative: of diagnostics, where rounding decides which of two draws is farther from the median
_NEAR = 0.05


def refuse_other_diagnostics(fit: BlockFit, sampling: Sampling) -> None:
    """Refuse a fit whose diagnostics are not those of its posterior draws."""
    made, told = judged_again(fit, sampling), fit.diagnostics
    exact = ["converged", "judged", "engine"]
    near = ["r_hat", "limit", "ess_bulk", "ess_tail", "ess_spread", "divergences", "pareto_k"]
    same = (
        list(made.index) == list(told.index)
        and (made[exact].to_numpy() == told[exact].to_numpy()).all()
    )
    if not same or not np.allclose(
        made[near].to_numpy(float), told[near].to_numpy(float), rtol=_NEAR, equal_nan=True
    ):
        raise InputError(
            f"the fit of {fit.synthesizer.target!r} says of its convergence what its posterior "
            "draws do not show: it was changed after the "
            "run, or is of other versions; run the study again"
        )


def judged_again(fit: BlockFit, sampling: Sampling) -> pd.DataFrame:
    """The diagnostics of a fit's posterior draws, whatever the fit says of them; InputError where
    nothing makes such draws.

    Draws by importance are made again, since nothing in them tells how far they can be relied on;
    of chains the log densities are. What the sampler said of its chains stands as it was kept.
    """
    blueprint = built(fit.synthesizer, fit.prepared, fit.centring)
    if blueprint is None:
        return no_diagnostics()
    plain, alpha = fit.censoring is None, fit.weights.to_numpy()
    of_density = (
        plain and (blueprint.of_vector if fit.centring is None else blueprint.centred) is not None
    )
    if fit.stats is not None and not of_density:
        drawn = _of_graph(fit, blueprint, fit.stats)
    else:
        weighted = weighted_of(
            type(fit.synthesizer).__name__,
            blueprint,
            alpha,
            plain,
            sampling,
            fit.random_seed,
            fit.centring,
        )
        if weighted is None:
            raise _others(fit)
        drawn = _of_parts(fit, blueprint, sampling, *weighted)
    return judge(drawn, blueprint.monitored, monitored_quantities(fit))


def _others(fit: BlockFit) -> InputError:
    return InputError(
        f"the posterior draws of {fit.synthesizer.target!r} are not those that its model, data "
        "and seed give"
    )


def _of_parts(
    fit: BlockFit,
    blueprint: Blueprint,
    sampling: Sampling,
    density: Density,
    prior: Density,
    parts: DensityParts,
) -> PosteriorDraws:
    """Draws of a density of one vector, of which those parts that were drawn by importance are
    drawn again.
    """
    layout, sizes = layout_of(blueprint), tuple(fit.sizes.values())
    vectors = np.array([layout.vector(fit.draw(*place)) for place in np.ndindex(sizes)])
    for each in parts.attempts:
        which = _proposals_of(each, vectors)
        if which is not None and (each.of_chains > 0) == (fit.stats is not None):
            break
    else:
        raise _others(fit)
    heights = heights_of(density, vectors).reshape(sizes)
    k = max((near.pareto_k for near in each.accepted if near is not None), default=np.nan)
    drawn = PartDraws(
        vectors.reshape(*sizes, -1), heights, None if np.isnan(k) else np.array(which), k, fit.stats
    )
    return drawn_of_density(blueprint, fit.weights.to_numpy(), fit.centring, density, prior, drawn)


def _proposals_of(parts: DensityParts, vectors: np.ndarray) -> list[np.ndarray] | None:
    """The number of the proposal that each of the draws (S, d) is, by part, its own number where
    the part has chains; None where draws by importance are not those that its proposals give.
    """
    which, end = [], 0
    for number, ((width, _), near) in enumerate(zip(parts.parts, parts.accepted, strict=True)):
        end += width
        if near is None:
            which.append(np.arange(len(vectors)))
            continue
        again = parts.resampled(number, len(vectors))
        if not np.allclose(
            again.vectors, vectors[:, end - width : end], rtol=_ROUNDING, atol=_ROUNDING
        ):
            return None
        which.append(again.which)
    return which


def _of_graph(fit: BlockFit, blueprint: Blueprint, stats: xr.Dataset) -> PosteriorDraws:
    """Chains of a PyMC model, in the coordinates in which it was sampled."""
    alpha, sizes = fit.weights.to_numpy(), tuple(fit.sizes.values())
    if blueprint.geometry is not None:
        with blueprint.model:
            late("pymc").set_data(blueprint.geometry(alpha))
    log_prior, _ = log_prior_and(blueprint, log_volume(blueprint.model))
    thetas = [fit.draw(*place) for place in np.ndindex(sizes)]
    log_likelihood = np.array([fit.contributions(theta).sum() for theta in thetas]).reshape(sizes)
    heights = log_likelihood + np.array([log_prior(theta, alpha) for theta in thetas]).reshape(
        sizes
    )
    return PosteriorDraws(fit.posterior, log_likelihood, stats, log_posterior=heights)
