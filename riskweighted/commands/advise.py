"""``riskweighted advise``."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import (
    loading_step,
    print_info,
    print_json,
    print_result,
    reporter,
)
from riskweighted.common.atomic import write_file
from riskweighted.common.errors import InputError, listing
from riskweighted.common.text import as_argument, plain

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.runs.advice import Advice
    from riskweighted.runs.finished import FinishedRun
    from riskweighted.runs.study import Study

_MOST = 2  # pieces of advice that are shown


def advise(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder of a finished run, or a study file that is refused."
        ),
    ],
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Write the study with what is advised, beside the old one."),
    ] = False,
    study: Annotated[
        Path | None,
        typer.Option(
            "--study", metavar="STUDY.toml", help="The run's study file, if not beside RUN or here."
        ),
    ] = None,
    confidential: Annotated[
        Path | None,
        typer.Option(
            "--confidential",
            metavar="FILE",
            help="The run's data, if neither the run nor the study file leads there.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All advice.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="With --apply: the new file. Default: STUDY-advised.toml."
        ),
    ] = None,
) -> None:
    """Say why a run fails and what mends it; --apply writes the study that does.

    Advice never changes the scenario, what is known, a radius or a threshold in order to pass.
    """
    if out is not None and not apply:
        raise InputError("--out is the file that --apply writes: give both, or neither")
    if out is not None and out.suffix != ".toml":
        raise InputError(f"--out {out.name!r} must end in .toml")
    if out is not None and out.exists():
        raise InputError(f"{str(out)!r} exists: choose another file (--out)")
    with loading_step("PyMC"):
        from riskweighted.runs.advice import Advice, advise as advice_of
        from riskweighted.runs.refusals import outlook
    with reporter().step("looking for what to do"):
        finished, settings, file, data = _read(run, study, confidential)
        verdicts, tables = ((), None) if finished is None else (finished.verdicts, finished.tables)
        advice = advice_of(settings, data, verdicts, tables)
        if finished is not None and (against := outlook(finished, data).why):
            advice = [Advice("a release is refused whatever the scheme", against), *advice]
        advice = [replace(each, what=_typed(each.what, run, file)) for each in advice]
    written = _write(settings, data, advice, out or _beside(file, run)) if apply else None
    print_json(
        "advise",
        advice=[
            {"reason": each.reason, "what": each.what, "changes the study": each.change is not None}
            for each in advice
        ],
        results=written,
    )
    for line in _lines(advice, run, written, full=full):
        print_info(line)


def _typed(text: str, run: Path, file: Path | None) -> str:
    """Advice whose commands name this run and its study file, so that they can be typed."""
    typed = {
        name: as_argument(str(path))
        for name, path in (("RUN", run), ("STUDY.toml", file))
        if path is not None
    }
    return re.sub(
        r"(?<=riskweighted )(\w+) (RUN|STUDY\.toml)\b",
        lambda found: f"{found[1]} {typed.get(found[2], found[2])}",
        text,
    )


def _read(
    run: Path, file: Path | None, confidential: Path | None
) -> "tuple[FinishedRun | None, Study, Path | None, pd.DataFrame]":
    """The run, its study, the file that it stands in, and its data."""
    from riskweighted.runs.finished import data_file, find_confidential, load_run
    from riskweighted.runs.folder import DESCRIBED
    from riskweighted.runs.study import load_study

    if run.is_file():
        study = load_study(run)
        return None, study, run, study.read_data(confidential)
    finished = load_run(run)
    study, file = finished.study, file or _study_file(finished)
    if file is not None:
        named = load_study(file)
        _refuse_other(named, study, file)
        study = replace(study, data=named.data, seed=named.seed)
        confidential = confidential or named.data.path
    elif study.data.path is not None:  # of which a run keeps the name alone
        confidential = confidential or data_file(finished)
        described = None if finished.described is None else finished.folder / DESCRIBED
        study = replace(study, data=replace(study.data, path=confidential, variables=described))
    return finished, study, file, find_confidential(finished, confidential)


def _refuse_other(named: "Study", study: "Study", file: Path) -> None:
    """Refuse a study file that is not that of the run, whose advice would be about another
    study.
    """
    from riskweighted.common.settings import to_table
    from riskweighted.runs.study import AUTO

    theirs, ours = _settings(to_table(named)), _settings(to_table(study))
    chosen = ["synthesizer"] if named.synthesizer.name == AUTO else []
    chosen += ["weights"] if named.weights.target is not None else []
    differ = [name for name in ours if theirs.get(name) != ours[name] and name not in chosen]
    if differ:
        raise InputError(
            f"{str(file)!r} is not the study of this run: they differ in {listing(differ)}; "
            "leave out --study, or run it"
        )


def _study_file(finished: "FinishedRun") -> Path | None:
    """The study file that a run was made from, among those beside it, beside the folder in which it
    lies and in this folder: its settings are the run's.
    """
    from riskweighted.common.settings import to_table
    from riskweighted.runs.study import load_study

    places = {
        place.absolute(): place
        for place in (Path(), finished.folder.parent, finished.folder.absolute().parent.parent)
    }.values()
    wanted = _settings(to_table(finished.study))
    for file in sorted(path for place in places for path in place.glob("*.toml")):
        try:
            if _settings(to_table(load_study(file))) == wanted:
                return file
        except InputError:
            continue  # another kind of file
    return None


def _settings(table: dict[str, object]) -> dict[str, object]:
    """What a run and its study file have alike."""
    sampling = {name: value for name, value in dict(table["sampling"]).items() if name != "cores"}  # type: ignore[call-overload]
    return {
        name: value for name, value in table.items() if name not in ("data", "seed", "thresholds")
    } | {"sampling": sampling}


def _beside(file: Path | None, run: Path) -> Path:
    """The first name that is free beside the old file, or beside the run where no file was
    found.
    """
    old = file or run.with_name(f"{run.absolute().name}.toml")
    stem = re.sub(r"-advised(-\d+)?$", "", old.stem)
    names = (
        f"{stem}-advised{f'-{number}' if number > 1 else ''}.toml" for number in itertools.count(1)
    )
    return next(path for name in names if not (path := old.with_name(name)).exists())


def _write(study: "Study", data: "pd.DataFrame", advice: "Sequence[Advice]", file: Path) -> Path:
    """The study with what was advised; its owner's only, since it may hold codes that were found in
    the data.
    """
    from riskweighted.runs.advice import apply_advice
    from riskweighted.runs.choice import study_text

    if not any(each.change for each in advice):
        raise InputError(
            "no advice is a change of the study file that is ours to make: `riskweighted advise` "
            "without --apply says what there is"
        )
    changed, made = apply_advice(study, data, advice)
    remark = [
        "`riskweighted advise` changed:",
        *(plain(each.what) for each in made),
        "Comments of the former file are not kept.",
    ]
    remark.append("Confidential: it may hold codes or bounds that were found in the data.")
    write_file(file, study_text(changed, file.absolute().parent, "\n# ".join(remark)), private=True)
    return file


def _lines(
    advice: "Sequence[Advice]", run: Path, written: Path | None, *, full: bool
) -> Iterator[str]:
    if not advice:
        yield "Nothing to correct: no scheme fails, and no column or radius looks wrong."
        return
    shown = advice if full else advice[:_MOST]
    for each in shown:
        yield from (plain(f"Why: {each.reason}"), plain(f" Do: {each.what}"))
    if len(advice) > len(shown):
        yield f"{len(advice) - len(shown)} more: --full"
    if written is not None:
        print_result(f"Next: riskweighted run {as_argument(str(written))}")
    elif any(each.change for each in advice):
        yield f"Next: riskweighted advise {as_argument(str(run))} --apply"
