"""From both sides of a release to the table of what it gives away beyond inference (METHODS section
13.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import beta, false_discovery_control, hypergeom, norm, t as student

from riskweighted.disclosure.attack_results import AttackResult
from riskweighted.disclosure.attacks import best_scores

__all__ = [
    "LEVEL_OF_GROUPS",
    "AttackedRecords",
    "PackResults",
    "clustered_variance",
    "compare",
    "fisher",
    "identify_records",
    "largest",
    "worst_group",
]

LEVEL_OF_GROUPS = 0.05  # of all groups of one kind together
_FEWEST = 5  # records of a group that is judged by itself
_FEWEST_PACKS = 5  # of which the error is that between packs alone


class PackResults(NamedTuple):
    """R packs, with the values of the records used and without each of them.

    ``single`` (N,): D of one copy of all records, NaN where it is not known; ``seen``: packs on
    which named records and own values are counted, where they are not the first ones. No pack is on
    the other side where nobody knows it.
    """

    using: tuple[AttackResult, ...]
    without: tuple[AttackResult, ...]
    single: np.ndarray
    seen: tuple[AttackResult, ...] = ()

    @property
    def counted(self) -> tuple[AttackResult, ...]:
        """The packs on which records are counted."""
        return self.seen or self.using


@dataclass(frozen=True, eq=False)
class AttackedRecords:
    """Of n records what is the same for all packs. Confidential.

    ``halves`` (H, n): by which halves attacks are chosen; ``none``: whom the best guess without a
    release names, ``constant``: and one value for all; ``judged``: of whom both sides are known;
    ``groups``: records by the group's name, "all" among them; ``everyone``: the same of all N
    records of the file, of which these n are looked at; ``weights``: survey weights, times how many
    records of the file each stands for; ``units``: codes of households, which count as one;
    ``folds``: codes of the folds that the other side was made by; ``drawn``: codes of the patterns
    by which they were drawn, where not all are looked at; ``repeated``: whether every pack has
    another side of its own, made by folds; ``level``: one-sided, of the limits of D.
    """

    halves: np.ndarray = field(repr=False)
    none: np.ndarray = field(repr=False)
    constant: np.ndarray = field(repr=False)
    judged: np.ndarray = field(repr=False)
    groups: Mapping[str, np.ndarray] = field(repr=False)
    everyone: Mapping[str, np.ndarray] = field(repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)
    units: np.ndarray | None = field(default=None, repr=False)
    folds: np.ndarray | None = field(default=None, repr=False)
    drawn: np.ndarray | None = field(default=None, repr=False)
    repeated: bool = False
    level: float = 0.05

    def mean(self, values: np.ndarray, rows: np.ndarray) -> float:
        """Over some records, by their survey weights."""
        if not rows.any():
            return math.nan
        return float(
            np.average(values[rows], weights=None if self.weights is None else self.weights[rows])
        )


def compare(
    sides: PackResults, records: AttackedRecords, release: str, variables: str
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a row for each group of records, and D of every record and pack (R, n)."""
    n, copies = records.halves.shape[1], sides.using[0].copies
    using, without = (
        np.array([best_scores(side.named, records.halves, records.weights) for side in of])
        for of in sides[:2]
    )
    attributed = using - without if len(without) else np.empty((0, n))
    named = [
        identify_records(a.near, b.near, copies)
        for a, b in zip(sides.counted, sides.without, strict=False)
    ]
    both = {
        "with": using.mean(axis=0),
        "out": without.mean(axis=0) if len(without) else np.full(n, np.nan),
        "none": records.none.astype(float),
        "constant": records.constant.astype(float),
        "copy_with": _mean_of([side.near / copies for side in sides.counted], n),
        "copy_out": _mean_of([side.near / copies for side in sides.without], n),
        "own_value_with": _mean_of([side.same for side in sides.counted], n),
        "own_value_out": _mean_of([side.same for side in sides.without], n),
    }
    rows = []
    for group, members in records.groups.items():
        there = members & records.judged
        figures = {name: records.mean(values, there) for name, values in both.items()}
        by_packs = (
            records.repeated and records.folds is not None and len(attributed) >= _FEWEST_PACKS
        )
        off = figures["with"] - figures["out"]
        se, beyond = math.nan, float(norm.isf(records.level))
        if by_packs:
            se = error_of_packs(using, without, there, records)
            beyond = float(student.isf(records.level, len(attributed) - 1))
        elif len(attributed):
            se = error(attributed, there, records)
        upper = (
            off + beyond * se
            if se
            else max(off, _least_upper(off, there, records, len(attributed) if by_packs else 1))
        )
        rows.append(
            {
                "variables": variables,
                "release": release,
                "group": group,
                "records": int(there.sum()),
            }
            | {name: figures.pop(name) for name in ("with", "out", "none", "constant")}
            | {
                "D": off,
                "se": se,
                "upper": upper,
                "lower": off - beyond * se,
                "bound": 0.0,
                "inference": records.mean(both["out"] - both["none"], there),
            }
            | figures
            | _counts(named, there)
            | largest(sides.single[records.everyone[group]])
        )
    return pd.DataFrame(rows), attributed


