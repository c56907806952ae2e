"""A study of three schemes from the data file to the report and the release: `python
benchmarks/million.py [MODEL] [RECORDS ...]`.

The CE-like population, all ten predictors, L = 20; MODEL is "normal-mixture" (K = 3, positive
incomes) or "two-part" (transformation). `--draws` are those of each of two chains, `--scheme` is
what is released: a fit that did not converge is not. `--seed` is the study's; with `--keep FOLDER`
what was made stays there, and the same command goes on where it was stopped. The three commands
that a user types, each in a process of its own: processor seconds, peak memory, and the seconds
between the lines of progress that the run prints, step by step. About ten minutes for 10^6 records
of the mixture. One chain at a time: of two that share a core each one's processor seconds count
what it waits for the other.
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

STUDY = """
seed = {seed}
[data]
path = "households.parquet"
[scenario]
known = ["gender", "age_band", "region"]
synthetic = "income"
radius = 0.2
[synthesizer]
name = "{name}"
formula = "income ~ {predictors}"
{settings}
[weights]
schemes = ["unweighted", "marginal", "pairwise"]
[sampling]
draws = {draws}
tune = 100
chains = 2
[release]
L = 20
format = "parquet"
"""
SETTINGS = {
    "normal-mixture": "components = 3\nsupport = [1, 10000000]",
    "two-part": "support = [-100000, 10000000]",
}


def write_study(folder: Path, model: str, records: int, draws: int, seed: int) -> Path:
    """The data and the study of them."""
    # experiments are no part of the package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from experiments.ce.population import CE_CATEGORIES, simulate_ce

    data = simulate_ce(records)
    data["income"] = data["income"].round().astype(int)
    if model == "normal-mixture":
        data = data[data["income"] > 0].reset_index(drop=True)
    data.to_parquet(folder / "households.parquet")
    study = folder / "households.toml"
    study.write_text(
        STUDY.format(
            name=model,
            predictors=" + ".join(CE_CATEGORIES),
            settings=SETTINGS[model],
            draws=draws,
            seed=seed,
        )
    )
    return study


def run(what: str, command: list[str], folder: Path) -> None:
    """One command, timed."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        ["/usr/bin/env", sys.executable, "-m", "riskweighted", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{what:12}{used:9.1f} s processor{time.perf_counter() - wall:9.1f} s "
        f"wall{after.ru_maxrss / 2**20:7.2f} GiB (largest so far)"
    )
    for line in done.stdout.splitlines() + done.stderr.splitlines():
        if re.search(r"\d s$|Error|error|converge", line.strip()):
            print(f"    {line.strip()[:140]}")
    if done.returncode not in (0, 3):
        print(f"    exit code {done.returncode}")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", choices=SETTINGS, default="normal-mixture")
    parser.add_argument("records", nargs="*", type=float, default=[1e5, 1e6])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--scheme", default="marginal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, help="where the folder of the run stays; without it, it goes"
    )
    given = parser.parse_args()
    print(
        f"{given.model}, Python {sys.version.split()[0]}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    for records in map(int, given.records):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) if given.keep is None else given.keep / str(records)
            folder.mkdir(parents=True, exist_ok=True)
            study = write_study(folder, given.model, records, given.draws, given.seed)
            print(f"{records:,} records")
            run("run", ["run", study.name, "--out", "out", "--cores", "1"], folder)
            run("report", ["report", "out"], folder)
            run(
                "release",
                [
                    "release",
                    "out",
                    "--scheme",
                    given.scheme,
                    "--format",
                    "parquet",
                    "--out",
                    "pack",
                ],
                folder,
            )


if __name__ == "__main__":
    main()
