"""What the synthetic data is still good for: intervals, distributions, and whom the weights
protect.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.text import plain
from riskweighted.evaluation.measure_rows import Statistic, distinct, rows_of, statistics_of
from riskweighted.measures import analyses
from riskweighted.measures.measure import Measure
from riskweighted.measures.variance_ratio import RATIO
from riskweighted.plots.coefficients import plot_coefficients
from riskweighted.plots.utility_plots import plot_intervals
from riskweighted.reports.output_rules import View, withheld_note
from riskweighted.reports.page_blocks import DataTable, Figure, Group, Section, make_table
from riskweighted.reports.source import Source
from riskweighted.reports.variable_section import try_figure, variable_blocks
from riskweighted.weights.scheme_names import is_centred

__all__ = ["utility_section"]

_CENTRED = (
    "weights are centred, so they do not bias it where the model suits the data; where it does "
    "not, they still do."
)
_MEASURE_TERMS = {
    "Estimate": "estimate",
    "Lower": "interval",
    "Upper": "interval",
    "Overlap": "overlap",
}


def utility_section(source: Source) -> Section:
    """Regressions, then variable by variable: estimates with intervals, and distributions.
    Distances stand in the main table.
    """
    table = source.run.tables["utility"]
    estimated = [each for each in distinct(table[table["lower"].notna()]) if not each.measure.many]
    figures = {each: _intervals(source, number, each) for number, each in enumerate(estimated, 1)}
    tables = (*_regressions(source), *_ratios(source))
    blocks: list[DataTable | Figure | Group] = [
        figure for each, figure in figures.items() if each.variable not in source.variables
    ]
    blocks += _forest(source, tables)
    blocks += (
        [Group("estimates", "Coefficients, and what centred weights cost estimates", tables)]
        if tables
        else []
    )
    for number, variable in enumerate(source.variables, 1):
        estimates = [figure for each, figure in figures.items() if each.variable == variable]
        parts = (
            *estimates,
            *_share_intervals(source, number, variable),
            *variable_blocks(source, number, variable),
        )
        if len(source.variables) > 1:
            blocks.append(Group(f"variable-{number}", plain(variable), parts))
            continue
        weights = tuple(part for part in parts if part.key == "weights")
        blocks += [part for part in parts if part not in weights]
        blocks += [Group("weights-group", "Weights of the records", weights)] if weights else []
    text = (
        "How near results from the synthetic data are to those from the confidential data; "
        "distances and overlaps are in the main table."
    )
    withheld = withheld_note(source.withheld.get("utility", ()))
    return Section("utility", "Utility", (text, withheld) if withheld else (text,), tuple(blocks))


def _many(table: pd.DataFrame, parameter: str) -> pd.DataFrame:
    """The rows of measures with a row for each level, or each coefficient: a table, no figures."""
    measures: list[Measure] = [each.measure for each in statistics_of(table)]
    return table[[each.many and each.parameter == parameter for each in measures]]


def _interval_table(
    source: Source, key: str, caption: str, rows: pd.DataFrame, heading: str = "", note: str = ""
) -> DataTable:
    """Estimates with their intervals, overlaps and rules, by label; under a `heading` the
    statistics of the rows.
    """
    named = {heading: [each.label for each in statistics_of(rows)]} if heading else {}
    overlaps = {"Overlap": source.view.overlaps(rows["overlap"]), "Rule": rows["rule"].tolist()}
    cells = pd.DataFrame(
        {**named, "Label": rows["label"].tolist(), **_with_ends(source.view, rows), **overlaps}
    )
    return make_table(key, caption, cells, source.glossary.columns(cells, _MEASURE_TERMS), note)


def _share_intervals(source: Source, number: int, variable: str) -> list[DataTable]:
    """Shares of levels, of missing values and of codes, with intervals; nothing where none may be
    shown.
    """
    rows = _many(source.run.tables["utility"], "level")
    rows = rows[(rows["variable"] == variable) & rows["lower"].notna()]
    key = "shares" if number == 1 else f"shares-{number}"
    return (
        []
        if rows.empty
        else [_interval_table(source, key, f"Shares of records, {variable}", rows, "Share")]
    )


def _regressions(source: Source) -> list[DataTable]:
    """All coefficients of regressions, and the estimates of analyses, with their intervals; nothing
    without a list of either.
    """
    rows = _many(source.run.tables["utility"], "coefficient")
    rows = rows[rows["key"] == analyses.ESTIMATE.key]
    own = rows["variable"].isna()  # a regression is of its response
    told = (
        ("coefficients", "Regressions: coefficients", rows[~own], "Coefficient"),
        ("analyses", "Analyses: estimates", rows[own], "Estimate of"),
    )
    return [
        _interval_table(source, key, title, some, what)
        for key, title, some, what in told
        if not some.empty
    ]


def _forest(source: Source, tables: Sequence[DataTable]) -> list[Figure]:
    """All coefficients of the regressions in one figure, those whose intervals keep an end on
    either side once they are rounded; nothing without a list of regressions.
    """
    if not any(table.key == "coefficients" for table in tables):
        return []
    coarse = source.view.utility(source.run.tables["utility"])
    rows = coarse[coarse["key"] == analyses.ESTIMATE.key]
    whole = _spans(rows).groupby([rows["variable"], rows["term"]], dropna=False).transform("all")
    alternative = (
        "Every coefficient of the regressions with its interval, by scheme, as its distance from "
        "the confidential estimate; the band is the confidential interval. The numbers are in "
        "the table of coefficients."
    )
    return [
        try_figure(
            "coefficients-figure",
            "Coefficients of all regressions",
            lambda: plot_coefficients(rows[whole]),
            alternative,
            (),
        )
    ]


def _ratios(source: Source) -> list[DataTable]:
    """What centred weights cost each estimate; nothing where no scheme is centred, or outside."""
    table = source.run.tables["utility"]
    rows = table[table["key"] == RATIO.key]
    if rows.empty:
        return []
    estimands = [f"{each.term}, {each.variable}" for each in statistics_of(rows)]
    ratios = [f"{value:.2f}" if np.isfinite(value) else "not judged" for value in rows["value"]]
    cells = pd.DataFrame(
        {"Label": rows["label"].tolist(), "Estimate of": estimands, "Variance ratio": ratios}
    )
    note = (
        "Variance under the weights over that without. A release states the largest, rounded up "
        "to .1: its users multiply vbar by it."
    )
    return [
        make_table(
            "variance-ratios",
            "What centred weights cost estimates",
            cells,
            source.glossary.columns(cells, {}),
            note,
        )
    ]


def _intervals(source: Source, number: int, statistic: Statistic) -> Figure:
    view, utility = source.view, source.run.tables["utility"]
    key, name = f"interval-{number}", plain(statistic.name)
    note = _weighted_note(source, statistic)
    table = _interval_table(
        source, f"{key}-table", f"Intervals: {name}", rows_of(utility, statistic), note=note
    )
    listed = "; ".join(
        f"{label} {estimate} ({lower} to {upper})"
        for label, estimate, lower, upper, *_ in table.rows
    )
    alternative = (
        f"Estimate and interval of {name} for each label, over a band for the confidential "
        f"interval: {listed}."
    )
    coarse = view.utility(utility)

    def draw() -> Axes:
        if statistic not in distinct(coarse):
            raise InputError(
                f"fewer than {view.minimum_count} confidential records share the first digit of "
                f"{name} or of its interval"
            )
        shown = rows_of(coarse, statistic)
        # rounding ate an interval
        if (_spans(rows_of(utility, statistic).loc[shown.index]) & ~_spans(shown)).any():
            raise InputError(
                f"intervals of {name} are narrower than the digits that may be shown; what they "
                "share is in the main table"
            )
        return plot_intervals(shown, statistic.label)

    return try_figure(
        key,
        f"Intervals: {name}",
        draw,
        alternative,
        (table,),
        (source.glossary.utility(statistic),),
    )


def _spans(rows: pd.DataFrame) -> pd.Series:
    """Whether an interval lies on both sides of its estimate."""
    return (rows["lower"] < rows["value"]) & (rows["value"] < rows["upper"])


def _with_ends(view: View, rows: pd.DataFrame) -> dict[str, list[str]]:
    """Estimates and the ends of their intervals, all of one statistic with the same decimals."""
    statistics, names = statistics_of(rows), ["value", "lower", "upper"]
    shown = pd.DataFrame("", rows.index, names)
    for each in dict.fromkeys(statistics):
        alike = [other == each for other in statistics]
        texts = view.row(each, rows.loc[alike, names].to_numpy().ravel())
        shown.loc[alike, names] = np.array(texts, dtype=object).reshape(-1, len(names))
    return dict(
        zip(("Estimate", "Lower", "Upper"), (shown[name].tolist() for name in names), strict=True)
    )


def _weighted_note(source: Source, statistic: Statistic) -> str:
    """What the weights do to the interval, for the schemes that have any below 1."""
    sentence = statistic.measure.weighted
    below = (
        [scheme for scheme in source.run.schemes if (source.least_weight(scheme) < 1).any()]
        if sentence
        else []
    )
    plainly, centred = (
        [scheme for scheme in below if is_centred(scheme) == asked] for asked in (False, True)
    )
    told = [f"{', '.join(plainly)}: {sentence[:1].lower()}{sentence[1:]}"] if plainly else []
    return " ".join([*told, *([f"{', '.join(centred)}: {_CENTRED}"] if centred else [])])
