"""Own fits judged by packs, of which more are drawn until they decide (METHODS section 13.1)."""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from riskweighted.common.progress import Advance, Steps, Stretches
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.disclosure.attribution_inputs import (
    AttributionInputs,
    AttributionRequest,
    tells_nothing,
)
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparison import LEVEL_OF_GROUPS, AttackedRecords
from riskweighted.disclosure.copy_checks import CopyTests
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.disclosure.own_fit import (
    FAILING,
    CopyDraws,
    LeaveOneOutWeights,
    draw_copies,
    effective_draws,
    how_many,
    leave_out,
)
from riskweighted.disclosure.own_packs import (
    FEWEST,
    LOOKS,
    PACKS,
    Attacked,
    DisclosureEstimate,
    OwnPacks,
    copies_for,
    named_in,
    own_rows,
)
from riskweighted.disclosure.policy import (
    NOT_SHOWN,
    PASS,
    REFUSE,
    WARN,
    Broken,
    Concerned,
    DisclosureSettings,
    is_undecided,
    unshown_by_bound,
)
from riskweighted.disclosure.refits import REFITTED, can_refit, refit_without
from riskweighted.disclosure.uniques import (
    FEW,
    MOST_FAILING,
    Persons,
    UniqueResults,
    apart_of,
    find_possible_uniques,
)
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["judged_by_packs"]

_MOST = 20_000  # records whose packs are attacked, of a file of more than twice as many
_FEWEST_DRAWS = 100  # datasets of a fit that can pass
_OF_PERSONS = 400  # parameters that the rows of persons are drawn by
_SURE = 1.6448536269514722  # the 95 % point of a normal distribution
_SERVE = 0.7  # Pareto shape up to which a record's weights tell what one dataset is without it
# of the limit of a person, up to which D of fewer datasets is taken to pass by any draws
_ROOM = 0.8
_FEWEST_LISTED = 10  # records of largest D


def judged_by_packs(
    fit: Fit,
    world: World,
    asked: AttributionRequest,
    copies: int,
    weighting: Weighting | None,
    rng: np.random.Generator,
    refits: int,
    progress: Advance | None,
    copied: CopyTests,
) -> pd.DataFrame | None:
    """The table of a fit by packs of its datasets, drawn until they decide; None where folds must.

    Where what failing records may add is all that lies above a limit, packs of their own patterns
    are taken for it; folds must where that tells nothing of more records than `refits`, which are
    left out by fits of their own. `copied` is shown the datasets.
    """
    setting = AttributionInputs(world, asked, rng, most=_MOST)
    looks = _Looks(fit, setting, copies, weighting, progress, copied)
    looks.look()
    while looks.more and looks.undecided():
        looks.look()
    decided = looks.decided(refits)
    if decided is not None and decided.attrs["verdict"] in (REFUSE, NOT_SHOWN):
        decided.attrs |= {"concerned": looks.concerned(), "fewer": looks.fewer(decided)}
    return decided


class _Part(NamedTuple):
    """Of the box of all variables, or one of them, what was attacked, by how the datasets leave."""

    variables: str
    coding: Coding
    which: list[int]
    packs: OwnPacks
    records: AttackedRecords
    attacked: dict[str, Attacked]


