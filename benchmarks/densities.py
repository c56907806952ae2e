"""What each compiled density gains: whole fits of every model by it and by its PyMC graph, in seconds of the processor.

`python benchmarks/densities.py [CASE ...]` fits each case in a fresh process, 9,275 households of 401ksubs (5,000 simulated counts for the
negative binomial), default sampling: by the density and by the graph alone, each with an empty cache of machine code and with a warm one.
Seconds are those of user time of the fit, compilation included, imports not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.data.embedded import load_household_assets

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "linear-regression": ("linear-regression", "inc ~ C(married) + C(age_band) + family_size", {"transform": "log"}),
    "normal-mixture": ("normal-mixture", "inc ~ C(married) + C(age_band) + family_size", {}),
    "negative-binomial": ("negative-binomial", "count ~ C(married) + C(age_band)", {}),
    "negative-binomial, K = 2": ("negative-binomial", "count ~ C(married) + C(age_band)", {"components": 2}),
    "transformation": ("transformation", "inc ~ C(married) + C(age_band) + family_size", {"support": (0, 1000)}),
    "two-part": ("two-part", "net_assets ~ C(married) + C(age_band) + family_size", {}),
    "logistic": ("logistic", "eligible_401k ~ C(married) + C(age_band) + family_size", {"levels": (0, 1)}),
    "ordinal": ("ordinal", "family_size ~ C(married) + C(age_band)", {"levels": (1, 2, 3, 4, 5, 6)}),
    "multinomial": ("multinomial", "age_band ~ C(married) + family_size", {}),
    "counts": ("counts", "family_size ~ C(married) + C(age_band)", {}),
}


@dataclass(frozen=True)
class GraphAlone:
    """A synthesizer without the densities of its own: what is sampled is its PyMC graph."""

    model: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "model"), name)

    def build(self, prepared: Any) -> Any:
        """The blueprint without them."""
        return self.model.build(prepared)._replace(density=None, direct=None, exact=None, layout=None)


def data_of(case: str) -> pd.DataFrame:
    """The households, with a simulated count for the negative binomial."""
    data = load_household_assets()
    if not case.startswith("negative-binomial"):
        return data
    rng, data = np.random.default_rng(1), data.head(5000)
    mean = np.exp(1.5 + 0.4 * data["married"].to_numpy()) * np.where(rng.random(len(data)) < 0.3, 4.0, 1.0)
    return data.assign(count=rng.poisson(rng.gamma(2.0, mean / 2.0)))


def fit_once(case: str, graph: bool) -> float:
    """Seconds of user time that one fit takes."""
    name, formula, settings = CASES[case]
    model = rw.load_synthesizer(name)(formula, **settings)
    data = data_of(case)
    rw.fit(rw.load_synthesizer("top-coding")("inc ~ 1"), data)  # imports
    before = os.times().user
    fitted = rw.fit(GraphAlone(model) if graph else model, data, random_seed=1)
    seconds = os.times().user - before
    print(json.dumps({"seconds": seconds, "converged": fitted.converged}))
    return seconds


def measured(case: str, graph: bool, cache: str) -> dict[str, Any]:
    """`fit_once` in a process of its own."""
    command = [sys.executable, __file__, "--one", case, *(["--graph"] if graph else [])]
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"seconds": np.nan, "converged": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    """One line a case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--one")
    parser.add_argument("--graph", action="store_true")
    asked = parser.parse_args()
    if asked.one:
        fit_once(asked.one, asked.graph)
        return
    print(f"{'':26} {'density: empty':>14} {'warm':>7} {'graph: empty':>14} {'warm':>7} {'ratios':>12}", flush=True)
    for case in asked.cases or CASES:
        seconds = []
        for graph in (False, True):
            with tempfile.TemporaryDirectory() as cache:
                runs = [measured(case, graph, cache) for _ in range(2)]
            seconds += [run["seconds"] for run in runs]
            if any(run["converged"] is not True for run in runs):
                print(f"{case}, {'graph' if graph else 'density'}: {[run['converged'] for run in runs]}")
        empty, warm, graph_empty, graph_warm = seconds
        ratios = f"{graph_empty / empty:.1f} / {graph_warm / warm:.1f}"
        print(f"{case:26} {empty:14.1f} {warm:7.1f} {graph_empty:14.1f} {graph_warm:7.1f} {ratios:>12}", flush=True)


if __name__ == "__main__":
    main()
