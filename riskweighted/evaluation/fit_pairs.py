"""Does a variable follow the others as it does in the data? Two-way tables and group means, pair by
pair (METHODS section 5.10).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from riskweighted.evaluation.fit_statistics import LEAST_GROUP, RecordGroups
from riskweighted.measures import fit_comparisons

__all__ = ["PairRow", "Pairs", "pairs_of"]

_BANDS, _COARSE = 5, 3  # of a number: beside another variable, and where two of them make groups
_MOST_LEVELS = 20  # of a column whose values are groups of their own
_CROSSED = 10  # columns at most that are crossed with each other
_RECORDS = 20_000  # of the file, evenly spaced, at most
_SCORE = 12.0  # over which a score that is uniform has the variance 1


class PairRow(NamedTuple):
    """A pair: its check and name, the distance that chance gives and that was found, their
    difference over z, its size, and where most.
    """

    check: str
    name: str
    expected: float
    found: float
    standard_error: float
    effect: float
    records: int
    where: str


class _Pair(NamedTuple):
    """``groups`` of the records, -1 where a record is in none; ``names`` of the groups; ``tabled``:
    whether bands count beside means.
    """

    check: str
    name: str
    groups: np.ndarray
    names: tuple[str, ...]
    tabled: bool


@dataclass(frozen=True, eq=False)
class Pairs:
    """What is counted of values (n,) for every pair. Confidential.

    ``rows``: the records that are looked at; ``edges``: between the bands of the values;
    ``ordered``: the confidential values in order, by which a value is scored, None of the codes of
    levels.
    """

    pairs: tuple[_Pair, ...]
    rows: np.ndarray = field(repr=False)
    edges: np.ndarray = field(repr=False)
    ordered: np.ndarray | None = field(repr=False)

    def counted(self, values: np.ndarray) -> list[np.ndarray]:
        """Of values (n,) for every pair the counts of its groups and bands, and as a last column
        the sums of scores, (G, K).
        """
        some = values[self.rows]
        bands, width = np.searchsorted(self.edges, some, side="left"), len(self.edges) + 1
        scores = None if self.ordered is None else _scores(some, self.ordered)
        return [self._table(pair, bands, width, scores) for pair in self.pairs]

    def _table(
        self, pair: _Pair, bands: np.ndarray, width: int, scores: np.ndarray | None
    ) -> np.ndarray:
        inside, size = pair.groups >= 0, len(pair.names)
        groups, columns = pair.groups[inside], []
        if pair.tabled or scores is None:
            counts = np.bincount(groups * width + bands[inside], minlength=size * width)
            columns.append(counts.reshape(size, width).astype(float))
        if scores is not None:
            columns.append(np.bincount(groups, scores[inside], minlength=size)[:, None])
        return np.concatenate(columns, axis=1)

    def rows_of(
        self, confidential: Sequence[np.ndarray], drawn: Sequence[np.ndarray]
    ) -> Iterator[PairRow]:
        """A row for every pair, from `counted` of the confidential values and of predictive
        datasets, (S, G, K) each.

        Distances of a table from the mean of the predictive ones are chi-square sums, whose scale
        and degrees of freedom are those that the predictive tables have. A z is the normal quantile
        of their tail probability (Wilson & Hilferty 1931), as of S draws.
        """
        for pair, true, tables in zip(self.pairs, confidential, drawn, strict=True):
            sizes = np.bincount(pair.groups[pair.groups >= 0], minlength=len(pair.names)).astype(
                float
            )
            expected, draws, records = tables.mean(axis=0), len(tables), sizes.sum()
            scored = 0 if self.ordered is None else 1
            weights = np.ones_like(expected)
            counted = expected[:, : expected.shape[1] - scored]
            weights[:, : counted.shape[1]] = 1 / np.maximum(counted, 1.0)
            if scored:
                weights[:, -1] = _SCORE / sizes
            each = (weights * (true - expected) ** 2).sum(axis=1)
            of_draws = (
                (weights * (tables - expected) ** 2).sum(axis=(1, 2)) * (draws + 1) / (draws - 1)
            )
            mean, variance, distance = of_draws.mean(), of_draws.var(ddof=1), each.sum()
            z = _tail(distance, mean, variance, draws)
            low, high = np.sqrt(mean / records), np.sqrt(distance / records)
            error = (high - low) / z if z * (high - low) > 0 else np.inf
            effect = float(np.sqrt(max(distance - mean, 0.0) / records))
            yield PairRow(
                pair.check,
                pair.name,
                float(low),
                float(high),
                float(error),
                effect,
                int(records),
                pair.names[int(each.argmax())],
            )


def _tail(distance: float, mean: float, variance: float, draws: int) -> float:
    """How unusual a distance is in the units of a standard normal number, where mean and variance
    are known of so many draws.
    """
    if not (mean > 0 and variance > 0):
        return 0.0
    spread = variance / (9 * mean**2)  # 2 / 9 over the degrees of freedom
    score = (np.cbrt(distance / mean) - (1 - spread)) / np.sqrt(spread)
    z = norm.isf(t.sf(score, draws - 1)) if score > 0 else norm.ppf(t.cdf(score, draws - 1))
    return float(np.clip(z, -30, 30))


def pairs_of(
    values: np.ndarray, levels: int | None, data: pd.DataFrame, columns: Sequence[str]
) -> Pairs:
    """The pairs of confidential values (n,), codes of so many levels or numbers, with columns of
    the file, and these crossed.
    """
    rows = (
        np.arange(len(values))
        if len(values) <= _RECORDS
        else np.linspace(0, len(values) - 1, _RECORDS).astype(int)
    )
    some, frame = values[rows], data[list(columns)].iloc[rows]
    if levels is not None:
        edges, ordered = np.arange(levels - 1) + 0.5, None
    else:
        edges, ordered = _edges(some, _BANDS), np.sort(some)
    single = [(name, _grouped(frame[name], name, _BANDS)) for name in frame]
    pairs = [
        _pair(fit_comparisons.PAIRS.key, str(name), groups, tabled=True) for name, groups in single
    ]
    coarse = [(name, _grouped(frame[name], name, _COARSE)) for name in list(frame)[:_CROSSED]]
    for (first, one), (second, other) in itertools.combinations(coarse, 2):
        pairs.append(
            _pair(
                fit_comparisons.PAIRS.key,
                f"{first} by {second}",
                _crossed(one, other),
                tabled=False,
            )
        )
    return Pairs(tuple(pair for pair in pairs if len(pair.names) > 1), rows, edges, ordered)


def _scores(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """The shares of the confidential values below each, those that are the same counting half."""
    ends = [np.searchsorted(ordered, values, side=side) for side in ("left", "right")]
    return np.asarray((ends[0] + ends[1]) / (2 * len(ordered)))


def _edges(values: np.ndarray, bands: int) -> np.ndarray:
    """The upper ends of the bands but the last, of about equally many values each; a value that
    many have is in one band.
    """
    edges = np.unique(np.quantile(values, np.arange(1, bands) / bands, method="inverted_cdf"))
    return np.asarray(edges[edges < values.max()])


def _grouped(column: pd.Series, name: object, bands: int) -> RecordGroups:
    """The levels of a column, or bands of a number of many values, and those that lack one."""
    if pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > _MOST_LEVELS:
        numbers = pd.to_numeric(column).to_numpy(dtype=float, na_value=np.nan)
        held = np.isfinite(numbers)
        edges = _edges(numbers[held], bands)
        names = [f"{name}, part {place + 1} of {len(edges) + 1}" for place in range(len(edges) + 1)]
        return RecordGroups(
            np.where(held, np.searchsorted(edges, numbers, side="left"), len(names)),
            (*names, f"{name} missing"),
        )
    codes, levels = pd.factorize(column, use_na_sentinel=True)
    return RecordGroups(
        np.where(codes < 0, len(levels), codes),
        (*(f"{name}={level}" for level in levels), f"{name} missing"),
    )


def _crossed(one: RecordGroups, other: RecordGroups) -> RecordGroups:
    """The combinations of two groupings."""
    names = tuple(f"{first}, {second}" for first in one.names for second in other.names)
    return RecordGroups(one.codes * len(other.names) + other.codes, names)


def _pair(check: str, name: str, groups: RecordGroups, *, tabled: bool) -> _Pair:
    """A pair whose groups hold enough records; the others together are a group, where they are
    enough, else in none.
    """
    sizes = np.bincount(groups.codes, minlength=len(groups.names))
    large = np.flatnonzero(sizes >= LEAST_GROUP)
    to = np.full(len(sizes), -1)
    to[large] = np.arange(len(large))
    names = [groups.names[code] for code in large]
    if sizes.sum() - sizes[large].sum() >= LEAST_GROUP:
        to[to < 0] = len(names)
        names.append(f"other {name}")
    return _Pair(check, name, to[groups.codes], tuple(names), tabled)
