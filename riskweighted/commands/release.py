"""``riskweighted release``."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import (
    loading_step,
    print_info,
    print_info_table,
    print_json,
    print_result,
    print_stderr,
    reporter,
    split,
)
from riskweighted.common.errors import InputError
from riskweighted.common.text import as_argument

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.runs.finished import FinishedRun


def release(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the pack; must not exist.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check", metavar="PACK", help="Check a pack of RUN again instead of making one."
        ),
    ] = None,
    scheme: Annotated[
        str, typer.Option("--scheme", help="Which scheme is released (several: a,b).")
    ] = "",
    formats: Annotated[
        str,
        typer.Option(
            "--format", help="csv, parquet, dta (Stata), sav (SPSS), xpt (SAS); or several."
        ),
    ] = "csv",
    confidential: Annotated[
        Path | None,
        typer.Option(
            "--confidential",
            metavar="FILE",
            help="The run's data, if not beside RUN; for the check.",
        ),
    ] = None,
    accept_uniques: Annotated[
        bool,
        typer.Option(
            "--accept-uniques",
            help="Release although many records are alone on the unaltered columns.",
        ),
    ] = False,
    accept_fail: Annotated[
        str,
        typer.Option(
            "--accept-fail",
            metavar="REASON",
            help="Release a scheme that does not pass; sign_off.md holds the reason.",
        ),
    ] = "",
    demonstration: Annotated[
        bool,
        typer.Option(
            "--demonstration", help="Release a reproducible run of embedded, public data."
        ),
    ] = False,
    plain_csv: Annotated[
        bool,
        typer.Option(
            "--plain-csv",
            help="Commas, points and UTF-8 in csv files, also where the data's own has others.",
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print the table of how near the datasets are, too.")
    ] = False,
    unit: Annotated[
        list[str] | None,
        typer.Option(
            "--measured-in", metavar="VARIABLE=UNIT", help="For the codebook; repeatable."
        ),
    ] = None,
) -> None:
    """Make the pack that may leave the agency, after every file of it was read and nothing
    confidential was found.
    """
    import pandas as pd

    if (out is None) == (check is None):
        raise InputError("say either --out PACK, to make a pack, or --check PACK, to check one")
    with loading_step():
        from riskweighted.release.codebook import parse_units
        from riskweighted.release.pack import OLDER, check_release, older_pack, release_run
        from riskweighted.reports.brief import verdict_lines
        from riskweighted.reports.render import render_report
        from riskweighted.runs.finished import load_run
        from riskweighted.weights.scheme_names import split_schemes

    report = partial(render_report, confidential=confidential)
    failing = dict[str, str]()
    if out is None:
        if older := older_pack(Path(str(check)), run, confidential):
            for line in older:
                print_stderr(f"earlier version: {line}")
            raise InputError(OLDER)
        compared = check_release(
            Path(str(check)), run, confidential=confidential, report=report, reporter=reporter()
        )
    else:
        pack = release_run(
            run,
            out,
            schemes=split_schemes(scheme),
            formats=split(formats),
            confidential=confidential,
            units=parse_units(unit or []),
            report=report,
            accept_uniques=accept_uniques,
            accept_fail=accept_fail,
            demonstration=demonstration,
            plain_csv=plain_csv,
            reporter=reporter(),
        )
        compared, failing = pack.check, dict(pack.failing)
    finished = load_run(run)
    rows = compared.groupby(schemes_of(compared["file"], finished.schemes), sort=False)
    columns = {
        "files": rows.size(),
        "most equal rows": rows["equal to the confidential value"].max(),
        "at most": rows["at most"].max(),
    }
    columns["expected by chance"] = rows["expected by chance"].max()
    table = pd.DataFrame(columns)
    print_json("release", check=table.reset_index(), results=out or check)
    if full:
        print_info_table(
            table,
            "Rows whose synthetic value equals the confidential one (for the agency; not in the "
            "pack)",
        )
    if out is None:
        print_result(f"Nothing was found in {check}/: every file is what the run makes")
        return
    for name, why in failing.items():
        print_stderr(
            f"warning: {name} does not pass: {why}; that was accepted, and sign_off.md holds the "
            "reason"
        )
    told = _told(table, finished)
    for line in verdict_lines(told, _why(failing, accept_fail) or _warned(told, finished)):
        print_info(line)
    print_info(f"Next: a person looks at what {as_argument(f'{out}/sign_off.md')} names, and signs")
    print_result(f"Released to {out}/")


def schemes_of(files: "pd.Series", schemes: Sequence[str]) -> "pd.Series":
    """The scheme of each file of a pack, whose name lacks brackets and plus signs."""
    from riskweighted.weights.scheme_names import stem_of

    named = {stem_of(name): name for name in schemes}
    return files.str.split("/").str[1].map(named).rename("scheme")


def _told(table: "pd.DataFrame", run: "FinishedRun") -> dict[str, tuple[str, str]]:
    """Of each scheme in the pack the verdict of its run, how many files were made and how near they
    lie.
    """
    from riskweighted.evaluation.verdicts import overall

    told = {}
    for scheme, row in table.to_dict("index").items():
        files = f"{row['files']} file{'s' if row['files'] != 1 else ''}"
        equal = f"{row['most equal rows']:.0f} row{'s' * (row['most equal rows'] != 1)}"
        near = f"at most {equal} as in the data (limit {row['at most']:.0f})"
        told[str(scheme)] = overall(run.verdicts, str(scheme)), f"{files}; {near}"
    return told


def _warned(told: Mapping[str, tuple[str, str]], run: "FinishedRun") -> str:
    """What the first scheme that leaves with a warning is warned of."""
    from riskweighted.evaluation.verdicts import WARN
    from riskweighted.reports.output_rules import INTERNAL
    from riskweighted.reports.verdict_sentences import one_line_reason

    return next(
        (
            f"{name}: {one_line_reason(run.verdicts, name, INTERNAL)}"
            for name, (word, _) in told.items()
            if word == WARN
        ),
        "",
    )


def _why(failing: Mapping[str, str], accepted: str) -> str:
    """Why a scheme that leaves does not pass, and that somebody took it on himself."""
    return next((f"{name}: {why}; accepted: {accepted}" for name, why in failing.items()), "")
