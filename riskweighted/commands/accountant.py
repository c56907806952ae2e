"""``riskweighted accountant``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import output, print_table


def accountant(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs under a guarantee, all of them released.")],
    delta: Annotated[float, typer.Option(help="At which epsilon(delta) is stated.")] = 1e-6,
    scheme: Annotated[
        list[str] | None, typer.Option("--scheme", help="Only these schemes leave; repeatable. Without it all of every run.")
    ] = None,
) -> None:
    """Add up what is proved of the datasets of several runs about the same persons: schemes, variables, years."""
    from riskweighted.risk.accountant import accountant as add_up
    from riskweighted.runs.releases import releases_of

    table = add_up(releases_of(runs, scheme), delta)
    shown = table.drop(columns="kind").set_index("release")
    print_table(shown, "What is proved")
    output.print("Of the same persons, whatever else is released. Tables, figures and tuning are outside epsilon.")
