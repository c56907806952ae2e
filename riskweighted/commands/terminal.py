"""What the commands share: the two consoles, how much they say, options that mean the same
everywhere, tables and numbers in print.
"""

import gc
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from riskweighted.common.errors import InputError
from riskweighted.common.numbers import format_columns
from riskweighted.common.progress import Advance, LogLines, Quiet, Reporter, TerminalBars
from riskweighted.common.text import pieces, plain

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.intruder.scenario import Scenario

# what stands between two columns; the most that names of rows take of the width
_RULES, _FIRST = 3, 34
# below which width names of rows take less, so that columns stand side by side
_NARROW, _FIRST_OF_NARROW = 80, 22


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Whoever reads has read enough, which is no fault."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


errors = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
output = _Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
_for_people = output.is_terminal or "COLUMNS" in os.environ  # somebody said how wide a line is
if not _for_people:
    output.width = 120


@dataclass
class Verbosity:
    """How much a command says: ``quiet``, no progress and no explanation; ``verbose``, every step;
    ``json``, one object on stdout.
    """

    quiet: bool = False
    verbose: bool = False
    json: bool = False


verbosity = Verbosity()  # of the command that runs


@contextmanager
def set_verbosity(**asked: bool) -> Iterator[None]:
    """Say as much as is asked for while a command runs."""
    before = vars(verbosity).copy()
    vars(verbosity).update(asked)
    try:
        yield
    finally:
        vars(verbosity).update(before)


def print_info(text: str = "") -> None:
    """An explanation on stdout: not under --quiet, nor under --json. Words are kept whole where the
    width is known.
    """
    if not verbosity.quiet:
        print_result(text)


def print_result(text: str = "") -> None:
    """What was asked for, such as the place of the results: on stdout but under --json."""
    if not verbosity.json:
        output.print(text, soft_wrap=not _for_people)


def print_json(command: str, **content: Any) -> None:
    """The one object that --json prints: the command's name and its results; a table is a list of
    records, what is missing null.
    """
    if verbosity.json:
        ascii_only = not output.encoding.startswith("utf")  # as of a pipe on Windows
        content = {"command": command, **_plain(content)}
        output.print(
            json.dumps(content, indent=2, ensure_ascii=ascii_only, allow_nan=False), soft_wrap=True
        )


