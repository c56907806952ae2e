"""Fits that lean on single records: a free mean for each released cell of m records. What is
judged, and what leaving out comes to.
"""

import time
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.disclosure.held import made_again
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.intruder.world import World, make_world

__all__ = ["FREE_MEANS", "free_means", "run_free_means"]

FREE_MEANS = Path(__file__).parent / "free_means.csv"
SIZES, FILES, N, RECORDS = (2, 5, 8, 10, 20), 3, 400, 20


def free_means(size: int, seed: int) -> tuple[rw.Fit, World]:
    """Log incomes with a mean of their own in each cell of so many records, which is known."""
    rng, cell = np.random.default_rng(100 * size + seed), np.arange(N) // size
    income = np.exp(7 + 0.5 * rng.normal(size=N)[cell] + 0.5 * rng.standard_t(4, N)).round(1)
    data = pd.DataFrame({"cell": cell.astype(str), "income": income.clip(0.1)})
    kind = rw.load_synthesizer("linear-regression")("income ~ C(cell)", transform="log")
    fit = rw.fit(kind, data, random_seed=1, draws=1_000, tune=400)
    return fit, make_world(data, rw.Scenario(known="cell", synthetic="income"))


def run_free_means(out: Path = FREE_MEANS) -> None:
    """Every size and file; of the first file of a size D of some random records besides, each left
    out by a fit of its own. Rows that are there stay."""
    rows = pd.read_csv(out).to_dict("records") if out.exists() else []
    done = {(row["records of a cell"], row["file"]) for row in rows}
    for size in SIZES:
        for seed in range(1, FILES + 1):
            if (size, seed) in done:
                continue
            fit, world = free_means(size, seed)
            began = time.process_time()
            table = attribution_of_fit(
                fit, world, AttributionRequest(), weighting=Weighting("unweighted"), random_seed=2
            )
            row = {
                "records of a cell": size,
                "file": seed,
                "judged by": "packs" if "looks" in table.attrs else "folds",
            }
            row |= table.iloc[0][["D", "se", "bound", "lower", "upper"]].to_dict()
            row |= {name: table.attrs.get(name, np.nan) for name in ("failing", "looks")}
            row |= {"verdict": table.attrs["verdict"], "seconds": time.process_time() - began}
            if seed == 1:
                row["left out"] = made_again(fit, world, records=RECORDS, packs=RECORDS)[
                    "one_by_one"
                ]
            rows.append(row)
            print(pd.DataFrame(rows).tail(1).to_string(index=False), flush=True)
            pd.DataFrame(rows).to_csv(out, index=False, float_format="%.3g")
