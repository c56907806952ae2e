"""The paper's simulation study (Hu et al. 2022, section 2.4): Tables 5 and 6 over repetitions
beside the published ones, Figures 4 to 7.
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from riskweighted import (
    EvaluationSettings,
    Scenario,
    Sweep,
    compile_model,
    evaluate,
    load_sweep,
    sweep,
)
from riskweighted.commands.terminal import reporter
from riskweighted.common.errors import InputError, listing
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.frames import with_columns
from riskweighted.plots.risk_plots import plot_risk_violins, plot_whack_a_mole
from riskweighted.plots.utility_plots import plot_density, plot_intervals
from riskweighted.runs.study import Study
from riskweighted.sweeps.results import sweep_inputs
from riskweighted.utility.bootstrap import bootstrap_means, bootstrap_quantiles
from riskweighted.weights.schemes import scheme_weights

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.pages import write_part

__all__ = [
    "MISS",
    "compare",
    "load_published",
    "make_figures",
    "our_values",
    "run_sweeps",
    "to_markdown",
]

HERE = Path(__file__).resolve().parent
SWEEPS = ("datasets", "radius")
RADII = (0.3, 0.25, 0.2, 0.15)
MISS = 3.0  # |z| from which a published number is flagged
_FEW = 20  # repetitions below which an sd is too uncertain for the normal law
NOT_CONVERGED = 3  # exit code
_COLUMNS = [
    *[("U_m", "value"), ("U_a", "value")],
    *[
        (measure, statistic)
        for measure in ("mean", "median")
        for statistic in ("value", "lower", "upper", "length")
    ],
]
_PLACE = ["table", "scheme", "radius", "L", "measure", "statistic"]


def load_published() -> pd.DataFrame:
    """Every number of Tables 5 and 6 as printed, with the unit of its last digit; one row each."""
    printed = pd.read_csv(HERE / "published.csv", dtype={"published": str})
    digits = printed["published"].str.partition(".")[2].str.len()
    return printed.assign(published=printed["published"].astype(float), unit=10.0**-digits)


def run_sweeps(out: Path, repetitions: int, *, workers: int | None = None) -> pd.DataFrame:
    """Rows of both sweeps; one that stands in `out` already, of the same inputs, is read, one that
    was cut off goes on.
    """
    tables = []
    for name in SWEEPS:
        plan = dataclasses.replace(load_sweep(HERE / f"{name}.toml"), repetitions=repetitions)
        if (out / name).exists():
            _refuse_other_inputs(plan, out / name)
            rows = pd.read_parquet(out / name / "results.parquet")
        else:
            done = sweep(plan, out / name, workers=workers, reporter=reporter())
            if len(done.failures):
                raise InputError(
                    f"{len(done.failures)} cells of {name!r} failed: {done.folder}/failures.csv "
                    "says where and why"
                )
            rows = done.results
        rows = as_printed(rows, plan.study.read_data()["outcome"].to_numpy(dtype=float))
        settings = rows.rename(
            columns={"release.L": "L", "scenario.radius": "radius", "label": "scheme"}
        )
        fixed = {"L": plan.study.release.L, "radius": plan.study.scenario.radius}
        tables.append(
            with_columns(
                settings, {key: value for key, value in fixed.items() if key not in settings}
            )
        )
    return pd.concat(tables, ignore_index=True)


def as_printed(results: pd.DataFrame, values: np.ndarray) -> pd.DataFrame:
    """Results with the paper's estimate of the confidential data: the mean of 1,000 resamples of
    each repetition.

    Ours is the statistic itself, a median of 98 where the paper prints 97.93; of synthetic datasets
    the two do not differ visibly.
    """
    results = results.copy()
    for row in results.index[results["label"] == "confidential"]:
        rng = np.random.default_rng(int(results.at[row, "repetition"]))
        if results.at[row, "key"] == "mean":
            results.at[row, "value"] = bootstrap_means(values, 1000, rng).mean()
        elif results.at[row, "key"] == "quantile":
            results.at[row, "value"] = bootstrap_quantiles(
                values, results.at[row, "parameter"], 1000, rng
            ).mean()
    return results


def _refuse_other_inputs(plan: Sweep, folder: Path) -> None:
    """Only results of the same study, grid, repetitions, data and versions are read again."""
    now = json.loads(
        json.dumps(sweep_inputs(plan, {plan.study.data: fingerprint(plan.study.read_data())}))
    )
    before = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    names = [name for name, value in now.items() if before.get(name) != value]
    if names:
        raise InputError(
            f"{str(folder)!r} was made with other inputs: they differ in {listing(names)}; "
            "choose another --out"
        )


def our_values(results: pd.DataFrame) -> pd.DataFrame:
    """One row per number of the tables and repetition: table, scheme, radius, L, measure,
    statistic, repetition, value.

    Weights do not enter the unweighted synthesizer and the confidential data, so their radius is
    empty; nor does L enter the confidential data.
    """
    distances = results["key"].isin(["ecdf-maximum", "ecdf-mean-square"])
    at_twenty = results[(results["L"] == 20) & distances].assign(table=5, statistic="value")
    mean_or_median = (results["key"] == "mean") | (
        (results["key"] == "quantile") & (results["parameter"] == 0.5)
    )
    intervals = results[(results["radius"] == 0.2) & mean_or_median]
    intervals = intervals.assign(table=6, length=intervals["upper"] - intervals["lower"])
    names = [name for name in _PLACE if name != "statistic"] + ["repetition"]
    long = intervals.melt(
        names, ["value", "lower", "upper", "length"], var_name="statistic", value_name="number"
    )
    both = pd.concat(
        [at_twenty.drop(columns=["lower", "upper"]), long.rename(columns={"number": "value"})],
        ignore_index=True,
    )
    both = both.astype({"radius": float, "L": float})
    both.loc[both["scheme"].isin(["unweighted", "confidential"]), "radius"] = np.nan
    both.loc[both["scheme"] == "confidential", "L"] = np.nan
    return both[[*_PLACE, "repetition", "value"]].drop_duplicates(
        [*_PLACE, "repetition"], ignore_index=True
    )


def compare(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Our mean and Monte Carlo sd (ddof = 1) over repetitions, beside what is published.

    ``z`` is (published - mean)/sd, where sd also has the rounding of the printed number
    (unit^2/12). The published number is itself one draw, so about 1 in 370 has |z| >= 3 by chance
    where its distribution is normal. Below 20 repetitions the limit is that of Student's t, for an
    sd of so few values and an error of the mean: of 2 repetitions 289 in place of 3.
    """
    summary = (
        ours.groupby(_PLACE, dropna=False, sort=False)["value"]
        .agg(mean="mean", sd="std", repetitions="count")
        .reset_index()
    )
    both = summary.merge(published, on=_PLACE, how="outer", sort=False)
    z = (both["published"] - both["mean"]) / np.sqrt(both["sd"] ** 2 + both["unit"] ** 2 / 12)
    both = both.assign(z=z, flagged=(z.abs() >= both["repetitions"].map(limit)))
    order = both["scheme"].map({"confidential": 0, "unweighted": 1, "marginal": 2, "pairwise": 3})
    keys = pd.DataFrame(
        {"table": both["table"], "scheme": order, "radius": -both["radius"], "L": -both["L"]}
    )
    ranked = keys.sort_values(["table", "scheme", "radius", "L"], kind="stable").index
    return both.loc[
        ranked, [*_PLACE, "published", "mean", "sd", "repetitions", "z", "flagged"]
    ].reset_index(drop=True)


