"""Attribution of known tools by five folds with decoys, as `riskweighted folds` writes them,
without the way through files.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.disclosure.cases import SD2011, Case, demo, sd2011
from experiments.disclosure.tools import TOOLS, Tool, leaf_donors, log_normal, poisoned
from riskweighted.common.frames import with_columns
from riskweighted.design.precision import find_precision, round_to
from riskweighted.disclosure.attack_results import attack_result
from riskweighted.disclosure.attacks import best_scores
from riskweighted.disclosure.attribution import attribution_of_folds
from riskweighted.disclosure.attribution_inputs import AttributionRequest
from riskweighted.disclosure.coding import Coding
from riskweighted.disclosure.decoys import decoy_scores, plant
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.intruder.world import make_world

__all__ = [
    "BY_FOLDS",
    "attributed",
    "pooled_folds",
    "run_clean",
    "run_poisoned",
    "run_pooled",
    "run_tools",
]

BY_FOLDS = Path(__file__).parent / "tools.csv"
RUNS = 5


def attributed(
    tool: Tool, case: Case, seed: int, *, cheats: bool = False, packs: int = 1
) -> pd.DataFrame:
    """`attribution` of packs of a tool by five folds with decoys; one that cheats is run on all the
    data for every fold.
    """
    rng = np.random.default_rng(seed)
    data, names = case.data, [case.target]
    y = data[case.target].to_numpy(dtype=float)
    world = make_world(data, case.scenario)
    everybody = np.arange(len(data))
    of_row = rng.permutation(len(data)) % 5
    planted = plant(data, names, of_row, rng)
    made, trained = [], []
    for fold in range(5):
        shown = planted.trained(data, names, of_row, fold)
        with_decoys = y.copy()
        with_decoys[of_row != fold] = shown[case.target]
        trained.append(decoy_scores(data, shown, case.target).mean())
        learned = (y, everybody) if cheats else (with_decoys, np.flatnonzero(of_row != fold))
        made.append(list(_frames(case, tool(case, *learned, rng))))
    folds = rw.Folds(of_row, made, np.array(trained), (case.target,))
    given = [list(_frames(case, tool(case, y, everybody, rng))) for _ in range(packs)]
    return attribution_of_folds(world, given, folds, AttributionRequest(case.released), seed)


def pooled_folds(tool: Tool, case: Case, seed: int) -> float:
    """D as it would be of one file of out-of-fold rows, which is wrong: a record's neighbours there
    were made with its value.
    """
    rng = np.random.default_rng(seed)
    data = case.data
    y = case.data[case.target].to_numpy(dtype=float)
    world = make_world(case.data, case.scenario)
    of_row, half = rng.permutation(len(data)) % 5, rng.random(len(data)) < 0.5
    coding = Coding(world)
    patterns = released_patterns(data, [*case.scenario.known, *case.released])
    pooled = np.empty((20, len(data)))
    for fold in range(5):
        pooled[:, of_row == fold] = tool(case, y, np.flatnonzero(of_row != fold), rng)[
            :, of_row == fold
        ]
    both = [
        attack_result(coding, values.T[None], patterns)
        for values in (tool(case, y, np.arange(len(data)), rng), pooled)
    ]
    using, without = (best_scores(side.named, half).mean() for side in both)
    return float(using - without)


def _frames(case: Case, values: np.ndarray) -> Iterator[pd.DataFrame]:
    """Datasets, rounded as the confidential column is."""
    precision = find_precision(case.data[case.target])
    for column in values:
        yield with_columns(case.data, {case.target: round_to(column, precision)})


def run_tools(path: Path = SD2011, out: Path = BY_FOLDS, runs: int = RUNS) -> None:
    """Every tool on both files, `runs` times with folds, decoys, pack and attacks of its own."""
    rows = []
    for case in (demo(), sd2011(path)):
        if case is None:
            print(
                f"SD2011 is left out: there is no file {path}, and it is not ours to publish",
                file=sys.stderr,
            )
            continue
        for name, tool in TOOLS.items():
            started = time.process_time()
            tables = [attributed(tool, case, seed) for seed in range(runs)]
            told = pd.concat(tables).groupby(["release", "group"], sort=False)
            made = told[
                ["with", "out", "none", "D", "named", "reversed", "own_value_with", "own_value_out"]
            ].mean()
            made.insert(4, "se", told["D"].std(ddof=1) / np.sqrt(runs))
            verdicts = pd.Series([table.attrs["verdict"] for table in tables]).value_counts()
            said = ", ".join(f"{verdict} {count} of {runs}" for verdict, count in verdicts.items())
            rows.append(
                made.reset_index().assign(
                    data=case.name, tool=name, runs=runs, verdict=said, cheat=_cheat(tool, case)
                )
            )
            pd.concat(rows, ignore_index=True).to_csv(out, index=False, float_format="%.5g")
            print(
                f"{case.name}, {name}: {said}, {time.process_time() - started:.0f} CPU s",
                file=sys.stderr,
                flush=True,
            )
    print(
        pd.concat(rows, ignore_index=True)
        .query("group != 'top 1 %'")
        .round(3)
        .to_string(index=False)
    )


def _cheat(tool: Tool, case: Case) -> str:
    """Whether the decoys show releases of all the data that are handed in as folds."""
    return (
        "found"
        if attributed(tool, case, 2, cheats=True).attrs["verdict"] in ("not judged", "refuse")
        else "not found"
    )


def run_poisoned(poisonings: int = 20, clean: int = 100) -> None:
    """How often packs with a few true rows are refused, and clean ones."""
    case = demo()
    for share in (0.01, 0.03):
        verdicts = [
            attributed(poisoned(share), case, seed).attrs["verdict"] for seed in range(poisonings)
        ]
        print(
            f"{share:.0%} of the rows true: refused {verdicts.count('refuse')} of {poisonings}",
            flush=True,
        )
    tables = [attributed(log_normal, case, seed) for seed in range(clean)]
    verdicts = [table.attrs["verdict"] for table in tables]
    print(
        f"clean: {pd.Series(verdicts).value_counts().to_dict()}",
        [t.attrs["reasons"] for t in tables if t.attrs["verdict"] == "refuse"],
    )


def run_clean(packs: int = 12) -> None:
    """Packs of the conjugate regression, with folds of their own each."""
    tables = [attributed(log_normal, demo(), seed) for seed in range(packs)]
    for release in ("shuffled", "aligned"):
        each = [table.set_index(["release", "group"]).loc[(release, "all")] for table in tables]
        means, named = np.array([row["D"] for row in each]), max(row["named"] for row in each)
        print(
            f"{release}: mean D {means.mean():.4f} +- "
            f"{means.std(ddof=1) / np.sqrt(len(means)):.4f}, named {named}"
        )


def run_pooled() -> None:
    """What one file of out-of-fold rows would say, which is wrong."""
    for name, tool in {
        "CART, leaves of 5": TOOLS["CART, leaves of 5"],
        "donors among the 5 nearest": leaf_donors,
    }.items():
        print(name, "pooled", round(pooled_folds(tool, demo(), 1), 3))
