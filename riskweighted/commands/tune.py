"""``riskweighted tune``."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.run import Full
from riskweighted.commands.terminal import (
    UNFIT,
    Cores,
    Seed,
    loading_step,
    print_info,
    print_info_table,
    print_json,
    print_result,
    print_stderr,
    reporter,
)
from riskweighted.common.extras import optional
from riskweighted.common.numbers import exactly
from riskweighted.common.progress import duration
from riskweighted.common.text import as_argument

if TYPE_CHECKING:
    from riskweighted.common.folders import WorkingFolder
    from riskweighted.runs.study import Study
    from riskweighted.tuning.tune import Tuning

_REMARK = "The weights were chosen by a search that looks at the confidential data: confidential."
_GUIDE = """What lies here

families.csv         what each family of weights comes to at the target
frontier.csv         every setting that was scored: the target, the loss, their Monte Carlo errors,
                     what records teach the fit
frontier.png         the same as a figure, by what an isolated record's own value teaches the fit
frontier-target.png  by the target
confidential/        study.toml, the study with the chosen weights: run it next; never leaves the
                     agency

These files hold aggregates of the confidential data: review them before release. The choice
looks at the data, so it is outside any epsilon of a guarantee.
"""


def tune(
    study_file: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Data, scenario, synthesizer and sampling.")
    ],
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="isolated-information-mean, largest-information, information, isolated-risk, "
            "top-1-percent-risk, lipschitz, range, or a "
            "measure's key; isolated-risk(income).",
        ),
    ],
    target_max: Annotated[
        float, typer.Option("--target-max", help="What the target shall not exceed.")
    ],
    family: Annotated[
        str | None,
        typer.Option(
            "--family", help="Along this family only: mix+, bounded+, mix, drop-riskiest, ..."
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            "--loss",
            help="U_m, overlap of the coefficient's interval that the evaluation names, or the "
            "key of a measure of utility.",
        ),
    ] = "U_m",
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            "--constraint",
            metavar="NAME=MOST",
            help="A constraint beside the target, which a setting must keep: "
            "isolated-information=0.5, disclosure-largest=0.05, or any "
            "target's name; repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for tables, figure and study file; must not exist."),
    ] = None,
    full: Full = False,
    seed: Seed = None,
    cores: Cores = None,
) -> None:
    """Choose a setting of the weights that meets a target at the least loss of utility.

    Exits with 3 where the fit of the chosen weights did not converge; what was found is there all
    the same.
    """
    from riskweighted.common.folders import open_folder
    from riskweighted.tuning.tuning_settings import TuningSettings

    settings = TuningSettings(
        target, target_max, family, loss, constraints=_limits(constraint or [])
    )
    with loading_step("PyMC"):
        from riskweighted.runs.study import load_study
        from riskweighted.runs.tuned_scheme import tune_study
    study, began = load_study(study_file), time.monotonic()
    if out is None:
        tuning = tune_study(study, settings, seed=seed, cores=cores, reporter=reporter())
        _print(tuning, began, None, full=full)
    else:
        optional("matplotlib", "the frontier's figure (--out)")
        with open_folder(out, "a tuning") as working:
            tuning = tune_study(study, settings, seed=seed, cores=cores, reporter=reporter())
            _write(tuning, study, working)
            _print(tuning, began, out, full=full)
    for line in _lines(tuning, out, study_file):
        print_info(line)
    print_result(
        f"Results: {out}/  (README.txt there says what may leave the agency)"
        if out is not None
        else "Nothing was written: --out keeps it."
    )
    if not tuning.fit.converged:
        raise typer.Exit(UNFIT)


def _limits(given: list[str]) -> dict[str, float]:
    """Constraints by name, from NAME=MOST."""
    from riskweighted.common.errors import InputError

    limits = {}
    for text in given:
        name, equals, most = text.rpartition("=")
        try:
            limits[name] = float(most)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(
                f"--constraint takes NAME=MOST, such as isolated-information=0.5, got {text!r}"
            )
    return limits


def _print(tuning: "Tuning", began: float, out: Path | None, *, full: bool) -> None:
    """The families, what was chosen and why, where that is asked for; all of it for a machine."""
    from riskweighted.reports.output_rules import INTERNAL
    from riskweighted.reports.verdict_sentences import verdict_records

    print_json(
        "tune",
        exit_code=0 if tuning.fit.converged else UNFIT,
        target=tuning.target,
        at_most=tuning.target_max,
        why=tuning.why,
        families=tuning.families,
        constraints=tuning.constraints,
        verdicts=verdict_records(tuning.verdicts, [tuning.scheme], INTERNAL),
        results=out,
    )
    if full:
        table = tuning.families.set_index("family")[
            ["scheme", "loss", "loss_error", "least", "largest", "result"]
        ]
        title = f"{tuning.target} of at most {exactly(tuning.target_max)}: each family at the mode"
        print_info_table(table.rename(columns={"loss_error": "error"}), title)
        print_info(
            f"loss: {tuning.frontier.attrs['loss']}, at the scheme that meets the target, and "
            "its Monte Carlo error; "
            "least, largest: the target along the family."
        )
        print_info(tuning.why)
        fits = (
            f"{tuning.fits} weighted {'fit' if tuning.fits == 1 else 'fits'} beside the "
            "unweighted one"
        )
        print_info(f"Time: {duration(time.monotonic() - began)}, {fits}.")
    if not tuning.fit.converged:
        print_stderr(
            "not converged: the fit of the chosen weights; do not rely on it, sample longer or "
            "simplify the model (exit code 3)"
        )


def _lines(tuning: "Tuning", out: Path | None, file: Path) -> Iterator[str]:
    """The chosen scheme with the word and the reason of a run, what became of the other families;
    why, and what comes next.
    """
    from riskweighted.common.numbers import together
    from riskweighted.evaluation.verdicts import NOT_JUDGED, overall
    from riskweighted.reports.brief import verdict_lines
    from riskweighted.reports.output_rules import INTERNAL
    from riskweighted.reports.verdict_sentences import one_line_reason

    (reached, _), (lost, _) = (
        together(tuning.reached, tuning.target_max),
        together(tuning.loss, tuning.loss_error),
    )
    figures = (
        f"{tuning.target} {reached}{'' if tuning.met else ', which misses what was asked'}, loss "
        f"{lost}"
    )
    word = overall(tuning.verdicts, tuning.scheme)
    why = one_line_reason(tuning.verdicts, tuning.scheme, INTERNAL)
    told = {tuning.scheme: (word, f"{figures}; {why}" if why else figures)}
    for row in tuning.families.sort_values("loss", na_position="last", kind="stable").itertuples():
        # of the mode alone, which nothing was sampled of
        if row.scheme and row.family != tuning.family and tuning.settings:
            told[row.scheme] = (
                NOT_JUDGED,
                f"loss {together(row.loss, row.loss_error)[0]} at the mode: {row.result}",
            )
        elif not row.scheme and tuning.settings:
            told[row.family] = NOT_JUDGED, str(row.result)
    yield from verdict_lines(told, tuning.why)
    if not tuning.fit.converged:
        yield "Next: longer chains: twice [sampling] draws and tune, then tune again"
    elif out is None:
        yield (
            f'Next: "{tuning.scheme}" among [weights] schemes; then riskweighted run '
            f"{as_argument(str(file))}"
        )
    else:
        yield (
            f"Next: riskweighted run {as_argument(str(out / 'confidential' / 'study.toml'))} "
            f"--out {as_argument(f'{out}-results')}"
        )
    yield (
        f"{tuning.target} does not measure disclosure: the verdict states the disclosure beyond "
        "inference (D) of all datasets."
    )
    yield "The choice looks at the data, so it lies outside any epsilon of a guarantee."


def _write(tuning: "Tuning", study: "Study", working: "WorkingFolder") -> None:
    from riskweighted.common.atomic import whole_file, write_file
    from riskweighted.data.io import write_table
    from riskweighted.plots.frontier import plot_frontier
    from riskweighted.runs.choice import study_text
    from riskweighted.runs.tuned_scheme import tuned_study

    secret = working.result / "confidential" / "study.toml"
    write_table(tuning.families, working.result / "families.csv")
    write_table(tuning.frontier, working.result / "frontier.csv")
    for name, axis in (("frontier.png", "isolated"), ("frontier-target.png", "target")):
        with whole_file(working.result / name) as unfinished:
            drawn = plot_frontier(tuning, axis=axis).figure  # type: ignore[arg-type]
            drawn.savefig(unfinished, format="png", dpi=120, metadata={"Software": None})  # type: ignore[union-attr]
    write_file(
        secret,
        study_text(tuned_study(study, tuning), working.out / "confidential", _REMARK),
        private=True,
    )
    write_file(working.result / "README.txt", _GUIDE)
