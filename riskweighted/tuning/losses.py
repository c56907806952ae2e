"""What a setting costs: the loss of utility of synthetic datasets, and its error over them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.intruder.world import World
from riskweighted.measures.context import Subject
from riskweighted.measures.measure import Estimate, Loss as Declared, Measure
from riskweighted.measures.registry import measures
from riskweighted.measures.settings import EvaluationSettings
from riskweighted.measures.tables import table_columns
from riskweighted.tuning.datasets import is_measured, value_on
from riskweighted.utility.regression import Regression

__all__ = ["Loss", "find_loss", "loss_of"]


class Loss(NamedTuple):
    """A loss: its ``label``, and ``measure`` from L synthetic datasets to its value and Monte Carlo error. Lower is better."""

    label: str
    measure: Callable[[Sequence[pd.DataFrame]], Estimate]


def find_loss(name: object) -> Declared:
    """How a measure is a loss, by its short name or its key.

    Raises
    ------
    InputError
        If there is none, or it is no measure of utility of which a higher value is better or worse.
    """
    short = {one.loss.name: one for one in measures().values() if one.loss is not None}
    measure = (short.get(name) or measures().get(name)) if isinstance(name, str) else None
    if measure is not None and measure.loss is not None:
        return measure.loss
    if measure is None or measure.table != "utility" or not is_measured(measure):
        raise InputError(f"loss must be one of {listing(short)} or another measure of utility, got {name!r}")
    return Declared(measure.key, lambda world, analysis: _loss_of(measure, world, analysis))


def _loss_of(measure: Measure, world: World, analysis: Regression | None) -> tuple[str, Callable[[Sequence[pd.DataFrame]], Estimate]]:
    """A measure of utility that does not say itself how it is a loss; 1 less one of which higher is better."""
    subject = Subject(world, EvaluationSettings(), analysis, crossed=table_columns(world, None))
    if measure.direction == "less useful":
        return measure.label, lambda frames: value_on(measure, subject, frames)

    def lack(frames: Sequence[pd.DataFrame]) -> Estimate:
        value, error = value_on(measure, subject, frames)
        return Estimate(1 - value, error)

    return f"1 - {measure.label}", lack


def loss_of(name: str, world: World, analysis: Regression | None) -> Loss:
    """A loss by its name.

    Parameters
    ----------
    name : str
        "U_m": the largest ECDF distance, mean over the datasets, and over the numbers that are synthesized; "overlap": 1 less the overlap
        of the confidential and the synthetic interval of a regression coefficient, which is above 1 where the two are disjoint (Snoke et
        al. 2018); or the key of a measure of utility, such as "two-way-mean".
    world : World
    analysis : Regression or None
        For "overlap".

    Raises
    ------
    InputError
        If "overlap" has no regression.
    """
    return Loss(*find_loss(name).make(world, analysis))
