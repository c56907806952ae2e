"""The records that R's survey package was given: `python experiments/designs/records.py` writes
them, `figures.R` reads them.
"""

from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["HERE", "records"]

HERE = Path(__file__).parent


def records() -> pd.DataFrame:
    """96 records in four strata of unequal primary units, and in eight pairs of units."""
    rng, n = np.random.default_rng(20261125), 96
    pair = np.repeat(np.arange(8), 12)
    frame = pd.DataFrame(
        {
            "h": np.array(list("abcd"))[pair // 2],
            "pair": pair,
            "two": np.tile(np.repeat([1, 2], [5, 7]), 8),
        }
    )
    frame["p"] = np.concatenate([100 * k + np.sort(rng.integers(0, 4 + k, 24)) for k in range(4)])
    effect = pd.Series(rng.normal(0, 1, frame["p"].nunique()), np.unique(frame["p"]))
    frame["x"] = rng.integers(1, 9, n)
    frame["k"] = rng.choice(["r", "s", "t"], n)
    frame["y"] = (
        10 + 2 * frame["x"] + 3 * effect[frame["p"]].to_numpy() + rng.normal(0, 4, n)
    ).round(1)
    frame["b"] = (rng.random(n) < 1 / (1 + np.exp(2 - 0.4 * frame["x"]))).astype(int)
    frame["w"] = rng.uniform(5, 40, n).round(1)
    frame["one"] = 1
    frame["n_all"], frame["share"] = 400, 0.24
    frame["n_of_stratum"] = frame["h"].map({"a": 80, "b": 60, "c": 100, "d": 160})
    frame["psu_all"] = 60
    frame["psu_of_stratum"] = frame["h"].map({"a": 12, "b": 9, "c": 20, "d": 15})
    frame["psu_of_pair"] = frame["pair"] + 4
    return frame


if __name__ == "__main__":
    records().to_csv(HERE / "records.csv", index=False)
