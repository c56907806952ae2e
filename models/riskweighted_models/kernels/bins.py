"""Probabilities of bins under a transformation model, their weighted log-likelihood and its
gradient.

With F(h) = 1 / (1 + exp(-s(h))), s(h) = A h + B h^3, which is the normal distribution function to
2e-4 (Page 1977), h monotone in z = log y, hat functions B_j on knots (METHODS section 5)::

    h(z | x) = e0(x) + integral from z0 to z of sum_j exp(gamma_j + e1(x) + u_j e2(x)) B_j
    P(bin k | x) proportional to (F(h(edge k+1 | x)) - F(h(edge k | x))) exp(delta_k)

with the end bins open.

Every record has the same edges, so a block of designs is carried through them side by side: what is
inside the loops over a block is addition, multiplication and one division, which the compiler turns
into vector instructions. It does so only where it can tell that what is read is not what was just
written: all that belongs to an edge therefore lies in one row, at distances known beforehand.
Differences of F are products, F(b) - F(a) = F(b) F(-a) (1 - exp(s(a) - s(b))), so that small ones
keep their digits. Beyond |h| = 5, where 5e-8 is left on either side, s goes on straight: a cube
there makes cliffs of the log-likelihood, which chains fall off where the data say little.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from riskweighted_models.kernels.vectors import BLOCK, fast_kernel, inlined

__all__ = [
    "CUBIC",
    "LINEAR",
    "STEEPEST",
    "STRAIGHT",
    "Hats",
    "bin_probabilities",
    "in_blocks",
    "weighted_sum",
]

# A and B: the logistic function of this cubic is nearest to the normal distribution function
LINEAR, CUBIC = 1.5976, 0.070566
STRAIGHT = 5.0  # beyond it, s has the slope that it has there
STEEPEST = LINEAR + 3.0 * CUBIC * STRAIGHT * STRAIGHT
_MOST = 700.0  # exponents beyond it are held there, where a double ends
_LEAST = 1e-290  # masses below it are written as the tails they are

# The row of inner edge k holds, for every design of a block: h, F(h) and F(-h) (later the slope of
# F); how far s(h) moved to get there (later what the likelihood gains by moving it); the mass of
# bin k, between edges k - 1 and k; the derivative in delta_k. The last bin has a row too.
_AT, _BELOW, _ABOVE, _MOVED, _MASS, _BY_DELTA, _ROW = (part * BLOCK for part in range(7))
_FIRST_DOUBLINGS = 4


class Hats(NamedTuple):
    """What h adds from one inner edge to the next: sum over j in [first[k], last[k]) of
    coefficient[k, j] exp(...).

    ``first``, ``last`` (K - 2,) and ``coefficient`` (K - 2, J) for K bins, which have K - 1 inner
    edges, and J knots; ``place`` (J,): u, the scaled knots; ``origin`` (1,): the inner edge z0.
    """

    first: np.ndarray
    last: np.ndarray
    coefficient: np.ndarray
    place: np.ndarray
    origin: np.ndarray


@inlined
def _bent(h):  # type: ignore[no-untyped-def]
    return min(max(h, -STRAIGHT), STRAIGHT)


@inlined
def _score(h):  # type: ignore[no-untyped-def]
    """s(h)."""
    bent = _bent(h)
    return bent * (LINEAR + CUBIC * bent * bent) + (h - bent) * STEEPEST


@inlined
def _score_slope(h):  # type: ignore[no-untyped-def]
    bent = _bent(h)
    return LINEAR + 3.0 * CUBIC * bent * bent


@inlined
def _score_rise(start, end, distance):  # type: ignore[no-untyped-def]
    """How far apart s(start) and s(end) are, distance being how far start and end are, from which
    its digits come.
    """
    first, last = _bent(start), _bent(end)
    beyond = abs((end - last) - (start - first))
    return (distance - beyond) * (
        LINEAR + CUBIC * (first * (first + last) + last * last)
    ) + beyond * STEEPEST


@inlined
def _series(t):  # type: ignore[no-untyped-def]
    """exp(t) - 1 for t of at most 1/16."""
    return t * (
        1
        + t * (1 / 2 + t * (1 / 6 + t * (1 / 24 + t * (1 / 120 + t * (1 / 720 + t * (1 / 5040))))))
    )


@inlined
def _doublings(largest):  # type: ignore[no-untyped-def]
    """How often exp(x) - 1 is doubled, from the series at x / 2^that, for x up to the largest."""
    doublings = _FIRST_DOUBLINGS
    while largest > 1.0:
        largest *= 0.5
        doublings += 1
    return doublings


@inlined
def _exp(x, out):  # type: ignore[no-untyped-def]
    """exp(x) of a block, to full relative precision."""
    largest = 0.0
    for i in range(BLOCK):
        out[i] = min(abs(x[i]), _MOST)
    for i in range(BLOCK):
        largest = max(largest, out[i])
    doublings = _doublings(largest)
    share = 1.0 / (1 << doublings)
    for i in range(BLOCK):
        out[i] = _series(out[i] * share)
    for _ in range(doublings):
        for i in range(BLOCK):
            out[i] = out[i] * (2.0 + out[i])
    for i in range(BLOCK):
        grown = 1.0 + out[i]
        out[i] = grown if x[i] > 0.0 else 1.0 / grown


@inlined
def _slopes(eta, gamma, hats, slope, work):  # type: ignore[no-untyped-def]
    """exp(gamma_j + e1 + u_j e2), into slope (J, block)."""
    for j in range(gamma.shape[0]):
        for i in range(BLOCK):
            work[i] = gamma[j] + eta[1, i] + hats.place[j] * eta[2, i]
        _exp(work, slope[j])


def _way(
    old: int, new: int, rising: int, falling: int, sign: float
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The steps from one inner edge to its neighbour, whose rows are a pair: up, or down.

    ``old``, ``new``: places of the two rows; ``rising``, ``falling``: the one of F and 1 - F that
    rises on the way and the one that falls.
    """

    @inlined
    def move(pair, added):  # type: ignore[no-untyped-def]
        """h at the new edge, how far s(h) moves, and the largest of that."""
        largest = 0.0
        for i in range(BLOCK):
            before = pair[old + _AT + i]
            after = before + sign * added[i]
            pair[new + _AT + i] = after
            pair[new + _MOVED + i] = _score_rise(before, after, added[i])
        for i in range(BLOCK):
            largest = max(largest, pair[new + _MOVED + i])
        return largest

    @inlined
    def settle(pair, total, tilt, i, grown):  # type: ignore[no-untyped-def]
        high = pair[old + rising + i]
        scale = 1.0 / (1.0 + grown * high)
        low = pair[old + falling + i] * scale
        mass = grown * high * low
        pair[new + rising + i] = (1.0 + grown) * high * scale
        pair[new + falling + i] = low
        pair[_ROW + _MASS + i] = mass  # of the bin between, in the upper row
        total[i] += tilt * mass

    @inlined
    def step(pair, total, tilt, largest):  # type: ignore[no-untyped-def]
        """F and 1 - F at the new edge, the mass between, and what it adds to the total.

        With p = F(h), q = F(-h) at one edge and t = exp(s) for the s by which s(h) grows to the
        next, F there is t p / (t p + q), and the mass between (t - 1) p q / (t p + q); likewise
        downwards.
        """
        doublings = _doublings(min(largest, _MOST))
        if doublings == _FIRST_DOUBLINGS:
            for i in range(BLOCK):
                grown = _series(pair[new + _MOVED + i] * 0.0625)
                grown = grown * (2.0 + grown)
                grown = grown * (2.0 + grown)
                grown = grown * (2.0 + grown)
                settle(pair, total, tilt, i, grown * (2.0 + grown))
        else:
            share = 1.0 / (1 << doublings)
            for i in range(BLOCK):
                pair[new + _MOVED + i] = _series(min(pair[new + _MOVED + i], _MOST) * share)
            for _ in range(doublings):
                for i in range(BLOCK):
                    pair[new + _MOVED + i] = pair[new + _MOVED + i] * (2.0 + pair[new + _MOVED + i])
            for i in range(BLOCK):
                settle(pair, total, tilt, i, pair[new + _MOVED + i])

    return move, step


