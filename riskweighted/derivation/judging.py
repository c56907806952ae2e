"""What counts as given away: shares of records that a prediction hits, their lower limits, and the rules (METHODS section 13)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

__all__ = ["COARSENING", "EXACT", "PREDICTED", "RECOVERED", "STATUS", "Amounts", "Finding", "gain", "lower_limit", "told"]

EXACT, RECOVERED, COARSENING, STATUS, PREDICTED = "exact", "recovered", "coarsening", "status", "predicted"

_SURE = float(norm.ppf(0.99))
_NEAR, _NEXT = 0.05, 0.1  # of the reach: hit exactly, and the ring beyond it
_RING = 1.5  # what a smooth prediction hits within the ring for each hit within
_EXACT = 0.1  # of the records, beyond the commonest value's
_EXACT_GAIN = 0.5  # of a target of few values
_RECOVERED_GAIN, _RECOVERED = 0.75, 0.8
_PREDICTED_GAIN = 0.25
_FEW, _FEW_SHARE = 20, 0.02  # values of a target of few values, and of the records
_PER_PATTERN = 10  # records from which a pattern has a best guess of its own


class Finding(NamedTuple):
    """Columns that tell a target: how (``relation``), by which rule, for which share of the records, and what is told without them."""

    columns: tuple[str, ...]
    relation: str
    rule: str
    recovered: float
    base: float


def lower_limit(share: float, n: int) -> float:
    """Wilson's lower limit of a share of n records, at 99 % on one side."""
    squared = _SURE**2
    spread = _SURE * float(np.sqrt(share * (1 - share) / n + squared / (4 * n * n)))
    return (share + squared / (2 * n) - spread) / (1 + squared / n)


def gain(share: float, base: float) -> float:
    """The part of what is not told anyway that is told."""
    return (share - base) / (1 - base) if base < 1 else 0.0


def told(columns: tuple[str, ...], relation: str, share: float, base: float, n: int) -> Finding | None:
    """The finding of a share of n records that is hit, where it is large enough for one."""
    least = lower_limit(share, n)
    if gain(least, base) >= _RECOVERED_GAIN and least >= _RECOVERED:
        return Finding(columns, relation, RECOVERED, share, base)
    return Finding(columns, relation, PREDICTED, share, base) if gain(share, base) >= _PREDICTED_GAIN else None


@dataclass(frozen=True, eq=False)
class Amounts:
    """Amounts of a target, finite and not zero, ``y`` (m,), how far a guess may be off (``reach``, (m,)), and a half of the records (0, 1).

    ``base``, ``base_exact``: shares that the best guess of the known pattern hits within reach and exactly. ``commonest``: that of the
    commonest value.
    """

    y: np.ndarray
    reach: np.ndarray
    fold: np.ndarray
    base: float
    base_exact: float
    commonest: float
    few_values: bool

    @classmethod
    def of(cls, y: np.ndarray, reach: np.ndarray, patterns: np.ndarray, rng: np.random.Generator) -> "Amounts":
        """Amounts (m,) of records of known patterns (m,)."""
        fold = rng.permutation(len(y)) % 2
        error = np.abs(_guess_by_pattern(y, reach, patterns, fold) - y) / reach
        counts = np.unique(y, return_counts=True)[1]
        few = len(counts) <= max(_FEW, _FEW_SHARE * len(y))
        return cls(y, reach, fold, float((error <= 1).mean()), float((error <= _NEAR).mean()), float(counts.max() / len(y)), few)

    def judge(self, columns: Sequence[str], relation: str, guess: np.ndarray) -> Finding | None:
        """What a prediction (m,), NaN where there is none, comes to by the rules; None where it tells too little."""
        error = np.abs(guess - self.y) / self.reach
        near, ring, within = (float(hit.mean()) for hit in (error <= _NEAR, (error > _NEAR) & (error <= _NEXT), error <= 1))
        sure = lower_limit(near, len(self.y))
        exact = sure - _RING * ring - self.commonest >= _EXACT
        if exact and (not self.few_values or gain(sure, self.base_exact) >= _EXACT_GAIN):
            return Finding(tuple(columns), relation, EXACT, near, self.base)
        return told(tuple(columns), relation, within, self.base, len(self.y))


def _guess_by_pattern(y: np.ndarray, reach: np.ndarray, patterns: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The guess (m,) that is within reach of most records of the same pattern in the other half; of all where a pattern is small."""
    guess = np.empty(len(y))
    for part in (0, 1):
        train, test = fold != part, fold == part
        order = np.argsort(patterns[train], kind="stable")
        codes, values, off = patterns[train][order], y[train][order], reach[train][order]
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        best = np.full(int(patterns.max()) + 1, _most_within_reach(values, off))
        for start, end in zip(starts, np.append(starts[1:], len(codes)), strict=True):
            if end - start >= _PER_PATTERN:
                best[codes[start]] = _most_within_reach(values[start:end], off[start:end])
        guess[test] = best[patterns[test]]
    return guess


def _most_within_reach(y: np.ndarray, reach: np.ndarray) -> float:
    """The number that is within reach of most records (m,)."""
    lower, upper = np.sort(y - reach), np.sort(y + reach)
    inside = np.arange(1, len(y) + 1) - np.searchsorted(upper, lower, side="left")
    return float(lower[np.argmax(inside)])
