"""Several synthesized variables: their tables, and the risk of each where it is looked for alone;
the main table has the whole file.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from riskweighted.common.text import plain
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, Statistic, by_label, distinct
from riskweighted.measures import gap_attack, identification_measures
from riskweighted.measures.cross_tables import ONE_WAY, TWO_WAY
from riskweighted.plots.conditional import plot_conditional
from riskweighted.plots.two_way_plot import plot_two_way
from riskweighted.reports.page_blocks import Column, DataTable, Figure, Group, Section, make_table
from riskweighted.reports.source import Source
from riskweighted.reports.variable_section import try_figure
from riskweighted.reports.wording import capital
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["has_several", "several_section"]

_ANOTHER = "another variable"  # in the one definition for all pairs
_FARTHEST = 3  # pairs named in words
_ALONE = (identification_measures.MEAN, identification_measures.ISOLATED, *gap_attack.MEASURES)


def has_several(source: Source) -> bool:
    """Whether a run measured what this section shows."""
    return TWO_WAY.key in set(source.run.tables["utility"]["key"])


def several_section(source: Source) -> Section:
    text = (
        "A table is compared with the confidential one by how well it distinguishes the files, "
        "over what chance alone would give: an "
        "S_pMSE of 1 to 2 is chance, more is a difference. Numbers are cut into fifths. The risk "
        "of one variable is that of an "
        "intruder who looks for it alone; the section on risk has that of all together."
    )
    blocks = (
        _one_way(source),
        *_two_way(source),
        Group(
            "conditional-group", "Variables within groups of others", tuple(_conditional(source))
        ),
        Group("own-risk-group", "Risk of each variable alone", (_own_risk(source),)),
    )
    return Section("several", "Several variables", (text,), blocks)


def _columns(headings: Sequence[str], labels: list[str]) -> tuple[Column, ...]:
    return tuple(Column(plain(name)) for name in (*headings, *labels))


def _one_way(source: Source) -> DataTable:
    statistics = [
        each for each in distinct(source.run.tables["utility"]) if each.measure is ONE_WAY
    ]
    rows = tuple(
        (plain(str(each.variable)), *source.by_label(each, source.labels)) for each in statistics
    )
    terms = (source.glossary.utility(statistics[0], shared=True),) * len(rows) if rows else ()
    return DataTable(
        "one-way",
        "One-way S_pMSE, by variable and label",
        _columns(["Variable"], source.labels),
        rows,
        terms,
    )


def _own_risk(source: Source) -> DataTable:
    """The risk of each variable alone, of the confidential data too."""
    labels = [CONFIDENTIAL, *source.labels]
    statistics = [
        each
        for each in distinct(source.run.tables["risk"])
        if each.variable is not None and each.measure in _ALONE
    ]
    rows = tuple(
        (plain(str(each.variable)), capital(each.label), *source.by_label(each, labels))
        for each in statistics
    )
    terms = tuple(source.glossary.risk(each) for each in statistics)
    return DataTable(
        "own-risk",
        "Risk of each variable alone, by label",
        _columns(["Variable", "Measure"], labels),
        rows,
        terms,
    )


def _two_way(source: Source) -> list[Figure | Group]:
    """The pairs under the first weighted scheme, with all in its table, and folded under the other
    labels.
    """
    first = _first(source)
    others = [label for label in source.labels if label != first]
    figures = tuple(_pairs(source, label, number) for number, label in enumerate(others, 2))
    folded = [Group("two-way-group", "Pairs under the other schemes", figures)] if figures else []
    return [_pairs(source, first, 1), *folded]


def _first(source: Source) -> str:
    """The first weighted scheme, or the first label."""
    return next((name for name in source.labels if name != UNWEIGHTED), source.labels[0])


def _pairs(source: Source, label: str, number: int) -> Figure:
    """The pairs under one label; the `number`-th figure, of which the first has the table."""
    utility = source.run.tables["utility"]
    pairs = [each for each in distinct(utility) if each.measure is TWO_WAY]
    cells = pd.DataFrame(
        [(each.variable, each.term, *source.by_label(each, source.labels)) for each in pairs],
        columns=["Variable", "With", *source.labels],
    )
    table = make_table("two-way-table", "Two-way S_pMSE, by pair and label", cells)
    term = source.glossary.utility(pairs[0]._replace(term=_ANOTHER), shared=True)
    draw = partial(plot_two_way, source.view.utility(utility), label)
    alternative = _in_words(source, pairs, label)
    key, tables = ("two-way", (table,)) if number == 1 else (f"two-way-{number}", ())
    return try_figure(key, f"Two-way tables under {label}", draw, alternative, tables, (term,))


def _conditional(source: Source) -> list[Figure]:
    """How variables are distributed within groups of others, of the pairs that are farthest from
    the confidential ones under the first weighted scheme.
    """
    utility, label = source.run.tables["utility"], _first(source)
    pairs = [each for each in distinct(utility) if each.measure is TWO_WAY]
    values = {each: by_label(utility, each).get(label, np.nan) for each in pairs}
    farthest = sorted(
        (each for each in pairs if not np.isnan(values[each])), key=lambda each: -values[each]
    )[:_FARTHEST]
    figures = []
    for number, each in enumerate(farthest, 1):
        variable, given = str(each.variable), str(each.term)
        alternative = (
            f"Distribution of {variable} within groups of {given}: grey bars for the confidential "
            "data, a marker for each scheme."
        )
        draw = partial(
            plot_conditional,
            source.confidential,
            source.run.synthetic,
            variable,
            given,
            minimum_count=source.view.binned,
        )
        title = f"{variable} by {given}"
        figures.append(try_figure(f"conditional-{number}", title, draw, alternative, ()))
    return figures


def _in_words(source: Source, pairs: list[Statistic], label: str) -> str:
    """What the figure shows, with the three pairs that are farthest from the confidential ones."""
    utility = source.run.tables["utility"]
    values = {each: by_label(utility, each).get(label, np.nan) for each in pairs}
    farthest = sorted(
        (each for each, value in values.items() if not np.isnan(value)),
        key=lambda each: -values[each],
    )[:_FARTHEST]
    listed = ", ".join(
        f"{each.variable} with {each.term} {source.view.row(each, [values[each]])[0]}"
        for each in farthest
    )
    return (
        f"S_pMSE of the table of every pair of variables under {label}, darker where it is "
        f"larger. The largest: {listed}."
    )
