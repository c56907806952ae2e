"""Numbers as predictors: a straight line and the bends of a natural cubic spline of few knots
(METHODS section 12).
"""

import math
from dataclasses import dataclass, field

import numpy as np

__all__ = [
    "FEWEST_FOR_BENDS",
    "SplineBasis",
    "columns_of",
    "independent",
    "largest_round",
    "make_spline_basis",
    "zero_is_status",
]

# quantiles, Harrell's places for five knots, and for seven
_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)
_MORE_KNOTS = (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975)
_MANY = 2000  # amounts, from which there are seven
FEWEST_FOR_BENDS = 8  # different amounts; of fewer a straight line
# times their median that the largest hundredth of amounts must exceed for a signed log
_STRETCHED = 3.0
_STEPS = 16  # of the grid to one spread of the amounts
_NORMAL = 1.35  # standard deviations between the quartiles
_FEWEST_OF_STATUS = 10  # records
_SHARE_OF_STATUS = 0.01
_DEPENDENT = 1e-7


@dataclass(frozen=True, eq=False)
class SplineBasis:
    """How numbers become b columns, and one more where zero is apart. Confidential: quantiles are
    the data's.

    ``unit``, where amounts y are taken as asinh(y / unit); ``step`` of the grid that they are then
    rounded to, None for as recorded; ``knots`` of a natural cubic spline, empty for a straight
    line; ``onto`` (b, b), from the spline's columns to orthogonal ones, and their ``centre`` (b,)
    over the amounts; ``zero_apart``: a zero has its place on the line, none on the bends, and an
    indicator, last.
    """

    unit: float | None = None
    step: float | None = None
    knots: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    onto: np.ndarray = field(default_factory=lambda: np.eye(1), repr=False)
    centre: np.ndarray = field(default_factory=lambda: np.zeros(1), repr=False)
    zero_apart: bool = False

    def columns(self, numbers: np.ndarray) -> np.ndarray:
        """The columns of numbers (m,), centred over the amounts, (m, b) or (m, b + 1)."""
        columns = np.asarray(
            _bent(_placed(numbers, self.unit, self.step), self.knots) @ self.onto - self.centre
        )
        if not self.zero_apart:
            return columns
        zero = numbers == 0
        columns[zero, 1:] = 0.0
        return np.column_stack([columns, zero])


def make_spline_basis(amounts: np.ndarray, on_grid: bool = False) -> SplineBasis:
    """The bends of amounts (m,), m > 0.

    `on_grid`: zero is apart where it is a status (`zero_is_status`), and amounts and knots are
    rounded to multiples of the largest of 1, 2, 5 x 10^k within a sixteenth of the spread (the
    interquartile range over 1.35), and ``unit`` to one digit: no knot is a value of one record, and
    few different columns occur.
    """
    zero_apart = on_grid and zero_is_status(amounts)
    amounts = amounts[amounts != 0] if zero_apart else amounts
    unit = _unit(amounts)
    unit = float(f"{unit:.0e}") if on_grid and unit is not None else unit
    step = _step(_placed(amounts, unit, None)) if on_grid else None
    z = _placed(amounts, unit, step)
    enough = len(np.unique(z if on_grid else amounts)) >= FEWEST_FOR_BENDS
    knots = (
        np.unique(_rounded(np.quantile(z, _places(len(amounts))), step)) if enough else np.empty(0)
    )
    knots = knots if len(knots) >= 3 else np.empty(0)
    bent = _bent(z, knots)
    onto = _orthogonal(bent - bent.mean(axis=0))
    return SplineBasis(unit, step, knots, onto, (bent @ onto).mean(axis=0), zero_apart)


def columns_of(n: int) -> int:
    """How many columns n amounts become that differ enough for bends."""
    return len(_places(n)) - 1


def _places(n: int) -> tuple[float, ...]:
    return _KNOTS if n < _MANY else _MORE_KNOTS


