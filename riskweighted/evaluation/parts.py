"""The rows of a label as sums over parts of its file: tallies of each part, their sum, and the rows
of the total.

Whoever has the whole file in memory has one part
(`riskweighted.evaluation.computing.measured_rows`). With several, each of which holds whole known
patterns, the steps are

1. `tallies` of every part, `add` them in any order;
2. while `asked` names anything: `again` of every part, `add` those, and `complete` the total with
   their sum;
3. `rows` of the total.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, TypeAlias

from riskweighted.evaluation.tables import as_row
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Computation, Measure, Value, values_of
from riskweighted.measures.parts import ByParts, by_parts, plus
from riskweighted.measures.registry import is_ours, measures

__all__ = [
    "How",
    "Tallies",
    "add",
    "again",
    "as_rows",
    "asked",
    "complete",
    "left_out",
    "rows",
    "tallies",
]

How = Literal["compute", "assess"]
Key: TypeAlias = tuple[str, str | None]  # of a tally: its name, and the variable that it is of
Tallies: TypeAlias = dict[Key, Any]


def tallies(
    context: Context, variables: Sequence[str], table: str, how: How = "compute"
) -> Tallies:
    """What one part of a label's file tells of our measures of a table; `variables`: the
    synthesized ones, in the order of the rows.
    """
    return {
        key: computation.tally(of_variable)
        for key, computation, of_variable in _looked_at(context, variables, table, how)
    }


def add(one: Tallies, other: Tallies) -> Tallies:
    """The tallies of two parts together, in whatever order."""
    return {key: plus(one.get(key), other.get(key)) for key in dict.fromkeys([*one, *other])}


def asked(
    total: Tallies, context: Context, variables: Sequence[str], table: str, how: How = "compute"
) -> dict[Key, Any]:
    """What the parts must be told for another look, by tally; nothing where the total is complete.
    `context`: that of any part.
    """
    return {
        key: told
        for key, computation, of_variable in _looked_at(context, variables, table, how)
        if computation.further is not None
        and (told := computation.further(total[key], of_variable)) is not None
    }


def again(
    context: Context,
    told: Mapping[Key, Any],
    variables: Sequence[str],
    table: str,
    how: How = "compute",
) -> Tallies:
    """What one part tells when it is looked at again; `told`: what `asked` gave."""
    return {
        key: computation.again(of_variable, told[key])
        for key, computation, of_variable in _looked_at(context, variables, table, how)
        if key in told and computation.again is not None
    }


def complete(
    total: Tallies,
    more: Tallies,
    context: Context,
    variables: Sequence[str],
    table: str,
    how: How = "compute",
) -> Tallies:
    """The total with the sum of what the parts told when they were looked at again."""
    completed = dict(total)
    for key, computation, _ in _looked_at(context, variables, table, how):
        if key in more and computation.completed is not None:
            completed[key] = computation.completed(total[key], more[key])
    return completed


def rows(
    total: Tallies,
    context: Context,
    variables: Sequence[str],
    table: str,
    how: How = "compute",
    *,
    whole: bool = False,
) -> list[dict[str, Any]]:
    """The rows of a label, in their order, of the total over its parts.

    `context`: that of any part, with the label's own random numbers. `whole`: it is the context of
    the whole file, so that measures that are no sums over parts are computed of it, too; else they
    are left out (`left_out`).
    """
    values: list[Value] = []
    for computation, measure, of_variable in _computed(context, variables, table, how):
        if isinstance(computation, ByParts):
            given = computation.values(total[computation.name, of_variable.variable], of_variable)
        elif whole:
            given = computation(of_variable)
        else:
            continue
        values += values_of(measure, given, of_variable.variable)
    return list(as_rows(context, values))


def left_out(table: str) -> list[Measure]:
    """Our measures of a table that an evaluation by parts cannot compute."""
    return [measure for measure in _chosen(table, "compute") if not by_parts(measure)]


def as_rows(context: Context, values: Sequence[Value]) -> Iterator[dict[str, Any]]:
    """Values of a label as rows of a table."""
    told = {} if context.mechanism is None else {"draws": str(context.mechanism.risk.draws)}
    baseline = None if context.baseline is None else context.baseline.label
    return (as_row(context.label, value, baseline, **told) for value in values)


def _chosen(table: str, how: How) -> list[Measure]:
    """Our measures of a table that are computed."""
    return [
        each
        for each in measures().values()
        if each.table == table and getattr(each, how) is not None and is_ours(each)
    ]


def _computed(
    context: Context, variables: Sequence[str], table: str, how: How
) -> Iterator[tuple[Computation, Measure, Context]]:
    """The computations of a table in their order, each once, with its context; those of a variable
    one variable after the other.
    """
    chosen = sorted(_chosen(table, how), key=lambda measure: measure.order)
    for each, ours in groupby(chosen, key=lambda measure: measure.each):
        computations: dict[Computation, Measure] = {
            getattr(measure, how): measure for measure in ours
        }
        for variable in variables if each else (None,):
            of_variable = context if variable is None else replace(context, variable=variable)
            yield from (
                (compute, measure, of_variable) for compute, measure in computations.items()
            )


def _looked_at(
    context: Context, variables: Sequence[str], table: str, how: How
) -> Iterator[tuple[Key, ByParts, Context]]:
    """The tallies of a table, each once, with the first computation that it is of."""
    seen = set[Key]()
    for computation, _, of_variable in _computed(context, variables, table, how):
        if (
            isinstance(computation, ByParts)
            and (key := (computation.name, of_variable.variable)) not in seen
        ):
            seen.add(key)
            yield key, computation, of_variable
