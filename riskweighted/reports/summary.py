"""The main table of a run for people: on a terminal, as Markdown and as LaTeX, with a definition for every row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Group
from rich.table import Table
from rich.text import Text

from riskweighted.common.errors import InputError, listing
from riskweighted.common.text import escape_latex, escape_markdown, plain
from riskweighted.evaluation.evaluate import CONFIDENTIAL
from riskweighted.runs.finished import FinishedRun, load_run
from riskweighted.runs.run import Run

__all__ = ["SummaryTable", "summary_table", "to_latex", "to_markdown", "to_terminal"]

_OWN = {
    "mean weight": ("Mean weight (0 to 1)", "mean over records of the weight alpha of the likelihood; 1 keeps all of it"),
    "largest R-hat": ("Largest R-hat", "rank-normalised split R-hat, the largest of the fit's quantities; at most 1.02 is converged"),
    "converged": ("Converged", "R-hat at most 1.02, bulk effective sample size at least 100, no divergence"),
}
_OVERLAP = "share of the scheme's interval and the confidential one that both hold; 1 is identical, higher is more useful"


@dataclass(frozen=True)
class SummaryTable:
    """Text, not yet escaped, for one of the three forms.

    Attributes
    ----------
    caption : str
    columns : tuple of str
        Labels: the confidential data, the schemes, baselines.
    rows : tuple of (str, tuple of str, str)
        Readable measure with its unit, one cell per column, definition.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], str], ...]

    @property
    def definitions(self) -> tuple[str, ...]:
        """Each definition once; footnote k is the k-th."""
        return tuple(dict.fromkeys(definition for _, _, definition in self.rows))


def summary_table(run: FinishedRun | Run | str | Path, *, units: Mapping[str, str] | None = None) -> SummaryTable:
    """The main table of a run, transposed: a row per measure, a column per label.

    Parameters
    ----------
    run : FinishedRun, Run, or the path of a run folder
    units : mapping of variable to unit, optional

    Raises
    ------
    InputError
        If the folder is not a whole run, or `units` names no variable of the table.
    """
    finished = run if isinstance(run, FinishedRun) else load_run(run.folder if isinstance(run, Run) else run)
    summary = finished.tables["summary"].set_index("label")
    utility = finished.tables["utility"]
    units = dict(units or {})
    unknown = [name for name in units if name not in set(utility["variable"])]
    if unknown:
        raise InputError(f"units names {listing(unknown)}; the table holds {listing(utility['variable'].unique())}")
    known = {f"{row['measure']} of {row['variable']}": row for _, row in utility.iterrows() if row["label"] != CONFIDENTIAL}
    records = finished.manifest["input"]["records"]
    rows = []
    for name, column in summary.items():
        title, definition = _described(str(name), finished.tables["risk"], known, units, records)
        rows.append((plain(title), tuple(_cell(value) for value in column), plain(definition)))
    variable = ", ".join(finished.study.variables)
    caption = f"Disclosure risk and utility of synthetic {variable}, {records} records, {finished.study.release.L} datasets per scheme"
    return SummaryTable(plain(caption), tuple(plain(str(label)) for label in summary.index), tuple(rows))


def _described(name: str, risk: pd.DataFrame, utility: Mapping[str, pd.Series], units: Mapping[str, str], records: int) -> tuple[str, str]:
    """Title with unit, and definition, of a column of the summary."""
    if name in _OWN:
        return _OWN[name]
    base = name.removesuffix(": overlap")
    if base != name and base in utility:
        return f"Overlap, {base} (0 to 1)", _OVERLAP
    if name in utility:
        row = utility[name]
        of_variable = not str(row["measure"]).startswith("coefficient")  # whose unit depends on the predictor
        unit = "0 to 1" if row["measure"] in ("U_m", "U_a") else units.get(row["variable"], "") if of_variable else ""
        rule = "" if pd.isna(row["rule"]) else f"; interval: {row['rule']}"
        return _capital(f"{name} ({unit})" if unit else name), f"{row['definition']}{rule}"
    definitions = risk.loc[(risk["measure"] == name) & (risk["label"] != CONFIDENTIAL), "definition"]
    unit = f"of {records} records" if "records" in name else "0 to 1"
    own = risk.loc[(risk["measure"] == name) & (risk["label"] == CONFIDENTIAL), "definition"]
    parts = [re.sub(r"IR\([^)]*\) - ", "IR(scheme) - ", str(definitions.iloc[0])), *(f"confidential data: {text}" for text in own)]
    return _capital(f"{name} ({unit})"), "; ".join(parts) + "; higher is riskier"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if not text.startswith(("U_m", "U_a")) else text


def _cell(value: object) -> str:
    if isinstance(value, str):
        return plain(value)
    if pd.isna(value):  # type: ignore[call-overload]
        return "-"
    number = float(value)  # type: ignore[arg-type]
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"


def to_terminal(table: SummaryTable) -> Group:
    """For `rich`: the table, then its footnotes."""
    shown = Table(title=_shown(table.caption), title_justify="left")
    shown.add_column("measure", overflow="fold", min_width=20)
    for label in table.columns:
        shown.add_column(_shown(label), justify="right", overflow="fold")
    for title, cells, definition in table.rows:
        shown.add_row(_shown(f"{title} [{_mark(table, definition)}]"), *(_shown(cell) for cell in cells))
    return Group(shown, *(_shown(f"[{number}] {definition}") for number, definition in enumerate(table.definitions, 1)))


def _shown(text: str) -> Text:
    return Text(plain(text))


def _mark(table: SummaryTable, definition: str) -> int:
    return table.definitions.index(definition) + 1


def to_markdown(table: SummaryTable) -> str:
    """A table of GitHub's Markdown, with numbered definitions below; every label is shown as text."""
    lines = [f"**{escape_markdown(table.caption)}**", ""]
    lines.append("| " + " | ".join(["measure", *map(escape_markdown, table.columns)]) + " |")
    lines.append("|:--" + "|--:" * len(table.columns) + "|")
    for title, cells, definition in table.rows:
        lines.append("| " + " | ".join([f"{escape_markdown(title)} \\[{_mark(table, definition)}\\]", *map(escape_markdown, cells)]) + " |")
    lines += ["", *(f"{number}. {escape_markdown(text)}" for number, text in enumerate(table.definitions, 1))]
    return "\n".join(lines) + "\n"


def to_latex(table: SummaryTable) -> str:
    """A floating table for a paper; needs the packages booktabs and textcomp, and fontenc with T1 under pdfLaTeX.

    Letters beyond Latin need XeLaTeX or LuaLaTeX and a font that has them; a comment says so where there are any.
    """
    head = " & ".join(["measure", *map(escape_latex, table.columns)])
    lines = [
        r"% needs \usepackage{booktabs}, \usepackage{textcomp}; under pdfLaTeX \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{escape_latex(table.caption)}}}",
        rf"\begin{{tabular}}{{p{{0.36\linewidth}}{'r' * len(table.columns)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
    ]
    for title, cells, definition in table.rows:
        first = rf"\raggedright {escape_latex(title)}\textsuperscript{{{_mark(table, definition)}}}"
        lines.append(" & ".join([first, *map(escape_latex, cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\medskip\raggedright\footnotesize"]
    lines += [rf"\textsuperscript{{{number}}} {escape_latex(text)}.\par" for number, text in enumerate(table.definitions, 1)]
    text = "\n".join([*lines, r"\end{table}"]) + "\n"
    return text if text.isascii() else "% holds letters beyond ASCII: use XeLaTeX or LuaLaTeX with a font that has them\n" + text
