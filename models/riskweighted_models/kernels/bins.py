"""Probabilities of bins under a transformation model, their weighted log-likelihood and its gradient.

With F(h) = 1 / (1 + exp(-A h - B h^3)), which is the normal distribution function to 2e-4 (Page 1977), h monotone in z = log y, hat
functions B_j on knots (METHODS section 5)::

    h(z | x) = e0(x) + integral from z0 to z of sum_j exp(gamma_j + e1(x) + u_j e2(x)) B_j
    P(bin k | x) proportional to (F(h(edge k+1 | x)) - F(h(edge k | x))) exp(delta_k), the end bins open

Every record has the same edges, so a block of designs is carried through them side by side: what is inside the loops over a block is
addition, multiplication and one division, which the compiler turns into vector instructions. Differences of F are products,
F(b) - F(a) = F(b) F(-a) (1 - exp(s(a) - s(b))) with s(h) = A h + B h^3, so that small ones keep their digits.
"""

from typing import NamedTuple

import numba
import numpy as np

__all__ = ["CUBIC", "LINEAR", "Hats", "bin_probabilities", "weighted_sum"]

_BLOCK = 64
LINEAR, CUBIC = 1.5976, 0.070566  # A and B: the logistic function of this cubic is nearest to the normal distribution function
_MOST = 250.0  # exponents beyond it are held there: exp(-250) is no probability that a record can have

_kernel = numba.njit(cache=True, nogil=True, error_model="numpy")
_searching = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})  # a maximum in vectors
_inlined = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


class Hats(NamedTuple):
    """What h adds from one inner edge to the next: sum over j in [first[k], last[k]) of coefficient[k, j] exp(...).

    ``first``, ``last`` (K - 2,) and ``coefficient`` (K - 2, J) for K bins, which have K - 1 inner edges, and J knots; ``place`` (J,):
    u, the scaled knots; ``origin`` (1,): the inner edge z0.
    """

    first: np.ndarray
    last: np.ndarray
    coefficient: np.ndarray
    place: np.ndarray
    origin: np.ndarray


@_searching
def _held(x, n):  # type: ignore[no-untyped-def]
    """The largest of a row x >= 0, which is held at most at the largest exponent."""
    largest = 0.0
    for i in range(n):
        x[i] = min(x[i], _MOST)
        largest = max(largest, x[i])
    return largest


@_inlined
def _expm1(x, out, n):  # type: ignore[no-untyped-def]
    """exp(x) - 1 of a row x >= 0, to full relative precision: a short series near 0, then doubled as often as the row's largest needs."""
    largest = _held(x, n)
    doublings = 4
    while largest > 1.0:
        largest *= 0.5
        doublings += 1
    share = 1.0 / (1 << doublings)
    for i in range(n):
        t = x[i] * share
        s = t * (1 + t * (1 / 2 + t * (1 / 6 + t * (1 / 24 + t * (1 / 120 + t * (1 / 720 + t * (1 / 5040)))))))
        s = s * (2.0 + s)
        s = s * (2.0 + s)
        s = s * (2.0 + s)
        out[i] = s * (2.0 + s)
    for _ in range(doublings - 4):
        for i in range(n):
            out[i] = out[i] * (2.0 + out[i])


@_inlined
def _exp(x, out, n, size):  # type: ignore[no-untyped-def]
    """exp(x) of a row, to full relative precision."""
    for i in range(n):
        size[i] = abs(x[i])
    _expm1(size, out, n)
    for i in range(n):
        grown = 1.0 + out[i]
        out[i] = grown if x[i] > 0.0 else 1.0 / grown


@_inlined
def _slopes(eta, gamma, hats, slope, work, size):  # type: ignore[no-untyped-def]
    """exp(gamma_j + e1 + u_j e2), into slope (J, block)."""
    n = slope.shape[1]
    for j in range(slope.shape[0]):
        for i in range(n):
            work[i] = gamma[j] + eta[1, i] + hats.place[j] * eta[2, i]
        _exp(work, slope[j], n, size)


@_inlined
def _rise(slope, hats, k, at, edge, to, work):  # type: ignore[no-untyped-def]
    """From h at an inner edge to h at the next one, or the one before it: into at; how far s(h) moves, without sign, into work."""
    n, sign = work.shape[0], to - edge
    c = hats.coefficient[k, hats.first[k]]
    for i in range(n):
        work[i] = c * slope[hats.first[k], i]
    for j in range(hats.first[k] + 1, hats.last[k]):
        c = hats.coefficient[k, j]
        for i in range(n):
            work[i] += c * slope[j, i]
    old, new = at[edge], at[to]
    for i in range(n):
        new[i] = old[i] + sign * work[i]
    for i in range(n):
        work[i] = work[i] * (LINEAR + CUBIC * (old[i] * (old[i] + new[i]) + new[i] * new[i]))


