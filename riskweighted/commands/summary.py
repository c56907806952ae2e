"""``riskweighted summary``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import output


class Form(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"


def summary(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    form: Annotated[Form, typer.Option("--format", help="For the terminal, as Markdown, or as LaTeX (booktabs).")] = Form.terminal,
    unit: Annotated[list[str] | None, typer.Option("--unit", metavar="VARIABLE=UNIT", help="Unit of a variable; repeatable.")] = None,
) -> None:
    """Print the main table of a run, each measure with its definition."""
    from riskweighted.release.codebook import parse_units
    from riskweighted.reports.summary import summary_table, to_latex, to_markdown, to_terminal
    from riskweighted.runs.finished import load_run

    table = summary_table(load_run(run), units=parse_units(unit or []))
    if form is Form.terminal:
        output.print(to_terminal(table))
    else:
        typer.echo(to_latex(table) if form is Form.latex else to_markdown(table), nl=False)
