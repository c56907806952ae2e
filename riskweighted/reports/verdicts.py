"""Verdicts on the thresholds in words: what may be said of each outside the agency, and why a scheme passes or fails."""

from collections.abc import Iterator, Sequence

from riskweighted.common.numbers import exactly, in_column
from riskweighted.evaluation.summary import CONVERGED
from riskweighted.evaluation.thresholds import Limit, Thresholds
from riskweighted.evaluation.verdicts import FAIL, NOT_MEASURED, PASS, Verdict, overall
from riskweighted.measures.checks import LARGEST
from riskweighted.measures.measure import Disclosure
from riskweighted.reports.disclosure import WITHHELD, View, number
from riskweighted.reports.wording import in_words

__all__ = [
    "PASS_BUT_UTILITY",
    "bounds_of",
    "decimals_of",
    "in_a_word",
    "in_brief",
    "not_to_be_trusted",
    "reasons",
    "sentences",
    "shown_verdict",
    "verdict_records",
]

PASS_BUT_UTILITY = "pass (utility not judged)"


def bounds_of(limit: Limit) -> str:
    """A limit in words: "at most 0.05"."""
    ends = (("at least", limit.at_least), ("at most", limit.at_most))
    return ", ".join(f"{words} {exactly(value)}" for words, value in ends if value is not None)


def decimals_of(limit: Limit) -> int:
    """How many decimals tell whether a value keeps to a limit."""
    ends = [exactly(value) for value in (limit.at_least, limit.at_most) if value is not None]
    return max(len(text.partition(".")[2]) for text in ends)


def shown_verdict(one: Verdict, view: View) -> str:
    """The verdict, where it tells no more of a count than the count as it is shown."""
    if view.internal or one.limit is None or one.verdict == NOT_MEASURED:
        return one.verdict
    rule = one.statistic.measure.disclosure
    if one.statistic.measure.of_check:
        return one.verdict  # of an effect, which is not shown itself
    if rule is None or rule is Disclosure.LEFT_OUT:
        return WITHHELD
    if rule is Disclosure.COUNT and not _told(one, view):
        return WITHHELD
    return one.verdict


def _told(one: Verdict, view: View) -> bool:
    """Whether every count that is shown alike has the same verdict."""
    count, text = round(one.value), view.count(one.value)
    near = range(max(count - view.minimum_count, 0), min(count + view.minimum_count, view.records) + 1)
    return one.limit is not None and len({one.limit.passes(other) for other in near if view.count(other) == text}) == 1


def shown_value(one: Verdict, view: View) -> str:
    """The value that was judged; of the checks of a fit the effect, inside the agency only."""
    if one.statistic.measure.of_check:
        return in_column([one.value])[0] if view.internal else WITHHELD
    return view.row(one.statistic, [one.value], [one.error], least=0 if one.limit is None else decimals_of(one.limit))[0]


def _for_machines(one: Verdict, view: View) -> str:
    """The same in a file that a machine reads."""
    if one.statistic.measure.of_check:
        return number(one.value, 3) if view.internal else WITHHELD
    return view.show(one.statistic, one.value) + view.error(one.statistic, one.error)


def _sentence(one: Verdict, view: View) -> str:
    """Why one limit is not kept."""
    if one.limit is None:
        return "fit did not converge" if one.statistic == CONVERGED.statistic else "model does not suit the data"
    name, bounds = in_words(one.statistic), bounds_of(one.limit)
    if one.verdict == NOT_MEASURED:
        return f"{name}: not measured, {bounds} is asked"
    value = shown_value(one, view)
    if one.statistic.measure.of_check and one.statistic.measure is not LARGEST and value != WITHHELD:
        return f"{name} is off by {value}, {bounds} is allowed"
    told = f"{name} is {value}, {bounds} is allowed" if value != WITHHELD else f"{name}: {bounds} is allowed"
    return told + (" (within its Monte Carlo error)" if one.close else "")


def reasons(verdicts: Sequence[Verdict], label: str, view: View) -> list[str]:
    """Why a scheme does not pass, a sentence each; of one that passes, which limits it only just keeps."""
    shown, hidden, found = _failed(verdicts, label, view)
    return [*found, *(_sentence(one, view) for one in shown), *hidden, *_just_kept(verdicts, label)]


