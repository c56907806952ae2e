"""Persons who may stand alone, judged one by one over packs of their own released pattern (METHODS
section 13.1).

One copy tells little of a person, and a mean over records hides one or two. So everybody in a
pattern of few records, whoever a copy tells most of, and whose weights fail are looked at by
themselves: the rows of their pattern are drawn again, many packs of them, with the record and
without it, and attacked.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from riskweighted.common.progress import Steps
from riskweighted.disclosure.attacks import hits
from riskweighted.disclosure.attribution_inputs import AttributionInputs
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.policy import SHUFFLED
from riskweighted.disclosure.shuffle import shuffled_rows
from riskweighted.sequence.fit import Fit

__all__ = ["FEW", "MOST_FAILING", "Persons", "UniqueResults", "apart_of", "find_possible_uniques"]

FEW = 5  # records of a pattern in which each is looked at by himself
_LARGEST = 20  # by D of one copy
_PACKS = (100, 300)  # of everybody at first, and further ones where these leave doubt
_SLIGHT = 0.05  # T_with below which D of a person can be no more
_SPARE = 5  # draws at least of each parameters, of which a pack may hold several
# of a larger pattern: records that are looked at together, and the rows beside them
_BATCH, _BESIDE = 25, 100
_TOGETHER = 10_000  # rows that are drawn of each parameters at once
MOST_FAILING = 200  # records whose weights fail that are looked at, at random
_FAINT = 0.01  # T_with of a failing record below which it adds next to nothing


class UniqueResults(NamedTuple):
    """What packs of their own patterns tell of m records, ``records`` by number: how often each
    attack names them, ``using`` (attacks, m) with the value and ``without`` it; ``D`` (m,) by the
    attack by which it is largest, and its Monte Carlo error ``se``; ``refitted`` (m,): whether fits
    without them told it. Confidential."""

    records: np.ndarray
    using: np.ndarray
    without: np.ndarray
    D: np.ndarray
    se: np.ndarray
    refitted: np.ndarray

    def of(self, which: np.ndarray) -> "UniqueResults":
        """Some of them."""
        return UniqueResults(*(part[..., which] for part in self))

    def joined(self, others: "UniqueResults | None") -> "UniqueResults":
        """With others behind them, less those of the same records."""
        if others is None:
            return self
        left = others.of(~np.isin(others.records, self.records))
        return UniqueResults(
            *(np.concatenate([one, other], axis=-1) for one, other in zip(self, left, strict=True))
        )


def find_possible_uniques(
    patterns: np.ndarray,
    single: np.ndarray,
    fails: np.ndarray,
    using: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Whom to look at, by number: of released patterns (n,) of few records, the largest D of one
    copy (n,), and failing records (n,), at random where they are many; of whom attacks name at
    least some in the packs of all: `using` (attacks, n)."""
    named = using.max(axis=0)
    asked = np.bincount(patterns)[patterns] < FEW
    asked[np.argsort(-np.nan_to_num(single, nan=-np.inf), kind="stable")[:_LARGEST]] = True
    asked &= named > _SLIGHT
    failing = rng.permutation(np.flatnonzero(fails & (named > _FAINT)))[:MOST_FAILING]
    return np.union1d(np.flatnonzero(asked), failing)


