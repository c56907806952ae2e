"""To how many digits a number is the same as others."""

import numpy as np

__all__ = ["shared_digits"]


def shared_digits(value: float, values: np.ndarray, minimum_count: int, most: int = 3) -> int:
    """To how many significant digits, `most` at most, a number is the same as so many of the values, (n,); 0: to none."""
    for digits in range(most, 0, -1):
        if (_rounded(values, digits) == _rounded(np.array([value]), digits)[0]).sum() >= minimum_count:
            return digits
    return 0


def _rounded(values: np.ndarray, digits: int) -> np.ndarray:
    """Numbers to some significant digits."""
    different, places = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    return np.array([float(f"{value:.{digits - 1}e}") for value in different])[places]
