"""The gap attack: whom an intruder finds who guesses where the copies of a pattern are missing."""

from collections.abc import Iterator
from functools import partial

from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

__all__ = ["MEASURES"]


def gap_attack_values(context: Context) -> Iterator[Value]:
    """Share of the records, of the width that finds most of them; none of the confidential data."""
    if context.paired is None or context.of_data or not context.is_numeric:
        return
    from riskweighted.risk.gap_guesses import find_by_gaps

    found = find_by_gaps(context.paired, str(context.variable))
    yield Value(_ALL, float(found.mean(axis=1).max()), context.variable)


_GUESS = (
    "in whose ball lies the guess of an intruder who looks for holes: where all copies of a "
    "known pattern lie lowest under their own "
    "smooth density, by the best of three widths; the true values say which is best, so it is an "
    "upper figure"
)
_hole = partial(
    Measure,
    source="METHODS section 13.1",
    direction="riskier",
    kind="share",
    disclosure=Disclosure.SHARE,
    order=75,
    each=True,
    compute=gap_attack_values,
    needs="pairs",
    limited=False,
)
_ALL = _hole("gap-attack", "gap attack", f"share of the records {_GUESS}")
MEASURES = (_ALL,)
