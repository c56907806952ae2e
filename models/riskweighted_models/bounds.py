"""Public bounds of a variable: draws are truncated to them, never clipped."""

import math
from typing import Any, NamedTuple

import numpy as np

from riskweighted.common.checks import is_number
from riskweighted.common.errors import InputError

__all__ = ["Bounds", "check_within", "checked_bounds", "interval_ends", "largest_of"]


class Bounds(NamedTuple):
    """Lowest and highest value possible, infinite where there is none."""

    low: float
    high: float


def checked_bounds(support: Any) -> Bounds | None:
    """The setting ``support``: two numbers, of which None and infinite ones bound nothing; None for no bounds."""
    if support is None:
        return None
    ends = tuple(support) if isinstance(support, (tuple, list, np.ndarray)) else ()
    if len(ends) != 2 or not all(end is None or is_number(end) or (isinstance(end, float) and math.isinf(end)) for end in ends):
        raise InputError(f"support must be two numbers, the lowest and the highest value possible, got {support!r}")
    low, high = (default if end is None else float(end) for end, default in zip(ends, (-math.inf, math.inf), strict=True))
    if not low < high:
        raise InputError(f"support must be two numbers, the lower one first, got {support!r}")
    return Bounds(low, high)


def check_within(values: np.ndarray, bounds: Bounds, name: str) -> None:
    """Refuse bounds that exclude recorded values (n,), counting them."""
    outside = int(((values < bounds.low) | (values > bounds.high)).sum())
    if outside:
        raise InputError(f"support excludes {outside} of {len(values)} confidential values of {name!r}; widen it or correct the data")


def largest_of(dtype: Any) -> float:
    """The largest number that a column's dtype holds."""
    plain = getattr(dtype, "numpy_dtype", dtype)
    return float(np.iinfo(plain).max if np.issubdtype(plain, np.integer) else np.finfo(plain).max)


def interval_ends(bounds: np.ndarray | float, n: int) -> np.ndarray:
    """Ends of intervals for n records, (n,): any numbers, infinite ones included."""
    ends = np.broadcast_to(np.asarray(bounds, dtype=float), n)
    missing = int(np.isnan(ends).sum())
    if missing:
        raise InputError(f"bounds of intervals must be numbers, infinite ones included: {missing} of {n} are missing")
    return ends
