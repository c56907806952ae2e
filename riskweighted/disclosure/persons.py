"""Persons who may stand alone, judged one by one over packs of their own released pattern (METHODS section 13).

One copy tells little of a person, and a mean over records hides one or two. So everybody in a pattern of few records, whoever a copy
tells most of, and whose weights fail are looked at by themselves: the rows of their pattern are drawn again, many packs of them, with
the record and without it, and attacked.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from riskweighted.common.progress import Steps
from riskweighted.disclosure.attacks import hits
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.policy import SHUFFLED
from riskweighted.disclosure.shuffle import exchangeable, shuffled_rows
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["FEW", "Persons", "may_stand_alone"]

FEW = 5  # records of a pattern in which each is looked at by himself
_LARGEST = 20  # by D of one copy
_PACKS = 400
_SLIGHT = 0.05  # T_with below which D of a person can be no more
_FEWER_PACKS = 100  # of a pattern of more rows
_ROWS = 500  # that are drawn together


def may_stand_alone(patterns: np.ndarray, single: np.ndarray, fails: np.ndarray, using: np.ndarray) -> np.ndarray:
    """Whom to look at, by number: of released patterns (n,) of few records, the largest D of one copy (n,), and failing records (n,);
    of whom attacks name at least some in the packs of all: `using` (attacks, n)."""
    asked = (np.bincount(patterns)[patterns] < FEW) | fails
    asked[np.argsort(-np.nan_to_num(single, nan=-np.inf), kind="stable")[:_LARGEST]] = True
    return np.flatnonzero(asked & (using.max(axis=0) > _SLIGHT))


class Persons(NamedTuple):
    """What is needed to draw the rows of some patterns again: a fit, what is matched, how rows leave, and by whom each dataset's
    parameters are as probable without each record, ``weights`` (n, M) at ``places`` (M,). The n records are ``rows`` of the file."""

    fit: Fit
    world: World
    patterns: np.ndarray
    units: np.ndarray | None
    release: str
    weights: np.ndarray
    places: Sequence[tuple[int, int]]
    rows: np.ndarray

    def disclosed(self, records: np.ndarray, copies: int, rng: np.random.Generator, told: Steps) -> np.ndarray:
        """D of each record over its pack of L copies and its Monte Carlo error, (2, m): of each attack how often it names the record, less
        that without it; the largest of these."""
        made = np.zeros((2, len(records)))
        for some in self._together(np.unique(self.patterns[records])):
            rows = np.flatnonzero(np.isin(self.patterns, some))
            packs = _PACKS if len(rows) <= _ROWS else _FEWER_PACKS
            values = self._drawn(rows, -(-packs * copies // len(self.places)) + copies, rng)
            for pattern in some:
                there = self.patterns[rows] == pattern
                of_pattern = np.ascontiguousarray(values[:, there])
                for number in np.flatnonzero(self.patterns[records] == pattern):
                    made[:, number] = self._of_record(int(records[number]), rows[there], of_pattern, packs, copies, rng)
                told()
        return made

    def _together(self, patterns: np.ndarray) -> Iterator[np.ndarray]:
        """Patterns whose rows are drawn together, since a draw of few takes about as long as one of many."""
        parts = np.cumsum(np.bincount(self.patterns)[patterns]) // _ROWS
        for part in np.unique(parts):
            yield patterns[parts == part]

    def _drawn(self, rows: np.ndarray, times: int, rng: np.random.Generator) -> np.ndarray:
        """Some rows drawn so many times by each of M parameters, (V, m, M, times)."""
        frame = self.fit.confidential.iloc[np.repeat(self.rows[rows], times)].reset_index(drop=True)
        drawing, coding = self.fit.drawing.of_rows(frame), Coding(self.world)
        values = np.empty((len(coding.names), len(rows), len(self.places), times))
        for s, place in enumerate(self.places):
            theta: Any = self.fit.thetas(*place)
            values[:, :, s] = coding.numbers(drawing.made(theta, rng)).reshape(-1, len(rows), times)
        return values

    def _of_record(
        self, record: int, rows: np.ndarray, values: np.ndarray, packs: int, copies: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """D of one record and its error.

        A dataset stays with probability min(1, M w), and is else drawn by what the weights exceed 1 / M by, so that both sides are alike
        but for the record.
        """
        count, times = values.shape[2:]
        first = times - copies  # draws of the packs with the record; the others are for what is exchanged
        of_theta = rng.permutation(count * first)[: packs * copies].reshape(packs, copies)
        theta, draw = of_theta // first, of_theta % first
        weights = count * self.weights[record]
        goes = rng.random(theta.shape) >= weights[theta]
        over = np.maximum(weights - 1, 0)
        instead, again = theta.copy(), draw.copy()
        if over.sum() > 0:
            instead[goes] = rng.choice(count, int(goes.sum()), p=over / over.sum())
            again[goes] = first + np.broadcast_to(np.arange(copies), theta.shape)[goes]
        place = np.flatnonzero(rows == record)
        turned = self._turned(rows, packs, copies, rng)
        named = [self._named(record, place, rows, values[:, :, of, at], turned) for of, at in ((theta, draw), (instead, again))]
        off = named[0] - named[1]  # (attacks, packs)
        best = int(off.mean(axis=1).argmax())
        return float(off[best].mean()), float(off[best].std(ddof=1)) / math.sqrt(packs)

    def _turned(self, rows: np.ndarray, packs: int, copies: int, rng: np.random.Generator) -> np.ndarray | None:
        """Which row's values stand in each row of each copy of each pack, (m, packs, copies); None where rows stay."""
        if self.release != SHUFFLED or len(rows) == 1:
            return None
        cells = exchangeable(self.patterns, self.units)[rows]
        cells = np.unique(cells, return_inverse=True)[1]
        size = int(cells.max()) + 1
        turns = packs * copies
        codes = (np.arange(turns)[:, None] * size + cells).ravel()
        turned = shuffled_rows(codes, rng).reshape(turns, len(rows)) - np.arange(turns)[:, None] * len(rows)
        return np.ascontiguousarray(turned.T.reshape(len(rows), packs, copies))

    def _named(self, record: int, place: np.ndarray, rows: np.ndarray, values: np.ndarray, turned: np.ndarray | None) -> np.ndarray:
        """Whether each attack names the record in packs (V, m, packs, L) of its pattern, (attacks, packs)."""
        if turned is not None:
            values = np.take_along_axis(values, turned[None], axis=1)
        size, packs, copies = values.shape[1:]
        flat = np.ascontiguousarray(values.transpose(0, 2, 1, 3)).reshape(len(values), packs * size, copies)
        named = hits(Coding(self.world), flat, np.repeat(np.arange(packs), size), np.tile(self.rows[rows], packs))
        return np.asarray(named.reshape(len(named), packs, size)[:, :, place[0]].astype(float))