_move_up, _step_up = _way(0, _ROW, _BELOW, _ABOVE, 1.0)
_move_down, _step_down = _way(_ROW, 0, _ABOVE, _BELOW, -1.0)


@inlined
def _add(slope, hats, k, added):  # type: ignore[no-untyped-def]
    """What h adds from inner edge k to the next one."""
    c, at = hats.coefficient[k, hats.first[k]], slope[hats.first[k]]
    for i in range(BLOCK):
        added[i] = c * at[i]
    for j in range(hats.first[k] + 1, hats.last[k]):
        c, at = hats.coefficient[k, j], slope[j]
        for i in range(BLOCK):
            added[i] += c * at[i]


@inlined
def _distribution(eta, slope, hats, tilt, rows, total, work, spare):  # type: ignore[no-untyped-def]
    """h, F and 1 - F at the inner edges and the masses of all bins, into rows (K * row); the sum of
    mass times tilt, into total.
    """
    edges, origin = tilt.shape[0] - 1, hats.origin[0]
    start = rows[origin * _ROW : (origin + 1) * _ROW]
    for i in range(BLOCK):
        start[_AT + i] = eta[0, i]
        work[i] = -_score(eta[0, i])
    _exp(work, spare)
    for i in range(BLOCK):
        below = 1.0 / (1.0 + spare[i])
        start[_BELOW + i] = below
        start[_ABOVE + i] = spare[i] * below
        total[i] = 0.0
    for k in range(origin - 1, -1, -1):
        pair = rows[k * _ROW : (k + 2) * _ROW]
        _add(slope, hats, k, work)
        _step_down(pair, total, tilt[k + 1], _move_down(pair, work))
    for k in range(origin, edges - 1):
        pair = rows[k * _ROW : (k + 2) * _ROW]
        _add(slope, hats, k, work)
        _step_up(pair, total, tilt[k + 1], _move_up(pair, work))
    first, last = rows[:_ROW], rows[(edges - 1) * _ROW :]
    for i in range(BLOCK):
        first[_MASS + i] = first[_BELOW + i]
        last[_ROW + _MASS + i] = last[_ABOVE + i]
        total[i] += tilt[0] * first[_BELOW + i] + tilt[edges] * last[_ABOVE + i]


