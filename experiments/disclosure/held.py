"""What is made of the target and is no parameter: held by weights over packs, made again by folds,
and made again record by record.
"""

import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.disclosure import own_folds as own_folds_module
from riskweighted.disclosure.attacks import ATTACKS, hits
from riskweighted.disclosure.attribution import attribution_of_fit
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.own_fit import draw_copies
from riskweighted.disclosure.own_folds import own_folds
from riskweighted.disclosure.refits import refit_without
from riskweighted.intruder.world import World, make_world

__all__ = [
    "HELD",
    "MADE_OF_THE_TARGET",
    "OWN_FOLDS",
    "by_level",
    "levels",
    "made_again",
    "run_held",
    "run_own_folds",
]

HELD, OWN_FOLDS = (Path(__file__).parent / name for name in ("held.csv", "own_folds.csv"))
N, L, PACKS, RECORDS = 400, 20, 40, 40


def levels(size: int, n: int = N) -> tuple[rw.Fit, World]:
    """Cells of so many records, whose mean log income is the predictor."""
    rng = np.random.default_rng(size)
    cell = np.arange(n) // size
    income = np.exp(7 + 0.5 * rng.normal(size=n)[cell] + 0.5 * rng.standard_t(4, n)).round(1)
    data = pd.DataFrame(
        {
            "cell": cell.astype(str),
            "pooled": pd.Series(np.log(income)).groupby(cell).transform("mean"),
            "income": income,
        }
    )
    return _fitted(
        rw.load_synthesizer("linear-regression")("income ~ pooled", transform="log"), data
    ), _world(data, "cell")


def learned(n: int = N) -> tuple[rw.Fit, World]:
    """Scores of a chain's learned part, with predictors that tell little."""
    data = _people(n)
    own = {"income": {"model": "linear-regression", "transform": "log"}}
    chain = rw.load_synthesizer("sequential")(
        ["income"], ["age", "hours", "region"], own, recoding="statuses", learned=["age", "hours"]
    )
    return _fitted(chain, data), _world(data, "region")


def _people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    age, hours = rng.uniform(20, 70, n).round(1), rng.uniform(0, 60, n).round(1)
    income = np.exp(7 + 0.01 * age + rng.normal(0, 0.5, n)).round()
    return pd.DataFrame(
        {"age": age, "hours": hours, "region": rng.choice(list("abcd"), n), "income": income}
    )


def _fitted(kind: Any, data: pd.DataFrame) -> rw.Fit:
    return rw.fit(kind, data, random_seed=1, draws=400, tune=300)


def _world(data: pd.DataFrame, known: str) -> World:
    return make_world(data, rw.Scenario(known=known, synthetic="income"))


MADE_OF_THE_TARGET: dict[str, Callable[[], tuple[rw.Fit, World]]] = {
    "means of 2": lambda: levels(2),
    "means of 3": lambda: levels(3),
    "means of 10": lambda: levels(10),
    "learned scores": learned,
}


