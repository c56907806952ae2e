"""Synthetic data as some tool left it: its datasets in comparable columns, and whether their rows
pair with the confidential ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_names
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns, with_columns
from riskweighted.intruder.pairing import (
    Frames,
    PairingError,
    as_comparable,
    as_frames,
    convert_kinds,
)
from riskweighted.intruder.world import Paired, World

__all__ = ["HOLDOUT", "INDEPENDENT", "ITSELF", "YARDSTICKS", "Tool", "find_tools", "yardsticks"]

ITSELF, INDEPENDENT, HOLDOUT = "confidential itself", "independent of known", "holdout itself"
YARDSTICKS = (ITSELF, INDEPENDENT, HOLDOUT)
ONE = "synthetic"  # label of data given without a name


@dataclass(frozen=True, eq=False)
class Tool:
    """What one tool made, or a yardstick.

    ``frames``: L datasets of the scenario's columns, in the kinds of the confidential ones, and of
    further ones that utility looks at; rows as they came. ``paired``: the same where rows pair with
    the confidential ones; None where they do not, for a ``reason``. ``sampled``: whether it is
    another sample of the population, and not synthetic.
    """

    label: str
    frames: tuple[pd.DataFrame, ...] = field(repr=False)
    paired: Paired | None = field(repr=False)
    reason: str = ""
    sampled: bool = False

    def size_ratio(self, n: int) -> float | None:
        """n_syn / n of fully synthetic data, whose rows pair with none."""
        if self.paired is not None or self.sampled:
            return None
        return float(np.mean([len(frame) for frame in self.frames])) / n


def find_tools(
    world: World,
    synthetic: Frames | Mapping[str, Frames],
    columns: Sequence[str],
    identifier: str | None,
    unpaired: Sequence[str],
) -> list[Tool]:
    """Every tool's datasets, checked; with an `identifier` rows must pair."""
    given = synthetic if isinstance(synthetic, Mapping) else {ONE: synthetic}
    taken = [
        label for label in given if label in YARDSTICKS or not isinstance(label, str) or not label
    ]
    if not given or taken:
        raise InputError(
            f"synthetic must name at least one tool, and none {listing(YARDSTICKS)}; got "
            f"{listing(given)}"
        )
    stray = [label for label in check_names(unpaired, "unpaired") if label not in given]
    if stray:
        raise InputError(f"unpaired names {listing(stray)}; the tools are {listing(given)}")
    return [
        _tool(world, label, as_frames(frames), columns, identifier, label in unpaired)
        for label, frames in given.items()
    ]


def _tool(
    world: World,
    label: str,
    frames: Sequence[pd.DataFrame],
    columns: Sequence[str],
    identifier: str | None,
    apart: bool,
) -> Tool:
    paired, reason = None, "they are said not to"
    if not apart:
        try:
            paired = world.pair_rows(frames, identifier)
        except PairingError as error:
            if identifier is not None:
                raise
            reason = str(error)
    kept = _kept(
        world, frames, columns, f"synthetic data of {label!r}" if label != ONE else "synthetic data"
    )
    if paired is None:
        as_comparable(world.confidential, kept, world.scenario)
    return Tool(label, kept, paired, reason if paired is None else "")


def _kept(
    world: World, frames: Sequence[pd.DataFrame], columns: Sequence[str], what: str
) -> tuple[pd.DataFrame, ...]:
    """The columns that are looked at, as numbers where the confidential ones are."""
    names = list(dict.fromkeys([*world.scenario.known, *world.scenario.synthetic, *columns]))
    for frame in frames:
        require_columns(frame, names, what)
    return tuple(convert_kinds(world.confidential, frame, names) for frame in frames)


def yardsticks(
    world: World,
    tools: Sequence[Tool],
    columns: Sequence[str],
    holdout: pd.DataFrame | None,
    random_seed: int,
) -> list[Tool]:
    """The confidential data as they are; values that are independent of the known variables; and
    another sample, if there is one.

    Independent are the values of the one tool whose rows pair, jointly given to other records at
    random; of several tools, or one whose rows do not pair, the confidential values.
    """
    confidential = _kept(world, [world.confidential], columns, "confidential data")
    itself = Tool(ITSELF, confidential, world.pair_rows(list(confidential)))
    alone = tools[0].paired if len(tools) == 1 else None
    shuffled = _independent(alone or Paired(world, confidential), random_seed)
    further = [
        name
        for name in confidential[0].columns
        if name not in (*world.scenario.known, *world.scenario.synthetic)
    ]
    frames = tuple(
        pd.concat([frame, confidential[0][further]], axis=1) for frame in shuffled.frames
    )
    made = [itself, Tool(INDEPENDENT, frames, shuffled)]
    if holdout is not None:
        kept = _kept(world, [holdout], columns, "holdout file")
        as_comparable(world.confidential, kept[0], world.scenario, "holdout file")
        made.append(Tool(HOLDOUT, kept, None, "they are other records", sampled=True))
    return made


def _independent(paired: Paired, random_seed: int) -> Paired:
    """Each synthetic dataset with its synthetic values, jointly, given to other records at
    random.
    """
    scenario, shuffled = paired.world.scenario, []
    for frame, seed in zip(
        paired.frames, np.random.SeedSequence(random_seed).spawn(len(paired)), strict=True
    ):
        order = np.random.default_rng(seed).permutation(len(frame))
        moved = frame[[*scenario.known, *scenario.synthetic]]
        shuffled.append(
            with_columns(moved, {name: moved[name].array[order] for name in scenario.synthetic})
        )
    return Paired(paired.world, tuple(shuffled))
