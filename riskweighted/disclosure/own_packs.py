"""Packs of a fit, each attacked once, and what they would tell without each record, by other
weights (METHODS section 13.1).

The fit is the population: its mechanism is known and may be run at will, so that the error of D is
that of finitely many packs and no other. Without record i a pack of L datasets is as probable as
the product of what each of them is, so the same attacks on the same packs, weighted anew, say what
would be named without it.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from riskweighted.common.progress import Steps
from riskweighted.disclosure.attacks import hits
from riskweighted.disclosure.attribution_inputs import AttributionInputs, AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import AttackedRecords, clustered_variance, largest
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_fit import (
    FAILING,
    CopyDraws,
    LeaveOneOutWeights,
    draw_copies,
    leave_out,
)
from riskweighted.disclosure.uniques import UniqueResults
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = [
    "FEWEST",
    "LOOKS",
    "PACKS",
    "Attacked",
    "DisclosureEstimate",
    "GroupFigures",
    "OwnPacks",
    "copies_for",
    "disclosure_of_copies",
    "named_in",
    "own_rows",
    "quantile_of_look",
]

LOOKS = 4  # at most, each with twice the datasets
FEWEST = 10  # packs that share no dataset, of which an error is told
PACKS = 100  # that are drawn from the datasets; they overlap
_LEAST_COPIES, _PACKS_OF_COPIES = 400, 20
_UNEVEN = 8  # a record fails whose weights leave fewer than a R / 8 of R packs
_LEAST_SHARE = 0.3  # of what self-normalised weights shrink D to
_TINY = np.finfo(float).tiny


def copies_for(L: int) -> int:  # noqa: N803
    """How many datasets the first look takes."""
    return max(_LEAST_COPIES, _PACKS_OF_COPIES * L)


class Attacked(NamedTuple):
    """Packs that were attacked once each, as they leave, and packs of them that share no dataset, R
    of which: ``using``, ``without`` (attacks, n), the share of all packs in which each attack names
    each record, with its value and without; ``apart`` (R, attacks, n), whom each names in those;
    ``weights`` (R, n), of mean 1 over these: how much more probable each is without each record."""

    using: np.ndarray
    without: np.ndarray
    apart: np.ndarray
    weights: np.ndarray


class GroupFigures(NamedTuple):
    """Of G groups of records, (G,) each: ``D`` with its Monte Carlo error ``se``; ``bound``: what
    failing records may add at most; ``share``: how many are named with the values; ``records``."""

    D: np.ndarray
    se: np.ndarray
    bound: np.ndarray
    share: np.ndarray
    records: np.ndarray


@dataclass(frozen=True, eq=False)
class OwnPacks:
    """M datasets of a fit, dealt into packs, with how probable each is without each record.
    Confidential.

    ``values`` (V, n, M) of the n records that are looked at; ``log_weights`` (n, M): log of M times
    the weight of each dataset without each record; ``drawn`` (R, L), ``apart`` (P, L): packs as
    numbers of datasets, which overlap, and which do not; ``shape`` (n,): of the tail of the
    weights; ``single`` (N,): D of one copy of all records of the file, NaN where it is not told or
    not known; ``inefficiency``: by which dependence between draws multiplies the
    variance.
    """

    values: np.ndarray = field(repr=False)
    log_weights: np.ndarray = field(repr=False)
    drawn: np.ndarray = field(repr=False)
    apart: np.ndarray = field(repr=False)
    shape: np.ndarray = field(repr=False)
    single: np.ndarray = field(repr=False)
    inefficiency: float = 1.0

    @classmethod
    def dealt(
        cls,
        datasets: CopyDraws,
        without: LeaveOneOutWeights,
        setting: AttributionInputs,
        copies: int,
        inefficiency: float,
        most: int | None = None,
    ) -> "OwnPacks":
        """Packs of L datasets each: those that overlap tell D, those that do not its error; `most`:
        how many at most share no dataset.
        """
        count, rng = datasets.values.shape[2], setting.rng
        packs = min(count // copies, most or count)
        drawn = np.array(
            [rng.choice(count, copies, replace=False) for _ in range(max(PACKS, packs))]
        )
        apart = rng.permutation(count)[: packs * copies].reshape(packs, copies)
        weights = setting.cut(without.weights)
        logs = np.log(np.maximum(count * weights, _TINY))
        return cls(
            datasets.values,
            logs,
            drawn,
            apart,
            setting.cut(without.pareto_k),
            np.where(without.told, without.single, np.nan),
            inefficiency,
        )

    def weights(self, packs: np.ndarray) -> np.ndarray:
        """How much more probable each pack (R, L) is without each record, of mean 1 over the packs,
        (R, n).
        """
        total = np.zeros((len(self.log_weights), len(packs)))
        for datasets in packs.T:
            total += self.log_weights[:, datasets]
        total -= total.max(axis=1, keepdims=True)
        weights = np.exp(total)
        return np.ascontiguousarray((weights / weights.mean(axis=1, keepdims=True)).T)

    @cached_property
    def effective(self) -> np.ndarray:
        """The effective number of packs without each record, (n,)."""
        packs: np.ndarray = len(self.drawn) ** 2 / (self.weights(self.drawn) ** 2).sum(axis=0)
        return packs

    @cached_property
    def fails(self) -> np.ndarray:
        """Whose weights tell nothing, (n,): their tail is too heavy, or they leave too few
        packs.
        """
        return np.asarray((self.shape > FAILING) | (self.effective < len(self.drawn) / _UNEVEN))

    @cached_property
    def gain(self) -> np.ndarray:
        """About what somebody who knows everybody else's value could gain at most on each person,
        (n,): mean of max(1 - W, 0).
        """
        return np.asarray(np.maximum(1 - self.weights(self.drawn), 0).mean(axis=0))

    def of(self, which: list[int]) -> "OwnPacks":
        """The same of some of the variables."""
        if len(which) == len(self.values):
            return self
        made = replace(self, values=self.values[which], single=np.full(len(self.single), np.nan))
        made.__dict__.update({name: getattr(self, name) for name in ("effective", "fails", "gain")})
        return made

    def attacked(
        self, coding: Coding, release: str, setting: AttributionInputs, told: Steps
    ) -> Attacked:
        """Every pack attacked once, as it leaves; of the way in which datasets do not leave, those
        that share no dataset alone.
        """

        def named(packs: np.ndarray) -> np.ndarray:
            made = []
            for pack in packs:
                made.append(named_in(self.values[:, :, pack], coding, release, setting))
                told()
            return np.stack(made)

        apart, weights = named(self.apart), self.weights(self.apart)
        leaves = release == setting.releases[0]
        whole, of_whole = (
            (named(self.drawn), self.weights(self.drawn)) if leaves else (apart, weights)
        )
        without = np.einsum("ran,rn->an", whole, of_whole) / len(whole)
        return Attacked(whole.mean(axis=0), without, apart, weights)


def named_in(
    values: np.ndarray, coding: Coding, release: str, setting: AttributionInputs
) -> np.ndarray:
    """Whom each attack names in a pack (V, n, L) as it leaves, (attacks, n)."""
    return hits(coding, setting.shown(np.ascontiguousarray(values), release), setting.patterns)


@dataclass(frozen=True, eq=False)
class DisclosureEstimate:
    """D of groups of records, from packs that overlap and packs that do not.

    ``inflation`` (n,): by which self-normalised weights shrink D; ``fails`` (n,): of whom nothing
    is told; ``variance`` (n,): of D of records that packs of their own tell of, 0 of others.
    """

    attacked: Attacked = field(repr=False)
    inflation: np.ndarray = field(repr=False)
    fails: np.ndarray = field(repr=False)
    variance: np.ndarray = field(repr=False)
    inefficiency: float = 1.0

    @classmethod
    def of(
        cls, packs: OwnPacks, attacked: Attacked, alone: UniqueResults | None = None
    ) -> "DisclosureEstimate":
        """Of packs that were attacked; `alone`: what packs of their own tell of records whose
        weights fail over whole packs.
        """
        inflation, fails = 1 / np.maximum(1 - 1 / packs.effective, _LEAST_SHARE), packs.fails.copy()
        variance = np.zeros(len(fails))
        if alone is not None:
            at, (using, without, apart, weights) = alone.records, attacked
            using, without, weights = using.copy(), without.copy(), weights.copy()
            using[:, at], without[:, at], variance[at], inflation[at], fails[at] = (
                alone.using,
                alone.without,
                alone.se**2,
                1.0,
                False,
            )
            weights[:, at] = 1.0
            attacked = Attacked(using, without, apart, weights)
        return cls(attacked, inflation, fails, variance, packs.inefficiency)

    def at(self, which: np.ndarray) -> "DisclosureEstimate":
        """The same of some of the records."""
        attacked = Attacked(*(part[..., which] for part in self.attacked))
        return DisclosureEstimate(
            attacked,
            self.inflation[which],
            self.fails[which],
            self.variance[which],
            self.inefficiency,
        )

    def figures(
        self, codes: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[GroupFigures, np.ndarray]:
        """Of every group (n,), numbered from 0, by the attacks that are best within it; and D of
        every record, (n,).

        Weights have mean 1 over the packs, so that what is taken off of them as a control variate
        cancels in D itself; in the packs' own figures, of which the error is made, it does not.
        """
        count, share = int(codes.max()) + 1, np.ones(len(codes)) if weights is None else weights
        known = np.where(self.fails, 0.0, share)
        total = np.bincount(codes, share, count)
        using, without, apart, of_packs = self.attacked
        best, rest = (_best_of(named, codes, known, count)[codes] for named in (using, without))
        rows = np.arange(len(codes))
        off = np.where(self.fails, 0.0, self.inflation * (using[best, rows] - without[rest, rows]))
        named = apart[:, best, rows].astype(float), apart[:, rest, rows].astype(float)
        of_pack = named[0] - named[1] - (of_packs - 1) * (named[1] - using[rest, rows])
        of_pack *= np.where(self.fails, 0.0, self.inflation) * share
        means = np.stack([np.bincount(codes, pack, count) for pack in of_pack]) / total
        packs = len(means)
        se = (
            means.std(axis=0, ddof=1) * math.sqrt(self.inefficiency / packs)
            if packs > 1
            else np.full(count, np.nan)
        )
        se = np.hypot(se, np.sqrt(np.bincount(codes, share**2 * self.variance, count)) / total)
        most = np.where(self.fails, using.max(axis=0), 0.0)
        D, bound, there = (  # noqa: N806
            np.bincount(codes, share * of, count) / total for of in (off, most, using[best, rows])
        )
        return GroupFigures(D, se, bound, there, np.bincount(codes, minlength=count)), off


def quantile_of_look(packs: int, level: float = 0.05) -> float:
    """By which an error from so many packs is multiplied: one-sided, at a quarter of the level of
    all for each of four looks.
    """
    return float(student.isf(level / LOOKS, max(packs - 1, 1)))


def _best_of(named: np.ndarray, codes: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """The attack that names most in each group, (G,)."""
    return np.asarray(
        np.stack([np.bincount(codes, weights * of, count) for of in named]).argmax(axis=0)
    )


def own_rows(
    packs: OwnPacks,
    attacked: Attacked,
    coding: Coding,
    records: AttackedRecords,
    release: str,
    variables: str,
    alone: UniqueResults | None = None,
) -> tuple[pd.DataFrame, DisclosureEstimate]:
    """Return a row for each group of records, and what other groups are judged by; `alone`: of
    failing records, packs of their own.
    """
    estimate = DisclosureEstimate.of(packs, attacked, alone)
    copies = _of_copies(packs, coding)
    rows = []
    for group, members in records.groups.items():
        there = members & records.judged
        if not there.any():
            continue
        weights = None if records.weights is None else records.weights[there]
        figures, of_record = estimate.at(there).figures(
            np.zeros(int(there.sum()), dtype=np.int64), weights
        )
        D, se, bound, share, count = (float(of[0]) for of in figures)  # noqa: N806
        if records.drawn is not None:  # some of the file's records are looked at
            se = math.sqrt(se**2 + _over_units(of_record, records.drawn[there], weights))
        none, constant = (
            records.mean(of.astype(float), there) for of in (records.none, records.constant)
        )
        reach = quantile_of_look(len(packs.apart), records.level) * se
        rows.append(
            {
                "variables": variables,
                "release": release,
                "group": group,
                "records": int(count),
                "with": share,
                "out": share - D,
            }
            | {
                "none": none,
                "constant": constant,
                "D": D,
                "se": se,
                "upper": D + reach + bound,
                "lower": D - reach,
                "bound": bound,
            }
            | {"inference": share - D - none}
            | {name: records.mean(of, there) for name, of in copies.items()}
            | dict.fromkeys(("named", "reversed", "false_share"), math.nan)
            | largest(packs.single[records.everyone[group]])
        )
    return pd.DataFrame(rows), estimate


def _over_units(of_record: np.ndarray, drawn: np.ndarray, weights: np.ndarray | None) -> float:
    """The variance of a mean over records that are a sample of the file, whose patterns were
    drawn.
    """
    share = np.ones(len(of_record)) if weights is None else weights
    return (
        clustered_variance(share * (of_record - np.average(of_record, weights=share)), drawn)
        / float(share.sum()) ** 2
    )


def _of_copies(packs: OwnPacks, coding: Coding) -> dict[str, np.ndarray]:
    """Of single copies, and of the own value among those of a pack: shares with the record's value
    and without, (n,).
    """
    count = packs.values.shape[2]
    own = np.zeros((len(packs.log_weights), packs.values.shape[2]), dtype=bool)
    near = np.empty_like(own)
    for s in range(count):
        near[:, s] = coding.near(packs.values[:, :, s])
        own[:, s] = (packs.values[:, :, s] == coding.truth).all(axis=0)
    of_pack = np.stack([own[:, pack].any(axis=1) for pack in packs.apart])
    copies = np.exp(packs.log_weights)
    return {
        "copy_with": near.mean(axis=1),
        "copy_out": (copies * near).sum(axis=1) / copies.sum(axis=1),
        "own_value_with": of_pack.mean(axis=0),
        "own_value_out": (packs.weights(packs.apart) * of_pack).mean(axis=0),
    }


def disclosure_of_copies(
    fit: Fit,
    world: World,
    weighting: Weighting | None,
    unit: str | None = None,
    *,
    bounded: bool = True,
    random_seed: int = 0,
) -> np.ndarray:
    """D of one copy of every record of a fit, (n,), as `riskweighted.attribution` measures it; NaN
    where it is not known.

    `bounded`: records whose importance weights fail count by what their D is at most; else by their
    weights as they are, which does for comparing settings.
    """
    setting = AttributionInputs(
        world, AttributionRequest(unit=unit), np.random.default_rng(random_seed)
    )
    without = leave_out(
        fit, world, draw_copies(fit, Coding(world), setting.rng), weighting, setting.units
    )
    return without.bounded if bounded else without.single
