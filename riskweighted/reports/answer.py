"""The first screen: the verdict of each scheme, the largest reason, what comes next, and its
figures against the thresholds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from riskweighted.common.found import NOT_SHOWN, is_found
from riskweighted.common.numbers import exactly
from riskweighted.common.text import plain
from riskweighted.evaluation.judgement import MISFITS, judged_rows
from riskweighted.evaluation.main_table import CONVERGED, LARGEST_R_HAT, SummaryColumn
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label, distinct
from riskweighted.evaluation.verdicts import (
    FAIL,
    NOT_JUDGED,
    PASS,
    REFUSE,
    WARN,
    Verdict,
    overall,
    verdicts_of_intruder,
)
from riskweighted.measures import disclosure_measures, expected_measures, fits
from riskweighted.measures.cross_tables import TWO_WAY_MEAN
from riskweighted.measures.distributions import TOTAL_VARIATION, U_M
from riskweighted.measures.estimates import MEAN
from riskweighted.measures.measure import Measure
from riskweighted.measures.regression_measures import COEFFICIENT, OVERLAP
from riskweighted.reports.brief import is_refused, reason_and_next
from riskweighted.reports.intruder_section import about_intruders, intruder_table
from riskweighted.reports.output_rules import WITHHELD
from riskweighted.reports.page_blocks import Answer, Cell, DataTable, Figures, Judged, make_table
from riskweighted.reports.source import Source
from riskweighted.reports.verdict_sentences import (
    bounds_of,
    brief_sentence,
    decimals_of,
    limits_cost,
    not_to_be_trusted,
    shown_verdict,
)
from riskweighted.reports.wording import capital, in_words, not_mended, symbol_of

__all__ = ["find_answer"]

_RISK = (disclosure_measures.MEAN, disclosure_measures.ISOLATED, expected_measures.MEAN)
_OVERLAPS = (COEFFICIENT, MEAN)
_MOST_ROWS = 6


def find_answer(source: Source) -> Answer:
    """Of a run; what comes next names the run's folder RUN, so that a page tells of no folder."""
    columns = list(_columns(source))
    why, following = reason_and_next(
        source.verdicts,
        source.run.schemes,
        source.checks,
        source.run.reasons,
        source.view,
        source.coming,
        "RUN",
    )
    labels, judged = [*source.labels, CONFIDENTIAL], tuple(_judged(source))
    # beside its scheme
    said = any(why.partition(": ")[2].casefold() in each.why.casefold() for each in judged)
    return Answer(
        "Scheme",
        tuple(map(plain, _alarms(source))),
        judged,
        "" if said else plain(why),
        plain(following),
        tuple(plain(text) for text in (_what(source), _told(source)) if text),
        tuple(
            plain("confidential data" if label == CONFIDENTIAL else _named(source, label))
            for label in labels
        ),
        tuple(_figures(source, column, labels) for column in columns),
        (("Can the fits be trusted?", plain(_trust(source))),),
        plain(f"{_thresholds(source, columns)} {_marks(source)}"),
        by_intruder=_by_intruder(source),
        sentence=plain(_sentence(source)),
    )


def _sentence(source: Source) -> str:
    """How many schemes pass, and whether what they cost was judged."""
    schemes = source.run.schemes
    words = Counter(overall(source.verdicts, scheme) for scheme in schemes)
    passing = words.pop(PASS, 0)
    others = ", ".join(f"{count} {word}" for word, count in words.items())
    limited = limits_cost(source.verdicts)
    return (
        f"{passing} of {len(schemes)} scheme{'s'[: len(schemes) != 1]} "
        f"pass{'es'[: 2 * (passing == 1 == len(schemes))]}{f' ({others})' if others else ''}; "
        f"utility was {'judged too' if limited else 'not judged, since no limit on it is stated'}."
    )


def _by_intruder(source: Source) -> DataTable | None:
    """Verdicts and risks by each of several intruders."""
    table = intruder_table(source.run, source.view, source.run.schemes, source.verdicts)
    if table.empty:
        return None
    note = about_intruders(source.run.study)
    return make_table("by-intruder", "By intruder", table, note=note)


