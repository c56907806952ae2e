"""The main table of a run for people: on a terminal, as Markdown and as LaTeX, with a definition
for every row.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from riskweighted.common.checks import check_given
from riskweighted.common.errors import InputError, listing
from riskweighted.common.text import escape_latex, escape_markdown, pieces, plain
from riskweighted.evaluation.main_table import CONVERGED, FIT_COLUMNS, FITS, SummaryColumn
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, EXPECTED, IN_DATA, IN_DATASETS
from riskweighted.measures import disclosure_measures, expected_measures
from riskweighted.measures.distributions import TOTAL_VARIATION, U_M
from riskweighted.measures.expected_measures import ISOLATED_RECORDS
from riskweighted.measures.influence_measures import TERM
from riskweighted.measures.regression_measures import OVERLAP
from riskweighted.reports.output_rules import INTERNAL
from riskweighted.reports.wording import (
    capital,
    define,
    define_confidential,
    in_words,
    main_columns,
    main_table,
    rules,
    scale,
    symbol_of,
)
from riskweighted.runs.finished import FinishedRun, load_run

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from riskweighted.runs.run import Run

__all__ = ["SummaryTable", "summary_table", "to_latex", "to_markdown", "to_terminal"]

_MISSING = "-"
_DECISIVE = (
    *(
        disclosure_measures.MEAN,
        disclosure_measures.ISOLATED,
        disclosure_measures.TO_MEMBER[0],
        disclosure_measures.TO_EARLIER[0],
        disclosure_measures.WITH,
    ),
    *(expected_measures.MEAN, expected_measures.ISOLATED),
    *(U_M, TOTAL_VARIATION),
)
_WORDS = {  # what many definitions say: a shorter word for it, and what that means
    EXPECTED.format(draws="S"): (
        "E[IR]",
        "the expectation of IR over S posterior draws and all datasets that each could give",
    ),
    IN_DATASETS: (
        "IR",
        "identification risk of a record (Hu et al. 2022, eq. 1) averaged over these L datasets; "
        "of the confidential data IR^c, eq. 2",
    ),
    IN_DATA: ("IR^c", ""),
    ISOLATED_RECORDS: ("isolated records", ISOLATED_RECORDS.partition(", ")[2]),
    TERM.format(draws="S"): ("g", TERM.format(draws="S")),
    disclosure_measures.NAMING: ("the attacks name the value", disclosure_measures.NAMING),
}
_NUMBER = "x: the number in the name of the row"
# the least that names of rows take of the width; what stands between two columns
_FIRST, _RULES = 20, 3


@dataclass(frozen=True)
class SummaryTable:
    """Text, not yet escaped, for one of the three forms.

    ``columns``: the confidential data, the schemes, baselines; ``rows``: readable measure with its
    unit, a cell per column, definition.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], str], ...]

    @property
    def shown(self) -> tuple[tuple[str, tuple[str, ...], str], ...]:
        """The rows that some column has."""
        return tuple(row for row in self.rows if set(row[1]) != {_MISSING})

    @property
    def definitions(self) -> tuple[str, ...]:
        """Each definition of what is shown once; footnote k is the k-th."""
        return tuple(dict.fromkeys(definition for _, _, definition in self.shown))

    @property
    def terms(self) -> tuple[str, ...]:
        """What the words mean that several definitions use."""
        return _terms(self.definitions)


