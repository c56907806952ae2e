"""The rows of a label: every measure of the registry computed, ours as they stand, those of other packages with care."""

import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from numbers import Real
from typing import Any, Literal

import numpy as np

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.evaluation.tables import as_row
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Computation, Measure, Value
from riskweighted.measures.registry import is_ours, measures

__all__ = ["added_measures", "added_rows", "measured_rows"]

How = Literal["compute", "assess"]


def added_measures(how: How = "compute") -> list[Measure]:
    """The measures of other packages that an evaluation, or an assessment, computes."""
    return [one for one in measures().values() if getattr(one, how) is not None and not is_ours(one)]


def measured_rows(context: Context, table: str, variables: Sequence[str], how: How = "compute") -> list[dict[str, Any]]:
    """Our measures of a table for one label, in their order; those of a variable one variable after the other."""
    chosen = [one for one in measures().values() if one.table == table and getattr(one, how) is not None and is_ours(one)]
    found: list[Value] = []
    for each, ours in groupby(sorted(chosen, key=lambda one: one.order), key=lambda one: one.each):
        computations: list[Computation] = list(dict.fromkeys(getattr(one, how) for one in ours))
        for variable in variables if each else (None,):
            own = context if variable is None else replace(context, variable=variable)
            for compute in computations:
                found += compute(own)  # type: ignore[arg-type]
    return list(_as_rows(context, found))


def added_rows(context: Context, table: str, how: How = "compute") -> list[dict[str, Any]]:
    """The measures of other packages, each with random numbers of its own; one that fails is named, and left out."""
    found: list[Value] = []
    for measure in added_measures(how):
        if measure.table == table:
            found += _with_care(context, measure, getattr(measure, how))
    return list(_as_rows(context, found))


def _as_rows(context: Context, values: Iterable[Value]) -> Iterator[dict[str, Any]]:
    told = {} if context.mechanism is None else {"draws": str(context.mechanism.risk.draws)}
    baseline = None if context.baseline is None else context.baseline.label
    return (as_row(context.label, value, baseline, **told) for value in values)


def _with_care(context: Context, measure: Measure, compute: Computation) -> list[Value]:
    """What a stranger's measure gives; nothing of it where anything goes wrong, and of an error its type alone: its text may hold data."""
    entropy = [int(context.rng.bit_generator.seed_seq.generate_state(1)[0]), zlib.crc32(measure.key.encode())]
    found: list[Value] = []
    try:
        for variable in context.scenario.synthetic if measure.each else (None,):
            own = replace(context, variable=variable, rng=np.random.default_rng([*entropy, len(found)]))
            given: Any = compute(own)
            found += [Value(measure, float(given), variable)] if isinstance(given, Real) else list(given)
        malformed = not all(_is_value(measure, one, context.scenario.synthetic) for one in found) or len(set(map(_which, found))) < len(
            found
        )
        if not malformed:
            return [one._replace(value=float(one.value)) for one in found]
        what = "gave no number, nor values of its own"
    except Exception as error:
        what = f"raised {type(error).__name__}"
    warnings.warn(f"the measure {measure.key!r} {what}: it is left out", RiskWeightedWarning, stacklevel=2)
    return []


def _which(value: Value) -> tuple[object, ...]:
    return value.variable, value.parameter, value.term


def _is_value(measure: Measure, value: object, variables: Sequence[str]) -> bool:
    """Whether it is a row of this measure that the tables can hold."""
    if not isinstance(value, Value) or value.measure is not measure or not measure.takes(value.parameter, value.term):
        return False
    numbers = (value.value, value.error, *value.interval, *(() if value.parameter is None else (value.parameter,)))
    texts = (value.term, value.rule, value.definition)
    named = value.variable is None or value.variable in variables
    return len(value.interval) == 2 and named and all(isinstance(one, Real) for one in numbers) and all(map(_is_text, texts))


def _is_text(text: object) -> bool:
    return text is None or isinstance(text, str)
