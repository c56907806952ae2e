"""What the commands share: the two consoles, options that mean the same everywhere, tables and numbers in print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from riskweighted.common.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from riskweighted.intruder.scenario import Scenario

_RULES, _FIRST = 3, 34  # what stands between two columns; the most that names of rows take of the width

errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
output = Console(highlight=False, markup=False, soft_wrap=True)
if not output.is_terminal:
    output.width = 120

UNFIT = 3  # the exit code where numbers are there and not to be relied on

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


Codes = Annotated[
    list[str] | None, typer.Option("--codes", metavar="VARIABLE=CODE", help="Special codes of a number, such as income=-8,-9; repeatable.")
]


def codes_of(pairs: list[str] | None) -> dict[str, tuple[float, ...]]:
    """VARIABLE=CODE,CODE of a command line as a mapping."""
    found: dict[str, tuple[float, ...]] = {}
    for pair in pairs or []:
        name, _, codes = pair.partition("=")
        try:
            numbers = tuple(float(code) for code in split(codes))
        except ValueError:
            numbers = ()
        if not numbers or not name.strip():
            raise InputError("special codes are given as VARIABLE=CODE, or VARIABLE=CODE,CODE with numbers")
        found[name.strip()] = (*found.get(name.strip(), ()), *numbers)
    return found


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def print_table(table: "pd.DataFrame", title: str) -> None:
    """A table, its columns in as many pieces as the width needs: no number is cut."""
    from rich.table import Table

    cells = table.map(number)
    names = [str(name) for name in table.columns]
    widths = [max(len(name), *cells.iloc[:, place].str.len(), 1) + _RULES for place, name in enumerate(names)]
    first = min(max([len(str(name)) for name in table.index], default=0), _FIRST) + _RULES
    for piece in _pieces(widths, output.width - first):
        shown = Table(title=title, title_justify="left")
        shown.add_column(str(table.index.name or ""), max_width=_FIRST)
        for place in piece:
            shown.add_column(names[place], justify="right", overflow="fold")
        for name, row in zip(table.index, cells.to_numpy(), strict=True):
            shown.add_row(str(name), *(row[place] for place in piece))
        output.print(shown)


def _pieces(widths: list[int], available: int) -> "Iterator[list[int]]":
    """Places of columns that stand side by side in the width there is, at least one at a time."""
    piece: list[int] = []
    for place, width in enumerate(widths):
        if piece and sum(widths[one] for one in piece) + width > available:
            yield piece
            piece = []
        piece.append(place)
    if piece:
        yield piece


def number(value: object) -> str:
    import pandas as pd

    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return "-"
    number = float(value)  # type: ignore[arg-type]
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"
