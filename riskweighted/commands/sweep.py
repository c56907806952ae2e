"""``riskweighted sweep``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import Force, Out, errors, output
from riskweighted.common.progress import reporter_for


def sweep(
    sweep_file: Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="A study, a grid of its settings, repetitions.")],
    out: Out,
    force: Force = False,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes on this machine; default: its cores.")] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="tcp://HOST:PORT", help="A Dask scheduler to use instead of this machine.")
    ] = None,
) -> None:
    """Run a study at every point of a grid of settings; an interrupted sweep goes on where it stopped."""
    reporter = reporter_for(errors)
    with reporter.step("loading PyMC"):
        from riskweighted.sweeps.grid import load_sweep
        from riskweighted.sweeps.sweep import sweep as run_sweep
    done = run_sweep(load_sweep(sweep_file), out, force=force, workers=workers, scheduler=scheduler, reporter=reporter)
    cells = done.results.drop_duplicates(list(done.results.loc[:, :"label"].columns))
    output.print(f"{len(cells)} cells, {int((~cells['converged'].fillna(True)).sum())} of them not converged")
    output.print(f"Results: {done.folder}/results.csv (also parquet); definitions.csv there says what each measure means")
    if len(done.failures):
        errors.print(f"{len(done.failures)} cells failed: {done.folder}/failures.csv says where and why")
        raise typer.Exit(1)
