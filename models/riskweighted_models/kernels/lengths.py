"""Normal coefficients with one common scale, in the coordinates of
`riskweighted_models.common_scale`: log density and gradient.
"""

import math

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["length_density"]


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
