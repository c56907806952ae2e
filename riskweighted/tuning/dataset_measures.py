"""Any measure of datasets as a number to tune by: what it comes to on datasets drawn from a fit,
and its error over them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.measures.context import Context, EvaluationInputs
from riskweighted.measures.measure import Estimate, Measure, values_of
from riskweighted.risk.matching import mean_risk_and_matches

__all__ = ["DATASETS", "is_measured", "measured_on", "value_on"]

DATASETS = 40  # synthetic datasets per setting, over which a loss is averaged
_PARTS = 5  # into which the datasets are split for the error of what many of them have together


def is_measured(measure: Measure) -> bool:
    """Whether datasets give it as one number, of which lower is better, or higher."""
    one_number = (
        measure.parameter in ("", "threshold", "increase")
        and not measure.mechanism
        and not measure.many
    )
    return (
        measure.compute is not None
        and one_number
        and measure.direction in ("riskier", "safer", "less useful", "more useful")
    )


def measured_on(measure: Measure, fit: Any, subject: EvaluationInputs, seed: int) -> Estimate:
    """A measure of datasets drawn from a fit, the same number of every fit."""
    rng, sizes = np.random.default_rng(seed), fit.sizes
    places = spread_draws(
        sizes["chain"], sizes["draw"], min(DATASETS, sizes["chain"] * sizes["draw"])
    )
    frames = [
        fit.released(fit.thetas(*places[turn % len(places)]), rng) for turn in range(DATASETS)
    ]
    return value_on(measure, subject, frames, fit)


def value_on(
    measure: Measure, subject: EvaluationInputs, frames: Sequence[pd.DataFrame], fit: Any = None
) -> Estimate:
    """A measure of datasets, its error from parts of them; of one of each variable the mean over
    the variables.
    """
    whole = _value(measure, subject, frames, fit)
    each = [_value(measure, subject, frames[part::_PARTS], fit) for part in range(_PARTS)]
    return Estimate(whole, float(np.std(each, ddof=1) / np.sqrt(_PARTS)))


def _value(
    measure: Measure, subject: EvaluationInputs, frames: Sequence[pd.DataFrame], fit: Any
) -> float:
    paired = subject.world.pair(list(frames), subject.columns)
    risk, matched = mean_risk_and_matches(paired)
    rng = np.random.default_rng(0)  # the same noise every time: differences are of the datasets
    context = Context(
        "tuning", subject, paired.frames, rng, fit=fit, paired=paired, risk=risk, matched=matched
    )
    results: list[float] = []
    for variable in subject.world.scenario.synthetic if measure.each else (None,):
        given = (
            measure.compute(replace(context, variable=variable))
            if measure.compute is not None
            else ()
        )
        results += [
            float(value.value)
            for value in values_of(measure, given, variable)
            if value.measure is measure and value.variable == variable
        ]
    if not results or not np.isfinite(results).all():
        raise InputError(
            f"{measure.key!r} is not defined of these data, so nothing can be tuned by it"
        )
    return float(np.mean(results))
