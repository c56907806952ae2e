"""How a chain keeps zeros, statuses and tails together: `python benchmarks/relations.py [KIND ...]
[--seeds 1,2,3] [--data SD2011.csv]`.

Four variables of 2,500 records of SD2011 (income, cigarettes a day, whether one smokes, months
without work; -8 read as no income, and as no cigarettes or months), given sex, age and education.
KIND: "linear", numbers as straight lines; "plain", a chain without new settings; "statuses", with
recoding = "statuses" and bounds as `init` finds them; "trees", regression trees with leaves of 20.
Five datasets each. Prints a row a run: records who smoke no cigarettes or do not smoke some, in the
file .0052; mean and worst two-way S_pMSE; mean identification risk (sex and education known, radius
20 %); largest draw over the largest value; processor seconds to fit and draw.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from benchmarks.peers_methods import cart_with_leaves
from riskweighted.common.frames import with_columns
from riskweighted.design import spline_basis
from riskweighted.suggest.default_bounds import default_bounds

KINDS = ("linear", "plain", "statuses", "trees")
VARIABLES = ("income", "nociga", "smoke", "unempdur")
PREDICTORS = ("sex", "age", "edu")
KNOWN = ["sex", "edu"]
NUMBERS = [name for name in VARIABLES if name != "smoke"]
RECORDS, DATASETS, LEAF = 2500, 5, 20
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "SD2011.csv"  # not ours to publish


def read(path: Path) -> pd.DataFrame:
    """The columns, of those whose smoking is known."""
    data = pd.read_csv(path)[[*PREDICTORS, *VARIABLES]]
    data = data[data["smoke"].notna()].sample(RECORDS, random_state=1).reset_index(drop=True)
    none = {name: data[name].replace(-8, 0).astype(float) for name in ("nociga", "unempdur")}
    return with_columns(
        data,
        {
            **none,
            "edu": data["edu"].fillna("none"),
            "income": data["income"].where(data["income"] != -8),
        },
    )


def chain_frames(data: pd.DataFrame, kind: str, seed: int) -> list[pd.DataFrame]:
    """Datasets of a chain."""
    make = rw.load_synthesizer("sequential")
    if kind == "linear":
        spline_basis.FEWEST_FOR_BENDS = len(data)
    settings, more = {}, {"recoding": "statuses"} if kind == "statuses" else {}
    for name in NUMBERS if kind == "statuses" else ():
        amounts = data[name].dropna()
        if hasattr(make(VARIABLES).value_model(name, amounts, f"{name} ~ 1"), "support"):
            settings[name] = {"support": default_bounds(amounts.to_numpy()).support}
    fit = rw.fit(
        make(VARIABLES, PREDICTORS, settings, **more),
        data,
        draws=100,
        tune=200,
        chains=2,
        random_seed=seed,
    )
    return list(fit.synthesize(DATASETS, random_seed=seed))


def tree_frames(data: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    """Datasets of trees, each variable given the synthetic ones before it; missing income is a
    value below all others.
    """
    rng, levels = np.random.default_rng(seed), np.array(["NO", "YES"], dtype=object)
    coded = data.assign(
        smoke=(data["smoke"] == "YES").astype(float), income=data["income"].fillna(-1.0)
    )
    frames = []
    for _ in range(DATASETS):
        drawn = coded.copy()
        for place, name in enumerate(VARIABLES):
            both = pd.concat([coded, drawn], ignore_index=True)
            formula = f"{name} ~ {' + '.join(['C(sex)', 'age', 'C(edu)', *VARIABLES[:place]])}"
            drawn[name] = cart_with_leaves(formula, both, rng, np.arange(len(coded)), LEAF)[0][
                len(coded) :
            ]
        frames.append(
            drawn.assign(
                smoke=levels[drawn["smoke"].astype(int)],
                income=drawn["income"].where(drawn["income"] >= 0),
            )
        )
    return frames


def row(data: pd.DataFrame, frames: Sequence[pd.DataFrame]) -> str:
    """What the datasets come to."""
    scenario = rw.Scenario(known=KNOWN, synthetic=list(VARIABLES), radius=0.2, min_radius=1.0)
    found = rw.assess(data, {"it": list(frames)}, scenario).summary().loc["it"]
    broken = np.mean(
        [((frame["smoke"] == "NO") != (frame["nociga"] == 0)).mean() for frame in frames]
    )
    largest = ", ".join(
        f"{name} {max(frame[name].max() for frame in frames) / data[name].max():.2f}"
        for name in NUMBERS
    )
    two_way = f"{found['mean two-way S_pMSE']:.2f} (worst {found['worst two-way S_pMSE']:.2f})"
    return (
        f"broken {broken:.4f}  two-way {two_way}  risk {found['identification risk']:.4f}  "
        f"largest {largest}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "kinds", nargs="*", choices=[*KINDS, []], default=list(KINDS), metavar="KIND"
    )
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--data", type=Path, default=DATA)
    asked = parser.parse_args()
    data = read(asked.data)
    for kind in asked.kinds or KINDS:
        for seed in map(int, asked.seeds.split(",")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what they say is the same for every kind
                begun, fewest = time.process_time(), spline_basis.FEWEST_FOR_BENDS
                frames = (
                    tree_frames(data, seed) if kind == "trees" else chain_frames(data, kind, seed)
                )
                spline_basis.FEWEST_FOR_BENDS = fewest
                seconds = time.process_time() - begun
                print(f"{kind:9} {seed}  {row(data, frames)}  {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
