"""Canonical-correlation measures of the numeric synthetic variables, in the first dataset of an assessment whose rows pair."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Measure, Value

__all__ = ["MEASURES"]


def correlated(context: Context) -> Iterator[Value]:
    """Of the records whose values are amounts in both files."""
    world, names, level = context.world, list(context.world.numeric), context.settings.level
    if context.paired is None or not names:
        return
    from riskweighted.risk.canonical import canonical_disclosure
    from riskweighted.utility.intervals import mean_interval, proportion_interval

    frame = context.paired.frames[0]
    both = [world.scenario.statuses(one[name]).is_amount for one in (world.confidential, frame) for name in names]
    complete = np.logical_and.reduce(both)
    try:
        found = canonical_disclosure(world.confidential[complete], frame[complete], names)
    except InputError as error:
        yield Value(_R2, np.nan, rule="none", definition=f"undefined: {error}")
        return
    count, nothing = len(found.probability), (np.nan, np.nan)
    by_record, over_records = "t interval over records", "Wilson interval over records"
    among = "" if complete.all() else f"; among the {count} of {len(complete)} records whose values are amounts in both files"
    for measure, value, interval, rule in (
        (_R2, found.largest, nothing, "exact"),
        (_PROBABILITY, found.mean_probability, mean_interval(found.probability.to_numpy(), level=level), by_record),
        (_LINKED, found.reidentified, proportion_interval(found.reidentified, count, level=level), over_records),
        (_BOUND, found.midp_bound, nothing, "a bound"),
    ):
        yield Value(measure, value, interval=interval, rule=rule, definition=f"{measure.definition}{among}")


_FIRST = "first dataset (Muralidhar & Sarathy)"
_one = partial(Measure, source="Muralidhar & Sarathy", direction="riskier", order=110, assess=correlated, pairs=True)
_R2 = _one(
    "canonical-r2",
    "largest canonical R^2",
    f"lambda_1, the largest R^2 of a linear combination of confidential variables on the synthetic ones, {_FIRST}",
    kind="extreme",
)
_PROBABILITY = _one(
    "identification-probability",
    "mean identification probability",
    f"mean over records of Fuller's P at the true record, {_FIRST}",
    kind="mean",
)
_LINKED = _one(
    "canonical-reidentified",
    "re-identified by canonical distance",
    f"share of records linked to their own synthetic record by the canonical distance, {_FIRST}",
    kind="share",
)
_BOUND = _one("midp-bound", "MIDP bound", f"lower bound of the mean identification probability for normal data, {_FIRST}", kind="bound")
MEASURES = (_R2, _PROBABILITY, _LINKED, _BOUND)
