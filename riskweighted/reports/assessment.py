"""An assessment of any tools' synthetic data as an HTML page: may it leave, and all that was
measured, for the agency alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from riskweighted.common.numbers import format_columns
from riskweighted.common.text import plain
from riskweighted.evaluation.assess import Assessment
from riskweighted.evaluation.measure_rows import Statistic, distinct, rows_of, statistics_of
from riskweighted.evaluation.verdicts import PASS, REFUSE
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import find_statuses
from riskweighted.measures import disclosure_measures
from riskweighted.measures.closest import COPIES
from riskweighted.measures.correct_attribution import DCAP
from riskweighted.measures.cross_tables import DISTANCE
from riskweighted.measures.distributions import TOTAL_VARIATION, U_M
from riskweighted.measures.identification_measures import MEAN as MEAN_RISK
from riskweighted.measures.measure import Measure
from riskweighted.plots.level_plot import plot_levels
from riskweighted.plots.risk_utility import plot_risk_utility
from riskweighted.plots.utility_plots import plot_density, plot_ecdf
from riskweighted.reports.glossary import Glossary, ball_rule
from riskweighted.reports.output_rules import INTERNAL
from riskweighted.reports.page_blocks import (
    Answer,
    Cell,
    Column,
    DataTable,
    Figure,
    Figures,
    Group,
    Judged,
    Section,
    Term,
    make_table,
)
from riskweighted.reports.render import make_page
from riskweighted.reports.tool_verdicts import reason_and_next, verdicts_of
from riskweighted.reports.variable_section import try_figure
from riskweighted.reports.wording import capital, in_words, symbol_of

__all__ = ["Assessed", "assessment_page", "draw_map"]

_DISCLOSURE: Mapping[Measure, str] = {  # and its column in the table of disclosure
    disclosure_measures.MEAN: "D",
    disclosure_measures.WITH: "with",
    disclosure_measures.OUT: "out",
    disclosure_measures.NONE: "none",
    disclosure_measures.PERSONS: "persons",
}
_HEADINGS = {
    "label": "Tool",
    "with": "Guessed",
    "out": "Without own value",
    "none": "Without release",
    "constant": "By one value",
    "upper": "Upper 95 %",
    "se": "Standard error",
    "D": "D",
}
# that stand in the answer
_RISKS, _COSTS = (MEAN_RISK, DCAP, COPIES), (U_M, TOTAL_VARIATION, DISTANCE)


@dataclass(frozen=True)
class Assessed:
    """What a page is made from: the measures, the table of disclosure, the scenario; ``files`` by
    tool and SHA-256; ``notes`` on the data; ``folds``: the command that makes what a verdict needs;
    ``measures``: the names of those of the map, None for the usual ones; ``synthetic``: every
    tool's datasets, drawn beside the ``confidential`` data."""

    result: Assessment
    disclosure: pd.DataFrame
    scenario: Scenario
    records: int
    files: pd.DataFrame
    notes: Sequence[str]
    folds: str
    measures: tuple[str | None, str | None] = (None, None)
    confidential: pd.DataFrame | None = None
    synthetic: Mapping[str, Sequence[pd.DataFrame]] = field(default_factory=dict)

    @property
    def first(self) -> pd.DataFrame:
        """What stands first of each tool: all records, as the files leave."""
        wanted = ["verdict", "why", "nearly_copied", "upper", "se", *_DISCLOSURE.values()]
        return self.disclosure.drop_duplicates("label").set_index("label").reindex(columns=wanted)


def assessment_page(given: Assessed) -> str:
    """The page; it names records, so it never leaves."""
    glossary = Glossary(given.scenario)
    answer = _answer(given, glossary)
    sections = [
        _disclosure(given),
        _risk(given, glossary),
        _utility(given, glossary),
        _map(given),
        _about(given),
    ]
    title = f"Synthetic {', '.join(given.scenario.synthetic)} by {', '.join(given.first.index)}"
    kind = "Assessment, for the agency alone: figures are as they are, and records are named."
    return make_page(title, kind, answer, sections, glossary, internal=True)


