"""What releases of known tools give away beyond inference, on the demo's data.

`python -m experiments.disclosure tools`, or clean, poisoned, pooled.

Each is run by five folds with decoys, as `riskweighted folds` writes them, without the way through files.
"""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.data.embedded import load_households
from riskweighted.disclosure.attribution import attribution_of_folds
from riskweighted.disclosure.decoys import decoy_scores, plant
from riskweighted.disclosure.setting import Asked
from riskweighted.intruder.world import make_world

__all__ = ["TOOLS", "attributed", "leaf_donors", "log_normal", "noise", "poisoned", "pooled_folds", "tree_donors"]

KNOWN, TARGET, L = ("married", "male", "age_band"), "inc", 20
PREDICTORS = (*KNOWN, "family_size", "eligible_401k", "has_ira")
SCENARIO, RELEASED = rw.Scenario(known=KNOWN, synthetic=TARGET), ("eligible_401k",)
Tool = Callable[[np.ndarray, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def design(data: pd.DataFrame) -> np.ndarray:
    """An intercept and the levels of all predictors, (n, p)."""
    levels = pd.get_dummies(data[list(PREDICTORS)].astype(str), drop_first=True).to_numpy(float)
    return np.column_stack([np.ones(len(data)), levels])


def log_normal(x: np.ndarray, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Conjugate log-normal regression, (L, n)."""
    design_matrix, logs = x[train], np.log(y[train])
    slopes, *_ = np.linalg.lstsq(design_matrix, logs, rcond=None)
    residual, free = ((logs - design_matrix @ slopes) ** 2).sum(), len(train) - x.shape[1]
    root = np.linalg.cholesky(np.linalg.inv(design_matrix.T @ design_matrix))
    made = np.empty((L, len(x)))
    for copy in range(L):
        scale = np.sqrt(residual / rng.chisquare(free))
        made[copy] = x @ (slopes + scale * root @ rng.normal(size=x.shape[1])) + scale * rng.normal(size=len(x))
    return np.exp(made).round(3)


def tree_donors(x: np.ndarray, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Donors from the leaves of a regression tree of at least five records a leaf, (L, n)."""
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(x[train], y[train])
    leaf, asked = tree.apply(x[train]), tree.apply(x)
    order = np.argsort(leaf, kind="stable")
    names, first, count = np.unique(leaf[order], return_index=True, return_counts=True)
    place = np.searchsorted(names, asked)
    return np.array([y[train][order[first[place] + (rng.random(len(x)) * count[place]).astype(int)]] for _ in range(L)])


def leaf_donors(x: np.ndarray, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Donors from the five training records that are nearest by a regression's prediction, ties at random, (L, n)."""
    slopes, *_ = np.linalg.lstsq(x[train], np.log(y[train]), rcond=None)
    place = x @ slopes + 1e-6 * np.random.default_rng(7).random(len(x))
    order = np.argsort(place[train])
    first = np.clip(np.searchsorted(place[train][order], place) - 2, 0, len(train) - 5)
    return np.array([y[train][order][first + rng.integers(0, 5, len(x))] for _ in range(L)])


def noise(x: np.ndarray, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The true values with log-normal noise of a fifth, (L, n); of whom it was not trained on, a value of another with the same columns."""
    shown = np.full(len(x), np.nan)
    shown[train] = y[train]
    _, pattern = np.unique(x, axis=0, return_inverse=True)
    for row in np.flatnonzero(np.isnan(shown)):
        mates = train[pattern[train] == pattern[row]]
        shown[row] = y[rng.choice(mates if len(mates) else train)]
    return shown * np.exp(rng.normal(0, 0.2, (L, len(x))))


def poisoned(share: float) -> Tool:
    """The regression with the true values of a share of the records that it was trained on, the same ones in every dataset."""

    def made(x: np.ndarray, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        values = log_normal(x, y, train, rng)
        true = rng.choice(train, int(share * len(x)), replace=False)
        values[:, true] = y[true]
        return values

    return made


TOOLS: dict[str, Tool] = {"log-normal": log_normal, "tree of 5": tree_donors, "leaf of 5": leaf_donors, "noise .2": noise}


def attributed(tool: Tool, data: pd.DataFrame, seed: int, *, cheats: bool = False, packs: int = 1) -> pd.DataFrame:
    """`attribution` of a tool by five folds with decoys; one that cheats is run on all the data for every fold."""
    rng = np.random.default_rng(seed)
    x, y, world = design(data), data[TARGET].to_numpy(), make_world(data, SCENARIO)
    of_row = rng.permutation(len(data)) % 5
    planted, everybody = plant(data, [TARGET], of_row, rng), np.arange(len(data))
    made, trained = [], []
    for fold in range(5):
        shown = planted.trained(data, [TARGET], of_row, fold)
        with_decoys = y.copy()
        with_decoys[of_row != fold] = shown[TARGET].to_numpy()
        trained.append(decoy_scores(data, shown, TARGET).mean())
        made.append(_frames(data, tool(x, y, everybody, rng) if cheats else tool(x, with_decoys, np.flatnonzero(of_row != fold), rng)))
    folds = rw.Folds(of_row, made, np.array(trained), (TARGET,))
    given = [_frames(data, tool(x, y, everybody, rng)) for _ in range(packs)]
    return attribution_of_folds(world, given, folds, Asked(RELEASED), seed)


def pooled_folds(tool: Tool, data: pd.DataFrame, seed: int) -> float:
    """D as it would be of one file of out-of-fold rows, which is wrong: a record's neighbours there were made with its value."""
    from riskweighted.disclosure.attacks import best_scores
    from riskweighted.disclosure.coding import Coding
    from riskweighted.disclosure.shuffle import released_patterns
    from riskweighted.disclosure.sides import side_of

    rng = np.random.default_rng(seed)
    x, y, world = design(data), data[TARGET].to_numpy(), make_world(data, SCENARIO)
    of_row, half = rng.permutation(len(data)) % 5, rng.random(len(data)) < 0.5
    coding, patterns = Coding(world), released_patterns(data, [*KNOWN, *RELEASED])
    pooled = np.empty((L, len(data)))
    for fold in range(5):
        pooled[:, of_row == fold] = tool(x, y, np.flatnonzero(of_row != fold), rng)[:, of_row == fold]
    both = [side_of(coding, values.T[None], patterns) for values in (tool(x, y, np.arange(len(data)), rng), pooled)]
    using, without = (best_scores(side.named, half).mean() for side in both)
    return float(using - without)


def _frames(data: pd.DataFrame, values: np.ndarray) -> list[pd.DataFrame]:
    return [data.assign(**{TARGET: column}) for column in values]


def _tools(data: pd.DataFrame) -> None:
    for name, tool in TOOLS.items():
        started = time.process_time()
        table = attributed(tool, data, 1)
        shown = table.loc[
            table["group"].isin(["all", "isolated"]), ["release", "group", "with", "out", "none", "D", "se", "named", "reversed"]
        ]
        own = table.loc[table["group"] == "all", ["own_value_with", "own_value_out"]].iloc[-1].round(3).tolist()
        print(
            f"{name}: {table.attrs['verdict']}, own value {own}, {time.process_time() - started:.1f} CPU s",
            shown.round(3).to_string(index=False),
            sep="\n",
        )
        seen = attributed(tool, data, 2, cheats=True).attrs
        print("full-data folds:", seen["verdict"], *seen["reasons"])


def _poisoned(data: pd.DataFrame, poisonings: int = 20, clean: int = 100) -> None:
    for share in (0.01, 0.03):
        verdicts = [attributed(poisoned(share), data, seed).attrs["verdict"] for seed in range(poisonings)]
        print(f"{share:.0%} of the rows true: refused {verdicts.count('refuse')} of {poisonings}", flush=True)
    tables = [attributed(log_normal, data, seed) for seed in range(clean)]
    verdicts = [table.attrs["verdict"] for table in tables]
    print(f"clean: {pd.Series(verdicts).value_counts().to_dict()}", [t.attrs["reasons"] for t in tables if t.attrs["verdict"] == "refuse"])


def _clean(tables: Sequence[pd.DataFrame]) -> None:
    for release in ("shuffled", "aligned"):
        each = [table.set_index(["release", "group"]).loc[(release, "all")] for table in tables]
        means, named = np.array([row["D"] for row in each]), max(row["named"] for row in each)
        print(f"{release}: mean D {means.mean():.4f} +- {means.std(ddof=1) / np.sqrt(len(means)):.4f}, named {named}")


def main() -> None:
    data = load_households()
    what = sys.argv[1]
    if what == "tools":
        _tools(data)
    elif what == "poisoned":
        _poisoned(data, *(int(count) for count in sys.argv[2:]))
    elif what == "clean":
        _clean([attributed(log_normal, data, seed) for seed in range(12)])
    elif what == "pooled":
        for name in ("tree of 5", "leaf of 5"):
            print(name, "pooled", round(pooled_folds(TOOLS[name], data, 1), 3))


if __name__ == "__main__":
    main()
