"""Processor seconds and peak memory of large files: `python benchmarks/files.py [10000 100000
1000000]`.

Of the CE-like population, three schemes with 20 datasets each: written and read as csv and parquet;
held against the confidential values as the last look at a pack holds them (chance of one scheme,
then 60 columns). "plainly": each file by itself through pandas, one file times 60. Then a study
with a linear regression: its run, its report, and the release of all its schemes. Each line in a
process of its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

SCHEMES, L = ("unweighted", "marginal", "pairwise"), 20
CASES = (
    "write csv",
    "write csv plainly",
    "read csv",
    "read csv plainly",
    "write parquet",
    "read parquet",
    "nearness",
    "run",
    "report",
    "release",
)
KNOWN = ("gender", "age_band", "region")
COUNT = len(SCHEMES) * L


def drawn(values, rng):
    """A column as a model might draw it, to a tenth of a unit."""
    return pd.Series(np.round(values * np.exp(rng.normal(0, 0.7, len(values))), 1), name="income")


def files(n):
    """Confidential data with positive incomes, and its datasets."""
    from riskweighted.common.datasets import Datasets

    # experiments are no part of the package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from experiments.ce.population import simulate_ce

    data, rng = simulate_ce(n), np.random.default_rng(1)
    data = data[data["income"] > 0].reset_index(drop=True)
    return data, Datasets(data, ({"income": drawn(data["income"], rng)} for _ in range(COUNT)))


def tables(case, n, folder):
    """What to time of writing and reading, and how often it stands for."""
    from riskweighted.data.io import DatasetWriter, read_datasets, read_table

    act, ending, *plainly = case.split()
    _, datasets = files(n)
    paths = [folder / f"{place}.{ending}" for place in range(1 if plainly else COUNT)]

    def write():
        if plainly:
            datasets[0].to_csv(paths[0], index=False, lineterminator="\n")
            return
        writer = DatasetWriter(datasets)
        for place, path in enumerate(paths):
            writer.write(place, path)

    if act == "write":
        return write, COUNT // len(paths)
    write()
    if plainly:
        return lambda: read_table(paths[0]), COUNT
    return lambda: list(read_datasets(paths, read_table(paths[0]), ["income"])), 1


def nearness(n):
    """The chance of one scheme, then every dataset against it."""
    from riskweighted.release.nearness import chance_of, find_nearness

    data, datasets = files(n)
    rng, own = np.random.default_rng(2), data["income"].to_numpy()

    def check():
        chance = chance_of((drawn(own, rng).to_numpy() for _ in range(L)), own, 0.1)
        for frame in datasets:
            list(find_nearness(frame["income"].to_numpy(), chance))

    return check


def study(n, folder):
    """A study with a linear regression on ten categorical predictors."""
    from riskweighted.runs.study import make_study

    data, _ = files(n)
    data.to_csv(folder / "data.csv", index=False)
    others = [name for name in data if name not in (*KNOWN, "income")]
    settings = {
        "data": {"path": "data.csv"},
        "scenario": {"known": list(KNOWN), "synthetic": "income"},
        "synthesizer": {
            "name": "linear-regression",
            "formula": "income ~ " + " + ".join(f"C({name})" for name in data if name != "income"),
            "transform": "log",
        },
        "weights": {"schemes": list(SCHEMES)},
        "release": {"L": L, "columns": others},
        "seed": 3,
    }
    return make_study(settings, folder)


def steps(case, n, folder):
    """What to time of a study: its run, or what follows a run."""
    from riskweighted import release_run, run_study
    from riskweighted.reports.render import render_report
    from riskweighted.runs.finished import load_run

    settings, results = study(n, folder), folder / "results"
    if case == "run":
        return lambda: run_study(settings, results)
    run_study(settings, results)
    if case == "report":
        return lambda: render_report(load_run(results))
    return lambda: release_run(
        results, folder / "pack", schemes=SCHEMES, report=render_report, accept_uniques=True
    )


def measure(case, n):
    """Processor seconds and peak memory in gigabytes of one case, in this process."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        times = 1
        if case == "nearness":
            act = nearness(n)
        elif case in ("run", "report", "release"):
            act = steps(case, n, Path(folder))
        else:
            act, times = tables(case, n, Path(folder))
        begun = time.process_time()
        act()
        print(
            times * (time.process_time() - begun),
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("records", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--only", nargs="*", choices=CASES, default=CASES)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        measure(options.case, options.records[0])
        return
    print(f"{'processor s (peak GB)':24}" + "".join(f"{n:>18,}" for n in options.records))
    for case in options.only:
        print(f"{case:24}", end="", flush=True)
        for n in options.records:
            done = subprocess.run(
                [sys.executable, __file__, str(n), "--case", case],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            seconds, peak = map(float, done.stdout.split()[-2:])
            print(f"{seconds:11.1f} ({peak:4.1f})", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
