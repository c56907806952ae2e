"""The rows of a label: every measure of the registry computed, ours as they stand, those of other
packages with care.
"""

import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.interrupts import raise_interrupt
from riskweighted.evaluation.parts import How, again, as_rows, asked, complete, rows, tallies
from riskweighted.evaluation.tables import CONFIDENTIAL, as_row, as_table
from riskweighted.intruder.world import World
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Computation, Measure, Value, values_of
from riskweighted.measures.parts import Tally
from riskweighted.measures.registry import is_ours, measures
from riskweighted.measures.released import (
    of_patterns,
    of_scheme,
    tally_of_patterns,
    tally_of_scheme,
)

__all__ = [
    "added_measures",
    "added_rows",
    "measured_rows",
    "released_rows",
    "released_table",
    "released_tallies",
]


def added_measures(how: How = "compute") -> list[Measure]:
    """The measures of other packages that an evaluation, or an assessment, computes."""
    return [
        measure
        for measure in measures().values()
        if getattr(measure, how) is not None and not is_ours(measure)
    ]


def measured_rows(
    context: Context, table: str, variables: Sequence[str], how: How = "compute"
) -> list[dict[str, Any]]:
    """Our measures of a table for one label, in their order; those of a variable one variable after
    the other. The file is one part.
    """
    total = tallies(context, variables, table, how)
    while told := asked(total, context, variables, table, how):
        total = complete(
            total, again(context, told, variables, table, how), context, variables, table, how
        )
    return rows(total, context, variables, table, how, whole=True)


def added_rows(context: Context, table: str, how: How = "compute") -> list[dict[str, Any]]:
    """The measures of other packages, each with random numbers of its own; one that fails is named,
    and left out.
    """
    added = [measure for measure in added_measures(how) if measure.table == table]
    return list(
        as_rows(
            context,
            [
                value
                for measure in added
                for value in _with_care(context, measure, getattr(measure, how))
            ],
        )
    )


def released_rows(
    world: World, synthetic: Mapping[str, Sequence[pd.DataFrame]], unaltered: Sequence[str]
) -> pd.DataFrame:
    """Patterns and share of unique records on all unaltered released columns; identification and
    match risk of each scheme.

    It is what an intruder has who knows ALL of them, not only those of the scenario (METHODS
    section 13), in the columns of `riskweighted.evaluation.tables.COLUMNS`; what is of the patterns
    stands under the confidential label.
    """
    return released_table(released_tallies(world, synthetic, unaltered))


def released_tallies(
    world: World, synthetic: Mapping[str, Sequence[pd.DataFrame]], unaltered: Sequence[str]
) -> Tally:
    """What one part of a file, of whole known patterns that are all among the columns, tells of
    `released_rows`; they are added by `+`.
    """
    wide = world.under(replace(world.scenario, known=tuple(unaltered)))
    schemes = {label: tally_of_scheme(wide, frames) for label, frames in synthetic.items()}
    return Tally(patterns=tally_of_patterns(wide), schemes=Tally(schemes))


def released_table(total: Tally) -> pd.DataFrame:
    """What `released_rows` gives, of the total over the parts."""
    made = [as_row(CONFIDENTIAL, value) for value in of_patterns(total["patterns"])]
    return as_table(
        [
            *made,
            *(
                as_row(label, value)
                for label, scheme in total["schemes"].items()
                for value in of_scheme(scheme)
            ),
        ]
    )


def _with_care(context: Context, measure: Measure, compute: Computation) -> list[Value]:
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
            values += values_of(measure, compute(of_variable), variable)
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
