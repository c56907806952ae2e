"""A sweep on a Dask cluster of this machine: `python benchmarks/cluster.py`, with one worker and
with two.

Cells of the paper's simulation study, with two models that differ in a prior. For each number of
workers: seconds of the wall clock, those of the processors of all workers, and how often a worker
made a model ready to be fitted, and compiled one for nutpie: all workers together no more often
than there are models. The results are the same bytes.
"""

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIMULATION = ROOT / "experiments" / "simulation"
READY, COMPILED = (
    "compile_weighted_sum",
    "_compile",
)  # functions of riskweighted.sampling.compilation
GRID = {
    "synthesizer.concentration": [5.0, 10.0],
    "scenario.radius": [0.30, 0.20],
    "release.L": [20, 10, 5],
    "weights.schemes": ["unweighted", "marginal", "pairwise"],
}


def count_compilations() -> None:
    """In a worker: count from now on."""
    from riskweighted.sampling import compilation

    found: Any = compilation
    found.counts = Counter()

    def count(name: str) -> None:
        original = getattr(found, name)

        def counting(*arguments: Any) -> Any:
            found.counts[name] += 1
            return original(*arguments)

        setattr(found, name, counting)

    for name in (READY, COMPILED):
        count(name)


def worker_facts() -> tuple[Counter[str], float]:
    """Of a worker: what it counted, and its processor seconds."""
    from riskweighted.sampling import compilation

    found: Any = compilation
    return found.counts, time.process_time()


def run_with(workers: int, seeds: int, folder: Path) -> tuple[dict[str, Any], bytes]:
    """The sweep on a cluster of so many workers of one thread; its bytes."""
    from distributed import Client, LocalCluster

    from riskweighted import Sweep, load_sweep, sweep

    study = dataclasses.replace(load_sweep(SIMULATION / "datasets.toml").study, seed=1)
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        with Client(address, set_as_default=False) as client:
            client.run(count_compilations)
            before = client.run(worker_facts)
            began = time.perf_counter()
            done = sweep(Sweep(study, GRID, seeds), folder / str(workers), scheduler=address)
            wall, after = time.perf_counter() - began, client.run(worker_facts)
    points = len(done.results.drop_duplicates(list(done.results.loc[:, :"label"].columns)))
    row = {
        "workers": workers,
        "points": points,
        "wall": wall,
        "processor": sum(after[name][1] - before[name][1] for name in after),
    }
    row |= {
        name: [after[worker][0][name] for worker in sorted(after)] for name in (READY, COMPILED)
    }
    return row, (done.folder / "results.csv").read_bytes()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "at the start\n"
    )
    print(
        f"{'workers':>7}{'points':>8}{'wall s':>9}{'processor s':>13}"
        f"{'models ready':>14}{'compiled':>10}   (by worker)"
    )
    bytes_of: set[bytes] = set()
    with tempfile.TemporaryDirectory() as folder:
        for workers in given.workers:
            row, found = run_with(workers, given.seeds, Path(folder))
            bytes_of.add(found)
            shown = f"{row['workers']:7}{row['points']:8}{row['wall']:9.1f}{row['processor']:13.1f}"
            print(f"{shown}{row[READY]!s:>14}{row[COMPILED]!s:>10}", flush=True)
    print("the same bytes" if len(bytes_of) == 1 else "DIFFERENT BYTES")


if __name__ == "__main__":
    main()