def summary_table(
    run: "FinishedRun | Run | str | Path",
    *,
    units: Mapping[str, str] | None = None,
    short: bool = False,
) -> SummaryTable:
    """Return the main table of a run, transposed: a row per measure, a column per label.

    Parameters
    ----------
    run : FinishedRun, Run, or the path of a run folder
    units : mapping of variable to unit, optional
    short : bool
        The rows that decide alone: whether the fits converged and the model fits, disclosure,
        expected risk, the distance of each variable's distribution, and what a threshold limits.

    Raises
    ------
    InputError
        If the folder is not a whole run, or `units` names no variable of the table.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.summary_table(folder / "run").columns
    ('confidential', 'unweighted', 'marginal')
    """
    if not isinstance(run, (str, Path)):
        check_given(run, "run", "folder", "FinishedRun", "load_run(FOLDER)")
    finished = (
        run
        if isinstance(run, FinishedRun)
        else load_run(run if isinstance(run, (str, Path)) else run.folder)
    )
    units = dict(units or {})
    variables = list(dict.fromkeys(finished.tables["utility"]["variable"].dropna()))
    unknown = [name for name in units if name not in variables]
    if unknown:
        raise InputError(f"units names {listing(unknown)}; the table holds {listing(variables)}")
    records, values = finished.manifest["input"]["records"], main_table(finished)
    rows = []
    for column in _decisive(finished) if short else main_columns(finished):
        unit = scale(column, records, units.get(str(column.statistic.variable), ""))
        title = capital(
            f"overlap, {column.statistic.name}" if column.overlap else in_words(column.statistic)
        )
        symbol = "" if column.overlap else symbol_of(column.statistic)
        title = f"{title}, {symbol}" if symbol else title
        show = INTERNAL.overlaps if column.overlap else partial(INTERNAL.row, column.statistic)
        cells = show(values[column.name], missing=_MISSING)
        rows.append(
            (
                plain(f"{title} ({unit})" if unit else title),
                tuple(map(plain, cells)),
                plain(_definition(finished, column)),
            )
        )
    variable = ", ".join(finished.study.variables)
    caption = (
        f"Disclosure risk and utility of synthetic {variable}, {records:,} records, "
        f"{finished.study.release.L} datasets per scheme"
    )
    return SummaryTable(
        plain(caption), tuple(plain(str(label)) for label in values.index), tuple(rows)
    )


def _decisive(run: FinishedRun) -> list[SummaryColumn]:
    """The columns of the main table that decide on a release."""
    limited = {verdict.statistic[:4] for verdict in run.verdicts if verdict.limit is not None}
    return [
        column
        for column in main_columns(run)
        if column in (FITS, CONVERGED)
        or (not column.overlap and column.measure in _DECISIVE)
        or (OVERLAP.key if column.overlap else column.statistic.key, *column.statistic[1:4])
        in limited
    ]


def _definition(run: FinishedRun, column: SummaryColumn) -> str:
    """With the confidential data's own definition where it differs, or the rule of the interval."""
    statistic = column.statistic
    if column.overlap:
        return column.measure.definition
    if statistic.of_utility:
        rule = next(
            (
                rule
                for label, rule in reversed(rules(run, statistic).items())
                if label != CONFIDENTIAL
            ),
            "",
        )
        return define(run, statistic) + (f"; interval: {rule}" if rule else "")
    if column in FIT_COLUMNS:
        return statistic.define()
    told = _in_short(define(run, statistic))
    of_data = _in_short(define_confidential(run, statistic) or "")
    alike = re.sub(r"E\[IR\]|IR(?!\^)", "IR^c", told) == of_data  # which the terms say
    direction = statistic.measure.direction
    which = [f"higher is {direction}"] if direction != "neither" else []
    text = "; ".join(
        [told, *([f"confidential data: {of_data}"] if of_data and not alike else []), *which]
    )
    if statistic.parameter is None or "{parameter" not in statistic.measure.definition:
        return text
    # so that rows of several numbers share it
    return re.sub(rf"(?<![\d.]){re.escape(f'{statistic.parameter:g}')}(?![\d.])", "x", text)


def _in_short(text: str) -> str:
    """A definition with the shorter words."""
    for long, (short, _) in _WORDS.items():
        text = text.replace(long, short)
    return text


def _terms(definitions: Sequence[str]) -> tuple[str, ...]:
    """What the words mean that definitions use."""
    text = " ".join(definitions)
    told = [
        f"{short}: {meaning}"
        for short, meaning in _WORDS.values()
        if meaning and re.search(rf"(?<!\w){re.escape(short)}(?!\w)", text)
    ]
    return (*told, *([_NUMBER] if re.search(r"\bx\b", text) else []))


