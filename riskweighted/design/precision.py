"""How finely a column is recorded, so that released numbers are no finer: digits beyond it would
tell draws from data.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

__all__ = [
    "LEVELS",
    "SIGNIFICANT_DIGITS",
    "Precision",
    "find_precision",
    "in_words",
    "precision_of",
    "round_to",
    "round_within",
    "unit_of",
]

# of one variable, of all alike, or by variable
Precision: TypeAlias = float | Mapping[str, float] | None
LEVELS = "levels"  # in place of a precision, where what is released are no numbers
SIGNIFICANT_DIGITS = 7  # of numbers that lie on no grid of powers of ten
_EXACT_POWER = 22  # of ten, the largest that a double holds
_COARSEST, _FINEST = 6, -8  # powers of ten that are looked at
_EXACT = 1e-9  # units: how far from a multiple a stored number may lie, besides rounding
_MOST = 0.95  # of the values: a few imputed ones are on no grid
_COARSER = 10  # times the power of ten: a constant that is the step in its place
_FEWEST_MULTIPLES = 20  # different numbers, of which a common divisor is no chance
_LEAST_STEP = 100  # times how far a number may lie from a multiple
_RATE_DIGITS = 8  # of a currency's rate, at most
_DIGITS_KEPT = 1e-14  # of the largest number: what multiplying takes off it
_FEW_DIGITS = 6  # to which no person rounds
# of the values, in a decade; and of those of a decade, that use all digits
_RARE, _FULL = 0.05, 0.7
_LOOKED_AT = 2_000  # values, at first


def precision_of(precision: Precision, variable: str) -> float | None:
    """The precision of a variable, where one is given."""
    return precision.get(variable) if isinstance(precision, Mapping) else precision


def find_precision(column: pd.Series) -> float | None:
    """The largest power of ten, from 1e-8 to 1e6, of which every value of a column is a multiple;
    or else 95 % of them are; or None.

    Where all are multiples of another constant that is ten times as large and more, as amounts of
    another currency or fortieths are, it is that constant.

    Missing values are left out. Numbers of less than double precision are read as their shortest
    decimals, whether the column's dtype says so or its numbers do (27.280001), and lie on no grid
    that is finer than they are. Numbers that were rounded to 6 significant digits or more lie on
    none either.
    """
    there = column.dropna()
    values, plain = there.to_numpy(dtype=float), getattr(there.dtype, "numpy_dtype", there.dtype)
    values, records = np.unique(values[values != 0], return_counts=True)
    if len(values) == 0:
        return None
    if plain in (np.float16, np.float32):
        return _precision(_shortest(values, plain), records, plain)
    precision, some = _precision(values, records), slice(None, None, -(-len(values) // _LOOKED_AT))
    constant = _constant(np.abs(values))
    if constant is not None and constant >= _COARSER * (precision or 0.0):
        return constant
    if precision is not None and np.abs(values).max() < 10**_FEW_DIGITS * precision:
        return precision
    single = _are_single(values[some], records[some])
    if single and (_shortest(values[some], np.float32) != values[some]).any():
        return (
            _precision(_shortest(values, np.float32), records, np.float32)
            if _are_single(values, records)
            else precision
        )
    if _in_significant_digits(values[some], records[some]):
        return None
    return _precision(values, records, np.float32) if single else precision


def _shortest(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Numbers of less than double precision, as the decimals with the fewest digits that tell them
    from others of that dtype.
    """
    return np.array([float(str(value)) for value in _held(values, dtype)])


