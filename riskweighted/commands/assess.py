"""``riskweighted assess``."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskweighted.commands.terminal import (
    Absolute,
    AllowWide,
    Boundary,
    Codes,
    MinRadius,
    Radius,
    loading_step,
    print_info,
    print_json,
    print_result,
    print_stderr,
    print_table,
    reporter,
    scenario_of,
    split,
    verbosity,
)
from riskweighted.common.atomic import write_file
from riskweighted.common.errors import InputError
from riskweighted.common.extras import optional
from riskweighted.common.folders import open_folder
from riskweighted.common.text import as_argument

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.disclosure.any_tool import ToolsDisclosure
    from riskweighted.evaluation.assess import Assessment
    from riskweighted.intruder.scenario import Scenario


_Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        metavar="NAME=FILE,FILE",
        help="What a tool made; repeat it to compare tools.",
    ),
]
_Unpaired = Annotated[
    list[str] | None,
    typer.Option(
        "--unpaired", metavar="NAME", help="Rows of this tool pair with none, though as many."
    ),
]
_Folds = Annotated[
    list[str] | None,
    typer.Option(
        "--folds",
        metavar="[NAME=]DIR",
        help="What a tool made of `riskweighted folds`: without it disclosure is not judged.",
    ),
]
_Analyses = Annotated[
    list[str] | None,
    typer.Option(
        "--analysis", metavar="PACKAGE.MODULE:FUNCTION", help="Compare its estimates; repeatable."
    ),
]
_Regressions = Annotated[
    list[str] | None,
    typer.Option("--regression", metavar="FORMULA", help="Compare its coefficients; repeatable."),
]


def assess(
    confidential: Annotated[
        Path, typer.Argument(metavar="CONFIDENTIAL", help="Confidential table.")
    ],
    known: Annotated[str, typer.Option("--known", help="Variables an intruder knows: a,b.")],
    synthesized: Annotated[
        str, typer.Option("--synthetic", help="The synthesized variables: a,b.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SYNTHETIC]...", help="Synthetic versions of it, of one tool."),
    ] = None,
    synthetic: _Tools = None,
    holdout: Annotated[
        Path | None,
        typer.Option("--holdout", help="Records of the same population that no synthesizer saw."),
    ] = None,
    folds: _Folds = None,
    unpaired: _Unpaired = None,
    columns: Annotated[
        str, typer.Option("--columns", help="Further columns whose tables utility compares: a,b.")
    ] = "",
    regression: _Regressions = None,
    analysis: _Analyses = None,
    radius: Radius = 0.2,
    absolute: Absolute = False,
    categorical: Annotated[
        str,
        typer.Option(
            "--categorical", help="Synthesized variables stored as numbers that are codes."
        ),
    ] = "",
    codes: Codes = None,
    min_radius: MinRadius = 0.0,
    allow_wide: AllowWide = False,
    boundary: Boundary = "closed",
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="Column that pairs rows; without it they pair by position."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, help="How many of the riskiest records to list.")
    ] = 10,
    internal: Annotated[
        bool,
        typer.Option(
            "--internal", help="Also print the riskiest records and each known variable's part."
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, help="Random seed for the attacks."),
    ] = 1,
    risk: Annotated[
        str | None, typer.Option("--risk", help="Measure on the map's x axis, by name.")
    ] = None,
    utility: Annotated[
        str | None, typer.Option("--utility", help="Measure on the map's y axis, by name.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Print every measure with its definition.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the tables and the map; must not exist."),
    ] = None,
) -> None:
    """Measure disclosure risk and utility of synthetic data made by any tool, beside the yardsticks
    of no and full protection.

    The first result is disclosure beyond inference; it needs --folds, made by running the tool on
    the output of `riskweighted folds`. Fully synthetic data, whose rows do not correspond to
    records, get every measure that does not need matching rows.
    """
    tools = _named(files or [], synthetic or [])
    balls = {
        "radius": radius,
        "absolute": absolute,
        "min_radius": min_radius,
        "allow_wide": allow_wide,
        "boundary": boundary,
    }
    asked = {
        "columns": split(columns),
        "regressions": regression or (),
        "analyses": analysis or (),
        "identifier": identifier,
        "top": top,
        "unpaired": unpaired or (),
    }
    given = {"folds": _folds_of(folds or [], tools), "released": split(columns), "seed": seed}
    if out is not None:
        optional("matplotlib", "the map (--out)")
        optional("jinja2", "the page (--out)")
    with nullcontext() if out is None else open_folder(out, "an assessment") as working:
        table, scenario = _scenario(
            confidential, known, synthesized, codes=codes, categorical=split(categorical), **balls
        )
        synthetic_of = _read(tools)
        notes = _notes_on_codes(table, scenario)
        for note in notes:
            print_stderr(f"note: {note}")
        disclosure, standing_out = _attributed(table, synthetic_of, scenario, given, asked)
        result = _measure(table, synthetic_of, scenario, holdout, asked)
        folding = (
            f"riskweighted folds {as_argument(str(confidential))} --synthetic "
            f"{as_argument(synthesized)} --out folds"
        )
        if working is not None:
            with reporter().step("writing"):
                _write_assessment(result, working.result, disclosure, standing_out)
                _draw_map(result, disclosure, working.result / "map", risk, utility)
                page = _page(
                    result,
                    disclosure,
                    scenario,
                    (table, synthetic_of),
                    {"confidential": [confidential], **tools},
                    notes,
                    folding,
                    (risk, utility),
                )
                write_file(working.result / "confidential" / "report.html", page, private=True)
        print_json(  # inside: without it, nothing is left
            "assess",
            disclosure=_by_tool(disclosure),
            disclosure_rows=disclosure,
            measures=_both(result),
            left_out=result.unpaired,
            notes=notes,
            results=out,
        )
        if out is not None and len(standing_out):
            print_stderr(
                "note: the records whose values stand out are listed in "
                f"{as_argument(f'{out}/confidential/standing_out.csv')}"
            )
        if not (verbosity.json or (verbosity.quiet and out is not None)):
            if full or internal:
                _print_disclosure(disclosure)
                _print_assessment(result, scenario, internal=internal)
            for line in _brief(disclosure, folding):
                print_info(line)
            if not (full or internal):
                print_info(
                    "(--full prints every measure with its definition)"
                    if out is None
                    else "(measures.csv and utility.csv hold every measure with its definition)"
                )
    if out is not None:
        print_result(
            f"Written to {out} (the page: confidential/report.html; confidential/ never leaves "
            "the agency)"
        )


def _scenario(
    confidential: Path, known: str, synthesized: str, **options: Any
) -> tuple["pd.DataFrame", "Scenario"]:
    """The confidential table, and the scenario that the options describe."""
    with loading_step():
        import riskweighted.evaluation.assess  # noqa: F401
        from riskweighted.data.io import read_table
    table = read_table(confidential)
    return table, scenario_of(table, known, synthesized, **options)


def _notes_on_codes(table: "pd.DataFrame", scenario: "Scenario") -> list[str]:
    """Which synthesized numbers seem to hold codes that nobody named."""
    from riskweighted.runs.undeclared import likely_codes
    from riskweighted.suggest.columns import look_at
    from riskweighted.suggest.evidence import LEVELS, NUMBER

    stated = {name: scenario.codes_of(name) for name in scenario.synthetic}
    numbers = [name for name in scenario.synthetic if scenario.is_numeric(table[name])]
    return [
        f"{each}: name codes with --codes VARIABLE=CODE"
        for each in likely_codes(look_at(table, only=numbers), stated, (NUMBER, LEVELS))
    ]


def _read(tools: dict[str, list[Path]]) -> dict[str, list["pd.DataFrame"]]:
    from riskweighted.data.io import read_table

    return {name: [read_table(path) for path in paths] for name, paths in tools.items()}


def _attributed(
    table: "pd.DataFrame",
    tools: dict[str, list["pd.DataFrame"]],
    scenario: "Scenario",
    given: dict[str, Any],
    asked: dict[str, Any],
) -> "ToolsDisclosure":
    """What every tool's datasets give away beyond inference."""
    from riskweighted.disclosure.any_tool import disclosure_of_tools
    from riskweighted.disclosure.folds import read_folds

    with reporter().step("reading folds") as advance:
        folds = {
            name: read_folds(folder, table, progress=advance)
            for name, folder in given["folds"].items()
        }
    pairing = {name: asked[name] for name in ("unpaired", "identifier")}
    with reporter().step("measuring disclosure beyond inference") as advance:
        return disclosure_of_tools(
            table,
            tools,
            scenario,
            folds=folds,
            released=given["released"],
            random_seed=given["seed"],
            progress=advance,
            **pairing,
        )


