"""The weight that a record would have got with another value, all others' and its own known values
held (METHODS section 15).

Given the others it is a fixed function a_i of the value, so that its expectation under a model can
be taken off the pseudo posterior.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import OwnFunction
from riskweighted.intruder.patterns import level_codes, number_codes, number_codes_alike
from riskweighted.intruder.sorted_balls import Runs
from riskweighted.intruder.world import World
from riskweighted.weights.families import Shape

__all__ = ["GivenWeights", "LeastOf", "OfRows", "OwnWeights"]

_EXACT = 52  # bits of whole numbers that a double holds


@dataclass(frozen=True, eq=False)
class OwnWeights:
    """Weights of one variable's records by risks that depend on their own values, exact by runs of
    sorted records. Confidential.

    Made by `own_weights`. ``world``: under the scenario that synthesizes the variable alone; ``k``:
    of whom records are joined with; ``shape``: what a risk comes to, by its pattern's size;
    ``scale``, ``shift``: of the adjustment; ``least`` (n,): the smallest weight of the other
    members of its cluster, or of the earlier members of its unit.
    """

    world: World = field(repr=False)
    k: int
    shape: Shape
    scale: float = 1.0
    shift: float = 0.0
    least: np.ndarray | None = field(default=None, repr=False)
    scheme: str = ""

    @property
    def variable(self) -> str:
        """Whose values are asked of."""
        (name,) = self.world.scenario.synthetic
        return name

    @property
    def pattern(self) -> np.ndarray:
        """The known pattern of each record, (n,)."""
        return self.world.patterns.codes

    @property
    def label(self) -> str:
        """The scheme, its adjustment, the scenario and the variable."""
        return (
            f"{self.scheme} {self.scale:.17g} {self.shift:.17g} {self.least is not None} "
            f"{'' if self.world.units is None else self.world.units!r}"
            f"{self.world.scenario!r} {self.variable}"
        )

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """a_i(y) of some records (R,) at values of the variable (G,), as its column holds them, (R,
        G).
        """
        risks, patterns = np.empty((len(records), len(values))), self.pattern[records]
        order = np.argsort(patterns, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(patterns[order])) + 1):
            if len(rows):
                first, last = self._runs_of(int(patterns[rows[0]]), values)
                risks[rows] = self._risks(records[rows], first, last)
        return self._made(records, risks)

    def _made(self, records: np.ndarray, risks: np.ndarray) -> np.ndarray:
        """Weights of some records (R,) of risks (R, G)."""
        sizes = self.world.patterns.in_pattern[records, None]
        policy = 0.0 if self.world.scenario.singletons == "paper" else 1.0
        weights = self.shape(
            np.where(sizes == 1, policy, risks), np.broadcast_to(sizes, risks.shape)
        )
        if (self.scale, self.shift) != (1, 0):
            weights = np.clip(self.scale * weights + self.shift, 0.0, 1.0)
        return weights if self.least is None else np.minimum(weights, self.least[records, None])

    @cached_property
    def _runs(self) -> Runs:
        runs = self.world.neighbours
        assert isinstance(runs, Runs)  # of one variable
        return runs

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells and values in their order, (n,) each."""
        order = self._runs.order
        return self._runs.cell[order], self._runs.values[order]

    @cached_property
    def _joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of every candidate, how many tuples of others miss it where record i is among those who
        do, and where it is not: sums up to each place, (2, n + 1), the second by record (n,), and
        by how much these are to be divided, (n,)."""
        size, runs = self.world.patterns.in_pattern.astype(float), self._runs
        missing = size - runs.covering()
        missed, held, tuples = np.ones(len(size)), np.ones(len(size)), size.copy()
        k = min(self.k, int(size.max()))
        exact = k * np.log2(size.max()) + np.log2(len(size)) < _EXACT
        for t in range(1, k):
            allowed, by = size > t, np.where(size > t, size - t, 1.0)
            missed = np.where(
                allowed, missed * np.maximum(missing - t, 0) / (1 if exact else by), missed
            )
            held = np.where(
                allowed, held * np.maximum(missing + 1 - t, 0) / (1 if exact else by), held
            )
            tuples = tuples * by if exact else tuples
        sums = np.zeros((2, len(size) + 1))
        np.cumsum(np.stack([missed, held])[:, runs.order], axis=1, out=sums[:, 1:])
        return sums, held, tuples

    def _runs_of(self, pattern: int, values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """The runs of sorted records in the ball of each value, in one pattern, (G,) each."""
        scenario, name = self.world.scenario, self.variable
        centres, column = self.world.centres, values.rename(name)
        numeric = name in centres.amounts
        statuses = scenario.statuses(column) if numeric else None
        cell = np.full(len(column), pattern)
        for division in centres.divisions:
            if division.distinct is None:
                assert statuses is not None
                levels = np.minimum(statuses.status, division.size - 1)
            else:
                both = pd.concat(
                    [division.distinct.astype(object), column.astype(object)], ignore_index=True
                )
                levels = np.minimum(level_codes(both)[len(division.distinct) :], division.size - 1)
            cell = number_codes_alike(cell * division.size + levels, division.codes)
        if statuses is not None and not centres.divisions:
            cell = np.where(statuses.status == 0, cell, -1)
        amounts = np.zeros(len(column)) if statuses is None else statuses.values
        lower, upper = (
            (amounts, amounts)
            if statuses is None
            else scenario.balls(name, amounts, statuses.is_amount)
        )
        cells, places = self._sorted
        first, last = np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.int64)
        for there in np.unique(cell):
            begin, end = np.searchsorted(cells, [there, there + 1])
            here = cell == there
            first[here] = begin + np.searchsorted(places[begin:end], lower[here], side="left")
            last[here] = begin + np.searchsorted(places[begin:end], upper[here], side="right")
        return first, last

    def _risks(self, records: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Risks of records (R,) of one pattern with each value, whose ball holds a run, (R, G).

        With W_h the tuples of others that miss candidate h, counted without record i: one more of
        them where i's ball holds h.
        """
        (missed, held), own, tuples = self._joined
        runs, size = self._runs, len(missed)
        more = held - missed
        begin, end = runs.first[records], runs.last[records]
        whole = self._whole(records)
        inside = np.broadcast_to(missed[last] - missed[first], (len(records), len(first))).copy()
        if self.k > 1:
            low, high = np.maximum(first, begin[:, None]), np.minimum(last, end[:, None])
            inside += np.where(
                high > low, more[np.clip(high, 0, size - 1)] - more[np.clip(low, 0, size - 1)], 0.0
            )
        rank = runs.rank[records, None]
        inside -= np.where((first <= rank) & (rank < last), own[records, None], 0.0)
        total = whole + more[end] - more[begin] - own[records]
        return np.asarray(np.clip((total[:, None] - inside) / tuples[records, None], 0.0, 1.0))

    def _whole(self, records: np.ndarray) -> np.ndarray:
        """Sum over the pattern of the tuples that miss each candidate, record i being among them,
        (R,).
        """
        (missed, _), _, _ = self._joined
        each = np.empty(len(missed) - 1)
        each[self._runs.order] = np.diff(missed)
        patterns = self.world.patterns
        return np.asarray(
            np.bincount(patterns.codes, weights=each, minlength=len(patterns.sizes))[
                patterns.codes[records]
            ]
        )


