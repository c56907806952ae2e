"""Do chains agree, and what are their draws worth? R-hat and effective sizes of many quantities at
once, and what R-hat chance allows.

The numbers are those of Vehtari, Gelman, Simpson, Carpenter & Buerkner (2021), which ArviZ computes
quantity by quantity.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import f, rankdata

__all__ = ["Mixing", "chance_limit", "mixing_of"]

_TAILS = (0.05, 0.95)
_FEWEST = 4  # draws of a chain, of which halves can be told apart
_AT_ONCE = 2_000_000  # numbers
# of `chance_limit`; by simulation of autoregressions it is then exceeded as often as it says, or
# less
_TAKEN, _KNOWN = 4, 6


class Mixing(NamedTuple):
    """How Q quantities mix.

    Of the draws and of their distances from the median, rank-normalised and split, (2, Q) each:
    ``r_hat``; ``worth``, effective sizes, small where halves disagree (the first is the bulk's);
    ``within``, what each half of a chain is worth by its own autocorrelations, whether or not the
    halves agree. ``tail`` (Q,): the effective size in the tails.
    """

    r_hat: np.ndarray
    worth: np.ndarray
    tail: np.ndarray
    within: np.ndarray


def mixing_of(values: np.ndarray) -> Mixing:
    """How quantities (Q, chains, draws) mix; NaN where one is no number, never moves, or has fewer
    than four draws in a chain.
    """
    step = max(1, _AT_ONCE // max(values[0].size, 1)) if len(values) else 1
    parts = [_some(values[begin : begin + step]) for begin in range(0, len(values), step)]
    if not parts:
        return Mixing(*(np.empty(shape) for shape in ((2, 0), (2, 0), 0, (2, 0))))
    return Mixing(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))


def chance_limit(within: np.ndarray, halves: int, draws: int, share: float) -> np.ndarray:
    """The R-hat that halves which agree exceed by chance with probability `share`, each of `draws`
    draws that are worth `within`.

    Means of halves vary as the mean of so many independent draws does, so that (R-hat^2 - 1 + 1 /
    draws) within is F, with halves - 1 degrees of freedom and those with which `within` is known: a
    sixth of what all halves are worth (the relative variance of an autocorrelation time that is
    summed to three times itself is 12 over that worth). Its own mean adds about four draws to a
    half's worth.
    """
    worth = np.clip(within - _TAKEN, 1, draws)
    return np.asarray(
        np.sqrt(1 - 1 / draws + f.isf(share, halves - 1, halves * worth / _KNOWN) / worth)
    )


def _some(values: np.ndarray) -> Mixing:
    """The same of so many quantities as fit into memory."""
    count, _, draws = values.shape
    if draws < _FEWEST:
        return Mixing(
            *(np.full(shape, np.nan) for shape in ((2, count), (2, count), count, (2, count)))
        )
    flat = values.reshape(count, -1)
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(flat).all(axis=1) | (np.ptp(flat, axis=1) == 0)
    flat = np.where(bad[:, None], np.arange(flat.shape[1], dtype=float), flat)
    halves = _halves(flat.reshape(values.shape))
    distance = np.abs(halves - np.median(halves.reshape(count, -1), axis=1)[:, None, None])
    r_hat, worth, within = [], [], []
    for scores in (_normal_scores(halves), _normal_scores(distance)):
        covariances, variance = _autocovariances(scores)
        between = scores.mean(axis=2).var(axis=1, ddof=1)
        size = scores.shape[2]
        with np.errstate(invalid="ignore", divide="ignore"):
            # two values at one distance from the median agree
            ratio = np.where(variance + between > 0, between / variance, 1 / size)
        r_hat.append(np.sqrt((size - 1) / size + ratio))
        within.append(
            np.where(variance > 0, size / _times(covariances, variance, 0.0, size), float(size))
        )
        worth.append(_worth(scores, covariances, variance, between))
    low, high = np.quantile(flat, _TAILS, axis=1)
    tails = [
        _worth_of(_halves((flat <= end[:, None]).reshape(values.shape).astype(float)))
        for end in (low, high)
    ]
    found = (np.array(r_hat), np.array(worth), np.minimum(*tails), np.array(within))
    return Mixing(*(np.where(bad, np.nan, each) for each in found))


def _halves(values: np.ndarray) -> np.ndarray:
    """Chains (Q, m, n) cut in two, (Q, 2 m, n // 2); of an odd number the middle draw is left
    out.
    """
    half = values.shape[2] // 2
    return np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=1)


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks of each quantity among all its draws."""
    size = values[0].size
    ranks = rankdata(values.reshape(len(values), size), axis=1)
    return np.asarray(ndtri((ranks - 0.375) / (size + 0.25)).reshape(values.shape))


def _autocovariances(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean autocovariances (Q, n) of the halves of each quantity, divisor n, and their mean
    variance (Q,), divisor n - 1.
    """
    size = values.shape[2]
    centred = values - values.mean(axis=2, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * size, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    covariances = np.fft.irfft(power, 2 * size, axis=1)[:, :size] / size
    return covariances, covariances[:, 0] * size / (size - 1)


def _worth_of(values: np.ndarray) -> np.ndarray:
    return _worth(values, *_autocovariances(values), values.mean(axis=2).var(axis=1, ddof=1))


def _worth(
    values: np.ndarray, covariances: np.ndarray, variance: np.ndarray, between: np.ndarray
) -> np.ndarray:
    """Effective sample sizes (Q,) of halves (Q, m, n); what never moves is known of every draw."""
    size = values[0].size
    return np.where(
        variance + between > 0, size / _times(covariances, variance, between, size), float(size)
    )


def _times(
    covariances: np.ndarray, variance: np.ndarray, between: np.ndarray | float, size: int
) -> np.ndarray:
    """Autocorrelation times (Q,), at least 1 / log10(size): Geyer's initial monotone sequence of
    sums of two neighbours.
    """
    n = covariances.shape[1]
    whole = variance * (n - 1) / n + between
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1 - (variance[:, None] - covariances) / whole[:, None]
    rho[:, 0] = 1.0
    pairs = max(n // 2 - 1, 1) if n % 2 == 0 else max((n - 1) // 2, 1)
    even, sums = rho[:, 0 : 2 * pairs : 2], rho[:, 0 : 2 * pairs : 2] + rho[:, 1 : 2 * pairs : 2]
    last = np.where((sums < 0).any(axis=1), (sums < 0).argmax(axis=1), pairs - 1)
    kept = np.minimum.accumulate(sums, axis=1) * (np.arange(pairs) < last[:, None])
    after = np.maximum(np.take_along_axis(even, last[:, None], axis=1)[:, 0], 0.0)
    return np.asarray(np.maximum(-1 + 2 * kept.sum(axis=1) + after, 1 / np.log10(size)))
