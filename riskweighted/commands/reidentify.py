"""``riskweighted reidentify``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import (
    default_out,
    loading,
    reporter,
    say,
    say_table,
    show,
    show_json,
)


def reidentify(
    study_file: Annotated[
        Path,
        typer.Argument(metavar="STUDY.toml", help="Files or a run, linking variables, metrics."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the results; must not exist. Default: results/NAME beside NAME.toml.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Attack a public-use file, or the synthetic data of a run, with an intruder's file, and check
    the result against the truth.
    """
    with loading():
        from riskweighted.reidentification.study import (
            load_reidentification_study,
            run_reidentification_study,
        )
    out = out or default_out(study_file)
    result = run_reidentification_study(
        load_reidentification_study(study_file), out, reporter=reporter()
    )
    table = result.comparison()
    show_json("reidentify", comparison=table.reset_index(), results=out)
    table.index = [" ".join(names) for names in table.index]
    say_table(
        table.rename_axis("release, metric"),
        "Re-identification (counts and rates of PUF records; means over datasets)",
    )
    say(
        "suspected: in a suspected pair. confirmed: in a pair that the truth confirms. Rates are "
        "shares of PUF records, higher is riskier;"
    )
    say(
        "conditional_rate: confirmed / suspected, the critical statistic (Census Bureau primer, "
        "section 1.2; a dash: none suspected)."
    )
    show(
        f"Results: {out}/  (tables/: rates per stratum, ranks, interactions, definitions; "
        "confidential/: the pairs)"
    )
