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
PLACES = 64  # of one variable and as many records at least: places whose coverings by each dataset are counted once
_SPREAD = 20  # datasets whose lower ends say where these places lie


def chosen_datasets(weights: np.ndarray, pack: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which of M datasets stand in the pack without each record, (n, L), from weights (n, M) of sum 1 and the pack (L,)."""
    n, count = weights.shape
    made = np.repeat(pack[None], n, axis=0)
    rows, places = np.nonzero(rng.random((n, len(pack))) >= count * weights[:, pack])
    made[rows, places] = _from_the_rest(weights, rows, rng.random(len(rows)))
    return made


@kernel
def _from_the_rest(weights: np.ndarray, rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Datasets (m,) of some rows, by what their weights (n, M) exceed 1 / M by: where its running sum passes a share of the whole."""
    count = weights.shape[1]
    made = np.empty(len(rows), dtype=np.int64)
    for number, row in enumerate(rows):
        total = 0.0
        for s in range(count):
            total += max(weights[row, s] - 1 / count, 0.0)
        above, s = max(weights[row, 0] - 1 / count, 0.0), 0
        while above <= shares[number] * total and s < count - 1:
            s += 1
            above += max(weights[row, s] - 1 / count, 0.0)
        made[number] = s
    return made


class SortedEnds:
    """Lower and upper ends of M copies (V, n, M) in the order of patterns, and of one variable sorted within them.

    ``places`` (B, 64): of one variable, of each of the B patterns of 64 records or more, where a mode is looked for; ``held``
    (B, M, 64): how many boxes of each dataset hold these places; ``large``: which of them a pattern is, -1 where it is small.
    """

    def __init__(self, coding: Coding, values: np.ndarray, patterns: np.ndarray) -> None:
        self.order = np.argsort(patterns, kind="stable")
        self.starts = np.append(np.flatnonzero(np.diff(patterns[self.order], prepend=-1)), len(patterns))
        self.pattern = np.empty(len(patterns), dtype=np.int64)
        self.pattern[self.order] = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        shape = values.shape[0], values.shape[2], values.shape[1]
        self.lower, self.upper = np.empty(shape), np.empty(shape)
        for s in range(values.shape[2]):  # a dataset at a time, for want of memory
            self.lower[:, s], self.upper[:, s] = coding.ends(values[:, self.order, s])
        if len(values) == 1:
            for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
                self.lower[:, :, first:last].sort(axis=2)
                self.upper[:, :, first:last].sort(axis=2)
        sizes = np.diff(self.starts)
        large = np.flatnonzero(sizes >= PLACES) if len(values) == 1 else np.empty(0, dtype=np.int64)
        self.large = np.full(len(sizes), -1)
        self.large[large] = np.arange(len(large))
        self.places, self.held = _held(self.lower[0], self.upper[0], self.starts[large], self.starts[large + 1])


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
    of_rows = using.mode[:, rows], using.held[:, rows], pack, chosen[rows], ends.pattern[rows]
    of_datasets = ends.starts, ends.lower, ends.upper, ends.large, ends.places, ends.held
    made[: len(SHARES)] = _guessed(lower, upper, *of_rows, *of_datasets, SHARES)
    made[len(SHARES) :] = middles(coding, own, made[len(SHARES) - 1])
    named[:, rows] = np.stack([coding.near(guess, rows) for guess in made])
    return using._replace(named=named, near=near, same=same)


@kernel
def _count(at: np.ndarray, datasets: np.ndarray, first: int, last: int, lower: np.ndarray, upper: np.ndarray) -> int:
    """How many of a pattern's boxes in some datasets hold a place (V,)."""
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
    return held


@kernel
def _held(lower: np.ndarray, upper: np.ndarray, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (B, 64) evenly among the lower ends of B patterns, and how many boxes of each dataset hold them, (B, M, 64).

    Ends (M, n) are sorted within the patterns, which stand from `first` (B,) to `last`.
    """
    count = len(lower)
    places = np.empty((len(first), PLACES))
    held = np.empty((len(first), count, PLACES), dtype=np.int32)
    for b in range(len(first)):
        some = np.sort(lower[:: max(count // _SPREAD, 1), first[b] : last[b]].copy().ravel())
        for g in range(PLACES):
            places[b, g] = some[(2 * g + 1) * len(some) // (2 * PLACES)]
        for s in range(count):
            to = np.searchsorted(lower[s, first[b] : last[b]], places[b], "right")
            held[b, s] = to - np.searchsorted(upper[s, first[b] : last[b]], places[b])
    return places, held


@kernel
def _mode(before: np.ndarray, datasets: np.ndarray, first: int, last: int, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, int]:
    """The place (V,) that most boxes of a pattern in some datasets hold, and how many do.

    It is looked for where it was `before`, coarsely everywhere, and then beside the best.
    """
    count = len(datasets)
    total = (last - first) * count
    step = max(total // COARSE, 1)
    mode, height, best = before, _count(before, datasets, first, last, lower, upper), -1
    start, end, by = 0, total, step
    for _ in range(2):
        for place in range(start, end, by):
            at = lower[:, datasets[place % count], first + place // count]
            here = _count(at, datasets, first, last, lower, upper)
            if here > height:
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
    own_held: np.ndarray,
    pack: np.ndarray,
    chosen: np.ndarray,
    pattern: np.ndarray,
    starts: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    large: np.ndarray,
    places: np.ndarray,
    held: np.ndarray,
    shares: np.ndarray,
) -> np.ndarray:
    """What the attacks guess of m rows that have a pack of their own, (shares, V, m).

    Few of its datasets differ from those of the pack: what these hold, in large patterns too, is counted once, and the difference added.
    ``before`` (V, m): the pattern's mode in the pack; ``own_held`` (L, m): boxes of the pack's pattern that hold each of its copies.
    """
    variables, rows, copies = own_lower.shape
    made = np.empty((len(shares), variables, rows))
    taken = np.empty(len(shares), dtype=np.int64)
    share = np.empty(copies)
    at_mode = np.full(len(starts), -1)  # of the pack, by pattern
    at_places = np.full(places.shape, -1)
    for row in range(rows):
        first, last, b = starts[pattern[row]], starts[pattern[row] + 1], large[pattern[row]]
        new = chosen[row][chosen[row] != pack]
        old = pack[chosen[row] != pack]
        mode = before[:, row].copy()
        if b < 0:
            mode, height = _mode(mode, chosen[row], first, last, lower, upper)
        else:
            if at_mode[pattern[row]] < 0:
                at_mode[pattern[row]] = _count(mode, pack, first, last, lower, upper)
                at_places[b] = 0
                for s in pack:
                    at_places[b] += held[b, s]
            height = at_mode[pattern[row]]
            height += _count(mode, new, first, last, lower, upper) - _count(mode, old, first, last, lower, upper)
            total = at_places[b].copy()
            for k in range(len(new)):
                total += held[b, new[k]] - held[b, old[k]]
            best = int(np.argmax(total))
            if total[best] > height:
                mode, height = places[b, best : best + 1].copy(), total[best]
        for copy in range(copies):
            at = own_lower[:, row, copy]
            if chosen[row, copy] != pack[copy]:
                count = _count(at, chosen[row], first, last, lower, upper)
            else:
                count = own_held[copy, row] + _count(at, new, first, last, lower, upper) - _count(at, old, first, last, lower, upper)
            share[copy] = count / ((last - first) * copies)
            if count > height:
                mode, height = at.copy(), count
        own_guess(own_lower[:, row], own_upper[:, row], share, mode, height / ((last - first) * copies), shares, taken)
        for k in range(len(shares)):
            for v in range(variables):
                made[k, v, row] = mode[v] if taken[k] < 0 else own_lower[v, row, taken[k]]
    return made
