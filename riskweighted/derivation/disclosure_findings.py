"""What counts as given away: shares of records that a prediction hits, their lower limits, and the
rules (METHODS section 13.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

__all__ = [
    "COARSENING",
    "EXACT",
    "FEWEST",
    "NOT_JUDGED",
    "ORDER",
    "PREDICTED",
    "RECOVERED",
    "REFUSE",
    "STATUS",
    "UNIVERSE",
    "WARN",
    "Amounts",
    "DisclosureFinding",
    "gain",
    "lower_limit",
    "share_finding",
]

EXACT, RECOVERED, ORDER, COARSENING, STATUS = "exact", "recovered", "order", "coarsening", "status"
UNIVERSE, PREDICTED, NOT_JUDGED = "universe", "predicted", "not judged"
REFUSE, WARN = "refuse", "warn"
FEWEST = 40  # amounts, or records of levels, below which nothing is judged

_SURE = float(norm.ppf(0.99))
_NEAR, _NEXT = 0.05, 0.1  # of the reach: hit exactly, and the ring beyond it
_RING = 1.5  # what a smooth prediction hits within the ring for each hit within
# of the records beyond the commonest value's, and of what the base misses
_EXACT, _EXACT_GAIN = 0.1, 0.5
_RECOVERED, _RECOVERED_GAIN = 0.8, 0.75
_PREDICTED_GAIN = 0.25
_TOLD_ANYWAY = 0.9  # of the records: a base from which a prediction says nothing
_HALF = 0.5  # of the records that the pattern may tell where recovery is judged
_NARROWER, _TIMES = 1.5, 12  # by which the reach is divided, and how often at most
_ROUND_OFF = 1e-9  # of a reach
_PER_PATTERN = 10  # records from which a pattern has a best guess of its own


class DisclosureFinding(NamedTuple):
    """Columns that tell a target: how (``relation``), by which rule, for which share of the
    records, what is told without them, and what follows (``verdict``)."""

    columns: tuple[str, ...]
    relation: str
    rule: str
    recovered: float
    base: float
    verdict: str = REFUSE


def lower_limit(share: float, n: int) -> float:
    """Wilson's lower limit of a share of n records, at 99 % on one side."""
    squared = _SURE**2
    spread = _SURE * float(np.sqrt(share * (1 - share) / n + squared / (4 * n * n)))
    return (share + squared / (2 * n) - spread) / (1 + squared / n)


def gain(share: float, base: float) -> float:
    """The part of what is not told anyway that is told."""
    return (share - base) / (1 - base) if base < 1 else 0.0


def share_finding(
    columns: tuple[str, ...], relation: str, share: float, base: float, n: int
) -> DisclosureFinding | None:
    """The finding of a share of n records whose level is hit, where it is large enough for one."""
    least = lower_limit(share, n)
    if gain(least, base) >= _RECOVERED_GAIN and least >= _RECOVERED:
        return DisclosureFinding(columns, relation, RECOVERED, share, base)
    predicts = base < _TOLD_ANYWAY and gain(share, base) >= _PREDICTED_GAIN
    return DisclosureFinding(columns, relation, PREDICTED, share, base, WARN) if predicts else None


