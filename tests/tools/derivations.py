"""Columns that give a variable away, of 27 kinds, and a target that nothing gives away."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

__all__ = ["nulls", "plants"]


def plants(data: pd.DataFrame, target: str, rng: np.random.Generator) -> dict[str, dict[str, object]]:
    """Columns to add, by kind of derivation."""
    y = data[target].to_numpy(float)
    n, typical = len(y), float(np.nanmedian(np.abs(y)))
    return {**_of_several(y, n, typical, rng), **_of_one(y, n, typical, rng)}


def _of_several(y: np.ndarray, n: int, typical: float, rng: np.random.Generator) -> dict[str, dict[str, object]]:
    x, part, group = rng.lognormal(0, 1, n) * typical, rng.uniform(0.1, 0.9, n), rng.integers(0, 5, n)
    six, size = rng.dirichlet(np.ones(6), n), rng.integers(1, 7, n)
    return {
        "sum of 2": {"pl_a": y * part, "pl_b": y * (1 - part)},
        "difference": {"pl_a": y + x, "pl_b": x},
        "product": {"pl_a": y / x, "pl_b": x},
        "ratio": {"pl_a": y * x, "pl_b": x},
        "sum of 3": {"pl_a": y * part * 0.5, "pl_b": y * part * 0.5, "pl_c": y * (1 - part)},
        "sum of 6": {f"pl_{k}": y * six[:, k] for k in range(6)},
        "currencies": {"pl_a": y * np.array([1, 7.5, 0.8, 110, 3.3])[group], "pl_b": np.array(list("ABCDE"))[group]},
        "per head": {"pl_a": y / size, "pl_b": size},
        "maximum": {"pl_a": np.maximum(y, x), "pl_b": np.minimum(y, x), "pl_c": x},
        "share of a total": {"pl_a": y / (y + x), "pl_b": y + x},
        "sum with levels": {"pl_a": y - x - 3 * group, "pl_b": x, "pl_c": group},
    }


def _of_one(y: np.ndarray, n: int, typical: float, rng: np.random.Generator) -> dict[str, dict[str, object]]:
    middle, scale = np.nanmedian(y), np.nanstd(y)
    tax = np.where(y > middle, 0.2 * middle + 0.4 * (y - middle), 0.2 * y)
    other = {share: np.where(rng.random(n) < share, rng.permutation(y), y) for share in (0.75, 0.5)}
    return {
        "logarithm": {"pl_a": np.log(np.abs(y) + 1)},
        "square": {"pl_a": np.sign(y) * y**2},
        "cubic": {"pl_a": (y / scale) ** 3 + y / scale},
        "units": {"pl_a": np.round(y * 1.1234, 2)},
        "rank": {"pl_a": pd.Series(y).rank().to_numpy()},
        "bands": {"pl_a": pd.Series(pd.qcut(y, 10, duplicates="drop")).astype(str).to_numpy()},
        "flag": {"pl_a": (y > np.nanquantile(y, 0.8)).astype(int)},
        "text": {"pl_a": np.array([f"EUR {value:,.2f}" for value in y])},
        "gaps": {"pl_a": np.where(rng.random(n) < 0.3, np.nan, y)},
        "a quarter of the rows": {"pl_a": other[0.75]},
        "half of the rows": {"pl_a": other[0.5]},
        "two digits": {"pl_a": np.array([float(f"{value:.2g}") for value in y])},
        "noise of 2 %": {"pl_a": y * np.exp(0.02 * rng.normal(size=n))},
        "missing": {"pl_a": np.where(y > np.nanquantile(y, 0.7), np.nan, rng.normal(size=n))},
        "top-coded": {"pl_a": np.minimum(y, np.nanquantile(y, 0.9))},
        "tax": {"pl_a": np.round(tax, 0) if typical > 500 else tax},
    }


def nulls(data: pd.DataFrame, target: str, rng: np.random.Generator, count: int) -> Iterator[pd.DataFrame]:
    """The data with the target exchanged among 9 records of like linear prediction."""
    y = data[target].to_numpy(float)
    rows = np.flatnonzero(np.isfinite(y))
    numbers = data.drop(columns=target).select_dtypes("number").fillna(0).to_numpy(float)[rows]
    design = np.c_[np.ones(len(rows)), (numbers - numbers.mean(0)) / np.maximum(numbers.std(0), 1e-9)]
    order = rows[np.argsort(design @ np.linalg.lstsq(design, y[rows], rcond=None)[0], kind="stable")]
    for _ in range(count):
        exchanged = y.copy()
        exchanged[order] = y[order[np.lexsort((rng.random(len(rows)), np.arange(len(rows)) // 9))]]
        yield data.assign(**{target: exchanged})