def _what(source: Source) -> str:
    """What was protected, from whom, and how."""
    study, scenario = source.run.study, source.run.study.evaluating_scenario()
    names = ", ".join(source.variables)
    known = ", ".join(scenario.known) or "nothing"
    verb = "was" if len(source.variables) == 1 else "were"
    who = f"{study.intruder}, by whom figures are," if study.intruders else "The intruder"
    return (
        f"{names} of {source.view.records:,} records {verb} replaced by draws from a model "
        f"({study.synthesizer.name}), "
        f"{study.release.L} synthetic datasets a scheme. "
        f"{who} knows {known} of a record and looks for its {names}{_nearness(source)}."
    )


def _told(source: Source) -> str:
    """What the release discloses of records; nothing where it was not measured."""
    L = source.run.study.release.L  # noqa: N806
    figures = {
        measure: _by_scheme(source, measure)
        for measure in (disclosure_measures.PERSONS, disclosure_measures.NAMED)
    }
    if not figures[disclosure_measures.PERSONS]:
        return ""
    if figures[disclosure_measures.PERSONS] == NOT_JUDGED:
        return (
            f"What all {L} datasets of a scheme disclose of a record beyond what they would had "
            "its value never been used is not judged, which is no pass."
        )
    whose = f"values of {', '.join(source.variables)}"
    number, clear = figures[disclosure_measures.PERSONS], figures[disclosure_measures.NAMED]
    named = (
        f" The difference is clear beyond chance for {clear}; their list must not leave the agency."
        if clear != NOT_JUDGED
        else ""
    )
    return (
        f"With all {L} datasets of a scheme our attacks find, at the upper limit, {number} of "
        f"{source.view.records:,} records' {whose} "
        "that they would not have found had the record's value never been used; this holds for "
        "these attacks and guarantees nothing "
        f"against others.{named}"
    )


def _by_scheme(source: Source, measure: Measure) -> str:
    """A figure of each scheme as it may be shown, once where all have the same; nothing where none
    was measured, and "not judged" of a scheme of which nobody knows what it would tell without a
    record."""
    statistic, risk = Statistic(measure.key), source.run.tables["risk"]
    if statistic not in distinct(risk):
        return ""
    known = by_label(risk, statistic).reindex(source.run.schemes).notna()
    shown = source.by_label(statistic, source.run.schemes)
    shown = [text if there else NOT_JUDGED for text, there in zip(shown, known, strict=True)]
    alike = len(set(shown)) == 1
    return (
        shown[0]
        if alike
        else ", ".join(
            f"{text} ({scheme})" for scheme, text in zip(source.run.schemes, shown, strict=True)
        )
    )


def _nearness(source: Source) -> str:
    """How close is close, where one width serves all variables."""
    scenario = source.run.study.evaluating_scenario()
    widths = {
        (scenario.radius_of(name), scenario.kind_of(name))
        for name in source.variables
        if source.is_numeric(name)
    }
    if len(widths) != 1:
        return ""
    radius, kind = next(iter(widths))
    if is_found(radius) and not source.view.internal:
        return f" (to within a width {NOT_SHOWN})"
    return (
        f" (to within {100 * radius:g} %)"
        if kind == "relative"
        else f" (to within {exactly(radius)})"
    )


def _alarms(source: Source) -> Iterator[str]:
    """What stands against any release of the run, and what forbids to trust a fit."""
    if source.coming.why:
        yield f"{is_refused(source.coming.why)}."
    untrusted = not_to_be_trusted(source.verdicts)
    failed = untrusted.get(fits.CONVERGED.key)
    if failed:
        yield (
            f"Not converged: {', '.join(failed)}. Sample longer or simplify the model; release "
            "nothing from these fits."
        )
    if fits.FITS.key in untrusted:
        yield (
            "The model does not suit the data: synthetic values differ from the confidential "
            "ones in kind, so risk and cost of its schemes "
            f"mean little. {not_mended(source.run.schemes)}The diagnosis follows below."
        )


