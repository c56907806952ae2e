"""Households of a made-up country, as many as are asked for: what the benchmarks of large files run
on.

Ten categorical predictors that depend on each other through eight hidden classes, incomes from
three lognormal parts, one household in twelve without any, most of them rounded as people round. No
figure in it is anybody's.
"""

import numpy as np
import pandas as pd

__all__ = ["KNOWN", "LEVELS", "PREDICTORS", "households"]

LEVELS = {
    "region": 9,
    "urban": 2,
    "tenure": 3,
    "household_type": 6,
    "persons": 6,
    "age_band": 8,
    "education": 5,
    "sex": 2,
    "employment": 5,
    "sector": 10,
}
PREDICTORS = tuple(LEVELS)
KNOWN = ("region", "sex", "age_band", "education")
_CLASSES = 8
_ROUNDED_TO = (1, 10, 100, 500, 1000)
_ROUNDED_SHARE = (0.25, 0.05, 0.25, 0.15, 0.30)


def households(records: int, seed: int = 1) -> pd.DataFrame:
    """A frame of `records` rows: ten categorical columns, and ``income``, whole numbers, 0 or
    more.
    """
    world, rng = np.random.default_rng(2026), np.random.default_rng(seed)
    hidden = rng.choice(_CLASSES, records, p=world.dirichlet(np.full(_CLASSES, 4.0)))
    columns, score = {}, np.zeros(records)
    for name, levels in LEVELS.items():
        ends = np.cumsum(world.dirichlet(np.linspace(4.0, 0.6, levels), _CLASSES), axis=1)
        codes = np.minimum((ends[hidden] < rng.random(records)[:, None]).sum(axis=1), levels - 1)
        score += world.normal(0, 0.12, levels)[codes]
        columns[name] = pd.Categorical.from_codes(
            codes, [f"{name} {level + 1}" for level in range(levels)]
        )
    part = rng.choice(3, records, p=(0.25, 0.6, 0.15))
    income = np.exp(
        np.array([9.6, 10.6, 11.2])[part]
        + np.array([0.9, 0.45, 0.6])[part] * rng.standard_normal(records)
        + score
    )
    unit = rng.choice(_ROUNDED_TO, records, p=_ROUNDED_SHARE)
    rounded = np.maximum(np.rint(income / unit) * unit, 1.0)
    without = rng.random(records) < 1 / (1 + np.exp(2.6 + 1.5 * score))
    return pd.DataFrame(columns).assign(income=np.where(without, 0, rounded).astype(np.int64))
