"""Canonical-correlation measures of the numeric synthetic variables, in the first dataset of an
assessment whose rows pair.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value, mean_of_records

__all__ = ["MEASURES"]


def correlated(context: Context) -> Iterator[Value]:
    """Of the records whose values are amounts in both files."""
    world, names, level = context.world, list(context.world.numeric), context.settings.level
    if context.paired is None or not names:
        return
    from riskweighted.risk.canonical import canonical_disclosure

    first = context.paired.frames[0]
    both = [
        world.scenario.statuses(frame[name]).is_amount
        for frame in (world.confidential, first)
        for name in names
    ]
    complete = np.logical_and.reduce(both)
    try:
        linked = canonical_disclosure(world.confidential[complete], first[complete], names)
    except InputError as error:
        yield Value(_R2, np.nan, rule="none", definition=f"undefined: {error}")
        return
    count = len(linked.probability)
    among = (
        ""
        if complete.all()
        else f"; among the {count} of {len(complete)} records whose values are amounts in both "
        "files"
    )
    for value in (
        Value(_R2, linked.largest, rule="exact"),
        mean_of_records(
            _PROBABILITY, linked.mean_probability, linked.probability.to_numpy(), level
        ),
    ):
        yield value._replace(definition=f"{value.measure.definition}{among}")


_FIRST = "first dataset (Muralidhar & Sarathy)"
_canonical = partial(
    Measure,
    source="Muralidhar & Sarathy",
    direction="riskier",
    order=110,
    assess=correlated,
    pairs=True,
)
_R2 = _canonical(
    "canonical-r2",
    "largest canonical R^2",
    "lambda_1, the largest R^2 of a linear combination of confidential variables on the "
    f"synthetic ones, {_FIRST}",
    kind="extreme",
)
_PROBABILITY = _canonical(
    "identification-probability",
    "mean identification probability",
    f"mean over records of Fuller's P at the true record, {_FIRST}",
    kind="mean",
)
MEASURES = (_R2, _PROBABILITY)
