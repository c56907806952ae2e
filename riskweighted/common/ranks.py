"""Whether two columns of numbers are in one order."""

from functools import cached_property

import numpy as np

__all__ = ["Ranked", "order_alike"]


class Ranked:
    """A column (n,) of numbers whose order is compared with that of several others, so that it is sorted once."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.complete = bool(np.isfinite(values).all())

    @cached_property
    def scores(self) -> np.ndarray:
        """Its ranks, centred and of length 1, (n,); zeros where the column is constant. Equal values share their mean rank."""
        order = np.argsort(self.values)
        arranged = self.values[order]
        starts = np.flatnonzero(np.append(True, arranged[1:] != arranged[:-1]))
        sizes = np.diff(np.append(starts, len(arranged)))
        ranks = np.empty(len(arranged))
        ranks[order] = np.repeat(starts + (sizes - 1) / 2 - (len(arranged) - 1) / 2, sizes)
        return np.asarray(ranks / (np.sqrt(ranks @ ranks) if len(starts) > 1 else 1.0))


def order_alike(left: np.ndarray | Ranked, right: np.ndarray | Ranked) -> float:
    """Spearman's rank correlation without its sign, over the records where both are numbers; 0 where one is constant there."""
    first, second = (column if isinstance(column, Ranked) else Ranked(column) for column in (left, right))
    if not (first.complete and second.complete):
        both = np.isfinite(first.values) & np.isfinite(second.values)
        first, second = Ranked(first.values[both]), Ranked(second.values[both])
    return 0.0 if len(first.values) < 2 else min(float(abs(first.scores @ second.scores)), 1.0)
