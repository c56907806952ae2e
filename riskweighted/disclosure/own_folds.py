"""Folds of an own fit, for what importance weights cannot tell: all is fitted anew without the
values of a fold (METHODS section 13.1).
"""

import math

import numpy as np

from riskweighted.common.progress import Advance, Steps
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import is_strange
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.folds import assign_folds
from riskweighted.disclosure.kept_values import keeps_values
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_fit import draw_copies
from riskweighted.disclosure.refits import means_of_targets, refit_without
from riskweighted.intruder.world import World
from riskweighted.risk.balls import gives_mass
from riskweighted.sampling.nuts import share_of
from riskweighted.sequence.fit import Fit

__all__ = ["K", "draws_for", "own_folds", "why_folds"]

K = 5
_PACKS = 10  # at least, of the whole and of each fold
# of all packs of one fit: the error of mean D over them is then about .003, however small the file
RECORDS = 16_000
_DRAWS = 2  # of a fit without a fold, for each dataset: chains need not be longer
_ROOM = 20_000_000  # numbers of copies of one fit that are held


def why_folds(fit: Fit) -> tuple[str, ...]:
    """Why importance weights would not see what a fit gives away, () where they would: what is made
    of the records' values and is no parameter is held by them. Such are learned scores, predictors
    that are means of the target by level, and whatever a class that is not the package's keeps of
    single values (`keeps_values`). Copies of a model that gives no masses are compared with no
    chance."""
    why = []
    if fit.prepared.scores:
        why.append("scores that were learned of others' values")
    why += [f"{name!r}, the means of {of!r} by level" for name, of in means_of_targets(fit).items()]
    silent = [name for name, block in fit.blocks.items() if not gives_mass(block)]
    strange = [
        name
        for name, block in fit.blocks.items()
        if name not in silent and is_strange(block.synthesizer)
    ]
    why += [
        fit.prepared.label_of(name, "what its class takes from the data")
        for name in strange
        if keeps_values(fit.blocks[name])
    ]
    why += [fit.prepared.label_of(name, "draws of a model that gives no masses") for name in silent]
    return tuple(
        f"{each} must be made again without a record, and no fold can be fitted" for each in why
    )


def draws_for(copies: int, packs: int = _PACKS) -> int:
    """How many draws a fit without some records is asked for, of which packs of so many copies are
    made.
    """
    return _DRAWS * packs * copies


def own_folds(
    fit: Fit,
    world: World,
    weighting: Weighting | None,
    unit: str | None,
    copies: int,
    rng: np.random.Generator,
    progress: Advance | None = None,
) -> tuple[np.ndarray, list[list[np.ndarray]]]:
    """Return the fold of every record (n,), and of the fit and of K fits without the values of one
    fold of units R packs each (V, n, L).

    Of those without, weights are 0, and scores, bounds, knots and the risk weights of the others
    are made anew. The file is the population, so that a mean over its packs has no error over
    records.
    """
    of_row = assign_folds(world.confidential, unit, K, rng)
    made = list[list[np.ndarray]]()
    told = Steps(progress, K + 1)
    packs = min(
        max(_PACKS, RECORDS // len(of_row)),
        max(_ROOM // (len(of_row) * copies), 1),
        math.prod(fit.sizes.values()) // copies,
    )
    for number in range(-1, K):
        gone, most = np.flatnonzero(of_row == number), draws_for(copies, packs)
        report = None if progress is None else share_of(progress, number + 1, K + 1)
        one = fit if number < 0 else refit_without(fit, world, gone, weighting, rng, most, report)
        places = spread_draws(one.sizes["chain"], one.sizes["draw"], packs * copies)
        values = draw_copies(
            one,
            Coding(world),
            rng,
            places=rng.permutation(places).tolist(),
            values_alone=True,
        ).values
        made.append(np.split(values, packs, axis=2))
        told()
    return of_row, made