@_inlined
def _passed(rising, falling, grown, rising_next, falling_next, scale):  # type: ignore[no-untyped-def]
    """From one edge to the next: the one of F and 1 - F that rises on the way and the one that falls; grown becomes the mass between.

    Loops over few rows each: the compiler uses vectors only where it can tell that rows do not overlap.
    """
    n = scale.shape[0]
    for i in range(n):
        scale[i] = 1.0 / (1.0 + grown[i] * rising[i])
    for i in range(n):
        rising_next[i] = (1.0 + grown[i]) * rising[i] * scale[i]
    for i in range(n):
        falling_next[i] = falling[i] * scale[i]
    for i in range(n):
        grown[i] = grown[i] * rising[i] * falling_next[i]


@_inlined
def _distribution(eta, slope, hats, at, below, above, mass, work, size):  # type: ignore[no-untyped-def]
    """h, F(h) and F(-h) at the inner edges, into at, below and above (K - 1, block), and the masses between, into mass (K, block).

    With p = F(h), q = F(-h) at one edge and t = exp(s) for the s by which s(h) grows to the next, F there is t p / (t p + q), and the mass
    between (t - 1) p q / (t p + q); likewise downwards.
    """
    n, edges, origin = work.shape[0], below.shape[0], hats.origin[0]
    for i in range(n):
        at[origin, i] = eta[0, i]
        work[i] = -eta[0, i] * (LINEAR + CUBIC * eta[0, i] * eta[0, i])
    _exp(work, above[origin], n, size)
    for i in range(n):
        p = 1.0 / (1.0 + above[origin, i])
        below[origin, i] = p
        above[origin, i] = above[origin, i] * p
    for k in range(origin, 0, -1):
        _rise(slope, hats, k - 1, at, k, k - 1, work)
        _expm1(work, mass[k], n)
        _passed(above[k], below[k], mass[k], above[k - 1], below[k - 1], size)
    for k in range(origin + 1, edges):
        _rise(slope, hats, k - 1, at, k - 1, k, work)
        _expm1(work, mass[k], n)
        _passed(below[k - 1], above[k - 1], mass[k], below[k], above[k], size)
    for i in range(n):
        mass[0, i] = below[0, i]
        mass[edges, i] = above[edges - 1, i]


@_kernel
def bin_probabilities(eta: np.ndarray, gamma: np.ndarray, delta: np.ndarray, hats: Hats) -> np.ndarray:
    """P(bin k | x) of every design, (m, K).

    ``eta`` (3, m): e0, e1, e2; ``gamma`` (J,); ``delta`` (K,).
    """
    m, bins, knots = eta.shape[1], delta.shape[0], gamma.shape[0]
    n = min(_BLOCK, m)  # not a constant: the compiler would unroll the loops over it, and then not use vectors
    tilt = np.exp(delta)
    found = np.empty((m, bins))
    work, spare, slope = np.empty(n), np.empty(n), np.empty((knots, n))
    at, below, above, mass = np.empty((bins - 1, n)), np.empty((bins - 1, n)), np.empty((bins - 1, n)), np.empty((bins, n))
    filled = np.zeros((3, n))
    for start in range(0, m, n):
        size = min(n, m - start)
        for part in range(3):
            for i in range(size):
                filled[part, i] = eta[part, start + i]
        _slopes(filled, gamma, hats, slope, work, spare)
        _distribution(filled, slope, hats, at, below, above, mass, work, spare)
        for i in range(size):
            total = 0.0
            for k in range(bins):
                total += mass[k, i] * tilt[k]
            for k in range(bins):
                found[start + i, k] = mass[k, i] * tilt[k] / total
    return found


