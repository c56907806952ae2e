"""The Consumer Expenditure study (Hu et al. 2022, sections 2.3 and 3.2): `python
experiments/ce/replicate.py --out results/ce-like`.

The paper's file is confidential. The default is a population calibrated to what is published of it
(README.md), so the published numbers stand beside ours for comparison, and no z-scores are given:
they would measure how the populations differ. ``--pumd PATH`` takes the public-use file of BLS
instead. OUT/run is the run, OUT/report holds tables and figures, and ``--page RESULTS.md`` writes
them into the page. A killed run goes on from OUT/run.partial. The exit code is 3 where a fit did
not converge.
"""

import argparse
import dataclasses
import shutil
import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from riskweighted import load_study, run_study
from riskweighted.commands.terminal import reporter
from riskweighted.common.atomic import write_file
from riskweighted.common.errors import InputError
from riskweighted.common.folders import open_folder
from riskweighted.data.io import write_table
from riskweighted.evaluation.main_table import MEAN_WEIGHT
from riskweighted.plots.risk_plots import plot_risk_violins, plot_whack_a_mole
from riskweighted.plots.utility_plots import plot_intervals
from riskweighted.runs.finished import FinishedRun, find_confidential, load_run
from riskweighted.runs.found_bounds import add_found_bounds
from riskweighted.runs.sections import DataSettings
from riskweighted.runs.study import Study

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.ce.facts import ce_facts
from experiments.ce.findings import findings
from experiments.ce.population import simulate_ce
from experiments.ce.public_use_file import load_ce_pumd
from experiments.ce.tables import (
    NAMES,
    as_markdown,
    empirical_distances,
    estimates,
    record_risks,
    risk_profile,
    with_intervals,
)
from experiments.pages import write_part

NOT_CONVERGED = 3  # exit code
STUDY = Path(__file__).parent / "study.toml"


def replicate(
    study: Study, out: Path, *, pumd: Path | None = None, cores: int | None = None
) -> Path:
    """Run the study, or take the finished run of the same settings in `out`, and write the report;
    returns its folder.

    Raises
    ------
    InputError
        If `out` holds a run of other settings or other data, or the public-use file cannot be read.
    """
    path = (out / ("ce-like.parquet" if pumd is None else "ce_pumd.parquet")).absolute()
    out.mkdir(parents=True, exist_ok=True)
    data = simulate_ce() if pumd is None else load_ce_pumd(pumd)
    write_table(data, path)
    study = add_found_bounds(dataclasses.replace(study, data=DataSettings(path=path)), data)
    if not (out / "run").exists():
        run_study(study, out / "run", cores=cores, reporter=reporter())
    run = load_run(out / "run")
    if (
        dataclasses.replace(run.study, data=study.data, seed=run.streams.seed) != study
        or Path(str(run.study.data.path)).name != path.name
    ):
        raise InputError(
            f"{str(out / 'run')!r} is a run of other settings; remove it or choose another --out"
        )
    return write_report(run, find_confidential(run), out / "report")


def write_report(run: FinishedRun, confidential: pd.DataFrame, folder: Path) -> Path:
    """Tables as csv and Markdown, figures as png, in a folder that appears when it is complete."""
    with open_folder(folder, "a report", check_replaceable=lambda out: None, force=True) as working:
        tables = make_tables(run, confidential)
        for name, (_, table, _) in tables.items():
            write_table(table, working.result / f"{name}.csv")
        parts = [
            f"## {title}\n\n{as_markdown(table, digits)}"
            for title, table, digits in tables.values()
        ]
        write_file(working.result / "tables.md", "\n".join(parts))
        found = findings({name: table for name, (_, table, _) in tables.items()})
        write_file(working.result / "findings.md", found)
        for name, figure in make_figures(run).items():
            figure.savefig(working.result / f"{name}.png", dpi=90, bbox_inches="tight")
    return folder


