"""Checks of single settings: numbers, counts, seeds; each refuses in one line."""

import math
from numbers import Integral, Real

import numpy as np

from riskweighted.common.errors import InputError

__all__ = ["check_count", "check_seed", "is_number"]


def is_number(value: object) -> bool:
    """Whether a setting is a finite real number (and not a truth value)."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def check_seed(seed: object) -> None:
    """Refuse a random seed that is neither None nor a whole number >= 0."""
    if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
        raise InputError(f"random_seed must be a whole number >= 0 or None, got {seed!r}")


def check_count(count: int, what: str = "L", most: int | None = None) -> int:
    """Refuse a number of datasets that is not whole, below 1, or above the posterior draws there are."""
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise InputError(f"{what} must be a whole number >= 1, got {count!r}")
    if most is not None and count > most:
        raise InputError(f"{what} must be at most {most}{' (the number of posterior draws)' if what == 'L' else ''}, got {count}")
    return int(count)
