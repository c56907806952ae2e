"""Distances of one variable's distribution: U_m and U_a of numbers (Woo et al. 2009), total
variation of levels (METHODS section 6); in a study with survey weights under these.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskweighted.common.value_counts import LevelCounts
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Estimate, Loss, Measure, Value
from riskweighted.measures.survey_values import UNDER_WEIGHTS, amounts_of, design_of

if TYPE_CHECKING:
    from riskweighted.intruder.world import World

__all__ = ["AMOUNTS", "ECDF_EDGE", "MEASURES", "TOTAL_VARIATION", "U_M"]


def distances(context: Context) -> Iterator[Value]:
    """Mean over the datasets; none of the confidential data."""
    if context.of_data:
        return
    if context.subject.design is not None:
        yield from _weighted(context)
        return
    from riskweighted.utility.ecdf import mean_ecdf_distance, mean_total_variation

    true, drawn = context.counts
    if isinstance(true, LevelCounts):
        yield Value(TOTAL_VARIATION, mean_total_variation(true, drawn), context.variable)
        return
    distance = mean_ecdf_distance(true.amounts, [of.amounts for of in drawn])
    yield Value(U_M, distance.maximum, context.variable)
    yield Value(_U_A, distance.mean_square, context.variable)


def _weighted(context: Context) -> Iterator[Value]:
    """The same of the distributions under survey weights."""
    from riskweighted.utility.survey_estimates import (
        weighted_ecdf_distance,
        weighted_total_variation,
    )

    design = design_of(context)

    def value(measure: Measure, distance: float) -> Value:
        definition = f"{measure.definition}, {UNDER_WEIGHTS}"
        return Value(measure, float(distance), context.variable, definition=definition)

    if not context.is_numeric:
        distances = [
            weighted_total_variation(context.true_values, column, design.weights)
            for column in context.columns
        ]
        yield value(TOTAL_VARIATION, float(np.mean(distances)))
        return
    true = amounts_of(context, context.true_values)
    drawn = [amounts_of(context, column) for column in context.columns]
    each = np.array([weighted_ecdf_distance(true, values, design.weights) for values in drawn])
    for measure, distance in zip((U_M, _U_A), each.mean(axis=0), strict=True):
        yield value(measure, distance)


def _mean_of_largest(
    world: "World", analysis: object
) -> tuple[str, Callable[[Sequence[pd.DataFrame]], Estimate]]:
    """U_m as a loss, mean over the datasets, and over the numeric variables where there are
    several.
    """
    from riskweighted.utility.ecdf import ecdf_distance

    names = world.numeric
    true = {name: world.scenario.statuses(world.confidential[name]).amounts for name in names}

    def measure(frames: Sequence[pd.DataFrame]) -> Estimate:
        distances = [
            [
                ecdf_distance(true[name], world.scenario.statuses(frame[name]).amounts).maximum
                for name in names
            ]
            for frame in frames
        ]
        each = np.array(distances).mean(axis=1)
        return Estimate(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))))

    return f"{'mean ' if len(names) > 1 else ''}U_m of {', '.join(names)}", measure


AMOUNTS = "Missing values and special codes are no amounts and do not count."
ECDF_EDGE = f"Values up to and including x count in a distribution function. {AMOUNTS}"
_ECDF = (
    "of the difference of empirical distribution functions, mean over datasets (Woo et al. 2009)"
)
_distance = partial(
    Measure,
    source="METHODS section 6",
    direction="less useful",
    kind="distance",
    disclosure=Disclosure.THREE_DIGITS,
    table="utility",
    each=True,
    order=10,
    compute=distances,
)
U_M = _distance(
    "ecdf-maximum",
    "U_m",
    f"maximum {_ECDF}",
    boundary=ECDF_EDGE,
    words="largest distance of distribution functions",
    symbol="U_m",
    loss=Loss("U_m", _mean_of_largest, numeric=True),
)
_U_A = _distance(
    "ecdf-mean-square",
    "U_a",
    f"mean square {_ECDF}",
    boundary=ECDF_EDGE,
    words="mean square distance of distribution functions",
    symbol="U_a",
)
TOTAL_VARIATION = _distance(
    "total-variation",
    "total variation",
    "half the sum over the levels of the absolute differences of their shares, mean over datasets",
    words="distance of the shares of levels",
    symbol="total variation",
)
MEASURES = (U_M, _U_A, TOTAL_VARIATION)