@inlined
def _carry(eta, gamma, hats, tilt, filled, slope, rows, total, work, spare):  # type: ignore[no-untyped-def]
    """A block of designs, of which the last may be short, through all edges."""
    for part in range(3):
        for i in range(eta.shape[1]):
            filled[part, i] = eta[part, i]
    _slopes(filled, gamma, hats, slope, work)
    _distribution(filled, slope, hats, tilt, rows, total, work, spare)


@fast_kernel
def bin_probabilities(
    eta: np.ndarray, gamma: np.ndarray, delta: np.ndarray, hats: Hats
) -> np.ndarray:
    """P(bin k | x) of every design, (m, K).

    ``eta`` (3, m): e0, e1, e2; ``gamma`` (J,); ``delta`` (K,).
    """
    m, bins = eta.shape[1], delta.shape[0]
    tilt = np.exp(delta)
    shares = np.empty((m, bins))
    filled = np.zeros((3, BLOCK))
    slope = np.empty((gamma.shape[0], BLOCK))
    rows = np.zeros(bins * _ROW)
    work, spare, total = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, m, BLOCK):
        size = min(BLOCK, m - start)
        _carry(
            eta[:, start : start + size], gamma, hats, tilt, filled, slope, rows, total, work, spare
        )
        for i in range(size):
            for k in range(bins):
                shares[start + i, k] = rows[k * _ROW + _MASS + i] * tilt[k] / total[i]
    return shares


@inlined
def _sloped(row, scale, tilt_step):  # type: ignore[no-untyped-def]
    """The slope of F at an edge, what the normaliser loses by moving it, and its derivative in
    delta.
    """
    for i in range(BLOCK):
        row[_BY_DELTA + i] -= scale[i] * row[_MASS + i]
        slope = row[_ABOVE + i] * row[_BELOW + i] * _score_slope(row[_AT + i])
        row[_ABOVE + i] = slope
        row[_MOVED + i] = slope * scale[i] * tilt_step


@inlined
def _expected(rows, tilt, total, weight, scale, expected, by_bin):  # type: ignore[no-untyped-def]
    """sum over the bins of a weight (K, block) in each times its probability, of a block of
    designs, into ``expected``.

    What the normaliser's derivative has of bin k is then scale + (weight_k - that) over the total,
    into ``by_bin`` (K, block).
    """
    expected[:] = 0.0
    for k in range(tilt.shape[0]):
        mass, of_bin, at = rows[k * _ROW + _MASS : k * _ROW + _MASS + BLOCK], weight[k], tilt[k]
        for i in range(BLOCK):
            expected[i] += of_bin[i] * at * mass[i]
    for i in range(BLOCK):
        expected[i] /= total[i]
        scale[i] -= expected[i] / total[i]
        total[i] = 1.0 / total[i]
    for k in range(tilt.shape[0]):
        of_bin, by = weight[k], by_bin[k]
        for i in range(BLOCK):
            by[i] = scale[i] + of_bin[i] * total[i]


