"""Importance in the place of chains: what it saves, and whether both have the same posterior.

`python benchmarks/importance.py [--data SD2011.csv] [CASE ...]`. Cases: "two-part", income of
SD2011 with its code by seven predictors (35 columns of the design), 4,299 records; "two-part of
5,500", drawn from them with replacement; "chain of seven" (`experiments/several`, 5,000 records).
Each unweighted, by marginal weights, and by `mix+(t=0.5)`. The file is not ours to publish.

Processor seconds of whole fits by either engine, 2 x (600 + 600) of two-part and 4 x (500 + 500) of
the chain, one core, kernels compiled; the largest k-hat, and the least effective size of what is
judged, by chains and by importance. Of all Q quantities of what leaves and of all parameters the
largest z of the difference of means and of log standard deviations: of as many standard normal
numbers it would be about sqrt(2 log Q).
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.common.errors import ConvergenceWarning
from riskweighted.sampling.monitored import monitored_quantities

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # experiments are no part of the package

PREDICTORS = ["sex", "age", "agegr", "placesize", "region", "edu", "marital"]
SCHEMES = ["unweighted", "marginal", "mix+(t=0.5)"]
ENGINES = ("nuts", "auto")


def case_of(name: str, path: Path) -> tuple[Any, pd.DataFrame, rw.Scenario, dict[str, int]]:
    """The synthesizer, the data, the scenario and the sampling."""
    if name == "chain of seven":
        from experiments.several import case

        return (
            case.chain(),
            case.read(path),
            case.scenario(),
            {"draws": 500, "tune": 500, "chains": 4},
        )
    data = pd.read_csv(path).dropna(subset=[*PREDICTORS, "income"]).reset_index(drop=True)
    if name == "two-part of 5,500":
        data = data.sample(5500, replace=True, random_state=1).reset_index(drop=True)
    made = rw.load_synthesizer("two-part")(
        "income ~ " + " + ".join(PREDICTORS), codes=(-8,), support=(-100, 20000)
    )
    return (
        made,
        data,
        rw.Scenario(known=["sex", "agegr"], synthetic="income", radius=0.2),
        {"draws": 600, "tune": 600, "chains": 2},
    )


def weights_of(scheme: str, data: pd.DataFrame, scenario: rw.Scenario) -> Any:
    """Of each variable by its own ball."""
    return (
        rw.centred_weights(scheme, data, scenario)
        if "+" in scheme
        else rw.match_weights(data, scenario, scheme)
    )


def quantities(fit: rw.Fit) -> pd.DataFrame:
    """Mean, standard deviation, and effective sizes for either, of every quantity of every
    block.
    """
    rows: dict[tuple[str, str], tuple[float, ...]] = {}
    for block, of_block in fit.blocks.items():
        values = monitored_quantities(of_block)
        for name in of_block.posterior.data_vars:
            drawn = of_block.posterior[name].values
            for place in np.ndindex(drawn.shape[2:]):
                label = str(name).replace("::::", ".") + (
                    f"[{', '.join(map(str, place))}]" if place else ""
                )
                values[label] = drawn[(slice(None), slice(None), *place)]
        worth = of_block.diagnostics[["ess_bulk", "ess_spread"]].assign(
            ess_spread=lambda table: table.min(axis=1)
        )
        rows |= {
            (block, name): (each.mean(), each.std(ddof=1), *worth.loc[name])
            for name, each in values.items()
            if name in worth.index
        }
    return pd.DataFrame(rows, index=["mean", "sd", "worth", "spread"]).T


def apart(first: pd.DataFrame, second: pd.DataFrame) -> tuple[int, float, float]:
    """How many quantities both have, and the largest z of means and of log standard deviations."""
    both = (
        first.add_suffix("_1")
        .join(second.add_suffix("_2"), how="inner")
        .query("sd_1 > 0 and sd_2 > 0")
    )
    of_mean = (both["mean_1"] - both["mean_2"]) / np.sqrt(
        both["sd_1"] ** 2 / both["worth_1"] + both["sd_2"] ** 2 / both["worth_2"]
    )
    of_spread = np.log(both["sd_1"] / both["sd_2"]) / np.sqrt(
        0.5 / both["spread_1"] + 0.5 / both["spread_2"]
    )
    return len(both), float(of_mean.abs().max()), float(of_spread.abs().max())


def main() -> None:
    """A line a case and scheme."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "cases", nargs="*", default=["two-part", "two-part of 5,500", "chain of seven"]
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "SD2011.csv")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(
        f"{'':34}{'chains, s':>10}{'by importance, s':>18}{'k-hat':>7}{'ESS':>12}{'Q':>6}"
        f"{'z of means':>12}{'of spreads':>11}"
    )
    for name in given.cases:
        made, data, scenario, sampling = case_of(name, given.data)
        compiled = rw.compile_model(made, data)
        compiled.sample(random_seed=1, sampling=rw.Sampling(draws=10, tune=10, chains=1))  # kernels
        for scheme in SCHEMES:
            alpha, fits, seconds = weights_of(scheme, data, scenario), [], []
            for engine in ENGINES:
                began = time.process_time()
                fits.append(
                    compiled.sample(
                        alpha,
                        random_seed=1,
                        sampling=rw.Sampling(**sampling, cores=1, engine=engine),
                    )
                )
                seconds.append(time.process_time() - began)
            judged = [fit.diagnostics[fit.diagnostics["judged"]] for fit in fits]
            least = "/".join(f"{each['ess_bulk'].min():.0f}" for each in judged)
            k_hat = judged[1]["pareto_k"].max()
            count, of_mean, of_spread = apart(*map(quantities, fits))
            print(
                f"{name + ', ' + scheme:34}{seconds[0]:10.1f}{seconds[1]:18.1f}"
                f"{k_hat:7.2f}{least:>12}{count:6}{of_mean:12.1f}{of_spread:11.1f}"
                f"  converged: {[fit.converged for fit in fits]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
