"""Values that many records share beyond what multiples explain, each of which has a share of its
own (METHODS section 5.7).
"""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import hypergeom

from riskweighted.common.found import FoundNumbers
from riskweighted.design.precision import round_to

__all__ = ["FEWEST_UNITS", "few_hold", "shared_values"]

FEWEST_UNITS = 10  # that hold a value
_RECORDS, _SHARE = 20, 0.01  # that hold a value, at least
_CHECKED, _CHECKED_SHARE = 10, 0.02  # or so many, which the check of a fit looks at
_FEWEST_VALUES = 20  # different ones: among fewer each has a share of its own anyway
# multiples of as much to either side that say what a value would have; how far from it
_FEWEST, _NEIGHBOURS, _BESIDE = 2, 10, 0.25
# times what these have; the probability of one such value in a file without any
_BEYOND, _LEVEL = 1.5, 0.05
# spreads of the logarithms to either side; a normal one's distance of quartiles
_AROUND, _NORMAL = 0.25, 1.35
_TENS = tuple(
    step * 10**power
    for power in range(16)
    for step in (1, 5)
    if (step, power) not in ((5, 0), (5, 1))
)


def shared_values(
    amounts: np.ndarray, precision: float | None, units: Sequence[np.ndarray] = ()
) -> FoundNumbers:
    """The positive values of amounts (n,) that are held by 20 records and 1 %, or 10 and 2 %, and
    more than their neighbours.

    Neighbours are the multiples beside it of as large a power of ten, or five times one from 100
    units on: a value that is held like these, for what there is of others around either, is no heap
    of its own. Where the values are no multiples of a `precision` all are alike, and a neighbour
    has no record. The least value of a grid is none: a smooth tail may begin as high. What a firm
    pays all of its own is a value of that firm: ten units must hold it.

    ``units``: of each column that groups the records the number of each amount's unit, (n,),
    negative where it has none.
    """
    held = round_to(amounts[amounts > 0], precision)
    values, counts = np.unique(held, return_counts=True)
    n = len(amounts)
    many = (counts >= max(_RECORDS, _SHARE * n)) | (counts >= max(_CHECKED, _CHECKED_SHARE * n))
    if precision is not None and len(values) < _FEWEST_VALUES:
        return FoundNumbers()
    if precision is not None:
        grid = np.rint(values / precision).astype(np.int64)
        low, high = np.quantile(np.log(held), [0.25, 0.75])
        around = _AROUND * (high - low) / _NORMAL
        many[0] = False  # where values begin, there is no tendency to stand out from
        many[many] = [
            _stands_out(grid, counts, place, around) for place in np.flatnonzero(many).tolist()
        ]
    found = values[many].tolist()
    few = few_hold(found, amounts, units, precision)
    return FoundNumbers(value for value in found if value not in few)


def few_hold(
    values: Iterable[float],
    amounts: np.ndarray,
    units: Sequence[np.ndarray],
    precision: float | None,
) -> list[float]:
    """Those of some values that fewer than ten units hold, of any column of `units` (see
    `shared_values`).
    """
    held = round_to(amounts, precision)
    return [
        value
        for value in values
        if any(len(np.unique(unit[(held == value) & (unit >= 0)])) < FEWEST_UNITS for unit in units)
    ]


def _stands_out(grid: np.ndarray, counts: np.ndarray, place: int, around: float) -> bool:
    """Whether a value, of those on a grid, is held by more records than multiples of as much beside
    it, so that no tendency to these explains it.

    Of the records of these values and of others near each (`around`: how far in logarithms, at
    least a step), as many to a step, those that hold the value itself are no more than chance gives
    (Fisher 1922), with a level that is shared by all values of the file.
    """
    own = int(grid[place])
    multiple = max(step for step in _TENS if own % step == 0)
    beyond = next(step for step in (*_TENS, own + 1) if step > multiple)
    steps = np.arange(1, max(_FEWEST, min(_NEIGHBOURS, int(_BESIDE * own / multiple))) + 1)
    beside = own + multiple * np.concatenate([-steps[::-1], steps])
    each = np.append(own, beside[(beside > 0) & (beside % beyond != 0)])
    found = np.minimum(np.searchsorted(grid, each), len(grid) - 1)
    held = np.where(grid[found] == each, counts[found], 0)
    reach = np.maximum(np.floor(around * each), 1.0)
    summed = np.concatenate([[0], np.cumsum(counts)])
    near = (
        summed[np.searchsorted(grid, each + reach, side="right")]
        - summed[np.searchsorted(grid, each - reach)]
    )
    others = np.maximum(near - held, 1) / reach
    if counts[place] <= _BEYOND * others[0] * held[1:].sum() / others[1:].sum():
        return False
    alike, records = np.rint(others * reach.min()), int(held.sum())
    chance = hypergeom.sf(
        counts[place] - 1, records + int(alike.sum()), records, int(counts[place] + alike[0])
    )
    return bool(chance <= _LEVEL / len(grid))
