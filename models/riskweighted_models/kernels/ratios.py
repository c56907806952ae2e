"""Probabilities of levels from continuation ratios (METHODS section 12)."""

import math

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted_models.kernels.vectors import BLOCK, exp_below, fast_kernel, inlined, log_above

__all__ = ["fill_by_odds", "fill_probabilities", "log_sums", "logs_of_own", "slopes_of_logs"]

_LARGE = 1e250  # of a product
_MOST = 600.0  # of the logarithm of a product that is kept as it is


@kernel
def fill_probabilities(logits: np.ndarray, out: np.ndarray) -> None:
    """Write P(level | design), (K, m), for logits (K - 1, m) of stopping at a level among those
    that reach it.
    """
    levels, designs = out.shape
    reached = out[levels - 1]
    for design in range(designs):
        reached[design] = 1.0
    for level in range(levels - 1):
        for design in range(designs):
            logit = logits[level, design]
            odds = math.exp(-abs(logit))
            larger = 1 / (1 + odds)
            smaller = odds * larger
            stopping, going_on = (larger, smaller) if logit > 0 else (smaller, larger)
            out[level, design] = reached[design] * stopping
            reached[design] *= going_on


@kernel
def fill_by_odds(odds: np.ndarray, step: np.ndarray, factors: np.ndarray, out: np.ndarray) -> None:
    """The same, (K, m), where the odds (m,) of going on from level k are ``factors`` (K - 1,) times
    ``odds`` times ``step`` to the power k.

    ``step`` (m,) is (0,) where it is 1; ``odds`` is changed.
    """
    levels, designs = out.shape
    reached = out[levels - 1]
    reached[:] = 1.0
    for level in range(levels - 1):
        factor, of_level = factors[level], out[level]
        if level > 0 and len(step) > 0:
            for design in range(designs):
                odds[design] *= step[design]
        for design in range(designs):
            going_on = odds[design] * factor
            of_level[design] = reached[design] / (1.0 + going_on)
            reached[design] = of_level[design] * going_on


@kernel
def logs_of_own(
    shift: np.ndarray,
    drift: np.ndarray,
    intercepts: np.ndarray,
    width: float,
    code: np.ndarray,
    which: np.ndarray,
    out: np.ndarray,
) -> None:
    """log P(own level) of records with levels `code` and designs `which` (n,), into out (n,); see
    `log_sums` for the logits.
    """
    levels = len(intercepts)
    factors = np.exp(intercepts)
    for i in range(len(code)):
        design, total, product = which[i], 0.0, 1.0
        by_drift = drift[design] if len(drift) > 0 else 0.0
        logit = shift[design] - by_drift
        odds = math.exp(shift[design] - by_drift)
        step = math.exp(width * by_drift)
        for level in range(min(code[i] + 1, levels)):
            product *= 1.0 + odds * factors[level]
            if product > _LARGE:
                total -= math.log(product)
                product = 1.0
            if level < code[i]:
                total += intercepts[level] + logit
            odds *= step
            logit += width * by_drift
        out[i] = total - math.log(product)


@inlined
def _odds(shift, drift, start, end, bits, power, odds, step, width):  # type: ignore[no-untyped-def]
    """exp(shift - drift) of a block of designs, and exp(width drift), by which it grows from level
    to level; 0 beyond the last design.
    """
    for i in range(BLOCK):
        odds[i] = shift[start + i] if start + i < end else -_MOST
        step[i] = 0.0
    if len(drift) > 0:
        for i in range(min(BLOCK, end - start)):
            odds[i] -= drift[start + i]
            step[i] = width * drift[start + i]
        exp_below(step, bits, power, step)
    exp_below(odds, bits, power, odds)