def zero_is_status(amounts: np.ndarray) -> bool:
    """Whether zero is a status of its own beside amounts (n,): it and other values are each those
    of 10 records and 1 % or more.
    """
    zeros, others = int((amounts == 0).sum()), int((amounts != 0).sum())
    least = max(_FEWEST_OF_STATUS, _SHARE_OF_STATUS * (zeros + others))
    return min(zeros, others) >= least and len(np.unique(amounts)) > 2


def largest_round(most: float) -> float:
    """The largest of 1, 2, 5 x 10^k that is at most a positive number."""
    power = 10.0 ** math.floor(math.log10(most))
    return float(f"{next((digit * power for digit in (5, 2) if digit * power <= most), power):.0e}")


def _placed(amounts: np.ndarray, unit: float | None, step: float | None) -> np.ndarray:
    """Amounts on the scale of the predictor."""
    return _rounded(amounts if unit is None else np.arcsinh(amounts / unit), step)


def _rounded(z: np.ndarray, step: float | None) -> np.ndarray:
    return z if step is None else np.rint(z / step) * step


def _bent(z: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """z (m,) and the bends of a natural cubic spline, straight beyond the end knots, (m, 1) or (m,
    knots - 1).
    """
    if len(knots) == 0:
        return z[:, None]
    scale = knots[-1] - knots[0]
    cubes = np.maximum((z[:, None] - knots) / scale, 0.0) ** 3
    slopes = (cubes[:, :-1] - cubes[:, -1:]) / ((knots[-1] - knots[:-1]) / scale)
    return np.column_stack([z, slopes[:, :-1] - slopes[:, -1:]])


def _step(z: np.ndarray) -> float | None:
    """The step of the grid for amounts on the scale of the predictor; None where they do not
    spread.
    """
    lower, upper = np.quantile(z, [0.25, 0.75])
    spread = float(upper - lower) / _NORMAL or float(z.std())
    return largest_round(spread / _STEPS) if spread > 0 else None


def _unit(amounts: np.ndarray) -> float | None:
    """The median size of amounts with a long tail, whose signed log is taken."""
    sizes = np.abs(amounts[amounts != 0])
    if len(sizes) == 0 or np.quantile(sizes, 0.99) <= _STRETCHED * np.median(sizes):
        return None
    return float(np.median(sizes))


def _orthogonal(centred: np.ndarray) -> np.ndarray:
    """(b, b) that makes each column uncorrelated with those before it, and of the first one's
    variance.
    """
    spread = np.sqrt((centred**2).mean(axis=0))
    if not (spread > 0).all():
        return np.eye(centred.shape[1])
    triangle = np.linalg.qr(centred / spread)[1]
    if np.abs(np.diag(triangle)).min() <= 1e-8 * np.abs(np.diag(triangle)).max():
        return np.eye(centred.shape[1])
    turn = np.linalg.inv(triangle) * triangle[0, 0]
    return np.asarray(turn / spread[:, None] * spread[0])


def independent(columns: np.ndarray) -> np.ndarray:
    """Which columns (n, p) vary and are no combination of those before them; booleans (p,)."""
    centred, largest = columns - columns.mean(axis=0), np.abs(columns).max(axis=0, initial=0.0)
    size = np.sqrt((centred**2).sum(axis=0))
    keep = np.zeros(columns.shape[1], dtype=bool)
    basis = np.empty((len(columns), 0))
    for place in range(columns.shape[1]):
        if size[place] <= 1e-12 * max(1.0, largest[place]) * np.sqrt(len(columns)):
            continue
        left = centred[:, place] / size[place]
        for _ in range(2):  # twice is enough
            left = left - basis @ (basis.T @ left)
        remaining = np.linalg.norm(left)
        if remaining > _DEPENDENT:
            basis = np.column_stack([basis, left / remaining])
            keep[place] = True
    return keep
