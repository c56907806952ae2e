"""Predictors of many levels of a few records each: a dummy each, and the random intercepts that a
chain has.
"""

import time
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.intruder.world import make_world

__all__ = ["run_many_levels"]

TABLE = Path(__file__).parent / "many_levels.csv"
SIZES, L = (2, 3, 10, 20, 40), 20
_SPREADS = (0.2, 0.6)  # of the levels' effects, in residual standard deviations


def people(size: int, spread: float) -> pd.DataFrame:
    """Levels of so many records each, known to an intruder: 40 levels at least, 400 records at
    least.
    """
    rng = np.random.default_rng(size)
    n = max(40 * size, 400)
    level = rng.permutation(np.arange(n) // size)
    income = np.exp(
        7 + 0.5 * (spread * rng.normal(size=n)[level] + rng.standard_t(4, n) / np.sqrt(2))
    ).round(1)
    return pd.DataFrame(
        {"level": [f"level {chr(97 + place % 26)}{place}x" for place in level], "income": income}
    )


def run_many_levels() -> None:
    """Write what each way gives away by size of the levels."""
    own, rows = {"income": {"model": "linear-regression", "transform": "log"}}, []
    dummies = rw.load_synthesizer("linear-regression")("income ~ C(level)", transform="log")
    intercepts = rw.load_synthesizer("sequential")(["income"], ["level"], own, recoding="statuses")
    for size in SIZES:
        for spread in _SPREADS:
            data = people(size, spread)
            for way, declared in {"a dummy each": dummies, "random intercepts": intercepts}.items():
                start = time.process_time()
                fit = rw.fit(declared, data, random_seed=1)
                world = make_world(data, rw.Scenario(known="level", synthetic="income"))
                table = attribution_of_fit(fit, world, AttributionRequest(), L=L, random_seed=1)
                everybody = table[
                    (table["group"] == "all") & (table["release"] == "shuffled")
                ].iloc[0]
                told = {
                    "records a level": size,
                    "spread": spread,
                    "way": way,
                    "verdict": table.attrs["verdict"],
                }
                told |= {
                    name: round(float(everybody[name]), 4) for name in ("D", "se", "bound", "upper")
                }
                rows.append(
                    told
                    | {
                        "failing": round(table.attrs.get("failing", np.nan), 3),
                        "CPU s": round(time.process_time() - start, 1),
                    }
                )
                print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(TABLE, index=False)