def _held(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Numbers as that dtype holds them, infinite beyond it."""
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _are_single(values: np.ndarray, records: np.ndarray) -> bool:
    """Whether 95 % of the records hold numbers of single precision, exactly or as they are written
    with 8 or 9 digits.
    """
    held = _held(values, np.float32)
    written = np.array(
        [(float(f"{value:.8g}"), float(f"{value:.9g}")) for value in held.tolist()]
    ).reshape(-1, 2)
    return _are_most((values == held) | (values[:, None] == written).any(axis=1), records)


def _in_significant_digits(values: np.ndarray, records: np.ndarray) -> bool:
    """Whether numbers have equally many digits, 6 or more, in every decade, of which there are
    several; on a grid large ones have more.
    """
    digits = np.array(
        [
            len(f"{abs(value):.12e}".split("e")[0].replace(".", "").rstrip("0"))
            for value in values.tolist()
        ]
    )
    decade, full = np.floor(np.log10(np.abs(values))), digits == digits.max()
    used = [
        here
        for here in (decade == number for number in np.unique(decade))
        if records[here].sum() >= _RARE * records.sum()
    ]
    return (
        digits.max() >= _FEW_DIGITS
        and len(used) > 1
        and all(records[here & full].sum() >= _FULL * records[here].sum() for here in used)
    )


def _are_most(which: np.ndarray, records: np.ndarray) -> bool:
    return bool(records[which].sum() >= _MOST * records.sum())


def _precision(values: np.ndarray, records: np.ndarray, dtype: Any = float) -> float | None:
    """The grid of all values, or else of most, which is no finer than numbers of the dtype are."""
    with np.errstate(invalid="ignore"):
        finest = np.spacing(_held(np.abs(values), dtype))
    grids = (_grid(values, records, share) for share in (1.0, _MOST))
    return next(
        (grid for grid in grids if grid is not None and _are_most(finest <= grid, records)), None
    )


def _grid(values: np.ndarray, counts: np.ndarray, share: float) -> float | None:
    """The largest power of ten of which this share of the values is a multiple."""
    finest = np.floor(np.log10(np.abs(values))) - 12  # below it are no digits
    for power in range(_COARSEST, _FINEST - 1, -1):
        scaled = values / 10.0**power if power >= 0 else values * 10.0**-power
        whole = np.rint(scaled)
        multiple = (
            (whole != 0)
            & (finest <= power)
            & (np.abs(scaled - whole) <= _EXACT + 8 * np.finfo(float).eps * np.abs(scaled))
        )
        if counts[multiple].sum() >= share * counts.sum():
            return 10.0**power if power >= 0 else 1 / 10.0**-power
    return None


def _constant(sizes: np.ndarray) -> float | None:
    """The largest constant of which all positive numbers are multiples up to rounding, where their
    number says that this is no chance.

    Their common divisor, by Euclid's steps on floats, which are off by what rounding leaves; it is
    then the mean ratio of the numbers to the multiples that they are, or the shortest decimal, or
    one over a decimal, by which they are the same multiples.
    """
    sizes = np.unique(sizes)
    if len(sizes) < _FEWEST_MULTIPLES or not np.isfinite(sizes).all():
        return None
    slack, divisor = _EXACT * float(sizes[-1]), 0.0
    for size in sizes.tolist():
        while size > slack:
            divisor, size = size, math.fmod(divisor, size) if divisor else 0.0
            size = 0.0 if divisor - size <= slack else size
        if divisor <= _LEAST_STEP * slack:
            return None
    multiples = np.rint(sizes / divisor)
    step = float(sizes @ multiples / (multiples @ multiples))
    if np.abs(sizes - step * np.rint(sizes / step)).max() > slack:
        return None
    rates = (
        turn(float(f"{turn(step):.{digits}g}"))
        for digits in range(1, _RATE_DIGITS + 1)
        for turn in (float, _one_over)
    )
    return next(
        (
            rate
            for rate in rates
            if np.abs(sizes - rate * multiples).max() <= _DIGITS_KEPT * float(sizes[-1])
        ),
        step,
    )


def _one_over(rate: float) -> float:
    return 1 / rate


def round_within(
    values: np.ndarray, precision: float | None, support: tuple[float, float] | None
) -> np.ndarray:
    """`round_to`, where a value (n,) that rounding takes beyond the bounds steps back to the next
    number within.

    Where there is none, it stays as it is.
    """
    rounded = round_to(values, precision)
    if support is None:
        return rounded
    low, high = support
    outside = (rounded < low) | (rounded > high)
    if not outside.any():
        return rounded
    size = np.floor(np.log10(np.maximum(np.abs(rounded), np.finfo(float).tiny)))
    step = precision or 10.0 ** (size - SIGNIFICANT_DIGITS + 1)
    back = round_to(rounded + step * (rounded < low) - step * (rounded > high), precision)
    return np.where((back >= low) & (back <= high), back, values)


def round_to(values: np.ndarray, precision: float | None) -> np.ndarray:
    """Values (n,) rounded to multiples of the precision; without one, to 7 significant digits."""
    values = np.asarray(values, dtype=float)
    if precision is None:
        return _to_digits(values)
    power = round(math.log10(precision))
    if math.isclose(precision, 10.0**power, rel_tol=1e-12):
        return np.round(values, -power) + 0.0  # no negative zero
    multiples, rate = np.rint(values / precision), float(f"{1 / precision:.{_RATE_DIGITS}g}")
    # a fortieth: dividing is exact where multiplying is not
    if precision < 1 and math.isclose(rate * precision, 1, rel_tol=1e-15):
        return multiples / rate + 0.0
    short = float(f"{precision:.{_RATE_DIGITS}g}") == precision
    decimals = _RATE_DIGITS - 1 - math.floor(math.log10(precision)) if short else 13
    return np.round(multiples * precision, max(0, min(decimals, 13))) + 0.0


def unit_of(values: np.ndarray, precision: float | None) -> np.ndarray:
    """Between neighbouring multiples of the precision at values (n,); without one between numbers
    of 7 digits, beyond them from zero.
    """
    if precision is not None:
        return np.full(len(values), precision)
    sizes = np.abs(values)
    with np.errstate(divide="ignore"):
        power = np.floor(np.log10(np.where(sizes > 0, sizes, 1.0)) + 1e-12)
    return np.where(sizes > 0, 10.0 ** (power - SIGNIFICANT_DIGITS + 1), 0.0)


def _to_digits(values: np.ndarray) -> np.ndarray:
    """Values (n,) rounded to 7 significant digits: whole numbers over, or times, a power of ten
    that a double holds exactly.
    """
    rounded, sizes = values.copy(), np.abs(values)
    plain = (
        np.isfinite(values)
        & (sizes < 10.0**_EXACT_POWER)
        & (sizes > 10.0 ** (SIGNIFICANT_DIGITS - _EXACT_POWER))
    )
    power = SIGNIFICANT_DIGITS - 1 - np.floor(np.log10(sizes[plain]))
    up, down = 10.0 ** np.maximum(power, 0), 10.0 ** np.maximum(-power, 0)
    rounded[plain] = np.rint(values[plain] * up / down) / up * down
    rounded[~plain] = [
        float(f"{value:.{SIGNIFICANT_DIGITS - 1}e}") for value in values[~plain].tolist()
    ]
    return rounded


def in_words(precision: float | None) -> str:
    """For a codebook."""
    return (
        f"{SIGNIFICANT_DIGITS} significant digits"
        if precision is None
        else f"multiples of {precision:g}"
    )