@inlined
def _sloped_by_bin(row, below, above, tilt_below, tilt_above):  # type: ignore[no-untyped-def]
    """`_sloped`, of bins on either side of an edge that lose by factors of their own."""
    for i in range(BLOCK):
        row[_BY_DELTA + i] -= below[i] * row[_MASS + i]
        slope = row[_ABOVE + i] * row[_BELOW + i] * _score_slope(row[_AT + i])
        row[_ABOVE + i] = slope
        row[_MOVED + i] = slope * (above[i] * tilt_above - below[i] * tilt_below)


@fast_kernel
def _tail(rows, place, k, edges, w):  # type: ignore[no-untyped-def]
    """log of a mass that is too small for a double, far out in a tail; w times its derivatives are
    added to those of the edges.

    There F(h) is exp(s(h)), or 1 - F(h) is exp(-s(h)): the mass is that of the nearer edge times 1
    - exp(-d), d being the rise of s.
    """
    # the end bins have one edge; infinity is no number to a fast kernel
    lower = rows[place - _ROW + _AT] if k > 0 else 0.0
    upper = rows[place + _AT] if k < edges else 0.0
    above = k == edges or (k > 0 and lower > -upper)  # the upper tail
    near, far = (lower, upper) if above else (upper, lower)
    slope = _score_slope(near)
    log_mass, further, rest = -abs(_score(near)), 0.0, 0.0
    if 0 < k < edges:
        rise = _score_rise(lower, upper, upper - lower)
        log_mass += np.log(-np.expm1(-rise))
        further = 1.0 / np.expm1(rise)
        rest = w * further * _score_slope(far)
    if above:
        rows[place - _ROW + _MOVED] -= w * slope * (1.0 + further)
        if k < edges:
            rows[place + _MOVED] += rest
    else:
        rows[place + _MOVED] += w * slope * (1.0 + further)
        if k > 0:
            rows[place - _ROW + _MOVED] -= rest
    return log_mass


@inlined
def _observed(rows, i, k, w, delta, by_delta):  # type: ignore[no-untyped-def]
    """w times log of tilt and mass of a bin that design i has; its derivatives are added to those
    of the edges and of delta.
    """
    place, edges = k * _ROW + i, delta.shape[0] - 1
    by_delta[k] += w
    mass = rows[place + _MASS]
    if mass < _LEAST:
        gained = w * (delta[k] + _tail(rows, place, k, edges, w))
    else:
        gained = w * (delta[k] + np.log(mass))
        if k > 0:
            rows[place - _ROW + _MOVED] -= w / mass * rows[place - _ROW + _ABOVE]
        if k < edges:
            rows[place + _MOVED] += w / mass * rows[place + _ABOVE]
    return gained


@inlined
def _gathered(row, run, by_slope, hats, k, sign):  # type: ignore[no-untyped-def]
    """One more edge in the running sum, which is what the likelihood gains by all that h adds
    next.
    """
    for i in range(BLOCK):
        run[i] += row[_MOVED + i]
    for j in range(hats.first[k], hats.last[k]):
        c, by = sign * hats.coefficient[k, j], by_slope[j]
        for i in range(BLOCK):
            by[i] += c * run[i]


