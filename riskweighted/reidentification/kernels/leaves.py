"""What a query costs with n profiles in a row, added to `total` variable by variable; arrays are passed one by one, as in `bounds`."""

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.reidentification.kernels.costs import EQUAL, LOGISTIC, logistic

__all__ = ["KEEP", "add_codes", "add_others", "add_steps", "keep_best"]

KEEP = 6  # five pairs, and the one that shows whether their last rank is whole


@kernel
def add_codes(few: np.ndarray, by_code: np.ndarray, codes: np.ndarray, start: int, n: int, total: np.ndarray) -> None:
    """Begin with the variables of few codes: their cost is looked up."""
    for place in range(n):
        total[place] = 0.0
    for variable in few:
        for place in range(n):
            total[place] += by_code[variable, codes[variable, start + place]]


@kernel
def add_steps(
    stepped: np.ndarray,
    query: np.ndarray,
    columns: np.ndarray,
    breaks: np.ndarray,
    steps: np.ndarray,
    missing: float,
    start: int,
    n: int,
    total: np.ndarray,
) -> None:
    """Add the variables of steps."""
    for variable in stepped:
        own = query[variable]
        if np.isnan(own):
            for place in range(n):
                total[place] += missing
            continue
        for place in range(n):
            total[place] += missing if np.isnan(columns[variable, start + place]) else steps[variable, 0]
        for number in range(breaks.shape[1] - 1):
            limit, rise = breaks[variable, number], steps[variable, number + 1] - steps[variable, number]
            if np.isinf(limit):
                break
            for place in range(n):
                total[place] += rise if abs(columns[variable, start + place] - own) > limit else 0.0


@kernel
def add_others(
    others: np.ndarray,
    query: np.ndarray,
    kinds: np.ndarray,
    columns: np.ndarray,
    tables: np.ndarray,
    starts: np.ndarray,
    widths: np.ndarray,
    missing: float,
    most: float,
    start: int,
    n: int,
    total: np.ndarray,
) -> None:
    """Add the other variables, where the sum is not above `most` yet."""
    for variable in others:
        own, kind = query[variable], kinds[variable]
        for place in range(n):
            value = columns[variable, start + place]
            if total[place] > most:
                continue
            if np.isnan(own) or np.isnan(value):
                total[place] += missing
            elif kind == EQUAL:
                total[place] += 0.0 if own == value else 1.0
            elif kind == LOGISTIC:
                total[place] += logistic(abs(own - value))
            else:
                total[place] += tables[starts[variable] + int(own) * widths[variable] + int(value)]


@kernel
def keep_best(
    total: np.ndarray, start: int, n: int, limit: float, sizes: np.ndarray, places: np.ndarray, least: np.ndarray, row: int
) -> None:
    """Put the profiles that are among the six best so far, in ``least[row]`` ascending, there and into ``places[row]``, once per record."""
    for place in range(n):
        cost = total[place]
        if cost > limit:
            continue
        for _ in range(min(sizes[start + place], KEEP)):
            if cost >= least[row, KEEP - 1]:
                break
            slot = KEEP - 1
            while slot > 0 and least[row, slot - 1] > cost:
                least[row, slot], places[row, slot] = least[row, slot - 1], places[row, slot - 1]
                slot -= 1
            least[row, slot], places[row, slot] = cost, start + place