def _answer(given: Assessed, glossary: Glossary) -> Answer:
    told = verdicts_of(given.disclosure)
    why, following = reason_and_next(told, given.folds)
    states = {PASS: "pass", REFUSE: "fail"}
    judged = [
        Judged(
            plain(label),
            capital(each.word),
            states.get(each.word, ""),
            plain(capital("; ".join(filter(None, (each.figure, each.why))))),
        )
        for label, each in told.items()
    ]
    alarms = [f"{note}." for note in given.notes]
    said = (
        f"The intruder knows {', '.join(given.scenario.known) or 'nothing'} of a record and "
        "looks for its "
        f"{', '.join(given.scenario.synthetic)}. The verdict is of our attacks on all datasets "
        "of a tool, beyond what they would find had "
        "the person's value never been used; it guarantees nothing against others. Not judged is "
        "no pass."
    )
    left_out = [
        f"Left out of {label}, whose rows do not pair with the confidential ones ({reason}): "
        "what needs pairs."
        for label, reason in given.result.unpaired.items()
    ]
    labels = list(dict.fromkeys([*told, *given.result.measures["label"]]))
    figures = (
        *_figures_beyond(given, glossary, labels),
        *_figures_measured(given, glossary, labels),
    )
    note = (
        "The tools are compared with yardsticks: the confidential data as they are, and values "
        "that are independent of what is known."
    )
    texts = tuple(plain(text) for text in (said, *left_out))
    return Answer(
        "Tool",
        tuple(map(plain, alarms)),
        tuple(judged),
        plain(why),
        plain(following),
        texts,
        _plain(labels),
        figures,
        (),
        note,
    )


def _plain(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(plain, labels))


def _figures_beyond(
    given: Assessed, glossary: Glossary, labels: Sequence[str]
) -> Iterator[Figures]:
    """A row a figure of disclosure beyond inference that any tool has."""
    for measure, column in _DISCLOSURE.items():
        values = pd.to_numeric(given.first[column], errors="coerce").reindex(labels)
        if values.notna().any():
            statistic = Statistic(measure.key)
            errors = (
                pd.to_numeric(given.first["se"], errors="coerce").reindex(labels)
                if measure is disclosure_measures.MEAN
                else ()
            )
            cells = INTERNAL.row(
                statistic,
                np.ceil(values) if measure is disclosure_measures.PERSONS else values,
                errors,
            )
            term = glossary.of_risk(statistic, statistic.define())
            yield Figures(
                plain(capital(in_words(statistic))),
                symbol_of(statistic),
                "",
                term,
                tuple(map(Cell, cells)),
            )


def _figures_measured(
    given: Assessed, glossary: Glossary, labels: Sequence[str]
) -> Iterator[Figures]:
    """A row a risk, and a row a cost of every variable and of the file."""
    for table, shown in ((given.result.measures, _RISKS), (given.result.utility, _COSTS)):
        found = distinct(table)
        for statistic in (each for measure in shown for each in found if each.measure is measure):
            name = f"cost: {in_words(statistic)}" if statistic.of_utility else in_words(statistic)
            term = _term(glossary, table, statistic)
            cells = INTERNAL.row(
                statistic, rows_of(table, statistic).set_index("label")["value"].reindex(labels)
            )
            yield Figures(
                plain(capital(name)), symbol_of(statistic), "", term, tuple(map(Cell, cells))
            )


def _term(glossary: Glossary, table: pd.DataFrame, statistic: Statistic) -> Term:
    """By the definition and the rules that the table has."""
    rows = rows_of(table, statistic)
    definition = str(rows["definition"].iloc[0])
    return glossary.of(statistic, definition, rows["rule"].dropna())


def _disclosure(given: Assessed) -> Section:
    """What every attack found, by variable and group."""
    table = given.disclosure.dropna(axis="columns", how="all")
    shown = table[
        [
            name
            for name in table
            if name not in ("verdict", "why", "nearly_copied", "persons", "seed")
        ]
    ]
    whole = make_table(
        "disclosure-rows", "Disclosure beyond inference, by variable and group", _in_words(shown)
    )
    text = (
        "Attacks on all datasets of a tool name the values of some records. D is the share that "
        "they name less the share that they would "
        "name had the record's value not been used: what is about the person. Beside it is "
        "the share that public statistics, or one value for all, name."
    )
    return Section(
        "disclosure",
        "Disclosure beyond inference",
        (text,),
        (Group("disclosure-group", "By variable and group", (whole,)),),
    )


def _side_by_side(key: str, caption: str, table: pd.DataFrame, glossary: Glossary) -> DataTable:
    """A row a measure, a column a label."""
    labels = [str(label) for label in table["label"].unique()]
    statistics = distinct(table)
    rows = []
    for statistic in statistics:
        values = rows_of(table, statistic).set_index("label")["value"].reindex(labels)
        rows.append((plain(capital(in_words(statistic))), *INTERNAL.row(statistic, values)))
    columns = (Column("Measure"), *(Column(plain(label)) for label in labels))
    terms = tuple(_term(glossary, table, statistic) for statistic in statistics)
    return DataTable(
        key, caption, columns, tuple(rows), terms, symbols=tuple(map(symbol_of, statistics))
    )


