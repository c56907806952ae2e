"""A run in eight lines of a terminal: the verdict of each scheme, the largest reason, and the command that comes next."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from riskweighted.common.numbers import together
from riskweighted.common.text import plain, shortened
from riskweighted.evaluation.judgement import COST, MISFITS, MODEL
from riskweighted.evaluation.summary import CONVERGED, FITS
from riskweighted.evaluation.verdicts import FAIL, NOT_JUDGED, PASS, Verdict, failed, overall
from riskweighted.measures import beyond
from riskweighted.reports.disclosure import INTERNAL
from riskweighted.reports.verdicts import in_brief
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["MOST_SCHEMES", "WIDTH", "brief", "worst_misfits"]

WIDTH = 80  # of a line
MOST_SCHEMES = 4
_ORDER = (PASS, FAIL, NOT_JUDGED)


def brief(verdicts: Sequence[Verdict], schemes: Sequence[str], checks: pd.DataFrame, folder: Path) -> Iterator[str]:
    """The lines, the next command last; the folder's own line is for who calls."""
    shown = sorted(schemes, key=lambda scheme: _ORDER.index(overall(verdicts, scheme)))[:MOST_SCHEMES]
    wide = max(map(len, shown), default=0)
    for scheme in (scheme for scheme in schemes if scheme in shown):
        told = plain(in_brief(verdicts, scheme, INTERNAL, ()))
        yield shortened(f"{plain(scheme):{wide}}  {overall(verdicts, scheme):10}  {told}", WIDTH)
    if len(schemes) > len(shown):
        counts = Counter(overall(verdicts, scheme) for scheme in schemes if scheme not in shown)
        yield f"{len(schemes) - len(shown)} more: {', '.join(f'{counts[word]} {word}' for word in _ORDER if counts[word])}"
    why = _why(verdicts, schemes, checks)
    wider = 1 if len(schemes) > MOST_SCHEMES else 2  # lines for the reason
    yield from [shortened(plain(f"Why: {why}"), wider * WIDTH)] if why else []
    yield f"Next: {_next(verdicts, schemes, folder)}"


def worst_misfits(checks: pd.DataFrame, most: int) -> list[str]:
    """What the unweighted fit misses most, by its statistic, as the data and as the synthetic datasets have it."""
    missed = _judged(checks).query("verdict == @MISFITS")
    worst = missed.assign(ratio=missed["effect"] / missed["threshold"]).sort_values("ratio", ascending=False).head(most)
    return [f"{_of_row(row)}: {_differing(row)}" for row in worst.astype(object).where(worst.notna(), "").to_dict("records")]


def _judged(checks: pd.DataFrame) -> pd.DataFrame:
    return checks[(checks["verdict"] != COST) & (checks["check"] != MODEL)]


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
        rows = _judged(checks)
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