def _columns(source: Source) -> Iterator[SummaryColumn]:
    """What the screen shows of each label: the usual risks, the cost in every variable and over
    all, then what a threshold limits.
    """
    risk, utility = distinct(source.run.tables["risk"]), distinct(source.run.tables["utility"])
    # of every variable too
    alone = [
        each for each in risk if each.variable is None or each.measure is disclosure_measures.MEAN
    ]
    risks = [
        each
        for measure in _RISK
        for each in alone
        if each.measure is measure and (source.view.internal or not source.view.few(each))
    ]
    costs = [
        Statistic((U_M if source.is_numeric(name) else TOTAL_VARIATION).key, name)
        for name in source.variables
    ]
    costs += [each for each in utility if each.measure is TWO_WAY_MEAN]
    table = source.run.tables["utility"]
    overlaps = [each for measure in _OVERLAPS for each in utility if each.measure is measure]
    overlaps = [each for each in overlaps if by_label(table, each, "overlap").notna().any()]
    usual = [
        *map(SummaryColumn, [*risks, *costs]),
        *(SummaryColumn(each, overlap=True) for each in overlaps[:1]),
    ]
    limited = [
        SummaryColumn(each.statistic)
        for each in source.verdicts
        if each.limit is not None and each.statistic in {*risk, *utility}
    ]
    yield from list(dict.fromkeys([*usual, *limited]))[: max(len(usual), _MOST_ROWS)]


def _verdicts_on(source: Source, column: SummaryColumn, label: str | None = None) -> list[Verdict]:
    """The verdicts on what a column shows, of every label or of one."""
    statistic = column.statistic
    which = (
        (OVERLAP.key, statistic.variable, None, statistic.label)
        if column.overlap
        else statistic[:4]
    )
    verdicts = verdicts_of_intruder(source.verdicts, source.run.study.intruder or "")
    of_column = [verdict for verdict in verdicts if verdict.statistic[:4] == which]
    return [
        verdict
        for verdict in of_column
        if verdict.limit is not None and label in (None, verdict.label)
    ]


def _figures(source: Source, column: SummaryColumn, labels: Sequence[str]) -> Figures:
    limits = dict.fromkeys(
        bounds_of(each.limit) for each in _verdicts_on(source, column) if each.limit is not None
    )
    name = in_words(column.statistic, alone=len(source.variables) == 1)
    name = (
        f"cost: overlap of intervals, {name}"
        if column.overlap
        else f"cost: {name}"
        if column.statistic.of_utility
        else name
    )
    told = "no threshold" if _without_limit(source, column) else "; ".join(limits)
    told = told or _default_limits(source, column.statistic)
    symbol = "" if column.overlap else symbol_of(column.statistic)
    return Figures(
        plain(capital(name)),
        symbol,
        told,
        source.glossary.summary(column),
        tuple(_cells(source, column, labels)),
    )


def _default_limits(source: Source, statistic: Statistic) -> str:
    """The limits on disclosure that hold whether or not a study states thresholds."""
    policy = source.run.study.release.disclosure
    limits = {
        disclosure_measures.MEAN.key: (policy.warn_mean, policy.mean),
        disclosure_measures.ISOLATED.key: (policy.warn_isolated, policy.isolated),
    }
    if statistic.key not in limits or statistic.variable is not None:
        return ""
    warned, refused_above = map(exactly, limits[statistic.key])
    return f"warning above {warned}, refused above {refused_above}"


def _cells(source: Source, column: SummaryColumn, labels: Sequence[str]) -> list[Cell]:
    """A column: its numbers, and whether they keep to its limit."""
    statistic = column.statistic
    if column.overlap:
        texts = source.view.overlaps(
            by_label(source.run.tables["utility"], statistic, "overlap").reindex(labels)
        )
    elif (
        statistic.of_utility
        and not source.view.internal
        and by_label(source.run.tables["utility"], statistic).empty
    ):
        texts = [WITHHELD] * len(labels)  # a variable of too few amounts is a row too
    else:
        limits = [each.limit for each in _verdicts_on(source, column) if each.limit is not None]
        texts = source.by_label(
            statistic, labels, errors=True, least=max(map(decimals_of, limits), default=0)
        )
    return [
        Cell(text, _state(source, column, label)) for text, label in zip(texts, labels, strict=True)
    ]


