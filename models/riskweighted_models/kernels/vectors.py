"""exp and log of a block of numbers, written so that the compiler turns them into vector
instructions.

numba calls the C library for every single exponential. A polynomial after range reduction, whose
power of two is put together from bits, is four times as fast; what remains of the range is below
.35, where the Taylor series of degree 13 is exact to a double's last digits.
"""

import numba
import numpy as np

__all__ = ["BLOCK", "exp_below", "fast_kernel", "inlined", "log_above", "shared_out"]

BLOCK = 64
# with these a maximum becomes a vector instruction, and no number changes
_VECTORS = {"contract", "nnan", "nsz"}
fast_kernel = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_VECTORS)
inlined = numba.njit(cache=True, error_model="numpy", fastmath={"contract"}, inline="always")

_LOWEST = -700.0  # below it exp is next to the smallest double
_MAGIC = 1.5 * 2.0**52  # added to a small number it leaves the nearest whole one in the last bits
_LOG2_E = 1.4426950408889634
# their sum is log 2, the first with trailing zeros
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_LN2 = 0.6931471805599453
_BIAS, _FRACTION_BITS = 1023, 52
_FRACTION, _ONE = np.int64(0x000FFFFFFFFFFFFF), np.int64(0x3FF0000000000000)
_TWO_52, _TWO_52_BITS = 2.0**52, np.int64(0x4330000000000000)
_ROOT_2 = 1.4142135623730951


@inlined
def _series(r):  # type: ignore[no-untyped-def]
    """exp(r) for |r| <= log(2) / 2."""
    high = 1 / 40320 + r * (
        1 / 362880
        + r * (1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800))))
    )
    return 1 + r * (
        1
        + r
        * (
            1 / 2
            + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * high)))))
        )
    )


@inlined
def exp_below(x, bits, power, out):  # type: ignore[no-untyped-def]
    """exp(x) of a block of numbers of at most 0; `power` is `bits` (int64) seen as floats."""
    for i in range(BLOCK):
        power[i] = max(x[i], _LOWEST) * _LOG2_E + _MAGIC
    for i in range(BLOCK):
        whole = power[i] - _MAGIC
        out[i] = _series((max(x[i], _LOWEST) - whole * _LN2_HIGH) - whole * _LN2_LOW)
    for i in range(BLOCK):
        bits[i] = (bits[i] + _BIAS) << _FRACTION_BITS
    for i in range(BLOCK):
        out[i] *= power[i]


@inlined
def log_above(x, bits, power, whole_bits, whole, out):  # type: ignore[no-untyped-def]
    """log(x) of a block of numbers of at least 1; `power` and `whole` are `bits` and `whole_bits`
    (int64) seen as floats.
    """
    for i in range(BLOCK):
        power[i] = x[i]
    for i in range(BLOCK):
        whole_bits[i] = (bits[i] >> _FRACTION_BITS) | _TWO_52_BITS
        bits[i] = (bits[i] & _FRACTION) | _ONE
    for i in range(BLOCK):
        large = power[i] > _ROOT_2
        fraction = power[i] * 0.5 if large else power[i]
        exponent = whole[i] - (_TWO_52 + _BIAS) + (1.0 if large else 0.0)
        t = (fraction - 1) / (fraction + 1)
        u = t * t
        tail = 1 / 11 + u * (1 / 13 + u * (1 / 15 + u * (1 / 17 + u * (1 / 19 + u * (1 / 21)))))
        out[i] = exponent * _LN2 + 2 * t * (
            1 + u * (1 / 3 + u * (1 / 5 + u * (1 / 7 + u * (1 / 9 + u * tail))))
        )


@inlined
def shared_out(term, weight, top, total, logs, bits, power, whole_bits, whole, part, values):  # type: ignore[no-untyped-def]
    """Of a block of rows with terms (K, block): weight log sum_k exp(term_k) is added to `values`,
    and weight times the share of each component in the sum stands in `part`; all others are room to
    work in."""
    for i in range(BLOCK):
        top[i] = term[0, i]
        total[i] = 0.0
    for k in range(1, term.shape[0]):
        for i in range(BLOCK):
            top[i] = max(top[i], term[k, i])
    for k in range(term.shape[0]):
        for i in range(BLOCK):
            term[k, i] -= top[i]
        exp_below(term[k], bits, power, part[k])
        for i in range(BLOCK):
            total[i] += part[k, i]
    log_above(total, bits, power, whole_bits, whole, logs)
    for i in range(BLOCK):
        values[i] += weight[i] * (top[i] + logs[i])
        total[i] = weight[i] / total[i]
    for k in range(term.shape[0]):
        for i in range(BLOCK):
            part[k, i] *= total[i]
