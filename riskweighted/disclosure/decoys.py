"""Decoys in what a tool is trained on, by which its release shows that it was (METHODS section
13.1).
"""

import math
from collections.abc import Sequence
from itertools import islice, permutations
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import holds_numbers, with_columns

__all__ = ["Decoys", "decoy_scores", "plant", "shown_elsewhere", "slope_on_decoys"]

_MANY, _MOST = 1.5, 0.08  # 1.5 sqrt(n) decoys a fold, at most 8 % of its training rows
_ROUNDING = 1e-9  # an error of the slope below it is that of sums in another order
# from which on decoys are seen in other folds than theirs
_ELSEWHERE_SLOPE, _ELSEWHERE_Z = 0.5, 5.0
_MOST_ORDERS = 5_040


class Decoys(NamedTuple):
    """Decoy by decoy: ``fold``, the training ``row`` whose values are exchanged, and the row ``of``
    which it takes them.
    """

    fold: np.ndarray
    row: np.ndarray
    of: np.ndarray

    def trained(
        self, confidential: pd.DataFrame, names: Sequence[str], of_row: np.ndarray, fold: int
    ) -> pd.DataFrame:
        """What a tool is to be trained on: the data without a fold (from 0), with its decoys."""
        taken = np.arange(len(confidential))
        here = self.fold == fold
        taken[self.row[here]] = self.of[here]
        shown = with_columns(
            confidential,
            {name: confidential[name].iloc[taken].set_axis(confidential.index) for name in names},
        )
        return shown[of_row != fold]

    def table(self) -> pd.DataFrame:
        """As it is written, counted from 1."""
        return pd.DataFrame(
            {"fold": self.fold + 1, "row": self.row + 1, "values_of_row": self.of + 1}
        )

    @classmethod
    def read(cls, table: pd.DataFrame) -> "Decoys":
        return cls(*(table[name].to_numpy() - 1 for name in ("fold", "row", "values_of_row")))


def decoy_scores(confidential: pd.DataFrame, frame: pd.DataFrame, name: str) -> np.ndarray:
    """How high the values of a variable stand among the confidential ones, (m,): a number's
    mid-rank from 0 to 1; of levels 1 for the commonest, 0 for the second, .5 for others; .5 for a
    missing value."""
    column, true = frame[name], confidential[name]
    if holds_numbers(true) and true.nunique() > 2:
        ordered = np.sort(true.dropna().to_numpy(dtype=float))
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
        ranks = (np.searchsorted(ordered, values) + np.searchsorted(ordered, values, "right")) / (
            2 * len(ordered)
        )
        return np.where(np.isnan(values), 0.5, ranks)
    levels = true.value_counts().index[:2].astype(str)
    text = column.astype(object).map(_plain)
    scores = np.full(len(frame), 0.5)
    for score, level in zip((1.0, 0.0), levels, strict=False):
        scores[(text == _plain(level)).to_numpy()] = score
    return scores


def _plain(value: object) -> str:
    """A level as text, 1 and 1.0 and "1" alike."""
    try:
        return f"{float(value):.15g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(value)


def plant(
    confidential: pd.DataFrame, names: Sequence[str], of_row: np.ndarray, rng: np.random.Generator
) -> Decoys:
    """Return decoys for every fold: values of random rows in the upper half of the first variable,
    or fold by fold in the lower half.
    """
    scores = decoy_scores(confidential, confidential, names[0])
    told = confidential[list(names)].notna().all(axis=1).to_numpy()
    high, low = (
        np.flatnonzero(told & side)
        for side in (
            scores > np.median(scores[told]) - 1e-12,
            scores < np.median(scores[told]) + 1e-12,
        )
    )
    if len(np.unique(scores[told])) == 2:
        high, low = (np.flatnonzero(told & (scores == end)) for end in (scores.max(), scores.min()))
    folds = int(of_row.max()) + 1
    upward = rng.permutation(folds) % 2 == 0
    fold, row, of = [], [], []
    for number in range(folds):
        there = np.flatnonzero(of_row != number)
        count = max(1, min(math.ceil(_MANY * math.sqrt(len(of_row))), int(_MOST * len(there))))
        row.append(rng.choice(there, count, replace=False))
        donors = high if upward[number] else low
        donors = donors[of_row[donors] != number]  # a fold's own values stay out of it
        of.append(rng.choice(donors, count))
        fold.append(np.full(count, number))
    return Decoys(np.concatenate(fold), np.concatenate(row), np.concatenate(of))


def slope_on_decoys(trained: np.ndarray, given: np.ndarray) -> tuple[float, float]:
    """Return the slope of the mean score that the folds' datasets give (K, L) on that of what the
    tool was to be trained on (K,), and z.

    A tool that was trained on them has a slope near 1, or smaller where it gives the decoys less
    weight; datasets that were made of the data themselves have 0, with the error that their spread
    within folds gives. Where all datasets give one score (values that are capped, or exchanged)
    there is no error, and a slope above .1 is one.
    """
    off = trained - trained.mean()
    slope = float(off @ given.mean(axis=1) / (off @ off))
    variance = (
        given.var(axis=1, ddof=1) / given.shape[1]
        if given.shape[1] > 1
        else np.full(len(given), np.nan)
    )
    error = math.sqrt(float(off**2 @ variance)) / float(off @ off)
    return slope, slope / error if error > _ROUNDING else (math.inf if slope > 0.1 else 0.0)


def shown_elsewhere(trained: np.ndarray, given: np.ndarray) -> bool:
    """Whether the folds' datasets (K, L) would show the decoys well, had they been put into other
    folds (K,).
    """
    orders = islice(permutations(range(len(trained))), _MOST_ORDERS)
    slope, z = max(
        (slope_on_decoys(trained[list(order)], given) for order in orders),
        key=lambda found: found[1],
    )
    return slope >= _ELSEWHERE_SLOPE and z >= _ELSEWHERE_Z