def _plain(value: Any) -> Any:
    """Frames, numbers of NumPy and paths as JSON has them."""
    import numpy as np
    import pandas as pd

    match value:
        case pd.DataFrame():
            return [
                _plain(dict(zip(value.columns, row, strict=True)))
                for row in value.itertuples(index=False, name=None)
            ]
        case Mapping():
            return {str(name): _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case str() | None | bool():
            return value
        case np.bool_():
            return bool(value)
        case np.integer() | int():
            return int(value)
        case np.floating() | float():
            return float(value) if np.isfinite(value) else None
        case _:
            return None if value is pd.NA or value is pd.NaT else str(value)


def reporter() -> Reporter:
    """What tells of the steps on stderr: bars on a terminal, plain lines elsewhere and under
    --verbose, nothing under --quiet.
    """
    if verbosity.quiet:
        return Quiet()
    if errors.is_terminal and not verbosity.verbose:
        return TerminalBars(errors)
    return LogLines(errors.print, detail=verbosity.verbose)


@contextmanager
def loading_step(what: str = "") -> Iterator[Advance]:
    """The step in which packages are loaded: no line of a log, unless --verbose asks for every
    step.

    What is loaded stays, and looking through it for what could go took a third of the time of a
    check.
    """
    told = reporter() if errors.is_terminal or verbosity.verbose else Quiet()
    collects, before = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        with told.step(f"loading {what}".strip()) as advance:
            yield advance
    finally:
        if len(sys.modules) > before:
            gc.freeze()
        if collects:
            gc.enable()


UNFIT = 3  # the exit code where numbers are there and not to be relied on

Out = Annotated[
    Path,
    typer.Option("--out", help="Folder for the results; must not exist, unless --force is given."),
]
StudyOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Folder for the results; must not exist, unless --force is given. Default: "
        "results/NAME beside NAME.toml.",
        show_default=False,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace existing results once the new ones are complete.")
]
Cores = Annotated[
    int | None,
    typer.Option("--cores", min=1, help="Chains sampled at once; does not change the results."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Override the seed in the study file.")
]


Radius = Annotated[
    float,
    typer.Option(
        "--radius",
        help="Half-width of the ball of a number: a share of its value, or with --absolute in its "
        "units.",
    ),
]
Absolute = Annotated[
    bool, typer.Option("--absolute", help="The radius is in the variable's units.")
]
MinRadius = Annotated[
    float,
    typer.Option("--min-radius", help="Least half-width, in the variable's units: for zeros."),
]
AllowWide = Annotated[
    bool, typer.Option("--allow-wide", help="Accept a radius of 1 (100 %) or more.")
]
Boundary = Annotated[str, typer.Option("--boundary", help="closed or open ball.")]


def scenario_of(
    data: "pd.DataFrame",
    known: str,
    synthesized: str,
    *,
    absolute: bool,
    codes: list[str] | None,
    **others: Any,
) -> "Scenario":
    """The scenario that the options of a command describe, of columns that the data has; `Scenario`
    checks the rest.
    """
    from riskweighted.common.frames import require_columns
    from riskweighted.intruder.scenario import Scenario

    require_columns(data, (*split(known), *split(synthesized)), "confidential data")
    kind: Any = "absolute" if absolute else "relative"
    return Scenario(
        known=split(known),
        synthetic=split(synthesized),
        radius_kind=kind,
        codes=codes_of(codes),
        **others,
    )


def split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


Codes = Annotated[
    list[str] | None,
    typer.Option(
        "--codes",
        metavar="VARIABLE=CODE",
        help="Special codes of a number, such as income=-8,-9; repeatable.",
    ),
]


def codes_of(pairs: list[str] | None) -> dict[str, tuple[float, ...]]:
    """VARIABLE=CODE,CODE of a command line as a mapping."""
    by_variable: dict[str, tuple[float, ...]] = {}
    for pair in pairs or []:
        name, _, codes = pair.partition("=")
        try:
            numbers = tuple(float(code) for code in split(codes))
        except ValueError:
            numbers = ()
        if not numbers or not name.strip():
            raise InputError(
                "special codes are given as VARIABLE=CODE, or VARIABLE=CODE,CODE with numbers"
            )
        by_variable[name.strip()] = (*by_variable.get(name.strip(), ()), *numbers)
    return by_variable


def print_info_table(table: "pd.DataFrame", title: str) -> None:
    """A table that explains or repeats what is kept elsewhere: not under --quiet."""
    if not verbosity.quiet:
        print_table(table, title)


def print_table(table: "pd.DataFrame", title: str) -> None:
    """A table, its columns in as many pieces as the width needs: no number and no name is cut.

    The numbers of a column have the same decimals; rows of several kinds are given as text
    (`View.row`).
    """
    from rich.table import Table

    if verbosity.json:
        return
    cells = format_columns(table, missing="-")
    names = [str(name) for name in table.columns]
    widths = [
        max(len(name), *cells.iloc[:, position].str.len(), 1) + _RULES
        for position, name in enumerate(names)
    ]
    names_end = _FIRST if output.width >= _NARROW else _FIRST_OF_NARROW
    first = min(max([len(str(name)) for name in table.index], default=0), names_end)
    print_result(title)
    for piece in pieces(widths, output.width - first - _RULES):
        shown = Table()
        shown.add_column(str(table.index.name or ""), max_width=names_end, overflow="fold")
        for position in piece:
            shown.add_column(names[position], justify="right", overflow="fold")
        for name, row in zip(table.index, cells.to_numpy(), strict=True):
            shown.add_row(plain(str(name)), *(row[position] for position in piece))
        output.print(shown)


def default_out(file: Path) -> Path:
    """Where the results of a study file go that nobody said a folder for: "results" and its name,
    beside it.
    """
    out = file.parent / "results" / file.stem
    there = next(folder for folder in out.parents if folder.exists())
    if not os.access(there, os.W_OK):
        raise InputError(
            f"results go beside {file.name!r}, and nothing may be written in {str(there)!r}: "
            "name another folder (--out)"
        )
    return out


def print_stderr(text: str) -> None:
    """A line on stderr; on a terminal its words are kept whole."""
    errors.print(text, soft_wrap=not errors.is_terminal)


def print_info_pairs(pairs: "Mapping[str, str]") -> None:
    """Names and what is said of each: not under --quiet."""
    if not verbosity.quiet:
        print_pairs(pairs)


def print_pairs(pairs: "Mapping[str, str]") -> None:
    """Names and what is said of each, in two columns; long lines go on in the second one."""
    from rich.table import Table

    if verbosity.json:
        return
    shown = Table.grid(padding=(0, 2))
    shown.add_column(
        overflow="fold", max_width=22, min_width=min(22, max(map(len, pairs), default=0))
    )
    shown.add_column(overflow="fold")
    for name, value in pairs.items():
        shown.add_row(plain(name), plain(value))
    if _for_people:
        output.print(shown, soft_wrap=False)
        return
    for name, value in pairs.items():  # in a file a line each, to be searched
        output.print(f"{name:22} {value}")
