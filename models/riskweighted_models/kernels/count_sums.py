"""Weighted log-likelihood of a finite mixture of negative binomials over rows that share designs
and counts, and its gradient.
"""

import math

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted_models.kernels.vectors import (
    BLOCK,
    exp_below,
    fast_kernel,
    inlined,
    log_above,
    shared_out,
)

__all__ = ["count_mixture", "count_sum", "logistic_parts", "rises"]

_SHIFT = 10  # from here on the series of Stirling have all digits


@inlined
def _stirling(x):  # type: ignore[no-untyped-def]
    """log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, for x >= 10."""
    y, q = 1 / x, 1 / (x * x)
    return y * (
        1 / 12 - q * (1 / 360 - q * (1 / 1260 - q * (1 / 1680 - q * (1 / 1188 - q * 691 / 360360))))
    )


@inlined
def _digamma(x):  # type: ignore[no-untyped-def]
    """digamma(x) - log x, for x >= 10."""
    y, q = 1 / x, 1 / (x * x)
    return -0.5 * y - q * (
        1 / 12 - q * (1 / 120 - q * (1 / 252 - q * (1 / 240 - q * (1 / 132 - q * 691 / 32760))))
    )


@kernel
def rises(count: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log Gamma(count + phi) - log Gamma(phi) - count log(phi), (K, D), of counts (D,) and phi
    (K,), and its derivatives in log phi.

    A difference of two log Gammas would lose the digits of a large phi, for which this is next to
    0.
    """
    value, slope = np.empty((len(phi), len(count))), np.empty((len(phi), len(count)))
    for k in range(len(phi)):
        shift = _SHIFT if phi[k] < _SHIFT else 0
        x = phi[k] + shift
        start, start_slope = _stirling(x), _digamma(x)
        for d in range(len(count)):
            y = count[d]
            grown = math.log1p(y / x)
            risen = (y + x - 0.5) * grown - y + _stirling(y + x) - start
            change = grown + _digamma(y + x) - start_slope
            if shift:
                share = 1.0
                for j in range(shift):
                    share *= (phi[k] + j) / (y + phi[k] + j)
                    change += y / ((phi[k] + j) * (y + phi[k] + j))
                risen += math.log(share) + y * math.log(x / phi[k])
            value[k, d] = risen
            slope[k, d] = phi[k] * change - y
    return value, slope


@fast_kernel
def logistic_parts(eta: np.ndarray, log_phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log(1 + mean / phi) and mean / (mean + phi), (K, m), of log means (K, m) and log phi (K,)."""
    grown, share = np.empty(eta.shape), np.empty(eta.shape)
    far, below, above, logs = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    bits, whole_bits = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    power, whole = bits.view(np.float64), whole_bits.view(np.float64)
    for k in range(eta.shape[0]):
        for start in range(0, eta.shape[1], BLOCK):
            width = min(BLOCK, eta.shape[1] - start)
            for i in range(BLOCK):
                far[i] = eta[k, min(start + i, eta.shape[1] - 1)] - log_phi[k]
                above[i] = -abs(far[i])
            exp_below(above, bits, power, below)
            for i in range(BLOCK):
                above[i] = 1 + below[i]
            log_above(above, bits, power, whole_bits, whole, logs)
            # log(1 + x) = log(u) x / (u - 1) to the last digits, u being 1 + x as it is rounded
            for i in range(BLOCK):
                rounded = above[i] - 1
                logs[i] = logs[i] * (below[i] / rounded) if rounded > 0 else below[i]
                logs[i] += max(far[i], 0.0)
                below[i] = (1.0 if far[i] > 0 else below[i]) / above[i]
            for i in range(width):
                grown[k, start + i] = logs[i]
                share[k, start + i] = below[i]
    return grown, share


@inlined
def _read(weight, cell, place, start, ws, cells, places):  # type: ignore[no-untyped-def]
    """A block of rows; what the last block lacks weighs nothing."""
    for i in range(BLOCK):
        row = min(start + i, weight.shape[0] - 1)
        ws[i] = weight[row] if start + i < weight.shape[0] else 0.0
        cells[i] = cell[row]
        places[i] = place[row]


@fast_kernel
def count_sum(
    weight: np.ndarray,
    cell: np.ndarray,
    place: np.ndarray,
    count: np.ndarray,
    base: np.ndarray,
    link: np.ndarray,
    tail: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum over rows of weight log sum_k exp(base_k + count link_k - tail_k), and its gradient.

    ``cell`` and ``place`` (R,): the column of ``link`` and ``tail`` (K, m) that a row has, and that
    of ``count`` (D,) and ``base`` (K, D). The derivatives are in base, link and, with the opposite
    sign, tail.
    """
    components = base.shape[0]
    by_base, by_link, by_tail = np.zeros(base.shape), np.zeros(link.shape), np.zeros(link.shape)
    ws = np.empty(BLOCK)
    counts = np.empty(BLOCK)
    cells = np.empty(BLOCK, dtype=np.uint32)
    places = np.empty(BLOCK, dtype=np.uint32)
    term, part = np.empty((components, BLOCK)), np.empty((components, BLOCK))
    top, total, logs, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.zeros(BLOCK)
    bits, whole_bits = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    power, whole = bits.view(np.float64), whole_bits.view(np.float64)
    for start in range(0, weight.shape[0], BLOCK):
        _read(weight, cell, place, start, ws, cells, places)
        for i in range(BLOCK):
            counts[i] = count[places[i]]
        for k in range(components):
            for i in range(BLOCK):
                term[k, i] = base[k, places[i]] + counts[i] * link[k, cells[i]] - tail[k, cells[i]]
        shared_out(term, ws, top, total, logs, bits, power, whole_bits, whole, part, values)
        for k in range(components):
            for i in range(BLOCK):
                term[k, i] = part[k, i] * counts[i]
            for i in range(BLOCK):
                by_base[k, places[i]] += part[k, i]
                by_link[k, cells[i]] += term[k, i]
                by_tail[k, cells[i]] += part[k, i]
    return values.sum(), by_base, by_link, by_tail


@kernel
def count_mixture(
    weight: np.ndarray,
    cell: np.ndarray,
    place: np.ndarray,
    count: np.ndarray,
    eta: np.ndarray,
    log_phi: np.ndarray,
    log_weight: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum over rows of weight log sum_k weight_k NB(count; mean_k, phi_k) count!, and its gradient;
    see `count_sum` for the rows.

    ``eta`` (K, m): log means. The derivatives are in log means (K, m), log phi (K,) and log weights
    (K,), each taken as free.
    """
    phi = np.exp(log_phi)
    base, change = rises(count, phi)
    grown, share = logistic_parts(eta, log_phi)
    link, tail = np.empty(eta.shape), np.empty(eta.shape)
    for k in range(len(phi)):
        base[k] += log_weight[k]
        link[k] = eta[k] - grown[k]
        tail[k] = phi[k] * grown[k]
    value, by_base, by_link, by_tail = count_sum(weight, cell, place, count, base, link, tail)
    by_log_phi, by_share = np.empty(len(phi)), np.empty(len(phi))
    for k in range(len(phi)):
        by_log_phi[k], by_share[k] = (change[k] * by_base[k]).sum(), by_base[k].sum()
        for i in range(eta.shape[1]):
            part = (by_link[k, i] + phi[k] * by_tail[k, i]) * share[k, i]
            by_log_phi[k] += part - tail[k, i] * by_tail[k, i]
            by_link[k, i] -= part
    return value, by_link, by_log_phi, by_share