def _risk(given: Assessed, glossary: Glossary) -> Section:
    measures = _side_by_side(
        "risk-measures",
        f"Disclosure risk ({given.scenario.boundary} balls)",
        given.result.measures,
        glossary,
    )
    blocks: list[DataTable | Figure | Group] = [measures]
    if len(given.result.riskiest):
        riskiest = given.result.riskiest.reset_index()
        riskiest["record"] = riskiest["record"].astype(str)
        tables = (
            make_table(
                "riskiest", "The riskiest records of each tool", _in_words(_label_first(riskiest))
            ),
            make_table(
                "contributions",
                "What each known variable adds",
                _in_words(_label_first(given.result.contributions)),
            ),
        )
        blocks.append(
            Group("records", "The riskiest records, and what each known variable adds", tables)
        )
    text = (
        "Each measure is shown beside the yardsticks. Identification and match risk need rows "
        "that pair."
    )
    return Section("risk", "Risk", (text,), tuple(blocks))


def _in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers as people read them, and columns by what they hold."""
    return format_columns(table, missing="n/a").rename(
        columns=lambda name: _HEADINGS.get(name, capital(str(name).replace("_", " ")))
    )


def _label_first(table: pd.DataFrame) -> pd.DataFrame:
    return table[["label", *(name for name in table if name != "label")]]


def _utility(given: Assessed, glossary: Glossary) -> Section:
    """Every measure of utility; tables of each variable and pair folded."""
    table = given.result.utility
    many = np.array([statistic.measure.many for statistic in statistics_of(table)])
    blocks: list[DataTable | Figure | Group] = [
        _side_by_side(
            "utility-measures", "Utility of the data of each tool", table[~many], glossary
        )
    ]
    blocks += _distributions(given)
    if many.any():
        single = _side_by_side("utility-many", "Utility, one by one", table[many], glossary)
        blocks.append(Group("utility-group", "Tables and coefficients, one by one", (single,)))
    return Section(
        "utility",
        "Utility",
        ("How near results from the synthetic data are to those from the confidential data.",),
        tuple(blocks),
    )


def _distributions(given: Assessed) -> Iterator[Figure]:
    """Each variable as the tools' data have it: levels, or a histogram and a distribution function
    of the amounts.
    """
    if given.confidential is None:
        return
    for number, name in enumerate(given.scenario.synthetic, 1):
        column = given.confidential[name]
        if not given.scenario.is_numeric(column):
            yield try_figure(
                f"levels-{number}",
                f"Levels of {name}",
                partial(plot_levels, given.confidential, given.synthetic, name),
                f"Shares of the levels of {name}: a bar for the confidential data, a marker for "
                "each tool.",
                (),
            )
            continue
        true = _amounts(given, given.confidential, name)
        drawn_of = {
            label: [_amounts(given, frame, name) for frame in frames]
            for label, frames in given.synthetic.items()
        }
        for key, title, draw in (
            ("density", "Histogram", partial(plot_density, minimum_count=1)),
            ("ecdf", "Distribution function", plot_ecdf),
        ):
            yield try_figure(
                f"{key}-{number}",
                f"{title} of {name}",
                partial(draw, true, drawn_of, name),
                f"{title} of {name}, of the confidential data and of each tool's.",
                (),
            )


def _amounts(given: Assessed, frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The values of a variable that are neither missing nor codes, as a frame."""
    amounts = find_statuses(frame[name], given.scenario.codes_of(name)).is_amount
    return frame.loc[amounts, [name]]


def draw_map(
    result: Assessment,
    disclosure: pd.DataFrame,
    risk: str | None = None,
    utility: str | None = None,
) -> Axes:
    """Every tool by risk and loss of utility, with the frontier; the risk is disclosure where any
    tool is judged.
    """
    summary, chosen = result.summary(), result.map_measures()
    judged = (
        disclosure.reindex(columns=["label", "D"])
        .dropna()
        .drop_duplicates("label")
        .set_index("label")
    )
    if len(judged):
        summary[disclosure_measures.MEAN.label] = judged["D"].reindex(summary.index)
    words = {label: told.word for label, told in verdicts_of(disclosure).items()}
    risk = risk or (None if len(judged) else chosen[0])
    return plot_risk_utility(
        summary, risk, utility or chosen[1], references=result.yardsticks, verdicts=words
    )


def _map(given: Assessed) -> Section:
    axes = draw_map(given.result, given.disclosure, *given.measures)
    words = (
        f"Map of tools and yardsticks by {axes.get_xlabel()} and {axes.get_ylabel()}; their "
        "figures are in the tables above."
    )
    return Section(
        "map",
        "Risk against utility",
        (),
        (Figure("map-1", "Risk-utility map", axes, plain(words), ()),),
    )


def _about(given: Assessed) -> Section:
    files = make_table("files", "Files", given.files)
    text = f"{given.records:,} confidential records. {ball_rule(given.scenario)}"
    return Section(
        "about",
        "How it was made",
        (plain(text),),
        (Group("made", "Files and their hashes", (files,)),),
    )
