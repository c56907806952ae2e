"""Attribute disclosure: what synthetic data tell an intruder about a record's sensitive values.

Two attacks: read the values off the synthetic records with the same key (`correct_attribution`),
and trust a synthetic record that is as unique as the target (`replicated_uniques`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_given
from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.intruder.boxes import Boxes
from riskweighted.intruder.neighbours import compared_values
from riskweighted.intruder.pairing import as_comparable
from riskweighted.intruder.patterns import cells, known_patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.sorted_balls import find_runs, sort_balls

__all__ = [
    "CorrectAttribution",
    "ReplicatedUniques",
    "Uniques",
    "correct_attribution",
    "replicated_uniques",
]


@dataclass(frozen=True)
class CorrectAttribution:
    """Correct attribution probabilities (CAP) of L synthetic datasets, all in [0, 1]; higher is
    riskier.

    ``cap`` (n,): of each record, the mean over datasets; where its key is absent from one that
    counts 0 (`absent` is "zero") or is left out, NaN if left out of all ("drop"). ``dcap_zero``,
    ``dcap_drop``: its mean over records under either reading; the latter is NaN where no key is in
    the synthetic data. ``absent_share``: of the confidential records whose key is absent. ``tcap``:
    mean of CAP over the targeted records, NaN where there are none; ``targeted``: their number.
    ``baseline``: mean over records of the share of confidential records that match its target,
    itself included, which a guess without a key reaches. ``by_dataset`` (L, 5): the figures of each
    dataset, whose means over those where they are defined the others are. Confidential.
    """

    cap: pd.Series = field(repr=False)
    absent: Literal["zero", "drop"]
    dcap_zero: float
    dcap_drop: float
    absent_share: float
    tcap: float
    targeted: float
    baseline: float
    by_dataset: pd.DataFrame

    @property
    def dcap(self) -> float:
        """`dcap_zero` or `dcap_drop`, as `absent` says."""
        return self.dcap_zero if self.absent == "zero" else self.dcap_drop


def correct_attribution(
    confidential: Frame,
    synthetic: "GivenFrames",
    scenario: Scenario,
    absent: Literal["zero", "drop"] = "zero",
    *,
    tau: float = 1.0,
) -> CorrectAttribution:
    """Return DCAP and TCAP (Elliot 2014; Taub, Elliot, Pampaka & Smith 2018; Taub & Elliot 2019).

    The key is ``scenario.known``, the target ``scenario.synthetic``: matched by equality or,
    numeric, inside the ball around the confidential value, all jointly. CAP_i is the share, of the
    synthetic records with i's key, that match i's target.

    A key is *targeted* in a synthetic dataset when the within-equivalence-class attribution
    probability (WEAP) of one of its synthetic records, the share of the key's synthetic records
    that match that one, is at least `tau`: the intruder sees that the key all but settles the
    target. TCAP is the mean of CAP over the confidential records with a targeted key, so keys weigh
    by their confidential records. (Taub & Elliot average over the synthetic ones.)

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame or sequence of L DataFrames
        Of any length, in any order; only the scenario's columns are used.
    scenario : Scenario
        With at least one known variable; a missing value in one is a level.
    absent : {"zero", "drop"}
        What a record counts whose key is absent from the synthetic data.
    tau : float in (0, 1], default 1

    Raises
    ------
    InputError
        If no variable is known, a column is absent or of another kind, a target is infinite, or
        missing or a special code where the confidential data has none, or a setting is not valid.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> attribution = rw.correct_attribution(data, synthetic, scenario)
    >>> round(attribution.dcap_zero, 3), round(attribution.baseline, 3)
    (0.204, 0.177)
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    if absent not in ("zero", "drop"):
        raise InputError(f"absent must be 'zero' or 'drop', got {absent!r}")
    if not isinstance(tau, (int, float, np.number)) or isinstance(tau, bool) or not 0 < tau <= 1:
        raise InputError(f"tau must be a number above 0 and at most 1, got {tau!r}")
    check_given(scenario, "scenario", "is_numeric", "Scenario", "Scenario(...)")
    frames = _keyed_frames(confidential, synthetic, scenario)
    caps, rows = np.empty((len(frames), len(confidential))), []
    for cap, frame in zip(caps, frames, strict=True):
        key, released_key = _shared_codes(confidential, frame, scenario.known)
        cap[:] = _matching_share(confidential, key, frame, released_key, scenario)
        weap = _matching_share(frame, released_key, frame, released_key, scenario)
        highest = np.zeros(max(key.max(), released_key.max()) + 1)
        np.maximum.at(highest, released_key, weap)
        targeted = highest[key] >= tau
        rows.append(_attribution_figures(cap, targeted))
    one_key = np.zeros(len(confidential), dtype=np.int64)
    baseline = float(_matching_share(confidential, one_key, confidential, one_key, scenario).mean())
    by_dataset = pd.DataFrame(rows, index=pd.RangeIndex(1, len(frames) + 1, name="dataset"))
    caps = np.nan_to_num(caps) if absent == "zero" else caps
    cap = pd.DataFrame(caps.T, confidential.index).mean(axis=1).rename("cap")
    return CorrectAttribution(
        cap, absent, **by_dataset.mean().to_dict(), baseline=baseline, by_dataset=by_dataset
    )


