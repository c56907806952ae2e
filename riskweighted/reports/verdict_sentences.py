"""Verdicts on the thresholds in words: what may be said of each outside the agency, and why a
scheme passes or fails.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from riskweighted.common.numbers import exactly, format_column
from riskweighted.evaluation.main_table import CONVERGED, FITS
from riskweighted.evaluation.thresholds import Limit, Thresholds
from riskweighted.evaluation.verdicts import (
    FAIL,
    LEAVES,
    NOT_JUDGED,
    NOT_SHOWN,
    PASS,
    REFUSE,
    WARN,
    Verdict,
    find_failures,
    is_of_disclosure,
    overall,
)
from riskweighted.measures.fit_comparisons import LARGEST
from riskweighted.measures.measure import Disclosure
from riskweighted.reports.output_rules import WITHHELD, View, number
from riskweighted.reports.wording import in_words

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "UNTOLD",
    "bounds_of",
    "brief_sentence",
    "decimals_of",
    "disclosure_by_label",
    "disclosure_of_schemes",
    "first_reason",
    "limits_cost",
    "not_to_be_trusted",
    "one_line_reason",
    "reasons",
    "sentence",
    "sentences",
    "shown_verdict",
    "verdict_records",
]

# in the place of a verdict that would tell more than may be told; "not shown" is a verdict
UNTOLD = "withheld"
_JUDGED = {  # of what is judged of every run: as a sentence, and in brief
    (CONVERGED.statistic.key, FAIL): ("fit did not converge", "no convergence"),
    (CONVERGED.statistic.key, WARN): ("fit converged with a warning", "converged with a warning"),
    (FITS.statistic.key, FAIL): ("model does not suit the data", "the model misfits"),
    (FITS.statistic.key, NOT_JUDGED): (
        "whether the model suits the data is not judged, no fit being unweighted",
        "the model is not judged",
    ),
}
_DISCLOSED = {  # of what the datasets give away, where no more is said of it
    REFUSE: "the datasets disclose more than the policy allows",
    NOT_SHOWN: "the datasets are not shown to disclose as little as the policy asks",
    NOT_JUDGED: "what the datasets disclose is not judged",
    WARN: "the policy warns of what the datasets disclose",
}
_NO_LIMIT = "the study states no thresholds"
_WHICH = ("variable", "parameter", "term")


def bounds_of(limit: Limit) -> str:
    """A limit in words: "at most 0.05"."""
    ends = (("at least", limit.at_least), ("at most", limit.at_most))
    return ", ".join(f"{words} {exactly(value)}" for words, value in ends if value is not None)


def decimals_of(limit: Limit) -> int:
    """How many decimals tell whether a value keeps to a limit."""
    ends = [exactly(value) for value in (limit.at_least, limit.at_most) if value is not None]
    return max(len(text.partition(".")[2]) for text in ends)


def shown_verdict(verdict: Verdict, view: View) -> str:
    """The verdict, where it tells no more of a count than the count as it is shown."""
    if view.internal or verdict.limit is None or verdict.verdict == NOT_JUDGED:
        return verdict.verdict
    rule = verdict.statistic.measure.disclosure
    if verdict.statistic.measure.of_check:
        return verdict.verdict  # of an effect, which is not shown itself
    if rule is None or rule is Disclosure.LEFT_OUT:
        return UNTOLD
    if rule is Disclosure.COUNT and not _told(verdict, view):
        return UNTOLD
    return verdict.verdict


def _told(verdict: Verdict, view: View) -> bool:
    """Whether every count that is shown alike has the same verdict."""
    count, text = round(verdict.value), view.count(verdict.value)
    near = range(
        max(count - view.minimum_count, 0), min(count + view.minimum_count, view.records) + 1
    )
    return (
        verdict.limit is not None
        and len({verdict.limit.passes(other) for other in near if view.count(other) == text}) == 1
    )


def shown_value(verdict: Verdict, view: View) -> str:
    """The value that was judged; of the checks of a fit the effect, inside the agency only."""
    if verdict.statistic.measure.of_check:
        return format_column([verdict.value])[0] if view.internal else WITHHELD
    least = 0 if verdict.limit is None else decimals_of(verdict.limit)
    return view.row(verdict.statistic, [verdict.value], [verdict.error], least=least)[0]


def _for_machines(verdict: Verdict, view: View) -> str:
    """The same in a file that a machine reads."""
    if verdict.statistic.measure.of_check:
        return number(verdict.value, 3) if view.internal else WITHHELD
    return view.show(verdict.statistic, verdict.value) + view.error(
        verdict.statistic, verdict.error
    )


def sentence(verdict: Verdict, view: View) -> str:
    """Why one limit is not kept, and by whom of several."""
    return _sentence(verdict, view) + _by_whom(verdict)


def _by_whom(verdict: Verdict) -> str:
    return f" (by {verdict.intruder})" if verdict.intruder else ""


def _sentence(verdict: Verdict, view: View) -> str:
    if is_of_disclosure(verdict):
        return _disclosed(verdict, view)
    if verdict.limit is None:
        return _of_run(verdict, 0)
    name, bounds = in_words(verdict.statistic), bounds_of(verdict.limit)
    if verdict.verdict == NOT_JUDGED:
        return f"{name}: not judged, {bounds} is asked"
    value = shown_value(verdict, view)
    if (
        verdict.statistic.measure.of_check
        and verdict.statistic.measure is not LARGEST
        and value != WITHHELD
    ):
        return f"{name} is off by {value}, {bounds} is allowed"
    told = (
        f"{name} is {value}, {bounds} is allowed"
        if value != WITHHELD
        else f"{name}: {bounds} is allowed"
    )
    return told + (" (within its Monte Carlo error)" if verdict.close else "")


def _of_run(verdict: Verdict, brief: int) -> str:
    """What was judged of the run whatever its limits, and why."""
    judged = _JUDGED[verdict.statistic.key, verdict.verdict][brief]
    return f"{judged}, {verdict.why}" if verdict.why else judged


def _disclosed(verdict: Verdict, view: View) -> str:
    """What the datasets give away: inside with its figures."""
    return (verdict.why if view.internal else verdict.outside) or _DISCLOSED[verdict.verdict]


def _shortly_disclosed(verdict: Verdict, view: View) -> str:
    """The first reason of what the datasets give away, and how many more there are: of several
    variables they fill a page.
    """
    first, *more = _disclosed(verdict, view).split("; ")
    return (
        f"{first} ({len(more)} more: tables/disclosure_verdicts.csv)"
        if more and view.internal
        else "; ".join([first, *more])
    )


def first_reason(verdict: Verdict, view: View) -> str:
    """A reason as a sentence, of what the datasets give away the first."""
    if is_of_disclosure(verdict):
        return _shortly_disclosed(verdict, view) + _by_whom(verdict)
    return sentence(verdict, view)


def reasons(verdicts: Sequence[Verdict], label: str, view: View) -> list[str]:
    """Why a scheme does not pass, a sentence each; of one that passes, which limits it only just
    keeps.
    """
    shown, hidden, kept = _failed(verdicts, label, view)
    return [
        *(sentence(verdict, view) for verdict in shown),
        *kept,
        *hidden,
        *_just_kept(verdicts, label),
    ]


def brief_sentence(verdicts: Sequence[Verdict], label: str, view: View) -> str:
    """The same in a line."""
    shown, hidden, kept = _failed(verdicts, label, view)
    return "; ".join(
        [
            *(_briefly(verdict, view) + _by_whom(verdict) for verdict in shown),
            *kept,
            *hidden,
            *_just_kept(verdicts, label),
        ]
    )


def one_line_reason(verdicts: Sequence[Verdict], label: str, view: View) -> str:
    """The largest reason why a scheme does not pass, as a sentence, and what else is; of one that
    passes, as `brief_sentence`.
    """
    shown, _, _ = _failed(verdicts, label, view)
    if not shown:
        return brief_sentence(verdicts, label, view)
    others = list(dict.fromkeys(in_words(verdict.statistic) for verdict in shown[1:]))
    return first_reason(shown[0], view) + (
        f" (and {len(shown) - 1} more: {', '.join(others)})" if others else ""
    )


def _failed(
    verdicts: Sequence[Verdict], label: str, view: View
) -> tuple[list[Verdict], list[str], list[str]]:
    """What a scheme does not pass, the largest reason first, what else there is to say of it, and
    that it keeps to all limits.
    """
    of_label = [verdict for verdict in verdicts if verdict.label == label]
    missed, limits = (
        find_failures(verdicts, label),
        sum(verdict.limit is not None for verdict in of_label),
    )
    which = f"all {limits} thresholds" if limits > 1 else "the threshold"
    unlimited = (
        ""
        if limits_cost(of_label)
        else f", {'none of them' if limits > 1 else 'which is not'} on utility"
    )
    shown = [verdict for verdict in missed if shown_verdict(verdict, view) != UNTOLD]
    hidden = len(missed) - len(shown)
    more = [f"{hidden} more, of what is not shown outside"] if hidden else []
    keeps = bool(limits) and overall(verdicts, label) in LEAVES
    return (
        shown,
        [*more, *([] if limits else [_NO_LIMIT])],
        [f"keeps to {which}{unlimited}"] if keeps else [],
    )


def limits_cost(verdicts: Sequence[Verdict]) -> bool:
    """Whether any verdict is on what a release costs in utility."""
    return any(verdict.limit is not None and verdict.limit.of_cost for verdict in verdicts)


def _just_kept(verdicts: Sequence[Verdict], label: str) -> list[str]:
    of_label = [
        verdict
        for verdict in verdicts
        if verdict.label == label and verdict.verdict == PASS and verdict.close
    ]
    return [
        f"{in_words(verdict.statistic, alone=True)} keeps to its limit within its Monte Carlo error"
        for verdict in of_label
    ]


def _briefly(verdict: Verdict, view: View) -> str:
    """What of a verdict that may be seen is not as it must be, without its limit."""
    if is_of_disclosure(verdict):
        return _shortly_disclosed(verdict, view)
    if verdict.limit is None:
        return _of_run(verdict, 1)
    name, value = in_words(verdict.statistic, alone=True), shown_value(verdict, view)
    if verdict.verdict == NOT_JUDGED:
        return f"{name} not judged"
    off = (
        "off by "
        if verdict.statistic.measure.of_check and verdict.statistic.measure is not LARGEST
        else ""
    )
    return f"{name} {off}{value}" if value != WITHHELD else f"{name} over the limit"


def not_to_be_trusted(verdicts: Sequence[Verdict]) -> dict[str, list[str]]:
    """What of the fits is not as it must be: schemes that did not converge, schemes whose model
    misfits.
    """
    untrusted: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.limit is None and verdict.verdict == FAIL:
            untrusted.setdefault(verdict.statistic.key, []).append(verdict.label)
    return untrusted


def sentences(verdicts: Sequence[Verdict], thresholds: Thresholds, view: View) -> Iterator[str]:
    """For a terminal: where the thresholds come from, then a line for each scheme."""
    if not thresholds:
        yield (
            "Thresholds: the study states none; judged are convergence, the model and what is "
            "disclosed (METHODS section 14)."
        )
    else:
        yield f"Thresholds: {len(thresholds.limits)}, from {thresholds.source or 'the study'}."
    for label in dict.fromkeys(verdict.label for verdict in verdicts):
        yield f"{label}: {overall(verdicts, label)}: {'; '.join(reasons(verdicts, label, view))}."


def verdict_records(
    verdicts: Sequence[Verdict], labels: Sequence[str], view: View
) -> list[dict[str, object]]:
    """Verdicts for a machine, as they may be shown: a record for each label, with one for each
    limit.
    """
    records: list[dict[str, object]] = []
    for label in labels:
        of_label = [verdict for verdict in verdicts if verdict.label == label]
        limits = [
            {"measure": verdict.statistic.key}
            | {
                name: value
                for name, value in zip(_WHICH, verdict.statistic[1:4], strict=True)
                if value is not None
            }
            | (
                {}
                if verdict.limit is None
                else verdict.limit.to_table() | {"value": _for_machines(verdict, view)}
            )
            | {"verdict": shown_verdict(verdict, view)}
            | ({"intruder": verdict.intruder} if verdict.intruder else {})
            for verdict in of_label
        ]
        records.append(
            {
                "scheme": label,
                "verdict": overall(of_label, label),
                "reason": brief_sentence(of_label, label, view),
                "limits": limits,
            }
        )
    return records


def disclosure_by_label(
    table: "pd.DataFrame", told: Mapping[str, tuple[str, Sequence[str]]]
) -> dict[str, dict[str, object]]:
    """For a machine inside: by scheme or tool the verdict on what it discloses, its reasons, D and
    the upper limit.

    `table`: of disclosure, how the datasets leave first; `told`: verdict and reasons by label.
    """
    first = (
        table.drop_duplicates("label")
        .set_index("label")
        .reindex(index=list(told), columns=["D", "upper"])
    )
    return {
        label: {
            "verdict": word,
            "reasons": list(reasons),
            "D": first.loc[label, "D"],
            "upper": first.loc[label, "upper"],
        }
        for label, (word, reasons) in told.items()
    }


def disclosure_of_schemes(
    verdicts: Sequence[Verdict], table: "pd.DataFrame"
) -> dict[str, dict[str, object]]:
    """The same of a run."""
    told = {}
    for label in dict.fromkeys(each.label for each in verdicts):
        of_label = [each for each in verdicts if each.label == label and is_of_disclosure(each)]
        told[label] = (
            overall(of_label, label),
            [text for each in of_label if each.why for text in each.why.split("; ")],
        )
    return disclosure_by_label(table, told)
