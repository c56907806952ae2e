"""What good public statistics would tell without any release: T_none (METHODS section 13.1).

An intruder with a perfect reference sample: the true values of nine tenths of the records. It is a
yardstick, and no threshold hangs on it.
"""

import numpy as np

from riskweighted.disclosure.coding import Coding, coverings

__all__ = ["named_by_constant", "named_without_release"]

_FOLDS, _PULL = 10, 20.0


def named_without_release(
    coding: Coding, patterns: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return which records the best guess without a release names, (n,).

    Of ten folds, the mode of the true values of the other nine in the released pattern (n,), pulled
    towards their overall mode: a guess is held by m / (m + 20) times the share of the pattern's m
    values plus the rest times the share of all.
    """
    named = np.zeros(len(patterns), dtype=bool)
    fold = rng.permutation(np.arange(len(patterns)) % _FOLDS)
    for number in range(min(_FOLDS, len(patterns))):
        there, asked = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(there):
            named[asked] = coding.near(_modes(coding, patterns, there)[:, patterns[asked]], asked)
    return named


def named_by_constant(coding: Coding) -> np.ndarray:
    """Return which records the one value that names most of them names, (n,)."""
    lower, upper = coding.reach
    if not lower.shape[1]:
        return np.zeros(0, dtype=bool)
    mode = lower[:, int(coverings(lower, upper, np.zeros(lower.shape[1], dtype=np.int64)).argmax())]
    return np.asarray(coding.near(np.repeat(mode[:, None], lower.shape[1], axis=1)))


def _modes(coding: Coding, patterns: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The guess for each pattern from some records, (V, patterns)."""
    lower, upper = (ends[:, there] for ends in coding.reach)
    of, count = patterns[there], int(patterns.max()) + 1
    sizes = np.bincount(of, minlength=count)
    overall = coverings(lower, upper, np.zeros_like(of)) / len(there)
    top = int(overall.argmax())
    mode = lower[:, top]
    share = sizes / (sizes + _PULL)
    value = share[of] * coverings(lower, upper, of) / sizes[of] + (1 - share[of]) * overall
    order = np.lexsort((-value, of))
    # the best of each pattern that occurs
    first = order[np.flatnonzero(np.diff(of[order], prepend=-1))]
    around = np.logical_and.reduce(
        [(lower[v] <= mode[v]) & (mode[v] <= upper[v]) for v in range(len(lower))]
    )
    at_mode = (
        share * np.bincount(of, around, count) / np.maximum(sizes, 1) + (1 - share) * overall[top]
    )
    made = np.repeat(mode[:, None], count, axis=1)
    better = first[value[first] > at_mode[of[first]] + 1e-12]
    made[:, of[better]] = lower[:, better]
    return made
