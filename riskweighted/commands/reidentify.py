"""``riskweighted reidentify``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import (
    default_out,
    loading_step,
    print_info,
    print_info_table,
    print_json,
    print_result,
    reporter,
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
    with loading_step():
        from riskweighted.reidentification.attack_study import (
            load_reidentification_study,
            run_reidentification_study,
        )
    out = out or default_out(study_file)
    result = run_reidentification_study(
        load_reidentification_study(study_file), out, reporter=reporter()
    )
    table = result.comparison()
    print_json("reidentify", comparison=table.reset_index(), results=out)
    table.index = [" ".join(names) for names in table.index]
    print_info_table(
        table.rename_axis("release, metric"),
        "Re-identification (counts and rates of PUF records; means over datasets)",
    )
    print_info(
        "suspected: in a suspected pair. confirmed: in a pair that the truth confirms. Rates are "
        "shares of PUF records, higher is riskier;"
    )
    print_info(
        "conditional_rate: confirmed / suspected, the critical statistic (Census Bureau primer, "
        "section 1.2; a dash: none suspected)."
    )
    print_result(
        f"Results: {out}/  (tables/: rates per stratum, ranks, interactions, definitions; "
        "confidential/: the pairs)"
    )
