"""A run in a few lines of a terminal: the verdict of each scheme, the largest reason, and the
command that comes next.

A reason is a whole sentence: a terminal breaks a line that is longer than it is wide.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.text import as_argument, plain
from riskweighted.evaluation.judgement import missed_checks, worst_misfits
from riskweighted.evaluation.main_table import FITS
from riskweighted.evaluation.verdicts import FAIL, LEAVES, PASS, WORDS, Verdict, overall
from riskweighted.reports.output_rules import INTERNAL, View
from riskweighted.reports.verdict_sentences import (
    UNTOLD,
    first_reason,
    one_line_reason,
    shown_verdict,
)
from riskweighted.runs.reasons import is_inference_risk, largest, told_by
from riskweighted.runs.refusals import Outlook, outlook

if TYPE_CHECKING:  # at run time it would load what samples
    from riskweighted.runs.finished import FinishedRun
    from riskweighted.runs.run import Run

__all__ = ["MOST_LABELS", "brief", "is_refused", "reason_and_next", "verdict_lines"]

MOST_LABELS = 4
_WIDEST = 40  # of a name that those of others are lined up with


def brief(run: "Run | FinishedRun", data: pd.DataFrame | None = None) -> Iterator[str]:
    """The lines, what a release refuses first and the next command last; the folder's own line is
    for who calls.

    `data`: as in `refusal`.
    """
    verdicts, coming, schemes = run.verdicts, outlook(run, data), run.study.weights.schemes
    told = {
        scheme: (overall(verdicts, scheme), one_line_reason(verdicts, scheme, INTERNAL))
        for scheme in schemes
    }
    place = as_argument(str(run.folder))
    why, following = reason_and_next(
        verdicts, schemes, run.tables["fit_check"], run.reasons, INTERNAL, coming, place
    )
    if coming.why:
        yield plain(is_refused(coming.why))
    yield from verdict_lines(told, "" if coming.why else why)
    yield f"Next: {following}"


def reason_and_next(
    verdicts: Sequence[Verdict],
    schemes: Sequence[str],
    checks: pd.DataFrame,
    reasons: pd.DataFrame,
    view: View,
    coming: Outlook,
    run: str,
) -> tuple[str, str]:
    """The largest reason why a scheme does not pass, "" where all do, and what comes next, as far
    as they may be seen.

    `coming`: what a release will do with the run; `run`: its folder as it stands in a command.
    """
    seen = [verdict for verdict in verdicts if shown_verdict(verdict, view) != UNTOLD]
    reason = largest(seen, schemes)
    return "" if reason is None else _why(reason, checks, reasons, view), _next(coming, run)


def verdict_lines(told: Mapping[str, tuple[str, str]], why: str) -> Iterator[str]:
    """A line for each of at most four labels, of which those that pass go before, the others
    counted; and the largest reason, where no line has it.

    `told`: by label its verdict and what is said of it, in the order in which they are looked for.
    """
    shown = sorted(told, key=lambda label: (told[label][0] not in LEAVES, told[label][0] != PASS))[
        :MOST_LABELS
    ]
    wide = max((len(label) for label in shown if len(label) <= _WIDEST), default=0)
    for label in (label for label in told if label in shown):
        word, text = told[label]
        yield f"{plain(label):{wide}}  {word:10}  {plain(text)}"
    counts = Counter(word for label, (word, _) in told.items() if label not in shown)
    if counts:
        yield (
            f"{counts.total()} more: "
            f"{', '.join(f'{counts[word]} {word}' for word in reversed(WORDS) if counts[word])}"
        )
    if why and not any(
        plain(f"{label}: {told[label][1]}").startswith(plain(why)) for label in shown
    ):
        yield plain(f"Why: {why}")


def _why(reason: Verdict, checks: pd.DataFrame, reasons: pd.DataFrame, view: View) -> str:
    """A reason with its figure; what a fit misses, what a release discloses and where a risk comes
    from in the words that stay inside.
    """
    if view.internal and reason.statistic.key == FITS.statistic.key and reason.verdict == FAIL:
        return "; ".join([missed_checks(checks), *worst_misfits(checks, 1)])
    if (
        view.internal
        and is_inference_risk(reason)
        and (told := told_by(reasons[reasons["label"] == reason.label]))
    ):
        return told
    return f"{reason.label}: {first_reason(reason, view)}"


def is_refused(why: str) -> str:
    """That something stands against any release of a run."""
    return f"A release is refused: {why}"


def _next(coming: Outlook, run: str) -> str:
    """The command that comes next; `run`: the folder."""
    if coming.scheme is not None:
        return (
            f"riskweighted release {run} --scheme {as_argument(coming.scheme)}{coming.flags} "
            "--out pack"
        )
    return f"riskweighted advise {run}  (what to do about it)"
