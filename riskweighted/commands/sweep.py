"""``riskweighted sweep``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.run import Full
from riskweighted.commands.terminal import (
    Force,
    StudyOut,
    default_out,
    loading_step,
    print_info,
    print_json,
    print_result,
    print_stderr,
    print_table,
    reporter,
    verbosity,
)

if TYPE_CHECKING:
    import pandas as pd


def sweep(
    sweep_file: Annotated[
        Path,
        typer.Argument(metavar="SWEEP.toml", help="A study, a grid of its settings, repetitions."),
    ],
    out: StudyOut = None,
    force: Force = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Check every cell and say how many there are; write nothing."
        ),
    ] = False,
    full: Full = False,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Processes on this machine; default: its cores."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="tcp://HOST:PORT",
            help="A Dask scheduler to use instead of this machine.",
        ),
    ] = None,
) -> None:
    """Run a study at every point of a grid of settings; an interrupted sweep goes on where it
    stopped.
    """
    with loading_step("PyMC"):
        from riskweighted.sweeps.settings_grid import load_sweep
        from riskweighted.sweeps.sweep import count_cells, sweep as run_sweep
    plan = load_sweep(sweep_file)
    if dry_run:
        counted = count_cells(plan, reporter=reporter())
        print_json("sweep", **counted._asdict())
        print_result(f"{counted}")
        print_result("Nothing was written: this was a dry run.")
        return
    from riskweighted.reports.sweep_table import settings_table

    done = run_sweep(
        plan,
        out or default_out(sweep_file),
        force=force,
        workers=workers,
        scheduler=scheduler,
        reporter=reporter(),
    )
    cells = done.results.drop_duplicates(list(done.results.loc[:, :"label"].columns))
    bad, code = int((~cells["converged"].fillna(True)).sum()), 1 if len(done.failures) else 0
    table = settings_table(done, plan.schemes, plan.study.thresholds, plan.study.release.hidden)
    print_json(
        "sweep",
        exit_code=code,
        cells=len(cells),
        not_converged=bad,
        failed=len(done.failures),
        settings=table,
        results=done.folder,
    )
    if full and len(table) and not verbosity.quiet:
        print_table(
            table.set_index("setting"), "Every setting with each scheme, means over repetitions"
        )
        print_info("definitions.csv says what each measure means.")
    for line in _lines(table):
        print_info(line)
    print_result(
        f"Results: {done.folder}/results.csv: {len(cells)} cells, {bad} of them not converged"
    )
    if len(done.failures):
        print_stderr(
            f"{len(done.failures)} cells failed: {done.folder}/failures.csv says where and why"
        )
        raise typer.Exit(1)


def _lines(table: "pd.DataFrame") -> Iterator[str]:
    """The best settings, the largest reason, and what comes next: a run of the first one."""
    from riskweighted.evaluation.verdicts import LEAVES
    from riskweighted.reports.sweep_table import swept_lines

    if not len(table):
        return
    yield from swept_lines(table)
    if table["verdict"].iloc[0] in LEAVES:
        yield f"Next: a run of the study with {table['setting'].iloc[0]}"
    else:
        yield "Next: other settings, or weights that meet a target: riskweighted tune -h"