@dataclass(frozen=True, eq=False)
class GivenWeights:
    """Weights of one variable by a function that a user gives: of rows of the data (m) and values
    (G) to weights (m, G). Confidential.
    """

    world: World = field(repr=False)
    function: Callable[[pd.DataFrame, pd.Series], np.ndarray]

    @property
    def pattern(self) -> np.ndarray:
        """The known pattern of each record, (n,)."""
        return self.world.patterns.codes

    @property
    def label(self) -> str:
        """What the function gives a few records, which tells it from others."""
        name, column = self.world.scenario.synthetic[0], self.world.confidential
        some = np.linspace(0, len(column) - 1, min(len(column), 50)).astype(int)
        return hashlib.sha256(
            self.at(some, column[name].iloc[some].reset_index(drop=True)).tobytes()
        ).hexdigest()

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """a_i(y) of some records (R,) at values (G,), (R, G); the rows that the function sees lack
        the variable itself.
        """
        rows = self.world.confidential.iloc[records].drop(columns=self.world.scenario.synthetic[0])
        made = np.asarray(self.function(rows, values), dtype=float)
        valid = f"a function of weights must give {len(records)} x {len(values)} numbers in [0, 1]"
        if made.shape != (len(records), len(values)):
            raise InputError(f"{valid}; got shape {made.shape}")
        if outside := int((~((made >= 0) & (made <= 1))).sum()):
            raise InputError(f"{valid}; {outside} of {made.size} are not")
        return made

    def alpha(self) -> pd.Series:
        """The weight of each record's own value, (n,)."""
        column = self.world.confidential[self.world.scenario.synthetic[0]]
        alpha = np.empty(len(column))
        codes, distinct = pd.factorize(column, use_na_sentinel=False)
        for place, value in enumerate(distinct):
            rows = np.flatnonzero(codes == place)
            alpha[rows] = self.at(rows, pd.Series([value]))[:, 0]
        return pd.Series(alpha, column.index, name="alpha")


@dataclass(frozen=True, eq=False)
class OfRows:
    """Weights as functions of the records' own values, where each of n records has the function of
    one row of others: of some records, or of its unit. Confidential.

    ``function``: of those rows; ``rows`` (n,): which of them each record's is; ``called``: how, in
    the label.
    """

    function: OwnFunction = field(repr=False)
    rows: np.ndarray = field(repr=False)
    called: str

    @property
    def pattern(self) -> np.ndarray:
        """The known pattern of each record's row, (n,)."""
        return np.asarray(self.function.pattern[self.rows])

    @property
    def label(self) -> str:
        """That of the rows, and how the records are made of them."""
        return f"{self.function.label} {self.called}"

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """a_i(y) of some records (R,) at values (G,), (R, G)."""
        return self.function.at(self.rows[records], values)


@dataclass(frozen=True, eq=False)
class LeastOf:
    """The smallest weight over several intruders as a function of a record's own value, so that
    what is taken off is the expectation of the minimum. Confidential.
    """

    functions: tuple[OwnFunction, ...] = field(repr=False)

    @cached_property
    def pattern(self) -> np.ndarray:
        """Which records share what every one of the intruders knows, (n,)."""
        codes = np.zeros(len(self.functions[0].pattern), dtype=np.int64)
        for function in self.functions:
            codes, _ = number_codes(codes * (function.pattern.max() + 1) + function.pattern)
        return codes

    @property
    def label(self) -> str:
        """Those of all of them."""
        return f"least of {' | '.join(function.label for function in self.functions)}"

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        """The smallest a_i(y) of some records (R,) at values (G,), (R, G)."""
        return np.asarray(
            np.minimum.reduce([function.at(records, values) for function in self.functions])
        )
