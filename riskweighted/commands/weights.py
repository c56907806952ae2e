"""``riskweighted weights``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import (
    Absolute,
    AllowWide,
    Boundary,
    Codes,
    MinRadius,
    Radius,
    print_info_table,
    print_json,
    print_result,
    scenario_of,
    split,
)
from riskweighted.common.atomic import whole_file
from riskweighted.common.checks import real_path
from riskweighted.common.errors import InputError, listing
from riskweighted.common.folders import refuse_inside_result
from riskweighted.data.formats import FORMATS

if TYPE_CHECKING:
    import pandas as pd


def weights(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help=f"Confidential table: {', '.join(FORMATS)}.")
    ],
    synthesized: Annotated[
        str, typer.Option("--synthetic", help="The sensitive variable (several: a,b).")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="File for the weights (.csv or .parquet); confidential.")
    ],
    known: Annotated[str, typer.Option("--known", help="Variables an intruder knows: a,b.")] = "",
    radius: Radius = 0.2,
    absolute: Absolute = False,
    scheme: Annotated[
        str,
        typer.Option(
            "--scheme",
            help="marginal, pairwise, 3-way, 'uniform(c=0.1)', 'drop-riskiest(q=0.05)', ...",
        ),
    ] = "pairwise",
    risk_of: Annotated[
        str,
        typer.Option(
            "--risk-of",
            help="Of several variables, whose ball makes a variable's weights: each-variable, "
            "joint, or subsets 'a,b;c'.",
        ),
    ] = "each-variable",
    codes: Codes = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="COLUMN",
            help="Records get the smallest weight of their cluster (a household).",
        ),
    ] = None,
    min_radius: MinRadius = 0.0,
    allow_wide: AllowWide = False,
    boundary: Boundary = "closed",
    singletons: Annotated[
        str, typer.Option("--singletons", help="protect, paper or error.")
    ] = "protect",
    scale: Annotated[
        float, typer.Option("--scale", help="Weights become clip(scale * alpha + shift, 0, 1).")
    ] = 1.0,
    shift: Annotated[float, typer.Option("--shift", help="See --scale.")] = 0.0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Compute weights alpha from the confidential data's identification risk; prints only their
    distribution.
    """
    if out.suffix not in FORMATS:
        raise InputError(f"--out {out.name!r} must end in {listing(FORMATS)}")
    if out.exists() and not force:
        raise InputError(
            f"{str(out)!r} exists; choose another file or allow replacing it (--force)"
        )
    if out.is_dir() or real_path(out) == real_path(data):
        raise InputError(
            f"--out {str(out)!r} is "
            f"{'a folder' if out.is_dir() else 'the confidential file itself'}; choose another "
            "file"
        )
    refuse_inside_result(out)
    from riskweighted.data.io import read_table, write_table
    from riskweighted.weights.match import match_weights
    from riskweighted.weights.scheme_names import parse_scheme

    named = parse_scheme(scheme).text
    with whole_file(out, private=True, replace=force) as unfinished:
        table = read_table(data)
        scenario = scenario_of(
            table,
            known,
            synthesized,
            radius=radius,
            absolute=absolute,
            boundary=boundary,
            min_radius=min_radius,
            allow_wide=allow_wide,
            singletons=singletons,
            codes=codes,
        )
        alpha = match_weights(
            table, scenario, scheme, _matched(risk_of), scale=scale, shift=shift, cluster=cluster
        )
        if len(scenario.synthetic) == 1:
            alpha = alpha.set_axis(["alpha"], axis=1)
        write_table(alpha.rename_axis("row"), unfinished, index=True, private=True)
        # before the file is there: where nothing can be printed, nothing is left
        _print_distribution(alpha, named, out)
    print_result(f"Written to {out} (confidential: a weight discloses how isolated a record is)")


def _matched(text: str) -> "str | list[tuple[str, ...]]":
    """The option ``--risk-of``: a word, or subsets of variables."""
    return (
        text
        if text in ("each-variable", "joint")
        else [split(subset) for subset in text.split(";")]
    )


def _print_distribution(alpha: "pd.DataFrame", scheme: str, out: Path) -> None:
    """Mean and quantiles of each column; no weight of a record."""
    import pandas as pd

    shares = alpha.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).T
    columns = {
        "records": len(alpha),
        "mean": alpha.mean(),
        **{f"{q:.0%}": shares[q] for q in shares},
    }
    distribution = pd.DataFrame(columns)
    distribution.index = pd.Index(
        [scheme] if len(alpha.columns) == 1 else [f"{scheme}, {name}" for name in alpha]
    )
    print_json("weights", distribution=distribution.rename_axis("alpha").reset_index(), results=out)
    print_info_table(
        distribution.rename_axis("alpha"),
        "Likelihood weights (lower protects more; 5 to 95 % are quantiles over records)",
    )
