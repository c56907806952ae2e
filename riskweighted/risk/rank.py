"""The lab's rank measure (Kleisle-Murphy 2020): how many synthetic records of the pattern lie
between the true and the synthetic value?
"""

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.intruder.boxes import Boxes
from riskweighted.intruder.patterns import cells
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.sorted_balls import Runs, find_runs
from riskweighted.intruder.world import Paired, World, make_world

__all__ = ["rank_measure", "rank_shares"]


def rank_measure(confidential: Frame, synthetic: "GivenFrames", scenario: Scenario) -> pd.Series:
    """Return the share of the pattern's synthetic values strictly between y_i and its own
    (Kleisle-Murphy 2020; METHODS section 7).

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame or sequence of L DataFrames, paired by index
    scenario : Scenario
        Its numeric synthetic variables are measured; radius and boundary play no part. Of several
        a synthetic record counts that lies strictly between in every one: the lab's extension, more
        conditions in its sum. The more variables, the fewer do.

    Returns
    -------
    Series on the index of `confidential`, averaged over the datasets, in [0, 1]: 0 means that the
    record's own synthetic value is the closest one to the truth (at risk), 1 that all others are
    closer (safe). The lab reports its mean. A missing value is closest to missing ones and a
    special code to the same code: where the own synthetic value is of another kind than the truth,
    all of the truth's kind are closer.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> rw.rank_measure(data, synthetic, scenario).round(2).head(3).tolist()
    [0.26, 0.17, 0.28]
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    return rank_shares(make_world(confidential, scenario).pair(synthetic))


def rank_shares(paired: Paired) -> pd.Series:
    """`rank_measure` of paired data."""
    world, numeric = paired.world, paired.world.numeric
    if not numeric:
        raise InputError("the rank measure needs a numeric synthetic variable, got none")
    total = np.zeros(len(world.confidential))
    for frame in paired.frames:
        runs = tuple(_between(world, name, frame[name]) for name in numeric)
        held = runs[0].last - runs[0].first if len(runs) == 1 else Boxes(runs).within
        total += held / world.patterns.in_pattern
    return pd.Series(total / len(paired), world.confidential.index, name="rank_measure")


def _between(world: World, name: str, column: pd.Series) -> Runs:
    """The synthetic records whose value of a variable lies between the true and the own synthetic
    one, of each record.
    """
    codes, n = world.patterns.codes, len(column)
    confidential = world.scenario.statuses(world.confidential[name])
    released = world.scenario.statuses(column)
    kinds = pd.Series(np.concatenate([confidential.status, released.status]))
    cell = cells([kinds], np.concatenate([codes, codes]))
    lower = np.minimum(confidential.values, released.values)
    upper = np.maximum(confidential.values, released.values)
    # Strictly between: closed between the next floating-point numbers.
    lower, upper = np.nextafter(lower, np.inf), np.nextafter(upper, -np.inf)
    other = confidential.status != released.status
    lower[other], upper[other] = -np.inf, np.inf
    runs = find_runs(cell[:n], cell[n:], released.values, lower, upper)
    # nothing lies between equal numbers, where lower is above upper
    runs.__dict__["last"] = np.maximum(runs.first, runs.last)
    return runs