@fast_kernel
def log_sums(
    shift: np.ndarray,
    drift: np.ndarray,
    intercepts: np.ndarray,
    width: float,
    largest: np.ndarray,
    weight: np.ndarray,
    last: np.ndarray,
    out: np.ndarray,
) -> None:
    """Sum over designs and levels of weight times the sum of log(1 + exp(logit)) up to the level,
    into out (S,): logarithms of products.

    The logit of level k is intercept_k + shift + (k width - 1) drift, of ``intercepts`` (S, K),
    ``shift`` and ``drift`` (S, m), or (S, 0) for none; sizes at most 600 in all. ``largest`` (S,
    K): which no log(1 + exp(logit)) of the level exceeds, below 600 each; ``weight`` (K, M): M, a
    multiple of the block, is m or more, 0 beyond the last design; ``last`` (M / block,): how many
    levels any design of a block faces.
    """
    odds = np.empty(BLOCK)
    step = np.empty(BLOCK)
    product = np.empty(BLOCK)
    logs = np.empty(BLOCK)
    total = np.empty(BLOCK)
    bits, whole_bits = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    power, whole = bits.view(np.float64), whole_bits.view(np.float64)
    for s in range(shift.shape[0]):
        out[s] = 0.0
        for block in range(len(last)):
            _odds(shift[s], drift[s], block * BLOCK, shift.shape[1], bits, power, odds, step, width)
            total[:] = 0.0
            product[:] = 1.0
            held = 0.0
            for k in range(last[block]):
                factor = np.exp(intercepts[s, k])
                held += largest[s, k]
                if held > _MOST:
                    log_above(product, bits, power, whole_bits, whole, logs)
                    for i in range(BLOCK):
                        total[i] += logs[i]
                        product[i] = 1.0
                    held = largest[s, k]
                if k > 0 and drift.shape[1] > 0:
                    for i in range(BLOCK):
                        odds[i] *= step[i]
                there = False
                weights = weight[k, block * BLOCK : (block + 1) * BLOCK]
                for i in range(BLOCK):
                    product[i] *= 1.0 + odds[i] * factor
                    there |= weights[i] != 0.0
                if there:
                    log_above(product, bits, power, whole_bits, whole, logs)
                    value = 0.0
                    for i in range(BLOCK):
                        value += weights[i] * (total[i] + logs[i])
                    out[s] += value


@fast_kernel
def slopes_of_logs(
    shift: np.ndarray,
    drift: np.ndarray,
    intercepts: np.ndarray,
    width: float,
    weight: np.ndarray,
    last: np.ndarray,
    by_shift: np.ndarray,
    by_drift: np.ndarray,
) -> np.ndarray:
    """The derivatives of `log_sums` in the intercepts, (K,), and into ``by_shift`` (m,) and
    ``by_drift`` (m,) or (0,).

    Here ``shift`` (m,), ``drift`` (m,) or (0,) and ``intercepts`` (K,) are of one vector, and
    ``weight`` is that of all that reach a level.
    """
    by_intercept = np.zeros(len(intercepts))
    odds, step, along, across = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    bits = np.empty(BLOCK, np.int64)
    power = bits.view(np.float64)
    for block in range(len(last)):
        start = block * BLOCK
        _odds(shift, drift, start, len(shift), bits, power, odds, step, width)
        along[:] = 0.0
        across[:] = 0.0
        for k in range(last[block]):
            factor = np.exp(intercepts[k])
            place = k * width - 1.0
            weights = weight[k, start : start + BLOCK]
            total = 0.0
            if k > 0 and len(drift) > 0:
                for i in range(BLOCK):
                    odds[i] *= step[i]
            for i in range(BLOCK):
                at = odds[i] * factor
                share = weights[i] * (at / (1.0 + at))
                total += share
                along[i] += share
                across[i] += place * share
            by_intercept[k] += total
        for i in range(min(BLOCK, len(shift) - start)):
            by_shift[start + i] = along[i]
        if len(drift) > 0:
            for i in range(min(BLOCK, len(shift) - start)):
                by_drift[start + i] = across[i]
    return by_intercept
