"""Both sides of the packs of a fit: datasets drawn from it, and chosen as they would be without each record."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from riskweighted.disclosure.anew import Weighting
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.comparing import Sides
from riskweighted.disclosure.own_fit import Drawn, Without, draw_copies, leave_out, refit_without
from riskweighted.disclosure.resampled import SortedEnds, chosen_datasets, side_without
from riskweighted.disclosure.sides import Side, exchanged, rows_of, side_of
from riskweighted.intruder.world import World
from riskweighted.sequence.fit import Fit

__all__ = ["FittedPacks"]

_ALIGNED = 2


@dataclass(frozen=True, eq=False)
class FittedPacks:
    """M datasets of a fit, R packs of L of them, and how probable each dataset is without each record. Confidential.

    ``packs`` (R, L): datasets by number; ``refitted``: datasets of the fit without a record, by record; ``judged`` (n,): of whom both
    sides are known, by weights or by a refit.
    """

    drawn: Drawn = field(repr=False)
    without: Without = field(repr=False)
    packs: np.ndarray = field(repr=False)
    refitted: dict[int, np.ndarray] = field(repr=False)
    judged: np.ndarray = field(repr=False)
    single: np.ndarray = field(repr=False)

    @property
    def repeats(self) -> int:
        """R."""
        return len(self.packs)

    @property
    def held(self) -> tuple[str, ...]:
        """What reads the records' values and is not made anew."""
        return self.without.held

    @classmethod
    def of(
        cls, fit: Fit, world: World, weighting: Weighting | None, rng: np.random.Generator, *, copies: int, repeats: int, refits: int
    ) -> "FittedPacks":
        """Datasets of a fit; the records whose weights fail are left out by fits of their own, `refits` at most, the worst first."""
        coding = Coding(world)
        drawn = draw_copies(fit, coding, rng)
        without = leave_out(fit, world, drawn, weighting)
        count = drawn.values.shape[2]
        packs = np.array([rng.choice(count, copies, replace=count < copies) for _ in range(repeats)])
        failed = np.flatnonzero(~without.judged)
        failed = failed[np.argsort(-np.nan_to_num(without.pareto_k[failed], nan=np.inf), kind="stable")][:refits]
        refitted, judged, single = {}, without.judged.copy(), np.where(without.judged, without.single, np.nan)
        for record in failed.tolist():
            anew = draw_copies(refit_without(fit, world, record, weighting, rng), coding, rng, copies=copies * repeats)
            refitted[record], judged[record] = anew.values, True
            if drawn.masses is not None and anew.masses is not None:
                single[record] = drawn.masses[record].mean() - anew.masses[record].mean()
        return cls(drawn, without, packs, refitted, judged, single)

    def sides(
        self,
        coding: Coding,
        which: Sequence[int],
        patterns: np.ndarray,
        units: np.ndarray | None,
        rng: np.random.Generator,
        shuffle: bool,
    ) -> Sides:
        """Both sides of every pack, of some of the variables, in released patterns (n,); with `shuffle` rows are exchanged within them.

        Aligned, which is not how a release leaves, two packs tell.
        """
        values = self.drawn.values[list(which)]
        shown = exchanged(values, patterns, rng, units) if shuffle else values
        ends = SortedEnds(coding, values, patterns)
        using, without = [], []
        for number, pack in enumerate(self.packs if shuffle else self.packs[:_ALIGNED]):
            side = side_of(coding, np.ascontiguousarray(shown[:, :, pack]), patterns)
            using.append(side)
            chosen = chosen_datasets(self.without.weights, pack, rng)
            left = side_without(coding, shown, ends, side, pack, chosen)
            without.append(self._with_refits(left, coding, which, patterns, rng, shuffle, number))
        single = self.single if len(which) == len(self.drawn.values) else np.full(len(patterns), np.nan)
        return Sides(tuple(using), tuple(without), single)

    def _with_refits(
        self, side: Side, coding: Coding, which: Sequence[int], patterns: np.ndarray, rng: np.random.Generator, shuffle: bool, number: int
    ) -> Side:
        """The side with the records that were left out by a fit of their own."""
        copies = self.packs.shape[1]
        named, near, same = side.named.copy(), side.near.copy(), side.same.copy()
        for record, values in self.refitted.items():
            pack = values[list(which)][:, :, np.arange(number * copies, (number + 1) * copies) % values.shape[2]]
            shown = exchanged(pack, patterns, rng) if shuffle else pack
            alone = rows_of(side_of(coding, np.ascontiguousarray(shown), patterns), np.array([record]))
            named[:, record], near[record], same[record] = alone.named[:, 0], alone.near[0], alone.same[0]
        return Side(named, near, same, side.mode, side.copies)
