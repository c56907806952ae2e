"""Public bounds of a sensitive variable (METHODS section 5.8)."""

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from riskweighted.common.errors import InputError

__all__ = ["Support", "checked_support", "refuse_outside"]

Support = tuple[float, float]


def checked_support(support: object) -> Support | None:
    """The bounds (low, high) as two floats, a missing one infinite; None where there are none.

    Raises
    ------
    InputError
        If they are not two numbers (each may be infinite or None), the first below the second.
    """
    if support is None:
        return None
    if isinstance(support, str) or not isinstance(support, Sequence) or len(support) != 2:
        raise InputError(f"support must be two bounds [low, high], got {support!r}")
    ends = [end if given is None else given for given, end in zip(support, (-math.inf, math.inf), strict=True)]
    if any(not isinstance(end, Real) or isinstance(end, bool) or math.isnan(end) for end in ends) or not ends[0] < ends[1]:
        raise InputError(f"support must be two bounds [low, high], low < high, each a number, infinite or None; got {list(support)!r}")
    return float(ends[0]), float(ends[1])


def refuse_outside(values: np.ndarray, support: Support | None, target: str) -> None:
    """Refuse bounds that confidential values (n,) lie outside of, with their count."""
    low, high = support or (-math.inf, math.inf)
    outside = int(((values < low) | (values > high)).sum())
    if outside:
        raise InputError(f"support [{low:g}, {high:g}] excludes {outside} of {len(values)} confidential values of {target!r}; widen it")
