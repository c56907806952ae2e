"""What a fit is compared with its data by: statistics of one variable, as functions of its n values
(METHODS section 5.10).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from riskweighted.intruder.patterns import cells
from riskweighted.measures import fit_comparisons
from riskweighted.measures.measure import LEAST_TAIL

__all__ = [
    "LEAST_GROUP",
    "QUANTILES",
    "SPIKE_SHARE",
    "Comparison",
    "RecordGroups",
    "comparisons",
    "groupings",
    "level_comparisons",
    "normal_quantile",
    "status_comparison",
]

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
SPIKE_SHARE = 0.02  # of the records that hold one single value
LEAST_GROUP = 50  # records of a pattern whose mean is compared
_MULTIPLES = (10, 100, 1000)
_NEAR = 1e-6  # units: how far from a multiple a value may lie


_DEGREES = 0.541  # of freedom, for each dataset, of half the width of their central 68 %


def normal_quantile(ratio: np.ndarray | float, datasets: int) -> np.ndarray:
    """What a difference from the median of predictive datasets, in halves of the width of their
    central 68 %, is as a normal quantile: S datasets know both with an error.

    The half width varies as a standard deviation of .541 S degrees of freedom does, the median by
    pi / (2 S) of the variance.
    """
    shrunk = np.abs(ratio) / np.sqrt(1 + np.pi / (2 * datasets))
    return np.asarray(np.copysign(norm.isf(t.sf(shrunk, _DEGREES * datasets)), ratio))


class Comparison(NamedTuple):
    """Statistics of one kind.

    ``check``: key of the registry; ``parameters`` (k,): what tells them apart; ``statistic``:
    values (n,) to (k,); ``effect``: confidential and synthetic statistics, (k,) each, to the sizes
    of their differences (k,), as the registry defines them; ``records`` (k,): how many confidential
    records each tells of, of a share those that have it or those that lack it, whichever are fewer.
    """

    check: str
    parameters: tuple[str, ...]
    statistic: Callable[[np.ndarray], np.ndarray]
    effect: Callable[[np.ndarray, np.ndarray], np.ndarray]
    records: tuple[int, ...]


class RecordGroups(NamedTuple):
    """Groups of records: ``codes`` (n,), 0 .. G-1; ``names`` (G,)."""

    codes: np.ndarray
    names: tuple[str, ...]


def groupings(data: pd.DataFrame, by: Sequence[Sequence[str]]) -> Iterator[RecordGroups]:
    """The observed combinations of each sequence of columns."""
    for columns in by:
        codes = cells((data[name] for name in columns), np.zeros(len(data), dtype=np.int64))
        _, first = np.unique(codes, return_index=True)
        names = (
            ", ".join(f"{name}={data[name].iloc[record]}" for name in columns) for record in first
        )
        yield RecordGroups(codes, tuple(names))


def comparisons(
    values: np.ndarray,
    precision: float | None,
    groups: Sequence[RecordGroups],
    others: Mapping[str, np.ndarray],
) -> list[Comparison]:
    """Every comparison that confidential values (n,) allow, multiples of `precision`; `others`:
    numbers (n,) to correlate with.
    """
    made = [
        _statuses(values),
        _spikes(values),
        _quantiles(values),
        _spread(len(values)),
        _largest(values),
    ]
    made += [] if precision is None else [_multiples(values, precision)]
    made += [_means(values, groups)] if groups else []
    made.append(_correlations(values, others))
    return [comparison for comparison in made if comparison.parameters]


def level_comparisons(
    codes: np.ndarray, levels: Sequence[object], groups: Sequence[RecordGroups]
) -> list[Comparison]:
    """Every comparison that codes (n,) of levels allow: shares of those that 10 records hold, in
    all and by group.
    """
    count = np.bincount(codes.astype(int), minlength=len(levels))
    held = np.flatnonzero(count >= LEAST_TAIL).tolist()
    names = tuple(str(levels[code]) for code in held)

    def shares(y: np.ndarray) -> np.ndarray:
        return np.array([(y == code).mean() for code in held])

    overall = Comparison(
        fit_comparisons.SHARE.key,
        tuple(f"{fit_comparisons.LEVEL}{name}" for name in names),
        shares,
        _difference,
        _fewer(count[held], len(codes)),
    )
    made = [overall, *(_level_shares(codes, group, held, names) for group in groups)]
    return [comparison for comparison in made if comparison.parameters]


def _level_shares(
    codes: np.ndarray, group: RecordGroups, held: Sequence[int], names: Sequence[str]
) -> Comparison:
    """Shares of the held levels in the groups that have enough records."""
    sizes = np.bincount(group.codes)
    large = sizes >= LEAST_GROUP

    def shares(y: np.ndarray) -> np.ndarray:
        each = [
            np.bincount(group.codes, y == code, minlength=len(sizes))[large] / sizes[large]
            for code in held
        ]
        return np.array(each).T.ravel()

    of_groups = [name for name, enough in zip(group.names, large, strict=True) if enough]
    of_levels = tuple(f"{name}: {level}" for name in of_groups for level in names)
    whole = np.repeat(sizes[large], len(held))
    having = np.rint(shares(codes) * whole).astype(int)
    return Comparison(
        fit_comparisons.SHARE_OF_SOME.key, of_levels, shares, _difference, _fewer(having, whole)
    )


def _fewer(having: np.ndarray, all_records: np.ndarray | int) -> tuple[int, ...]:
    """Of records (k,) that have something and those that lack it, whichever are fewer."""
    return tuple(map(int, np.minimum(having, all_records - having)))


def _difference(confidential: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(synthetic - confidential))


def _statuses(values: np.ndarray) -> Comparison:
    """Shares of negative, zero and positive values; none where all have one sign and none could
    have another.
    """

    def shares(y: np.ndarray) -> np.ndarray:
        return np.array([(y < 0).mean(), (y == 0).mean(), (y > 0).mean()])

    having = np.array([(values < 0).sum(), (values == 0).sum(), (values > 0).sum()])
    return Comparison(
        fit_comparisons.SHARE.key,
        ("negative", "zero", "positive"),
        shares,
        _difference,
        _fewer(having, len(values)),
    )


def status_comparison(what: str, hit: np.ndarray) -> Comparison:
    """The share of the records that have a status, of which a model draws who has it: 1 of (m,)."""
    having = np.array([int(hit.sum())])
    return Comparison(
        fit_comparisons.SHARE.key,
        (what,),
        lambda y: np.array([(y == 1).mean()]),
        _difference,
        _fewer(having, len(hit)),
    )


def _spikes(values: np.ndarray) -> Comparison:
    """Shares of the single values, zero apart, that many records hold."""
    held, counts = np.unique(values[values != 0], return_counts=True)
    kept = (counts >= SPIKE_SHARE * len(values)) & (counts >= LEAST_TAIL)
    spikes, having = held[kept], counts[kept]
    near = 1e-9 * np.abs(spikes)

    def shares(y: np.ndarray) -> np.ndarray:
        return np.array(
            [(np.abs(y - spike) <= width).mean() for spike, width in zip(spikes, near, strict=True)]
        )

    return Comparison(
        fit_comparisons.SHARE.key,
        tuple(f"{fit_comparisons.EXACTLY}{spike:.10g}" for spike in spikes),
        shares,
        _difference,
        _fewer(having, len(values)),
    )


def _quantiles(values: np.ndarray) -> Comparison:
    """Quantiles; an effect is a share of the larger of the quantile's magnitude and the
    interquartile range.
    """
    asked = [q for q in QUANTILES if min(q, 1 - q) * len(values) >= LEAST_TAIL]
    beyond = tuple(int(min(q, 1 - q) * len(values)) for q in asked)
    floor = np.subtract(*np.quantile(values, [0.75, 0.25])) or values.std()

    def effect(confidential: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
        size: np.ndarray = np.abs(synthetic - confidential) / np.maximum(
            np.abs(confidential), floor
        )
        return size

    return Comparison(
        fit_comparisons.QUANTILE.key,
        tuple(map(str, asked)),
        lambda y: np.asarray(np.quantile(y, asked)),
        effect,
        beyond,
    )


def _spread(records: int) -> Comparison:
    return Comparison(
        fit_comparisons.SD.key,
        ("",),
        lambda y: np.array([y.std()]),
        lambda true, drawn: np.abs(drawn / true - 1),
        (records,),
    )


def _largest(values: np.ndarray) -> Comparison:
    """The largest magnitude over that of the confidential data, which is not shown."""
    largest = np.abs(values).max()

    def factor(_: np.ndarray, ratio: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(ratio, 1 / ratio))

    return Comparison(
        fit_comparisons.LARGEST.key,
        ("",),
        lambda y: np.array([np.abs(y).max() / largest]),
        factor,
        (1,),
    )


def _multiples(values: np.ndarray, precision: float) -> Comparison:
    """Shares, among values that are not zero, of multiples of 10, 100 and 1000 units of the
    column's precision.
    """
    asked = [times for times in _MULTIPLES if times * precision <= np.abs(values).max()]

    nonzero = int((values != 0).sum())

    def shares(y: np.ndarray) -> np.ndarray:
        units = y[y != 0] / precision
        if not len(units):
            return np.zeros(len(asked))
        return np.array(
            [
                (np.abs(units / m - np.rint(units / m)) * m <= _NEAR + 1e-12 * np.abs(units)).mean()
                for m in asked
            ]
        )

    having = np.rint(shares(values) * nonzero).astype(int)
    return Comparison(
        fit_comparisons.SHARE_OF_SOME.key,
        tuple(f"{fit_comparisons.MULTIPLES}{times * precision:.10g}" for times in asked),
        shares,
        _difference,
        _fewer(having, nonzero),
    )


def _means(values: np.ndarray, groups: Sequence[RecordGroups]) -> Comparison:
    """Means of the groups that hold enough records; an effect is in standard deviations of the
    confidential values.

    Sums are taken over the records once, by the combinations of all groupings, and over these by
    each.
    """
    combination = cells(
        (pd.Series(group.codes) for group in groups), np.zeros(len(values), dtype=np.int64)
    )
    first = np.unique(combination, return_index=True)[1]
    sizes = [np.bincount(group.codes) for group in groups]
    large, spread = [of_group >= LEAST_GROUP for of_group in sizes], values.std()
    parts = [
        (group.codes[first], enough, of_group[enough])
        for group, of_group, enough in zip(groups, sizes, large, strict=True)
    ]

    def means(y: np.ndarray) -> np.ndarray:
        sums = np.bincount(combination, y)
        return np.concatenate(
            [np.bincount(codes, sums)[enough] / counts for codes, enough, counts in parts]
        )

    named = (
        zip(group.names, enough, strict=True) for group, enough in zip(groups, large, strict=True)
    )
    names = tuple(name for pairs in named for name, enough in pairs if enough)
    records = tuple(int(count) for *_, counts in parts for count in counts)
    return Comparison(
        fit_comparisons.MEAN.key,
        names,
        means,
        lambda true, drawn: np.abs(drawn - true) / spread,
        records,
    )


def _correlations(values: np.ndarray, others: Mapping[str, np.ndarray]) -> Comparison:
    """Pearson correlations of arcsinh((v - median) / scale), median and scale those of the
    confidential values of either variable.
    """
    centre, scale = _robust(values)
    kept, columns = [], []
    for name, other in others.items():
        column = np.arcsinh((other - _robust(other)[0]) / _robust(other)[1])
        if column.std() > 0:
            kept.append(name)
            columns.append((column - column.mean()) / column.std())
    table = np.array(columns).reshape(len(kept), len(values))

    def correlations(y: np.ndarray) -> np.ndarray:
        column = np.arcsinh((y - centre) / scale)
        spread = column.std()
        return (
            np.asarray(table @ (column - column.mean()) / (len(y) * spread))
            if spread > 0
            else np.zeros(len(kept))
        )

    return Comparison(
        fit_comparisons.CORRELATION.key,
        tuple(kept),
        correlations,
        _difference,
        (len(values),) * len(kept),
    )


def _robust(values: np.ndarray) -> tuple[float, float]:
    """Median, and interquartile range in units of a normal standard deviation; the standard
    deviation where that is zero.
    """
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(middle), float((high - low) / 1.349 or values.std() or 1.0)
