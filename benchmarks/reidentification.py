"""Time and peak memory of the re-identification metrics: python benchmarks/reidentification.py
[--quick] [--only METRIC].

PUF and EIF describe the same people in another order: 10 % of the values of each variable changed,
10 % missing in each file. Of 8 variables 5 are categorical and 3 numeric; more variables are
categorical (2 to 9 levels). "ce": the CE-like population, ten categorical variables and income,
which the PUF has with noise of 30 %. Each line runs in a process of its own; time excludes
compilation (a tiny study runs first) and includes everything from DataFrames to rates.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.jit import worker_threads

# experiments are no part of the package
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from experiments.ce.population import simulate_ce

LEVELS = (2, 5, 9, 4, 6)
MORE_LEVELS = (3, 5, 2, 7, 5, 4, 5, 3, 8, 2, 6, 5)
CASES = [
    *[
        (metric, n, 8)
        for metric in ("taxicab", "euclidean", "adhoc")
        for n in (10_000, 100_000, 1_000_000)
    ],
    *[("adhoc", n, "ce") for n in (10_000, 100_000, 1_000_000)],
    *[(metric, 25_000, v) for metric in ("taxicab", "euclidean", "adhoc") for v in (4, 12, 20)],
    *[("unicity", n, v) for v in (8, 13) for n in (25_000, 50_000, 100_000)],
    *[("unicity", n, 20) for n in (5_000, 10_000, 20_000)],
]


def make_ce_study(n, seed=1):
    """(PUF, EIF, IUF, linking) of n records of the CE-like population."""
    rng = np.random.default_rng(seed)
    eif = simulate_ce(n)
    linking = {name: "numeric" if name == "income" else "categorical" for name in eif}
    puf = eif.assign(income=np.round(eif["income"] * np.exp(rng.normal(0, 0.3, n))))
    order = rng.permutation(n)
    puf = puf.iloc[order].reset_index(drop=True).assign(pufid=np.arange(n))
    eif = eif.assign(eifid=np.arange(n))
    return puf, eif, pd.DataFrame({"pufid": np.arange(n), "eifid": order}), linking


def make_study(n, v, seed=1):
    """(PUF, EIF, IUF, linking) of n records a file and v variables."""
    rng = np.random.default_rng(seed)
    levels = (*LEVELS, *MORE_LEVELS)
    columns, linking = {}, {}
    for place in range(v):
        if 5 <= place < 8:
            columns[f"x{place}"], linking[f"x{place}"] = (
                lambda: np.round(np.exp(rng.normal(3, 1, n)), 2),
                "numeric",
            )
        else:
            k = levels[place if place < 5 else place - 3]
            shares = rng.dirichlet(np.full(k, 3.0))
            columns[f"x{place}"] = lambda k=k, shares=shares: rng.choice(k, n, p=shares).astype(
                float
            )
            linking[f"x{place}"] = "categorical"
    eif = pd.DataFrame({name: draw() for name, draw in columns.items()})
    puf = eif.copy()
    for name, draw in columns.items():
        puf[name] = np.where(rng.random(n) < 0.1, draw(), puf[name])
        for frame in (puf, eif):
            frame[name] = frame[name].where(rng.random(n) > 0.1)
    order = rng.permutation(n)
    puf = puf.iloc[order].reset_index(drop=True).assign(pufid=np.arange(n))
    eif = eif.assign(eifid=np.arange(n))
    return puf, eif, pd.DataFrame({"pufid": np.arange(n), "eifid": order}), linking


def measure(metric, n, v):
    """One case in this process, as a row of the table; `v` is a number of variables, or "ce"."""
    import riskweighted as rw

    def attack(study):
        puf, eif, iuf, linking = study
        scores = None
        if metric == "adhoc":
            breaks = (0.0, 1_000.0, 5_000.0, 25_000.0) if v == "ce" else (0.0, 1.0, 5.0, 20.0)
            by_difference = rw.BreakScores(breaks, (5.0, 4.0, 3.0, 1.0, 0.0))
            scores = {
                name: by_difference if kind == "numeric" else rw.PairScores({})
                for name, kind in linking.items()
            }
        return rw.reidentify(puf, eif, iuf, linking, metric=metric, scores=scores)

    make = make_ce_study if v == "ce" else lambda n: make_study(n, v)
    attack(make(200))
    study = make(n)
    began, cpu = time.perf_counter(), time.process_time()
    found = attack(study)
    row = {
        "metric": metric,
        "records a file": n,
        "variables": v,
        "seconds": round(time.perf_counter() - began, 1),
    }
    row |= {
        "CPU seconds": round(time.process_time() - cpu, 1),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    row |= {
        "pairs": len(found.pairs),
        "suspected": round(found.suspected_rate, 3),
        "conditional": round(found.conditional_rate, 3),
    }
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--only", default="", help="a metric")
    parser.add_argument("--case", nargs=3, metavar=("METRIC", "N", "V"))
    arguments = parser.parse_args()
    if arguments.case:
        metric, n, v = arguments.case
        print(json.dumps(measure(metric, int(n), v if v == "ce" else int(v))))
        return
    print(f"{worker_threads()} cores, {platform.machine()}, Python {platform.python_version()}\n")
    header = None
    for metric, n, v in CASES:
        if arguments.only in ("", metric):
            size = n // 10 if arguments.quick else n
            command = [sys.executable, __file__, "--case", metric, str(size), str(v)]
            row = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
            if header is None:
                header = list(row)
                print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
            print(
                "| "
                + " | ".join(
                    f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()
                )
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
