"""Risk of the records by label, which records a scheme made riskier, and risk against utility."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.numbers import SHARE, format_columns
from riskweighted.common.text import plain
from riskweighted.evaluation.main_table import SummaryColumn
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label, distinct
from riskweighted.evaluation.verdicts import NOT_JUDGED, overall
from riskweighted.measures import (
    disclosure_measures,
    expected_measures,
    gap_attack,
    influence_measures,
)
from riskweighted.measures.cross_tables import TWO_WAY_MEAN
from riskweighted.measures.distributions import U_M
from riskweighted.plots.attack_success import SIDES, plot_attack_success
from riskweighted.plots.binning import binned_scatter, merged_histogram
from riskweighted.plots.risk_plots import plot_risk_violins, plot_whack_a_mole
from riskweighted.plots.risk_utility import Better, pareto_front, plot_risk_utility
from riskweighted.reports.output_rules import withheld_note
from riskweighted.reports.page_blocks import (
    Column,
    DataTable,
    Figure,
    Group,
    Section,
    Term,
    make_table,
)
from riskweighted.reports.source import Source
from riskweighted.reports.variable_section import try_figure
from riskweighted.reports.wording import capital, in_words, main_columns, main_table, symbol_of
from riskweighted.risk.whack_a_mole_risk import risk_rise, whack_a_mole_records

__all__ = ["disclosure_sections", "map_section", "risk_section"]

_UNIT = (0.0, 1.0)
_RISK_AXIS, _ATTRIBUTABLE = "Risk", "Attributable probability"
_RISKIEST = 20  # records listed per label
_RISES = 50  # records listed per whack-a-mole figure
_TERMS = {
    "Records": "bin-records",
    "Risk": "risk",
    "Rise": "rise",
    "Weight": "weight",
    "Least weight": "weight",
}


def disclosure_sections(source: Source) -> list[Section]:
    """The section of the decisive figure; none where disclosure was judged of no scheme."""
    risk = source.run.tables["risk"]
    named = [(Statistic(key), words) for key, (words, _, _) in SIDES.items()]
    known = by_label(risk, named[1][0]).reindex(source.run.schemes)
    judged = [scheme for scheme in source.run.schemes if not np.isnan(known[scheme])]
    if not judged:
        return []
    texts = {each: source.by_label(each, judged) for each, _ in named}
    cells = pd.DataFrame(
        {
            "Scheme": judged,
            **{f"From {words}": texts[each] for each, words in named},
        }
    )
    table = make_table("attack-success-table", "Share of records whose value is guessed", cells)
    shown = risk if source.view.internal else _as_shown(texts, judged)
    told = [
        f"{scheme}: {', '.join(f'{texts[each][place]} from {words}' for each, words in named)}"
        for place, scheme in enumerate(judged)
    ]
    alternative = f"Share of records whose value an attack guesses. {'; '.join(told)}"
    figure = try_figure(
        "attack-success",
        "How often a value is guessed",
        lambda: plot_attack_success(shown, judged),
        f"{alternative}.",
        (table,),
        (source.glossary.risk(Statistic(disclosure_measures.MEAN.key)),),
    )
    text = (
        "Only the difference between the first two bars is due to the record itself: disclosure "
        "(D). The rest is inference, which the release is made for."
    )
    return [Section("disclosure", "Disclosure", (text,), (figure,))]


def _as_shown(texts: dict[Statistic, list[str]], labels: list[str]) -> pd.DataFrame:
    """The shares as far as they may be shown, as a table of risk."""
    rows = [
        (label, each.key, pd.to_numeric(text.lstrip("<"), errors="coerce"))
        for each, shown in texts.items()
        for label, text in zip(labels, shown, strict=True)
    ]
    return pd.DataFrame(rows, columns=["label", "key", "value"])


def risk_section(source: Source) -> Section:
    blocks: list[DataTable | Figure | Group] = [
        _violins(source),
        Group("risk-group", "Further measures of risk", (_measures(source),)),
    ]
    if source.baseline is not None:
        # no model, no rise
        others = [
            label
            for label in source.run.schemes
            if label in source.labels and label != source.baseline
        ]
        rises = tuple(
            _whack_a_mole(source, number, label) for number, label in enumerate(others, 1)
        )
        blocks += (
            [Group("rises", "Whose risk rises, and whose falls, scheme by scheme", rises)]
            if rises
            else []
        )
    if source.view.internal:
        blocks.append(Group("riskiest-group", "The riskiest records", (_riskiest(source),)))
    text = (
        "A record is at risk when its synthetic value stays near its confidential one while few "
        "records that look the same "
        "to the intruder do. Identification risk runs from 0 to 1; higher is riskier. Expected "
        "risk is that of the mechanism, over all "
        "datasets that it could give; the figures show it. What is measured on the datasets at "
        "hand is called so: its maximum and its "
        "counts of records are mostly chance, and are shown beside the counts that chance makes "
        "likely. The main table is not repeated."
    )
    return Section("risk", "Risk", (text,), tuple(blocks))


def _measures(source: Source) -> DataTable:
    """A row per measure of the risk table that the main table does not have, a column per label."""
    before = {column.statistic for column in main_columns(source.run)}
    # those of one of several variables stand in a section of their own
    alone = gap_attack.MEASURES if len(source.variables) == 1 else ()
    found = [
        each
        for each in distinct(source.run.tables["risk"])
        if each.variable is None or each.measure in alone
    ]
    statistics = [each for each in found if each not in before]
    labels = [CONFIDENTIAL, *source.labels]
    rows = tuple(
        (plain(capital(in_words(statistic))), *source.by_label(statistic, labels, errors=True))
        for statistic in statistics
    )
    terms = tuple(source.glossary.risk(statistic) for statistic in statistics)
    symbols = tuple(symbol_of(statistic) for statistic in statistics)
    columns = (Column("Measure"), *(Column(plain(label)) for label in labels))
    note = withheld_note(source.withheld.get("risk", ()))
    return DataTable(
        "risk-measures",
        "Further measures of the risk of the records, by label",
        columns,
        rows,
        terms,
        note,
        symbols,
    ).without_repeats()


def _violins(source: Source) -> Figure:
    records, view = source.records, source.view
    rows = []
    for label, risk in records.items():
        histogram = merged_histogram(risk, view.binned or 1, limits=_UNIT).table()
        rows += [
            {"Label": label, "From": a, "Below": b, "Records": c}
            for a, b, c in histogram.to_numpy()
        ]
    cells = format_columns(pd.DataFrame(rows))
    means = ", ".join(f"{label} {risk.mean():.2f}" for label, risk in records.items())
    alternative = (
        f"Distribution of the expected identification risk of {len(records):,} records, one "
        "shape per label, on a scale from 0 to 1; "
        f"higher is riskier. Mean risk: {means}."
    )
    note = "The last bin of a label includes 1."
    table = make_table(
        "risk-histogram",
        "Records by expected identification risk",
        cells,
        source.glossary.columns(cells, _TERMS),
        note,
    )
    axes = plot_risk_violins(records, minimum_count=view.binned)
    terms = (source.glossary.fixed("risk"),)
    return Figure(
        "violins",
        "Expected identification risk by label",
        axes,
        plain(alternative),
        (table,),
        terms,
    )


def _whack_a_mole(source: Source, number: int, label: str) -> Figure:
    """Risk under a label against the unweighted one: records inside the agency, cells outside."""
    view, records, settings = source.view, source.records, source.run.study.evaluation
    baseline = str(source.baseline)
    options = {"baseline": baseline, "increase": settings.increase, "threshold": settings.threshold}
    axes = plot_whack_a_mole(records, label, minimum_count=view.binned, **options)  # type: ignore[arg-type]
    rise = risk_rise(records[label], records[baseline])
    flagged = int(whack_a_mole_records(records[label], records[baseline], settings.increase).sum())
    over = int((records[label] > settings.threshold).sum())
    alternative = (
        f"Expected identification risk under {label} against {baseline}, with the lines y = x, a "
        f"rise of {settings.increase:g} and the "
        f"threshold {settings.threshold:g}. Of {len(records):,} records, the risk of "
        f"{view.counted(flagged)} rose by "
        f"{settings.increase:g} or more, and that of {view.counted(over)} is over "
        f"{settings.threshold:g}. Mean risk "
        f"{records[baseline].mean():.2f} under {baseline}, {records[label].mean():.2f} under "
        f"{label}."
    )
    key = f"whack-{number}"
    table = _cells(source, key, label) if view.binned else _rises(source, key, label, rise)
    terms = (source.glossary.fixed("risk"), source.glossary.fixed("rise"))
    return Figure(
        key,
        plain(f"Expected rises and falls: {label} against {baseline}"),
        axes,
        plain(alternative),
        (table,),
        terms,
    )


def _cells(source: Source, key: str, label: str) -> DataTable:
    """The cells that a binned scatter shows."""
    x, y = source.records[str(source.baseline)], source.records[label]
    scatter = binned_scatter(x, y, source.view.minimum_count, x_limits=_UNIT, y_limits=_UNIT)
    names = [
        f"{source.baseline} from",
        f"{source.baseline} below",
        f"{label} from",
        f"{label} below",
        "Records",
    ]
    cells = format_columns(pd.DataFrame(scatter.table().to_numpy(), columns=names))
    hidden = (
        f"{scatter.hidden:,} records are in cells that are not shown, each of which may hold "
        f"fewer than {source.view.minimum_count}."
    )
    note = hidden if scatter.hidden else "All records are in the cells shown."
    return make_table(
        f"{key}-cells",
        f"Records by risk under {source.baseline} and {label}",
        cells,
        source.glossary.columns(cells, _TERMS),
        note,
    )


def _rises(source: Source, key: str, label: str, rise: pd.Series) -> DataTable:
    """Records of the largest rises, by row identifier."""
    top = rise.sort_values(ascending=False, kind="stable").head(_RISES)
    columns = {
        "Row": top.index,
        str(source.baseline): source.records.loc[top.index, source.baseline],
        label: source.records.loc[top.index, label],
    }
    cells = pd.DataFrame({**columns, "Rise": top}, index=None)
    shown = format_columns(cells, SHARE)
    shown["Row"] = [str(row) for row in top.index]
    terms = source.glossary.columns(shown, {**_TERMS, str(source.baseline): "risk", label: "risk"})
    return make_table(
        f"{key}-rises", f"The {len(top)} records of largest rise under {label}", shown, terms
    )


def _riskiest(source: Source) -> DataTable:
    """The riskiest records of each label, by row identifier."""
    records, rows = source.records, []
    heading = "Weight" if len(source.variables) == 1 else "Least weight"
    for label in source.labels:
        least = source.least_weight(label) if label in source.run.schemes else None
        for row in records[label].sort_values(ascending=False, kind="stable").head(_RISKIEST).index:
            weight = None if least is None else least.loc[row]
            modelled = source.baseline is not None and label in source.run.schemes
            rise = records.loc[row, label] - records.loc[row, source.baseline] if modelled else None
            cells = {"Label": label, "Row": str(row), "Risk": records.loc[row, label]}
            rows.append(
                {
                    **cells,
                    "Confidential risk": records.loc[row, CONFIDENTIAL],
                    "Rise": rise,
                    heading: weight,
                }
            )
    table = format_columns(pd.DataFrame(rows), SHARE)
    terms = source.glossary.columns(table, {**_TERMS, "Confidential risk": "risk"})
    return make_table(
        "riskiest",
        f"The {_RISKIEST} riskiest records of each label",
        table,
        terms,
        "Row: number of the record in the data, from 0.",
    )


def map_section(source: Source) -> Section:
    """Risk against utility of the labels, in up to two measures of each."""
    values, columns = main_table(source.run).drop(index=CONFIDENTIAL), main_columns(source.run)
    shown = U_M if len(source.variables) == 1 else TWO_WAY_MEAN
    distances = [column for column in columns if column.statistic.measure is shown]
    overlaps = [column for column in columns if column.overlap]
    chosen = [
        column for column in (*distances[:1], *overlaps[:1]) if values[column.name].notna().any()
    ]
    text = (
        "Left is safer. A label is on the Pareto front when no other is as good in both measures "
        "and better in one. The risk of the first "
        "maps is what an isolated record's own value teaches the fit, where there are fits: "
        "weights limit it, and it is no disclosure. "
        "That of the next ones is disclosure, beyond inference, where it was judged. A label "
        "that has no fit, or whose disclosure is not "
        "judged, is shown apart, off the front."
    )
    pairs = [
        (axis, each) for axis in _axes_of_maps(source, main_table(source.run)) for each in chosen
    ]
    maps = tuple(_map(source, number, *pair) for number, pair in enumerate(pairs, 1))
    first, further = maps[: len(chosen)], maps[len(chosen) :]
    folded = (
        (Group("map-group", "Maps by disclosure beyond inference", further),) if further else ()
    )
    return Section("map", "Risk against utility", (text,), (*first, *folded))


class _Axis(NamedTuple):
    """A risk axis: the measure, its values by label, NaN where a label lacks it, and what that
    means, "" where nothing.
    """

    column: SummaryColumn
    values: pd.Series
    lacking: str = ""


def _axes_of_maps(source: Source, exact: pd.DataFrame) -> list[_Axis]:
    """Information and disclosure beyond inference, each where some label has it; else expected
    risk.
    """
    information = SummaryColumn(Statistic(influence_measures.ISOLATED.key))
    disclosure = SummaryColumn(Statistic(disclosure_measures.MEAN.key))
    found, few = (
        [],
        not source.view.internal and source.view.few(Statistic(expected_measures.ISOLATED.key)),
    )
    if information.name in exact and not few:
        found.append(_Axis(information, exact[information.name], "no fit"))
    if disclosure.name in exact:
        unjudged = [
            each.label
            for each in source.verdicts
            if each.statistic == disclosure.statistic and each.verdict == NOT_JUDGED
        ]
        found.append(
            _Axis(disclosure, exact[disclosure.name].mask(exact.index.isin(unjudged)), "not judged")
        )
    found = [axis for axis in found if axis.values.drop(index=CONFIDENTIAL).notna().any()]
    column = SummaryColumn(
        Statistic((expected_measures.MEAN if few else expected_measures.ISOLATED).key)
    )
    return found or [_Axis(column, exact[column.name])]


def _map(source: Source, number: int, axis: _Axis, column: SummaryColumn) -> Figure:
    view, exact = source.view, main_table(source.run)
    utility = (
        f"overlap of intervals, {in_words(column.statistic)}"
        if column.overlap
        else in_words(column.statistic)
    )
    risk, values, higher, outside = axis.column.name, axis.values, column.overlap, not view.internal
    of_information = axis.column.measure is influence_measures.ISOLATED
    of_disclosure = axis.column.measure is disclosure_measures.MEAN
    shown = pd.DataFrame(
        {
            risk: values.map(_three_digits)
            if of_information
            else values.round(2 if of_disclosure and outside else 3),
            utility: exact[column.name].round((2 if outside else 3) if higher else 4),
        }
    )
    points = shown.drop(index=CONFIDENTIAL).dropna(subset=[utility] if axis.lacking else None)
    judged = points[risk].notna()
    front = judged.copy()
    front[judged] = pareto_front(
        points.loc[judged, risk].to_numpy(),
        points.loc[judged, utility].to_numpy() * (-1 if higher else 1),
    )
    measured = exact.loc[points.index]
    terms: dict[str, Term] = {
        _RISK_AXIS: source.glossary.summary(axis.column),
        utility: source.glossary.summary(column),
    }
    beside = SummaryColumn(Statistic(influence_measures.ATTRIBUTABLE_ISOLATED.key))
    attributable = {}
    if of_information and beside.name in measured:
        attributable[_ATTRIBUTABLE] = view.row(
            beside.statistic, measured[beside.name], missing=axis.lacking
        )
        terms[_ATTRIBUTABLE] = source.glossary.summary(beside)
    words = {str(label): overall(source.verdicts, str(label)) for label in points.index}
    cells = pd.DataFrame(
        {
            "Label": points.index,
            _RISK_AXIS: view.row(axis.column.statistic, values[points.index], missing=axis.lacking),
            **attributable,
            utility: view.overlaps(measured[column.name])
            if higher
            else view.row(column.statistic, measured[column.name]),
            "On the front": np.where(front, "yes", "no"),
            "Verdict": list(words.values()),
        }
    )
    better: Better = "higher" if higher else "lower"
    listed = "; ".join(
        f"{row['Label']} ({row['Verdict']}): risk {row[_RISK_AXIS]}, utility {row[utility]}"
        for _, row in cells.iterrows()
    )
    alternative = (
        f"Map of labels by {risk} (lower is better) and {utility} ({better} is better). {listed}. "
    )
    alternative += f"On the Pareto front: {', '.join(map(str, points.index[front]))}."
    table = make_table(f"map-{number}-table", f"{capital(risk)} and {utility}", cells, terms)
    error = None if outside or not of_disclosure else "standard error"
    if error is not None:
        shown[error] = by_label(source.run.tables["risk"], axis.column.statistic, "error").reindex(
            shown.index
        )
    axes = plot_risk_utility(shown, risk, utility, better=better, error=error, verdicts=words)
    called = plain(f"Risk-utility map: {in_words(axis.column.statistic)}, {utility}")
    return Figure(
        f"map-{number}", called, axes, plain(alternative), (table,), tuple(terms.values())
    )


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")