def _folds_of(folds: list[str], tools: dict[str, Any]) -> dict[str, str]:
    """The folder of each tool's folds; one without a name is that of the only tool."""
    given: dict[str, str] = {}
    for text in folds:
        name, named, folder = text.partition("=")
        if not named and len(tools) != 1:
            raise InputError(
                f"--folds {text} names no tool: give --folds NAME=DIR, of {', '.join(tools)}"
            )
        name, folder = (name, folder) if named else (next(iter(tools)), text)
        if name not in tools:
            raise InputError(
                f"--folds names the tool {name!r}, of which no synthetic file was given; the "
                f"tools are {', '.join(tools)}"
            )
        given[name] = folder
    return given


def _measure(
    table: "pd.DataFrame",
    tools: dict[str, list["pd.DataFrame"]],
    scenario: "Scenario",
    holdout: Path | None,
    asked: dict[str, Any],
) -> "Assessment":
    """Risk and utility of every tool's files."""
    from riskweighted.data.io import read_table
    from riskweighted.evaluation.assess import assess

    with reporter().step("measuring") as advance:
        others = None if holdout is None else read_table(holdout)
        return assess(table, tools, scenario, holdout=others, progress=advance, **asked)


def _named(files: list[Path], named: list[str]) -> dict[str, list[Path]]:
    """The files of each tool: those without a name are of one called "synthetic"."""
    tools: dict[str, list[Path]] = {"synthetic": files} if files else {}
    for text in named:
        name, _, paths = text.partition("=")
        if not name.strip() or not split(paths):
            raise InputError("a tool's files are given as --tool NAME=FILE, or NAME=FILE,FILE")
        tools.setdefault(name.strip(), []).extend(map(Path, split(paths)))
    if not tools:
        raise InputError(
            "no synthetic file was given: name at least one, or --tool NAME=FILE,FILE for "
            "each of several tools"
        )
    return tools


