"""What datasets of any tool give away beyond inference, tool by tool, and whether their numbers are
the confidential ones with noise.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.frames import as_floats, with_columns
from riskweighted.common.progress import Advance
from riskweighted.disclosure.attribution import attribution
from riskweighted.disclosure.folds import Folds
from riskweighted.disclosure.policy import NOT_JUDGED, REFUSE
from riskweighted.intruder.pairing import PairingError
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world

__all__ = ["ToolsDisclosure", "disclosure_of_tools", "nearly_copied"]

_NEAR = 0.05  # of the value
_MOST, _TWICE = 0.8, 2.0  # of the amounts, and of what chance gives


def nearly_copied(world: World, frames: Sequence[pd.DataFrame]) -> dict[str, tuple[float, float]]:
    """Of every number of which that holds for 80 % of the amounts and twice what chance gives: the
    share of synthetic amounts within 5 % of the record's own value, and of amounts of another
    record of its known pattern, drawn at random; `frames`, (n,) rows each, pair.
    """
    rng, found = np.random.default_rng(1), {}
    order = np.lexsort((rng.random(len(world.confidential)), world.patterns.codes))
    codes = world.patterns.codes[order]
    first = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    last = np.r_[first[1:], len(codes)] - 1
    following = np.empty(len(order), dtype=int)
    # the next record of the pattern, after the last the first
    following[order[:-1]], following[order[last]] = order[1:], order[first]
    for name in world.scenario.synthetic:
        if not world.scenario.is_numeric(world.confidential[name]):
            continue
        own = as_floats(world.confidential[name])
        amount = np.isfinite(own) & (own != 0) & ~np.isin(own, world.scenario.codes_of(name))
        drawn = np.stack([as_floats(frame[name]) for frame in frames])
        near = [
            np.abs(values - own) <= _NEAR * np.abs(own) for values in (drawn, drawn[:, following])
        ]
        share, chance = (float(each[:, amount].mean()) if amount.any() else 0.0 for each in near)
        if share >= max(_MOST, _TWICE * chance):
            found[name] = share, chance
    return found


class ToolsDisclosure(NamedTuple):
    """The ``table`` of every tool, as `riskweighted.attribution` gives it, with label, verdict and
    why; and ``standing_out``, the records whose values stand in its datasets and not without these
    records. Confidential."""

    table: pd.DataFrame
    standing_out: pd.DataFrame


def disclosure_of_tools(
    confidential: pd.DataFrame,
    tools: Mapping[str, Sequence[pd.DataFrame]],
    scenario: Scenario,
    *,
    folds: Mapping[str, Folds],
    released: Sequence[str] = (),
    unpaired: Collection[str] = (),
    identifier: str | None = None,
    random_seed: int = 1,
    progress: Advance | None = None,
) -> ToolsDisclosure:
    """What every tool's datasets give away beyond inference; near copies are refused, whatever
    folds say.

    `folds`: by tool, of those that have some; `released`: columns that leave beside the scenario's;
    `unpaired`: tools whose rows pair with none, which are not judged; `identifier`: the column that
    pairs rows.
    """
    world, tables, standing_out = make_world(confidential, scenario), [], []
    for done, (label, frames) in enumerate(tools.items(), 1):
        try:
            if label in unpaired:
                raise PairingError("they are said not to")
            paired = world.pair_rows(frames, identifier).frames
            table = attribution(
                confidential,
                paired,
                scenario,
                released=released,
                folds=folds.get(label),
                random_seed=random_seed,
            )
            standing_out.append(
                pd.DataFrame(list(table.attrs.get("standing_out", ()))).assign(label=label)
            )
            told = {
                "verdict": table.attrs["verdict"],
                "why": "; ".join(table.attrs["reasons"]),
                "persons": table.attrs["persons"],
            }
            told["packs_needed"] = table.attrs.get("packs_needed", 0)
            if near := _near_copies(world, paired):
                told |= {"verdict": REFUSE, "why": near, "nearly_copied": near}
        except PairingError as error:
            table, told = (
                pd.DataFrame({"release": ["unpaired"]}),
                {"verdict": NOT_JUDGED, "why": f"rows do not pair: {error}"},
            )
        tables.append(with_columns(table, told).assign(seed=random_seed, label=label))
        if progress is not None:
            progress(done, len(tools))
    whole = pd.concat(tables, ignore_index=True)
    records = pd.concat(standing_out, ignore_index=True) if standing_out else pd.DataFrame()
    return ToolsDisclosure(
        whole[["label", *(column for column in whole.columns if column != "label")]], records
    )


def _near_copies(world: World, frames: Sequence[pd.DataFrame]) -> str:
    """Which numbers are nearly copied, in words; nothing where none is."""
    return "; ".join(
        f"{100 * share:.0f} % of {variable} lie within 5 % of the record's own value "
        f"({100 * chance:.0f} % by chance)"
        for variable, (share, chance) in nearly_copied(world, frames).items()
    )
