"""What the commands share: the two consoles, options that mean the same everywhere, tables and numbers in print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.intruder.scenario import Scenario

errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
output = Console(highlight=False, markup=False, soft_wrap=True)
if not output.is_terminal:
    output.width = 120

Out = Annotated[Path, typer.Option("--out", help="Folder for the results; must not exist, unless --force is given.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing results once the new ones are complete.")]
Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Chains sampled at once; does not change the results.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Instead of the study's seed.")]


def scenario_of(
    known: str, synthesized: str, radius: float, absolute: bool, boundary: str, min_radius: float, allow_wide: bool, **others: Any
) -> "Scenario":
    """The scenario that the options of a command describe; `Scenario` checks them."""
    from riskweighted.intruder.scenario import Scenario

    return Scenario(
        known=split(known),
        synthetic=split(synthesized),
        radius=radius,
        radius_kind="absolute" if absolute else "relative",
        boundary=boundary,  # type: ignore[arg-type]
        min_radius=min_radius,
        allow_wide=allow_wide,
        **others,
    )


def split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def print_table(table: "pd.DataFrame", title: str) -> None:
    from rich.table import Table

    shown = Table(title=title, title_justify="left")
    shown.add_column(str(table.index.name or ""))
    for name in table.columns:
        shown.add_column(str(name), justify="right")
    for name, row in table.iterrows():
        shown.add_row(str(name), *(number(value) for value in row))
    output.print(shown)


def number(value: object) -> str:
    import pandas as pd

    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return "-"
    number = float(value)  # type: ignore[arg-type]
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"
