"""Which schemes keep to the thresholds of a study, statistic by statistic: from the tables of a run
alone.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from riskweighted.evaluation.judgement import MISFITS, MODEL
from riskweighted.evaluation.main_table import (
    CONVERGED,
    CONVERGED_WORDS,
    FITS,
    LARGEST_R_HAT,
    MEAN_WEIGHT,
    SummaryColumn,
)
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, statistics_of
from riskweighted.evaluation.thresholds import Limit, Thresholds
from riskweighted.measures import disclosure_measures
from riskweighted.measures.registry import measures
from riskweighted.measures.regression_measures import OVERLAP, OVERLAPS

__all__ = [
    "FAIL",
    "INTRUDER",
    "LEAVES",
    "NOT_JUDGED",
    "NOT_SHOWN",
    "OF_EACH",
    "PASS",
    "REFUSE",
    "WARN",
    "WORDS",
    "Verdict",
    "find_failures",
    "find_verdicts",
    "is_of_disclosure",
    "overall",
    "verdict_table",
    "verdicts_of_intruder",
]

REFUSE = "refuse"
FAIL = "fail"
NOT_JUDGED = "not judged"
NOT_SHOWN = "not shown"
WARN = "warn"
PASS = "pass"
# the worst first; not judged is whatever was not measured, which is no pass
WORDS = (REFUSE, FAIL, NOT_JUDGED, NOT_SHOWN, WARN, PASS)
LEAVES = (WARN, PASS)  # what a release takes
_RANKS = {REFUSE: 0, FAIL: 0, NOT_JUDGED: 1, NOT_SHOWN: 2, WARN: 3}  # of reasons
_DISCLOSED = (disclosure_measures.MEAN.key, disclosure_measures.HIDDEN.key)
# of reasons: disclosure, then whether the fit can be trusted
_FIRST = (*_DISCLOSED, CONVERGED.statistic.key, FITS.statistic.key)
_TOLD = ["verdict", "reasons", "accepted", "outside", "cures"]
INTRUDER = "intruder"
# tables by intruder, of a study that has several
OF_EACH = ("intruder_risk", "intruder_disclosure", "intruder_disclosure_verdicts")
_MOST_TOLD = 0.01  # of the records, of a predictor that is not released


class Verdict(NamedTuple):
    """Whether a scheme keeps to one limit, as one of `WORDS`.

    ``value`` and ``error`` (Monte Carlo, or NaN) are those of the ``statistic``; ``limit`` is None
    of what is judged of every run: whether its fit converged, its model suits the data, and its
    datasets give away no more than the policy allows, of which ``why`` says more, ``outside`` as
    much as may be said outside, and ``cure`` what mends it. ``intruder``: of several the one of
    whom it is; "" where it is the same of all.
    """

    label: str
    statistic: Statistic
    value: float
    error: float
    limit: Limit | None
    verdict: str
    why: str = ""
    outside: str = ""
    cure: str = ""
    intruder: str = ""

    @property
    def close(self) -> bool:
        """Whether its Monte Carlo error could turn it."""
        ends = () if self.limit is None else (self.limit.at_most, self.limit.at_least)
        return any(end is not None and abs(self.value - end) < 2 * self.error for end in ends)

    @property
    def excess(self) -> float:
        """By how much its limit is exceeded, as a ratio; infinite of a limit of 0."""
        if self.limit is None or pd.isna(self.value):
            return 0.0
        most, least = self.limit.at_most, self.limit.at_least
        over, under = (
            (self.value, most)
            if most is not None and self.value > most
            else (least or 0.0, self.value)
        )
        return float(over) / float(under) if under else float("inf")


def find_verdicts(
    thresholds: Thresholds, tables: Mapping[str, pd.DataFrame], declared: Container[str] = ()
) -> tuple[Verdict, ...]:
    """Every verdict of every label but the confidential data, in the order of the labels and of the
    thresholds.

    `tables`: "summary", "risk", "utility", "fit_check", "disclosure_verdicts" of a run; `declared`:
    predictors that are not released and may be told ([release] hidden).

    A limit is held against every statistic of its measure; of the checks of a fit against the
    largest effect, of the overlap against the least of mean, quantiles and coefficient. The model
    is judged on its unweighted fit, and that verdict is every scheme's. Where there are tables by
    intruder a label has the verdicts by each, those that are the same by all of them once.
    """
    if OF_EACH[0] not in tables:
        return _verdicts(thresholds, tables, declared)
    names = dict.fromkeys(tables[OF_EACH[0]][INTRUDER].astype(str))
    of = {name: _verdicts(thresholds, _by(tables, name), declared) for name in names}
    # NaN is no NaN
    shared = set.intersection(*({repr(each) for each in verdicts} for verdicts in of.values()))
    first = next(iter(of))
    every = [
        each if repr(each) in shared else each._replace(intruder=name)
        for name, verdicts in of.items()
        for each in verdicts
        if name == first or repr(each) not in shared
    ]
    labels = list(dict.fromkeys(each.label for each in every))
    return tuple(sorted(every, key=lambda each: labels.index(each.label)))


def _by(tables: Mapping[str, pd.DataFrame], intruder: str) -> dict[str, pd.DataFrame]:
    """The tables as of a run by one intruder alone."""
    of = {
        name.removeprefix("intruder_"): tables[name][tables[name][INTRUDER] == intruder]
        for name in OF_EACH
    }
    return {**tables, **{name: table.drop(columns=INTRUDER) for name, table in of.items()}}


def verdicts_of_intruder(verdicts: Iterable[Verdict], intruder: str) -> list[Verdict]:
    """Those of one of several intruders."""
    return [each for each in verdicts if each.intruder in ("", intruder)]


def _verdicts(
    thresholds: Thresholds, tables: Mapping[str, pd.DataFrame], declared: Container[str]
) -> tuple[Verdict, ...]:
    """Those of one intruder."""
    labels = [str(label) for label in tables["summary"]["label"] if label != CONFIDENTIAL]
    measured = list(_measured(tables))
    verdicts: list[Verdict] = []
    for label in labels:
        of_fit = list(_of_fit(label, tables))
        verdicts += [
            *of_fit,
            *_of_disclosure(label, tables),
            *_of_hidden(label, tables["risk"], declared),
        ]
        for limit in thresholds.limits:
            if limit.of_check and not of_fit:
                continue  # a baseline has no fit
            verdicts += _held_against(
                limit, label, [figures for whose, *figures in measured if whose == label]
            )
    return tuple(verdicts)


def overall(verdicts: Iterable[Verdict], label: str) -> str:
    """The word of a scheme: the worst one over all limits, its fit and what it discloses; not
    judged where there is none at all.
    """
    return min(
        (each.verdict for each in verdicts if each.label == label),
        key=WORDS.index,
        default=NOT_JUDGED,
    )


def is_of_disclosure(verdict: Verdict) -> bool:
    """Whether it is on what the datasets give away, whatever the limits of the study."""
    return verdict.limit is None and verdict.statistic.key in _DISCLOSED


def find_failures(verdicts: Iterable[Verdict], label: str) -> list[Verdict]:
    """What a scheme does not pass, the largest reason first: what it discloses, its fit, limits by
    how far they are exceeded, then whatever is not judged, and what is warned of."""

    def place(verdict: Verdict) -> tuple[int, int, float]:
        first = _FIRST.index(verdict.statistic.key) if verdict.limit is None else len(_FIRST)
        return _RANKS[verdict.verdict], first, -verdict.excess

    return sorted(
        (each for each in verdicts if each.label == label and each.verdict != PASS), key=place
    )


def verdict_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """A row a verdict: label, key, measure, variable, parameter, term, value, error, at_most,
    at_least, verdict; of several intruders the one of whom it is, empty where it is of all.
    """
    verdicts = tuple(verdicts)
    several = any(each.intruder for each in verdicts)
    rows = [
        {
            "label": each.label,
            "key": each.statistic.key,
            "measure": each.statistic.label,
            **{name: getattr(each.statistic, name) for name in ("variable", "parameter", "term")},
            "value": each.value,
            "error": each.error,
            **{name: getattr(each.limit, name, None) for name in ("at_most", "at_least")},
            "verdict": each.verdict,
            **({INTRUDER: each.intruder} if several else {}),
        }
        for each in verdicts
    ]
    columns = [
        "label",
        "key",
        "measure",
        "variable",
        "parameter",
        "term",
        "value",
        "error",
        "at_most",
        "at_least",
        "verdict",
        *([INTRUDER] if several else []),
    ]
    return pd.DataFrame(rows, columns=columns).astype(
        dict.fromkeys(["parameter", "value", "error", "at_most", "at_least"], float)
    )


Measured = tuple[str, Statistic, float, float]


def _measured(tables: Mapping[str, pd.DataFrame]) -> Iterator[Measured]:
    """What a limit can be held against: label, statistic, value, error."""
    for name in ("risk", "utility"):
        table = tables[name]
        rows = zip(
            table["label"].astype(str),
            statistics_of(table),
            table["value"],
            table["error"],
            table["overlap"],
            strict=True,
        )
        for label, statistic, value, error, overlap in rows:
            yield label, statistic, float(value), float(error)
            if statistic.measure.compared and (pd.notna(overlap) or pd.isna(value)):
                yield (
                    label,
                    Statistic(OVERLAP.key, statistic.variable, term=statistic.label),
                    float(overlap),
                    float("nan"),
                )
    for column in (MEAN_WEIGHT, LARGEST_R_HAT):
        for label, value in tables["summary"].set_index("label")[column.name].dropna().items():
            yield str(label), column.statistic, float(value), float("nan")
    yield from _effects(tables["fit_check"])


def _effects(checks: pd.DataFrame) -> Iterator[Measured]:
    """The largest effect of every check of a fit, of each variable; the row that has it is the
    term.
    """
    rows = checks[checks["check"].isin(list(measures())) & (checks["check"] != MODEL)]
    variables = rows["variable"].fillna("") if "variable" in rows else pd.Series("", rows.index)
    for (label, check, variable), effects in rows.groupby(
        ["label", "check", variables], sort=False
    ):
        worst = (
            effects.loc[effects["effect"].idxmax()]
            if effects["effect"].notna().any()
            else effects.iloc[0]
        )
        term = (
            None
            if pd.isna(worst["parameter"]) or worst["parameter"] == ""
            else str(worst["parameter"])
        )
        yield (
            str(label),
            Statistic(str(check), str(variable) or None, term=term),
            float(worst["effect"]),
            float("nan"),
        )


def _of_fit(label: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[Verdict]:
    """Whether its fit converged, and whether its model suits the data; nothing of a baseline, which
    has none.
    """
    summary = tables["summary"].set_index("label")
    converged = summary.loc[label, CONVERGED.name]
    if not isinstance(converged, str):
        return
    word, why = next(word for word, shown in CONVERGED_WORDS.items() if shown == converged), ""
    if word == WARN:
        from riskweighted.sampling.convergence import verdict_of  # it loads what samples

        why = verdict_of(tables["convergence"].loc[lambda rows: rows["label"] == label])[1]
    yield Verdict(label, CONVERGED.statistic, float("nan"), float("nan"), None, word, why, why)
    checks = tables["fit_check"]
    models = checks.loc[checks["check"] == MODEL, "verdict"]
    fits = [str(value) for value in summary[FITS.name].dropna()]
    if fits or (models == MISFITS).any():
        yield _judged(label, FITS, "NO" not in fits and not (models == MISFITS).any())
    else:
        yield Verdict(label, FITS.statistic, float("nan"), float("nan"), None, NOT_JUDGED)


def _of_disclosure(label: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[Verdict]:
    """Whether a label's datasets give away no more beyond inference than the policy allows; "not
    judged" is no pass.
    """
    if "disclosure_verdicts" not in tables:
        return
    judged = tables["disclosure_verdicts"].set_index("label")
    if label in judged.index:
        word, reasons, accepted, outside, cure = (
            judged.loc[label].reindex(_TOLD).fillna("").astype(str)
        )
        rows = tables["risk"][
            (tables["risk"]["label"] == label)
            & (tables["risk"]["key"] == disclosure_measures.MEAN.key)
        ]
        value, error = (
            float(rows[name].iloc[0]) if len(rows) else float("nan") for name in ("value", "error")
        )
        why = "; ".join(
            text for text in (reasons, f"accepted: {accepted}" if accepted else "") if text
        )
        yield Verdict(
            label,
            Statistic(disclosure_measures.MEAN.key),
            value,
            error,
            None,
            word,
            why,
            outside,
            cure,
        )


def _of_hidden(label: str, risk: pd.DataFrame, declared: Container[str]) -> Iterator[Verdict]:
    """The refusal of datasets that tell a predictor, which is not released, of more than 1 % of the
    records, and was not declared.
    """
    rows = risk[
        (risk["label"] == label)
        & (risk["key"] == disclosure_measures.HIDDEN.key)
        & (risk["value"] > _MOST_TOLD)
    ]
    mend = (
        "release the column, leave it out of the formula, synthesize it first in a chain, or "
        "declare why it may be disclosed ([release] hidden)"
    )
    for name, value in zip(rows["term"].astype(str), rows["value"], strict=True):
        if name not in declared:
            told = f"the datasets disclose {name!r}, which is not released"
            why = (
                f"{told}, of {100 * value:.1f} % of the records (at most {100 * _MOST_TOLD:g} "
                f"%): {mend}"
            )
            outside = f"{told}, of more than {100 * _MOST_TOLD:g} % of the records"
            yield Verdict(
                label,
                Statistic(disclosure_measures.HIDDEN.key, term=name),
                float(value),
                float("nan"),
                None,
                REFUSE,
                why,
                outside,
            )


def _judged(label: str, column: SummaryColumn, passed: bool) -> Verdict:
    return Verdict(
        label, column.statistic, float("nan"), float("nan"), None, PASS if passed else FAIL
    )


def _held_against(limit: Limit, label: str, measured: list[list[Any]]) -> Iterator[Verdict]:
    """A limit against all that it limits; of the overlap against the least. What was not estimated
    is not judged.
    """
    named = [figures for figures in measured if limit.takes(figures[0])]
    taken = [figures for figures in named if pd.notna(figures[1])]
    for statistic, value, error in named:
        if statistic.key in OVERLAPS and pd.isna(value):
            yield Verdict(label, statistic, value, error, limit, NOT_JUDGED)
    if limit.key == OVERLAP.key and taken:
        taken = [min(taken, key=lambda figures: figures[1])]
    if not taken and not any(statistic.key in OVERLAPS for statistic, *_ in named):
        yield Verdict(label, _unmeasured(limit), float("nan"), float("nan"), limit, NOT_JUDGED)
    for statistic, value, error in taken:
        yield Verdict(label, statistic, value, error, limit, PASS if limit.passes(value) else FAIL)


def _unmeasured(limit: Limit) -> Statistic:
    """What a limit names, where a run does not have it."""
    parameter = measures()[limit.key].parameter
    if limit.which is None:
        return Statistic(limit.key)
    if parameter in ("threshold", "quantile", "increase"):
        try:
            return Statistic(limit.key, parameter=float(limit.which))
        except ValueError:
            pass
    return (
        Statistic(limit.key, limit.which)
        if parameter == ""
        else Statistic(limit.key, term=limit.which)
    )
