"""``riskweighted summary``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import output, print_json, print_result, verbosity


class Form(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"


def summary(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    form: Annotated[
        Form,
        typer.Option("--format", help="For the terminal, as Markdown, or as LaTeX (booktabs)."),
    ] = Form.terminal,
    full: Annotated[
        bool, typer.Option("--full", help="On the terminal every measure, not only what decides.")
    ] = False,
    unit: Annotated[
        list[str] | None,
        typer.Option(
            "--measured-in", metavar="VARIABLE=UNIT", help="Unit of a variable; repeatable."
        ),
    ] = None,
) -> None:
    """Print the verdicts on the thresholds of a run and its main table, each measure with its
    definition.
    """
    from riskweighted.common.text import as_argument, escape_markdown, plain
    from riskweighted.evaluation.judgement import told_statuses
    from riskweighted.release.codebook import parse_units
    from riskweighted.reports.intruder_section import FIGURES, about_intruders, intruder_table
    from riskweighted.reports.output_rules import INTERNAL
    from riskweighted.reports.summary_table import summary_table, to_latex, to_markdown, to_terminal
    from riskweighted.reports.verdict_sentences import (
        disclosure_of_schemes,
        sentences,
        verdict_records,
    )
    from riskweighted.reports.wording import main_columns, main_table
    from riskweighted.runs.finished import load_run

    finished = load_run(run)
    short = form is Form.terminal and not full and not verbosity.json
    table = summary_table(finished, units=parse_units(unit or []), short=short)
    judged = finished.verdicts
    verdicts = (
        [] if verbosity.quiet else list(sentences(judged, finished.study.thresholds, INTERNAL))
    )
    by_each = intruder_table(finished, INTERNAL, finished.schemes).to_dict("records")
    if not verbosity.quiet:
        for row in by_each:
            figures = "; ".join(f"{name} {row[name]}" for name in FIGURES if name in row)
            verdicts.append(f"{row['Scheme']} by {row['Intruder']}: {row['Verdict']}; {figures}.")
        verdicts += [told for told in [about_intruders(finished.study)] if told]
    verdicts += (
        [statuses]
        if (statuses := told_statuses(finished.tables["fit_check"])) and not verbosity.quiet
        else []
    )
    if verbosity.json:
        numbers = main_table(finished)
        rows = [
            {
                "measure": name,
                "values": dict(zip(table.columns, numbers[column.name], strict=True)),
                "definition": text,
            }
            for column, (name, _, text) in zip(main_columns(finished), table.rows, strict=True)
        ]
        told = verdict_records(judged, table.columns[1:], INTERNAL)
        disclosed = finished.tables["disclosure"]
        print_json(
            "summary",
            caption=table.caption,
            rows=rows,
            terms=table.terms,
            verdicts=told,
            **({"intruders": by_each} if by_each else {}),
            disclosure=disclosure_of_schemes(judged, disclosed),
        )
    elif form is Form.terminal:
        for line in verdicts:
            print_result(plain(line))
        output.print(
            to_terminal(table, output.width, definitions=not verbosity.quiet), soft_wrap=False
        )
        if short and not verbosity.quiet:
            print_result(f"All measures: riskweighted summary {as_argument(str(run))} --full")
    elif form is Form.markdown:
        typer.echo(
            "".join(f"- {escape_markdown(line)}\n" for line in verdicts)
            + "\n"
            + to_markdown(table),
            nl=False,
        )
    else:
        typer.echo(to_latex(table), nl=False)
