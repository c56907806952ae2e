"""``riskweighted init``: a first look at a file, and a study file to edit."""

import tomllib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from riskweighted.commands.terminal import loading, manner, output, reporter, say, show, show_json, tell
from riskweighted.common.checks import real_path
from riskweighted.common.errors import InputError
from riskweighted.common.folders import refuse_inside_result
from riskweighted.common.text import as_argument, plain
from riskweighted.data.formats import FORMATS

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.runs.columns import Column
    from riskweighted.runs.given import Given
    from riskweighted.runs.suggestion import Suggestion


def init(
    data: Annotated[Path, typer.Argument(metavar="FILE", help=f"Confidential table: {', '.join(FORMATS)}.")],
    out: Annotated[Path, typer.Option("--out", help="The study file to write.")] = Path("study.toml"),
    synthesize: Annotated[
        list[str] | None, typer.Option("--synthesize", metavar="NAME", help="What is sensitive; repeatable. Default: one column, guessed.")
    ] = None,
    variables: Annotated[
        Path | None, typer.Option("--variables", metavar="FILE", help="What the columns are: a sidecar file (.toml, .csv), or a data file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Look at a file and write a commented study file to edit: scenario, model and weights, each line with its reason.

    Shown are shares and counts, never a value of the data.
    """
    _check_place(out, data, force)
    with loading("PyMC"):
        import riskweighted.runs.checked  # noqa: F401
        from riskweighted.common.atomic import whole_file
        from riskweighted.common.frames import holds_numbers
        from riskweighted.data.io import read_table
        from riskweighted.runs.columns import look_at
        from riskweighted.runs.given import look_into
        from riskweighted.runs.roles import amounts_with_text
        from riskweighted.runs.starting import carries_values, starting_text
        from riskweighted.runs.suggestion import suggest
    with reporter().step("reading the file"):
        given = look_into(data, variables)
        table = read_table(data, given.layout, given.variables)
    with reporter().step("looking at its columns"):
        texts = amounts_with_text(table, synthesize or ()) if given.layout is not None else {}
        told, given = given, given.with_missing([text for cells in texts.values() for text in cells])
        table = read_table(data, given.layout, given.variables) if texts else table
        no_numbers = {name: len(cells) for name, cells in texts.items() if holds_numbers(table[name])}
        columns = look_at(table, given.variables, synthesize or ())
        first = suggest(table, columns, tuple(synthesize or ()))
    with reporter().step("checking the study that comes of it"):
        suggestion, refusal = _first_that_runs(first, table, data, given)
    private = carries_values(suggestion) or bool(texts)
    with whole_file(out, private=private, replace=force) as unfinished:
        text = starting_text(suggestion, data, out.absolute().parent, given.layout, given.named)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        _show(suggestion, refusal, out, private, no_numbers, told)
    show(f"Written to {out}{' (confidential: it holds codes, bounds or units found in the data)' if private else ''}")
    say(f"Edit it, then: riskweighted check {as_argument(str(out))}")


def _check_place(out: Path, data: Path, force: bool) -> None:
    if out.suffix != ".toml":
        raise InputError(f"--out {out.name!r} must end in .toml")
    if out.is_dir() or real_path(out) == real_path(data):
        raise InputError(f"--out {str(out)!r} is {'a folder' if out.is_dir() else 'the confidential file itself'}; choose another file")
    if out.exists() and not force and data.exists():  # of a file that is absent, reading says so
        raise InputError(f"{str(out)!r} exists; choose another file (--out) or allow replacing it (--force)")
    refuse_inside_result(out)


def _first_that_runs(first: "Suggestion", table: "pd.DataFrame", data: Path, given: "Given") -> tuple["Suggestion", str]:
    """The suggestion, or the first simpler one, that suits the data; the first one with what is wrong where none does."""
    from riskweighted.common.errors import RiskWeightedWarning
    from riskweighted.runs.checked import check_study
    from riskweighted.runs.starting import starting_text
    from riskweighted.runs.study import make_study
    from riskweighted.runs.suggestion import with_fewer

    refusal = ""
    for suggestion in with_fewer(first, table):
        folder = data.absolute().parent
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RiskWeightedWarning)  # `check` says them
            try:
                text = starting_text(suggestion, data, folder, given.layout, given.named)
                check_study(make_study(tomllib.loads(text), folder), table)
            except InputError as error:
                refusal = refusal or str(error)
                continue
        return suggestion, ""
    return first, refusal


def _show(suggestion: "Suggestion", refusal: str, out: Path, private: bool, no_numbers: dict[str, int], given: "Given") -> None:
    """What was found and what is suggested; `no_numbers`: cells by column that hold none where the others do; `given`: how the file is
    read and what it says of itself, or cannot say.
    """
    import pandas as pd

    of_file = given.remarks(suggestion.columns)
    show_json(
        "init",
        **_as_json(suggestion),
        no_numbers=no_numbers,
        file=of_file,
        odd_lines=given.odd,
        refused=refusal or None,
        confidential=private,
        results=out,
    )
    rows = {
        column.name: (column.type.removesuffix(" number").removesuffix(" value"), f"{column.distinct:,}", _gaps(column), _remarks(column))
        for column in suggestion.columns
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["type", "values", "gaps", "found"])
    _show_found(table.rename_axis("column"), f"{suggestion.columns[0].records:,} records, columns: {len(suggestion.columns)}")
    for line in of_file:
        say(line)
    say("values: different ones; gaps: missing; x10: multiples of 10; spike: one value that 2% of the records and more share.")
    say(f"Synthesized: {_names(suggestion.targets)}{' (guessed; --synthesize NAME takes another)' if suggestion.chosen else ''}.")
    say(f"Known to an intruder: {_names(suggestion.known)}{f' ({suggestion.crowd})' if suggestion.known else ''}.")
    models = ", ".join(f"{model} for {plain(name)}" for name, model in suggestion.models.items() if model)
    say(f"Model: {models}. Predictors: {_names(suggestion.predictors)}.")
    if suggestion.beyond:
        counts = ", ".join(f"{plain(name)} ({count:,} beyond)" for name, count in suggestion.beyond.items())
        say(f"Draws have round bounds that were found in the data: {counts}. Public ones are better: edit support.")
    if suggestion.told_by:
        say("Left out: " + "; ".join(f"{plain(name)}, which follows from {plain(of)}" for name, of in suggestion.told_by.items()) + ".")
    if suggestion.rules or suggestion.nearly:
        say(f"Rules: {len(suggestion.rules)} that no record breaks, kept; {len(suggestion.nearly)} that a few break, not kept.")
    for line in given.odd:
        tell(f"warning: {line}")
    for name, cells in no_numbers.items():
        told = "1 cell that is no number" if cells == 1 else f"{cells:,} cells that are no numbers"
        tell(
            f"warning: {plain(name)!r} has {told}, of {suggestion.columns[0].records:,}; they count as missing, as [data] missing says: "
            "leave them empty in the file, or give them a number as a code, if they mean something else"
        )
    if refusal:
        tell(f"warning: as written the study will not run yet: {refusal}")


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) or "nothing"


def _show_found(table: "pd.DataFrame", title: str) -> None:
    """The table of columns, whose last cell is prose and may be folded at words."""
    from rich.table import Table

    if manner.json or manner.quiet:
        return
    show(title)
    shown = Table()
    shown.add_column("column", max_width=16, overflow="fold")
    shown.add_column("type", max_width=8)
    shown.add_column("values", justify="right")
    shown.add_column("gaps", justify="right")
    shown.add_column("found", overflow="fold")
    for name, row in zip(table.index, table.to_numpy(), strict=True):
        shown.add_row(Text(plain(str(name))), *row)
    output.print(shown)


def _gaps(column: "Column") -> str:
    return _percent(column.missing / column.records) if column.missing else ""


def _remarks(column: "Column") -> str:
    """What is particular about a column, in shares and counts."""
    from riskweighted.runs.columns import AMOUNT

    told = [column.use]
    told += [f"{len(column.codes)} likely code{'s' if len(column.codes) > 1 else ''}, {_percent(column.of_codes)}"] if column.codes else []
    told += [f"0: {_percent(column.zero)}"] if column.zero and column.use == AMOUNT else []
    told += [f"negative: {_percent(column.negative)}"] if column.negative else []
    if column.spikes:
        told.append(f"{column.spikes} spike{'s' if column.spikes > 1 else ''}, largest {_percent(column.largest_spike)}")
    told += [f"x{unit}: {_percent(share)}" for unit, share in column.multiples.items() if share > 2 / float(unit)]
    return "; ".join(told)


def _percent(share: float) -> str:
    return "<1%" if share < 0.005 else f"{100 * share:.0f}%"


def _as_json(suggestion: "Suggestion") -> dict[str, Any]:
    """The same for a machine; no value of the data, so how many codes there are and not which."""
    shown = ("name", "type", "use", "missing", "distinct", "of_codes", "zero", "negative", "spikes", "largest_spike", "multiples")
    columns = [
        {name: getattr(column, name) for name in shown} | {"codes": len(column.codes), "left_out": suggestion.left_out.get(column.name)}
        for column in suggestion.columns
    ]
    return {
        "records": suggestion.columns[0].records,
        "columns": columns,
        "synthesize": suggestion.targets,
        "guessed": suggestion.chosen,
        "known": suggestion.known,
        "patterns": suggestion.patterns,
        "alone": suggestion.alone,
        "models": suggestion.models,
        "predictors": suggestion.predictors,
        "beyond": suggestion.beyond,
        "told_by": suggestion.told_by,
        "rules": len(suggestion.rules),
        "nearly": len(suggestion.nearly),
        "schemes": suggestion.schemes,
    }
