"""What the records of each design have of the probabilities of its bins: densities, masses of
intervals, bins and points drawn.

Records are taken design by design, so that the probabilities of all bins are held for a few designs
at a time.
"""

import math

import numba
import numpy as np

from riskweighted.common.jit import kernel

__all__ = [
    "draw_points",
    "heaped_sum",
    "masses_between",
    "pick_bins",
    "probabilities_of",
    "shares_below",
    "sort_by_design",
    "units_reaching",
]

_ENDLESS = np.iinfo(np.int64).max


@kernel
def sort_by_design(which: np.ndarray, records: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Some records in the order of their designs `which` (n,), of which design d begins at
    ``start`` (m,); those of one as they stand.
    """
    ordered, free = np.empty(len(records), np.int64), start.copy()
    for record in records:
        ordered[free[which[record]]] = record
        free[which[record]] += 1
    return ordered


@kernel
def probabilities_of(
    probabilities: np.ndarray,
    start: np.ndarray,
    order: np.ndarray,
    bins: np.ndarray,
    out: np.ndarray,
) -> None:
    """P(own bin) of the records of some designs, of probabilities (d, K), into out (n,).

    ``order``: records, design by design, of which each design's begin at ``start`` (d + 1,).
    """
    for design in range(len(probabilities)):
        for place in range(start[design], start[design + 1]):
            out[order[place]] = probabilities[design, bins[order[place]]]


@kernel
def _first_reaching(below: np.ndarray, target: float) -> int:
    """How many of the increasing numbers lie below the target; without branches, which nothing
    could foresee.
    """
    at, length = 0, len(below)
    while length > 1:
        half = length // 2
        at = at + half if below[at + half - 1] < target else at
        length -= half
    return at + 1 if below[at] < target else at


@kernel
def pick_bins(
    probabilities: np.ndarray,
    start: np.ndarray,
    order: np.ndarray,
    place: np.ndarray,
    out: np.ndarray,
) -> None:
    """The bin in which a share `place` (n,) of all probability is reached, by record, into out
    (n,).
    """
    below = np.empty(probabilities.shape[1])
    for design in range(len(probabilities)):
        total = 0.0
        for k in range(len(below)):
            total += probabilities[design, k]
            below[k] = total
        for j in range(start[design], start[design + 1]):
            out[order[j]] = _first_reaching(below, place[order[j]] * total)


@kernel
def shares_below(bins: np.ndarray, counts: np.ndarray, point_weight: np.ndarray) -> np.ndarray:
    """Share of its bin's probability below each of some ends, (e,).

    ``bins`` (e,); ``counts`` (e, C): points of the bin below the end, by heap; ``point_weight`` (K,
    C): probability of one.
    """
    shares = np.zeros(len(bins))
    for end in range(len(bins)):
        for heap in range(counts.shape[1]):
            shares[end] += counts[end, heap] * point_weight[bins[end], heap]
    return shares


@kernel
def masses_between(
    probabilities: np.ndarray,
    start: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    bins: np.ndarray,
    shares: np.ndarray,
    out: np.ndarray,
) -> None:
    """Probability between two ends, by record, into out (n,).

    ``ends`` (2, r): which of e ends is the lower and the upper one of each record of `order`,
    ``bins`` (2, r) where they lie; ``shares`` (e,): see `shares_below`.
    """
    below = np.empty(probabilities.shape[1])
    for design in range(len(probabilities)):
        total = 0.0
        for k in range(len(below)):
            below[k] = total
            total += probabilities[design, k]
        for j in range(start[design], start[design + 1]):
            low, high = bins[0, j], bins[1, j]
            lower = below[low] + probabilities[design, low] * shares[ends[0, j]]
            upper = below[high] + probabilities[design, high] * shares[ends[1, j]]
            out[order[j]] = max(upper - lower, 0.0)


@kernel
def _unit_reaching(
    share: float, first: int, last: int, heaps: np.ndarray, weight: np.ndarray, before: np.ndarray
) -> int:
    """The first of the whole numbers from `first` to `last` up to which the points have this share
    of the bin; `last` if none has.

    ``weight`` (C,): of a point, by heap. ``before`` (C,) is room to work in.
    """
    for heap in range(len(heaps)):
        before[heap] = (first - 1) // heaps[heap]
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        reached, multiples = 0.0, 0.0
        for heap in range(len(heaps) - 1, -1, -1):
            after = float(middle // heaps[heap] - before[heap])
            reached += (after - multiples) * weight[heap]
            multiples = after
        if reached >= share:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def units_reaching(
    probabilities: np.ndarray,
    start: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    bins: np.ndarray,
    shares: np.ndarray,
    units: np.ndarray,
    place: np.ndarray,
    edges: np.ndarray,
    heaps: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
) -> None:
    """The value, in units, at which an interval has reached a share ``place`` (n,) of its
    probability, by record, into out (n,).

    Of intervals without probability nothing is said. See `masses_between`; ``units`` (e,): the
    ends, of which the lower one is no part of the interval; ``edges`` (K + 1,); ``weight`` (K, C):
    probability of a point of a bin, by ``heaps`` (C,). Without heaps (0,) values are on no grid,
    and alike within their bin.
    """
    below = np.zeros(probabilities.shape[1] + 1)
    last = probabilities.shape[1] - 1
    before = np.empty(len(heaps), np.int64)
    for design in range(len(probabilities)):
        for k in range(last + 1):
            below[k + 1] = below[k] + probabilities[design, k]
        for j in range(start[design], start[design + 1]):
            low, high = bins[0, j], bins[1, j]
            lower = below[low] + probabilities[design, low] * shares[ends[0, j]]
            upper = below[high] + probabilities[design, high] * shares[ends[1, j]]
            if upper <= lower:
                continue
            target = lower + place[order[j]] * (upper - lower)
            k = min(max(_first_reaching(below[1:], target), low), high)
            share = (target - below[k]) / probabilities[design, k]
            first, end = units[ends[0, j]], units[ends[1, j]]
            if len(heaps) == 0:
                value = edges[k] + share * (edges[k + 1] - edges[k])
            else:
                first += 1.0
                highest = int(edges[k + 1]) - (1 if k < last else 0)
                value = float(
                    _unit_reaching(share, int(edges[k]), highest, heaps, weight[k], before)
                )
            out[order[j]] = min(max(value, first), end)  # against rounding


@kernel
def draw_points(
    bins: np.ndarray,
    edges: np.ndarray,
    heaps: np.ndarray,
    points: np.ndarray,
    below: np.ndarray,
    place: np.ndarray,
    unit: float,
) -> np.ndarray:
    """A point of each bin, (n,): a heap by ``below`` (K, C), probabilities summed up to each, then
    one of its points alike.

    ``place`` (2, n): numbers between 0 and 1, for the heap and for the point.
    """
    values, last = np.empty(len(bins)), len(heaps) - 1
    for i in range(len(bins)):
        k, chosen = bins[i], 0
        target = place[0, i] * below[k, last]
        while chosen < last and below[k, chosen] < target:
            chosen += 1
        heap = heaps[chosen]
        ratio = heaps[chosen + 1] // heap if chosen < last else _ENDLESS
        before = math.ceil(edges[k] / heap) - 1  # multiples of the heap before the bin
        skipped = before - before // ratio  # of them those that are of this heap alone
        number = skipped + 1 + math.floor(place[1, i] * points[k, chosen])
        # the number-th that the next heap does not divide
        multiple = number + (number - 1) // (ratio - 1)
        values[i] = unit * heap * multiple
    return values


@numba.njit(cache=True, nogil=True, error_model="numpy")
def heaped_sum(
    log_phi: np.ndarray, heap_of: np.ndarray, points: np.ndarray, heaped: np.ndarray
) -> tuple[float, np.ndarray]:
    """sum of weight log P(point | bin), and its gradient (F,).

    ``log_phi`` (F,): log of a point's weight, by bin and heap where ``heap_of`` (K, C) points to
    it, 0 where that is -1; ``points`` (K, C): how many points each bin has of each heap; ``heaped``
    (K, C): sums of alpha over the records of a bin and heap.
    """
    value, slope = 0.0, np.zeros(len(log_phi))
    bins, heaps = points.shape
    for k in range(bins):
        total, records = 0.0, 0.0
        for c in range(heaps):
            heap = heap_of[k, c]
            total += points[k, c] * (np.exp(log_phi[heap]) if heap >= 0 else 1.0)
            records += heaped[k, c]
        if records == 0.0:
            continue
        value -= records * np.log(total)
        for c in range(heaps):
            heap = heap_of[k, c]
            if heap >= 0:
                value += heaped[k, c] * log_phi[heap]
                slope[heap] += heaped[k, c] - records * points[k, c] * np.exp(log_phi[heap]) / total
    return value, slope
