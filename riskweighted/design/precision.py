"""How finely a column is recorded, so that released numbers are no finer: digits beyond it would tell draws from data."""

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd

__all__ = ["LEVELS", "SIGNIFICANT_DIGITS", "Precision", "find_precision", "in_words", "precision_of", "round_to", "round_within"]

Precision: TypeAlias = float | Mapping[str, float] | None  # of one variable, of all alike, or by variable
LEVELS = "levels"  # in place of a precision, where what is released are no numbers
SIGNIFICANT_DIGITS = 7  # of numbers that lie on no grid of powers of ten
_COARSEST, _FINEST = 6, -8  # powers of ten that are looked at
_EXACT = 1e-9  # units: how far from a multiple a stored number may lie, besides rounding
_MOST = 0.95  # of the values: a few imputed ones are on no grid


def precision_of(precision: Precision, variable: str) -> float | None:
    """The precision of a variable, where one is given."""
    return precision.get(variable) if isinstance(precision, Mapping) else precision


def find_precision(column: pd.Series, counts: np.ndarray | None = None) -> float | None:
    """The largest power of ten, from 1e-8 to 1e6, of which every value of a column is a multiple; or else 95 % of them are; or None.

    Missing values are left out. Numbers of less than double precision are read as their shortest decimals. `counts` (n,): how many records
    each value stands for; 1 where there are none.
    """
    there, times = column.dropna(), None if counts is None else counts[column.notna().to_numpy()]
    values, plain = there.to_numpy(dtype=float), getattr(there.dtype, "numpy_dtype", there.dtype)
    if plain in (np.float16, np.float32):
        values = np.array([float(str(value)) for value in there.to_numpy(dtype=plain)])
    times = None if times is None else times[values != 0]
    values, place, records = np.unique(values[values != 0], return_inverse=True, return_counts=True)
    if len(values) == 0:
        return None
    records = records if times is None else np.bincount(place.reshape(-1), weights=times)
    return _grid(values, records, 1.0) or _grid(values, records, _MOST)


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