def _mean_of(packs: Sequence[np.ndarray], n: int) -> np.ndarray:
    """A figure of each record, mean over the packs; NaN where there is none."""
    return np.asarray(np.mean(packs, axis=0)) if len(packs) else np.full(n, np.nan)


def _counts(named: Sequence[tuple[np.ndarray, np.ndarray]], there: np.ndarray) -> dict[str, float]:
    """Records named in the two directions among some, mean over the packs."""
    if not named:
        return dict.fromkeys(("named", "reversed", "false_share"), math.nan)
    forward, reverse = (
        float(np.mean([found[there].sum() for found in way])) for way in zip(*named, strict=True)
    )
    return {
        "named": forward,
        "reversed": reverse,
        "false_share": min((1 + reverse) / max(forward, 1.0), 1.0),
    }


def largest(single: np.ndarray) -> dict[str, float]:
    """Of the attributable disclosure of one copy the mean, the largest and how many lie above .01
    and .05.
    """
    known = single[np.isfinite(single)]
    if not len(known):
        return dict.fromkeys(("copy_D", "largest_D", "above_.01", "above_.05"), math.nan)
    return {
        "copy_D": float(known.mean()),
        "largest_D": float(known.max()),
        "above_.01": float((known > 0.01).sum()),
        "above_.05": float((known > 0.05).sum()),
    }


def error(attributed: np.ndarray, there: np.ndarray, records: AttackedRecords) -> float:
    """The standard error of mean D of some records, over units, over packs, and over folds, or
    drawn patterns, where these vary more.
    """
    of_record = attributed[:, there].mean(axis=0)
    if len(of_record) < 2:
        return math.nan
    weights = np.ones(len(of_record)) if records.weights is None else records.weights[there]
    total = weights.sum()
    off = weights * (of_record - np.average(of_record, weights=weights))
    variance = (
        clustered_variance(off, None if records.units is None else records.units[there]) / total**2
    )
    for clusters in (records.folds, records.drawn):
        if clusters is not None:
            variance = max(variance, clustered_variance(off, clusters[there]) / total**2)
    if len(attributed) > 1:
        means = np.average(attributed[:, there], axis=1, weights=weights)
        variance += float(means.var(ddof=1)) / len(means)
    return math.sqrt(variance)


def error_of_packs(
    using: np.ndarray, without: np.ndarray, there: np.ndarray, records: AttackedRecords
) -> float:
    """The standard error of mean D of some records over R packs of the whole file and of every
    fold, the file being the population.

    ``using``, ``without`` (R, n): who is named. The packs of one fold vary apart from those of
    another, so that their variances are added by the square of their share.
    """
    folds = np.zeros(len(there), dtype=int) if records.folds is None else records.folds
    weights = np.where(there, 1.0 if records.weights is None else records.weights, 0.0)
    shares = [
        (using, weights),
        *((without, np.where(folds == number, weights, 0.0)) for number in np.unique(folds[there])),
    ]
    return math.sqrt(
        sum(float((named @ share).var(ddof=1)) for named, share in shares) / len(using)
    ) / float(weights.sum())


