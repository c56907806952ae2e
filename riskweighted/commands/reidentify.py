"""``riskweighted reidentify``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import errors, output, print_table
from riskweighted.common.progress import reporter_for


def reidentify(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Files or a run, linking variables, metrics.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results; must not exist.")],
) -> None:
    """Attack a public-use file, or the synthetic data of a run, with an intruder's file, and check the result against the truth."""
    reporter = reporter_for(errors)
    with reporter.step("loading"):
        from riskweighted.reidentification.study import load_reidentification_study, run_reidentification_study
    result = run_reidentification_study(load_reidentification_study(study_file), out, reporter=reporter)
    table = result.comparison()
    table.index = [" ".join(names) for names in table.index]
    print_table(table.rename_axis("release, metric"), "Re-identification (counts and rates of PUF records; means over datasets)")
    output.print(
        "suspected: in a suspected pair. confirmed: in a pair that the truth confirms. Rates are shares of PUF records, higher is riskier;"
    )
    output.print("conditional_rate: confirmed / suspected, the critical statistic (S004 section 1.2; a dash: nothing is suspected).")
    output.print(f"Results: {out}/  (tables/: rates per stratum, ranks, interactions, definitions; confidential/: the pairs)")
