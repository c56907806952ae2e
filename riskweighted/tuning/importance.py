"""The draws of one fit as draws of the posterior under neighbouring weights, by importance weights (METHODS section 11)."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import check_weights
from riskweighted.sampling.loo import K_LIMIT, importance_weights
from riskweighted.sequence.declared import refuse_chain
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
        Standard deviation of their logarithms before smoothing; says beforehand whether it can work.
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


def reweighted_draws(fit: Fit, alpha: pd.Series | np.ndarray) -> Neighbour:
    """Importance weights log w_s = sum_i (alpha'_i - alpha_i) log p(y_i | theta_s), Pareto smoothed.

    Parameters
    ----------
    fit : Fit
        With weights alpha; at least 100 draws.
    alpha : Series (n,) or array (n,)
        The neighbouring weights alpha'.

    Raises
    ------
    InputError
        If the fit estimates nothing, has fewer than 100 draws, or the weights are not valid. Weights that are too far are no error:
        ``accepted`` says so, and the fit under them has to be sampled.
    """
    refuse_chain(fit.synthesizer, "reweighted_draws")
    if not fit.estimates:
        raise InputError(f"{type(fit.synthesizer).__name__} estimates nothing: no weights act on it")
    chains, draws = fit.sizes["chain"], fit.sizes["draw"]
    if chains * draws < 100:
        raise InputError(f"importance weights need at least 100 draws, and the fit has {chains * draws}")
    change = check_weights(alpha, fit.alpha.index).to_numpy() - fit.alpha.to_numpy()
    if fit.survey is not None:
        change = change * fit.survey.to_numpy()
    logs = np.array([change @ fit.block.terms(fit.block.draw(*place)) for place in np.ndindex(chains, draws)])
    weights, pareto_k = importance_weights(-logs[None])
    return Neighbour(weights[0], float(pareto_k[0]), float(logs.std(ddof=1)))
