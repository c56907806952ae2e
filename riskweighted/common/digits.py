"""To how many digits a number is the same as others."""

import math

import numpy as np

__all__ = ["shared_digits"]


def shared_digits(value: float, values: np.ndarray, minimum_count: int, most: int = 3) -> int:
    """To how many significant digits, `most` at most, a number is the same as so many of the values, (n,); 0: to none."""
    values = np.asarray(values, dtype=float)
    for digits in range(most, 0, -1):
        own = _rounded(value, digits)
        last = 10.0 ** (math.floor(math.log10(abs(own))) - digits + 1) if own and math.isfinite(own) else 0.0
        near, counts = np.unique(values[np.abs(values - own) <= last], return_counts=True)  # whatever rounds to the same is among them
        alike = [_rounded(other, digits) == own for other in near.tolist()]
        if counts[alike].sum() >= minimum_count:
            return digits
    return 0


def _rounded(value: float, digits: int) -> float:
    """A number to some significant digits."""
    return float(f"{value:.{digits - 1}e}")