class _Looks:
    """The datasets of a fit as they grow, and what they tell. Confidential."""

    datasets: CopyDraws
    packs: OwnPacks
    parts: list[_Part]
    table: pd.DataFrame
    without: LeaveOneOutWeights
    estimate: DisclosureEstimate  # of all variables, as they leave
    # records (n,) of groups that the packs of all neither refuse nor show to be small
    in_doubt: np.ndarray
    most_packs: int | None  # that share no dataset and are attacked
    persons: list[Concerned]
    in_groups: list[Concerned]

    def __init__(
        self,
        fit: Fit,
        setting: AttributionInputs,
        copies: int,
        weighting: Weighting | None,
        progress: Advance | None,
        copied: CopyTests,
    ) -> None:
        self.fit = fit
        self.setting = setting
        self.copies = copies
        self.weighting = weighting
        self.copied = copied
        self.coding = Coding(setting.world, setting.rows)
        self.stretches = Stretches(progress)
        first, ess = copies_for(copies), effective_draws(fit)
        most = how_many(
            min(first * 2 ** (LOOKS - 1), max(first, ess)),
            math.prod(fit.sizes.values()),
            len(fit.confidential),
        )
        places = spread_draws(fit.sizes["chain"], fit.sizes["draw"], most)
        self.places = [places[number] for number in setting.rng.permutation(most)]
        self.count, self.looks, self.most_packs = 0, 0, None
        # of each part what packs of their own tell, where these were asked
        self.apart: list[UniqueResults] | None = None

    @property
    def more(self) -> bool:
        """Whether there are draws for another look."""
        return self.looks < LOOKS and self.count < len(self.places)

    def look(self) -> None:
        """Draw as many datasets again as there are, and attack packs of all of them."""
        count = min(2 * self.count or copies_for(self.copies), len(self.places))
        told = Steps(self.stretches.begin(), count - self.count + 1)
        rng = self.setting.rng
        places = self.places[self.count : count]
        further = draw_copies(
            self.fit, self.coding, rng, places=places, told=told, see=self.copied.see
        )
        self.datasets = self.datasets.joined(further) if self.looks else further
        self.looks, self.count = self.looks + 1, count
        self.without = leave_out(
            self.fit, self.setting.world, self.datasets, self.weighting, self.setting.units
        )
        told()
        self.deal()

    def deal(self) -> None:
        """Deal the datasets into packs and attack these."""
        setting = self.setting
        everybody = np.ones(len(self.fit.confidential), dtype=bool)
        leaves = self.setting.releases[0]
        copies = min(self.copies, self.count)
        inefficiency = max(self.count / effective_draws(self.fit), 1.0)
        self.packs = OwnPacks.dealt(
            self.datasets, self.without, setting, copies, inefficiency, self.most_packs
        )
        self.parts, self.apart, setting.narrow = [], None, []
        self.in_doubt = np.zeros(len(setting.patterns), dtype=bool)
        parts = setting.parts(self.coding)
        self.told = Steps(
            self.stretches.begin(), len(parts) * (len(self.packs.drawn) + 2 * len(self.packs.apart))
        )
        for variables, coding, which in parts:
            packs, records = self.packs.of(which), setting.records(coding, everybody)
            attacked = {
                release: packs.attacked(coding, release, setting, self.told)
                for release in setting.releases
            }
            self.parts.append(_Part(variables, coding, which, packs, records, attacked))
        self.table = self.told_by()
        for part in self.parts:
            if tells_nothing([self.table], leaves, part.variables):
                setting.look_narrower(
                    part.coding,
                    partial(self._at, part, leaves),
                    part.packs.values[:, :, part.packs.drawn[0]],
                )

    def _at(self, part: _Part, release: str, narrow: Coding) -> pd.DataFrame:
        """The rows of a part at another radius."""
        self.told.total += len(self.packs.drawn) + len(self.packs.apart)
        attacked = part.packs.attacked(narrow, release, self.setting, self.told)
        return own_rows(
            part.packs,
            attacked,
            narrow,
            self.setting.at(narrow, part.records),
            release,
            part.variables,
        )[0]

    def undecided(self) -> bool:
        """Whether more draws could decide. Groups in doubt are asked of packs of their own patterns
        before.
        """
        groups = self.setting.worst
        leaves = self.setting.releases[0]
        settings = self.setting.asked.settings
        if not is_undecided(self.table, groups, leaves, settings):
            return False
        if not is_undecided(self.table, (), leaves, settings):
            self.table = self.told_by(self.alone())
        return is_undecided(self.table, self.setting.worst, leaves, settings)

    def fewer(self, table: pd.DataFrame) -> int | None:
        """The most datasets that would pass of half as many as asked for, a quarter and so on, by
        the same draws and with room for others; None where none would, as where one copy gives too
        much away."""
        other, limits = copy(self), self.setting.asked.settings or DisclosureSettings()
        if table["largest_D"].max() > limits.largest:
            return None
        other.setting, other.most_packs = copy(self.setting), PACKS
        other.setting.asked = self.setting.asked._replace(
            settings=replace(limits, largest=_ROOM * limits.largest)
        )
        while (copies := other.copies // 2) > 1:
            other.copies = copies
            other.deal()
            decided = other.decided()
            if decided is not None and decided.attrs["verdict"] in (PASS, WARN):
                return copies
        return None

    def decided(self, refits: int = 0) -> pd.DataFrame | None:
        """The judged table, with packs of their own in the place of what failing records may add,
        where that matters; None where folds must tell."""
        groups = self.setting.worst
        leaves = self.setting.releases[0]
        settings = self.setting.asked.settings
        if refits and self.may_refit and self.left_to_folds(refits):
            return None
        alone = self.alone()
        if alone and unshown_by_bound(self.table, groups, leaves, settings):
            self.table = self.told_by(alone)
            if is_undecided(self.table, self.setting.worst, leaves, settings):
                alone = self.alone(thoroughly=True)
                self.table = self.told_by(alone)
        if refits and unshown_by_bound(self.table, (), leaves, settings) and self.may_refit:
            failing = self.failing
            if self._units_of(failing) > refits:
                return None
            if len(failing):
                alone = self.refitted(failing, alone)
                self.table = self.told_by(alone)
        untold = self.untold(alone) if refits and self.may_refit else np.empty(0, dtype=np.int64)
        if 0 < self._units_of(untold) <= refits:
            alone = self.refitted(untold, alone)
            self.table = self.told_by(alone)
        return self._finished(alone)

    def untold(self, alone: Sequence[UniqueResults]) -> np.ndarray:
        """The records whose weights do not tell D of one copy and whose bound on it, or what they
        say of the pack, is above the limit of a warning."""
        limit = (self.setting.asked.settings or DisclosureSettings()).warn_largest
        above = [np.flatnonzero(~self.without.told & (self.without.bounded > limit))]
        above += [of.records[(limit < of.D) & self._unserved(of)] for of in alone[:1]]
        return np.unique(np.concatenate(above))

    def _unserved(self, of: UniqueResults) -> np.ndarray:
        """Which records are told of by weights that tell nothing, (m,)."""
        return np.asarray((self.packs.shape[of.records] > FAILING) & ~of.refitted)

    def _units_of(self, records: np.ndarray) -> int:
        units = self.setting.units
        return len(records if units is None else np.unique(units[records]))

    def _drawn_without(self, gone: np.ndarray) -> CopyDraws:
        """Datasets of a fit without some records, as many as packs that share none have."""
        rng = self.setting.rng
        fit = refit_without(self.fit, self.setting.world, gone, self.weighting, rng)
        return draw_copies(fit, self.coding, rng, copies=self.packs.apart.size)

    def of_bounds(self, alone: Sequence[UniqueResults]) -> Iterator[Broken]:
        """What the disclosure of records of whom nothing tells is not shown to stay below."""
        limits = self.setting.asked.settings or DisclosureSettings()
        most = self.setting.cut(np.where(self.without.told, 0.0, self.without.bounded))
        for of in alone[:1]:
            there = self._unserved(of)
            np.maximum.at(most, of.records[there], of.D[there])
        if most.max() > limits.largest:
            count = int((most > limits.largest).sum())
            who = f"{count} record{'s' * (count != 1)} that the fit depends on"
            yield Broken("not_shown", f"D of {who} is not shown to be at most {limits.largest:g}")
        elif most.max() > limits.warn_largest:
            text = (
                f"D of a record that the fit depends on is at most {most.max():.3f}, above "
                f"{limits.warn_largest:g}"
            )
            yield Broken("warn_largest", text, warning=True)

    def _finished(self, alone: Sequence[UniqueResults]) -> pd.DataFrame:
        """The judged table."""
        self.persons = []
        broken = [*self.of_persons(alone), *self.of_bounds(alone)]
        packs = self.count // self.copies
        gain = self.packs.gain
        if self.count < _FEWEST_DRAWS or packs < FEWEST:
            broken.append(
                Broken(
                    "not_shown",
                    f"{self.count} datasets are {packs} packs, and an error needs {FEWEST}: "
                    "draw more",
                )
            )
        told = {
            "own": True,
            "broken": tuple(broken),
            "looks": self.looks,
            "datasets": self.count,
            "failing": float(self.packs.fails.mean()),
            "records_per_parameter": len(self.fit.confidential) / max(_parameters(self.fit), 1),
            "gain": (float(gain.mean()), float(gain.max())),
        }
        return self.setting.finished(
            self.table, (), self.without.held, len(self.packs.drawn), **told
        )

    def concerned(self) -> list[Concerned]:
        """The records that what is broken concerns: persons who may stand alone, large ones of one
        copy, those of refused groups, and the hundredth of largest D over the packs."""
        limits, rows = self.setting.asked.settings or DisclosureSettings(), self.setting.rows
        single, (_, over_packs) = (
            self.without.bounded,
            self.estimate.figures(np.zeros(self.packs.values.shape[1], dtype=np.int64)),
        )
        most = np.argsort(-over_packs, kind="stable")[: max(len(over_packs) // 100, _FEWEST_LISTED)]
        looked_at = [
            *self.persons,
            *self.in_groups,
            *(Concerned(int(row), "mean", float(over_packs[row])) for row in most),
        ]
        found = (
            looked_at
            if rows is None
            else [each._replace(row=int(rows[each.row])) for each in looked_at]
        )
        large = np.flatnonzero(single > limits.warn_largest)
        return [
            *(Concerned(int(row), "largest D of one copy", float(single[row])) for row in large),
            *found,
        ]

    def told_by(self, alone: Sequence[UniqueResults] = ()) -> pd.DataFrame:
        """All rows; where `alone` tells of failing records and of groups in doubt whose weights
        serve for one dataset, or that were left out, by that."""
        setting, rows, leaves = self.setting, list[pd.DataFrame](), self.setting.releases[0]
        if alone:
            serve = (self.packs.fails | self.in_doubt) & (self.packs.shape <= _SERVE)
            alone = [of.of(serve[of.records] | of.refitted) for of in alone]
        setting.worst, self.in_groups = [], []
        for number, part in enumerate(self.parts):
            for release, attacked in part.attacked.items():
                of_part = alone[number] if alone and release == leaves else None
                row, estimate = own_rows(
                    part.packs,
                    attacked,
                    part.coding,
                    part.records,
                    release,
                    part.variables,
                    of_part,
                )
                rows.append(row)
                self._note_groups(estimate, release, part.variables, part.records.weights)
                if number == 0 and release == leaves:
                    self.estimate = estimate
        return pd.concat(rows, ignore_index=True)

    def _note_groups(
        self, estimate: DisclosureEstimate, release: str, variables: str, weights: np.ndarray | None
    ) -> None:
        """The worst of the groups that are judged one by one, and how many of them are not shown to
        be small.
        """
        limit = (self.setting.asked.settings or DisclosureSettings()).group
        for of, codes in self.setting.codes.items():
            figures, _ = estimate.figures(codes, weights)
            large = figures.records >= FEW
            if not large.any():
                continue
            reach = student.isf(LEVEL_OF_GROUPS / large.sum(), max(len(self.packs.apart) - 1, 1))
            lower = np.where(large, figures.D - reach * figures.se, -np.inf)
            upper = figures.D + _SURE * figures.se + figures.bound
            unshown = large & (upper > 2 * limit)
            by_bound = unshown & (upper - figures.bound <= 2 * limit)
            told = {
                "of": of,
                "release": release,
                "variables": variables,
                "groups": int(large.sum()),
                "unshown": int(unshown.sum()),
            }
            told |= {
                "by_bound": int(by_bound.sum()),
                "above": int((large & (limit < figures.D) & ~unshown).sum()),
            }
            if release == self.setting.releases[0]:
                self.in_doubt |= unshown[codes]
            self.setting.worst.append(
                told | {"lower": float(lower.max()), "D": float(figures.D[lower.argmax()])}
            )
            there = np.flatnonzero((lower > limit)[codes])
            self.in_groups += [
                Concerned(int(row), f"D of its {of}, {release}", float(figures.D[codes[row]]))
                for row in there
            ]

    def left_to_folds(self, refits: int) -> bool:
        """Whether so many records fail that a bound stays above the limit of the mean whatever
        packs of their own patterns tell of as many as are looked at, and more than `refits` are
        left: then these packs need not be made."""
        may_add = np.sort(
            np.where(self.estimate.fails, self.estimate.attacked.using.max(axis=0), 0.0)
        )
        left = may_add[:-MOST_FAILING]
        if (left > 0).sum() <= refits:
            return False
        rows = self.table[self.table["group"] == "all"]
        told = rows["bound"] * (1 - left.sum() / may_add.sum())
        rows = rows.assign(upper=rows["upper"] - told, bound=rows["bound"] - told)
        return unshown_by_bound(rows, (), self.setting.releases[0], self.setting.asked.settings)

    @property
    def may_refit(self) -> bool:
        """Whether records can be left out by fits of their own: of a large file that takes
        minutes.
        """
        return (
            can_refit(self.weighting)
            and not self.fit.of_part
            and len(self.fit.confidential) <= REFITTED
            and self.setting.rows is None
        )

    @property
    def failing(self) -> np.ndarray:
        """The records whose weights fail, of whom no packs of their own tell, and whom some attack
        names.
        """
        return np.flatnonzero(self.estimate.fails & (self.estimate.attacked.using.max(axis=0) > 0))

    def alone(self, *, thoroughly: bool = False) -> list[UniqueResults]:
        """What packs of their own patterns tell of persons who may stand alone, of records whose
        weights fail, and of groups in doubt, for each part; they are drawn once a look, or once
        more, many of everybody."""
        if self.apart is not None and not thoroughly:
            return self.apart
        setting, single = self.setting, self.setting.cut(self.without.bounded)
        asked = find_possible_uniques(
            setting.patterns,
            single,
            self.packs.fails | self.in_doubt,
            self.estimate.attacked.using,
            setting.rng,
        )
        every = setting.cut(self.without.weights)
        some = slice(None, None, max(self.count // _OF_PERSONS, 1))
        weights = every[:, some] / every[:, some].sum(axis=1, keepdims=True)
        parts = [(Coding(part.coding.world), part.which) for part in self.parts]
        told = Steps(self.stretches.begin(), 0)
        persons = Persons(
            self.fit, setting, weights, self.places[: self.count][some], parts, self.copies, told
        )
        limit = (
            -math.inf
            if thoroughly
            else (setting.asked.settings or DisclosureSettings()).warn_largest
        )
        self.apart = persons.disclosed(asked, limit) if len(asked) else []
        return self.apart

    def refitted(self, records: np.ndarray, alone: Sequence[UniqueResults]) -> list[UniqueResults]:
        """With packs of fits without a record each, or without its unit, in the place of what
        weights tell of these records; D of one copy by such fits, too.
        """
        units, copies, drawn = self.setting.units, self.packs.apart.shape[1], dict[int, CopyDraws]()
        groups = records if units is None else units[records]
        told = Steps(self.stretches.begin(), len(np.unique(groups)))
        for group in np.unique(groups).tolist():
            some = records[groups == group]
            without = self._drawn_without(some if units is None else np.flatnonzero(units == group))
            drawn |= dict.fromkeys(some.tolist(), without)
            if without.masses is not None and self.datasets.masses is not None:
                masses = self.datasets.masses[some].mean(axis=1), without.masses[some].mean(axis=1)
                self.without = self.without.refitted(some, masses[0] - masses[1])
                self.packs.single[some] = masses[0] - masses[1]
            told()
        made = []
        for number, part in enumerate(self.parts):
            named, which = {}, part.which
            for record in records.tolist():
                both = (
                    self.packs.values[which][:, :, self.packs.apart.T],
                    drawn[record].values[which][:, :, : self.packs.apart.size],
                )
                named[record] = np.stack(
                    [
                        self._named(
                            part.coding,
                            side.reshape(len(which), -1, copies, self.packs.apart.shape[0]),
                            record,
                        )
                        for side in both
                    ]
                )
            others = alone[number].of(~np.isin(alone[number].records, records)) if alone else None
            made.append(apart_of(records, named, refitted=True).joined(others))
        return made

    def _named(self, coding: Coding, values: np.ndarray, record: int) -> np.ndarray:
        """Whether each attack names a record in packs (V, n, L, packs) as they leave, (attacks,
        packs).
        """
        leaves, packs = self.setting.releases[0], range(values.shape[3])
        return np.stack(
            [
                named_in(values[..., pack], coding, leaves, self.setting)[:, record]
                for pack in packs
            ],
            axis=1,
        )

    def of_persons(self, alone: Sequence[UniqueResults]) -> Iterator[Broken]:
        """What the packs of their patterns tell of persons who may stand alone."""
        if not alone:
            return
        settings = self.setting.asked.settings or DisclosureSettings()
        of_all = alone[0].of(~self._unserved(alone[0]))
        if not len(of_all.records):
            return
        least = np.where(of_all.refitted, of_all.D - _SURE * of_all.se, of_all.D)
        largest, of = float(of_all.D.max()), f"over the pack ({self.setting.releases[0]})"
        above = settings.warn_largest < of_all.D
        alone_with = zip(of_all.records[above], of_all.D[above], strict=True)
        self.persons += [
            Concerned(int(row), "D of a record that may be alone", float(D))
            for row, D in alone_with
        ]
        if least.max() > settings.largest:
            count = int((settings.largest < least).sum())
            who = f"{count} record{'s' * (count != 1)} that may be alone"
            yield Broken(
                "largest", f"D of {who} is above {settings.largest:g} {of}, at most {largest:.3f}"
            )
        # of so many persons the largest lies above by chance
        elif (of_all.D - _SURE * of_all.se).max() > settings.warn_largest:
            text = (
                f"the largest D of a record that may be alone is {largest:.3f} {of}, above "
                f"{settings.warn_largest:g}"
            )
            yield Broken("warn_largest", text, warning=True)


def _parameters(fit: Fit) -> int:
    """The parameters of all blocks."""
    return sum(
        int(values[0, 0].size)
        for block in fit.blocks.values()
        for values in block.posterior.data_vars.values()
    )
