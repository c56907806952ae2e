"""``riskweighted folds``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import say, show_json, split
from riskweighted.data.formats import FORMATS


def folds(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Confidential table: {', '.join(FORMATS)}.")],
    synthesized: Annotated[str, typer.Option("--synthesized", help="The variable that the tool synthesizes (several: a,b).")],
    out: Annotated[Path, typer.Option("--out", help="A new folder; confidential.")],
    count: Annotated[int, typer.Option("--K", help="How many folds.")] = 5,
    unit: Annotated[str | None, typer.Option("--unit", metavar="COLUMN", help="Rows of one household stay together.")] = None,
) -> None:
    """Write what any tool is to be run on, K times, to show what its release would be without a person's value."""
    from riskweighted.data.io import read_table
    from riskweighted.disclosure.folds import write_folds

    table = read_table(data)
    write_folds(table, split(synthesized), out, K=count, unit=unit)
    show_json("folds", folder=str(out), folds=count, records=len(table))
    say(f"{count} folds of {len(table):,} records in {out}: confidential, keep them where the data are kept.")
    say("For each k run the tool on k/train.csv and let it make L datasets for all rows of k/rows.csv, in their order:")
    say("  k/synthetic_1.csv to k/synthetic_L.csv. It must see no other file.")
