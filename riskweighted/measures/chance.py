"""The counts that L datasets would give by chance, from the expected risks of the records (METHODS
section 2.5).
"""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES"]


def chance_counts(context: Context) -> Iterator[Value]:
    """How many records lie over the threshold, and rise over the baseline, by chance."""
    if context.mechanism is None:
        return
    from riskweighted.risk.whack_a_mole_risk import expected_over, expected_whack_a_mole_records

    risk, datasets, settings = context.mechanism.risk, len(context.synthetic), context.settings
    told, threshold, increase = {"datasets": str(datasets)}, settings.threshold, settings.increase
    over = expected_over(risk, datasets, threshold)
    yield Value(_OVER, over, parameter=threshold, told=told)
    rival = None if context.baseline is None else context.baseline.mechanism
    if rival is not None:
        whacked = expected_whack_a_mole_records(risk, rival.risk, datasets, increase)
        yield Value(_WHACKED, whacked, parameter=increase, told=told)


_count = partial(
    Measure,
    source="METHODS section 2.5",
    direction="neither",
    kind="count",
    disclosure=Disclosure.COUNT,
    order=20,
    compute=chance_counts,
    needs="fit",
    mechanism=True,
)
_OVER = _count(
    "chance-records-over",
    "by chance over {parameter:g}",
    "records whose IR over {datasets} datasets exceeds {parameter:g} that the expected risks "
    "make likely: a binomial sum",
    parameter="threshold",
    words="records over {parameter:g} that chance makes likely",
    main=150,
)
_WHACKED = _count(
    "chance-whack-a-mole",
    "by chance whack-a-mole",
    "records whose IR over {datasets} datasets rises by {parameter:g} or more over as many of "
    "the unweighted fit that the expected "
    "risks of both fits make likely: a double binomial sum",
    parameter="increase",
    words="rises of {parameter:g} that chance makes likely",
    main=170,
)
MEASURES = (_OVER, _WHACKED)
