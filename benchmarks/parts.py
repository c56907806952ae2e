"""A large file: `python -m benchmarks.parts [one|chain] [MILLIONS ...] [--workers N]
[--keep FOLDER]`.

The CE-like population in parts of half a million records; "one" is income by a transformation model
of eight predictors under two schemes, "chain" is earner, income and a rent with survey weights. The
command that a user types, in a process of its own: processor seconds of all its processes, the most
memory that they hold together (what they share counted once) and that one of them holds, bytes
written, and the seconds of each step. With ``--keep`` what was made stays there, and the same
command goes on where it was stopped.
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

_EACH = 500_000  # records of a part
_STUDY = """
seed = 1
[data]
path = "parts/*.parquet"
id = "household"
fitted = {fitted}
[scenario]
known = ["gender", "age_band", "region"]
synthetic = {synthetic}
radius = 0.2
[synthesizer]
{model}
[weights]
schemes = ["unweighted", "mix+(t=0.5)"]
{survey}
[sampling]
draws = 100
chains = 2
[evaluation]
risk_draws = {risk_draws}
regressions = ["log(income) ~ age_band + education"]
{survey}
[release]
L = 5
format = "parquet"
columns = ["education"]
"""
PREDICTORS = [
    "gender",
    "age_band",
    "education",
    "region",
    "urban",
    "marital_status",
    "family_size",
]
MODELS = {
    "one": {
        "synthetic": '"income"',
        "model": f'name = "transformation"\nformula = "income ~ {" + ".join(PREDICTORS)} + earner"',
        "survey": "",
    },
    "chain": {
        "synthetic": '["earner", "income", "rent"]',
        "model": f'name = "sequential"\npredictors = {PREDICTORS}',
        "survey": 'survey = "weight"',
    },
}


def write_study(folder: Path, model: str, millions: float, risk_draws: int, fitted: int) -> Path:
    """Parts, each a population of its own, and a study of them."""
    from experiments.ce.population import CE_SEED, simulate_ce

    (folder / "parts").mkdir(parents=True, exist_ok=True)
    before = 0
    for place in range(max(round(millions * 1e6 / _EACH), 1)):
        data = simulate_ce(min(_EACH, round(millions * 1e6)), CE_SEED + place)
        data["income"] = data["income"].round().astype(int)
        data = data[data["income"] > 0].reset_index(drop=True)
        rng = np.random.default_rng(place)
        data["weight"] = rng.uniform(0.5, 2, len(data)).round(2)
        logs = 5 + np.log(data["income"]) / 10 + 0.4 * rng.normal(size=len(data))
        data["rent"] = np.exp(logs).round().astype(int)
        data.insert(0, "household", np.arange(len(data)) + before)
        before += len(data)
        data.to_parquet(folder / "parts" / f"part-{place:04d}.parquet", index=False)
    study = folder / "study.toml"
    study.write_text(_STUDY.format(fitted=fitted, risk_draws=risk_draws, **MODELS[model]))
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
    parser.add_argument("model", nargs="?", choices=MODELS, default="one")
    parser.add_argument("millions", nargs="*", type=float, default=[1.0, 10.0])
    parser.add_argument("--risk-draws", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fitted", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="where what was made stays; without it, it goes")
    given = parser.parse_args()
    print(
        f"{given.model}, {given.workers} workers, Python {sys.version.split()[0]}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for millions in given.millions:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) if given.keep is None else given.keep / str(millions)
            study = write_study(folder, given.model, millions, given.risk_draws, given.fitted)
            print(f"{millions} million records")
            run(folder, study, given.workers)


if __name__ == "__main__":
    main()
