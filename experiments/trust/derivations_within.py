"""Columns that tell an amount within joint patterns, whatever their codes, and clean columns: what
the gate refuses (METHODS section 13).

    python -m experiments.trust.derivations_within
    python -m experiments.trust.derivations_within --time

Two hundred made files of 600 to 3,000 records: the logarithm of income is normal about region, age
and earner, and a column that is made of income is planted, of ten kinds, within the known pattern
or within that and earner; levels in order, scrambled, as letters, or under codes of their own in
each pattern; none, 5 or 10 % of the records hold another record's value. Three hundred clean
columns of numbers, levels and letters have correlations with the logarithm of up to .8.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

import riskweighted as rw

__all__ = ["clean", "main", "people", "plant"]

KINDS = (
    "deciles",
    "quintiles",
    "thirds",
    "halves",
    "percentiles",
    "ranks",
    "z-scores",
    "differences",
    "currencies",
    "tenths of ranks",
)
GROUPS: tuple[tuple[str, ...], ...] = (("region", "age"), ("region", "age", "earner"))
CODES = ("in order", "scrambled", "letters", "by pattern")
WRONG = (0.0, 0.05, 0.1)
_PARTS = {"deciles": 10, "quintiles": 5, "thirds": 3, "halves": 2, "percentiles": 100}
_KNOWN = ["region", "age"]


def people(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Incomes (n,) on region, age in four groups, and earner, with errors of Student's t on 4
    degrees of freedom.
    """
    region, age, earner = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    logarithm = 9 + 0.15 * region + 0.1 * age + 0.3 * earner + 0.5 * rng.standard_t(4, n)
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "earner": earner,
            "income": np.maximum(np.round(np.exp(logarithm), 2), 1.0),
        }
    )


def plant(
    data: pd.DataFrame,
    kind: str,
    groups: Sequence[str],
    codes: str,
    wrong: float,
    rng: np.random.Generator,
) -> pd.Series:
    """A column of a kind that is made of income within groups; a part of the records holds another
    record's value.
    """
    income = data["income"]
    within = data.groupby(list(groups))["income"]
    place = (within.rank(method="first") - 1) / within.transform("size")
    if kind in _PARTS:
        # codes of one record each say nothing, unless they are in order
        scarce = len(data) < 2 * _PARTS[kind] * within.ngroups
        codes = "in order" if scarce else codes
        column = _coded(
            np.floor(place * _PARTS[kind]).astype(int), within.ngroup(), _PARTS[kind], codes, rng
        )
    elif kind == "ranks":
        column = within.rank(method="first")
    elif kind == "tenths of ranks":
        column = np.floor(within.rank(method="first") / 10)
    elif kind == "z-scores":
        column = ((income - within.transform("mean")) / within.transform("std")).round(3)
    elif kind == "differences":
        column = (income - within.transform("mean")).round(1)
    else:
        rates = rng.permutation(
            [
                1.0,
                7.5,
                0.8,
                110,
                3.3,
                0.02,
                25,
                60,
                400,
                0.3,
                13,
                5,
                90,
                2,
                1.7,
                33,
                0.1,
                8,
                250,
                0.6,
                40,
                3,
                17,
                0.05,
            ]
        )
        column = (income * rates[within.ngroup()]).round(2)
    other = np.flatnonzero(rng.random(len(data)) < wrong)
    values = column.to_numpy(dtype=object)
    values[other] = values[rng.permutation(other)]
    return pd.Series(values, index=data.index).infer_objects()