def limit(repetitions: float) -> float:
    """|z| from which a published number is flagged: MISS, or of fewer than 20 repetitions what is
    as rare by Student's t.
    """
    if not 2 <= repetitions < _FEW:
        return MISS
    return float(stats.t.isf(stats.norm.sf(MISS), repetitions - 1) * np.sqrt(1 + 1 / repetitions))


def to_markdown(comparison: pd.DataFrame) -> str:
    """Tables 5 and 6: a line per row of the paper, with ours as mean (sd) and z."""
    parts = []
    for table, rows in comparison.groupby("table"):
        present = set(zip(rows["measure"], rows["statistic"], strict=True))
        columns = [column for column in _COLUMNS if column in present]
        names = [
            measure if statistic == "value" else f"{measure}: {statistic}"
            for measure, statistic in columns
        ]
        digits = 4 if table == 5 else 2
        lines = [
            f"Table {table}: published / our mean (sd), z",
            "",
            "| | " + " | ".join(names) + " |",
            "|---" * (len(names) + 1) + "|",
        ]
        for (scheme, radius, size), group in rows.groupby(
            ["scheme", "radius", "L"], dropna=False, sort=False
        ):
            cells = group.set_index(["measure", "statistic"])
            where = ([f"r = {radius:.0%}"] if np.isfinite(radius) else []) + (
                [f"L = {size:.0f}"] if np.isfinite(size) else []
            )
            shown = [_cell(cells.loc[column], digits) for column in columns]
            lines.append(f"| {scheme} {', '.join(where)} | " + " | ".join(shown) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _cell(row: pd.Series, digits: int) -> str:
    own = f"{row['mean']:.{digits}f} ({row['sd']:.{digits}f})"
    if np.isnan(row["published"]):
        return own
    mark = "**" if row["flagged"] else ""
    return f"{row['published']:.{digits}f} / {own}, {mark}{row['z']:+.1f}{mark}"


def make_figures(study: Study, folder: Path) -> None:
    """Figures 4 to 7 of one repetition, L = 20, with Pairwise beside Marginal."""
    data, size = study.read_data(), 20
    model = compile_model(study.make_synthesizer(), data)
    records = {}
    utility = {}
    frames = {
        "unweighted": model.sample(None, random_seed=study.seed).synthesize(
            size, random_seed=study.seed
        )
    }
    for radius in RADII:
        scenario = Scenario(synthetic="outcome", radius=radius)
        for scheme in ("marginal", "pairwise"):
            fitted = model.sample(scheme_weights(scheme, data, scenario), random_seed=study.seed)
            frames[scheme] = fitted.synthesize(size, random_seed=study.seed)
        result = evaluate(
            data,
            frames,
            scenario,
            settings=EvaluationSettings(quantiles=[0.5]),
            baseline="unweighted",
            random_seed=study.seed,
        )
        records[radius], utility[radius] = result.records, result.utility
        if radius == 0.2:
            _save(plot_density(data, frames, "outcome"), folder / "figure_4_density.png")
    _panels(records, folder / "figure_5a_risk.png")
    for scheme, name in (("marginal", "5b"), ("pairwise", "5b_pairwise")):
        ax = plot_whack_a_mole(records[0.15], scheme)
        _save(ax, folder / f"figure_{name}_whack_a_mole.png")
    for scheme, name in (("marginal", "6"), ("pairwise", "6_pairwise")):
        by_radius = pd.DataFrame(
            {f"{scheme} r = {radius:.0%}": table[scheme] for radius, table in records.items()}
        )
        _save(plot_risk_violins(by_radius), folder / f"figure_{name}_radius.png")
    for measure, name in (("mean", "7a"), ("median", "7b")):
        _save(plot_intervals(_by_radius(utility), measure), folder / f"figure_{name}_{measure}.png")


def _by_radius(utility: dict[float, pd.DataFrame]) -> pd.DataFrame:
    """One utility table: the confidential data and the Synthesizer once, every scheme at every
    radius.
    """
    first, *_ = utility.values()
    tables = [first[first["label"].isin(["confidential", "unweighted"])]]
    for scheme in ("marginal", "pairwise"):
        for radius, table in utility.items():
            tables.append(
                table[table["label"] == scheme].assign(label=f"{scheme} r = {radius:.0%}")
            )
    return pd.concat(tables, ignore_index=True)


def _panels(records: dict[float, pd.DataFrame], path: Path) -> None:
    """A panel of violins per radius."""
    figure = Figure(figsize=(13, 9), layout="constrained")
    for ax, (radius, table) in zip(figure.subplots(2, 2).flat, records.items(), strict=True):
        plot_risk_violins(table, ax=ax)
        ax.set_title(f"r = {radius:.0%}", loc="left")
    figure.savefig(path, dpi=80)


def _save(ax: object, path: Path) -> None:
    ax.figure.savefig(path, dpi=80)  # type: ignore[attr-defined]


def main() -> int:
    """Command line; the exit code is 3 where a fit did not converge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/simulation"))
    parser.add_argument(
        "--repetitions", type=int, default=50, help="at least 2; 50 give the table in RESULTS.md"
    )
    parser.add_argument("--workers", type=int, help="processes; default: the cores of this machine")
    parser.add_argument("--page", type=Path, help="a page whose tables are made anew: RESULTS.md")
    given = parser.parse_args()
    results = run_sweeps(given.out, given.repetitions, workers=given.workers)
    table = compare(our_values(results), load_published())
    table.to_csv(given.out / "comparison.csv", index=False)
    text = to_markdown(table)
    (given.out / "comparison.md").write_text(text, encoding="utf-8")
    (given.out / "figures").mkdir(exist_ok=True)
    make_figures(load_sweep(HERE / "datasets.toml").study, given.out / "figures")
    fits = results[results["converged"].notna()].drop_duplicates(
        ["radius", "L", "repetition", "scheme"]
    )
    failed = int((~fits["converged"].astype(bool)).sum())
    z = table["z"].dropna()
    summary = (
        f"{len(z)} published numbers; |z| >= {limit(given.repetitions):.3g}: "
        f"{int(table['flagged'].sum())}; largest |z| {z.abs().max():.2f}; mean z^2 "
        f"{(z**2).mean():.2f}, of independent draws 1. Cells of a fit that did not converge: "
        f"{failed} of {len(fits)}."
    )
    print(f"{text}\n{summary}")
    if given.page is not None:
        write_part(given.page, "tables", f"{summary}\n\n{text}")
    return NOT_CONVERGED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
