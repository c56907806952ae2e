"""The counts that L datasets would give by chance, from the expected risks of the records (METHODS
section 2.5).
"""

from collections.abc import Iterator
from functools import partial

from riskweighted.common.exact import ExactSum
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value
from riskweighted.measures.parts import ByParts, Tally

__all__ = ["MEASURES"]


def _tally(context: Context) -> Tally | None:
    """The records' probabilities of lying over the threshold, and of rising over the baseline."""
    if context.mechanism is None:
        return None
    from riskweighted.risk.chance import chance_over, chance_whacked

    risk, datasets, settings = context.mechanism.risk, len(context.synthetic), context.settings
    tally = Tally(over=ExactSum.of(chance_over(risk, datasets, settings.threshold)))
    if context.baseline is not None and context.baseline.mechanism is not None:
        tally["whacked"] = ExactSum.of(
            chance_whacked(risk, context.baseline.mechanism.risk, datasets, settings.increase)
        )
    return tally


def _values(total: Tally | None, context: Context) -> Iterator[Value]:
    """How many records lie over the threshold, and rise over the baseline, by chance."""
    if total is None:
        return
    told = {"datasets": str(len(context.synthetic))}
    yield Value(_OVER, total["over"].sum, parameter=context.settings.threshold, told=told)
    if "whacked" in total:
        yield Value(_WHACKED, total["whacked"].sum, parameter=context.settings.increase, told=told)


by_chance = ByParts(_tally, _values)
_count = partial(
    Measure,
    source="METHODS section 2.5",
    direction="neither",
    kind="count",
    disclosure=Disclosure.COUNT,
    order=20,
    compute=by_chance,
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
