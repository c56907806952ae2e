"""What a dry run says a run takes, beside what it took: `python benchmarks/estimates.py [MODEL ...]
[RECORDS ...]`.

The CE-like population, three schemes, L = 20; each of six models (default all), at 1,000, 10,000
and 100,000 records (default). What the dry run says and the run itself are made in processes of
their own; ratios are of estimate to measurement: processor seconds, peak memory, bytes written. A
run before them, of few records, compiles what is kept on disk.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # experiments are no part of the package
STUDY = """
[data]
path = "households.parquet"
[scenario]
known = ["gender", "age_band", "region"]
synthetic = {synthetic}
radius = 0.2
[synthesizer]
name = "{name}"
{settings}
[weights]
schemes = ["unweighted", "marginal", "pairwise"]
[sampling]
draws = 300
tune = 150
chains = 2
[release]
L = 20
"""
POSITIVE = "support = [1, 10000000]"
SETTINGS = {
    "normal-mixture": f"components = 3\n{POSITIVE}",
    "negative-binomial": "components = 2",
    "linear-regression": f'transform = "log"\n{POSITIVE}',
    "transformation": POSITIVE,
    "two-part": "support = [-100000, 10000000]",
    "sequential": "",
}
CHAIN = ("marital_status", "earner", "family_size")  # synthesized by the chain, all drawn directly


def write_study(folder: Path, model: str, records: int) -> Path:
    """The data and the study of them."""
    from experiments.ce.population import CE_CATEGORIES, simulate_ce

    data = simulate_ce(records)
    if model != "two-part":
        data = data[data["income"] >= 1].reset_index(drop=True)
    unit = 5000 if model == "negative-binomial" else 1
    data["income"] = (data["income"] / unit).round().astype(int)
    data.to_parquet(folder / "households.parquet")
    settings, synthetic = SETTINGS[model], '"income"'
    if model == "sequential":
        synthetic = json.dumps(list(CHAIN))
        settings += (
            f"predictors = {json.dumps([name for name in CE_CATEGORIES if name not in CHAIN])}"
        )
    else:
        settings += f'\nformula = "income ~ {" + ".join(CE_CATEGORIES)}"'
    study = folder / "households.toml"
    study.write_text(STUDY.format(name=model, synthetic=synthetic, settings=settings))
    return study


def estimated(study: Path) -> dict[str, Any]:
    """What the dry run says, and how long it took."""
    from riskweighted.runs.plan import plan_study
    from riskweighted.runs.study import load_study

    found = plan_study(load_study(study), began=0).estimate
    own = time.process_time()
    return {
        "seconds": found.total,
        "memory": found.memory,
        "disk": found.disk,
        "own": own,
        "steps": dict(found.seconds),
    }


def ran(study: Path) -> dict[str, Any]:
    """What the run took."""
    from riskweighted.runs.run import run_study
    from riskweighted.runs.study import load_study

    run_study(load_study(study), study.parent / "out")
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    disk = sum(path.stat().st_size for path in (study.parent / "out").rglob("*") if path.is_file())
    return {"seconds": time.process_time(), "memory": peak, "disk": disk}


def apart(what: str, study: Path) -> dict[str, Any]:
    """One of both in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), what, str(study)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(models: list[str], sizes: list[int]) -> None:
    """Print the table."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(
        f"{'':18}{'records':>10}{'dry run s':>11}{'estimate s':>12}{'run s':>8}{'ratio':>7}"
        f"{'GB':>8}{'ratio':>7}{'GB disk':>9}{'ratio':>7}"
    )
    with tempfile.TemporaryDirectory() as place:
        for model in models:
            for number, records in enumerate([500, *sizes]):
                folder = Path(place) / f"{model}-{number}"
                folder.mkdir()
                study = write_study(folder, model, records)
                said, took = apart("estimate", study), apart("run", study)
                if number == 0:
                    continue
                ratios = {name: said[name] / took[name] for name in took}
                print(
                    f"{model:18}{records:10,}{said['own']:11.1f}{said['seconds']:12.1f}"
                    f"{took['seconds']:8.1f}{ratios['seconds']:7.2f}"
                    f"{took['memory'] / 1e9:8.2f}{ratios['memory']:7.2f}"
                    f"{took['disk'] / 1e9:9.3f}{ratios['disk']:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["estimate"]:
        print(json.dumps(estimated(Path(sys.argv[2]))))
    elif sys.argv[1:2] == ["run"]:
        print(json.dumps(ran(Path(sys.argv[2]))))
    else:
        numbers = [int(float(text)) for text in sys.argv[1:] if text[0].isdigit()]
        main(
            [text for text in sys.argv[1:] if not text[0].isdigit()] or list(SETTINGS),
            numbers or [1_000, 10_000, 100_000],
        )