def to_terminal(table: SummaryTable, width: int = 120, *, definitions: bool = True) -> "Group":
    """For `rich`: the table, its columns in as many pieces as the width needs, then its
    footnotes.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    columns = [
        (label, *(row[1][number] for row in table.shown))
        for number, label in enumerate(table.columns)
    ]
    names = [f"{title} [{_mark(table, definition)}]" for title, _, definition in table.shown]
    first = min(max(map(len, names), default=0), max(2 * width // 5, _FIRST))
    widths = [max(len(plain(cell)) for cell in column) + _RULES for column in columns]
    shown: list[Table | Text] = [_shown(table.caption)]
    for piece in pieces(widths, width - first - _RULES - 1):
        part = Table()
        part.add_column("measure", overflow="fold", min_width=_FIRST, max_width=first)
        for number in piece:
            part.add_column(_shown(table.columns[number]), justify="right", overflow="fold")
        for row, name in enumerate(names):
            part.add_row(_shown(name), *(_shown(columns[number][row + 1]) for number in piece))
        shown.append(part)
    notes = (
        [*(f"[{number}] {text}" for number, text in enumerate(table.definitions, 1)), *table.terms]
        if definitions
        else []
    )
    return Group(*shown, *map(_shown, notes))


def _shown(text: str) -> "Text":
    from rich.text import Text

    return Text(plain(text))


def _mark(table: SummaryTable, definition: str) -> int:
    return table.definitions.index(definition) + 1


def to_markdown(table: SummaryTable) -> str:
    """Return a table of GitHub's Markdown, with numbered definitions below; every label is shown as
    text.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.to_markdown(rw.summary_table(folder / "run")).splitlines()[2]
    '| measure | confidential | unweighted | marginal |'
    """
    check_given(table, "table", "definitions", "SummaryTable", "summary_table(RUN)")
    lines = [f"**{escape_markdown(table.caption)}**", ""]
    lines.append("| " + " | ".join(["measure", *map(escape_markdown, table.columns)]) + " |")
    lines.append("|:--" + "|--:" * len(table.columns) + "|")
    for title, cells, definition in table.shown:
        lines.append(
            "| "
            + " | ".join(
                [
                    f"{escape_markdown(title)} \\[{_mark(table, definition)}\\]",
                    *map(escape_markdown, cells),
                ]
            )
            + " |"
        )
    lines += [
        "",
        *(f"{number}. {escape_markdown(text)}" for number, text in enumerate(table.definitions, 1)),
    ]
    lines += ["", *(f"- {escape_markdown(text)}" for text in table.terms)] if table.terms else []
    return "\n".join(lines) + "\n"


def to_latex(table: SummaryTable) -> str:
    r"""Return a floating table for a paper; it needs booktabs and textcomp, and fontenc with T1
    under pdfLaTeX.

    Letters beyond Latin need XeLaTeX or LuaLaTeX and a font that has them; a comment says so where
    there are any.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> text = rw.to_latex(rw.summary_table(folder / "run"))
    >>> print(text.splitlines()[0])
    % needs \usepackage{booktabs}, \usepackage{textcomp}; under pdfLaTeX \usepackage[T1]{fontenc}
    """
    check_given(table, "table", "definitions", "SummaryTable", "summary_table(RUN)")
    head = " & ".join(["measure", *map(escape_latex, table.columns)])
    lines = [
        r"% needs \usepackage{booktabs}, \usepackage{textcomp}; under pdfLaTeX "
        r"\usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{escape_latex(table.caption)}}}",
        rf"\begin{{tabular}}{{p{{0.36\linewidth}}{'r' * len(table.columns)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
    ]
    for title, cells, definition in table.shown:
        first = rf"\raggedright {escape_latex(title)}\textsuperscript{{{_mark(table, definition)}}}"
        lines.append(" & ".join([first, *map(escape_latex, cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\medskip\raggedright\footnotesize"]
    lines += [
        rf"\textsuperscript{{{number}}} {escape_latex(text)}.\par"
        for number, text in enumerate(table.definitions, 1)
    ]
    lines += [rf"{escape_latex(text)}.\par" for text in table.terms]
    text = "\n".join([*lines, r"\end{table}"]) + "\n"
    return (
        text
        if text.isascii()
        else "% holds letters beyond ASCII: use XeLaTeX or LuaLaTeX with a font that has them\n"
        + text
    )
