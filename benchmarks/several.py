"""A chain of many records from the file to the report: `python benchmarks/several.py [RECORDS ...]
[SD2011.csv]`; 10,000 and 100,000.

The study of seven variables of SD2011 (`experiments/several`: education, marital status, income,
life satisfaction, smoking, cigarettes, depression score), three schemes, L = 20. The chain is
fitted to the file's 5,000 records, and as many datasets are drawn from it as make up the records,
so that nearly every one is another combination. `riskweighted run` then does the study in a process
of its own, on one core: processor seconds of each step and between two steps, since machines are
shared, and the largest memory so far. The last column is the exponent e of n^e from the first
number of records to the last.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # experiments are no part of the package

STUDY = """
seed = 2022
reproducible = true
[data]
path = "records.parquet"
[scenario]
known = ["sex", "agegr"]
synthetic = ["edu", "marital", "income", "ls", "smoke", "nociga", "depress"]
radius = 0.2
codes = { income = [-8], nociga = [-8] }
[synthesizer]
name = "sequential"
predictors = ["sex", "age", "placesize"]
violations = "exclude"
[synthesizer.variables.income]
codes = [-8]
[synthesizer.variables.ls]
levels = [
    "TERRIBLE", "UNHAPPY", "MOSTLY DISSATISFIED", "MIXED",
    "MOSTLY SATISFIED", "PLEASED", "DELIGHTED",
]
drift = true
[synthesizer.variables.nociga]
applies_if = "smoke == 'YES'"
else_value = -8
codes = [-8]
[weights]
schemes = ["unweighted", "marginal", "pairwise"]
risk_of = "each-variable"
[sampling]
draws = 300
tune = 150
chains = 2
[release]
L = 20
[evaluation]
regressions = [
    "log(income) ~ age + sex + edu where income > 0", "smoke ~ age + sex", "depress ~ age + sex",
]
"""


def write_studies(folder: Path, sizes: list[int], path: Path) -> None:
    """A folder for each number of records, with the data and the study of them."""
    import pandas as pd

    import riskweighted as rw
    from experiments.several import case

    own = case.read(path)
    fit = rw.fit(case.chain(), own, random_seed=1, draws=300, tune=300, chains=2)
    parts = fit.synthesize(-(-max(sizes) // len(own)), random_seed=1)
    records = (
        pd.concat(parts, ignore_index=True).sample(frac=1, random_state=1).reset_index(drop=True)
    )
    for size in sizes:
        (folder / str(size)).mkdir()
        records[:size].to_parquet(folder / str(size) / "records.parquet")
        (folder / str(size) / "study.toml").write_text(STUDY)


class Steps:
    """A reporter that prints, for each step and what lies before it, processor seconds, and the
    largest memory so far.
    """

    def __init__(self) -> None:
        self.last = 0.0

    @contextlib.contextmanager
    def step(self, description: str) -> Iterator[object]:
        """One step of the command."""
        self.told(f"before: {description}")
        yield lambda done, total: None
        self.told(description)

    def told(self, what: str) -> None:
        """Since the last line."""
        now = time.process_time()
        print(
            json.dumps(
                [what, now - self.last, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]
            ),
            flush=True,
        )
        self.last = now


def command(folder: str) -> None:
    """`riskweighted run` in this process, telling its steps."""
    os.chdir(folder)
    from riskweighted.commands import run

    steps = Steps()
    run.reporter = lambda: steps  # type: ignore[assignment]
    from riskweighted.commands.main import main

    sys.argv = ["riskweighted", "run", "study.toml", "--out", "out", "--cores", "1"]
    with contextlib.suppress(SystemExit):
        main()
    steps.told("the rest")


def measured(folder: Path) -> dict[str, tuple[float, float]]:
    """Processor seconds and memory of each step."""
    done = subprocess.run(
        [sys.executable, __file__, "--command", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    if not (folder / "out").is_dir():
        raise SystemExit(done.stderr[-2000:])
    return {what: (seconds, memory) for what, seconds, memory in lines}


def main(sizes: list[int], path: Path) -> None:
    """Print the table."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as place:
        write_studies(Path(place), sizes, path)
        found = {size: measured(Path(place) / str(size)) for size in sizes}
    print(
        f"{'processor seconds':44}"
        + "".join(f"{size:>12,}{'GiB':>7}" for size in sizes)
        + f"{'exponent':>10}"
    )
    steps = [
        step
        for step in found[sizes[-1]]
        if max(own.get(step, (0.0, 0.0))[0] for own in found.values()) > 0.05
    ]
    rows = {step: [own.get(step, (np.nan, np.nan)) for own in found.values()] for step in steps}
    rows["all"] = [
        (sum(part for part, _ in own.values()), max(memory for _, memory in own.values()))
        for own in found.values()
    ]
    growth = np.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else np.nan
    for step, values in rows.items():
        numbers = "".join(f"{seconds:12.1f}{memory:7.2f}" for seconds, memory in values)
        first, last = (max(seconds, 0.01) for seconds, _ in (values[0], values[-1]))
        print(f"{step:44}{numbers}{np.log(last / first) / growth:10.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--command"]:
        command(sys.argv[2])
    else:
        counts = [int(text) for text in sys.argv[1:] if text.isdecimal()] or [10_000, 100_000]
        files = [text for text in sys.argv[1:] if not text.isdecimal()]
        # not ours to publish
        default = Path(__file__).resolve().parents[2] / "shared" / "data" / "SD2011.csv"
        main(counts, Path(files[0]) if files else default)
