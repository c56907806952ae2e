"""``riskweighted report``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import print_json, print_result, reporter
from riskweighted.common.atomic import whole_file
from riskweighted.common.errors import InputError
from riskweighted.common.folders import refuse_inside_result


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a finished run, or of a sweep.")
    ],
    internal: Annotated[
        bool,
        typer.Option(
            "--internal", help="With row identifiers and record-level figures; confidential."
        ),
    ] = False,
    confidential: Annotated[
        Path | None,
        typer.Option("--confidential", metavar="FILE", help="The run's data, if not beside RUN."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Default: RUN-report.html, or RUN-report-CONFIDENTIAL.html, beside RUN.",
        ),
    ] = None,
    minimum_count: Annotated[
        int,
        typer.Option(
            "--minimum-count", min=3, help="Records behind all that the releasable report shows."
        ),
    ] = 10,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Write every figure there too, as SVG, PDF and PNG of 300 dpi.",
        ),
    ] = None,
    agency: Annotated[
        str,
        typer.Option("--agency", metavar="NAME", help="Who publishes: stated at the page's top."),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Make the report of a run as one HTML file: releasable aggregates, or everything
    (--internal); that of a sweep is for the agency alone.
    """
    from riskweighted.sweeps.results import is_sweep

    swept = is_sweep(run)
    if swept and confidential is not None:
        raise InputError("--confidential is of a run: a sweep's report reads no data")
    internal = internal or swept
    name = run.absolute().name
    file = out or run.absolute().parent / (
        f"{name}-report-CONFIDENTIAL.html" if internal else f"{name}-report.html"
    )
    _check(file, run, force)
    if figures is not None:
        refuse_inside_result(figures)
    with (
        whole_file(file, private=internal, replace=force) as unfinished,
        reporter().step("making the report"),
    ):
        if swept:
            from riskweighted.reports.sweep_page import sweep_report

            made = sweep_report(run)
        else:
            from riskweighted.reports.render import make_report
            from riskweighted.runs.finished import load_run

            made = make_report(
                load_run(run),
                internal=internal,
                confidential=confidential,
                minimum_count=minimum_count,
                agency=agency,
            )
        if figures is not None:
            made.save_figures(figures, private=internal)
        unfinished.write_text(made.page, encoding="utf-8", newline="\n")
    verdict = (
        "CONFIDENTIAL - do not release"
        if internal
        else f"releasable: nothing in it rests on fewer than {minimum_count} records"
    )
    print_json(
        "report",
        results=file,
        figures=figures,
        internal=internal,
        minimum_count=None if internal else minimum_count,
    )
    print_result(f"Written to {file} ({verdict})")


def _check(file: Path, run: Path, force: bool) -> None:
    """Refuse a place that is not a new HTML file outside the run folder, which a foreign file would
    spoil.
    """
    if file.suffix != ".html":
        raise InputError(f"--out {file.name!r} must end in .html")
    refuse_inside_result(file)
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise InputError(f"--out {str(file)!r} must be a file in a folder that exists")
    if file.exists() and not force:
        raise InputError(
            f"{str(file)!r} exists; choose another file or allow replacing it (--force)"
        )
