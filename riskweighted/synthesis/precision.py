"""How finely a column is recorded, so that released numbers are no finer: digits beyond it would tell draws from data."""

import math

import numpy as np
import pandas as pd

__all__ = ["SIGNIFICANT_DIGITS", "find_precision", "in_words", "round_to", "round_within"]

SIGNIFICANT_DIGITS = 7  # of numbers that lie on no grid of powers of ten
_COARSEST, _FINEST = 6, -8  # powers of ten that are looked at
_EXACT = 1e-9  # units: how far from a multiple a stored number may lie, besides rounding


def find_precision(column: pd.Series) -> float | None:
    """The largest power of ten of which every value of a column is a multiple.

    Parameters
    ----------
    column : Series of numbers (n,)
        Missing values are left out.

    Returns
    -------
    float from 1e-8 to 1e6, in the column's units; None where the values lie on no such grid (or are all zero).
    """
    values = column.dropna().to_numpy(dtype=float)
    values = np.unique(values[values != 0])
    if len(values) == 0:
        return None
    for power in range(_COARSEST, _FINEST - 1, -1):
        if _leading_power(values) - power > 12:  # finer than the numbers themselves
            return None
        scaled = values / 10.0**power if power >= 0 else values * 10.0**-power
        if (np.abs(scaled - np.rint(scaled)) <= _EXACT + 8 * np.finfo(float).eps * np.abs(scaled)).all():
            return 10.0**power if power >= 0 else 1 / 10.0**-power
    return None


def _leading_power(values: np.ndarray) -> int:
    return math.floor(math.log10(np.abs(values).max()))


def round_within(values: np.ndarray, precision: float | None, support: tuple[float, float] | None) -> np.ndarray:
    """`round_to`, where a value (n,) that rounding takes beyond the bounds steps back to the next number within.

    Where there is none, it stays as it is.
    """
    rounded = round_to(values, precision)
    if support is None:
        return rounded
    low, high = support
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
