"""Persons in households and the households, of two files, and a study of both."""

import numpy as np
import pandas as pd

SETTINGS = {
    "data": {"path": "data.csv", "units": "houses.csv", "key": "house"},
    "scenario": {"known": ["region"], "synthetic": ["rent", "age"], "radius": 0.2},
    "units": {
        "id": "house",
        "role": "relation",
        "first": "head",
        "unit_level": ["region", "rent"],
    },
    "synthesizer": {
        "name": "sequential",
        "predictors": ["region"],
        "variables": {name: {"model": "linear-regression"} for name in ("rent", "age")},
    },
    "weights": {"schemes": ["unweighted"]},
    "release": {"L": 2, "unique_share": 0.5},
    "seed": 3,
}


def households(units=60):
    rng = np.random.default_rng(8)
    size = 1 + np.arange(units) % 4
    house = np.repeat(np.arange(units), size)
    line = np.concatenate([np.arange(each) for each in size])
    head = rng.normal(50, 12, units)[house]
    age = np.where(line < 2, head - 2 * line, head - 28) + 3 * rng.normal(size=len(house))
    data = pd.DataFrame(
        {
            "house": 7000 + 3 * house,
            "relation": np.array(["head", "spouse", "child", "child"])[line],
            "age": np.round(np.maximum(age, 3.0), 1),
            "rent": np.round(rng.normal(20, 4, units), 1)[house],
            "region": np.array(["n", "s"])[rng.integers(0, 2, units)][house],
        }
    )
    return data.sample(frac=1.0, random_state=4, ignore_index=True)
