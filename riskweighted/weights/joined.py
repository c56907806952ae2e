"""The weight that a record would have got with another value of one variable, where weights are
made of boxes of several (METHODS 15.4).

A record's weight depends on all its values of a box. Of one variable's value it is the expectation
over the variables that are modelled later, those before it held as they are: what other records
that lie in the box so far have of the later ones stands for their law.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.intruder.patterns import level_codes
from riskweighted.weights.functions import RiskWeights

__all__ = ["BoxWeights"]

_COUNTED = 1024  # others of a pattern that are counted, evenly by rank; all of a smaller one
_ASKED = 256  # of these, whose later values are asked of
_ROOM = 4_000_000  # numbers at a time


@dataclass(frozen=True, eq=False)
class BoxWeights(RiskWeights):
    """Those of the box of several variables, in the order in which they are modelled. Exact of the
    last one in patterns of up to 1,024.
    """

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """The expected a_i(y) of some records (R,) at values of the variable (G,), as its column
        holds them, (R, G).
        """
        weights = np.empty((len(records), len(values)))
        for rows in self._by_pattern(records):
            others = self._counted(int(self.pattern[records[rows[0]]]))
            near = self._near(self.variable, values, others)
            near, which = np.unique(near, axis=0, return_inverse=True)
            step = max(1, _ROOM // max(len(others), 1))
            for some in (rows[begin : begin + step] for begin in range(0, len(rows), step)):
                weights[some] = self._expected(records[some], others, near)[:, np.ravel(which)]
        return weights

    def _expected(self, records: np.ndarray, others: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Expected weights of some records of one pattern (R,), by which of the others (H,) are
        near each value (G, H), (R, G).
        """
        size = int(self.world.patterns.in_pattern[records[0]])
        other, (tuples, of) = records[:, None] != others, self._tuples(records, others, size)
        held = other & self._near_all(self._names[: self._place], records, others)
        whole, joined = (tuples * other).sum(axis=1), tuples * held
        # all of them, but in a large pattern
        counted = of * (np.maximum(other.sum(axis=1), 1) / max(size - 1, 1))

        def weights_of(found: np.ndarray) -> np.ndarray:
            """By how many tuples (R, ...) lie in the box."""
            wide = (-1,) + (1,) * (found.ndim - 1)
            return self.made(
                records, np.clip((whole.reshape(wide) - found) / counted.reshape(wide), 0.0, 1.0)
            )

        if not self.later:
            return weights_of(joined @ near.T)
        asked = np.unique(np.linspace(0, len(others) - 1, _ASKED).astype(int))
        later = self._near_all(self._names[self._place + 1 :], others[asked], others)
        later[np.arange(len(asked)), asked] = False
        by_chance = later.sum() / max(later.size - len(asked), 1)
        weights = np.empty((len(records), len(near)))
        for place, there in enumerate(near):
            inside = held & there
            count = inside.sum(axis=1)
            # Of one who is asked, the others in the box are one fewer than of a fresh value.
            found = ((joined * there) @ later.T) * (count / np.maximum(count - 1, 1))[:, None]
            of_asked = inside[:, asked] & (count > 1)[:, None]
            several = of_asked.any(axis=1)
            mean = np.where(of_asked, weights_of(found), 0.0).sum(axis=1) / np.maximum(
                of_asked.sum(axis=1), 1
            )
            weights[:, place] = np.where(several, mean, weights_of((joined @ there) * by_chance))
        return weights

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.world.scenario.synthetic)

    @cached_property
    def _place(self) -> int:
        return self._names.index(self.variable)

    @cached_property
    def _missing(self) -> np.ndarray:
        """How many boxes of the pattern miss each record, (n,)."""
        return np.asarray(
            self.world.patterns.in_pattern - self.world.neighbours.covering(), dtype=float
        )

    def _tuples(
        self, records: np.ndarray, others: np.ndarray, size: int
    ) -> tuple[np.ndarray, float]:
        """How many tuples each of the others (H,) adds to the risk of a record whose box misses it,
        (R, H), and of how many in all.

        One of M for marginal weights. Of the boxes that miss one of the others, record i's own is
        none.
        """
        tuples, of = np.ones((len(records), len(others))), float(size)
        if self.k > 1:
            missing = self._missing[others] + self._near_all(self._names, records, others)
            for t in range(1, min(self.k, size)):
                tuples, of = tuples * np.maximum(missing - t, 0.0), of * (size - t)
        return tuples, of

    def _counted(self, pattern: int) -> np.ndarray:
        """The records of a pattern, of a large one some, evenly by their rank in the variable."""
        members = np.flatnonzero(self.pattern == pattern)
        if len(members) <= _COUNTED:
            return members
        values = level_codes(self.world.confidential[self.variable].iloc[members])
        ranked = members[np.argsort(values, kind="stable")]
        return np.asarray(
            ranked[((np.arange(_COUNTED) + 0.5) * len(members) / _COUNTED).astype(int)]
        )

    def _near_all(
        self, names: Sequence[str], centres: np.ndarray, others: np.ndarray
    ) -> np.ndarray:
        """Whether some records' boxes of some variables hold the others, (R, H)."""
        near = np.ones((len(centres), len(others)), dtype=bool)
        for name in names:
            near &= self._near(name, self.world.confidential[name].iloc[centres], others)
        # each record its own box, where an open ball has no width too
        return np.asarray(near | (centres[:, None] == others))

    def _near(self, name: str, centres: pd.Series, others: np.ndarray) -> np.ndarray:
        """Whether the ball of each value (C,) holds the value of each of the others, (C, H)."""
        scenario, column = self.world.scenario, self.world.confidential[name].iloc[others]
        if name not in self.world.centres.amounts:
            codes = level_codes(
                pd.concat([centres.astype(object), column.astype(object)], ignore_index=True)
            )
            return np.asarray(codes[: len(centres), None] == codes[len(centres) :])
        of, have = scenario.statuses(centres.rename(name)), scenario.statuses(column)
        lower, upper = scenario.balls(name, of.values)
        inside = (lower[:, None] <= have.values) & (have.values <= upper[:, None])
        return np.asarray((of.status[:, None] == have.status) & (inside | ~have.is_amount))