def _both(result: "Assessment") -> "pd.DataFrame":
    """Risk and utility in the one schema."""
    import pandas as pd

    return pd.concat(
        [result.measures, result.utility.assign(release=result.utility["label"])], ignore_index=True
    )[result.measures.columns]


def _write_assessment(
    result: "Assessment", folder: Path, disclosure: "pd.DataFrame", standing_out: "pd.DataFrame"
) -> None:
    """The measures, and what never leaves in a folder of its own."""
    from riskweighted.data.io import write_aggregates, write_table

    write_table(disclosure, folder / "disclosure.csv")
    write_table(result.measures, folder / "measures.csv")
    write_table(result.utility, folder / "utility.csv")
    if len(standing_out):
        write_table(standing_out, folder / "confidential" / "standing_out.csv", private=True)
    if len(result.riskiest):
        write_aggregates(
            result.contributions, folder / "confidential" / "contributions.csv", private=True
        )
        write_table(
            result.riskiest, folder / "confidential" / "riskiest.csv", index=True, private=True
        )


def _draw_map(
    result: "Assessment",
    disclosure: "pd.DataFrame",
    path: Path,
    risk: str | None,
    utility: str | None,
) -> None:
    """Every tool by risk and loss of utility, as SVG and PNG."""
    from riskweighted.reports.assessment import draw_map

    ax = draw_map(result, disclosure, risk, utility)
    for kind in ("svg", "png"):
        ax.get_figure(root=True).savefig(path.with_suffix(f".{kind}"), dpi=150)  # type: ignore[union-attr]


def _page(
    result: "Assessment",
    disclosure: "pd.DataFrame",
    scenario: "Scenario",
    data: "tuple[pd.DataFrame, dict[str, list[pd.DataFrame]]]",
    files: dict[str, list[Path]],
    notes: list[str],
    folding: str,
    measures: tuple[str | None, str | None],
) -> str:
    """The page, with the hash of every file."""
    import pandas as pd

    from riskweighted.common.fingerprints import file_hash
    from riskweighted.reports.assessment import Assessed, assessment_page

    hashes = [
        (label, path.name, file_hash(path)) for label, paths in files.items() for path in paths
    ]
    told = pd.DataFrame(hashes, columns=["Of", "File", "SHA-256"])
    return assessment_page(
        Assessed(result, disclosure, scenario, len(data[0]), told, notes, folding, measures, *data)
    )


def _by_tool(disclosure: "pd.DataFrame") -> dict[str, dict[str, object]]:
    """Of each tool, for a machine, the verdict on what it discloses, why, D and its upper limit."""
    from riskweighted.reports.tool_verdicts import verdicts_of
    from riskweighted.reports.verdict_sentences import disclosure_by_label

    told = {
        name: (each.word, [each.why] if each.why else [])
        for name, each in verdicts_of(disclosure).items()
    }
    return disclosure_by_label(disclosure, told)


