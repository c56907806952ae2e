"""``riskweighted init``: a first look at a file, and a study file to edit."""

import tomllib
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from riskweighted.commands.terminal import (
    loading_step,
    output,
    print_info,
    print_json,
    print_result,
    print_stderr,
    reporter,
    split,
    verbosity,
)
from riskweighted.common.checks import real_path
from riskweighted.common.errors import InputError, listing
from riskweighted.common.folders import refuse_inside_result
from riskweighted.common.text import as_argument, plain
from riskweighted.data.formats import FORMATS

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.runs.study import Study
    from riskweighted.suggest.columns import ColumnSummary
    from riskweighted.suggest.file_layout import FileLayout
    from riskweighted.suggest.suggestion import Suggestion


def init(
    data: Annotated[
        Path, typer.Argument(metavar="FILE", help=f"Confidential table: {', '.join(FORMATS)}.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The study file to write.")] = Path(
        "study.toml"
    ),
    synthesize: Annotated[
        list[str] | None,
        typer.Option(
            "--synthetic",
            metavar="A,B",
            help="The variables to synthesize; repeatable. Default: one column, guessed.",
        ),
    ] = None,
    variables: Annotated[
        Path | None,
        typer.Option(
            "--variables",
            metavar="FILE",
            help="What the columns are: a sidecar file (.toml, .csv), or a data file.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="NAME=KIND",
            help="What a column is, where the guess is wrong; repeatable.",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            metavar="STUDY",
            help="A study of last year's file: the new one keeps what it says.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Look at a file and write a commented study file to edit: scenario, model and weights, each
    line with its reason.

    Shown are shares and counts, never a value of the data.
    """
    _check_place(out, data, force)
    stated = _stated(kind or ())
    asked = [name for text in synthesize or () for name in split(text)]
    if like is not None:
        if asked:
            raise InputError(
                f"--like and --synthetic: {like.name!r} says what is synthesized; edit "
                "[scenario] in the study that is written"
            )
        _next_year(data, out, like, variables, stated, force)
        return
    with loading_step("PyMC"):
        import riskweighted.runs.check_study  # noqa: F401
        from riskweighted.common.atomic import whole_file
        from riskweighted.common.frames import holds_numbers
        from riskweighted.data.io import read_table
        from riskweighted.suggest.columns import look_at
        from riskweighted.suggest.file_layout import inspect_file
        from riskweighted.suggest.kinds import kinds_of
        from riskweighted.suggest.study_file import carries_values, study_file_text
        from riskweighted.suggest.suggestion import suggest
    with reporter().step("reading the file"):
        given = inspect_file(data, variables)
        table = read_table(data, given.layout, given.variables)
    with reporter().step("looking at its columns"):
        told = given
        given, table, texts = _read_amounts(data, given, table, asked)
        no_numbers = {
            name: len(cells) for name, cells in texts.items() if holds_numbers(table[name])
        }
        columns = look_at(table, given.variables, kinds_of(table, given.variables, stated))
        first = suggest(table, columns, tuple(asked))
    with reporter().step("checking the study that comes of it"):
        suggestion, refusal, leaving = _first_that_runs(first, table, data, given)
    private = carries_values(suggestion) or bool(texts)
    with whole_file(out, private=private, replace=force) as unfinished:
        text = study_file_text(suggestion, data, out.absolute().parent, given.layout, given.named)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        _show(suggestion, refusal, leaving, out, private, no_numbers, told)
    why = " (confidential: it holds codes, bounds or units found in the data)" if private else ""
    print_result(f"Written to {out}{why}")
    print_info(f"Edit it, then: riskweighted check {as_argument(str(out))}")


def _next_year(
    data: Path, out: Path, like: Path, variables: Path | None, stated: dict[str, str], force: bool
) -> None:
    """Write the study of a file by that of last year's, and show what is new, gone or no longer
    true.
    """
    with loading_step("PyMC"):
        from riskweighted.common.atomic import whole_file
        from riskweighted.data.io import read_table
        from riskweighted.runs.next_year import (
            LastYear,
            carry_over,
            carry_over_text,
            kinds_that_stay,
        )
        from riskweighted.runs.sections import select_records
        from riskweighted.sequence.conditions import Condition
        from riskweighted.suggest.columns import look_at
        from riskweighted.suggest.file_layout import inspect_file
        from riskweighted.suggest.kinds import kinds_of
        from riskweighted.suggest.suggestion import suggest
    folder = out.absolute().parent
    with reporter().step("reading the file and last year's study"):
        last = LastYear.read(like).seen_from(folder)
        given = inspect_file(data, variables or last.named).laid_out_as(last.study.data.layout)
        table = read_table(data, given.layout, given.variables)
    with reporter().step("looking at its columns"):
        targets = tuple(name for name in last.study.variables if name in table)
        if not targets:
            raise InputError(
                f"the file has no column {listing(last.study.variables)}, which {like.name!r} "
                "synthesizes"
            )
        given, table, _ = _read_amounts(data, given, table, targets)
        where = last.study.data.where
        table = (
            table if where is None else select_records(table, Condition.parse(where, "data.where"))
        )
        kinds, lines = kinds_that_stay(last, table, given.variables, stated)
        suggestion = suggest(
            table, look_at(table, given.variables, kinds_of(table, given.variables, kinds)), targets
        )
    with reporter().step("carrying the study over"):
        made, changed = carry_over(last, table, suggestion, kinds, given.place(data, folder))
        lines = [*lines, *changed]
        _, refusal = _checked(carry_over_text(made, lines, data, like), table, folder)
    lines += [f"as written the study will not run yet: {refusal}"] if refusal else []
    with whole_file(out, private=True, replace=force) as unfinished:
        unfinished.write_text(
            carry_over_text(made, lines, data, like), encoding="utf-8", newline="\n"
        )
        print_json(
            "init",
            **_as_json(suggestion),
            like=like,
            changes=lines,
            refused=refusal or None,
            confidential=True,
            results=out,
        )
        print_info(
            f"{plain(like.name)} for {len(table):,} records; new, gone or no longer true: "
            f"{len(lines) or 'nothing'}."
        )
        for line in lines:
            print_info(f"- {line}")
    print_result(f"Written to {out} (confidential: what was found in the data was found again)")
    print_info(f"Edit it, then: riskweighted check {as_argument(str(out))}")


def _read_amounts(
    data: Path, given: "FileLayout", table: "pd.DataFrame", targets: Sequence[str]
) -> tuple["FileLayout", "pd.DataFrame", dict[str, "pd.Series"]]:
    """How a file is read so that a few cells of text keep no column from being numbers, its table
    so read, and these cells by column.
    """
    from riskweighted.data.io import read_table
    from riskweighted.suggest.roles import amounts_with_text

    texts = amounts_with_text(table, targets) if given.layout is not None else {}
    given = given.with_missing([text for cells in texts.values() for text in cells])
    return given, read_table(data, given.layout, given.variables) if texts else table, texts


def _check_place(out: Path, data: Path, force: bool) -> None:
    if out.suffix != ".toml":
        raise InputError(f"--out {out.name!r} must end in .toml")
    if out.is_dir() or real_path(out) == real_path(data):
        raise InputError(
            f"--out {str(out)!r} is "
            f"{'a folder' if out.is_dir() else 'the confidential file itself'}; choose another "
            "file"
        )
    if out.exists() and not force and data.exists():  # of a file that is absent, reading says so
        raise InputError(
            f"{str(out)!r} exists; choose another file (--out) or allow replacing it (--force)"
        )
    refuse_inside_result(out)


def _stated(given: Sequence[str]) -> dict[str, str]:
    """Kinds by column of the option --kind."""
    from riskweighted.common.checks import check_choice
    from riskweighted.suggest.evidence import KINDS

    stated = {
        name: kind
        for name, equals, kind in (text.rpartition("=") for text in given)
        if name and equals
    }
    if len(stated) < len(given):
        raise InputError(
            "--kind must be NAME=KIND, each column once, such as --kind industry=levels"
        )
    for name, kind in stated.items():
        check_choice(kind, KINDS, f"--kind {name}")
    return stated


def _first_that_runs(
    first: "Suggestion", table: "pd.DataFrame", data: Path, given: "FileLayout"
) -> tuple["Suggestion", str, list[str]]:
    """The suggestion, or the first simpler one, that suits the data, and what its study lets out;
    the first one with what is wrong where none does."""
    from riskweighted.runs.release_remarks import ids_first, release_remarks
    from riskweighted.suggest.study_file import study_file_text
    from riskweighted.suggest.suggestion import simpler_suggestions

    refusal, folder = "", data.absolute().parent
    for suggestion in simpler_suggestions(first, table):
        study, why = _checked(
            study_file_text(suggestion, data, folder, given.layout, given.named), table, folder
        )
        if study is None:
            refusal = refusal or why
            continue
        read = study.data.of_kinds(table)
        kinds = [column.found for column in suggestion.columns]
        known = [
            f"{name} (known)" if name in suggestion.known else name
            for name in study.unaltered(read)
        ]
        released = study.released(read)
        columns = [column.name for column in suggestion.columns]
        staying = ids_first([name for name in columns if name not in released], kinds)
        listed = f" ({plain(listing(staying))})" if staying else ""
        leaving = [
            f"Released unaltered: {_names(known)}. Synthesized: {_names(study.variables)}.",
            f"Stays: {len(staying):,} column{'s' * (len(staying) != 1)}{listed}.",
        ]
        return (
            suggestion,
            "",
            [*leaving, *(f"Note: {plain(line)}." for line in release_remarks(study, read, kinds))],
        )
    return first, refusal, []


def _checked(text: str, table: "pd.DataFrame", folder: Path) -> tuple["Study | None", str]:
    """The study of a text, where it suits the data; else None, and why not."""
    from riskweighted.common.errors import RiskWeightedWarning
    from riskweighted.runs.check_study import check_study
    from riskweighted.runs.study import make_study

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # `check` says them
        try:
            study = make_study(tomllib.loads(text), folder)
            check_study(study, study.data.of_kinds(table))
        except InputError as error:
            return None, str(error)
    return study, ""


def _show(
    suggestion: "Suggestion",
    refusal: str,
    leaving: Sequence[str],
    out: Path,
    private: bool,
    no_numbers: dict[str, int],
    given: "FileLayout",
) -> None:
    """What was found, what is suggested, and at the end what leaves (`leaving`); `no_numbers`:
    cells by column that hold none where the others do; `given`: how the file is read and what it
    says of itself, or cannot say.
    """
    import pandas as pd

    of_file = given.remarks(suggestion.columns)
    print_json(
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
        column.name: (column.kind, f"{column.distinct:,}", _gaps(column), _remarks(column))
        for column in suggestion.columns
    }
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=["kind", "values", "gaps", "found"]
    )
    _show_found(
        table.rename_axis("column"),
        f"{suggestion.columns[0].records:,} records, columns: {len(suggestion.columns)}",
    )
    for line in of_file:
        print_info(line)
    print_info(_legend(table["found"]))
    guessed = " (guessed; --synthetic NAME takes another)" if suggestion.chosen else ""
    print_info(f"Synthesized: {_names(suggestion.targets)}{guessed}.")
    crowd = f" ({suggestion.crowd})" if suggestion.known else ""
    print_info(f"Known to an intruder: {_names(suggestion.known)}{crowd}.")
    models = ", ".join(
        f"{model} for {plain(name)}" for name, model in suggestion.models.items() if model
    )
    print_info(f"Model: {models}. Predictors: {_names(suggestion.predictors)}.")
    if suggestion.beyond:
        counts = ", ".join(
            f"{plain(name)} ({count:,} beyond)" for name, count in suggestion.beyond.items()
        )
        print_info(
            f"Draws have round bounds that were found in the data: {counts}. Public ones are "
            "better: edit support."
        )
    if suggestion.told_by:
        print_info(
            "Left out: "
            + "; ".join(
                f"{plain(name)}, which follows from {plain(of)}"
                for name, of in suggestion.told_by.items()
            )
            + "."
        )
    if suggestion.rules or suggestion.nearly:
        print_info(
            f"Rules: {len(suggestion.rules)} that no record breaks, kept; "
            f"{len(suggestion.nearly)} that a few break, not kept."
        )
    for line in [*leaving, *_of_units(suggestion)]:
        print_info(line)
    for name in suggestion.targets:
        if (rule := suggestion.asked_of(name)) is not None:
            print_info(
                f"{plain(name)} is asked where {plain(rule.when)}: a rule of the study, and no "
                "disclosure."
            )
    for column in suggestion.columns:
        if column.found.question:
            print_info(
                f"Question: {plain(column.name)}: {column.found.question} (--kind says it, too)."
            )
    for line in given.odd:
        print_stderr(f"warning: {line}")
    for name, cells in no_numbers.items():
        told = (
            "1 cell that is not a number" if cells == 1 else f"{cells:,} cells that are not numbers"
        )
        print_stderr(
            f"warning: {plain(name)!r} has {told}, of {suggestion.columns[0].records:,}; they "
            "count as missing, as [data] missing says: "
            "empty them in the file, or give them a number as a code if they mean something else"
        )
    once = () if suggestion.together is None else suggestion.together.unit_level
    for name, unit in suggestion.of_units.items():
        if name in once:
            continue
        print_stderr(
            f"warning: {plain(name)!r} is a property of {plain(unit)}: synthesize it in a file "
            f"with one record a {plain(unit)}"
        )
    if refusal:
        print_stderr(f"warning: as written the study will not run yet: {refusal}")


def _of_units(suggestion: "Suggestion") -> list[str]:
    """Each unit id, how many units it names, and what belongs to them, a line each; and the columns
    of the survey's design.
    """
    lines = []
    for name, held in suggestion.units.items():
        column = suggestion.column(name)
        same = (
            f"; {_names(held)} {'is' if len(held) == 1 else 'are'} the same in each: of the unit"
            if held
            else ""
        )
        lines.append(
            f"{plain(name)}: {column.distinct:,} units in {column.records - column.missing:,} "
            f"records{same}."
        )
    design = [
        f"{plain(column.name)} ({column.kind})"
        for column in suggestion.columns
        if column.kind in ("weight", "design", "time")
    ]
    return [*lines, *([f"Time, weights and design: {', '.join(design)}."] if design else [])]


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) or "nothing"


def _show_found(table: "pd.DataFrame", title: str) -> None:
    """The table of columns, whose last cell is prose and may be folded at words."""
    from rich.table import Table

    if verbosity.json or verbosity.quiet:
        return
    print_result(title)
    shown = Table()
    shown.add_column("column", max_width=16, overflow="fold")
    shown.add_column("kind", max_width=9)
    shown.add_column("values", justify="right")
    shown.add_column("gaps", justify="right")
    shown.add_column("found", overflow="fold")
    for name, row in zip(table.index, table.to_numpy(), strict=True):
        shown.add_row(Text(plain(str(name))), *row)
    output.print(shown)


def _legend(found: Iterable[str]) -> str:
    """What the words of the table mean, of those that stand in it."""
    shown = " ".join(found)
    told = ["values: different ones", "gaps: missing"]
    told += ["x10: multiples of 10"] if " x10" in shown else []
    told += ["spike: one value that 2% of the records and more share"] if " spike" in shown else []
    return "; ".join(told) + "."


def _gaps(column: "ColumnSummary") -> str:
    return _percent(column.missing / column.records) if column.missing else ""


def _remarks(column: "ColumnSummary") -> str:
    """What is particular about a column, in shares and counts."""
    told = [column.found.reason]
    told += ["infinite values, so it can play no part"] if column.infinite else []
    told += [f"{column.groups} groups by how its codes begin"] if column.groups else []
    told += (
        [
            f"{len(column.codes)} likely code{'s' if len(column.codes) > 1 else ''}, "
            f"{_percent(column.of_codes)}"
        ]
        if column.codes
        else []
    )
    told += [f"0: {_percent(column.zero)}"] if column.zero and column.kind == "number" else []
    told += [f"negative: {_percent(column.negative)}"] if column.negative else []
    if column.spikes:
        told.append(
            f"{column.spikes} spike{'s' if column.spikes > 1 else ''}, largest "
            f"{_percent(column.largest_spike)}"
        )
    told += [
        f"x{unit}: {_percent(share)}"
        for unit, share in column.multiples.items()
        if share > 2 / float(unit)
    ]
    return "; ".join(told)


def _percent(share: float) -> str:
    return "<1%" if share < 0.005 else f"{100 * share:.0f}%"


def _as_json(suggestion: "Suggestion") -> dict[str, Any]:
    """The same for a machine; no value of the data, so how many codes there are and not which."""
    shown = (
        "name",
        "kind",
        "type",
        "missing",
        "distinct",
        "of_codes",
        "zero",
        "negative",
        "spikes",
        "largest_spike",
        "multiples",
    )
    columns = [
        {name: getattr(column, name) for name in shown}
        | {
            "reason": column.found.reason,
            **({"question": column.found.question} if column.found.question else {}),
        }
        | {
            "within": column.found.within,
            "codes": len(column.codes),
            "left_out": suggestion.left_out.get(column.name),
        }
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
