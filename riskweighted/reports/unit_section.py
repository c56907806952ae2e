"""Records that belong together: how alike the members of units are, how a panel goes on, and how
far couples are apart, confidential and synthetic.
"""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from riskweighted.common.text import plain
from riskweighted.common.units import Arrangement
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, distinct
from riskweighted.intruder.statuses import find_statuses
from riskweighted.measures.unit_measures import ALIKE, DECILE, INTERCEPT, PAIR, TOTAL, WAVES
from riskweighted.plots.panel_plot import plot_waves
from riskweighted.plots.utility_plots import plot_density
from riskweighted.reports.page_blocks import Column, DataTable, Figure, Section
from riskweighted.reports.source import Source
from riskweighted.reports.variable_section import try_figure
from riskweighted.reports.wording import capital
from riskweighted.utility.within_units import pairs_with_first

__all__ = ["has_units", "units_section"]

_MEASURES = (ALIKE, PAIR, WAVES, TOTAL, DECILE, INTERCEPT)


def has_units(source: Source) -> bool:
    """Whether a run measured what this section shows."""
    return any(each.measure in _MEASURES for each in distinct(source.run.tables["utility"]))


def units_section(source: Source) -> Section:
    units = source.run.study.units
    assert units is not None
    of = units.arranged(source.confidential)
    what = "waves of a person or firm" if of.times is not None else "members of a unit"
    text = (
        f"How alike {what} are, in the confidential data and in the datasets (means over them); "
        "figures of single columns do not see it."
    )
    if source.view.internal:
        text += f" {len(of.sizes):,} units of {of.sizes.min()} to {of.sizes.max()} records."
    figures = [
        figure
        for number, variable in enumerate(source.variables, 1)
        if source.is_numeric(variable) and variable not in units.unit_level
        for figure in (
            [_waves(source, number, variable)]
            if of.times is not None
            else _gaps(source, number, variable, of)
        )
    ]
    return Section("units", "Units", (text,), (_table(source), *figures))


def _table(source: Source) -> DataTable:
    """Every figure of units, of the confidential data and by label."""
    labels = [CONFIDENTIAL, *source.labels]
    statistics = [
        each for each in distinct(source.run.tables["utility"]) if each.measure in _MEASURES
    ]
    rows = tuple(
        (plain(str(each.variable)), capital(each.label), *source.by_label(each, labels))
        for each in statistics
    )
    terms = tuple(source.glossary.utility(each, shared=True) for each in statistics)
    headings = tuple(Column(plain(name)) for name in ("Variable", "Measure", *labels))
    return DataTable("units-alike", "Units: by variable and label", headings, rows, terms)


def _waves(source: Source, number: int, variable: str) -> Figure:
    """The autocorrelation by lag."""
    utility = source.view.utility(source.run.tables["utility"])
    first = Statistic(WAVES.key, variable, term="lag 1")
    shown = ", ".join(
        f"{label} {value}"
        for label, value in zip(
            [CONFIDENTIAL, *source.labels],
            source.by_label(first, [CONFIDENTIAL, *source.labels]),
            strict=True,
        )
    )
    return try_figure(
        f"waves-{number}",
        f"{variable} by waves apart",
        partial(plot_waves, utility, variable),
        f"Correlation of {variable} with itself, by how many waves lie between. At one: {shown}.",
        (),
    )


def _gaps(source: Source, number: int, variable: str, of: Arrangement) -> Iterator[Figure]:
    """How far the first member is from each single other one, as a distribution."""
    true = _differences(source, variable, source.confidential, of)
    drawn_ones = {
        scheme: [_differences(source, variable, frame, of) for frame in frames]
        for scheme, frames in source.run.synthetic.items()
    }
    for place, (who, gaps) in enumerate(true.items(), 1):
        others = {
            scheme: [each[who] for each in sets if who in each]
            for scheme, sets in drawn_ones.items()
        }
        yield try_figure(
            f"gap-{number}-{place}",
            f"{variable}: first member less {who}",
            partial(
                plot_density,
                gaps,
                others,
                str(gaps.columns[0]),
                minimum_count=source.view.binned,
            ),
            f"Distribution of the first member's {variable} less that of {who}, confidential and "
            "synthetic.",
            (),
        )


def _differences(
    source: Source, variable: str, frame: pd.DataFrame, of: Arrangement
) -> dict[str, pd.DataFrame]:
    """The first member's amount less that of each single other one, by who that is."""
    values = find_statuses(frame[variable], source.codes(variable)).numbers
    return {
        who: pd.DataFrame({f"{variable}: first member less {who}": first - other})
        for who, first, other in pairs_with_first(values, of)
    }
