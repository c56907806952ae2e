"""Weighted log-likelihood of a finite mixture of normal regressions over rows that share cells, and
its gradient.
"""

import numpy as np

from riskweighted_models.kernels.vectors import BLOCK, fast_kernel, inlined, shared_out

__all__ = ["mixture_sum"]

_HALF_LOG_2PI = 0.9189385332046727


@inlined
def _read(z, weight, cell, start, zs, ws, cells):  # type: ignore[no-untyped-def]
    """A block of rows; what the last block lacks weighs nothing."""
    for i in range(BLOCK):
        row = min(start + i, z.shape[0] - 1)
        zs[i] = z[row]
        ws[i] = weight[row] if start + i < z.shape[0] else 0.0
        cells[i] = cell[row]


@fast_kernel
def mixture_sum(
    z: np.ndarray,
    weight: np.ndarray,
    cell: np.ndarray,
    mean: np.ndarray,
    sd: np.ndarray,
    log_share: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum over rows of weight log sum_k share_k N(z; mean_k, sd_k), and its gradient.

    ``cell`` (R,): the column of ``mean`` (K, m) that a row has, sorted to be fastest; ``log_share``
    (K, m), or (K, 1) for all cells. The derivatives are in mean, log sd (K,) and log share, each
    taken as free.
    """
    components, gated = mean.shape[0], log_share.shape[1] > 1
    by_mean = np.zeros(mean.shape)
    by_log_sd = np.zeros(components)
    by_log_share = np.zeros(log_share.shape)
    scale, level = 1.0 / sd, -np.log(sd) - _HALF_LOG_2PI
    zs, ws, cells = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint32)
    standard = np.empty((components, BLOCK))
    term = np.empty((components, BLOCK))
    part = np.empty((components, BLOCK))
    top, total, logs = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    bits, whole_bits = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    power, whole = bits.view(np.float64), whole_bits.view(np.float64)
    values = np.zeros(BLOCK)
    squares = np.zeros((components, BLOCK))
    shares = np.zeros((components, BLOCK))
    for start in range(0, z.shape[0], BLOCK):
        _read(z, weight, cell, start, zs, ws, cells)
        for k in range(components):
            for i in range(BLOCK):
                standard[k, i] = mean[k, cells[i]]
                term[k, i] = log_share[k, cells[i]] if gated else log_share[k, 0]
            for i in range(BLOCK):
                standard[k, i] = (zs[i] - standard[k, i]) * scale[k]
                term[k, i] += level[k] - 0.5 * standard[k, i] * standard[k, i]
        shared_out(term, ws, top, total, logs, bits, power, whole_bits, whole, part, values)
        for k in range(components):
            for i in range(BLOCK):
                shares[k, i] += part[k, i]
                pull = part[k, i] * standard[k, i]
                squares[k, i] += pull * standard[k, i]
                standard[k, i] = pull * scale[k]
            for i in range(BLOCK):
                by_mean[k, cells[i]] += standard[k, i]
            if gated:
                for i in range(BLOCK):
                    by_log_share[k, cells[i]] += part[k, i]
    for k in range(components):
        weighted = shares[k].sum()
        by_log_sd[k] = squares[k].sum() - weighted
        if not gated:
            by_log_share[k, 0] = weighted
    return values.sum(), by_mean, by_log_sd, by_log_share