@dataclass(frozen=True, eq=False)
class Amounts:
    """Amounts of a target, finite and not zero, ``y`` (m,), how far a guess may be off (``reach``,
    (m,)), a half of the records (0, 1), and codes of the known pattern (``patterns``).

    ``base``, ``base_exact``: shares that the best guess of the known pattern hits within reach and
    within a twentieth of it. ``narrow``: what the reach is multiplied with for that guess to hit at
    most half of the records, and ``base_narrow`` the share that it hits then. ``commonest``: the
    share of the commonest value.
    """

    y: np.ndarray
    reach: np.ndarray
    fold: np.ndarray
    patterns: np.ndarray
    base: float
    base_exact: float
    narrow: float
    base_narrow: float
    commonest: float

    @classmethod
    def of(
        cls, y: np.ndarray, reach: np.ndarray, patterns: np.ndarray, rng: np.random.Generator
    ) -> "Amounts":
        """Amounts (m,) of records of known patterns (m,)."""
        fold = rng.permutation(len(y)) % 2
        base, base_exact = (_told_by(patterns, y, part * reach, fold) for part in (1, _NEAR))
        narrow, base_narrow = 1.0, base
        for _ in range(_TIMES):
            if base_narrow > _HALF:
                narrow /= _NARROWER
                base_narrow = _told_by(patterns, y, narrow * reach, fold)
        commonest = float(np.unique(y, return_counts=True)[1].max() / len(y))
        return cls(y, reach, fold, patterns, base, base_exact, narrow, base_narrow, commonest)

    def among(self, rows: np.ndarray) -> "Amounts":
        """Some of the records (s,), with the bases of all."""
        parts = {name: getattr(self, name)[rows] for name in ("y", "reach", "fold", "patterns")}
        return replace(self, **parts)

    @property
    def told_anyway(self) -> bool:
        """Whether the best guess is within reach of so many records that a prediction says
        nothing.
        """
        return self.base >= _TOLD_ANYWAY

    def within_reach(self, guess: np.ndarray) -> float:
        """The share of the records that a prediction (m,), NaN where there is none, hits."""
        return float((np.abs(guess - self.y) <= self.reach).mean())

    def told_by(self, groups: np.ndarray) -> float:
        """The share that the best guess of each group (m,), whole numbers from 0, hits in the other
        half, within the narrow reach.
        """
        return _told_by(groups, self.y, self.narrow * self.reach, self.fold)

    def judge(
        self, columns: Sequence[str], relation: str, guess: np.ndarray
    ) -> DisclosureFinding | None:
        """What a prediction (m,), NaN where there is none, comes to by the rules; None where it
        tells too little.
        """
        found, share = self.refused(columns, relation, guess), self.within_reach(guess)
        if found is None and not self.told_anyway and gain(share, self.base) >= _PREDICTED_GAIN:
            return DisclosureFinding(tuple(columns), relation, PREDICTED, share, self.base, WARN)
        return found

    def refused(
        self,
        columns: Sequence[str],
        relation: str,
        guess: np.ndarray,
        share: float = _RECOVERED,
        more: float = _RECOVERED_GAIN,
    ) -> DisclosureFinding | None:
        """The same, where it is refused: exact, or of at least a share, and a part of what the base
        misses, recovered at a reach at which the known pattern tells at most half, so that a wide
        one neither refuses nor excuses."""
        error = np.abs(guess - self.y) / self.reach
        near = float((error <= _NEAR).mean())
        ring = float(((error > _NEAR) & (error <= _NEXT)).mean())
        sure = lower_limit(near, len(self.y))
        if (
            sure - _RING * ring - self.commonest >= _EXACT
            and gain(sure, self.base_exact) >= _EXACT_GAIN
        ):
            return DisclosureFinding(tuple(columns), relation, EXACT, near, self.base_exact)
        hit = float((error <= self.narrow).mean())
        least = lower_limit(hit, len(self.y))
        recovered = least >= share and gain(least, self.base_narrow) >= more
        return (
            DisclosureFinding(tuple(columns), relation, RECOVERED, hit, self.base_narrow)
            if recovered
            else None
        )


def _told_by(groups: np.ndarray, y: np.ndarray, reach: np.ndarray, fold: np.ndarray) -> float:
    """The share of records (m,) within reach of the number that is within reach of most records of
    the same group in the other half; of all where a group is small."""
    hit = np.empty(len(y), dtype=bool)
    for part in (0, 1):
        train, test = fold != part, fold == part
        order = np.argsort(groups[train], kind="stable")
        codes, values, off = groups[train][order], y[train][order], reach[train][order]
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        best = np.full(int(groups.max()) + 1, _most_within_reach(values, off))
        for start, end in zip(starts, np.append(starts[1:], len(codes)), strict=True):
            if end - start >= _PER_PATTERN:
                best[codes[start]] = _most_within_reach(values[start:end], off[start:end])
        hit[test] = np.abs(best[groups[test]] - y[test]) <= reach[test] * (1 + _ROUND_OFF)
    return float(hit.mean())


def _most_within_reach(y: np.ndarray, reach: np.ndarray) -> float:
    """The number that is within reach of most records (m,)."""
    lower, upper = np.sort(y - reach), np.sort(y + reach)
    inside = np.arange(1, len(y) + 1) - np.searchsorted(upper, lower, side="left")
    return float(lower[np.argmax(inside)])
