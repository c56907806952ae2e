"""Whether synthetic numbers are the confidential ones with a little noise: a look at rows that
pair, which needs no folds.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats
from riskweighted.intruder.world import World

__all__ = ["nearly_copied"]

_NEAR = 0.05  # of the value
_MOST, _TWICE = 0.8, 2.0  # of the amounts, and of what chance gives


def nearly_copied(world: World, frames: Sequence[pd.DataFrame]) -> dict[str, tuple[float, float]]:
    """Of every number of which that holds for 80 % of the amounts and twice what chance gives: the
    share of synthetic amounts within 5 % of the record's own value, and of amounts of another
    record of its known pattern, drawn at random; `frames`, (n,) rows each, pair.
    """
    rng, found = np.random.default_rng(1), {}
    order = np.lexsort((rng.random(len(world.confidential)), world.patterns.codes))
    codes = world.patterns.codes[order]
    first = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    last = np.r_[first[1:], len(codes)] - 1
    following = np.empty(len(order), dtype=int)
    # the next record of the pattern, after the last the first
    following[order[:-1]], following[order[last]] = order[1:], order[first]
    for name in world.scenario.synthetic:
        if not world.scenario.is_numeric(world.confidential[name]):
            continue
        own = as_floats(world.confidential[name])
        amount = np.isfinite(own) & (own != 0) & ~np.isin(own, world.scenario.codes_of(name))
        drawn = np.stack([as_floats(frame[name]) for frame in frames])
        near = [
            np.abs(values - own) <= _NEAR * np.abs(own) for values in (drawn, drawn[:, following])
        ]
        share, chance = (float(each[:, amount].mean()) if amount.any() else 0.0 for each in near)
        if share >= max(_MOST, _TWICE * chance):
            found[name] = share, chance
    return found
