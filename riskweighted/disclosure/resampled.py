"""A pack as it would be without each of its records: datasets of a fit, chosen anew by weights that differ from record to record.

Both sides share what they can: a dataset of the pack stays with probability min(1, M w), and is replaced by one drawn from what the
weights exceed 1 / M by. Each is then distributed as the weights say, and a record that moves no weights sees the pack itself, so that
the difference of the sides is of the record and hardly of chance.
"""

import numpy as np

from riskweighted.common.jit import kernel
from riskweighted.disclosure.attacks import ATTACKS, SHARES, middles, own_guess
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.sides import Side, copies_near

__all__ = ["SortedEnds", "chosen_datasets", "side_without"]

COARSE, FINE = 32, 16  # places where a pattern's mode is looked for: so many, then so many to either side of the best


def chosen_datasets(weights: np.ndarray, pack: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which of M datasets stand in the pack without each record, (n, L), from weights (n, M) of sum 1 and the pack (L,)."""
    n, count = weights.shape
    made = np.repeat(pack[None], n, axis=0)
    rows, places = np.nonzero(rng.random((n, len(pack))) >= count * weights[:, pack])
    shares = rng.random(len(rows))
    for at, (row, place) in enumerate(zip(rows, places, strict=True)):
        above = np.cumsum(np.maximum(weights[row] - 1 / count, 0.0))
        made[row, place] = min(int(np.searchsorted(above, shares[at] * above[-1], "right")), count - 1)
    return made


class SortedEnds:
    """Lower and upper ends of M copies (V, n, M) in the order of patterns, and of one variable sorted within them."""

    def __init__(self, coding: Coding, values: np.ndarray, patterns: np.ndarray) -> None:
        self.order = np.argsort(patterns, kind="stable")
        self.starts = np.append(np.flatnonzero(np.diff(patterns[self.order], prepend=-1)), len(patterns))
        lower, upper = coding.ends(values[:, self.order])
        self.pattern = np.empty(len(patterns), dtype=np.int64)
        self.pattern[self.order] = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        self.lower, self.upper = (np.ascontiguousarray(ends.transpose(0, 2, 1)) for ends in (lower, upper))  # (V, M, n)
        if len(values) == 1:
            for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
                self.lower[:, :, first:last].sort(axis=2)
                self.upper[:, :, first:last].sort(axis=2)


def side_without(coding: Coding, values: np.ndarray, ends: SortedEnds, using: Side, pack: np.ndarray, chosen: np.ndarray) -> Side:
    """Return what the pack tells of every record without it.

    Parameters
    ----------
    coding : Coding
    values : array (V, n, M)
        All datasets of the fit.
    ends : SortedEnds
        Of the same datasets; rows that are shuffled within patterns have the same.
    using : Side
        The pack with the records.
    pack, chosen : array (L,), (n, L)
        The datasets of the pack, and those that stand there without each record.
    """
    rows = np.flatnonzero((chosen != pack).any(axis=1))
    named, near, same = using.named.copy(), using.near.copy(), using.same.copy()
    if not len(rows):
        return using
    own = np.ascontiguousarray(np.take_along_axis(values[:, rows], chosen[rows][None], axis=2))
    near[rows], same[rows] = copies_near(coding, own, rows)
    lower, upper = coding.ends(own)
    made = np.empty((len(ATTACKS), len(values), len(rows)))
    made[: len(SHARES)] = _guessed(
        lower, upper, using.mode[:, rows], chosen[rows], ends.pattern[rows], ends.starts, ends.lower, ends.upper, SHARES
    )
    made[len(SHARES) :] = middles(coding, own, made[len(SHARES) - 1])
    named[:, rows] = np.stack([coding.near(guess, rows) for guess in made])
    return Side(named, near, same, using.mode, using.copies)


@kernel
def _share(at: np.ndarray, datasets: np.ndarray, first: int, last: int, lower: np.ndarray, upper: np.ndarray) -> float:
    """The share of a pattern's boxes in some datasets that hold a place (V,)."""
    held = 0
    for s in datasets:
        if len(lower) == 1:
            held += np.searchsorted(lower[0, s, first:last], at[0], "right") - np.searchsorted(upper[0, s, first:last], at[0])
            continue
        for row in range(first, last):
            inside = True
            for v in range(len(lower)):
                inside = inside and lower[v, s, row] <= at[v] and at[v] <= upper[v, s, row]
            held += inside
    return held / ((last - first) * len(datasets))


@kernel
def _mode(
    before: np.ndarray, datasets: np.ndarray, first: int, last: int, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, float]:
    """The place (V,) that most boxes of a pattern in some datasets hold, and their share.

    It is looked for where it was `before`, coarsely everywhere, and then beside the best.
    """
    count = len(datasets)
    total = (last - first) * count
    step = max(total // COARSE, 1)
    mode, height, best = before, _share(before, datasets, first, last, lower, upper), -1
    start, end, by = 0, total, step
    for _ in range(2):
        for place in range(start, end, by):
            at = lower[:, datasets[place % count], first + place // count]
            here = _share(at, datasets, first, last, lower, upper)
            if here > height + 1e-12:
                mode, height, best = at.copy(), here, place
        if step == 1 or best < 0:
            break
        start, end, by = max(best - step, 0), min(best + step, total), max(step // FINE, 1)
    return mode, height


@kernel
def _guessed(
    own_lower: np.ndarray,
    own_upper: np.ndarray,
    before: np.ndarray,
    chosen: np.ndarray,
    pattern: np.ndarray,
    starts: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    shares: np.ndarray,
) -> np.ndarray:
    """What the attacks guess of m rows that have a pack of their own, (shares, V, m)."""
    variables, rows, copies = own_lower.shape
    made = np.empty((len(shares), variables, rows))
    taken = np.empty(len(shares), dtype=np.int64)
    share = np.empty(copies)
    for row in range(rows):
        first, last = starts[pattern[row]], starts[pattern[row] + 1]
        mode, height = _mode(before[:, row].copy(), chosen[row], first, last, lower, upper)
        for copy in range(copies):
            share[copy] = _share(own_lower[:, row, copy], chosen[row], first, last, lower, upper)
            if share[copy] > height:
                mode, height = own_lower[:, row, copy].copy(), share[copy]
        own_guess(own_lower[:, row], own_upper[:, row], share, mode, height, shares, taken)
        for k in range(len(shares)):
            for v in range(variables):
                made[k, v, row] = mode[v] if taken[k] < 0 else own_lower[v, row, taken[k]]
    return made
