"""The rows of a label: every measure of the registry computed, ours as they stand, those of other
packages with care.
"""

import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.interrupts import raise_interrupt
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, as_row, as_table
from riskweighted.intruder.world import World
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value, values_of
from riskweighted.measures.registry import is_ours, measures
from riskweighted.measures.released import pattern_values

__all__ = ["added_measures", "measured_rows", "released_rows"]


def added_measures() -> list[Measure]:
    """The measures of other packages."""
    return [measure for measure in measures().values() if not is_ours(measure)]


def measured_rows(
    context: Context, table: str, variables: Sequence[str], *, ours: bool = True
) -> list[dict[str, Any]]:
    """The measures of a table that a label has what they need for: ours in their order, those of a
    variable one variable after the other; or those of other packages, each with random numbers of
    its own, of which one that fails is named, and left out.
    """
    chosen = [
        each
        for each in measures().values()
        if each.table == table and each.compute is not None and is_ours(each) == ours
    ]
    met = [measure for measure in chosen if measure.is_met(context)]
    values = (
        [value for value in _computed(context, met, variables) if value.measure.is_met(context)]
        if ours
        else [value for measure in met for value in _with_care(context, measure)]
    )
    told = {} if context.mechanism is None else {"draws": str(context.mechanism.risk.draws)}
    baseline = None if context.baseline is None else context.baseline.label
    return [as_row(context.label, value, baseline, **told) for value in values]


def _computed(
    context: Context, chosen: Sequence[Measure], variables: Sequence[str]
) -> Iterator[Value]:
    """What the computations give, each called once, with those of a variable that are next to each
    other one variable after the other.
    """
    in_order = sorted(chosen, key=lambda measure: measure.order)
    for each, alike in groupby(in_order, key=lambda measure: measure.each):
        computations = {measure.compute: measure for measure in alike}
        for variable in variables if each else (None,):
            of_variable = context if variable is None else replace(context, variable=variable)
            for compute, measure in computations.items():
                assert compute is not None
                yield from values_of(measure, compute(of_variable), variable)


def released_rows(world: World, unaltered: Sequence[str]) -> pd.DataFrame:
    """The share of unique records on all unaltered released columns, in the columns of
    `riskweighted.evaluation.measure_rows.COLUMNS`, under the confidential label.

    It is what an intruder has who knows ALL of them, not only those of the scenario (METHODS
    section 13).
    """
    wide = world.under(replace(world.scenario, known=tuple(unaltered)))
    return as_table(as_row(CONFIDENTIAL, value) for value in pattern_values(wide))


def _with_care(context: Context, measure: Measure) -> list[Value]:
    """What a stranger's measure gives; nothing of it where anything goes wrong, and of an error its
    type alone: its text may hold data.
    """
    entropy = [
        int(context.rng.bit_generator.seed_seq.generate_state(1)[0]),
        zlib.crc32(measure.key.encode()),
    ]
    values: list[Value] = []
    try:
        for variable in context.scenario.synthetic if measure.each else (None,):
            of_variable = replace(
                context, variable=variable, rng=np.random.default_rng([*entropy, len(values)])
            )
            assert measure.compute is not None
            values += values_of(measure, measure.compute(of_variable), variable)
        told_apart = len({value[2:5] for value in values}) == len(values)
        if told_apart and all(
            _is_value(measure, value, context.scenario.synthetic) for value in values
        ):
            return [value._replace(value=float(value.value)) for value in values]
        what = "gave no number, nor values of its own"
    except Exception as error:
        raise_interrupt(error)
        what = f"raised {type(error).__name__}"
    warnings.warn(
        f"the measure {measure.key!r} {what}: it is left out", RiskWeightedWarning, stacklevel=2
    )
    return []


def _is_value(measure: Measure, value: object, variables: Sequence[str]) -> bool:
    """Whether it is a row of this measure that the tables can hold."""
    if (
        not isinstance(value, Value)
        or value.measure is not measure
        or not measure.takes(value.parameter, value.term)
    ):
        return False
    numbers = (
        value.value,
        value.error,
        *value.interval,
        *(() if value.parameter is None else (value.parameter,)),
    )
    texts = (value.term, value.rule, value.definition)
    named = value.variable is None or value.variable in variables
    complete = len(value.interval) == 2 and named
    return (
        complete
        and all(isinstance(number, Real) for number in numbers)
        and all(text is None or isinstance(text, str) for text in texts)
    )
