"""Folds of an own fit, for what importance weights cannot tell: all is fitted anew without the values of a fold (METHODS section 13)."""

import numpy as np

from riskweighted.common.progress import Advance, Steps
from riskweighted.contract.synthesizer import data_dependent, is_strange
from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.folds import Folds, assigned
from riskweighted.disclosure.refits import means_of_targets, refit_without
from riskweighted.intruder.world import World
from riskweighted.risk.balls import gives_mass
from riskweighted.sequence.fit import Fit

__all__ = ["K", "own_folds", "why_folds"]

K = 5


def why_folds(fit: Fit) -> tuple[str, ...]:
    """Why importance weights would not see what a fit gives away, () where they would: what is made of the records' values and is no
    parameter is held by them. Such are learned scores, predictors that are means of the target by level, and whatever a class that is not
    the package's says that it takes from the data, or does not say. Copies of a model that gives no masses are compared with no chance."""
    why = []
    if fit.prepared.scores:
        why.append("scores that were learned of others' values")
    why += [f"{name!r}, the means of {of!r} by level" for name, of in means_of_targets(fit).items()]
    strange = [name for name, block in fit.blocks.items() if is_strange(block.synthesizer) and data_dependent(block.synthesizer) != ()]
    why += [fit.prepared.label_of(name, "what its class takes from the data") for name in strange]
    silent = [name for name, block in fit.blocks.items() if not gives_mass(block)]
    why += [fit.prepared.label_of(name, "draws of a model that gives no masses") for name in silent]
    return tuple(f"{each} must be made again without a record, and no fold can be fitted" for each in why)


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
