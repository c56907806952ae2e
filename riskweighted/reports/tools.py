"""Whether what each of several tools made may leave, the largest reason, and what comes next: from the table of disclosure."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from riskweighted.evaluation.verdicts import LEAVES, NOT_JUDGED, NOT_SHOWN, WORDS

__all__ = ["ToolVerdict", "reason_and_next", "verdicts_of"]


_PACKS = 20  # which show of a file of a few hundred records that it gives away little
_COPY = "the confidential values with a little noise"


class ToolVerdict(NamedTuple):
    """Whether what a tool made may leave: "pass", "warn", "refuse", "not judged" or "not shown", its disclosure in figures, and why."""

    word: str
    figure: str
    why: str


def verdicts_of(disclosure: pd.DataFrame) -> dict[str, ToolVerdict]:
    """By tool, from the table of disclosure."""
    first = disclosure.drop_duplicates("label").set_index("label").reindex(columns=["verdict", "why", "nearly_copied", "D", "upper"])
    told = {}
    for label, row in first.iterrows():
        known = f"D {row['D']:.3f}, at most {row['upper']:.3f}" if pd.notna(row["D"]) else "no folds tell what it gives away"
        if isinstance(row["nearly_copied"], str):
            known = _COPY
        told[str(label)] = ToolVerdict(str(row["verdict"]), known, str(row["why"]))
    return told


def reason_and_next(told: Mapping[str, ToolVerdict], folds: str) -> tuple[str, str]:
    """The largest reason why a tool's files may not leave, and what comes next; both "" where all may. `folds`: the command for folds,
    which ends with the name of their folder."""
    failing = min(told, key=lambda label: WORDS.index(told[label].word), default=None)
    if failing is None or not told[failing].why:
        return "", ""
    if told[failing].word in LEAVES:
        return f"{failing}: {told[failing].why}", ""
    step = "fewer datasets or columns, or a tool that follows single records less"
    if told[failing].figure == _COPY:
        step = "another tool: neither fewer datasets nor fewer columns mend a copy"
    following = {NOT_JUDGED: folds, NOT_SHOWN: f"{folds}-of-packs --packs {_PACKS}"}
    return f"{failing}: {told[failing].why}", following.get(told[failing].word, step)
