"""Mixtures of normal distributions, one a record: masses, log densities and draws, without an array
of records by components.
"""

import math

import numpy as np
from scipy.special import ndtr

from riskweighted.common.jit import kernel
from riskweighted_models.kernels.vectors import BLOCK, fast_kernel, shared_out

__all__ = ["interval_sum", "length_density", "log_densities", "masses_between", "pick"]

_ROOT_HALF, _LOG_ROOT = math.sqrt(0.5), 0.5 * math.log(2 * math.pi)
_NEVER = -1e300  # log density where no number is left of the density
# from where on nothing is left of a tail; nodes a unit between, and their distance
_FAR, _STEPS, _STEP = 8.5, 64, 1 / 64
_A, _B, _C, _D, _E = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720
_NODES = np.arange(-_FAR * _STEPS, _FAR * _STEPS + 1) / _STEPS
_BELOW, _HEIGHTS = ndtr(_NODES), np.exp(-0.5 * _NODES**2 - _LOG_ROOT)


@kernel
def masses_between(
    which: np.ndarray, mean: np.ndarray, sd: np.ndarray, share: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """P(lower <= z_i <= upper), (n,): of a component a difference of the tails that are near, so
    that small masses keep their digits.

    ``which`` (n,): the row of each record in ``mean`` (m, K) and ``share`` (m, K), or (1, K) for
    all; ``ends`` (2, n): lower and upper.
    """
    n, components, shared = len(which), mean.shape[1], len(share) == 1
    masses, unit = np.zeros(n), _ROOT_HALF / sd
    for i in range(n):
        row = which[i]
        lower, upper = ends[0, i], ends[1, i]
        total = 0.0
        for k in range(components):
            low, high = (lower - mean[row, k]) * unit[k], (upper - mean[row, k]) * unit[k]
            if low > 0:
                low, high = -high, -low
            mass = 0.5 * (math.erfc(-high) - math.erfc(-low))
            if mass > 0:
                total += mass * (share[0, k] if shared else share[row, k])
        masses[i] = total
    return masses


@fast_kernel
def log_densities(
    which: np.ndarray, mean: np.ndarray, sd: np.ndarray, log_share: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """log p(z_i) of finite z, (n,); arguments as in `masses_between`."""
    n, components, shared = len(which), mean.shape[1], len(log_share) == 1
    heights, unit = np.empty(n), 1 / sd
    level = np.log(unit) - _LOG_ROOT
    bits, whole_bits = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    power = bits.view(np.float64)
    whole = whole_bits.view(np.float64)
    each = np.zeros((components, BLOCK))
    part = np.empty((components, BLOCK))
    top = np.empty(BLOCK)
    total = np.empty(BLOCK)
    logs = np.empty(BLOCK)
    once, values = np.ones(BLOCK), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        held = min(BLOCK, n - start)
        for k in range(components):
            for i in range(held):
                row = which[start + i]
                standard = (z[start + i] - mean[row, k]) * unit[k]
                each[k, i] = (
                    (log_share[0, k] if shared else log_share[row, k])
                    + level[k]
                    - 0.5 * standard * standard
                )
        for i in range(BLOCK):
            each[0, i] = max(each[0, i], _NEVER)
            values[i] = 0.0
        shared_out(each, once, top, total, logs, bits, power, whole_bits, whole, part, values)
        heights[start : start + held] = values[:held]
    return heights


@kernel
def pick(which: np.ndarray, ends: np.ndarray, place: np.ndarray) -> np.ndarray:
    """How many of the K ends of each record's row, (m, K) or (1, K), lie at or below its place,
    (n,).
    """
    chosen, shared = np.zeros(len(which), np.int64), len(ends) == 1
    for i in range(len(which)):
        row = 0 if shared else which[i]
        for k in range(ends.shape[1]):
            chosen[i] += ends[row, k] <= place[i]
    return chosen


@fast_kernel
def interval_sum(
    ends: np.ndarray, expected: np.ndarray, mean: np.ndarray, sd: np.ndarray, log_share: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum over designs and adjoining intervals of ``expected`` (m, G) times the mass of a mixture,
    and its gradient.

    ``ends`` (G + 1,) of the intervals; ``mean`` (K, m), ``sd`` (K,), ``log_share`` (K, m), or (K,
    1) for all designs. The derivatives are in mean, log sd (K,) and log share, each taken as free.
    Normal tails and heights are Taylor series about the nearest of nodes 1/64 apart, to 1e-14: an
    exponential and an error function for each end took five times as long.
    """
    components, designs, intervals = mean.shape[0], mean.shape[1], expected.shape[1]
    by_mean = np.zeros(mean.shape)
    by_log_sd = np.zeros(components)
    by_log_share = np.zeros(log_share.shape)
    gated, total = log_share.shape[1] > 1, 0.0
    for row in range(designs):
        for k in range(components):
            share, unit = math.exp(log_share[k, row if gated else 0]), 1 / sd[k]
            centre, far = mean[k, row], _FAR * sd[k]
            first, last = np.searchsorted(ends, centre - far), np.searchsorted(ends, centre + far)
            # of all ends above, which gain wholly
            mass = expected[row, last - 1] if 0 < last <= intervals else 0.0
            moved, widened, before = 0.0, 0.0, expected[row, first - 1] if first > 0 else 0.0
            for edge in range(first, last):
                after = expected[row, edge] if edge < intervals else 0.0
                step = before - after  # what an edge that moves up gains
                before = after
                place = (ends[edge] - centre) * unit
                node = int((place + _FAR) * _STEPS + 0.5)
                x = node * _STEP - _FAR
                d = place - x
                power, square = -d * (x + 0.5 * d), x * x
                density = _HEIGHTS[node] * (
                    1
                    + power
                    * (1 + power * (_A + power * (_B + power * (_C + power * (_D + power * _E)))))
                )
                fifth = (square * (square - 6) + 3) * _D - d * x * (
                    square * (square - 10) + 15
                ) * _E
                slope = 1 + d * (
                    d * ((square - 1) * _B + d * (x * (3 - square) * _C + d * fifth)) - 0.5 * x
                )
                mass += step * (_BELOW[node] + _HEIGHTS[node] * d * slope)
                moved += step * density
                widened += step * density * place
            total += share * mass
            by_mean[k, row] -= share * moved / sd[k]
            by_log_sd[k] -= share * widened
            by_log_share[k, row if gated else 0] += share * mass
    return total, by_mean, by_log_sd, by_log_share


@kernel
def length_density(
    w: np.ndarray, half_precision: np.ndarray, log_weight: np.ndarray, least_log_length: float
) -> tuple[float, np.ndarray, float, np.ndarray]:
    """Of w (d,): its log density and the gradient (d,); r / rho; and the derivatives of log(r /
    rho), (d,).

    ``half_precision`` and ``log_weight`` (m,): the grid of the common scale, see `CommonLength`.
    """
    d = len(w)
    length = 0.0
    for i in range(d):
        length += w[i] * w[i]
    log_rho = 0.5 * math.log(length) if length > 0 else least_log_length
    floored = not log_rho > least_log_length
    log_rho = max(log_rho, least_log_length)
    rho, square = math.exp(log_rho), math.exp(2 * log_rho)
    near = math.exp(-square)
    if d > 1:
        less = -math.expm1(-square)
        ratio = (d - 1) / 2 * math.log(less)
        first = (d - 1) * square * near / less
        second = 2 * first * (1 - square / less)
    else:
        log_term = math.log1p(1 / rho)
        over, part = 1 + near * log_term, near * (1 / (1 + rho) + 2 * square * log_term)
        change = -2 * square * part + near * (
            4 * square * log_term - rho / (1 + rho) ** 2 - 2 * square / (1 + rho)
        )
        ratio, first = -math.log(over), part / over
        second = change / over + first * first
    r_square = math.exp(2 * (log_rho + ratio))
    top = -np.inf
    for j in range(len(log_weight)):
        top = max(top, log_weight[j] - r_square * half_precision[j])
    total, falling = 0.0, 0.0
    for j in range(len(log_weight)):
        fall = r_square * half_precision[j]
        share = math.exp(log_weight[j] - fall - top)
        total += share
        falling += share * fall
    height = top + math.log(total) + d * ratio + math.log1p(first)
    by_log_rho = -2 * falling / total * (1 + first) + d * first + second / (1 + first)
    by_w = np.zeros(d) if floored else w / square
    return height, by_log_rho * by_w, math.exp(ratio), first * by_w