class Persons(NamedTuple):
    """What is needed to draw the rows of some patterns again and to attack packs of L ``copies``: a
    fit, what is asked, how probable its parameters at ``places`` (M,) are without each of the n
    records that are looked at, ``weights`` (n, M); and ``parts``: numbers of variables and their
    places among all."""

    fit: Fit
    setting: AttributionInputs
    weights: np.ndarray
    places: Sequence[tuple[int, int]]
    parts: Sequence[tuple[Coding, list[int]]]
    copies: int
    told: Steps

    def disclosed(self, records: np.ndarray, limit: float) -> list[UniqueResults]:
        """What packs tell of some records, of each part. More packs are made of those whose D is
        above a limit by the first ones.
        """
        named: list[dict[int, np.ndarray]] = [{} for _ in self.parts]
        asked = records
        for packs in _PACKS:
            for number, record, both in self._attacked(asked, packs):
                before = named[number].get(record)
                named[number][record] = (
                    both if before is None else np.concatenate([before, both], axis=2)
                )
            apart = [apart_of(records, of_part) for of_part in named]
            asked = records[np.any([limit < of.D for of in apart], axis=0)]
        return apart

    def _attacked(self, records: np.ndarray, packs: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """Part by part and record by record whether each attack names it in packs with it and in
        packs without, (2, attacks, packs).
        """
        batches = list(self._batches(records))
        self.told.total += len(batches)
        times = max(-(-packs * self.copies // len(self.places)), _SPARE)
        for some in _together(batches, times):
            ends = np.cumsum([0, *(len(rows) for _, rows in some)])
            values = self._drawn(np.concatenate([rows for _, rows in some]), times)
            for (asked, rows), first, last in zip(some, ends, ends[1:], strict=False):
                yield from self._of_pattern(asked, rows, values[..., first:last], packs)
                self.told()

    def _batches(self, records: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Records of one pattern and the rows among which they are looked at: all of the pattern,
        or of a larger one some, at random.

        First come rows whose values may stand in the place of theirs. Among fewer rows a record is
        hidden less than in the release.
        """
        of_rows, cells = self.setting.patterns, self.setting.exchange.cells
        for pattern in np.unique(of_rows[records]):
            there, asked = np.flatnonzero(of_rows == pattern), records[of_rows[records] == pattern]
            if len(there) <= _BATCH + _BESIDE:
                yield asked, there
                continue
            for some in np.array_split(asked, -(-len(asked) // _BATCH)):
                others = self.setting.rng.permutation(np.setdiff1d(there, some))
                others = others[np.argsort(~np.isin(cells[others], cells[some]), kind="stable")][
                    :_BESIDE
                ]
                yield some, np.sort(np.concatenate([some, others]))

    def _drawn(self, rows: np.ndarray, times: int) -> np.ndarray:
        """Some rows drawn so many times by each of M parameters, (V, M, times, m)."""
        drawing = self.fit.drawing.of_records(np.repeat(self._in_file(rows), times))
        coding = Coding(self.setting.world)
        values = np.empty((len(coding.names), len(self.places), times, len(rows)))
        for s, place in enumerate(self.places):
            theta: Any = self.fit.thetas(*place)
            frame = drawing.made(theta, self.setting.rng)
            values[:, s] = coding.numbers(frame).reshape(-1, len(rows), times).swapaxes(1, 2)
        return values

    def _in_file(self, rows: np.ndarray) -> np.ndarray:
        """The numbers in the file of rows that are looked at."""
        return rows if self.setting.rows is None else self.setting.rows[rows]

    def _of_pattern(
        self, records: np.ndarray, rows: np.ndarray, values: np.ndarray, packs: int
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """The same of records of one pattern, whose packs with them are the same ones.

        Without a record a dataset stays with probability min(1, M w), and is else drawn by what the
        weights exceed 1 / M by, so that both sides are alike but for the record.
        """
        (count, times), rng = values.shape[1:3], self.setting.rng
        theta, draw = np.divmod(
            rng.permutation(count * times)[: packs * self.copies].reshape(packs, self.copies), times
        )
        turned, everybody = self._turns(rows, packs), np.isin(rows, records)
        pack = _turned(values[:, theta, draw], turned)
        using = [self._named(coding, everybody, rows, pack[which]) for coding, which in self.parts]
        for place, record in enumerate(records.tolist()):
            weights = count * self.weights[record]
            over, goes = np.maximum(weights - 1, 0), rng.random(theta.shape) >= weights[theta]
            instead, again = theta.copy(), draw.copy()
            if over.sum() > 0:
                instead[goes] = rng.choice(count, int(goes.sum()), p=over / over.sum())
                # of the same parameters, in the pack
                before = np.tril(instead[:, :, None] == instead[:, None, :], -1).sum(axis=2)
                again[goes] = ((draw[:, :1] + before) % times)[goes]
            pack = _turned(values[:, instead, again], turned)
            for number, (coding, which) in enumerate(self.parts):
                without = self._named(coding, rows == record, rows, pack[which])[:, 0]
                yield number, record, np.stack([using[number][:, place], without])

    def _turns(self, rows: np.ndarray, packs: int) -> np.ndarray | None:
        """Which row's values stand in each row of each copy of each pack, (packs, copies, m); None
        where rows stay.
        """
        setting, turns = self.setting, np.arange(packs * self.copies)[:, None]
        if setting.releases[0] != SHUFFLED or len(rows) == 1:
            return None
        cells = np.unique(setting.exchange.cells[rows], return_inverse=True)[1]
        turned = shuffled_rows(
            (turns * (int(cells.max()) + 1) + cells).ravel(), setting.rng
        ).reshape(-1, len(rows)) - turns * len(rows)
        return turned.reshape(packs, self.copies, len(rows))

    def _named(
        self, coding: Coding, asked: np.ndarray, rows: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Whether each attack names those rows (m,) that are asked in packs (V, packs, L, m) of
        their pattern, (attacks, asked, packs).
        """
        packs, copies, size = values.shape[1:]
        flat = np.ascontiguousarray(values.swapaxes(2, 3)).reshape(
            len(values), packs * size, copies
        )
        named = hits(
            coding,
            flat,
            np.repeat(np.arange(packs), size),
            np.tile(self._in_file(rows), packs),
            np.tile(asked, packs),
        )
        return np.ascontiguousarray(named.reshape(len(named), packs, -1).swapaxes(1, 2))


def _together(
    batches: Sequence[tuple[np.ndarray, np.ndarray]], times: int
) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Batches whose rows are drawn together, since a draw of few takes about as long as one of
    many.
    """
    parts = np.cumsum([times * len(rows) for _, rows in batches]) // _TOGETHER
    for part in np.unique(parts):
        yield [batch for batch, of in zip(batches, parts, strict=True) if of == part]


def _turned(values: np.ndarray, turned: np.ndarray | None) -> np.ndarray:
    """Packs (V, packs, L, m) with their rows exchanged."""
    return values if turned is None else np.take_along_axis(values, turned[None], axis=3)


def apart_of(
    records: np.ndarray, named: Mapping[int, np.ndarray], *, refitted: bool = False
) -> UniqueResults:
    """What was named of each, (2, attacks, packs), as figures."""
    both = np.stack([named[record].mean(axis=2) for record in records.tolist()], axis=2)
    best, se = (both[0] - both[1]).argmax(axis=0), np.empty(len(records))
    for number, record in enumerate(records.tolist()):
        using, without = named[record][:, best[number]].astype(float)
        se[number] = (using - without).std(ddof=1) / math.sqrt(len(using))
    return UniqueResults(
        records,
        both[0],
        both[1],
        (both[0] - both[1]).max(axis=0),
        se,
        np.full(len(records), refitted),
    )