def _attribution_figures(cap: np.ndarray, targeted: np.ndarray) -> dict[str, float]:
    """The figures of one dataset from CAP (NaN: key absent) and the targeted records, each (n,)."""
    present = ~np.isnan(cap)
    return {
        "dcap_zero": float(cap[present].sum() / len(cap)),
        "dcap_drop": float(cap[present].mean()) if present.any() else np.nan,
        "absent_share": float(1 - present.mean()),
        "tcap": float(cap[targeted].mean()) if targeted.any() else np.nan,
        "targeted": float(targeted.sum()),
    }


def _keyed_frames(
    confidential: pd.DataFrame, synthetic: "GivenFrames", scenario: Scenario
) -> Sequence[pd.DataFrame]:
    """The synthetic datasets, comparable with the confidential one, where there is a key."""
    if not scenario.known:
        raise InputError(
            "known names no variable: attribution needs a key, at least one known variable"
        )
    return as_comparable(confidential, synthetic, scenario)


def _shared_codes(
    confidential: pd.DataFrame, released: pd.DataFrame, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the intersections of some columns, the same for the same values in both frames."""
    codes = known_patterns(
        pd.concat([confidential[list(names)], released[list(names)]], ignore_index=True), names
    ).codes
    return codes[: len(confidential)], codes[len(confidential) :]


def _matching_share(
    centres: pd.DataFrame,
    centre_key: np.ndarray,
    candidates: pd.DataFrame,
    key: np.ndarray,
    scenario: Scenario,
) -> np.ndarray:
    """For each centre, the share of the candidates with its key that match its targets, (n,); NaN
    where none has it.
    """
    compared = compared_values(centres, candidates, scenario)
    n, length = len(centres), max(len(centres), len(candidates))
    cell = cells(compared.equal, np.concatenate([centre_key, key]))
    nowhere = cell.max() + 1

    def pad(values: np.ndarray, fill: float = 0) -> np.ndarray:
        """`Boxes` needs as many candidates as balls: the shorter side is filled up in a cell that
        the other lacks.
        """
        return np.concatenate([values, np.full(length - len(values), fill, dtype=values.dtype)])

    centre_cell, cell = pad(cell[:n], nowhere), pad(cell[n:], nowhere)
    everywhere = np.zeros(length)
    runs = (
        []
        if compared.amounts
        else [find_runs(centre_cell, cell, everywhere, everywhere, everywhere)]
    )
    for name, (mine, theirs) in compared.amounts.items():
        values, lower, upper = map(
            pad, (mine.values, *scenario.balls(name, mine.values, mine.is_amount))
        )
        balls = sort_balls(centre_cell, values, lower, upper)
        runs.append(
            balls.hold_centres() if candidates is centres else balls.hold(cell, pad(theirs.values))
        )
    matches = (runs[0] if len(runs) == 1 else Boxes(tuple(runs))).within[:n]
    size = np.bincount(key, minlength=centre_key.max() + 1)[centre_key]
    return np.asarray(np.divide(matches, size, out=np.full(n, np.nan), where=size > 0))


class Uniques(NamedTuple):
    """Records alone with their values, and how many stay so; higher is riskier.

    ``uniques``: confidential records that share their values with no other; ``replicated``: those
    whose values exactly one synthetic record has, mean over datasets; ``share``: replicated / n;
    ``share_of_uniques``: replicated / uniques, NaN where there are none.
    """

    uniques: int
    replicated: float
    share: float
    share_of_uniques: float


class ReplicatedUniques(NamedTuple):
    """`Uniques` on the known variables, and on known and synthetic ones together (None where one of
    these is numeric).
    """

    known: Uniques
    joint: Uniques | None


def replicated_uniques(
    confidential: Frame, synthetic: "GivenFrames", scenario: Scenario
) -> ReplicatedUniques:
    """Return synthpop's repU: who is unique in the confidential and in the synthetic data (Raab,
    Nowok & Dibben 2024).

    Where the known variables are released unaltered, every unique on them is replicated, whatever
    is synthesized: then only ``joint`` tells two syntheses apart. Arguments and errors are those of
    `correct_attribution`.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.replicated_uniques(
    ...     data, synthetic, rw.Scenario(known=["region", "age"], synthetic="smokes")
    ... ).known
    Uniques(uniques=30, replicated=30.0, share=0.15, share_of_uniques=1.0)
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    check_given(scenario, "scenario", "is_numeric", "Scenario", "Scenario(...)")
    frames = _keyed_frames(confidential, synthetic, scenario)
    joint = not any(scenario.is_numeric(confidential[name]) for name in scenario.synthetic)
    everything = (*scenario.known, *scenario.synthetic)
    return ReplicatedUniques(
        _uniques(confidential, frames, scenario.known),
        _uniques(confidential, frames, everything) if joint else None,
    )


def _uniques(
    confidential: pd.DataFrame, frames: Sequence[pd.DataFrame], names: Sequence[str]
) -> Uniques:
    unique = known_patterns(confidential, names).in_pattern == 1
    counts = []
    for frame in frames:
        codes, released = _shared_codes(confidential, frame, names)
        counts.append(
            (unique & (np.bincount(released, minlength=codes.max() + 1)[codes] == 1)).sum()
        )
    n, uniques, replicated = len(confidential), int(unique.sum()), float(np.mean(counts))
    return Uniques(uniques, replicated, replicated / n, replicated / uniques if uniques else np.nan)