@_kernel
def weighted_sum(
    eta: np.ndarray,
    gamma: np.ndarray,
    delta: np.ndarray,
    design_weight: np.ndarray,
    pair_weight: np.ndarray,
    pair_bin: np.ndarray,
    pair_start: np.ndarray,
    hats: Hats,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum of weight log P(bin | x) over the pairs of a design and a bin, and its gradient.

    Parameters
    ----------
    eta, gamma, delta
        See `bin_probabilities`.
    design_weight : array (m,)
        Sum over the pairs of a design.
    pair_weight, pair_bin : arrays (number of pairs,)
        Sorted by design.
    pair_start : array (m + 1,)
        Where the pairs of each design begin.
    hats : Hats

    Returns
    -------
    value, and its derivatives in eta (3, m), gamma (J,) and delta (K,).
    """
    m, bins, knots = eta.shape[1], delta.shape[0], gamma.shape[0]
    n = min(_BLOCK, m)  # not a constant: the compiler would unroll the loops over it, and then not use vectors
    edges, origin = bins - 1, hats.origin[0]
    tilt = np.exp(delta)
    value = 0.0
    by_eta, by_gamma, by_delta = np.zeros((3, m)), np.zeros((knots, n)), np.zeros((bins, n))
    observed = np.zeros(bins)
    filled, scale, total = np.zeros((3, n)), np.zeros(n), np.empty(n)
    work, spare, slope = np.empty(n), np.empty(n), np.empty((knots, n))
    at, below, above, mass = np.empty((edges, n)), np.empty((edges, n)), np.empty((edges, n)), np.empty((bins, n))
    by_edge, by_slope = np.empty((edges, n)), np.empty((knots, n))
    for start in range(0, m, n):
        size = min(n, m - start)
        weight = 0.0
        for i in range(size):
            weight += design_weight[start + i]
        if weight == 0.0:
            continue
        for part in range(3):
            for i in range(size):
                filled[part, i] = eta[part, start + i]
        _slopes(filled, gamma, hats, slope, work, spare)
        _distribution(filled, slope, hats, at, below, above, mass, work, spare)
        for i in range(n):
            total[i] = 0.0
        for k in range(bins):
            t = tilt[k]
            for i in range(n):
                total[i] += t * mass[k, i]
        for i in range(n):
            scale[i] = 0.0
        for i in range(size):
            w = design_weight[start + i]
            if w > 0.0:
                value -= w * np.log(total[i])
                scale[i] = w / total[i]
        for k in range(bins):
            t = tilt[k]
            for i in range(n):
                by_delta[k, i] -= scale[i] * t * mass[k, i]
        for k in range(edges):  # the slope of F at h, in place of F(-h)
            t = tilt[k + 1] - tilt[k]
            for i in range(n):
                above[k, i] = above[k, i] * below[k, i] * (LINEAR + 3.0 * CUBIC * at[k, i] * at[k, i])
                by_edge[k, i] = above[k, i] * scale[i] * t
        for i in range(size):
            for pair in range(pair_start[start + i], pair_start[start + i + 1]):
                w, k = pair_weight[pair], pair_bin[pair]
                if w > 0.0:
                    value += w * (np.log(mass[k, i]) + delta[k])
                    observed[k] += w
                    if k > 0:
                        by_edge[k - 1, i] -= w * above[k - 1, i] / mass[k, i]
                    if k < edges:
                        by_edge[k, i] += w * above[k, i] / mass[k, i]
        # From the edges to what h adds between them: edges above z0 have all rises between z0 and them, edges below lack them.
        for i in range(n):
            total[i] = 0.0
        for k in range(edges):
            for i in range(n):
                total[i] += by_edge[k, i]
        for i in range(size):
            by_eta[0, start + i] = total[i]
        for k in range(edges - 2, origin - 1, -1):
            for i in range(n):
                by_edge[k, i] += by_edge[k + 1, i]  # now the sum over this edge and those above
        for i in range(n):
            work[i] = 0.0
        for k in range(origin):
            for i in range(n):
                work[i] += by_edge[k, i]
                by_edge[k, i] = -work[i]
        for j in range(knots):
            for i in range(n):
                by_slope[j, i] = 0.0
        for k in range(bins - 2):
            row = k + 1 if k >= origin else k
            for j in range(hats.first[k], hats.last[k]):
                c = hats.coefficient[k, j]
                for i in range(n):
                    by_slope[j, i] += c * by_edge[row, i]
        for i in range(n):
            work[i] = 0.0
            total[i] = 0.0
        for j in range(knots):
            u = hats.place[j]
            for i in range(n):
                by_log = by_slope[j, i] * slope[j, i]
                by_gamma[j, i] += by_log
                work[i] += by_log
                total[i] += u * by_log
        for i in range(size):
            by_eta[1, start + i] = work[i]
            by_eta[2, start + i] = total[i]
    return value, by_eta, by_gamma.sum(axis=1), by_delta.sum(axis=1) + observed
