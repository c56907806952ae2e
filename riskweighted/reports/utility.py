"""What the synthetic data is still good for: intervals, distributions, and whom the weights protect."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.errors import InputError
from riskweighted.common.text import plain
from riskweighted.evaluation.tables import Statistic, distinct, rows_of, statistics_of
from riskweighted.measures.measure import Measure
from riskweighted.plots.utility import plot_intervals
from riskweighted.reports.blocks import DataTable, Figure, Group, Section, make_table
from riskweighted.reports.disclosure import View, withheld_note
from riskweighted.reports.source import Source
from riskweighted.reports.variables import drawn, variable_blocks

__all__ = ["utility_section"]

_MEASURE_TERMS = {"Estimate": "estimate", "Lower": "interval", "Upper": "interval", "Overlap": "overlap"}


def utility_section(source: Source) -> Section:
    """Regressions, then variable by variable: estimates with intervals, and distributions. Distances stand in the main table."""
    table = source.run.tables["utility"]
    estimated = [one for one in distinct(table[table["lower"].notna()]) if not one.measure.many]
    figures = {one: _intervals(source, place, one) for place, one in enumerate(estimated, 1)}
    blocks: list[DataTable | Figure | Group] = [*_regressions(source)]
    blocks += [figure for one, figure in figures.items() if one.variable not in source.variables]
    for place, variable in enumerate(source.variables, 1):
        own = [figure for one, figure in figures.items() if one.variable == variable]
        parts = (*own, *_share_intervals(source, place, variable), *variable_blocks(source, place, variable))
        blocks += parts if len(source.variables) == 1 else (Group(f"variable-{place}", plain(variable), parts),)
    text = (
        "How near the synthetic data comes to what the confidential data would have told; distances and overlaps stand in the main table."
    )
    withheld = withheld_note(source.withheld.get("utility", 0))
    return Section("utility", "Utility", (text, withheld) if withheld else (text,), tuple(blocks))


def _many(table: pd.DataFrame, parameter: str) -> pd.DataFrame:
    """The rows of measures with a row for each level, or each coefficient: a table, no figures."""
    measures: list[Measure] = [one.measure for one in statistics_of(table)]
    return table[[one.many and one.parameter == parameter for one in measures]]


def _share_intervals(source: Source, place: int, variable: str) -> list[DataTable]:
    """Shares of levels, of missing values and of codes, with intervals; nothing where none may be shown."""
    table = source.run.tables["utility"]
    rows = _many(table, "level")
    rows = rows[(rows["variable"] == variable) & rows["lower"].notna()]
    if rows.empty:
        return []
    statistics, view = statistics_of(rows), source.view
    columns = {"Share": [one.label for one in statistics], "Label": rows["label"].tolist()}
    columns |= _with_ends(view, rows)
    cells = pd.DataFrame({**columns, "Overlap": view.overlaps(rows["overlap"]), "Rule": rows["rule"].tolist()})
    key = "shares" if place == 1 else f"shares-{place}"
    return [make_table(key, f"Shares of records, {variable}", cells, source.glossary.columns(cells, _MEASURE_TERMS))]


def _regressions(source: Source) -> list[DataTable]:
    """All coefficients with their intervals; nothing without a list of regressions."""
    view, table = source.view, source.run.tables["utility"]
    rows = _many(table, "coefficient")
    if rows.empty:
        return []
    columns = {"Coefficient": [one.label for one in statistics_of(rows)], "Label": rows["label"].tolist()}
    columns |= _with_ends(view, rows)
    cells = pd.DataFrame({**columns, "Overlap": view.overlaps(rows["overlap"]), "Rule": rows["rule"].tolist()})
    terms = source.glossary.columns(cells, _MEASURE_TERMS)
    return [make_table("coefficients", "Regressions: coefficients", cells, terms)]


def _intervals(source: Source, place: int, statistic: Statistic) -> Figure:
    view, utility = source.view, source.run.tables["utility"]
    rows = rows_of(utility, statistic)
    cells = pd.DataFrame(
        {"Label": rows["label"], **_with_ends(view, rows), "Overlap": view.overlaps(rows["overlap"]), "Rule": rows["rule"]}
    )
    key, name = f"interval-{place}", plain(statistic.name)
    terms = source.glossary.columns(cells, _MEASURE_TERMS)
    table = make_table(f"{key}-table", f"Intervals: {name}", cells, terms, _weighted_note(source, statistic))
    listed = "; ".join(f"{row['Label']} {row['Estimate']} ({row['Lower']} to {row['Upper']})" for _, row in cells.iterrows())
    alternative = f"Estimate and interval of {name} for each label, over a band for the confidential interval: {listed}."
    coarse = view.utility(utility)

    def draw() -> Axes:
        if statistic not in distinct(coarse):
            raise InputError(f"fewer than {view.minimum_count} confidential records share the first digit of {name} or of its interval")
        return plot_intervals(rows_of(coarse, statistic), statistic.label)

    return drawn(key, f"Intervals: {name}", draw, alternative, (table,), (source.glossary.utility(statistic),))


def _with_ends(view: View, rows: pd.DataFrame) -> dict[str, list[str]]:
    """Estimates and the ends of their intervals, all of one statistic with the same decimals."""
    statistics, names = statistics_of(rows), ["value", "lower", "upper"]
    shown = pd.DataFrame("", rows.index, names)
    for one in dict.fromkeys(statistics):
        own = [other == one for other in statistics]
        texts = view.row(one, rows.loc[own, names].to_numpy().ravel())
        shown.loc[own, names] = np.array(texts, dtype=object).reshape(-1, len(names))
    return dict(zip(("Estimate", "Lower", "Upper"), (shown[name].tolist() for name in names), strict=True))


def _weighted_note(source: Source, statistic: Statistic) -> str:
    """What the weights do to the interval, for the schemes that have any below 1."""
    below = [scheme for scheme in source.run.schemes if (source.least_weight(scheme) < 1).any()]
    sentence = statistic.measure.weighted
    return f"{', '.join(below)}: {sentence[:1].lower()}{sentence[1:]}" if below and sentence else ""
