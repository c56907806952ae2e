"""One variable as counts: how many records hold each amount, status or level, in the confidential
data and in each dataset.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.value_counts import LevelCounts, ValueCounts, of_share
from riskweighted.intruder.statuses import AMOUNT, MISSING, status_name
from riskweighted.measures.context import Context
from riskweighted.measures.measure import LEAST_TAIL
from riskweighted.measures.parts import Tally

__all__ = ["NumberCounts", "counts_of", "counts_of_variable", "told_apart"]


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """Of a numeric variable its ``amounts``, and the records of each status, ``statuses`` (2 +
    codes,): amounts, missing, special codes.
    """

    amounts: ValueCounts = field(repr=False)
    statuses: np.ndarray = field(repr=False)

    def __add__(self, other: "NumberCounts") -> "NumberCounts":
        return NumberCounts(self.amounts + other.amounts, self.statuses + other.statuses)

    def having(self, status: int) -> ValueCounts:
        """Whether a record has a status, as ones and zeros."""
        return of_share(int(self.statuses[status]), int(self.statuses.sum()))


def counts_of_variable(context: Context) -> Tally:
    """The tally of the variable that is meant: ``true``, and ``drawn``, a tuple of those of the
    datasets.
    """
    true = counts_of(context, context.true_values)
    return Tally(
        true=true,
        drawn=(true,)
        if context.of_data
        else tuple(counts_of(context, column) for column in context.columns),
    )


def counts_of(context: Context, column: pd.Series) -> NumberCounts | LevelCounts:
    """Those of one column of the variable that is meant."""
    if not context.is_numeric:
        return LevelCounts.of(column)
    statuses = context.scenario.statuses(column)
    codes = context.scenario.codes_of(str(context.variable))
    return NumberCounts(
        ValueCounts.of(statuses.amounts),
        np.bincount(statuses.status, minlength=MISSING + 1 + len(codes)),
    )


def told_apart(
    context: Context, true: NumberCounts | LevelCounts
) -> Iterator[tuple[bool, str, Any]]:
    """What 10 confidential records share: whether it is missing or a code, its name, and the
    status, or the level, None if missing.
    """
    if isinstance(true, NumberCounts):
        codes = context.scenario.codes_of(str(context.variable))
        held = np.flatnonzero(true.statuses >= LEAST_TAIL).tolist()
        yield from (
            (True, status_name(status, codes), status) for status in held if status != AMOUNT
        )
        return
    levels = {level: count for level, count in true.counts.items() if count >= LEAST_TAIL}
    ordered = (
        [level for level in true.order if level in levels]
        if true.order
        else sorted(levels, key=str)
    )
    yield from ((False, str(level), level) for level in ordered)
    if true.missing >= LEAST_TAIL:
        yield True, status_name(MISSING, ()), None
