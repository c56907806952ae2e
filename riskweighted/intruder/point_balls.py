"""Records whose ball is a single point: a share of zero is zero, so only an exact zero would be
near it.
"""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.common.errors import UnscoredWarning
from riskweighted.intruder.scenario import Scenario

__all__ = ["point_balls", "warn_of_unscored"]


def point_balls(confidential: pd.DataFrame, scenario: Scenario, variable: str) -> np.ndarray:
    """Which records' ball of a numeric variable holds one value only although its radius is
    positive, (n,); none without an amount.
    """
    statuses = scenario.statuses(confidential[variable])
    if scenario.radius_of(variable) == 0:  # equality is what was asked for
        return np.zeros(len(statuses.values), dtype=bool)
    balls = scenario.balls(variable, statuses.values)
    return np.asarray((balls.upper <= balls.lower) & statuses.is_amount)


def warn_of_unscored(
    confidential: pd.DataFrame, scenario: Scenario, frames: Sequence[pd.DataFrame] | None = None
) -> None:
    """Say how many records cannot be scored, because their ball is a point that no synthetic value
    hits; the remedy is `min_radius`.

    `frames`: synthetic datasets, silent for a variable where one of their values is such a point;
    None: before a fit of a model that draws from a density.
    """
    for name in scenario.synthetic:
        if not scenario.is_numeric(confidential[name]):
            continue
        points = point_balls(confidential, scenario, name)
        if not points.any():
            continue
        hit = np.unique(scenario.statuses(confidential[name]).values[points])
        if any(
            np.isin(scenario.statuses(frame[name]).amounts, hit).any() for frame in frames or ()
        ):
            continue
        draws = (
            "a model that draws from a density hits zero never"
            if frames is None
            else "no synthetic value is exactly zero"
        )
        warnings.warn(
            f"{int(points.sum())} of {len(points)} records have {name!r} of zero, where a "
            "relative radius makes a ball of zero width, and "
            f"{draws}: they cannot be scored and would count as risk 0; set min_radius (in units "
            f"of {name!r})",
            UnscoredWarning,
            stacklevel=4,
        )
