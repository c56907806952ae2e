"""What one release of any tool, and several packs of it, are told by folds: honest tools and
copying ones, simulated (METHODS 13.1).

Log income on region, age and earner with t errors of 4 degrees, 24 released patterns, as its
`files` says; five folds with decoys, as `riskweighted folds` writes them, without the way through
files. `run_tests` counts who is refused, and `run_packs` who is shown.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.common.frames import with_columns
from riskweighted.disclosure.attribution import attribution_of_folds, coding_numbers
from riskweighted.disclosure.attribution_inputs import AttributionInputs, AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.decoys import Decoys, decoy_scores, plant
from riskweighted.disclosure.fold_tests import fold_tests
from riskweighted.intruder.world import World, make_world

__all__ = [
    "PLANTS",
    "TOOLS",
    "Tried",
    "income_file",
    "regression",
    "run_packs",
    "run_tests",
    "run_third_party",
    "trained_once",
    "try_tool",
]

KNOWN = ("region", "age", "earner")
Tool = Callable[[pd.DataFrame, np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]
"""Of the rows of all, their incomes, those to be trained on, and a number of datasets: so many
incomes of everybody, (datasets, n).
"""


def income_file(n: int, seed: int) -> pd.DataFrame:
    """A file of n records: region, age, earner and an income that depends on them."""
    rng = np.random.default_rng([seed, n])
    region, age, earner = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    log = 10 + 0.15 * region + 0.2 * age + 0.4 * earner + 0.5 * rng.standard_t(4, n)
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "earner": earner,
            "income": np.maximum(np.exp(log).round(), 1),
        }
    )


def _design(rows: pd.DataFrame) -> np.ndarray:
    levels = pd.get_dummies(rows[list(KNOWN)].astype(str), drop_first=True).to_numpy(float)
    return np.column_stack([np.ones(len(rows)), levels])


def _cells(rows: pd.DataFrame) -> np.ndarray:
    return np.asarray(rows.groupby(list(KNOWN)).ngroup())


def regression(
    rows: pd.DataFrame,
    y: np.ndarray,
    train: np.ndarray,
    count: int,
    rng: np.random.Generator,
    *,
    anew: bool = True,
) -> np.ndarray:
    """Conjugate log-normal regression; its parameters are drawn anew for every dataset, or once for
    all.
    """
    x, logs = _design(rows), np.log(y[train])
    slopes, *_ = np.linalg.lstsq(x[train], logs, rcond=None)
    free = len(train) - x.shape[1]
    residual = ((logs - x[train] @ slopes) ** 2).sum()
    root = np.linalg.cholesky(np.linalg.pinv(x[train].T @ x[train]))
    made = np.empty((count, len(rows)))
    for number in range(count):
        if anew or number == 0:
            scale = np.sqrt(residual / rng.chisquare(free))
            drawn = slopes + scale * root @ rng.normal(size=x.shape[1])
        made[number] = np.exp(x @ drawn + scale * rng.normal(size=len(rows)))
    return np.maximum(made.round(), 1)


def once(
    rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The regression, whose parameters are drawn once."""
    return regression(rows, y, train, count, rng, anew=False)


