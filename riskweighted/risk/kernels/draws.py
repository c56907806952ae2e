"""What is kept of draws that come one after the other, for many records at once: moments, and
averages over the posterior without a record, from weighted draws (Vehtari et al. 2024).

Pareto smoothing asks for the largest weights of a record alone. These are kept, in a heap whose
first is the least; the others are summed as they leave it. So the room for S draws of n records is
that of n (3 sqrt(S) + 1) pairs of numbers rather than n S.
"""

import math
from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = [
    "LeftOut",
    "Moments",
    "add_to_left_out",
    "add_to_moments",
    "averages_without",
    "no_moments",
    "nothing_left_out",
    "smoothed_weights",
]

_PRIOR, _PRIOR_SHAPE = 10.0, 0.5  # of the Pareto shape: so many observations of it
_FEWEST = 5  # weights of a tail that has a shape
_LARGE = 1e100  # products beyond it are taken the logarithm of
_LEAST = math.log(np.finfo(np.float64).tiny)


class Moments(NamedTuple):
    """Of V variables and n records, each (V, n): the least and the largest number so far, their
    mean, their squared distances from it.
    """

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


def no_moments(variables: int, records: int) -> Moments:
    """Those of no draw."""
    shape = (variables, records)
    return Moments(
        np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
    )


@kernel
def add_to_moments(moments: Moments, terms: np.ndarray, count: int) -> None:
    """Take in draw number `count`, from 1, in place; `terms` (V, n)."""
    for v in range(terms.shape[0]):
        for i in range(terms.shape[1]):
            term = terms[v, i]
            moments.low[v, i] = min(moments.low[v, i], term)
            moments.high[v, i] = max(moments.high[v, i], term)
            off = term - moments.mean[v, i]
            moments.mean[v, i] += off / count
            moments.squares[v, i] += off * (term - moments.mean[v, i])


class LeftOut(NamedTuple):
    """Of n records, M + 1 weights kept: ``log_weight``, ``value`` (n, M + 1) of the draws that are
    kept; ``largest`` (n,), the reference of ``weights`` and ``weighted`` (n,), the sums of weights,
    and of weights times values, of the others; ``values`` (n,): of all draws."""

    log_weight: np.ndarray
    value: np.ndarray
    largest: np.ndarray
    weights: np.ndarray
    weighted: np.ndarray
    values: np.ndarray


def nothing_left_out(records: int, draws: int) -> LeftOut:
    """Room for so many draws."""
    kept = math.ceil(min(draws / 5, 3 * math.sqrt(draws))) + 1
    pairs = np.empty((2, records, kept))
    return LeftOut(pairs[0], pairs[1], np.full(records, -np.inf), *np.zeros((3, records)))