def made_again(
    fit: rw.Fit, world: World, records: int = RECORDS, packs: int = PACKS
) -> dict[str, float]:
    """Mean D of some random records of aligned files, by folds and by fits without each record
    alone, and of all by weights that hold all.

    ``se``: the error of what both ways differ by. Files are aligned, so that nothing but the fits
    differs.
    """
    rng, coding, patterns = np.random.default_rng(3), Coding(world), world.patterns.codes
    of_row, (using, *without) = own_folds(fit, world, None, None, L, rng)

    def named(packs: list[np.ndarray], record: int) -> np.ndarray:
        rows = np.flatnonzero(patterns == patterns[record])
        place = int(np.flatnonzero(rows == record)[0])
        alone = np.arange(len(rows))
        return np.mean(
            [hits(coding, pack[:, rows], 0 * alone, rows)[:, place] for pack in packs], axis=0
        )

    chosen = rng.choice(len(of_row), records, replace=False).tolist()
    sides = np.empty((3, records, len(ATTACKS)))
    for number, record in enumerate(chosen):
        alone = refit_without(fit, world, np.array([record]), None, rng, 2 * packs * L)
        values = draw_copies(alone, coding, rng, copies=packs * L, values_alone=True).values
        shuffled = values[:, :, rng.permutation(values.shape[2])]
        one = np.split(shuffled, values.shape[2] // L, axis=2)
        sides[:, number] = [named(of, record) for of in (using, without[of_row[record]], one)]
    best = [side[:, side.mean(axis=0).argmax()] for side in sides]
    off = best[1] - best[2]
    weights = attribution_of_fit(
        fit, world, AttributionRequest(shuffled=False), L=L, refits=0, random_seed=3
    )
    held = {
        "held": float(weights.loc[0, "D"]),
        "by_folds": float((best[0] - best[1]).mean()),
        "one_by_one": float((best[0] - best[2]).mean()),
    }
    return held | {"se": float(off.std(ddof=1)) / np.sqrt(records)}


def run_held(out: Path = HELD) -> None:
    """Every case, written as a table."""
    rows, began = [], time.process_time()
    for name, make in MADE_OF_THE_TARGET.items():
        rows.append({"made of the target": name} | made_again(*make()))
        print(
            f"{name}: {time.process_time() - began:.0f} s of processor time so far",
            file=sys.stderr,
            flush=True,
        )
        pd.DataFrame(rows).to_csv(out, index=False, float_format="%.3g")
    print(pd.DataFrame(rows).to_string(index=False))


def by_level(size: int, areas: int, n: int = 200) -> tuple[rw.Fit, World]:
    """Persons in so many areas, which are known, and a predictor that is the mean log income of so
    many of them.
    """
    rng, row = np.random.default_rng(4), np.arange(n)
    income = np.exp(7 + rng.normal(size=n)).round()
    pooled = pd.Series(np.log(income)).groupby(row // size).transform("mean")
    data = pd.DataFrame(
        {
            "pooled": pooled,
            "age": rng.uniform(20, 70, n),
            "area": row * areas // n,
            "income": income,
        }
    )
    kind = rw.load_synthesizer("linear-regression")("income ~ pooled + age", transform="log")
    fit = rw.fit(kind, data, random_seed=1, draws=200, tune=200, chains=2)
    return fit, make_world(data, rw.Scenario(known="area", synthetic="income", radius=0.1))


def run_own_folds(out: Path = OWN_FOLDS, seeds: int = 9) -> None:
    """What folds of a small fit decide by the seed, five datasets a pack, by how many packs are
    made of each.
    """
    rows = []
    for (size, areas), least in product([(2, 20), (2, 2), (50, 20), (50, 2)], (True, False)):
        fit, world = by_level(size, areas)
        before, began = own_folds_module.RECORDS, time.process_time()
        own_folds_module.RECORDS = before if least else 0
        tables = [
            attribution_of_fit(fit, world, AttributionRequest(), L=5, random_seed=seed)
            for seed in range(seeds)
        ]
        own_folds_module.RECORDS = before
        words = pd.Series([table.attrs["verdict"] for table in tables]).value_counts()
        row = {
            "mean of": size,
            "records of an area": 200 // areas,
            "packs": tables[0].attrs["packs"],
        }
        row |= {word: int(words.get(word, 0)) for word in ("refuse", "not shown", "warn", "pass")}
        for release in ("shuffled", "aligned"):
            found = pd.DataFrame(
                [
                    table[(table["release"] == release) & (table["group"] == "all")].iloc[0]
                    for table in tables
                ]
            )
            row |= {
                f"D {release}": found["D"].mean(),
                f"sd {release}": found["D"].std(ddof=1),
                f"se {release}": found["se"].mean(),
            }
        rows.append(row | {"seconds": (time.process_time() - began) / seeds})
        print(pd.DataFrame(rows).tail(1).to_string(index=False), flush=True)
        pd.DataFrame(rows).to_csv(out, index=False, float_format="%.3g")
