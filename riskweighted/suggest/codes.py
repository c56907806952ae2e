"""Numbers that stand for no amount: declared to mean missing, or at an end of a column and apart
from the rest.
"""

import re

import numpy as np
import pandas as pd

from riskweighted.data.variable import Variable

__all__ = ["find_codes"]

_LEAST_OF_CODE, _SHARE_OF_CODE = 10, 0.001  # records
_GAP = 0.1  # of a code at the upper end: how far the other values stay below it
_CODE = re.compile(r"-[1-9]|-?(66+|77+|88+|9+[5-9])")


def find_codes(counts: pd.Series, records: int, stated: Variable) -> tuple[float, ...]:
    """The codes of a column of numbers: those below the other values from above, then those above
    them.

    `counts`: how many of the `records` have each value. Found are whole numbers at an end that look
    like codes, that many records hold, and that stand apart from the other values; those that are
    declared to mean missing are added wherever they stand.
    """
    values, held = counts.index.to_numpy(dtype=float), counts.to_numpy()
    declared = stated.is_missing(pd.Series(values, dtype=float))
    found = _found(values, held >= max(_LEAST_OF_CODE, _SHARE_OF_CODE * records))
    if not declared.any():
        return found
    codes, rest = {*found, *values[declared].tolist()}, values[~declared & ~np.isin(values, found)]
    below = {code for code in codes if len(rest) and code < rest.min()}
    return (*sorted(below, reverse=True), *sorted(codes - below))


def _found(values: np.ndarray, held: np.ndarray) -> tuple[float, ...]:
    """Of the different values, those that look like codes at an end, among those that many records
    hold.
    """
    likely = np.zeros(len(values), dtype=bool)
    likely[held] = [_reads_as_code(value) for value in values[held].tolist()]
    if not likely.any() or likely.all():
        return ()
    least, most = values[~likely].min(), values[~likely].max()
    codes: list[float] = values[likely].tolist()
    below = sorted((code for code in codes if code < 0), reverse=True) if least >= 0 else []
    above = sorted(code for code in codes if code > max(most, 0))
    if above and above[0] - most <= _GAP * above[0]:
        above = []
    return tuple(below + above)


def _reads_as_code(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e9 and _CODE.fullmatch(f"{value:.0f}") is not None
