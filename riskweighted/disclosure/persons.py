"""Persons who may stand alone, judged one by one over packs of their own released pattern (METHODS section 13).

One copy tells little of a person, and a mean over records hides one or two. So everybody in a pattern of few records, whoever a copy
tells most of, and whose weights fail are looked at by themselves: the rows of their pattern are drawn again, many packs of them, with
the record and without it, and attacked.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from riskweighted.common.progress import Steps
from riskweighted.design.precision import Precision
from riskweighted.disclosure.attacks import hits
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.policy import SHUFFLED
from riskweighted.disclosure.shuffle import exchangeable, shuffled_rows
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["FEW", "Apart", "Persons", "apart_of", "may_stand_alone"]

FEW = 5  # records of a pattern in which each is looked at by himself
_LARGEST = 20  # by D of one copy
_PACKS = 400
_SLIGHT = 0.05  # T_with below which D of a person can be no more
_FEWER_PACKS = 100  # of a pattern of more rows
_ROWS = 500  # that are drawn together
_MOST_FAILING = 200  # records whose weights fail that are looked at, at random
_FAINT = 0.01  # T_with of a failing record below which it adds next to nothing


class Apart(NamedTuple):
    """What packs of their own patterns tell of m records, ``records`` by number: how often each attack names them, ``using`` (attacks, m)
    with the value and ``without`` it; ``D`` (m,) by the attack by which it is largest, and its Monte Carlo error ``se``;
    ``refitted`` (m,): whether fits without them told it. Confidential."""

    records: np.ndarray
    using: np.ndarray
    without: np.ndarray
    D: np.ndarray
    se: np.ndarray
    refitted: np.ndarray

    def of(self, which: np.ndarray) -> "Apart":
        """Some of them."""
        return Apart(*(part[..., which] for part in self))

    def joined(self, others: "Apart | None") -> "Apart":
        """With others behind them, less those of the same records."""
        if others is None:
            return self
        left = others.of(~np.isin(others.records, self.records))
        return Apart(*(np.concatenate([one, other], axis=-1) for one, other in zip(self, left, strict=True)))


def may_stand_alone(patterns: np.ndarray, single: np.ndarray, fails: np.ndarray, using: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whom to look at, by number: of released patterns (n,) of few records, the largest D of one copy (n,), and failing records (n,), at
    random where they are many; of whom attacks name at least some in the packs of all: `using` (attacks, n)."""
    named = using.max(axis=0)
    asked = np.bincount(patterns)[patterns] < FEW
    asked[np.argsort(-np.nan_to_num(single, nan=-np.inf), kind="stable")[:_LARGEST]] = True
    asked &= named > _SLIGHT
    failing = rng.permutation(np.flatnonzero(fails & (named > _FAINT)))[:_MOST_FAILING]
    return np.union1d(np.flatnonzero(asked), failing)


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
    precision: Precision = None

    def disclosed(
        self, records: np.ndarray, parts: Sequence[tuple[Coding, list[int]]], copies: int, rng: np.random.Generator, told: Steps
    ) -> list[Apart]:
        """What packs of L copies tell of some records, of each of `parts`: numbers of variables and their places among all."""
        made: list[dict[int, tuple[np.ndarray, np.ndarray]]] = [{} for _ in parts]
        for some in self._together(np.unique(self.patterns[records])):
            rows = np.flatnonzero(np.isin(self.patterns, some))
            packs = _PACKS if len(rows) <= _ROWS else _FEWER_PACKS
            values = self._drawn(rows, -(-packs * copies // len(self.places)) + copies, rng)
            for pattern in some:
                there = self.patterns[rows] == pattern
                of_pattern = np.ascontiguousarray(values[:, there])
                for record in records[self.patterns[records] == pattern].tolist():
                    both = self._of_record(record, rows[there], of_pattern, parts, packs, copies, rng)
                    for of_part, named in zip(made, both, strict=True):
                        of_part[record] = named
                told()
        return [apart_of(records, of_part) for of_part in made]

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
            values[:, :, s] = coding.numbers(drawing.made(theta, rng, self.precision)).reshape(-1, len(rows), times)
        return values

    def _of_record(
        self,
        record: int,
        rows: np.ndarray,
        values: np.ndarray,
        parts: Sequence[tuple[Coding, list[int]]],
        packs: int,
        copies: int,
        rng: np.random.Generator,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Whether each attack names one record, of each part in packs with it and without, (attacks, packs) each.

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
        turned = self._turns(rows, packs, copies, rng)
        both = [_turned(values[:, :, of, at], turned) for of, at in ((theta, draw), (instead, again))]
        for coding, which in parts:
            using, without = (self._named(coding, place, rows, side[which]) for side in both)
            yield using, without

    def _turns(self, rows: np.ndarray, packs: int, copies: int, rng: np.random.Generator) -> np.ndarray | None:
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

    def _named(self, coding: Coding, place: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether each attack names the record in packs (V, m, packs, L) of its pattern, (attacks, packs)."""
        size, packs, copies = values.shape[1:]
        flat = np.ascontiguousarray(values.transpose(0, 2, 1, 3)).reshape(len(values), packs * size, copies)
        named = hits(coding, flat, np.repeat(np.arange(packs), size), np.tile(self.rows[rows], packs))
        return np.asarray(named.reshape(len(named), packs, size)[:, :, place[0]].astype(float))


def _turned(values: np.ndarray, turned: np.ndarray | None) -> np.ndarray:
    """Packs (V, m, packs, L) with their rows exchanged."""
    return values if turned is None else np.take_along_axis(values, turned[None], axis=1)


def apart_of(records: np.ndarray, named: Mapping[int, tuple[np.ndarray, ...]], *, refitted: bool = False) -> Apart:
    """What was named, as figures."""
    using, without = (np.stack([named[record][side].mean(axis=1) for record in records.tolist()], axis=1) for side in (0, 1))
    best, D, se = (using - without).argmax(axis=0), np.empty(len(records)), np.empty(len(records))  # noqa: N806
    for number, record in enumerate(records.tolist()):
        off = named[record][0][best[number]] - named[record][1][best[number]]
        D[number], se[number] = off.mean(), off.std(ddof=1) / math.sqrt(len(off))
    return Apart(records, using, without, D, se, np.full(len(records), refitted))
