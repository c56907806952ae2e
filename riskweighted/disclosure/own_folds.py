"""Folds of an own fit, for what importance weights cannot tell: all is fitted anew without the values of a fold (METHODS section 13)."""

import numpy as np

from riskweighted.common.progress import Advance, Steps
from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.folds import Folds, assigned
from riskweighted.disclosure.own_fit import can_refit, refit_without
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["K", "are_needed", "own_folds"]

K = 5


def are_needed(fit: Fit, weighting: Weighting | None) -> bool:
    """Whether a fit is judged by folds: scores that were learned of others' values are no function of the draws, so that importance weights
    would hold them."""
    return bool(fit.prepared.scores) and can_refit(weighting)


def own_folds(
    fit: Fit,
    world: World,
    weighting: Weighting | None,
    unit: str | None,
    copies: int,
    rng: np.random.Generator,
    progress: Advance | None = None,
) -> Folds:
    """L datasets of each of K fits without the values of one fold of units: their weights are 0, and scores, bounds, knots and the risk
    weights of the others are made anew."""
    of_row, packs, told = assigned(world.confidential, unit, K, rng), [], Steps(progress, K)
    for number in range(K):
        anew = refit_without(fit, world, np.flatnonzero(of_row == number), weighting, rng, together=True)
        packs.append(list(anew.synthesize(copies, random_seed=int(rng.integers(2**31)))))
        told()
    return Folds(of_row, packs, np.full(K, np.nan), fit.variables)