@kernel
def _rise(log_weight: np.ndarray, value: np.ndarray, at: int) -> None:
    """Move what stands at a place of a heap towards its first."""
    weight, moved = log_weight[at], value[at]
    while at > 0 and log_weight[(at - 1) // 2] > weight:
        above = (at - 1) // 2
        log_weight[at], value[at] = log_weight[above], value[above]
        at = above
    log_weight[at], value[at] = weight, moved


@kernel
def _replace_first(log_weight: np.ndarray, value: np.ndarray, weight: float, moved: float) -> None:
    """Put another pair in the place of a heap's first."""
    kept, at = len(log_weight), 0
    while 2 * at + 1 < kept:
        below = 2 * at + 1
        if below + 1 < kept and log_weight[below + 1] < log_weight[below]:
            below += 1
        if log_weight[below] >= weight:
            break
        log_weight[at], value[at] = log_weight[below], value[below]
        at = below
    log_weight[at], value[at] = weight, moved


@kernel
def add_to_left_out(left: LeftOut, terms: np.ndarray, values: np.ndarray, count: int) -> None:
    """Take in draw number `count`, from 1, in place.

    `terms` (V, n): what each record adds to the log posterior, whose sum is the logarithm of one
    over its weight; `values` (n,): what is averaged.
    """
    kept = left.log_weight.shape[1]
    for i in range(len(values)):
        weight, value = 0.0, values[i]
        for v in range(terms.shape[0]):
            weight -= terms[v, i]
        left.values[i] += value
        if count <= kept:
            left.log_weight[i, count - 1], left.value[i, count - 1] = weight, value
            _rise(left.log_weight[i], left.value[i], count - 1)
            continue
        if weight > left.log_weight[i, 0]:
            gone, value_gone = left.log_weight[i, 0], left.value[i, 0]
            _replace_first(left.log_weight[i], left.value[i], weight, value)
            weight, value = gone, value_gone
        if weight > left.largest[i]:
            scale = math.exp(left.largest[i] - weight)
            left.weights[i] *= scale
            left.weighted[i] *= scale
            left.largest[i] = weight
        share = math.exp(weight - left.largest[i])
        left.weights[i] += share
        left.weighted[i] += share * value


@kernel
def _mean_log(b: float, excess: np.ndarray) -> float:
    """Mean of log(1 - b x): the logarithm of a product, taken before it runs out of range."""
    product, total = 1.0, 0.0
    for x in excess:
        factor = 1.0 - b * x
        if factor > _LARGE:
            total += math.log(factor)
            continue
        product *= factor
        if product > _LARGE or product < 1 / _LARGE:
            total += math.log(product)
            product = 1.0
    return (total + math.log(product)) / len(excess)


@kernel
def _pareto(excess: np.ndarray) -> tuple[float, float]:
    """Shape and scale of a generalized Pareto distribution, from excesses in increasing order
    (Zhang and Stephens 2009).
    """
    n = len(excess)
    tried = 30 + int(math.sqrt(n))
    quartile, largest = excess[int(n / 4 + 0.5) - 1], excess[-1]
    if not quartile > 0:
        return np.nan, np.nan
    places, heights = np.empty(tried), np.empty(tried)
    for j in range(tried):
        b = (1 - math.sqrt(tried / (j + 0.5))) / (3 * quartile) + 1 / largest
        shape = _mean_log(b, excess)
        places[j] = b
        heights[j] = n * (math.log(-b / shape) - shape - 1) if b * shape < 0 else -np.inf
    weights = np.exp(heights - heights.max())
    weights /= weights.sum()
    weights[weights < 10 * np.finfo(np.float64).eps] = 0.0
    b = (places * weights).sum() / weights.sum()
    if b == 0:
        return np.nan, np.nan
    shape = 0.0
    for x in excess:
        shape += math.log1p(-b * x)
    shape /= n
    return (n * shape + _PRIOR * _PRIOR_SHAPE) / (n + _PRIOR), -shape / b


@kernel
def _smooth(weights: np.ndarray, cutoff: float) -> float:
    """Replace a tail of weights, in increasing order, by the order statistics of its Pareto
    distribution, at most 1; its shape.
    """
    n = len(weights)
    if n < _FEWEST:
        return np.inf
    shape, scale = _pareto(weights - cutoff)
    if not math.isfinite(shape):
        return shape
    for rank in range(n):
        rest = -math.log1p(-(rank + 0.5) / n)
        above = rest if abs(shape) < np.finfo(np.float64).eps else math.expm1(shape * rest) / shape
        weights[rank] = min(cutoff + scale * above, 1.0)
    return shape


@kernel
def averages_without(left: LeftOut, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Of every record the average of the values over the posterior without it, (n,), and the Pareto
    shape of its weights, (n,).
    """
    n = len(left.values)
    averages, shapes = np.empty(n), np.empty(n)
    kept = min(draws, left.log_weight.shape[1])
    for i in range(n):
        order = np.argsort(left.log_weight[i, :kept])
        log_weight, value = left.log_weight[i, :kept][order], left.value[i, :kept][order]
        top = log_weight[-1]
        cutoff = max(log_weight[0] - top, _LEAST)
        first = 0
        while first < kept and log_weight[first] - top <= cutoff:
            first += 1
        weights = np.exp(log_weight - top)
        shapes[i] = _smooth(weights[first:], math.exp(cutoff))
        others = math.exp(left.largest[i] - top)
        total = others * left.weights[i] + weights.sum()
        averages[i] = (others * left.weighted[i] + (weights * value).sum()) / total
    return averages, shapes


@kernel
def smoothed_weights(log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (n, S) of sum 1 whose tails are smoothed, from their logarithms up to a constant; and
    their Pareto shapes, (n,).

    The shape of weights that are all the same is 0.
    """
    n, draws = log_weights.shape
    weights, shapes = np.empty((n, draws)), np.zeros(n)
    kept = math.ceil(min(draws / 5, 3 * math.sqrt(draws))) + 1
    for i in range(n):
        order = np.argsort(log_weights[i])
        top, least = log_weights[i, order[-1]], log_weights[i, order[0]]
        weights[i] = np.exp(log_weights[i] - top)
        if top > least and kept <= draws:
            cutoff = max(log_weights[i, order[draws - kept]] - top, _LEAST)
            first = draws - kept
            while first < draws and log_weights[i, order[first]] - top <= cutoff:
                first += 1
            tail = weights[i][order[first:]]
            shapes[i] = _smooth(tail, math.exp(cutoff))
            for rank in range(len(tail)):
                weights[i, order[first + rank]] = tail[rank]
        weights[i] /= weights[i].sum()
    return weights, shapes
