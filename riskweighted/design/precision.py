"""How finely a column is recorded, so that released numbers are no finer: digits beyond it would tell draws from data."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

__all__ = ["LEVELS", "SIGNIFICANT_DIGITS", "Precision", "find_precision", "in_words", "precision_of", "round_to", "round_within"]

Precision: TypeAlias = float | Mapping[str, float] | None  # of one variable, of all alike, or by variable
LEVELS = "levels"  # in place of a precision, where what is released are no numbers
SIGNIFICANT_DIGITS = 7  # of numbers that lie on no grid of powers of ten
_COARSEST, _FINEST = 6, -8  # powers of ten that are looked at
_EXACT = 1e-9  # units: how far from a multiple a stored number may lie, besides rounding
_MOST = 0.95  # of the values: a few imputed ones are on no grid
_FEW_DIGITS = 6  # to which no person rounds
_RARE, _FULL = 0.05, 0.7  # of the values, in a decade; and of those of a decade, that use all digits
_LOOKED_AT = 2_000  # values, at first


def precision_of(precision: Precision, variable: str) -> float | None:
    """The precision of a variable, where one is given."""
    return precision.get(variable) if isinstance(precision, Mapping) else precision


def find_precision(column: pd.Series, counts: np.ndarray | None = None) -> float | None:
    """The largest power of ten, from 1e-8 to 1e6, of which every value of a column is a multiple; or else 95 % of them are; or None.

    Missing values are left out. Numbers of less than double precision are read as their shortest decimals, whether the column's dtype says
    so or its numbers do (27.280001), and lie on no grid that is finer than they are. Numbers that were rounded to 6 significant digits or
    more lie on none either. `counts` (n,): how many records each value stands for; 1 where there are none.
    """
    there, times = column.dropna(), None if counts is None else counts[column.notna().to_numpy()]
    values, plain = there.to_numpy(dtype=float), getattr(there.dtype, "numpy_dtype", there.dtype)
    times = None if times is None else times[values != 0]
    values, place, records = np.unique(values[values != 0], return_inverse=True, return_counts=True)
    if len(values) == 0:
        return None
    records = records if times is None else np.bincount(place.reshape(-1), weights=times)
    if plain in (np.float16, np.float32):
        return _precision(_shortest(values, plain), records, plain)
    precision, some = _precision(values, records), slice(None, None, -(-len(values) // _LOOKED_AT))
    if precision is not None and np.abs(values).max() < 10**_FEW_DIGITS * precision:
        return precision
    single = _are_single(values[some], records[some])
    if single and (_shortest(values[some], np.float32) != values[some]).any():
        return _precision(_shortest(values, np.float32), records, np.float32) if _are_single(values, records) else precision
    if _in_significant_digits(values[some], records[some]):
        return None
    return _precision(values, records, np.float32) if single else precision


def _shortest(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Numbers of less than double precision, as the decimals with the fewest digits that tell them from others of that dtype."""
    return np.array([float(str(value)) for value in _held(values, dtype)])


def _held(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Numbers as that dtype holds them, infinite beyond it."""
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _are_single(values: np.ndarray, records: np.ndarray) -> bool:
    """Whether 95 % of the records hold numbers of single precision, exactly or as they are written with 8 or 9 digits."""
    held = _held(values, np.float32)
    written = np.array([(float(f"{value:.8g}"), float(f"{value:.9g}")) for value in held.tolist()]).reshape(-1, 2)
    return _are_most((values == held) | (values[:, None] == written).any(axis=1), records)


def _in_significant_digits(values: np.ndarray, records: np.ndarray) -> bool:
    """Whether numbers have equally many digits, 6 or more, in every decade, of which there are several; on a grid large ones have more."""
    digits = np.array([len(f"{abs(value):.12e}".split("e")[0].replace(".", "").rstrip("0")) for value in values.tolist()])
    decade, full = np.floor(np.log10(np.abs(values))), digits == digits.max()
    used = [here for here in (decade == number for number in np.unique(decade)) if records[here].sum() >= _RARE * records.sum()]
    return digits.max() >= _FEW_DIGITS and len(used) > 1 and all(records[here & full].sum() >= _FULL * records[here].sum() for here in used)


def _are_most(which: np.ndarray, records: np.ndarray) -> bool:
    return bool(records[which].sum() >= _MOST * records.sum())


def _precision(values: np.ndarray, records: np.ndarray, dtype: Any = float) -> float | None:
    """The grid of all values, or else of most, which is no finer than numbers of the dtype are."""
    with np.errstate(invalid="ignore"):
        finest = np.spacing(_held(np.abs(values), dtype))
    grids = (_grid(values, records, share) for share in (1.0, _MOST))
    return next((grid for grid in grids if grid is not None and _are_most(finest <= grid, records)), None)


def _grid(values: np.ndarray, counts: np.ndarray, share: float) -> float | None:
    """The largest power of ten of which this share of the values is a multiple."""
    finest = np.floor(np.log10(np.abs(values))) - 12  # below it are no digits
    for power in range(_COARSEST, _FINEST - 1, -1):
        scaled = values / 10.0**power if power >= 0 else values * 10.0**-power
        whole = np.rint(scaled)
        multiple = (whole != 0) & (finest <= power) & (np.abs(scaled - whole) <= _EXACT + 8 * np.finfo(float).eps * np.abs(scaled))
        if counts[multiple].sum() >= share * counts.sum():
            return 10.0**power if power >= 0 else 1 / 10.0**-power
    return None


def round_within(values: np.ndarray, precision: float | None, support: tuple[float, float] | None) -> np.ndarray:
    """`round_to`, where a value (n,) that rounding takes beyond the bounds steps back to the next number within.

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
        return np.array([float(f"{value:.{SIGNIFICANT_DIGITS - 1}e}") for value in values.tolist()])
    power = round(math.log10(precision))
    if math.isclose(precision, 10.0**power, rel_tol=1e-12):
        return np.round(values, -power) + 0.0  # no negative zero
    digits = max(0, 2 - math.floor(math.log10(precision)))
    return np.round(np.rint(values / precision) * precision, digits + 10) + 0.0


def in_words(precision: float | None) -> str:
    """For a codebook."""
    return f"{SIGNIFICANT_DIGITS} significant digits" if precision is None else f"multiples of {precision:g}"
