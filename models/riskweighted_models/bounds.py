"""Bounds of a variable, public or found in the data: draws are truncated to them, never clipped."""

import math
from typing import Any, NamedTuple

import numpy as np

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError
from riskweighted.common.found import FOUND, most_beyond

__all__ = [
    "NONE",
    "Bounds",
    "FoundBoundsMark",
    "as_setting",
    "check_within",
    "checked_bounds",
    "interval_ends",
    "largest_of",
]

NONE = "none"  # in place of bounds


class Bounds(NamedTuple):
    """Lowest and highest value possible, infinite where there is none."""

    low: float
    high: float


class FoundBoundsMark(Bounds):
    """Bounds that were found in the data, so that they are not public, and a few records lie beyond
    them.
    """


def checked_bounds(support: Any) -> Bounds | None:
    """The setting ``support``: two numbers, of which None and infinite ones bound nothing, and
    "found" after those found in the data.

    None for no bounds, as "none" says in a study, which would otherwise have those that are found
    in its data.
    """
    if support is None or (isinstance(support, str) and support == NONE):
        return None
    ends = tuple(support) if isinstance(support, (tuple, list, np.ndarray)) else ()
    found = isinstance(support, FoundBoundsMark) or (
        len(ends) == 3 and isinstance(ends[2], str) and ends[2] == FOUND
    )
    ends = ends[:2] if found else ends
    if len(ends) != 2 or not all(
        end is None or is_number(end) or (isinstance(end, float) and math.isinf(end))
        for end in ends
    ):
        raise InputError(
            "support must be two numbers, the lowest and the highest value possible, got "
            f"{support!r}"
        )
    low, high = (
        default if end is None else float(end)
        for end, default in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if not low < high:
        raise InputError(f"support must be two numbers, the lower one first, got {support!r}")
    return (FoundBoundsMark if found else Bounds)(low, high)


def as_setting(bounds: Bounds) -> tuple[float | str | None, ...]:
    """Bounds as the setting ``support``."""
    ends = (bounds.low, bounds.high if np.isfinite(bounds.high) else None)
    return (*ends, FOUND) if isinstance(bounds, FoundBoundsMark) else ends


def check_within(values: np.ndarray, bounds: Bounds, name: str) -> None:
    """Refuse bounds that exclude recorded values (n,), counting them; of found ones, if these are
    more than 10 and than a twentieth.
    """
    outside, n = int(((values < bounds.low) | (values > bounds.high)).sum()), len(values)
    if isinstance(bounds, FoundBoundsMark) and outside > most_beyond(n):
        raise InputError(
            f"support excludes {outside} of {n} confidential values of {name!r}, and bounds that "
            "were found may exclude "
            f"{most_beyond(n)}: these are of other data; widen them, or let `init` find them again"
        )
    if outside and not isinstance(bounds, FoundBoundsMark):
        raise InputError(
            f"support excludes {outside} of {n} confidential values of {name!r}; widen it or "
            "correct the data"
        )


def largest_of(dtype: Any) -> float:
    """The largest number that a column's dtype holds."""
    plain = getattr(dtype, "numpy_dtype", dtype)
    return float(np.iinfo(plain).max if np.issubdtype(plain, np.integer) else np.finfo(plain).max)


def interval_ends(bounds: np.ndarray | float, n: int) -> np.ndarray:
    """Ends of intervals for n records, (n,): any numbers, infinite ones included. An array of these
    is given back itself, so that what was found of it is known again (`once`)."""
    ends = np.asarray(bounds, dtype=float)
    ends = ends if ends.shape == (n,) else np.broadcast_to(ends, n)
    missing = int(np.isnan(ends).sum())
    if missing:
        raise InputError(
            f"bounds of intervals must be numbers, infinite ones included: {missing} of {n} are "
            "missing"
        )
    return ends