def trained_once(
    rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Mean and spread of the logarithm in every pattern of one bootstrap sample, by which all
    datasets are drawn.
    """
    cells, logs, sampled = _cells(rows), np.log(y), rng.choice(train, len(train))
    mean = np.full(cells.max() + 1, logs[train].mean())
    scale = np.full(cells.max() + 1, logs[train].std())
    for cell in range(len(mean)):
        there = logs[sampled[cells[sampled] == cell]]
        if len(there) > 4:
            mean[cell], scale[cell] = there.mean(), max(there.std(), 0.05)
    return np.maximum(
        np.exp(mean[cells] + scale[cells] * rng.normal(size=(count, len(rows)))).round(), 1
    )


def hot_deck(
    rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """A donor of the same pattern, for every row and dataset."""
    cells, made = _cells(rows), np.empty((count, len(rows)))
    for cell in range(cells.max() + 1):
        there, donors = np.flatnonzero(cells == cell), train[cells[train] == cell]
        made[:, there] = rng.choice(y[donors if len(donors) else train], (count, len(there)))
    return made


def copying(
    which: Callable[[pd.DataFrame, np.ndarray, np.ndarray, np.random.Generator], np.ndarray],
    wide: float = 0.0,
) -> Tool:
    """The regression with the values of some records that it was trained on in their rows, in every
    dataset, or so near them.
    """

    def made(
        rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        values, copied = regression(rows, y, train, count, rng), which(rows, y, train, rng)
        values[:, copied] = (
            y[copied] * np.exp(rng.uniform(-wide, wide, (count, len(copied))))
        ).round()
        return values

    return made


def _of_one_file(
    rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The regression, of whose first dataset a fifth are true values."""
    values = regression(rows, y, train, count, rng)
    copied = rng.choice(train, len(rows) // 5, replace=False)
    values[0, copied] = y[copied]
    return values


def _ranked(
    first: int, last: int | None
) -> Callable[[pd.DataFrame, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]:
    return lambda rows, y, train, rng: train[np.argsort(y[train], kind="stable")][first:last]


def _middle(
    count: int,
) -> Callable[[pd.DataFrame, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]:
    """The same persons of the middle whatever it is trained on, if they are there."""

    def which(
        rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        return np.intersect1d(np.linspace(0.4, 0.6, count) * len(rows) // 1, train).astype(int)

    return which


def _share(
    share: float,
) -> Callable[[pd.DataFrame, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]:
    return lambda rows, y, train, rng: rng.choice(train, int(share * len(rows)), replace=False)


def _isolated(
    rows: pd.DataFrame, y: np.ndarray, train: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """A twentieth: those whose log income is farthest from what is expected of them."""
    x, logs = _design(rows), np.log(y)
    off = np.abs(logs[train] - x[train] @ np.linalg.lstsq(x[train], logs[train], rcond=None)[0])
    return train[np.argsort(-off)[: len(train) // 20]]


TOOLS: Mapping[str, Tool] = {
    "regression": regression,
    "regression, drawn once": once,
    "pattern means of one bootstrap": trained_once,
}
PLANTS: Mapping[str, Tool] = {
    "richest 1": copying(_ranked(-1, None)),
    "richest 1 within 1 %": copying(_ranked(-1, None), 0.01),
    "top 3": copying(_ranked(-3, None)),
    "lowest 3": copying(_ranked(0, 3)),
    "middle 3": copying(_middle(3)),
    "isolated": copying(_isolated),
    "true values of 3 %": copying(_share(0.03)),
    "hot deck": hot_deck,
    "a fifth of one file": _of_one_file,
    "10 % within 5 %": copying(_share(0.1), 0.05),
}


class Tried(NamedTuple):
    """A file, what a tool made of it in R packs and of each fold, and what the folds were trained
    on.
    """

    world: World
    folds: rw.Folds
    packs: list[list[pd.DataFrame]]


def try_tool(tool: Tool, n: int, copies: int, seed: int, packs: int = 1, count: int = 5) -> Tried:
    """One simulated file, folds with decoys, and `packs` packs of each."""
    rows, rng = income_file(n, seed), np.random.default_rng([seed, n, copies])
    y = rows["income"].to_numpy(dtype=float)
    of_row = rng.permutation(n) % count
    planted: Decoys = plant(rows, ["income"], of_row, rng)
    made, trained = [], []
    for fold in range(count):
        shown, taught = planted.trained(rows, ["income"], of_row, fold), y.copy()
        taught[of_row != fold] = shown["income"]
        trained.append(decoy_scores(rows, shown, "income").mean())
        made.append(
            _packs(
                rows, tool(rows, taught, np.flatnonzero(of_row != fold), copies * packs, rng), packs
            )
        )
    whole = _packs(rows, tool(rows, y, np.arange(n), copies * packs, rng), packs)
    several = (
        {}
        if packs == 1
        else {"whole": whole, "further": list(zip(*(each[1:] for each in made), strict=True))}
    )
    folds = rw.Folds(of_row, [each[0] for each in made], np.array(trained), ("income",), **several)
    return Tried(make_world(rows, rw.Scenario(known=KNOWN, synthetic="income")), folds, whole)


def _packs(rows: pd.DataFrame, values: np.ndarray, packs: int) -> list[list[pd.DataFrame]]:
    return [
        [with_columns(rows, {"income": column}) for column in part]
        for part in np.split(values, packs)
    ]


def word_of_tests(tried: Tried) -> str:
    """The word of the four tests alone."""
    coding = Coding(tried.world)
    setting = AttributionInputs(
        tried.world, AttributionRequest(), np.random.default_rng(1), tried.folds.of_row
    )
    made = [coding_numbers(coding, pack) for pack in (tried.packs[0], *tried.folds.packs)]
    groups = setting.records(coding, np.ones(len(setting.patterns), dtype=bool)).groups
    broken, _ = fold_tests(coding, made[0], made[1:], tried.folds.of_row, setting.patterns, groups)
    return "pass" if not broken else "warn" if all(each.warning for each in broken) else "refuse"


def run_tests(files: int = 250, planted: int = 20) -> None:
    """How often the four tests refuse and warn of one release: honest tools, and copying ones, of
    fewer files where they are large.
    """
    for n, copies, share in ((300, 10, 1), (1_500, 10, 4), (1_500, 20, 10)):
        for name, tool in {**TOOLS, **PLANTS}.items():
            count = (files if name in TOOLS else planted) // share
            started = time.process_time()
            words = [word_of_tests(try_tool(tool, n, copies, seed)) for seed in range(count)]
            spent = (time.process_time() - started) / count
            print(
                f"{name}, n {n}, L {copies}: refused {words.count('refuse')}, warned "
                f"{words.count('warn')} of {count}; {spent:.2f} s",
                flush=True,
            )


def run_packs(files: int = 16) -> None:
    """Mean D by several packs, and by one release."""
    for n, copies, packs in (
        (300, 10, 20),
        (300, 10, 40),
        (300, 10, 1),
        (900, 10, 10),
        (900, 10, 20),
    ):
        for name, tool in {
            "regression": regression,
            "10 % true values": copying(_share(0.1)),
        }.items():
            rows, words, started = [], [], time.process_time()
            for seed in range(files):
                tried = try_tool(tool, n, copies, seed, packs)
                table = attribution_of_folds(
                    tried.world, [tried.packs[0]], tried.folds, AttributionRequest(), 1
                )
                rows.append(table.iloc[0][["D", "se", "upper"]].astype(float))
                words.append(table.attrs["verdict"])
            told, lower = pd.DataFrame(rows), pd.DataFrame(rows).eval("2 * D - upper")
            print(
                f"n {n}, {packs} packs of {copies}, {name}: D {told['D'].mean():.4f}, sd "
                f"{told['D'].std():.4f}, "
                f"se {told['se'].mean():.4f}, "
                f"upper {told['upper'].mean():.4f}, largest {told['upper'].max():.4f}; at most "
                f".02: {(told['upper'] <= 0.02).sum()}, "
                f"at least .02: {(lower > 0.02).sum()} of {files}; {words}; "
                f"{(time.process_time() - started) / files:.1f} s",
                file=sys.stdout,
                flush=True,
            )


def run_third_party() -> None:
    """All of it."""
    run_tests()
    run_packs()
