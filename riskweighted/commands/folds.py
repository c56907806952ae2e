"""``riskweighted folds``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import print_info, print_json, split
from riskweighted.data.formats import FORMATS


def folds(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help=f"Confidential table: {', '.join(FORMATS)}.")
    ],
    synthesized: Annotated[
        str,
        typer.Option("--synthetic", help="The variable that the tool synthesizes (several: a,b)."),
    ],
    out: Annotated[Path, typer.Option("--out", help="A new folder; confidential.")],
    count: Annotated[int, typer.Option("--K", help="How many folds.")] = 5,
    packs: Annotated[
        int,
        typer.Option(
            "--packs",
            min=1,
            help="Packs of L datasets of each training: 20 for a file of few records.",
        ),
    ] = 1,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="COLUMN", help="Rows of one household stay together."),
    ] = None,
) -> None:
    """Write what any tool is to be run on, K times, to show what its release would be without a
    person's value.

    One release of a small file cannot show that it gives away little. With --packs the tool draws
    that many from each training, of the whole file as well; what may leave is the first pack of the
    whole.
    """
    from riskweighted.data.io import read_table
    from riskweighted.disclosure.folds import write_folds

    table = read_table(data)
    write_folds(table, split(synthesized), out, K=count, packs=packs, unit=unit)
    print_json("folds", folder=str(out), folds=count, packs=packs, records=len(table))
    print_info(
        f"{count} folds of {len(table):,} records in {out}: confidential, keep them where the "
        "data are kept."
    )
    made = "L datasets" if packs == 1 else f"{packs} packs of L datasets"
    print_info(
        f"For each k run the tool on k/train.csv and let it make {made} for all rows of "
        "k/rows.csv, in their order:"
    )
    if packs == 1:
        print_info("  k/synthetic_1.csv to k/synthetic_L.csv. It must see no other file.")
    else:
        print_info(
            f"  k/pack_1/synthetic_1.csv to k/pack_{packs}/synthetic_L.csv. It must see no other "
            "file."
        )
        print_info(
            "0 is the whole file; what may be released is 0/pack_1, fixed before it is judged."
        )
