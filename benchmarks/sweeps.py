"""Time of the paper's simulation study: `python benchmarks/sweeps.py`, about a minute on 2 free cores.

Tables 5 and 6 once through (1 + 8 fits and every evaluation, in one process, compilation included), then the same with
other seeds, where nothing is left to compile: time per further cell. Wall and processor time, since machines are shared.
"""

import dataclasses
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIMULATION = ROOT / "experiments" / "simulation"


def run_once(folder: Path, seed: int) -> int:
    """Both sweeps of the simulation with one repetition; the number of cells."""
    from riskweighted import load_sweep, sweep

    cells = 0
    for name in ("datasets", "radius"):
        plan = load_sweep(SIMULATION / f"{name}.toml")
        study = dataclasses.replace(plan.study, seed=seed)
        done = sweep(dataclasses.replace(plan, study=study, repetitions=1), folder / f"{name}_{seed}", workers=1)
        keys = list(done.results.loc[:, :"label"].columns)
        cells += len(done.results.drop_duplicates(keys))
    return cells


def main() -> None:
    """Print the table."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    print(f"{'':40}{'wall s':>8}{'processor s':>13}{'cells':>7}{'wall s/cell':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for seed, what in ((1, "Tables 5 and 6 once, with compilation"), (1001, "again with another seed")):
            wall, processor = time.perf_counter(), time.process_time()
            cells = run_once(Path(folder), seed)
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            print(f"{what:40}{wall:8.1f}{processor:13.1f}{cells:7}{wall / cells:13.2f}", flush=True)


if __name__ == "__main__":
    main()
