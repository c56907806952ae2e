"""A normal mixture from what all of it comes to, and how far its components are from the last one,
to its components, and derivatives back.

Arguments are parts of one vector: ``log_odds`` (K - 1,), ``centre`` (K,), ``log_sigma`` (K,),
``slope`` (p,), ``deviation`` (K, p). Any but the second and the third may be empty.
"""

import math

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["add_prior", "pull_back", "take_apart"]


@kernel
def take_apart(
    log_odds: np.ndarray,
    centre: np.ndarray,
    log_sigma: np.ndarray,
    slope: np.ndarray,
    deviation: np.ndarray,
) -> np.ndarray:
    """The logarithms of the weights, (K,); centres, log sds and slopes become those of the
    components, in place.
    """
    last = len(centre) - 1
    log_weight = np.zeros(last + 1)
    log_weight[:last] = log_odds
    top, total = log_weight.max(), 0.0
    for k in range(last + 1):
        total += math.exp(log_weight[k] - top)
    log_weight -= top + math.log(total)
    mean, variance = 0.0, math.exp(log_weight[last])
    for k in range(last):
        weight = math.exp(log_weight[k])
        mean += weight * centre[k]
        variance += weight * math.exp(2 * log_sigma[k])
    centre[last] -= mean
    log_sigma[last] -= 0.5 * math.log(variance)
    for k in range(last):
        centre[k] += centre[last]
        log_sigma[k] += log_sigma[last]
    for j in range(deviation.shape[1]):
        for k in range(last + 1):
            slope[j] -= math.exp(log_weight[k]) * deviation[k, j]
    return log_weight


@kernel
def pull_back(
    log_weight: np.ndarray,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    slopes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Derivatives in what `take_apart` makes of the parts become those in the parts, in place."""
    _, centre, log_sigma, _, deviation = parts
    by_odds, by_centre, by_log_sigma, by_slope, by_deviation = slopes
    last = len(centre) - 1
    # derivatives in the weights, times the weights
    weight, by_share = np.exp(log_weight), np.zeros(last + 1)
    variance = weight.copy()
    for k in range(last):
        variance[k] *= math.exp(2 * log_sigma[k])
    variance /= variance.sum()
    of_mean, of_scale = by_centre.sum(), by_log_sigma.sum()
    for k in range(last + 1):
        by_share[k] -= 0.5 * variance[k] * of_scale
        if k < last:
            by_share[k] -= weight[k] * centre[k] * of_mean
        by_centre[k] = by_centre[k] - weight[k] * of_mean if k < last else of_mean
        by_log_sigma[k] = by_log_sigma[k] - variance[k] * of_scale if k < last else of_scale
        for j in range(deviation.shape[1]):
            by_share[k] -= weight[k] * deviation[k, j] * by_slope[j]
            by_deviation[k, j] -= weight[k] * by_slope[j]
    total = by_share.sum()
    for k in range(last):
        by_odds[k] += by_share[k] - weight[k] * total


@kernel
def add_prior(
    parts: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    gate: np.ndarray,
    log_weight: np.ndarray,
    concentration: float,
    log_tau: float,
    widest: float,
    slopes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    by_gate: np.ndarray,
) -> tuple[float, float]:
    """Log density, up to a constant, of the priors of what `take_apart` makes, and its derivative
    in log tau.

    centre, slope, gate ~ N(0, 1); sigma ~ half-N(0, 1); deviation ~ N(0, tau), tau ~
    half-N(widest), where there are deviations; weights ~ Dirichlet(concentration). Derivatives in
    the parts and in ``gate`` are added to ``slopes`` and ``by_gate``.
    """
    log_odds, centre, log_sigma, slope, deviation = parts
    by_odds, by_centre, by_log_sigma, by_slope, by_deviation = slopes
    height = concentration * log_weight.sum()
    for k in range(len(log_odds)):
        by_odds[k] += concentration * (1 - len(log_weight) * math.exp(log_weight[k]))
    for k in range(len(centre)):
        square = math.exp(2 * log_sigma[k])
        height += log_sigma[k] - 0.5 * (square + centre[k] * centre[k])
        by_centre[k] -= centre[k]
        by_log_sigma[k] += 1 - square
    for values, by_value in ((slope, by_slope), (gate, by_gate)):
        for j in range(len(values)):
            height -= 0.5 * values[j] * values[j]
            by_value[j] -= values[j]
    if deviation.size == 0:
        return height, 0.0
    precision, above, length = math.exp(-2 * log_tau), math.exp(2 * log_tau) / widest**2, 0.0
    for k in range(deviation.shape[0]):
        for j in range(deviation.shape[1]):
            length += precision * deviation[k, j] * deviation[k, j]
            by_deviation[k, j] -= precision * deviation[k, j]
    height += (1 - deviation.size) * log_tau - 0.5 * (above + length)
    return height, 1 - deviation.size - above + length
