"""Own fits judged by packs, of which more are drawn until they decide (METHODS section 13)."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import t as student

from riskweighted.common.progress import Advance, Steps
from riskweighted.contract.drawing import spread_draws
from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.copying import CopyTests
from riskweighted.disclosure.own_fit import Drawn, Without, draw_copies, how_many, leave_out
from riskweighted.disclosure.own_packs import FEWEST, LOOKS, Estimate, OwnPacks, copies_for, own_rows
from riskweighted.disclosure.persons import FEW, Persons, may_stand_alone
from riskweighted.disclosure.policy import Broken, DisclosureSettings, undecided, unshown_by_bound
from riskweighted.disclosure.refits import REFITTED, can_refit, refit_without
from riskweighted.disclosure.setting import TOLD, Asked, Setting, tells_nothing
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["judged_by_packs"]

_MOST = 20_000  # records whose packs are attacked, of a file of more than twice as many
_FEWEST_DRAWS = 100  # datasets of a fit that can pass
_OF_PERSONS = 400  # parameters that the rows of persons are drawn by
_SURE = 1.6448536269514722  # the 95 % point of a normal distribution
_LEVEL = 0.05  # of all groups of one kind together


def judged_by_packs(
    fit: Fit,
    world: World,
    asked: Asked,
    copies: int,
    weighting: Weighting | None,
    rng: np.random.Generator,
    refits: int,
    progress: Advance | None,
    copied: CopyTests,
) -> pd.DataFrame | None:
    """The table of a fit by packs of its datasets, drawn until they decide; None where folds must.

    Folds must where what failing records may add is all that lies above a limit, and they are more than `refits`, which are left out by
    fits of their own. `copied` is shown the datasets.
    """
    setting = Setting(world, asked, rng, most=_MOST)
    looks = _Looks(fit, setting, copies, weighting, progress, copied)
    table = looks.look()
    while looks.more and undecided(table, setting.worst, setting.releases[0], asked.settings):
        table = looks.look()
    if refits and unshown_by_bound(table, setting.releases[0], asked.settings) and looks.may_refit:
        failing = looks.failing
        if len(failing) > refits:
            return None
        table = looks.refitted(failing)
    broken, untold = list(looks.of_persons()), []
    if looks.count < 2 * copies:
        untold = [f"the fit has {looks.count} draws, fewer than two packs of {copies} datasets: draw more"]
    elif looks.count < _FEWEST_DRAWS or looks.count // copies < FEWEST:
        broken.append(
            Broken("not_shown", f"{looks.count} datasets are {looks.count // copies} packs, and {FEWEST} tell an error: draw more")
        )
    gain = looks.packs.gain
    told = {
        "own": True,
        "broken": tuple(broken),
        "looks": looks.looks,
        "datasets": looks.count,
        "failing": float(looks.packs.fails.mean()),
        "records_per_parameter": len(fit.confidential) / max(_parameters(fit), 1),
        "gain": (float(gain.mean()), float(gain.max())),
    }
    return setting.finished(table, untold, looks.without.held, len(looks.packs.drawn), **told)


class _Looks:
    """The datasets of a fit as they grow, and what they tell. Confidential."""

    packs: OwnPacks
    without: Without
    estimate: Estimate  # of all variables, as they leave

    def __init__(
        self, fit: Fit, setting: Setting, copies: int, weighting: Weighting | None, progress: Advance | None, copied: CopyTests
    ) -> None:
        self.fit, self.setting, self.copies, self.weighting, self.copied = fit, setting, copies, weighting, copied
        self.coding, self.told = Coding(setting.world, setting.rows), Steps(progress, 0)
        most = how_many(copies_for(copies) * 2 ** (LOOKS - 1), math.prod(fit.sizes.values()), len(fit.confidential))
        places = spread_draws(fit.sizes["chain"], fit.sizes["draw"], most)
        self.places = [places[number] for number in setting.rng.permutation(most)]
        self.count, self.looks = 0, 0
        self.datasets: Drawn | None = None

    @property
    def more(self) -> bool:
        """Whether there are draws for another look."""
        return self.looks < LOOKS and self.count < len(self.places)

    def look(self) -> pd.DataFrame:
        """Draw as many datasets again as there are, and attack packs of all of them."""
        count = min(2 * self.count or copies_for(self.copies), len(self.places))
        self.told.total += count - self.count + 1
        rng, precision, places = self.setting.rng, self.setting.asked.precision, self.places[self.count : count]
        further = draw_copies(self.fit, self.coding, rng, precision, places=places, told=self.told, see=self.copied.see)
        self.datasets = further if self.datasets is None else self.datasets.joined(further)
        self.looks, self.count = self.looks + 1, count
        self.without = leave_out(self.fit, self.setting.world, self.datasets, self.weighting, self.setting.units)
        self.told()
        self.packs = OwnPacks.dealt(self.datasets, self.without, self.setting, min(self.copies, count), _inefficiency(self.fit, count))
        return self._table()

    def _table(self) -> pd.DataFrame:
        """All rows."""
        setting, rows = self.setting, list[pd.DataFrame]()
        setting.worst, setting.narrow = [], []
        everybody = np.ones(len(self.fit.confidential), dtype=bool)
        parts, leaves = setting.parts(self.coding), setting.releases[0]
        self.told.total += len(parts) * (len(self.packs.drawn) + 2 * len(self.packs.apart))
        for variables, coding, which in parts:
            records, packs = setting.records(coding, everybody), self.packs.of(which)
            for release in setting.releases:
                row, estimate = own_rows(packs, coding, records, release, variables, setting, self.told)
                rows.append(row)
                self._note_groups(estimate, release, variables, records.weights)
                if coding is self.coding and release == leaves:
                    self.estimate = estimate
            if tells_nothing(rows, leaves, variables):
                for share, narrow in setting.narrower(coding):
                    self.told.total += len(packs.drawn) + len(packs.apart)
                    row, _ = own_rows(packs, narrow, setting.at(narrow, records), leaves, variables, setting, self.told)
                    if row.loc[row["group"] == "all", "out"].iloc[0] <= TOLD:
                        setting.note_narrow(row, share)
                        break
        return pd.concat(rows, ignore_index=True)

    def _note_groups(self, estimate: Estimate, release: str, variables: str, weights: np.ndarray | None) -> None:
        """The worst of the groups that are judged one by one, and how many of them are not shown to be small."""
        limit = (self.setting.asked.settings or DisclosureSettings()).group
        for of, codes in self.setting.codes.items():
            figures, _ = estimate.figures(codes, weights)
            large = figures.records >= FEW
            if not large.any():
                continue
            reach = student.isf(_LEVEL / large.sum(), max(len(self.packs.apart) - 1, 1))
            lower = np.where(large, figures.D - reach * figures.se, -np.inf)
            upper = figures.D + _SURE * figures.se + figures.bound
            unshown = large & ((limit < figures.D) | (upper > 2 * limit))
            told = {"of": of, "release": release, "variables": variables, "groups": int(large.sum()), "unshown": int(unshown.sum())}
            self.setting.worst.append(told | {"lower": float(lower.max()), "D": float(figures.D[lower.argmax()])})

    @property
    def may_refit(self) -> bool:
        """Whether records can be left out by fits of their own: of a large file that takes minutes."""
        return can_refit(self.weighting) and not self.fit.of_part and len(self.fit.confidential) <= REFITTED and self.setting.rows is None

    @property
    def failing(self) -> np.ndarray:
        """The records whose weights fail and whom some attack names."""
        return np.flatnonzero(self.packs.fails & (self.estimate.using.max(axis=0) > 0))

    def refitted(self, records: np.ndarray) -> pd.DataFrame:
        """All rows, some records being left out by fits of their own."""
        rng, units, again = self.setting.rng, self.setting.units, {}
        self.told.total += len(records)
        for record in records.tolist():
            gone = np.array([record]) if units is None else np.flatnonzero(units == units[record])
            fit = refit_without(self.fit, self.setting.world, gone, self.weighting, rng)
            again[record] = draw_copies(fit, self.coding, rng, self.setting.asked.precision, copies=self.packs.apart.size).values
            self.told()
        self.packs = replace(self.packs, again=again)
        return self._table()

    def of_persons(self) -> Iterator[Broken]:
        """What the packs of their patterns tell of persons who may stand alone."""
        setting, settings = self.setting, self.setting.asked.settings or DisclosureSettings()
        single = setting.cut(self.without.bounded)
        asked = may_stand_alone(setting.patterns, single, self.packs.fails, self.estimate.using)
        if not len(asked):
            return
        self.told.total += len(np.unique(setting.patterns[asked]))
        every = self.setting.cut(self.without.weights)
        some = slice(None, None, max(self.count // _OF_PERSONS, 1))
        weights = every[:, some] / every[:, some].sum(axis=1, keepdims=True)
        rows = np.arange(len(self.fit.confidential)) if setting.rows is None else setting.rows
        persons = Persons(
            self.fit, setting.world, setting.patterns, setting.units, setting.releases[0], weights, self.places[: self.count][some], rows
        )
        found, error = persons.disclosed(asked, self.copies, setting.rng, self.told)
        largest, of = float(found.max()), f"over the pack ({setting.releases[0]})"
        if largest > settings.largest:
            count = int((found > settings.largest).sum())
            yield Broken("largest", f"D of {count} persons who may stand alone is above {settings.largest:g} {of}, at most {largest:.3f}")
        elif (found - _SURE * error).max() > settings.warn_largest:  # of so many persons the largest lies above by chance
            text = f"the largest D of a person who may stand alone is {largest:.3f} {of}, above {settings.warn_largest:g}"
            yield Broken("warn_largest", text, warning=True)


def _inefficiency(fit: Fit, count: int) -> float:
    """By how much the variance is larger because draws depend on one another: M / ESS of the log density, at least 1."""
    sizes = fit.diagnostics["ess_bulk"]
    least = float(sizes["lp"].min()) if "lp" in sizes.index else float(sizes.min())
    return max(count / least, 1.0) if np.isfinite(least) and least > 0 else 1.0


def _parameters(fit: Fit) -> int:
    """The parameters of all blocks."""
    return sum(int(values[0, 0].size) for block in fit.blocks.values() for values in block.posterior.data_vars.values())
