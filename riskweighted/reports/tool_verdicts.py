"""Whether what each of several tools made may leave, the largest reason, and what comes next: from
the table of disclosure.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from riskweighted.evaluation.verdicts import LEAVES, NOT_JUDGED, NOT_SHOWN, WORDS

__all__ = ["ToolVerdict", "reason_and_next", "verdicts_of"]


_COPY = "the confidential values with a little noise"


class ToolVerdict(NamedTuple):
    """Whether what a tool made may leave: "pass", "warn", "refuse", "not judged" or "not shown",
    its disclosure in figures, and why.

    ``packs``: how many by folds would show that it gives little away, 0 where none are asked for.
    """

    word: str
    figure: str
    why: str
    packs: int = 0


def verdicts_of(disclosure: pd.DataFrame) -> dict[str, ToolVerdict]:
    """By tool, from the table of disclosure."""
    first = (
        disclosure.drop_duplicates("label")
        .set_index("label")
        .reindex(columns=["verdict", "why", "nearly_copied", "D", "upper", "packs_needed"])
    )
    told = {}
    for label, row in first.iterrows():
        known = (
            f"D {row['D']:.3f}, at most {row['upper']:.3f}"
            if pd.notna(row["D"])
            else "no folds show what it discloses"
        )
        if isinstance(row["nearly_copied"], str):
            known = _COPY
        told[str(label)] = ToolVerdict(
            str(row["verdict"]),
            known,
            str(row["why"]),
            int(row["packs_needed"]) if row["packs_needed"] > 0 else 0,
        )
    return told


def reason_and_next(told: Mapping[str, ToolVerdict], folds: str) -> tuple[str, str]:
    """The largest reason why a tool's files may not leave, and what comes next; both "" where all
    may. `folds`: the command for folds, which ends with the name of their folder."""
    failing = min(told, key=lambda label: WORDS.index(told[label].word), default=None)
    if failing is None or not told[failing].why:
        return "", ""
    if told[failing].word in LEAVES:
        return f"{failing}: {told[failing].why}", ""
    step = "fewer datasets or columns, or a tool that follows single records less"
    if told[failing].figure == _COPY:
        step = "another tool: neither fewer datasets nor fewer columns correct a copy"
    if told[failing].word in (NOT_JUDGED, NOT_SHOWN):
        step = (
            f"{folds}-of-packs --packs {told[failing].packs}"
            if told[failing].packs
            else step
            if told[failing].word == NOT_SHOWN
            else folds
        )
    return f"{failing}: {told[failing].why}", step
