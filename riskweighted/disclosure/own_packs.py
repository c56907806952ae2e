"""Both sides of the packs of a fit: datasets drawn from it, and chosen as they would be without each record."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from riskweighted.common.progress import Steps
from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparing import Sides
from riskweighted.disclosure.own_fit import COPIES, Without, can_refit, draw_copies, leave_out, refit_without
from riskweighted.disclosure.policy import SHUFFLED
from riskweighted.disclosure.resampled import SortedEnds, chosen_datasets, side_without
from riskweighted.disclosure.setting import Asked, Setting
from riskweighted.disclosure.sides import Side, exchanged, rows_of, side_of
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["REFITTED", "FittedPacks", "disclosure_of_copies"]

_OTHERWISE = 2
REFITTED = 200_000  # records at most of a file whose fit is made anew without some: of more a fit takes minutes


@dataclass(frozen=True, eq=False)
class FittedPacks:
    """M datasets of a fit, R packs of L of them, and how probable each dataset is without each record. Confidential.

    ``values`` (V, m, M): the datasets, as `Drawn` holds them; ``packs`` (R, L): datasets by number; ``refitted``: datasets of the fit
    without a record, by record; ``judged`` (n,): of whom both sides are known, by weights or by a refit.
    """

    values: np.ndarray = field(repr=False)
    without: Without = field(repr=False)
    packs: np.ndarray = field(repr=False)
    refitted: dict[int, np.ndarray] = field(repr=False)
    judged: np.ndarray = field(repr=False)
    single: np.ndarray = field(repr=False)

    @property
    def repeats(self) -> int:
        """R."""
        return len(self.packs)

    @classmethod
    def looks(cls, variables: int, repeats: int) -> int:
        """How many packs are looked at, of all variables and of each: those that leave, and some of the other way."""
        return (repeats + min(repeats, _OTHERWISE)) * (variables + (variables > 1))

    @property
    def held(self) -> tuple[str, ...]:
        """What reads the records' values and is not made anew."""
        return self.without.held

    @classmethod
    def of(
        cls,
        fit: Fit,
        coding: Coding,
        setting: Setting,
        weighting: Weighting | None,
        *,
        copies: int,
        repeats: int,
        refits: int,
        told: Steps | None = None,
    ) -> "FittedPacks":
        """Datasets of a fit; the records whose weights fail are left out by fits of their own, `refits` at most, the worst first; of
        large files none, of whose records one in a hundred may go unjudged. Copies are those of the records that are looked at."""
        rng, units = setting.rng, setting.units
        drawn = draw_copies(fit, coding, rng)
        without = leave_out(fit, coding.world, drawn, weighting, units)
        count = drawn.values.shape[2]
        packs = np.array([rng.choice(count, copies, replace=count < copies) for _ in range(repeats)])
        failed = np.flatnonzero(~without.judged)
        refits = refits if can_refit(weighting) and not fit.of_part and len(without.judged) <= REFITTED else 0
        failed = failed[np.argsort(-np.nan_to_num(without.pareto_k[failed], nan=np.inf), kind="stable")][:refits]
        told = told or Steps(None, 0)
        told.total += len(failed) + 1
        told()
        refitted, judged, single = {}, without.judged.copy(), np.where(without.judged, without.single, np.nan)
        for record in failed.tolist():
            gone = np.array([record]) if units is None else np.flatnonzero(units == units[record])
            anew = draw_copies(refit_without(fit, coding.world, gone, weighting, rng), coding, rng, copies=copies * repeats)
            refitted[record], judged[record] = anew.values, True
            if drawn.masses is not None and anew.masses is not None:
                single[record] = drawn.masses[record].mean() - anew.masses[record].mean()
            told()
        return cls(drawn.values, without, packs, refitted, judged, single)

    def sides(self, coding: Coding, which: Sequence[int], setting: Setting, told: Steps) -> Iterator[tuple[str, Sides]]:
        """Both sides of every pack, of some of the variables, as they leave and the other way.

        Of the way in which they do not leave two packs tell.
        """
        every, patterns, rng = len(which) == len(self.values), setting.patterns, setting.rng
        values = self.values if every else self.values[list(which)]
        ends = SortedEnds(coding, values, patterns)
        single = self.single if every else np.full(len(self.single), np.nan)
        weights = setting.cut(self.without.weights)
        for release in setting.releases:
            shown = exchanged(values, patterns, rng, setting.units) if release == SHUFFLED else values
            using, without = [], []
            for number, pack in enumerate(self.packs if release == setting.releases[0] else self.packs[:_OTHERWISE]):
                side = side_of(coding, np.ascontiguousarray(shown[:, :, pack]), patterns)
                using.append(side)
                left = side_without(coding, shown, ends, side, pack, chosen_datasets(weights, pack, rng))
                without.append(self._with_refits(left, coding, which, setting, release, number))
                told()
            yield release, Sides(tuple(using), tuple(without), single)

    def _with_refits(self, side: Side, coding: Coding, which: Sequence[int], setting: Setting, release: str, number: int) -> Side:
        """The side with the records that were left out by a fit of their own."""
        copies = self.packs.shape[1]
        made = Side(*(part.copy() for part in side))
        for record, values in self.refitted.items():
            pack = values[list(which)][:, :, np.arange(number * copies, (number + 1) * copies) % values.shape[2]]
            shown = exchanged(pack, setting.patterns, setting.rng, setting.units) if release == SHUFFLED else pack
            alone = rows_of(side_of(coding, np.ascontiguousarray(shown), setting.patterns), np.array([record]))
            for whole, part in zip((made.named, made.near, made.same), (alone.named, alone.near, alone.same), strict=True):
                whole[..., record] = part[..., 0]
        return made


def disclosure_of_copies(
    fit: Fit, world: World, weighting: Weighting | None, unit: str | None = None, *, refits: int | None = 10, random_seed: int = 0
) -> np.ndarray:
    """D of one copy of every record of a fit, (n,), as `riskweighted.attribution` measures it; NaN where it is not known.

    `refits`: how many records at most are left out by a fit of their own where importance weights fail; None: they are taken as they are,
    which does for comparing settings.
    """
    setting = Setting(world, Asked(unit=unit), np.random.default_rng(random_seed))
    coding = Coding(world)
    if refits is None:
        return leave_out(fit, world, draw_copies(fit, coding, setting.rng), weighting, setting.units).single
    return FittedPacks.of(fit, coding, setting, weighting, copies=COPIES, repeats=1, refits=refits).single
