"""Floating-point numbers added without rounding: their mantissas as whole numbers, a sum for each
exponent.
"""

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["BINS", "add_mantissas"]

BINS = 2046  # exponents of finite numbers


@kernel
def add_mantissas(
    bits: np.ndarray, counts: np.ndarray, high: np.ndarray, low: np.ndarray, strange: np.ndarray
) -> None:
    """Add numbers, given by their bits (K, n), to sums by exponent of the upper and the lower half
    of their mantissas, (K, BINS) each.

    `counts` (n,): how often each number of a row counts; of length 0 where each counts once. They
    may add up to 2^36. What is infinite or no number is added to `strange` (K,).
    """
    each = len(counts) > 0
    for row in range(bits.shape[0]):
        for place in range(bits.shape[1]):
            pattern = bits[row, place]
            exponent = (pattern >> 52) & 0x7FF
            mantissa = pattern & 0xFFFFFFFFFFFFF
            times = counts[place] if each else 1
            if exponent == 0x7FF:
                if times > 0:
                    strange[row] += np.nan if mantissa else (-np.inf if pattern < 0 else np.inf)
                continue
            if exponent > 0:
                mantissa |= 0x10000000000000
                exponent -= 1
            if pattern < 0:
                times = -times
            high[row, exponent] += times * (mantissa >> 26)
            low[row, exponent] += times * (mantissa & 0x3FFFFFF)