def _state(source: Source, column: SummaryColumn, label: str) -> str:
    states = {shown_verdict(each, source.view) for each in _verdicts_on(source, column, label)}
    open_cost = _without_limit(source, column) and label != CONFIDENTIAL
    return "fail" if FAIL in states else "pass" if states == {PASS} else "open" if open_cost else ""


def _without_limit(source: Source, column: SummaryColumn) -> bool:
    """Whether a column is a cost, and the thresholds limit no cost at all."""
    thresholds = source.run.study.thresholds
    return (
        bool(thresholds)
        and not thresholds.limit_cost
        and (column.overlap or column.statistic.of_utility)
    )


def _judged(source: Source) -> Iterator[Judged]:
    """A row a scheme: its verdict, and why, the largest reason first."""
    for label in source.labels:
        verdict = overall(source.verdicts, label)
        of_label = [each for each in source.verdicts if each.label == label]
        state = {
            PASS: "pass" if limits_cost(of_label) else "open",
            WARN: "open",
            FAIL: "fail",
            REFUSE: "fail",
        }.get(verdict, "")
        told = plain(capital(brief_sentence(source.verdicts, label, source.view)))
        yield Judged(plain(_named(source, label)), capital(verdict), state, told)


def _named(source: Source, label: str) -> str:
    return f"{label} (no model)" if label in source.run.study.baselines else label


def _marks(source: Source) -> str:
    """How the figures are to be read."""
    rounded = "" if source.view.internal else ", rounded up"
    return (
        "The confidential data are a yardstick. Isolated records: the 5 % that stand out most. "
        f"±: Monte Carlo error{rounded}. Higher risk "
        "is riskier; a larger distance and a smaller overlap cost more."
    )


def _trust(source: Source) -> str:
    """Whether the fits can be trusted, in one or two sentences."""
    untrusted, run = not_to_be_trusted(source.verdicts), source.run
    schemes = len(run.schemes)
    largest = run.tables["summary"].set_index("label")[LARGEST_R_HAT.name].max()
    reached = "" if largest != largest else f" (largest R-hat {largest:.4f})"
    failed = len(untrusted.get(fits.CONVERGED.key, []))
    told = (
        f"{failed} of {schemes} fits did NOT converge{reached}."
        if failed
        else f"All {schemes} fits converged{reached}."
    )
    warned = [
        each
        for each in source.verdicts
        if each.statistic == CONVERGED.statistic and each.verdict == WARN
    ]
    told += "".join(f" Warning, {each.label}: {each.why}." for each in warned)
    judged = judged_rows(source.checks)
    if judged.empty:
        return f"{told} The model is not judged: no fit is unweighted."
    missed = int((judged["verdict"] == MISFITS).sum())
    suits = f"the model suits the data in all {len(judged)} checks"
    if missed or fits.FITS.key in untrusted:
        suits = f"the model MISFITS in {missed} of {len(judged)} checks"
    return f"{told} On its unweighted fit {suits}."


def _thresholds(source: Source, columns: Sequence[SummaryColumn]) -> str:
    """Where the thresholds come from, and those that no column shows."""
    thresholds = source.run.study.thresholds
    if not thresholds:
        return (
            "The study states no thresholds: judged are convergence, the model and what is "
            "disclosed (methods, section 14)."
        )
    shown = {each.limit for column in columns for each in _verdicts_on(source, column)}
    limited = {
        each.limit: each.statistic for each in reversed(source.verdicts) if each.limit is not None
    }
    others = []
    for limit in thresholds.limits:
        if limit not in shown and limit in limited:
            statistic = limited[limit]
            statistic = statistic._replace(term=None) if limit.of_check else statistic
            others.append(f"{in_words(statistic)} {bounds_of(limit)}")
    told = (
        f"{len(thresholds.limits)} threshold{'s'[: len(thresholds.limits) != 1]}, from "
        f"{thresholds.source or 'the study'}."
    )
    if not thresholds.limit_cost:
        told += (
            " None of them is on utility, so passing does not judge the cost: judge the numbers "
            "marked ! yourself."
        )
    return f"{told} Beside those above: {'; '.join(others)}." if others else told
