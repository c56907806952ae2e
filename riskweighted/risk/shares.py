"""Where expected identification risk comes from: what it would be without a predictor, a known
variable, or a group of records.

Everything is read off the fit at hand, and nothing is fitted anew. Without a predictor: the masses
of the balls where its values are exchanged among the records, so that it tells nothing of a record
and is distributed as before. Without a known variable: the risk where an intruder does not know it.
Without a group, or the records that hold a code: the mean over the other records. All of it is
inference, and no disclosure (METHODS section 14.1).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.frames import holds_numbers, with_columns
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.intruder.statuses import AMOUNT
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.ball_masses import ball_masses
from riskweighted.risk.expected_identification import ExpectedRisk, expected_risk
from riskweighted.sequence.fit import Fit

__all__ = ["COLUMNS", "RiskShares"]

COLUMNS = ("kind", "names", "share", "without", "records")
_NUMBERS = 200_000  # masses of all draws together, of each predictor
_FEWEST_DRAWS, _MOST_DRAWS = 2, 10
_SMALL = 5  # records of a pattern
_LEAST = 10  # records of a group that is named
_SECOND = 0.25  # of the largest share: predictors that are taken away together
_TOGETHER = 3


@dataclass(frozen=True, eq=False)
class RiskShares:
    """The mean expected risk of some records of a fit, and what it would be without each of its
    sources. Confidential.

    ``counted`` (n,): the records whose mean it is; ``predictors``: columns that the model reads,
    besides the variables.
    """

    fit: Fit = field(repr=False)
    world: World = field(repr=False)
    counted: np.ndarray = field(repr=False)
    predictors: Sequence[str]
    random_seed: int

    @cached_property
    def draws(self) -> list[tuple[int, int]]:
        """Few: a mean over records has little noise of its own."""
        sizes, n = self.fit.sizes, len(self.world.confidential)
        count = int(np.clip(_NUMBERS // n, _FEWEST_DRAWS, _MOST_DRAWS))
        return spread_draws(
            sizes["chain"], sizes["draw"], min(count, sizes["chain"] * sizes["draw"])
        )

    @cached_property
    def _whole(self) -> ExpectedRisk:
        """With all its sources."""
        return expected_risk(self.fit, self.world, len(self.draws), self.random_seed)

    @property
    def figure(self) -> float:
        """The mean risk of the records that are counted."""
        return float(self._whole.risk[self.counted].mean())

    @property
    def told(self) -> float:
        """The share of all records of which the model gives the own ball a probability of one half
        or more.
        """
        return float((self._whole.own_mass >= 0.5).mean())

    def table(self) -> pd.DataFrame:
        """A row a source: ``kind`` ("predictor", "known", "code", "group"), ``names``, ``share`` of
        the figure that goes without it, ``without``: the figure then, ``records``: how many it
        concerns; the largest share first."""
        rows = [*self._predictors(), *self._known(), *self._codes(), *self._groups()]
        found = pd.DataFrame(rows, columns=["kind", "names", "without", "records"])
        found.insert(2, "share", 1 - found["without"] / self.figure if self.figure else 0.0)
        return found.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    # -- what the model reads

    def _predictors(self) -> Iterator[tuple[str, str, float, int]]:
        """Each alone, and the largest together where several count."""
        n = len(self.world.confidential)
        alone = {name: self._without([name]) for name in self.predictors}
        yield from (("predictor", name, without, n) for name, without in alone.items())
        falls = {name: self.figure - without for name, without in alone.items()}
        largest = sorted(falls, key=falls.__getitem__, reverse=True)[:_TOGETHER]
        together = [
            name
            for name in largest
            if falls[name] > _SECOND * falls[largest[0]] and falls[name] > 0
        ]
        for count in range(2, len(together) + 1):
            yield "predictor", ", ".join(together[:count]), self._without(together[:count]), n

    def _without(self, names: Sequence[str]) -> float:
        """The figure where the values of some predictors are exchanged among the records, those of
        a record together.
        """
        rng, data = np.random.default_rng(self.random_seed), self.fit.confidential
        order = rng.permutation(len(data))
        frame = with_columns(
            data, {name: data[name].take(order).set_axis(data.index) for name in names}
        )
        exchanged = exchange_predictors(self.fit, frame)
        masses, mass = ball_masses(exchanged, self.world), np.zeros(len(data))
        for place in self.draws:
            theta: Any = exchanged.thetas(*place)
            several = len(self.fit.variables) > 1
            mass += masses(theta, rng, exchanged.drawing.made(theta, rng) if several else frame)
        mass = np.minimum(mass / len(self.draws), 1.0)
        return float((mass * self._whole.outside)[self.counted].mean())

    # -- what is known, and of whom

    def _known(self) -> Iterator[tuple[str, str, float, int]]:
        scenario, data = self.world.scenario, self.world.confidential
        for name in scenario.known:
            less = replace(scenario, known=[other for other in scenario.known if other != name])
            expected = expected_risk(
                self.fit,
                make_world(data, less, self.world.units),
                len(self.draws),
                self.random_seed,
            )
            yield "known", str(name), float(expected.risk[self.counted].mean()), len(data)

    def _codes(self) -> Iterator[tuple[str, str, float, int]]:
        """Of numbers: records that hold a code, no value, or zero."""
        scenario, data = self.world.scenario, self.world.confidential
        for name in scenario.synthetic:
            if name in self.world.numeric:
                kinds = {"a code or no value": scenario.statuses(data[name]).status != AMOUNT}
                kinds["zero"] = (data[name] == 0).to_numpy(dtype=bool) & ~kinds[
                    "a code or no value"
                ]
                for what, held in kinds.items():
                    yield from self._others("code", f"{name}: {what}", held)

    def _groups(self) -> Iterator[tuple[str, str, float, int]]:
        """Levels of what is known, and small patterns."""
        data = self.world.confidential
        yield from self._others(
            "group",
            f"known patterns of fewer than {_SMALL} records",
            self.world.patterns.in_pattern < _SMALL,
        )
        for name in self.world.scenario.known:
            codes, levels = pd.factorize(data[name], use_na_sentinel=False)
            if len(levels) <= 50 and not (holds_numbers(data[name]) and len(levels) > 20):
                for code, level in enumerate(levels):
                    yield from self._others("group", f"{name} = {level}", codes == code)

    def _others(
        self, kind: str, names: str, held: np.ndarray
    ) -> Iterable[tuple[str, str, float, int]]:
        """The mean over the counted records that are not of a group; nothing of a group of very few
        or of nearly all.
        """
        inside, left = int((held & self.counted).sum()), self.counted & ~held
        if inside >= _LEAST and left.any():
            yield kind, names, float(self._whole.risk[left].mean()), inside


def exchange_predictors(fit: Fit, frame: pd.DataFrame) -> Fit:
    """A fit whose records have the predictors of a frame, which has the rows and the variables of
    its data.
    """
    prepared, rows = replace(fit.prepared, confidential=frame), np.arange(len(frame))
    blocks = {}
    for block in prepared.blocks:
        fitted = fit.blocks[block.name]
        if fit.drawing.is_fixed(block):
            fitted = replace(
                fitted,
                prepared=fit.drawing.at(block, frame, prepared.encoded, rows, elsewhere=True),
            )
        blocks[block.name] = fitted
    return replace(fit, prepared=prepared, blocks=blocks)
