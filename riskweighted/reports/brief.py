"""A run in eight lines of a terminal: the verdict of each scheme, the largest reason, and the command that comes next."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from riskweighted.common.numbers import together
from riskweighted.common.text import plain, shortened
from riskweighted.evaluation.judgement import MISFITS, judged_rows
from riskweighted.evaluation.summary import CONVERGED, FITS
from riskweighted.evaluation.verdicts import FAIL, NOT_JUDGED, PASS, Verdict, failed, overall
from riskweighted.measures import beyond
from riskweighted.reports.disclosure import INTERNAL
from riskweighted.reports.verdicts import in_brief
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["MOST_LABELS", "brief", "verdict_lines", "worst_misfits"]

_WIDTH = 80  # of a line
MOST_LABELS = 4
_ORDER = (PASS, FAIL, NOT_JUDGED)


def brief(verdicts: Sequence[Verdict], schemes: Sequence[str], checks: pd.DataFrame, folder: Path) -> Iterator[str]:
    """The lines, the next command last; the folder's own line is for who calls."""
    told = {scheme: (overall(verdicts, scheme), in_brief(verdicts, scheme, INTERNAL, ())) for scheme in schemes}
    yield from verdict_lines(told, _why(verdicts, schemes, checks))
    yield f"Next: {_next(verdicts, schemes, folder)}"


def verdict_lines(told: Mapping[str, tuple[str, str]], why: str) -> Iterator[str]:
    """A line for each of at most four labels, of which those that pass go before, the others counted; and the largest reason.

    `told`: by label its verdict and what is said of it, in the order in which they are looked for.
    """
    shown = sorted(told, key=lambda label: told[label][0] != PASS)[:MOST_LABELS]
    wide = max(map(len, shown), default=0)
    for label in (label for label in told if label in shown):
        word, text = told[label]
        yield shortened(f"{plain(label):{wide}}  {word:10}  {plain(text)}", _WIDTH)
    counts = Counter(word for label, (word, _) in told.items() if label not in shown)
    if counts:
        yield f"{counts.total()} more: {', '.join(f'{counts[word]} {word}' for word in _ORDER if counts[word])}"
    if why:
        yield shortened(plain(f"Why: {why}"), (1 if counts else 2) * _WIDTH)


def worst_misfits(checks: pd.DataFrame, most: int) -> list[str]:
    """What the unweighted fit misses most, by its statistic, as the data and as the synthetic datasets have it."""
    missed = judged_rows(checks).query("verdict == @MISFITS")
    worst = missed.assign(ratio=missed["effect"] / missed["threshold"]).sort_values("ratio", ascending=False).head(most)
    return [f"{_of_row(row)}: {_differing(row)}" for row in worst.astype(object).where(worst.notna(), "").to_dict("records")]


def _of_row(row: Mapping[str, object]) -> str:
    """The variable of a row of the checks, where there are several, its check and what of it."""
    variable = f"{row['variable']}, " if row.get("variable") else ""
    return f"{variable}{str(row['check']).removeprefix('check-')} {row['parameter'] or ''}".rstrip()


def _differing(row: Mapping[str, object]) -> str:
    """How far a statistic is off; of a pair, where its distance from the model is largest."""
    true, synthetic = together(row["confidential"], row["synthetic"])
    if row["where"]:
        return f"distance {synthetic} where chance gives {true}, most where {row['where']}"
    return f"{true} in the data, {synthetic} synthetic"


def _largest(verdicts: Sequence[Verdict], schemes: Sequence[str]) -> Verdict | None:
    """The first reason of the first scheme that does not pass, weighted ones first."""
    for scheme in sorted(schemes, key=lambda scheme: scheme == UNWEIGHTED):
        if reasons := failed(verdicts, scheme):
            return reasons[0]
    return None


def _why(verdicts: Sequence[Verdict], schemes: Sequence[str], checks: pd.DataFrame) -> str:
    """The largest reason why a scheme does not pass, with its figure."""
    reason = _largest(verdicts, schemes)
    if reason is None:
        return ""
    if reason.statistic.key == FITS.statistic.key and reason.verdict == FAIL:
        rows = judged_rows(checks)
        missed = int((rows["verdict"] == MISFITS).sum())
        return "; ".join([f"the model misfits in {missed} of {len(rows)} checks", *worst_misfits(checks, 1)])
    if reason.statistic.key == beyond.MEAN.key and reason.limit is None:
        return f"{reason.label}: {reason.why}"
    return in_brief([reason], reason.label, INTERNAL, ())


def _next(verdicts: Sequence[Verdict], schemes: Sequence[str], folder: Path) -> str:
    """The command, or the line of the study file, that comes next."""
    passing = [scheme for scheme in schemes if overall(verdicts, scheme) == PASS]
    place = shlex.quote(str(folder))
    if passing:
        best = next((scheme for scheme in passing if scheme != UNWEIGHTED), passing[0])
        return f"riskweighted release {place} --scheme {shlex.quote(best)} --out pack"
    reason = _largest(verdicts, schemes)
    assert reason is not None  # a scheme that does not pass has one
    return {
        (CONVERGED.statistic.key, FAIL): "longer chains: twice [sampling] draws and tune, then run again",
        (FITS.statistic.key, FAIL): '[synthesizer] name = "auto", or what tables/fit_check.csv lacks',
        (FITS.statistic.key, NOT_JUDGED): f'"{UNWEIGHTED}" among [weights] schemes, without survey weights',
        (beyond.MEAN.key, FAIL): "fewer datasets ([release] L) or columns; then run again",
        (beyond.MEAN.key, NOT_JUDGED): f"riskweighted report {place} --internal tells what was lacking",
    }.get((reason.statistic.key, reason.verdict), f"riskweighted tune STUDY.toml --target {reason.statistic.key} --at-most LIMIT")
