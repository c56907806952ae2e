"""``riskweighted sweep``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import Force, Out, loading, reporter, say, show, show_json, tell


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
    with loading("PyMC"):
        from riskweighted.sweeps.grid import load_sweep
        from riskweighted.sweeps.sweep import sweep as run_sweep
    done = run_sweep(load_sweep(sweep_file), out, force=force, workers=workers, scheduler=scheduler, reporter=reporter())
    cells = done.results.drop_duplicates(list(done.results.loc[:, :"label"].columns))
    bad, code = int((~cells["converged"].fillna(True)).sum()), 1 if len(done.failures) else 0
    say(f"{len(cells)} cells, {bad} of them not converged")
    show_json("sweep", exit_code=code, cells=len(cells), not_converged=bad, failed=len(done.failures), results=done.folder)
    show(f"Results: {done.folder}/results.csv (also parquet); definitions.csv there says what each measure means")
    if len(done.failures):
        tell(f"{len(done.failures)} cells failed: {done.folder}/failures.csv says where and why")
        raise typer.Exit(1)
