"""One weighted posterior by four engines: `python -m benchmarks.engines`, 40 minutes on 2 cores
with all of them.

The normal mixture with K = 3 on the demo's data and formula (401ksubs) and on the paper's simulated
data, with weights 1 and with marginal ones, sampled by our density, by the PyMC model that nutpie
compiles, by Stan (`pip install httpstan`; needs a C++ compiler) and by numpyro (`pip install
numpyro`). The latter two are no part of the package: what is not installed is said and left out.
Every engine has a process of its own, whose caches are empty; seconds are those of the processor.

Printed: bulk effective draws of the worst quantity that a fit is judged by, in all and per second
with and without compiling; by how much an engine's log density differs from ours over some draws;
and means and sds, with how far they are from ours in Monte Carlo standard errors.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.engines_posterior import (
    CASES,
    SCHEMES,
    Posterior,
    judged,
    posterior_of,
    standard_errors_apart,
)
from benchmarks.engines_samplers import ENGINES, Sampled, missing
from riskweighted.sampling.sampling_settings import Sampling

__all__ = ["Run", "main", "read", "sampled", "tables"]


class Run(NamedTuple):
    """What one engine did: processor seconds, see `Sampled`, and its judged quantities."""

    compiling: float
    sampling: float
    apart: float
    judged: pd.DataFrame


def sampled(arguments: argparse.Namespace, case: str, scheme: str, engine: str, out: Path) -> None:
    """One engine in this process; its draws are written to a file."""
    posterior = posterior_of(case, scheme, arguments.records)
    sampling = Sampling(
        draws=arguments.draws, tune=arguments.tune, chains=arguments.chains, cores=1
    )
    found = ENGINES[engine](posterior, sampling, arguments.seed)
    numbers = np.array([found.compiling, found.sampling, found.apart])
    np.savez(
        out, numbers=numbers, **{f"draws_{name}": values for name, values in found.draws.items()}
    )


def read(posterior: Posterior, out: Path) -> Run:
    """What `sampled` wrote, judged."""
    with np.load(out) as held:
        draws = {
            name.removeprefix("draws_"): held[name] for name in held.files if name != "numbers"
        }
        numbers = held["numbers"].tolist()
    vectors = posterior.vectors(Sampled(draws, *numbers).draws)
    return Run(*numbers, judged(posterior.quantities(vectors) | posterior.components(vectors)))


def tables(posterior: Posterior, runs: dict[str, Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Speed by engine, and mean and sd of every quantity by engine beside those of the first, with
    how far they are apart.
    """
    monitored = [name for name in next(iter(runs.values())).judged.index if " of sd " not in name]
    first, speed, values = next(iter(runs.values())), {}, {}
    for engine, run in runs.items():
        effective = run.judged.loc[monitored, "ess"].min()
        apart = standard_errors_apart(run.judged, first.judged)
        speed[engine] = {
            "compiling s": run.compiling,
            "sampling s": run.sampling,
            "ESS": effective,
            "R-hat": run.judged.loc[monitored, "r_hat"].max(),
            "ESS / s": effective / run.sampling,
            "with compiling": effective / (run.sampling + run.compiling),
            "density off": run.apart,
            "means apart": apart["mean"].abs().max(),
            "sds apart": apart["sd"].abs().max(),
        }
        values[engine] = run.judged[["mean", "sd"]].join(
            apart.add_suffix(", se apart")[
                [] if run is first else ["mean, se apart", "sd, se apart"]
            ]
        )
    return pd.DataFrame(speed).T, pd.concat(values, axis=1)


def compared(arguments: argparse.Namespace, case: str, scheme: str, engines: list[str]) -> None:
    """Run the engines on one posterior, one after the other, and print both tables."""
    posterior, runs = posterior_of(case, scheme, arguments.records), {}
    numbers = posterior.numbers
    length = f"{arguments.chains} x ({arguments.tune} + {arguments.draws})"
    print(
        f"\n{case}, {scheme}: {len(posterior.alpha):,} records, {numbers['rows']:,} rows, d = "
        f"{posterior.layout.size}, {length}",
        flush=True,
    )
    for engine in engines:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "draws.npz"
            empty = {"NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder, "OMP_NUM_THREADS": "1"}
            given = [
                f"--{name}={getattr(arguments, name)}"
                for name in ("draws", "tune", "chains", "seed")
            ]
            given += [] if arguments.records is None else [f"--records={arguments.records}"]
            command = [
                sys.executable,
                "-m",
                "benchmarks.engines",
                *given,
                "--one",
                case,
                scheme,
                engine,
                str(out),
            ]
            done = subprocess.run(
                command, env=os.environ | empty, check=False, capture_output=True, text=True
            )
            if done.returncode:
                print(f"{engine} failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            runs[engine] = read(posterior, out)
    if runs:
        speed, values = tables(posterior, runs)
        print(speed.to_string(float_format=lambda x: f"{x:.3g}"))
        print(values.to_string(float_format=lambda x: f"{x:.3f}"), flush=True)


def main(given: list[str] | None = None) -> None:
    """Print both tables of each posterior."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engines",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--data", choices=CASES, nargs="*", default=CASES)
    parser.add_argument("--schemes", choices=SCHEMES, nargs="*", default=SCHEMES)
    parser.add_argument("--engines", choices=list(ENGINES), nargs="*", default=list(ENGINES))
    for name, default in (
        ("draws", 500),
        ("tune", 400),
        ("chains", 4),
        ("seed", 1),
        ("records", None),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--one", nargs=4, default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.one is not None:
        case, scheme, engine, out = arguments.one
        return sampled(arguments, case, scheme, engine, Path(out))
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "at the start"
    )
    engines = [engine for engine in arguments.engines if missing(engine) is None]
    for engine in arguments.engines:
        if engine not in engines:
            print(missing(engine))
    for case in arguments.data if engines else ():
        for scheme in arguments.schemes:
            compared(arguments, case, scheme, engines)
    return None


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
