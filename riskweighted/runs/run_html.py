"""A run in a notebook: the verdict of each scheme with its largest reason, then the main table."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from riskweighted.common.html_repr import html_repr
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.evaluation.verdicts import Verdict, find_failures, overall

__all__ = ["run_card"]


def run_card(folder: Path, verdicts: Sequence[Verdict], summary: pd.DataFrame) -> str:
    """As HTML."""
    labels = [str(label) for label in summary.index if label != CONFIDENTIAL]
    answers = [f"{label}: {overall(verdicts, label)}{_reason(verdicts, label)}" for label in labels]
    table = summary.select_dtypes("number").T
    table = table[table.fillna(0.0).ne(0.0).any(axis=1)]  # a screen is small
    return html_repr(
        "Run",
        answers,
        {"folder": folder},
        table,
        "riskweighted.summary_table says what each figure means. Confidential folder.",
    )


def _reason(verdicts: Sequence[Verdict], label: str) -> str:
    """The largest reason why a scheme does not pass."""
    reasons = find_failures(verdicts, label)
    if not reasons:
        return ""
    first, more = reasons[0], f"; {len(reasons) - 1} more" if len(reasons) > 1 else ""
    value = "" if first.limit is None else f" {first.value:.4g}"
    return f" ({first.statistic.name}{value}{': ' + first.why if first.why else ''}{more})"
