"""A study of data in parts: `python -m benchmarks.parts [MODEL] [MILLIONS ...] [--workers N]
[--keep FOLDER]`.

The CE-like population, all ten predictors, three schemes, L = 5, in parts of a million records;
MODEL is "normal-mixture" (K = 3, positive incomes) or "two-part". The command that a user types, in
a process of its own: processor seconds of all its processes, the most memory that they hold
together (what they share counted once) and that one of them holds, bytes written, and the seconds
of each step. With ``--keep`` what was made stays there, and the same command goes on where it was
stopped.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from benchmarks.million import SETTINGS, STUDY

_EACH = 1_000_000  # records of a part


def write_study(
    folder: Path, model: str, millions: int, draws: int, risk_draws: int, fitted: int | None
) -> Path:
    """Parts, each a population of its own, and a study of them."""
    from experiments.ce.population import CE_CATEGORIES, CE_SEED, simulate_ce

    (folder / "parts").mkdir(parents=True, exist_ok=True)
    before = 0
    for place in range(millions):
        data = simulate_ce(_EACH, CE_SEED + place)
        data["income"] = data["income"].round().astype(int)
        if model == "normal-mixture":
            data = data[data["income"] > 0].reset_index(drop=True)
        data.insert(0, "household", np.arange(len(data)) + before)
        before += len(data)
        data.to_parquet(
            folder / "parts" / f"part-{place:04d}.parquet", index=False, row_group_size=_EACH // 4
        )
    sample = "" if fitted is None else f"\nfitted = {fitted}"
    text = STUDY.format(
        name=model,
        predictors=" + ".join(CE_CATEGORIES),
        settings=SETTINGS[model],
        draws=draws,
        seed=1,
    )
    text = (
        text.replace("L = 20", "L = 5")
        .replace(
            'path = "households.parquet"', f'path = "parts/*.parquet"\nid = "household"{sample}'
        )
        .replace("[release]", f"[evaluation]\nrisk_draws = {risk_draws}\n[release]")
    )
    study = folder / "study.toml"
    study.write_text(text)
    return study


def held(process: psutil.Process) -> tuple[int, int]:
    """Bytes that a process and its children hold, what they share counted once, and those of the
    largest.
    """
    sizes = []
    for each in (process, *process.children(recursive=True)):
        try:
            sizes.append(each.memory_full_info().pss)
        except (psutil.Error, AttributeError):
            continue
    return sum(sizes), max(sizes, default=0)


def run(folder: Path, study: Path, workers: int) -> None:
    """One run, timed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter()
    log = folder / "run.log"
    command = [
        sys.executable,
        "-m",
        "riskweighted",
        "run",
        study.name,
        "--out",
        "out",
        "--workers",
        str(workers),
        "--force",
    ]
    most, largest = 0, 0
    with (
        log.open("w") as told,
        subprocess.Popen(command, cwd=folder, stdout=told, stderr=subprocess.STDOUT) as process,
    ):
        while process.poll() is None:
            try:
                together, one = held(psutil.Process(process.pid))
            except psutil.Error:
                break
            most, largest = max(most, together), max(largest, one)
            time.sleep(1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    written = (
        sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
        if (folder / "out").exists()
        else 0
    )
    print(
        f"{used:9.0f} s processor{time.perf_counter() - wall:9.0f} s wall{most / 2**30:7.2f} GiB "
        f"together{largest / 2**30:7.2f} GiB at most"
        f" in one{written / 1e9:7.2f} GB of results; exit code {process.returncode}"
    )
    for line in log.read_text().splitlines():
        if re.search(r"done in|Error|error|converge", line):
            print(f"    {line.strip()[:140]}")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", choices=SETTINGS, default="normal-mixture")
    parser.add_argument("millions", nargs="*", type=int, default=[1, 10])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument(
        "--risk-draws",
        type=int,
        default=60,
        help="posterior draws of the expected risk, most of what measuring takes",
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--fitted", type=int, help="records of a sample that is fitted; without it, all are"
    )
    parser.add_argument("--keep", type=Path, help="where what was made stays; without it, it goes")
    given = parser.parse_args()
    print(
        f"{given.model}, {given.workers} workers, Python {sys.version.split()[0]}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for millions in given.millions:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) if given.keep is None else given.keep / str(millions)
            study = write_study(
                folder, given.model, millions, given.draws, given.risk_draws, given.fitted
            )
            print(f"{millions} million records")
            run(folder, study, given.workers)


if __name__ == "__main__":
    main()
