"""The intruder's world: the confidential data under a scenario, checked once, with the patterns
found once.

Every measure and every weight starts from this frozen value and from synthetic data that were
paired with it, so nothing is checked or coded twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.units import Arrangement, Units
from riskweighted.intruder.neighbours import Centres, Neighbours, sort_centres
from riskweighted.intruder.pairing import Frames, as_frames, check_synthetic, pair
from riskweighted.intruder.patterns import Patterns, known_patterns
from riskweighted.intruder.point_balls import warn_of_unscored
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import Statuses

__all__ = ["Paired", "World", "make_world"]


@dataclass(frozen=True, eq=False)
class World:
    """Checked confidential data, n records, and their known patterns, which hold for synthetic data
    too: known variables are not synthesized.

    Confidential; made by `make_world`. ``units``: which records belong together, and then
    ``arrangement``, how. ``others``: where weights protect against several intruders, the same
    records under the scenarios of all but the first.
    """

    confidential: pd.DataFrame = field(repr=False)
    scenario: Scenario
    patterns: Patterns = field(repr=False)
    units: Units | None = None
    arrangement: Arrangement | None = field(default=None, repr=False)
    others: tuple["World", ...] = field(default=(), repr=False)

    @property
    def each(self) -> tuple["World", ...]:
        """That of every intruder alone."""
        return (replace(self, others=()), *self.others)

    @cached_property
    def centres(self) -> Centres:
        """The balls of the records, sorted once for all files."""
        return sort_centres(self.confidential, self.scenario, self.patterns)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Which confidential records lie in whose ball (Hu et al. 2022, eq. 2)."""
        return self.centres.among_themselves()

    @property
    def numeric(self) -> tuple[str, ...]:
        """The synthetic variables that are matched in a ball."""
        return tuple(
            name
            for name in self.scenario.synthetic
            if self.scenario.is_numeric(self.confidential[name])
        )

    def find(self, candidates: pd.DataFrame) -> Neighbours:
        """Which records of a paired synthetic dataset lie in whose ball (Hu et al. 2022, eq. 1)."""
        return self.centres.find(candidates)

    def under(self, scenario: Scenario) -> "World":
        """The same records under another scenario, for example another radius; only what differs is
        checked and coded anew.
        """
        if scenario == self.scenario and not self.others:
            return self
        same = (
            self.scenario.known,
            self.scenario.synthetic,
            self.scenario.categorical,
            self.scenario.codes,
        )
        if (scenario.known, scenario.synthetic, scenario.categorical, scenario.codes) == same:
            return replace(self, scenario=scenario, others=())
        return make_world(self.confidential, scenario, self.units)

    def only(self, variables: str | Sequence[str]) -> "World":
        """The same records where only these of the synthetic variables are matched; nothing is
        checked or coded anew.
        """
        scenario = self.scenario.only(variables)
        if scenario == self.scenario:
            return self
        others = tuple(each.only(variables) for each in self.others)
        return replace(self, scenario=scenario, others=others)

    def is_of_unit(self, variable: str) -> bool:
        """Whether a variable is the same for all members of a unit, and synthesized once."""
        return self.units is not None and variable in self.units.unit_level

    def of_firsts(self) -> "World":
        """The first members alone, by whom a variable of units is compared: a household of five is
        no five neighbours.
        """
        assert self.arrangement is not None
        firsts = np.flatnonzero(self.arrangement.position == 0)
        return make_world(self.confidential.iloc[firsts], self.scenario)

    def pair(self, synthetic: Frames, further: Iterable[str] = ()) -> "Paired":
        """Synthetic data whose rows pair with the confidential ones by index; `check_synthetic`
        says what is refused.

        Each dataset is looked at once, and only the columns of the scenario and the `further` ones
        that it has are kept of it; those that are as in the confidential data are held once. So a
        sequence may make its datasets when they are asked for.
        """
        further, frames = list(further), []
        for number, frame in enumerate(as_frames(synthetic), start=1):
            what = f"synthetic dataset {number}"
            check_synthetic(self.confidential, frame, self.scenario, what, self.centres.amounts)
            if further:
                require_columns(frame, [name for name in further if name in frame.columns], what)
            frames.append(self._kept(frame, further))
        warn_of_unscored(self.confidential, self.scenario, frames)
        return Paired(self, tuple(frames))

    def _kept(self, frame: pd.DataFrame, further: Sequence[str]) -> pd.DataFrame:
        """The needed columns of a checked dataset, as copies, so that nothing else of it stays in
        memory.
        """
        columns = {name: self.confidential[name] for name in self.scenario.known}
        for name in dict.fromkeys([*self.scenario.synthetic, *further]):
            if name not in frame.columns or name in columns:
                continue
            unaltered = name in self.confidential.columns and frame[name].equals(
                self.confidential[name]
            )
            columns[name] = self.confidential[name] if unaltered else frame[name].copy()
        return pd.DataFrame(columns, copy=False)

    def pair_rows(self, synthetic: Frames, identifier: str | None = None) -> "Paired":
        """The same for data made by any tool: rows pair by `identifier`, else by equal index, else
        by position.
        """
        return self.pair(
            [
                pair(self.confidential, frame, self.scenario, identifier=identifier)
                for frame in as_frames(synthetic)
            ]
        )


@dataclass(frozen=True, eq=False)
class Paired:
    """L synthetic datasets, checked against the world whose rows theirs pair with, and of them what
    is needed; made by `World.pair`.
    """

    world: World
    frames: tuple[pd.DataFrame, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.frames)

    def only(self, variables: str | Sequence[str]) -> "Paired":
        """The same datasets where only these of the synthetic variables are matched."""
        return Paired(self.world.only(variables), self.frames)

    def neighbours(self) -> Iterator[Neighbours]:
        """Who lies in whose ball, dataset by dataset; not kept, since L of them are large."""
        return (self.world.find(frame) for frame in self.frames)

    def values(self, variable: str) -> list[np.ndarray]:
        """A numeric variable of every dataset as it stands there, special codes among the amounts,
        NaN where missing; each (n,).
        """
        return [frame[variable].to_numpy(dtype=float, na_value=np.nan) for frame in self.frames]

    def statuses(self, variable: str) -> list[Statuses]:
        """The same told apart: amounts, missing values and special codes."""
        return [self.world.scenario.statuses(frame[variable]) for frame in self.frames]


def make_world(
    confidential: pd.DataFrame,
    scenario: Scenario | Sequence[Scenario],
    units: Units | None = None,
) -> World:
    """The confidential data, checked against a scenario (`Scenario.check`), with their known
    patterns; `units`: which records belong together. Of several scenarios, which differ in what
    intruders know and in how close is close, the others stand in ``World.others``.
    """
    if isinstance(scenario, (list, tuple)) and scenario:
        first, *others = (make_world(confidential, each, units) for each in scenario)
        if any(each.scenario.synthetic != first.scenario.synthetic for each in others):
            raise InputError(
                "scenarios of several intruders must be of the same synthetic variables"
            )
        return replace(first, others=tuple(others))
    if not isinstance(scenario, Scenario):
        raise InputError(f"scenario must be a Scenario, got {type(scenario).__name__}")
    scenario.check(confidential)
    arrangement = None if units is None else units.check(confidential, scenario.synthetic)
    patterns = known_patterns(confidential, scenario.known)
    return World(confidential, scenario, patterns, units, arrangement)