def in_brief(verdicts: Sequence[Verdict], label: str, view: View, beside: Sequence[Verdict]) -> str:
    """The same in a line; `beside`: verdicts that the reader sees beside their numbers and limits, which are only named."""
    shown, hidden, found = _failed(verdicts, label, view)
    named = [in_words(one.statistic, alone=True) for one in shown if one in beside]
    found += [f"over the limit: {', '.join(named)}"] if named else []
    found += [_briefly(one, view) for one in shown if one not in beside]
    return "; ".join([*found, *hidden, *_just_kept(verdicts, label)])


def _failed(verdicts: Sequence[Verdict], label: str, view: View) -> tuple[list[Verdict], list[str], list[str]]:
    """The limits that a scheme does not keep, how many of them are not shown, and that it keeps to all."""
    own = [one for one in verdicts if one.label == label]
    failed, limits = [one for one in own if one.verdict != PASS], sum(one.limit is not None for one in own)
    which = f"all {limits} thresholds" if limits > 1 else "the threshold"
    unlimited = "" if limits_cost(own) else f", {'none of them' if limits > 1 else 'which is not'} on utility"
    shown = [one for one in failed if shown_verdict(one, view) != WITHHELD]
    hidden = len(failed) - len(shown)
    return (
        shown,
        [f"{hidden} more, of what is not shown outside"] if hidden else [],
        [f"keeps to {which}{unlimited}"] if limits and not failed else [],
    )


def limits_cost(verdicts: Sequence[Verdict]) -> bool:
    """Whether any verdict is on what a release costs in utility."""
    return any(one.limit is not None and one.limit.of_cost for one in verdicts)


def in_a_word(verdicts: Sequence[Verdict], label: str) -> str | None:
    """The verdict of a scheme: without a threshold on utility it says so; None where there is nothing to judge."""
    verdict = overall(verdicts, label)
    return verdict if verdict != PASS or limits_cost([one for one in verdicts if one.label == label]) else PASS_BUT_UTILITY


def _just_kept(verdicts: Sequence[Verdict], label: str) -> list[str]:
    own = [one for one in verdicts if one.label == label and one.verdict == PASS and one.close]
    return [f"{in_words(one.statistic, alone=True)} keeps to its limit within its Monte Carlo error" for one in own]


def _briefly(one: Verdict, view: View) -> str:
    """What is not as it must be, without its limit."""
    if one.limit is None:
        return "no convergence" if one.statistic == CONVERGED.statistic else "the model misfits"
    name, value = in_words(one.statistic, alone=True), shown_value(one, view)
    if one.verdict == NOT_MEASURED:
        return f"{name} not measured"
    off = "off by " if one.statistic.measure.of_check and one.statistic.measure is not LARGEST else ""
    return f"{name} {off}{value}" if value != WITHHELD else f"{name} over the limit"


def not_to_be_trusted(verdicts: Sequence[Verdict]) -> dict[str, list[str]]:
    """What of the fits is not as it must be: schemes that did not converge, schemes whose model misfits."""
    found: dict[str, list[str]] = {}
    for one in verdicts:
        if one.limit is None and one.verdict == FAIL:
            found.setdefault(one.statistic.key, []).append(one.label)
    return found


def sentences(verdicts: Sequence[Verdict], thresholds: Thresholds, view: View) -> Iterator[str]:
    """For a terminal: where the thresholds come from, then a line for each scheme."""
    if not thresholds:
        yield "Thresholds: the study states none, so no scheme passes ([thresholds], METHODS section 14)."
    else:
        yield f"Thresholds: {len(thresholds.limits)}, from {thresholds.source or 'the study'}."
    for label in dict.fromkeys(one.label for one in verdicts):
        verdict = in_a_word(verdicts, label)
        if verdict is not None:
            yield f"{label}: {verdict}: {'; '.join(reasons(verdicts, label, view))}."


def verdict_records(verdicts: Sequence[Verdict], labels: Sequence[str], view: View) -> list[dict[str, object]]:
    """Verdicts for a machine, as they may be shown: a record for each label, with one for each limit."""
    records: list[dict[str, object]] = []
    for label in labels:
        own = [one for one in verdicts if one.label == label]
        limits = [
            {
                "measure": one.statistic.key,
                **{
                    name: value
                    for name, value in one.statistic._asdict().items()
                    if name in ("variable", "parameter", "term") and value is not None
                },
                **({} if one.limit is None else one.limit.to_table() | {"value": _for_machines(one, view)}),
                "verdict": shown_verdict(one, view),
            }
            for one in own
        ]
        records.append({"scheme": label, "verdict": overall(own, label) or "no thresholds", "limits": limits})
    return records