def make_tables(
    run: FinishedRun, confidential: pd.DataFrame
) -> dict[str, tuple[str, pd.DataFrame, int | None]]:
    """By file name: title, table, digits shown after the point (None: four significant ones)."""
    risk, utility, convergence = (run.tables[name] for name in ("risk", "utility", "convergence"))
    worst = (
        convergence.groupby("label", sort=False)
        .agg({"r_hat": "max", "ess_bulk": "min", "divergences": "max"})
        .reset_index()
    )
    weights = run.tables["summary"][["label", MEAN_WEIGHT.name]]
    passed = convergence.groupby("label", sort=False)["converged"].all()
    fits = weights.merge(worst, on="label").assign(
        converged=lambda table: table["label"].map(passed).map({True: "yes", False: "NO"}),
        label=lambda table: table["label"].map(NAMES),
    )
    income = confidential["income"]
    return {
        "facts": ("The data: published facts", ce_facts(confidential), None),
        "fits": ("The fits", fits, None),
        "table_2": (
            "Table 2: the ten records of the highest risk",
            record_risks(income, run.records, "table_2"),
            4,
        ),
        "table_3": (
            "Table 3: the ten largest incomes",
            record_risks(income, run.records, "table_3"),
            4,
        ),
        "table_4": ("Table 4: estimates and 95 % intervals", estimates(utility), None),
        "table_7": (
            "Table 7: distance of the distribution functions",
            empirical_distances(utility),
            None,
        ),
        "risk": ("Risk profile (Figures 2, 3, 8, 9)", risk_profile(risk), None),
    }


def make_figures(run: FinishedRun) -> dict[str, Figure]:
    """Figures 2, 3, 8, 9 and 10 of the paper by file name."""
    records = run.records
    figures = {
        "figure_2": plot_risk_violins(
            records, ["confidential", "unweighted", "marginal", "top-coding"]
        ).figure,
        "figure_3": plot_whack_a_mole(records, "marginal").figure,
        "figure_8": plot_risk_violins(
            records, ["confidential", "unweighted", "marginal", "pairwise"]
        ).figure,
    }
    figures["figure_9"] = Figure(figsize=(13, 7.5), layout="constrained")
    for ax, scheme in zip(
        figures["figure_9"].subplots(1, 2), ("marginal", "pairwise"), strict=True
    ):
        plot_whack_a_mole(records, scheme, ax=ax)
    utility = with_intervals(run.tables["utility"])
    utility = utility[utility["label"] != "top-coding"]
    figures["figure_10"] = Figure(figsize=(12, 8.5), layout="constrained")
    for ax, measure in zip(
        figures["figure_10"].subplots(2, 2).flat, utility["measure"].unique(), strict=True
    ):
        plot_intervals(utility, measure, ax=ax)
        lines, names = ax.get_legend_handles_labels()
        ax.get_legend().remove()  # one for the four panels
    figures["figure_10"].legend(lines, names, loc="outside lower center", ncols=2, frameon=False)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="a folder; a finished run of the same settings in it is used again",
    )
    parser.add_argument(
        "--pumd",
        type=Path,
        help="FMLI csv, zip or folder of the public-use file, instead of the simulated population",
    )
    parser.add_argument("--page", type=Path, help="a page whose parts are made anew: RESULTS.md")
    parser.add_argument("--cores", type=int, help="chains sampled at once; default: all cores")
    options = parser.parse_args()
    try:
        report = replicate(load_study(STUDY), options.out, pumd=options.pumd, cores=options.cores)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print((report / "tables.md").read_text(encoding="utf-8"))
    print(f"Report: {report}")
    if options.page is not None:
        for part in ("findings", "tables"):
            text = (report / f"{part}.md").read_text(encoding="utf-8")
            write_part(options.page, part, text)
        for figure in report.glob("*.png"):
            shutil.copy(figure, options.page.parent / "figures")
    fits = pd.read_csv(report / "fits.csv")
    failed = fits.loc[fits["converged"] == "NO", "label"].tolist()
    if failed:
        print(f"did not converge: {', '.join(failed)}", file=sys.stderr)
    return NOT_CONVERGED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
