"""What centring costs: `python benchmarks/centred.py [RECORDS ...] [--scheme "mix+(t=0.5)"]`
(METHODS section 15).

The transformation model of positive incomes of the CE-like population on all ten predictors. Under
the same weights, uncentred and centred, each in a fresh process after a small fit that compiles:
processor seconds of one gradient and of the whole fit (weights and their functions included, two
chains of 200 + 200, one after the other), and the largest memory. Above 300,000 records chains of
10 + 10 are run, for the memory alone.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import riskweighted as rw
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sequence.alphas import alphas_of, functions_of
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks

_ROOT = Path(__file__).resolve().parents[1]
_WHOLE = 300_000  # records up to which whole fits are timed
_CALLS = 20


def measured(records: int, scheme: str, centred: bool) -> dict[str, float]:
    """Processor milliseconds of a gradient, processor seconds of a fit, and its peak of memory in
    GiB.
    """
    sys.path.insert(0, str(_ROOT))  # experiments are no part of the package
    from experiments.ce.population import CE_CATEGORIES, simulate_ce

    data = simulate_ce(records)
    data["income"] = data["income"].round().astype(int)
    data = data[data["income"] > 0].reset_index(drop=True)
    model = rw.load_synthesizer("transformation")(
        f"income ~ {' + '.join(CE_CATEGORIES)}", support=(0, 10_000_000)
    )
    scenario = rw.Scenario(known=["gender", "age_band", "region"], synthetic="income", radius=0.2)
    draws = 200 if records <= _WHOLE else 10

    def fit(rows: int, draws: int) -> None:
        part = data.head(rows)
        make, name = (
            (rw.centred_weights, scheme)
            if centred
            else (rw.scheme_weights, scheme.replace("+", "", 1))
        )
        weights = make(name, part, scenario)
        rw.fit(model, part, weights, draws=draws, tune=draws, chains=2, cores=1, random_seed=1)

    fit(2000, 10)
    began = time.process_time()
    fit(len(data), draws)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    weights = rw.centred_weights(scheme, data, scenario)
    prepared = prepare_sequence(model, data)
    (task,) = block_tasks(
        prepared,
        alphas_of(prepared.variables, weights, data.index),
        functions=functions_of(weights) if centred else None,
    )
    blueprint = task.block.model.build()
    density = blueprint.weighted(task.alpha.to_numpy(), task.centring)
    place = np.zeros(layout_of(blueprint).size)
    density(place)
    began = time.process_time()
    for _ in range(_CALLS):
        density(place)
    return {"gradient": 1000 * (time.process_time() - began) / _CALLS, "fit": spent, "peak": peak}


def main() -> None:
    """Print a line for each number of records."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", nargs="*", type=float, default=[1e4, 1e5, 1e6])
    parser.add_argument("--scheme", default="mix+(t=0.5)")
    parser.add_argument("--one", choices=("plain", "centred"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measured(int(given.records[0]), given.scheme, given.one == "centred")))
        return
    for records in map(int, given.records):
        found = {}
        for one in ("plain", "centred"):
            command = [
                sys.executable,
                __file__,
                str(records),
                "--scheme",
                given.scheme,
                "--one",
                one,
            ]
            found[one] = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
        units = {"gradient": "ms", "fit": "s", "peak": "GiB"}
        pairs = [
            (what, unit, found["plain"][what], found["centred"][what])
            for what, unit in units.items()
        ]
        ratios = (
            f"{what} {plain:.2f} -> {centred:.2f} {unit}, x {centred / plain:.2f}"
            for what, unit, plain, centred in pairs
        )
        print(f"{given.scheme}, {records:,} records: {'; '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
