"""What a setting costs: the loss of utility of synthetic datasets, and its error over them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.intruder.world import World
from riskweighted.tuning.targets import Measured
from riskweighted.utility.ecdf import ecdf_distance
from riskweighted.utility.intervals import interval_overlap
from riskweighted.utility.regression import Regression, coefficient_interval

__all__ = ["LOSSES", "Loss", "loss_of"]

LOSSES = ("U_m", "overlap")
_PARTS = 5  # into which the datasets are split for the error of an overlap, which many of them have together


class Loss(NamedTuple):
    """A loss: its ``label``, and ``measure`` from L synthetic datasets to its value and Monte Carlo error. Lower is better."""

    label: str
    measure: Callable[[Sequence[pd.DataFrame]], Measured]


def loss_of(name: str, world: World, analysis: Regression | None) -> Loss:
    """A loss by its name.

    Parameters
    ----------
    name : {"U_m", "overlap"}
        The largest ECDF distance, mean over the datasets; or 1 less the overlap of the confidential and the synthetic interval of a
        regression coefficient, which is above 1 where the two are disjoint (Snoke et al. 2018).
    world : World
    analysis : Regression or None
        For "overlap".

    Raises
    ------
    InputError
        If "overlap" has no regression.
    """
    (variable,) = world.scenario.synthetic
    if name == "U_m":
        amounts = world.scenario.statuses(world.confidential[variable]).amounts
        return Loss(
            f"U_m of {variable}",
            lambda frames: _mean_distance(amounts, [world.scenario.statuses(frame[variable]).amounts for frame in frames]),
        )
    if analysis is None:
        raise InputError("loss 'overlap' is that of a regression coefficient: give regression and coefficient")
    return Loss(f"1 - overlap of {analysis.coefficient}", _lack_of_overlap(world.confidential, analysis))


def _mean_distance(confidential: np.ndarray, synthetic: Sequence[np.ndarray]) -> Measured:
    """U_m, mean over the datasets."""
    each = np.array([ecdf_distance(confidential, values).maximum for values in synthetic])
    return Measured(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))))


def _lack_of_overlap(confidential: pd.DataFrame, analysis: Regression) -> Callable[[Sequence[pd.DataFrame]], Measured]:
    """1 less the overlap of the coefficient's intervals; its error from parts of the datasets."""
    own = coefficient_interval(analysis, [confidential], synthetic=False)

    def of(frames: Sequence[pd.DataFrame]) -> float:
        found = coefficient_interval(analysis, frames, synthetic=True)
        return 1 - interval_overlap((own.lower, own.upper), (found.lower, found.upper), clip=False)

    def measure(frames: Sequence[pd.DataFrame]) -> Measured:
        each = [of(frames[part::_PARTS]) for part in range(_PARTS)]
        return Measured(of(frames), float(np.std(each, ddof=1) / np.sqrt(_PARTS)))

    return measure