def _least_upper(mean: float, there: np.ndarray, records: AttackedRecords, packs: int = 1) -> float:
    """What the upper limit of mean D of some records is at least: the exact binomial one of that
    share (Clopper and Pearson 1934), of as many guesses as there are records in `packs` that share
    no dataset.

    Where both sides agree on everybody the error is 0, and n records still do not show that D is
    below 1 - .05^(1 / n). Units count as one, and survey weights by their effective number.
    """
    if not there.any():
        return math.nan
    weights = np.ones(int(there.sum())) if records.weights is None else records.weights[there]
    sums = (
        weights
        if records.units is None
        else np.bincount(np.unique(records.units[there], return_inverse=True)[1], weights)
    )
    count, share = packs * float(sums.sum() ** 2 / (sums**2).sum()), max(mean, 0.0)
    return (
        float(beta.isf(records.level, share * count + 1, count * (1 - share))) if share < 1 else 1.0
    )


def clustered_variance(off: np.ndarray, codes: np.ndarray | None) -> float:
    """The variance of a sum of weighted distances from the mean whose terms come in clusters."""
    sums = off if codes is None else np.bincount(np.unique(codes, return_inverse=True)[1], off)
    count = len(sums)
    return float((sums**2).sum() * count / max(count - 1, 1))


def worst_group(
    attributed: np.ndarray, codes: np.ndarray, records: AttackedRecords
) -> tuple[float, float, int]:
    """Return the largest lower bound of D over groups, corrected for their number, D of that group,
    and the number of groups judged.

    `codes` (n,): the group of every record. Groups of fewer than five records are not judged by
    themselves; a group's error is at least what the spread of all records gives for its size, since
    a few records that are all named vary by nothing.
    """
    of_record, codes = attributed.mean(axis=0)[records.judged], codes[records.judged]
    sizes = np.bincount(codes)
    large = sizes >= _FEWEST
    if not large.any():
        return math.nan, math.nan, 0
    mean = np.bincount(codes, of_record) / np.maximum(sizes, 1)
    off = (of_record - mean[codes]) ** 2
    variance = np.bincount(codes, off) / np.maximum(sizes - 1, 1)
    spread = np.sqrt(np.maximum(variance, of_record.var()) / np.maximum(sizes, 1))
    lower = np.where(large, mean - norm.isf(LEVEL_OF_GROUPS / large.sum()) * spread, -np.inf)
    worst = int(lower.argmax())
    return float(lower[worst]), float(mean[worst]), int(large.sum())


def fisher(near: np.ndarray, near_without: np.ndarray, copies: int) -> np.ndarray:
    """Return Fisher's exact p-value of k of L copies (n,) against m of L (n,), one-sided, (n,)."""
    k, m = np.arange(copies + 1)[:, None], np.arange(copies + 1)
    values = np.minimum(hypergeom.sf(k - 1, 2 * copies, k + m, copies), 1.0)
    return np.asarray(values[near, near_without])


def identify_records(
    near: np.ndarray, near_without: np.ndarray, copies: int, level: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Return which records have more copies near the truth than without their value, and which
    fewer, (n,) each.

    By Benjamini and Hochberg (1995), of Fisher's exact test, at a false discovery rate in each
    direction. Had their values not been used, fewer would be as likely as more: the second number
    estimates how many of the first are false.

    Parameters
    ----------
    near, near_without : array of int (n,)
        How many of the L copies lie within reach of the true value, with the record's value used
        and without.
    copies : int
        L.
    level : float
        False discovery rate of each direction.
    """
    if not len(near):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    ways = (fisher(near, near_without, copies), fisher(near_without, near, copies))
    more, fewer = (np.asarray(false_discovery_control(p) <= level) for p in ways)
    return more, fewer
