"""The draws of one fit as draws of the posterior under neighbouring weights, by importance weights
(METHODS section 11).
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.sampling.loo import K_LIMIT, importance_weights
from riskweighted.sequence.alphas import Alpha, alphas_of
from riskweighted.sequence.blocks import Block
from riskweighted.sequence.fit import Fit

__all__ = ["Neighbour", "reweighted_draws"]


@dataclass(frozen=True, eq=False)
class Neighbour:
    """The draws of a fit as draws of the posterior under other weights. Confidential.

    Attributes
    ----------
    weights : array (S,)
        Of the draws, chain by chain; they sum to 1.
    pareto_k : float
        Shape of their tail.
    spread : float
        Standard deviation of their logarithms before smoothing; says beforehand whether it can
        work.
    """

    weights: np.ndarray = field(repr=False)
    pareto_k: float
    spread: float

    @property
    def limit(self) -> float:
        """The largest shape that is accepted, min(1 - 1 / log10 S, 0.7) (Vehtari et al. 2024)."""
        return float(min(1 - 1 / np.log10(len(self.weights)), K_LIMIT))

    @property
    def accepted(self) -> bool:
        """Whether they can be relied on."""
        return bool(self.pareto_k < self.limit)


def reweighted_draws(fit: Fit, alpha: Alpha) -> Neighbour:
    """Return importance weights, log w_s = sum_i (alpha'_i - alpha_i) log p(y_i | theta_s) over all
    variables, Pareto smoothed.

    Parameters
    ----------
    fit : Fit
        With weights alpha; at least 100 draws.
    alpha : Series (n,), array (n,), or DataFrame (n, V) of several variables
        The neighbouring weights alpha'.

    Raises
    ------
    InputError
        If the fit estimates nothing, has fewer than 100 draws, or the weights are not valid.
        Weights that are too far are no error: ``accepted`` says so, and the fit under them has to
        be sampled.
    """
    if not fit.estimates:
        raise InputError(
            f"{type(fit.synthesizer).__name__} estimates nothing: no weights act on it"
        )
    chains, draws = fit.sizes["chain"], fit.sizes["draw"]
    if chains * draws < 100:
        raise InputError(
            f"importance weights need at least 100 draws, and the fit has {chains * draws}"
        )
    change = alphas_of(fit.variables, alpha, fit.confidential.index) - fit.alphas
    logs = sum(
        (
            _log_weights(fit, block, change)
            for block in fit.prepared.blocks
            if fit.blocks[block.name].estimates
        ),
        np.zeros(1),
    )
    weights, pareto_k = importance_weights(-logs[None])
    return Neighbour(weights[0], float(pareto_k[0]), float(logs.std(ddof=1)))


def _log_weights(fit: Fit, block: Block, change: pd.DataFrame) -> np.ndarray:
    """What a block adds to the logarithms, (S,)."""
    own, survey = fit.blocks[block.name], fit.blocks[block.name].survey
    moved = change[block.variable].to_numpy()[block.member] * (
        1.0 if survey is None else survey.to_numpy()
    )
    places = np.ndindex(fit.sizes["chain"], fit.sizes["draw"])
    return np.array([moved @ own.terms(own.draw(*place)) for place in places])
