"""What each compiled density gains: whole fits of every model by it and by its PyMC graph, in
seconds of the processor.

`python benchmarks/densities.py [--records N] [--stop TIMES] [--data SD2011.csv] [CASE ...]` fits
each case in a fresh process, default sampling: by the density and by the graph alone, each with an
empty cache of machine code and with a warm one. Data are 9,275 households of 401ksubs or the first
N, simulated counts of 5,000 for the negative binomial, and for the chain the 5,000 records of
SD2011 (`experiments/several`; not ours to publish). Seconds are those of the processor's user time
in the fit, compilation included, imports not. A graph that has used TIMES as many seconds as the
density is stopped, and its line says so.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.contract.synthesizer import Blueprint
from riskweighted.data.embedded import load_household_assets
from riskweighted.sampling.block_fit import PreparedModel

# experiments are no part of the package
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "linear-regression": (
        "linear-regression",
        "inc ~ C(married) + C(age_band) + family_size",
        {"transform": "log"},
    ),
    "normal-mixture": ("normal-mixture", "inc ~ C(married) + C(age_band) + family_size", {}),
    "negative-binomial": ("negative-binomial", "count ~ C(married) + C(age_band)", {}),
    "negative-binomial, K = 2": (
        "negative-binomial",
        "count ~ C(married) + C(age_band)",
        {"components": 2},
    ),
    "transformation": (
        "transformation",
        "inc ~ C(married) + C(age_band) + family_size",
        {"support": (0, 1000)},
    ),
    "two-part": ("two-part", "net_assets ~ C(married) + C(age_band) + family_size", {}),
    "logistic": (
        "logistic",
        "eligible_401k ~ C(married) + C(age_band) + family_size",
        {"levels": (0, 1)},
    ),
    "ordinal": (
        "ordinal",
        "family_size ~ C(married) + C(age_band)",
        {"levels": (1, 2, 3, 4, 5, 6)},
    ),
    "multinomial": ("multinomial", "age_band ~ C(married) + family_size", {}),
    "counts": ("counts", "family_size ~ C(married) + C(age_band)", {}),
}


CHAIN = "chain of seven"
SD2011 = "SD2011"  # in the environment: where its file is


def data_of(case: str, records: int) -> pd.DataFrame:
    """The households, with a simulated count for the negative binomial."""
    data = load_household_assets().head(records)
    if not case.startswith("negative-binomial"):
        return data
    rng, data = np.random.default_rng(1), data.head(5000)
    mean = np.exp(1.5 + 0.4 * data["married"].to_numpy()) * np.where(
        rng.random(len(data)) < 0.3, 4.0, 1.0
    )
    return data.assign(count=rng.poisson(rng.gamma(2.0, mean / 2.0)))


def of_case(case: str, records: int) -> tuple[Any, pd.DataFrame]:
    """The synthesizer and the data."""
    if case == CHAIN:
        from experiments.several import case as of_several

        return of_several.chain(), of_several.read(Path(os.environ.get(SD2011, of_several.DATA)))
    name, formula, settings = CASES[case]
    return rw.load_synthesizer(name)(formula, **settings), data_of(case, records)


def without_densities() -> None:
    """From here on every model, those of a chain's blocks too, is its PyMC graph alone."""
    build = PreparedModel.build

    def graph(model: PreparedModel) -> Blueprint | None:
        blueprint = build(model)
        return (
            None
            if blueprint is None
            else blueprint._replace(density=None, direct=None, exact=None, layout=None)
        )

    PreparedModel.build = graph  # type: ignore[assignment, method-assign]


def fit_once(case: str, records: int, graph: bool, limit: float | None) -> None:
    """Print the seconds of user time that one fit takes; at the limit the system ends the
    process.
    """
    synthesizer, data = of_case(case, records)
    rw.fit(rw.load_synthesizer("top-coding")("inc ~ 1"), load_household_assets())  # imports
    if graph:
        without_densities()
    times = os.times()
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(times.user + times.system + limit) + 1,) * 2)
    fitted = rw.fit(synthesizer, data, random_seed=1)
    print(
        json.dumps({"seconds": os.times().user - times.user, "converged": bool(fitted.converged)})
    )


def measured(
    case: str, records: int, graph: bool, cache: str, limit: float | None = None
) -> dict[str, Any]:
    """`fit_once` in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--one",
        case,
        "--records",
        str(records),
        *(["--graph"] if graph else []),
    ]
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
    command += [] if limit is None else ["--limit", str(limit)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode < 0 and limit is not None:
        return {"seconds": limit, "converged": "stopped"}
    if done.returncode:
        return {"seconds": np.nan, "converged": done.stderr.strip().splitlines()[-1]}
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def compared(case: str, records: int, stop: float | None) -> tuple[list[float], list[str]]:
    """Seconds of the density, empty and warm, and of the graph; and what is to be said of them."""
    seconds: list[float] = []
    remarks = []
    for graph in (False, True):
        with tempfile.TemporaryDirectory() as cache:
            limits = (
                [stop * before for before in seconds]
                if graph and stop is not None
                else [None, None]
            )
            runs = [measured(case, records, graph, cache, limit) for limit in limits]
        seconds += [run["seconds"] for run in runs]
        if any(run["converged"] is not True for run in runs):
            remarks.append(
                f"{'graph' if graph else 'density'}: {[run['converged'] for run in runs]}"
            )
    return seconds, remarks


def main() -> None:
    """One line a case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--records", type=int, default=9275)
    parser.add_argument("--stop", type=float)
    parser.add_argument("--one")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--data")
    asked = parser.parse_args()
    if asked.data:
        os.environ[SD2011] = asked.data
    if asked.one:
        fit_once(asked.one, asked.records, asked.graph, asked.limit)
        return
    print(
        f"{'':26} {'density: empty':>14} {'warm':>7} {'graph: empty':>14} {'warm':>7} "
        f"{'ratios':>12}",
        flush=True,
    )
    for case in asked.cases or [*CASES, CHAIN]:
        (empty, warm, graph_empty, graph_warm), remarks = compared(case, asked.records, asked.stop)
        ratios = f"{graph_empty / empty:.1f} / {graph_warm / warm:.1f}"
        print(
            f"{case:26} {empty:14.1f} {warm:7.1f} {graph_empty:14.1f} {graph_warm:7.1f} "
            f"{ratios:>12}  {'; '.join(remarks)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
