"""One ratio, or one difference, to a column that many records share; values that stand in their
rows again; one order.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from riskweighted.common.text import significant_digits
from riskweighted.derivation.disclosure_findings import lower_limit
from riskweighted.derivation.predictions import COMBINED, combine_columns, permute_targets

__all__ = ["KINDS", "repeats_unmistakable", "share_of_one", "sharing_pairs"]

KINDS = ("ratio", "difference")
_WIDTHS = (1e-6, 1e-4, 2e-3)  # in which ratios count as one
_SHARED = 0.08  # of the records, beyond what heaps of like targets share
_SCREENED_SHARE, _SCREENED_WIDTH = 0.04, 0.002
_COPIED = 0.01  # share of unmistakable values that are repeated in their rows
_BY_CHANCE = 3  # records
_CLOSE = 1e-6
_UNMISTAKABLE = 6  # digits


def _constants(values: np.ndarray, y: np.ndarray, kind: str) -> np.ndarray:
    """The ratios or differences of targets (m,) to columns (..., m), NaN where there is none."""
    with np.errstate(all="ignore"):
        return np.where(values != 0, y / values, np.nan) if kind == "ratio" else y - values


def share_of_one(values: np.ndarray, y: np.ndarray, kind: str, rng: np.random.Generator) -> float:
    """The share of the records that have one ratio, or difference, where it is beyond what chance
    gives; else 0.

    Chance is what targets exchanged among records of like targets give, which keeps heaps.
    """
    own = np.sort(_constants(values, y, kind))
    shares = [_most_in(own, y, kind, width) for width in _WIDTHS]
    if lower_limit(shares[-1], len(y)) < _SHARED:
        return 0.0
    other = permute_targets(y, rng)
    chance = np.sort(_constants(values, other, kind))
    beyond = [
        lower_limit(share, len(y)) - _most_in(chance, y, kind, width)
        for share, width in zip(shares, _WIDTHS, strict=True)
    ]
    return max(
        (share for share, more in zip(shares, beyond, strict=True) if more >= _SHARED), default=0.0
    )


def _most_in(arranged: np.ndarray, y: np.ndarray, kind: str, width: float) -> float:
    """The largest share of the records in a window of sorted constants (m,)."""
    usable = arranged[np.isfinite(arranged)]
    if len(usable) < 2:
        return 0.0
    size = np.abs(usable) if kind == "ratio" else np.median(np.abs(y))
    last = np.searchsorted(usable, usable + width * size, side="right")
    return float((last - np.arange(len(usable))).max() / len(y))


def sharing_pairs(
    columns: np.ndarray, y: np.ndarray, *, best: int = 3
) -> Iterator[tuple[int, int, str]]:
    """Yield the pairs of columns (c, m), and how they are combined, to which a twenty-fifth of the
    records has nearly one ratio, or difference."""
    pairs = np.array(list(combinations(range(len(columns)), 2)), dtype=int).reshape(-1, 2)
    apart = max(2, int(_SCREENED_SHARE * len(y)))
    for how in (*COMBINED, "\\"):
        values = combine_columns(columns[pairs[:, 0]], columns[pairs[:, 1]], how)
        for kind in KINDS:
            arranged = np.sort(_constants(values, y, kind), axis=1)
            with np.errstate(all="ignore"):
                size = np.abs(arranged[:, apart:]) if kind == "ratio" else np.median(np.abs(y))
                spread = np.abs((arranged[:, apart:] - arranged[:, :-apart]) / size)
            least = np.where(np.isfinite(spread), spread, np.inf).min(axis=1)
            for place in np.argsort(least)[:best]:
                if least[place] < _SCREENED_WIDTH:
                    yield int(pairs[place, 0]), int(pairs[place, 1]), how


def repeats_unmistakable(values: np.ndarray, y: np.ndarray) -> float:
    """The share of the targets (m,) of at least 6 digits that occur once and stand in their rows of
    a column (m,) again, where that is more than 1 % of them and more than 3; else 0."""
    once = ~pd.Series(y).duplicated(keep=False).to_numpy()
    again = np.flatnonzero(once & (np.abs(values - y) <= _CLOSE * np.abs(y)))
    if len(again) <= _BY_CHANCE:
        return 0.0
    long = once & np.array([significant_digits(value) >= _UNMISTAKABLE for value in y])
    repeated = int(long[again].sum())
    return (
        repeated / int(long.sum()) if repeated > max(_BY_CHANCE, _COPIED * int(long.sum())) else 0.0
    )
