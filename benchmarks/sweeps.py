"""Time of a thousand cells of the paper's simulation study: `python benchmarks/sweeps.py`, some
minutes on one free core.

Ten radii, five numbers of datasets, four schemes, five seeds: 1,000 cells of 110 fits, and 50 of
the confidential data; in one process, compilation included. `--against FOLDER` (a checkout of
another version) runs both in turn, in processes of their own, and prints the ratio of their
processor times; `--radii`, `--seeds` make it smaller.
"""

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIMULATION = ROOT / "experiments" / "simulation"
RADII = [0.30, 0.28, 0.26, 0.24, 0.22, 0.20, 0.18, 0.16, 0.14, 0.12]
SCHEMES = ["unweighted", "marginal", "pairwise", "uniform(c=0.5)"]


def run_once(radii: int, seeds: int) -> dict[str, float]:
    """Cells, seconds and memory of the sweep in this process."""
    from riskweighted import Sweep, load_sweep, sweep

    study = load_sweep(SIMULATION / "datasets.toml").study
    grid = {
        "scenario.radius": RADII[:radii],
        "release.L": [30, 20, 10, 5, 1],
        "weights.schemes": SCHEMES,
    }
    wall, processor = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        done = sweep(
            Sweep(dataclasses.replace(study, seed=1), grid, seeds), Path(folder) / "out", workers=1
        )
    results = done.results[done.results["label"] != "confidential"]
    cells = len(results.drop_duplicates(list(results.loc[:, :"label"].columns)))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    checked = float(results.loc[results["key"] == "mean-risk", "value"].sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cells": cells,
        "wall": wall,
        "processor": processor,
        "peak": peak,
        "sum of mean risks": checked,
    }


def run_apart(checkout: Path, radii: int, seeds: int) -> dict[str, float]:
    """The same with the code of a checkout, in a process of its own."""
    paths = os.pathsep.join([str(checkout), str(checkout / "models")])
    command = [
        sys.executable,
        str(Path(__file__).resolve()),
        "--json",
        "--radii",
        str(radii),
        "--seeds",
        str(seeds),
    ]
    done = subprocess.run(
        command,
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--radii", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--against", type=Path, help="checkout of another version")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.json:
        print(json.dumps(run_once(given.radii, given.seeds)))
        return
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "at the start\n"
    )
    print(
        f"{'':24}{'cells':>7}{'wall s':>9}{'processor s':>13}{'s/cell':>8}{'peak MB':>9}"
        f"{'sum of mean risks':>20}"
    )
    found = {}
    for name, checkout in [
        ("this version", ROOT),
        *([("against", given.against.resolve())] if given.against else []),
    ]:
        row = found[name] = run_apart(checkout, given.radii, given.seeds)
        each = row["processor"] / row["cells"]
        print(
            f"{name:24}{row['cells']:7.0f}{row['wall']:9.1f}{row['processor']:13.1f}{each:8.3f}"
            f"{row['peak']:9.0f}{row['sum of mean risks']:20.10f}",
            flush=True,
        )
    if given.against:
        print(
            "\nratio of processor times "
            f"{found['against']['processor'] / found['this version']['processor']:.2f}"
        )


if __name__ == "__main__":
    main()
