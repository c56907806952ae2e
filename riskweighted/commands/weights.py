"""``riskweighted weights``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import output, print_table, scenario_of
from riskweighted.common.atomic import whole_file
from riskweighted.common.checks import real_path
from riskweighted.common.errors import InputError, listing
from riskweighted.common.folders import refuse_inside_result
from riskweighted.data.formats import FORMATS

if TYPE_CHECKING:
    import pandas as pd


def weights(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Confidential table: {', '.join(FORMATS)}.")],
    synthesized: Annotated[str, typer.Option("--synthesized", help="The sensitive variable (several: a,b).")],
    out: Annotated[Path, typer.Option("--out", help="File for the weights (.csv or .parquet); confidential.")],
    known: Annotated[str, typer.Option("--known", help="Variables an intruder knows: a,b.")] = "",
    radius: Annotated[
        float, typer.Option("--radius", help="Half-width of the ball: a share of the value, or with --absolute in its units.")
    ] = 0.2,
    absolute: Annotated[bool, typer.Option("--absolute", help="The radius is in the variable's units.")] = False,
    scheme: Annotated[
        str, typer.Option("--scheme", help="marginal, pairwise, 3-way, 'uniform(c=0.1)', 'delete(q=0.05)', ...")
    ] = "pairwise",
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="COLUMN", help="Records get the smallest weight of their cluster (a household)."),
    ] = None,
    min_radius: Annotated[float, typer.Option("--min-radius", help="Least half-width, in the variable's units: for zeros.")] = 0.0,
    allow_wide: Annotated[bool, typer.Option("--allow-wide", help="Accept a radius of 1 (100 %) or more.")] = False,
    boundary: Annotated[str, typer.Option("--boundary", help="closed or open ball.")] = "closed",
    singletons: Annotated[str, typer.Option("--singletons", help="protect, paper or error.")] = "protect",
    scale: Annotated[float, typer.Option("--scale", help="Weights become clip(scale * alpha + shift, 0, 1).")] = 1.0,
    shift: Annotated[float, typer.Option("--shift", help="See --scale.")] = 0.0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Compute weights alpha from the confidential data's identification risk; prints only their distribution."""
    if out.suffix not in FORMATS:
        raise InputError(f"--out {out.name!r} must end in {listing(FORMATS)}")
    if out.exists() and not force:
        raise InputError(f"{str(out)!r} exists; choose another file or allow replacing it (--force)")
    if out.is_dir() or real_path(out) == real_path(data):
        raise InputError(f"--out {str(out)!r} is {'a folder' if out.is_dir() else 'the confidential file itself'}; choose another file")
    refuse_inside_result(out)
    from riskweighted.common.frames import require_columns
    from riskweighted.data.io import read_table, write_table
    from riskweighted.weights.adjust import adjust_weights, cluster_weights
    from riskweighted.weights.names import parse_scheme
    from riskweighted.weights.schemes import scheme_weights

    scenario = scenario_of(known, synthesized, radius, absolute, boundary, min_radius, allow_wide, singletons=singletons)
    with whole_file(out, private=True, replace=force) as unfinished:
        confidential = read_table(data)
        alpha = adjust_weights(scheme_weights(scheme, confidential, scenario), scale, shift)
        if cluster is not None:
            require_columns(confidential, [cluster], "confidential data (--cluster)")
            alpha = cluster_weights(alpha, confidential[cluster])
        write_table(alpha.rename_axis("row").to_frame(), unfinished, index=True, private=True)
        _print_distribution(alpha, parse_scheme(scheme).text)  # before the file is there: where nothing can be printed, nothing is left
    output.print(f"Written to {out} (confidential: a weight tells how isolated a record is)")


def _print_distribution(alpha: "pd.Series", scheme: str) -> None:
    """Mean and quantiles; no weight of a record."""
    import pandas as pd

    shares = alpha.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    distribution = pd.DataFrame(
        {"records": [len(alpha)], "mean": [alpha.mean()], **{f"{q:.0%}": [v] for q, v in shares.items()}}, index=[scheme]
    )
    print_table(distribution.rename_axis("alpha"), "Likelihood weights (lower protects more; 5 to 95 % are quantiles over records)")
