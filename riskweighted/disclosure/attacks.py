"""Guesses of an intruder who holds a whole pack: L copies of every row, and all rows of its
released pattern (METHODS section 13.1).

No guess is made of a confidential value: rows, patterns and drawn values are all that is read. The
true values decide which attack is taken: in another tool's datasets on a random half of the
records, to score it on the other half; in an own fit's on all packs.
"""

from collections.abc import Iterator

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.disclosure.coding import Coding, coverings

__all__ = ["ATTACKS", "SHARES", "best_scores", "guesses", "hits", "middles"]

SHARES = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
# quantiles: a model draws a value that it learned from one record towards those of others
_MIDDLES = np.array([0.4, 0.5, 0.6])
ATTACKS = (
    *(f"own share {share:g}" for share in SHARES),
    *(f"quantile {share:g}" for share in _MIDDLES),
    "mean",
)
_BLOCK = 4_000_000  # numbers that are looked at together


def guesses(
    coding: Coding, values: np.ndarray, patterns: np.ndarray, asked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each attack guesses of each row, (attacks, V, n), from the copies `values` (V, n,
    L) and released patterns (n,).

    NaN where `asked` (n,) is given and false. With it how many boxes of a pattern's copies hold
    each copy of its rows, (n, L).

    A guess g of a row is the best of the lower corners of its own copies' boxes and of the
    pattern's mode by share * own(g) + (1 - share) * pattern(g): own(g) is the share of the row's
    copies whose box (ball, level) holds g, and pattern(g) the same over all copies of all rows of
    its pattern. Quantiles and mean are those of the row's amounts, where most copies are amounts.
    """
    made = np.full((len(ATTACKS), len(values), values.shape[1]), np.nan)
    asked = np.ones(values.shape[1], dtype=bool) if asked is None else asked
    counted = np.empty(values.shape[1:], dtype=np.int32)
    for rows, starts in _blocks(patterns, values.shape[2]):
        drawn = np.ascontiguousarray(values[:, rows])
        lower, upper = coding.ends(drawn)
        sizes = np.diff(starts)
        cell = np.repeat(np.arange(len(sizes)), sizes * drawn.shape[2])
        held = coverings(lower.reshape(len(lower), -1), upper.reshape(len(lower), -1), cell)
        counted[rows] = held.reshape(drawn.shape[1:])
        share = (held / np.repeat(sizes * drawn.shape[2], sizes * drawn.shape[2])).reshape(
            drawn.shape[1:]
        )
        by_row = (
            np.ascontiguousarray(lower.swapaxes(0, 1)),
            np.ascontiguousarray(upper.swapaxes(0, 1)),
        )
        some = asked[rows]
        chosen = _chosen(by_row[0], by_row[1], share, starts, SHARES, some)[:, some]
        flat, rows = lower.reshape(len(lower), -1), rows[some]
        made[: len(SHARES), :, rows] = flat[:, chosen].swapaxes(0, 1)
        made[len(SHARES) :, :, rows] = middles(
            coding, drawn[:, some], made[len(SHARES) - 1][:, rows]
        )
    return made, counted


def _blocks(patterns: np.ndarray, copies: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of some patterns, pattern by pattern, and where each begins among them, with the end."""
    order = np.argsort(patterns, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(patterns[order], prepend=-1)), len(order))
    first = 0
    while first < len(starts) - 1:
        last = max(
            first + 1, int(np.searchsorted(starts, starts[first] + _BLOCK // copies, "right")) - 1
        )
        yield order[starts[first] : starts[last]], starts[first : last + 1] - starts[first]
        first = last


def middles(coding: Coding, drawn: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Middle quantiles and mean of the amounts of each row, (4, V, m); where most copies are none,
    and of levels, `otherwise` (V, m).
    """
    made = np.repeat(otherwise[None], len(_MIDDLES) + 1, axis=0)
    amounts = coding.is_amount(drawn)
    for v in np.flatnonzero(coding.is_numeric):
        counts = amounts[v].sum(axis=1)
        most = counts > drawn.shape[2] / 2
        counts, there = counts[most, None], np.where(amounts[v], drawn[v], np.nan)[most]
        there.sort(axis=1)  # what is no amount comes last
        made[-1, v, most] = np.nansum(there, axis=1) / counts[:, 0]
        place = _MIDDLES * (counts - 1)
        lower, upper = (
            np.take_along_axis(there, at.astype(int), axis=1)
            for at in (np.floor(place), np.ceil(place))
        )
        made[:-1, v, most] = (lower + place % 1 * (upper - lower)).T
    return made


@kernel
def _own_guess(
    lower: np.ndarray,
    upper: np.ndarray,
    share: np.ndarray,
    mode: np.ndarray,
    height: float,
    shares: np.ndarray,
    chosen: np.ndarray,
) -> None:
    """Fill in which candidate of one row each attack takes: its number among the L of `lower` (V,
    L), or -1 for the pattern's mode (V,).

    `share` (L,): of the pattern's boxes, those that hold each candidate; `height`: that of the
    mode.
    """
    count = len(share)
    # share of the row's own boxes that hold each candidate, and the mode
    held = np.zeros(count + 1)
    inside = np.empty(count, dtype=np.bool_)
    for candidate in range(count + 1):
        inside[:] = True
        for v in range(len(lower)):
            at = mode[v] if candidate == count else lower[v, candidate]
            for other in range(count):
                inside[other] &= (lower[v, other] <= at) & (at <= upper[v, other])
        total = 0
        for other in range(count):
            total += inside[other]
        held[candidate] = total / count
    for k in range(len(shares)):
        best = shares[k] * held[count] + (1 - shares[k]) * height
        chosen[k] = -1
        for candidate in range(count):
            attained = shares[k] * held[candidate] + (1 - shares[k]) * share[candidate]
            if attained > best + 1e-12:
                best = attained
                chosen[k] = candidate


@kernel
def _chosen(
    lower: np.ndarray,
    upper: np.ndarray,
    share: np.ndarray,
    starts: np.ndarray,
    shares: np.ndarray,
    asked: np.ndarray,
) -> np.ndarray:
    """Which number of the flat (m, L) each attack guesses of each row that is asked, (shares,
    m).
    """
    copies = lower.shape[2]
    made = np.empty((len(shares), len(lower)), dtype=np.int64)
    chosen = np.empty(len(shares), dtype=np.int64)
    for pattern in range(len(starts) - 1):
        best = starts[pattern] * copies
        for row in range(starts[pattern], starts[pattern + 1]):
            for copy in range(copies):
                if share[row, copy] > share[best // copies, best % copies]:
                    best = row * copies + copy
        mode, height = lower[best // copies, :, best % copies], share[best // copies, best % copies]
        for row in range(starts[pattern], starts[pattern + 1]):
            if asked[row]:
                _own_guess(lower[row], upper[row], share[row], mode, height, shares, chosen)
                for k in range(len(shares)):
                    made[k, row] = best if chosen[k] < 0 else row * copies + chosen[k]
    return made


def hits(
    coding: Coding,
    values: np.ndarray,
    patterns: np.ndarray,
    rows: np.ndarray | None = None,
    asked: np.ndarray | None = None,
) -> np.ndarray:
    """Return which records each attack names, (attacks, n): whose true values lie within reach of
    its guess.

    `rows`: the records whose copies these are, all in turn if they are not named; `asked` (n,):
    which of them alone are told of.
    """
    made = guesses(coding, values, patterns, asked)[0]
    rows = np.arange(values.shape[1]) if rows is None else rows
    if asked is not None:
        made, rows = made[:, :, asked], rows[asked]
    return np.stack([coding.near(guess, rows) for guess in made])


def best_scores(
    named: np.ndarray, halves: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return how often records are named, (n,), by the attack that names most of the other half of
    the records, over several halvings.

    Parameters
    ----------
    named : array of bool (attacks, n)
        What each attack names.
    halves : array of bool (n,) or (H, n)
        Random halves of the records. By one alone chance would decide between attacks that are
        about as good.
    weights : array (n,), optional
        Survey weights.
    """
    halves = np.atleast_2d(halves)
    counted = named.astype(float) if weights is None else named * weights
    whole, inside = counted.sum(axis=1), counted @ halves.T.astype(float)  # (attacks, H)
    of_inside = np.array([_best(whole - of_half) for of_half in inside.T])
    of_outside = np.array([_best(of_half) for of_half in inside.T])
    taken = np.zeros(named.shape[1])
    for attack in np.union1d(of_inside, of_outside):
        taken += named[attack] * (
            halves[of_inside == attack].sum(axis=0) + (~halves[of_outside == attack]).sum(axis=0)
        )
    return taken / len(halves)


def _best(counts: np.ndarray) -> int:
    """The first attack that names most, of (attacks,); sums that differ by rounding are the
    same.
    """
    return int((counts >= counts.max() * (1 - 1e-12)).argmax())
