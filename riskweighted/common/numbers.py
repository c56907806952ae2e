"""Numbers as people read them, the one rule of every table, page and sentence. What machines read
holds them in full.

Numbers of a column have the same decimals: as many as give the largest one 4 digits, and 3 at most
but where a unit asks for more. What is not zero and would look like it is "<0.001". Thousands are
apart, and there is no power of ten.
"""

import math
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SHARE",
    "decimals_for_digits",
    "exactly",
    "format_column",
    "format_columns",
    "rounded_from",
    "shared_digits",
    "together",
]

SHARE = 3  # decimals of a share, a probability, a distance
_DIGITS = 4


def format_column(
    values: Iterable[object], decimals: int | None = None, *, missing: str = "n/a"
) -> list[str]:
    """Numbers that stand beside each other; texts stay as they are."""
    given = list(values)
    numbers = [_as_float(value) for value in given]
    places = min(SHARE, decimals_for_digits(numbers)) if decimals is None else decimals
    return [
        value if isinstance(value, str) else _fixed(number, places, missing)
        for value, number in zip(given, numbers, strict=True)
    ]


def format_columns(
    cells: "pd.DataFrame", decimals: int | None = None, *, missing: str = "n/a"
) -> "pd.DataFrame":
    """The same of every column of a table."""
    shown = cells.astype(object)
    for number in range(cells.shape[1]):
        shown.isetitem(number, format_column(cells.iloc[:, number], decimals, missing=missing))
    return shown


def together(*values: object) -> list[str]:
    """Numbers that one sentence compares."""
    return format_column(values)


def exactly(value: float) -> str:
    """A setting, an edge, a code: all its digits."""
    if not math.isfinite(value):
        return str(value)
    whole, point, rest = np.format_float_positional(abs(value), trim="-").partition(".")
    return f"{'-' if value < 0 else ''}{int(whole):,}{point}{rest}"


def decimals_for_digits(numbers: Iterable[float], digits: int = _DIGITS) -> int:
    """The decimals that give the largest number so many digits; none where all are whole."""
    finite = [abs(number) for number in numbers if math.isfinite(number)]
    if all(number.is_integer() for number in finite):
        return 0
    return max(0, digits - 1 - math.floor(math.log10(max(finite))))


def _as_float(value: object) -> float:
    if value is None or isinstance(value, str) or not isinstance(value, Real):
        return math.nan
    return float(value)


def _fixed(number: float, decimals: int, missing: str) -> str:
    if math.isnan(number):
        return missing
    if number and not round(number, decimals):
        return (
            f"<{10.0**-decimals:.{decimals}f}"
            if number > 0
            else f">-{10.0**-decimals:.{decimals}f}"
        )
    return f"{round(number, decimals) + 0.0:,.{decimals}f}"


def shared_digits(value: float, values: np.ndarray, minimum_count: int, most: int = 3) -> int:
    """To how many significant digits, `most` at most, a number is the same as so many of the
    values, (n,); 0: to none.
    """
    values = np.asarray(values, dtype=float)
    for digits in range(most, 0, -1):
        rounded = _to_digits(value, digits)
        last = (
            10.0 ** (math.floor(math.log10(abs(rounded))) - digits + 1)
            if rounded and math.isfinite(rounded)
            else 0.0
        )
        # whatever rounds to the same is among them
        near, counts = np.unique(values[np.abs(values - rounded) <= last], return_counts=True)
        alike = [_to_digits(other, digits) == rounded for other in near.tolist()]
        if counts[alike].sum() >= minimum_count:
            return digits
    return 0


def rounded_from(value: float, digits: int) -> tuple[float, float]:
    """Between what the numbers lie that are the same as this one to so many significant digits."""
    rounded = _to_digits(value, digits)
    if not rounded:
        return 0.0, 0.0
    size = abs(rounded)
    power = math.floor(math.log10(size)) - digits + 1
    # numbers below a power of ten have a digit more
    inner = 0.05 if size == 10.0 ** (power + digits - 1) else 0.5
    near, far = (float(f"{size + part * 10.0**power:.{digits + 1}e}") for part in (-inner, 0.5))
    return (near, far) if rounded > 0 else (-far, -near)


def _to_digits(value: float, digits: int) -> float:
    """A number to some significant digits."""
    return float(f"{value:.{digits - 1}e}")