def in_blocks(expected: np.ndarray) -> np.ndarray:
    """Numbers by design and bin (m, K) as `weighted_sum` reads them: by block of designs, the last
    filled up with 0, (blocks, K, block).
    """
    m, bins = expected.shape
    blocks = np.zeros((-(-m // BLOCK), bins, BLOCK))
    for number, block in enumerate(blocks):
        part = expected[number * BLOCK : (number + 1) * BLOCK]
        block[:, : len(part)] = part.T
    return blocks


@fast_kernel
def weighted_sum(
    eta: np.ndarray,
    gamma: np.ndarray,
    delta: np.ndarray,
    design_weight: np.ndarray,
    pair_weight: np.ndarray,
    pair_bin: np.ndarray,
    pair_start: np.ndarray,
    hats: Hats,
    expected: np.ndarray,
    derive: bool = True,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum of weight log P(bin | x) over the pairs of a design and a bin, and its derivatives in eta
    (3, m), gamma (J,) and delta (K,).

    Less sum of ``expected`` times P(bin | x) over bins and designs, of `in_blocks`, or (0, 0, 0)
    for nothing. Without `derive` the value is the same and the derivatives are none, in half the
    time.

    ``eta``, ``gamma``, ``delta``: see `bin_probabilities`; ``pair_weight`` and ``pair_bin`` of the
    pairs, sorted by design, ``pair_start`` (m + 1,): where those of each design begin,
    ``design_weight`` (m,): their sums.
    """
    m, bins, knots = eta.shape[1], delta.shape[0], gamma.shape[0]
    edges, origin = bins - 1, hats.origin[0]
    tilt, value = np.exp(delta), 0.0
    by_eta, by_gamma, by_delta = np.zeros((3, m)), np.zeros(knots), np.zeros(bins)
    filled, slope, rows = np.zeros((3, BLOCK)), np.empty((knots, BLOCK)), np.zeros(bins * _ROW)
    by_slope, scale, total = np.empty((knots, BLOCK)), np.zeros(BLOCK), np.empty(BLOCK)
    work, spare = np.empty(BLOCK), np.empty(BLOCK)
    centred, by_bin, taken = expected.shape[0] > 0, np.empty((bins, BLOCK)), np.empty(BLOCK)
    for start in range(0, m, BLOCK):
        size = min(BLOCK, m - start)
        if not centred and design_weight[start : start + size].sum() == 0.0:
            continue
        _carry(
            eta[:, start : start + size], gamma, hats, tilt, filled, slope, rows, total, work, spare
        )
        scale[:] = 0.0
        for i in range(size):
            w = design_weight[start + i]
            if w > 0.0:
                value -= w * np.log(total[i])
                scale[i] = w / total[i]
        last = rows[edges * _ROW :]
        if centred:
            _expected(rows, tilt, total, expected[start // BLOCK], scale, taken, by_bin)
            value -= taken[:size].sum()
            for k in range(edges if derive else 0):
                _sloped_by_bin(
                    rows[k * _ROW : (k + 1) * _ROW], by_bin[k], by_bin[k + 1], tilt[k], tilt[k + 1]
                )
            for i in range(BLOCK):
                last[_BY_DELTA + i] -= by_bin[edges, i] * last[_MASS + i]
        else:
            for k in range(edges if derive else 0):
                _sloped(rows[k * _ROW : (k + 1) * _ROW], scale, tilt[k + 1] - tilt[k])
            for i in range(BLOCK):
                last[_BY_DELTA + i] -= scale[i] * last[_MASS + i]
        for i in range(size):
            for pair in range(pair_start[start + i], pair_start[start + i + 1]):
                if pair_weight[pair] > 0.0:
                    value += _observed(rows, i, pair_bin[pair], pair_weight[pair], delta, by_delta)
        if not derive:
            continue
        # From the edges to what h adds between them: edges above z0 have all rises between z0 and
        # them, edges below lack them.
        by_slope[:] = 0.0
        work[:] = 0.0
        for k in range(edges - 1, origin, -1):
            _gathered(rows[k * _ROW : (k + 1) * _ROW], work, by_slope, hats, k - 1, 1.0)
        spare[:] = 0.0
        for k in range(origin):
            _gathered(rows[k * _ROW : (k + 1) * _ROW], spare, by_slope, hats, k, -1.0)
        for i in range(size):
            by_eta[0, start + i] = work[i] + spare[i] + rows[origin * _ROW + _MOVED + i]
        for j in range(knots):
            for i in range(BLOCK):
                by_slope[j, i] *= slope[j, i]
            for i in range(size):
                by_gamma[j] += by_slope[j, i]
                by_eta[1, start + i] += by_slope[j, i]
                by_eta[2, start + i] += hats.place[j] * by_slope[j, i]
    for k in range(bins):
        by_delta[k] += tilt[k] * rows[k * _ROW + _BY_DELTA : k * _ROW + _BY_DELTA + BLOCK].sum()
    return value, by_eta, by_gamma, by_delta