def _coded(
    levels: pd.Series, patterns: pd.Series, count: int, codes: str, rng: np.random.Generator
) -> pd.Series:
    """Levels from 0 as codes of one of the kinds."""
    if codes == "by pattern":
        tables = np.array([rng.permutation(count) for _ in range(int(patterns.max()) + 1)])
        return pd.Series(tables[patterns, levels], index=levels.index)
    numbers = pd.Series(np.arange(count) if codes == "in order" else rng.permutation(count))
    told = levels.map(numbers)
    return (
        told
        if codes != "letters"
        else told.map(lambda code: chr(65 + code // 26) + chr(97 + code % 26))
    )


def clean(data: pd.DataFrame, rng: np.random.Generator) -> dict[str, object]:
    """Three columns that tell nothing but what a correlation of up to .8 tells: numbers, levels,
    letters.
    """
    n, logarithm = len(data), np.log(data["income"].to_numpy())
    score = (logarithm - logarithm.mean()) / logarithm.std()
    columns: list[object] = []
    for place in range(3):
        strength = rng.uniform(0, 0.8)
        values = strength * score + np.sqrt(1 - strength**2) * rng.normal(size=n)
        cut = pd.qcut(values, int(rng.integers(2, 12)), labels=False)
        columns.append([np.round(values, 3), cut, np.array(list("QWERTZUIOPAS"))[cut]][place])
    return dict(zip("abc", columns, strict=True))


def _verdicts(data: pd.DataFrame, radius: float) -> pd.DataFrame:
    return rw.derived(data, "income", known=_KNOWN, radius=radius)


def _table(radius: float) -> None:
    """Plants refused, and warned of, by kind; clean columns refused."""
    refused, warned, missed = Counter[str](), Counter[str](), Counter[str]()
    seconds, plants, every = 0.0, 0, [(kind, groups) for kind in KINDS for groups in GROUPS]
    for repeat in range(10):
        for place, (kind, groups) in enumerate(every):
            rng = np.random.default_rng([repeat, place])
            data = people(int(rng.integers(600, 3001)), rng)
            data["planted"] = plant(
                data, kind, groups, CODES[(repeat + place) % 4], WRONG[repeat % 3], rng
            )
            began = time.process_time()
            told = _verdicts(data, radius)
            seconds += time.process_time() - began
            told = told[np.array(["planted" in columns for columns in told["columns"]], dtype=bool)]
            plants += 1
            strongest = (
                "refuse"
                if (told["verdict"] == "refuse").any()
                else "warn"
                if (told["rule"] != "predicted").any()
                else "none"
            )
            {"refuse": refused, "warn": warned, "none": missed}[strongest][
                f"{kind}, {WRONG[repeat % 3]:.0%} wrong"
            ] += 1
    print(
        f"radius {radius}: {refused.total()} of {plants} plants refused, {warned.total()} warned "
        f"of, {missed.total()} missed"
    )
    print("  warned of:", dict(warned), "\n  missed:", dict(missed))
    print(f"  {seconds / plants:.3f} processor seconds a file")
    false, columns = 0, 0
    for repeat in range(100):
        rng = np.random.default_rng([1_000, repeat])
        data = people(int(rng.integers(600, 3001)), rng)
        data = pd.concat([data, pd.DataFrame(clean(data, rng), index=data.index)], axis=1)
        told = _verdicts(data, radius)
        columns += 3
        false += int((told["verdict"] == "refuse").sum())
    print(f"  {false} refusals of {columns} clean columns")


def _seconds() -> None:
    """Of 5,000 records and 56 columns of every kind."""
    rng, n = np.random.default_rng(0), 5_000
    numbers = {f"x{k}": rng.lognormal(0, 1, n) for k in range(28)}
    levels = {f"g{k}": rng.integers(0, 2 + k, n).astype(str) for k in range(27)}
    data = pd.DataFrame({"y": rng.lognormal(10, 0.7, n), **numbers, **levels})
    rw.derived(data.head(500), "y", known=["g0", "g3", "g5"])
    began = time.process_time()
    rw.derived(data, "y", known=["g0", "g3", "g5"])
    print(
        f"{time.process_time() - began:.2f} processor seconds at {n:,} records of "
        f"{data.shape[1]} columns"
    )


def main(given: Sequence[str] | None = None) -> None:
    """The table at the radius of .2 and wider ones, or the time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time", action="store_true", help="only the time of a file of 56 columns")
    parser.add_argument("--radius", type=float, nargs="+", default=[0.2, 0.6, 1.5])
    asked = parser.parse_args(given)
    _seconds()
    for radius in [] if asked.time else asked.radius:
        _table(radius)


if __name__ == "__main__":
    main()