def _brief(disclosure: "pd.DataFrame", folding: str) -> Iterator[str]:
    """Whether each tool's files may leave, by what they give away beyond inference; the largest
    reason, and what comes next.
    """
    from riskweighted.reports.brief import verdict_lines
    from riskweighted.reports.tool_verdicts import reason_and_next, verdicts_of

    told = verdicts_of(disclosure)
    why, following = reason_and_next(told, folding)
    yield from verdict_lines({label: (each.word, each.figure) for label, each in told.items()}, why)
    if following:
        yield f"Next: {following}"


def _print_disclosure(disclosure: "pd.DataFrame") -> None:
    """The headline: a row a tool."""
    import numpy as np

    from riskweighted.disclosure.policy import NOT_JUDGED

    first = disclosure.drop_duplicates("label").set_index("label")
    shown = first.reindex(
        columns=["verdict", "D", "upper", "with", "out", "none", "constant", "persons"]
    )
    names = {
        "upper": "upper 95 %",
        "with": "guessed",
        "out": "without own value",
        "none": "without release",
        "constant": "by one value",
    }
    shown["persons"] = [
        f"{most:.0f}" if most == most else "-" for most in np.ceil(shown["persons"])
    ]
    print_table(
        shown.rename(columns=names | {"persons": "N"}),
        "Disclosure beyond inference (all L files, rows shuffled)",
    )
    for label, why in first["why"].items():
        if why:
            print_info(f"{label}: {first.loc[label, 'verdict']}: {why}")
    if (first["verdict"] == NOT_JUDGED).any():
        print_info(
            "Not judged is no pass: `riskweighted folds` writes what the tool is to be run on, "
            "fold by fold, for --folds."
        )


def _print_assessment(result: "Assessment", scenario: "Scenario", *, internal: bool) -> None:
    """The releases side by side, the synthetic one with its interval where it is the only one."""
    tools = [label for label in result.measures["label"].unique() if label not in result.yardsticks]
    _print_side_by_side(result.measures, tools, f"Disclosure risk ({scenario.boundary} balls)")
    utility, both = _without_many(result.utility), _without_many(_both(result))
    _print_side_by_side(utility, tools, "Utility")
    for label, reason in result.unpaired.items():
        print_info(
            f"Left out of {label}, whose rows do not pair with the confidential ones ({reason}): "
            "what needs pairs."
        )
    for _, rows in both[both["label"].isin(tools)].groupby(
        ["key", "parameter"], sort=False, dropna=False
    ):
        rules = " | ".join(rows["rule"].dropna().unique())
        print_info(
            f"{rows['measure'].iloc[0]}: "
            f"{rows['definition'].iloc[0]}{f' [{rules}]' if rules else ''}"
        )
    if internal and len(result.riskiest):
        print_table(
            result.contributions.set_index("known_variable"),
            "What each known variable adds (confidential)",
        )
        print_table(result.riskiest, "Riskiest records (confidential)")


def _without_many(table: "pd.DataFrame") -> "pd.DataFrame":
    """Without the tables of each variable and pair: those are in the files."""
    from riskweighted.measures.cross_tables import ONE_WAY, TWO_WAY

    return table[~table["key"].isin([ONE_WAY.key, TWO_WAY.key])]


def _print_side_by_side(table: "pd.DataFrame", tools: list[str], title: str) -> None:
    """A row a measure, a column a label; the interval of the first tool where it is the only
    one.
    """
    import pandas as pd

    from riskweighted.evaluation.measure_rows import distinct, rows_of
    from riskweighted.reports.output_rules import INTERNAL

    labels, rows = list(table["label"].unique()), {}
    for statistic in distinct(table):
        of_measure = rows_of(table, statistic).set_index("label")
        ends = of_measure[["lower", "upper"]].reindex(tools[:1]).to_numpy(dtype=float).ravel()
        *values, low, high = INTERNAL.row(
            statistic, [*of_measure["value"].reindex(labels), *ends], missing="-"
        )
        rows[statistic.name] = {
            "higher is": of_measure["higher_is"].iloc[0],
            **dict(zip(labels, values, strict=True)),
        }
        rows[statistic.name]["95 % interval"] = "-" if low == "-" else f"{low} to {high}"
    wide = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="measure")
    interval = wide.pop("95 % interval")
    if len(tools) == 1:
        wide.insert(2, interval.name, interval)
    print_table(wide, title)
