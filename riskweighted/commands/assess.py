"""``riskweighted assess``."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import Codes, codes_of, errors, number, output, print_table, scenario_of, split
from riskweighted.common.folders import opened
from riskweighted.common.progress import reporter_for

if TYPE_CHECKING:
    from riskweighted.evaluation.assess import Assessment
    from riskweighted.intruder.scenario import Scenario


def assess(
    confidential: Annotated[Path, typer.Argument(metavar="CONFIDENTIAL", help="Confidential table.")],
    synthetic: Annotated[list[Path], typer.Argument(metavar="SYNTHETIC...", help="One or more synthetic versions of it.")],
    known: Annotated[str, typer.Option("--known", help="Variables an intruder knows: a,b.")],
    synthesized: Annotated[str, typer.Option("--synthesized", help="The synthesized variables: a,b.")],
    radius: Annotated[float, typer.Option("--radius", help="Half-width of the ball of a number, as a share of its value.")] = 0.2,
    absolute: Annotated[bool, typer.Option("--absolute", help="The radius is in the variable's units.")] = False,
    categorical: Annotated[str, typer.Option("--categorical", help="Synthesized variables stored as numbers that are codes.")] = "",
    codes: Codes = None,
    min_radius: Annotated[float, typer.Option("--min-radius", help="Least half-width, in the variable's units: for zeros.")] = 0.0,
    allow_wide: Annotated[bool, typer.Option("--allow-wide", help="Accept a radius of 1 (100 %) or more.")] = False,
    boundary: Annotated[str, typer.Option("--boundary", help="closed or open ball.")] = "closed",
    identifier: Annotated[str | None, typer.Option("--id", help="Column that pairs rows; without it they pair by position.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the riskiest records to list.")] = 10,
    internal: Annotated[bool, typer.Option("--internal", help="Also print the riskiest records and each known variable's part.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the tables; must not exist.")] = None,
) -> None:
    """Measure the disclosure risk of synthetic data made by any tool, beside the yardsticks of no and full protection."""
    with ExitStack() as stack:
        working = stack.enter_context(opened(out, "an assessment")) if out is not None else None
        reporter = reporter_for(errors)
        with reporter.step("loading"):
            from riskweighted.data.io import read_table
            from riskweighted.evaluation.assess import assess as run_assessment

        scenario = scenario_of(
            known, synthesized, radius, absolute, boundary, min_radius, allow_wide, categorical=split(categorical), codes=codes_of(codes)
        )
        with reporter.step("measuring") as advance:
            frames = [read_table(path) for path in synthetic]
            result = run_assessment(read_table(confidential), frames, scenario, identifier=identifier, top=top, progress=advance)
        if working is not None:
            _write_assessment(result, working.result)
        if as_json:  # inside: where nothing can be printed, nothing is left
            output.print(result.measures.to_json(orient="records", indent=2))
        else:
            _print_assessment(result, scenario, internal=internal)
    if out is not None and not as_json:
        output.print(f"Written to {out} (confidential/ there never leaves the agency)")


def _write_assessment(result: "Assessment", folder: Path) -> None:
    """The measures, and what never leaves in a folder of its own."""
    from riskweighted.data.io import write_aggregates, write_table

    write_table(result.measures, folder / "measures.csv")
    write_aggregates(result.contributions, folder / "confidential" / "contributions.csv", private=True)
    write_table(result.riskiest, folder / "confidential" / "riskiest.csv", index=True, private=True)


def _print_assessment(result: "Assessment", scenario: "Scenario", *, internal: bool) -> None:
    """The three releases side by side, the synthetic one with its interval."""
    import pandas as pd

    measures = result.measures
    side_by_side = measures.pivot(index="key", columns="label", values="value").reindex(measures["key"].unique())
    synthetic = measures[measures["label"] == "synthetic"].set_index("key")
    interval = [f"{number(low)} to {number(high)}" if pd.notna(low) else "-" for low, high in synthetic[["lower", "upper"]].to_numpy()]
    side_by_side.insert(0, "higher is", synthetic["higher_is"])
    side_by_side.insert(1, "synthetic ", synthetic["value"])
    side_by_side.insert(2, "95 % interval", pd.Series(interval, synthetic.index))
    side_by_side.index = pd.Index(synthetic["measure"].reindex(side_by_side.index), name="measure")
    print_table(side_by_side.drop(columns="synthetic").rename(columns=str.strip), f"Disclosure risk ({scenario.boundary} balls)")
    for _, row in synthetic.iterrows():
        output.print(f"{row['measure']}: {row['definition']} [{row['rule']}]")
    if internal:
        print_table(result.contributions.set_index("known_variable"), "What each known variable adds (confidential)")
        print_table(result.riskiest, "Riskiest records (confidential)")
