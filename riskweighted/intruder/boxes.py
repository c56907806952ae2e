"""Balls of several numeric variables: boxes, each an intersection of one run per variable.

Two variables: a sweep over the first one's sorted places with a Fenwick tree over the second one's, O(n log n).
Three and more: each box scans the run of its first variable and asks the others, O(n * length of that run).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from riskweighted.intruder.intervals import Runs
from riskweighted.intruder.kernels.boxes import Asked, Swept, scan_covering, scan_sums, sweep_covering, sweep_sums

__all__ = ["Boxes"]


@dataclass(frozen=True)
class Boxes:
    """Neighbours in two or more dimensions: a candidate lies in a box when it lies in the run of every variable."""

    runs: tuple[Runs, ...]

    @cached_property
    def within(self) -> np.ndarray:
        """Number of candidates in each record's box, (n,)."""
        return self.sums(np.ones(len(self.runs[0].order), dtype=np.int64))

    @property
    def own_inside(self) -> np.ndarray:
        """Whether the candidate paired with the record lies in its box, (n,)."""
        inside: np.ndarray = np.logical_and.reduce([runs.own_inside for runs in self.runs])
        return inside

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum over the candidates in each record's box of their weights (n,); exact for integers, else float64."""
        weights = weights if np.issubdtype(weights.dtype, np.integer) else weights.astype(float)
        sums = sweep_sums if len(self.runs) == 2 else scan_sums
        return sums(self._swept, self._asked, weights)

    def covering(self) -> np.ndarray:
        """Number of boxes that hold each candidate, (n,)."""
        covering = sweep_covering if len(self.runs) == 2 else scan_covering
        return covering(self._swept, self._asked)

    @property
    def _swept(self) -> Swept:
        one = self.runs[0]
        opening, closing = np.argsort(one.first, kind="stable"), np.argsort(one.last, kind="stable")
        return Swept(one.order, one.first, one.last, opening, closing)

    @property
    def _asked(self) -> Asked:
        rest = self.runs[1:]
        return Asked(np.stack([r.place for r in rest]), np.stack([r.first for r in rest]), np.stack([r.last for r in rest]))
