"""How alike the members of units are, and how a panel goes on: each of the datasets, whose values
stand beside those of the confidential data under the label "confidential" (METHODS section 12.5).
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from riskweighted.common.frames import as_floats
from riskweighted.intruder.patterns import level_codes
from riskweighted.measures.context import Context
from riskweighted.measures.measure import Disclosure, Measure, Value

if TYPE_CHECKING:
    from riskweighted.common.units import Arrangement

__all__ = ["ALIKE", "DECILE", "INTERCEPT", "MEASURES", "PAIR", "TOTAL", "WAVES"]

_FEWEST = 100  # units, of which each decile has ten on its smaller side
_TENTHS = tuple(tenth / 10 for tenth in range(1, 10))
MEANS, CHANGES, MOVES = "spread of means", "spread of changes", "share that moves"


def unit_values(context: Context) -> Iterator[Value]:
    """Of one variable, mean over the datasets; of records without units, and of what is drawn once
    a unit, nothing.
    """
    name, of = context.variable, context.world.arrangement
    if of is None or name is None or context.world.is_of_unit(name):
        return
    numeric = context.is_numeric
    figures = [
        _of_numbers(context.scenario.statuses(column).numbers, of)
        if numeric
        else _of_levels(level_codes(column), of)
        for column in context.columns
    ]
    for measure, term in dict.fromkeys(key for each in figures for key in each):
        drawn = [each[measure, term] for each in figures if (measure, term) in each]
        definition = _ALIKE_LEVELS if measure is ALIKE and not numeric else None
        yield Value(measure, float(np.mean(drawn)), name, term=term, definition=definition)


def _of_numbers(values: np.ndarray, of: "Arrangement") -> dict[tuple[Measure, str | None], float]:
    """The figures of one dataset's amounts (n,), by measure and term."""
    from riskweighted.utility.within_units import (
        autocorrelations,
        correlation,
        intraclass,
        pairs_with_first,
        spreads,
    )

    made: dict[tuple[Measure, str | None], float] = {(ALIKE, None): intraclass(values, of)}
    if of.times is not None:
        made |= {(WAVES, f"lag {lag}"): figure for lag, figure in autocorrelations(values, of)}
        made |= zip([(WAVES, MEANS), (WAVES, CHANGES)], spreads(values, of), strict=True)
        return made
    for who, first, other in pairs_with_first(values, of):
        made[PAIR, f"{who}: correlation"] = correlation(first, other)
        made[PAIR, f"{who}: spread of the gap"] = float((first - other).std(ddof=1))
    return made


def _of_levels(codes: np.ndarray, of: "Arrangement") -> dict[tuple[Measure, str | None], float]:
    """The same of levels, as codes (n,)."""
    from riskweighted.utility.within_units import share_alike, share_of_moves

    made: dict[tuple[Measure, str | None], float] = {(ALIKE, None): share_alike(codes, of)}
    if of.times is not None:
        made[WAVES, MOVES] = share_of_moves(codes, of)
    return made


def of_totals(context: Context) -> Iterator[Value]:
    """The spread and the deciles of every total over units, mean over the datasets; nothing where
    datasets lack it.
    """
    of, units = context.world.arrangement, context.world.units
    if of is None or units is None or len(of.sizes) < _FEWEST:
        return
    firsts = np.flatnonzero(of.position == 0)
    for name in units.totals:
        drawn = [as_floats(frame[name])[firsts] for frame in context.synthetic if name in frame]
        if not drawn:
            continue
        spread = np.mean([values.std(ddof=1) for values in drawn])
        yield Value(TOTAL, float(spread), name, term="standard deviation")
        deciles = np.mean([np.quantile(values, _TENTHS) for values in drawn], axis=0)
        for tenth, decile in zip(_TENTHS, deciles, strict=True):
            yield Value(DECILE, float(decile), name, term=f"{tenth:g} quantile")


def of_regressions(context: Context) -> Iterator[Value]:
    """The random intercept of units in each least-squares regression, mean over the datasets."""
    from riskweighted.utility.regressions import residuals_of
    from riskweighted.utility.within_units import random_intercept

    of = context.world.arrangement
    if of is None:
        return
    for analysis in (each for each in context.subject.analyses if not each.logistic):
        drawn = [random_intercept(residuals_of(analysis, frame), of) for frame in context.synthetic]
        yield Value(INTERCEPT, float(np.mean(drawn)), analysis.response, term=analysis.formula)


_within = partial(
    Measure,
    source="METHODS section 12.5",
    direction="neither",
    table="utility",
    order=70,
    each=True,
    needs="pairs",
    compute=unit_values,
    disclosure=Disclosure.THREE_DIGITS,
)
_ALIKE_LEVELS = "share of the units of two members and more that all have one level"
ALIKE = _within(
    "unit-alike",
    "members alike",
    "intraclass correlation: 1 less the mean square within units over the variance, of units with "
    "two amounts and more",
    kind="coefficient",
)
PAIR = _within(
    "unit-pair",
    "first member and {term}",
    "correlation of the first member's amount with that of another one, and the standard deviation "
    "of their difference: {term}",
    kind="estimate",
    parameter="level",
    many=True,
)
WAVES = _within(
    "unit-waves",
    "waves: {term}",
    "correlation of amounts of one unit so many waves apart; standard deviation of units' means, "
    "and of changes from wave to wave, over that of all amounts; share of records of another level "
    "than the wave before: {term}",
    kind="coefficient",
    parameter="level",
    many=True,
)
_of_totals = partial(
    _within,
    definition="of a total of units ([units.totals]), over units: {term}",
    parameter="level",
    many=True,
    each=False,
    compute=of_totals,
)
TOTAL = _of_totals("unit-total", "spread over units: {term}", kind="estimate")
DECILE = _of_totals(
    "unit-decile", "over units: {term}", kind="quantile", disclosure=Disclosure.SHARED_DIGITS
)
INTERCEPT = _within(
    "unit-intercept",
    "random intercept in {term}",
    "standard deviation of a random intercept of units, from the mean squares of residuals between "
    "and within units (Searle, Casella & McCulloch 1992): {term}",
    kind="estimate",
    parameter="coefficient",
    many=True,
    each=False,
    compute=of_regressions,
)
MEASURES = (ALIKE, PAIR, WAVES, TOTAL, DECILE, INTERCEPT)
