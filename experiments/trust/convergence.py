"""Does the verdict on convergence pass what converged, and catch a chain that is stuck? `python -m
experiments.trust.convergence`.

Forty fits of simulated files by the models that made them, default sampling by chains, and ten of
them with one chain changed on purpose: stuck at one value, in another place, drifting slowly, or of
another width. A changed chain is judged as if it had been sampled: its log densities and what
leaves are computed of its parameters. Beside the verdict stands the one of before (every parameter
R-hat <= 1.02). `--out` is a csv of one row a fit, which a second call goes on with.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import riskweighted as rw
from riskweighted.contract.synthesizer import Density
from riskweighted.contract.vector_layout import as_posterior, layout_of
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import (
    ESS_LIMIT,
    R_HAT_LIMIT,
    PosteriorDraws,
    deciding_rows,
    judge,
)
from riskweighted.sampling.laplace import heights_of
from riskweighted.sampling.monitored import monitored_quantities
from riskweighted.sampling.sampling_settings import NUTS

__all__ = ["KINDS", "changed", "judged", "simulated"]

KINDS = ("value", "place", "drift", "width")
_MODELS = (
    ("linear-regression", 25, {"transform": "log"}),
    ("negative-binomial", 8, {"components": 1}),
    ("normal-mixture", 5, {"components": 2}),
    ("transformation", 2, {}),
)
_STUCK = (
    ("linear-regression", 4),
    ("negative-binomial", 4),
    ("normal-mixture", 1),
    ("transformation", 1),
)
_RARE = 4  # records of a level that nearly nothing is known of


def simulated(seed: int, n: int = 400) -> pd.DataFrame:
    """Amounts and counts that follow a number and a category, one of whose levels only four records
    have.
    """
    rng = np.random.default_rng(seed)
    region = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    region[rng.choice(n, _RARE, replace=False)] = "rare"
    age = rng.normal(size=n)
    line = 0.4 * age + 0.5 * (region == "b")
    amount = np.exp(1 + line + 0.6 * rng.normal(size=n)).round(2) + 0.01
    return pd.DataFrame(
        {
            "region": region,
            "age": age,
            "amount": amount,
            "count": rng.negative_binomial(3, 3 / (3 + np.exp(1 + line))),
        }
    )


def fitted(name: str, settings: dict[str, Any], seed: int) -> rw.Fit:
    """A fit by chains with the default sampling."""
    target = "count" if name == "negative-binomial" else "amount"
    synthesizer = rw.load_synthesizer(name)(f"{target} ~ region + age", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rw.fit(synthesizer, simulated(seed), random_seed=seed, engine=NUTS)


def changed(fit: BlockFit, kind: str, rng: np.random.Generator) -> xr.Dataset:
    """The draws of a fit with those of the first chain stuck: at one draw, or one coordinate
    elsewhere, drifting or wider.

    Elsewhere and drifting are by two and by four standard deviations in all, wider is threefold, in
    a coordinate of the vector that the density is a function of, drawn at random of those that
    records inform.
    """
    blueprint = fit.synthesizer.build(fit.prepared)
    assert blueprint is not None
    layout, shape = layout_of(blueprint), tuple(fit.sizes.values())
    vectors = np.array([layout.vector(fit.draw(*place)) for place in np.ndindex(shape)]).reshape(
        *shape, layout.size
    )
    assert blueprint.of_vector is not None
    told = _informed(blueprint.of_vector(np.zeros(len(fit.y))), vectors.reshape(-1, layout.size))
    place = int(told[rng.integers(len(told))])
    spread, chain = vectors[:, :, place].std(), vectors[0, :, place].copy()
    if kind == "value":
        vectors[0] = vectors[0, 0]
    else:
        moved = {
            "place": 2 * spread,
            "drift": spread * np.linspace(-2, 2, len(chain)),
            "width": 2 * (chain - chain.mean()),
        }[kind]
        vectors[0, :, place] = chain + moved
    return as_posterior(layout, vectors)


def _informed(prior: Density, vectors: np.ndarray) -> np.ndarray:
    """Which coordinates of draws (S, d) have less than half the variance that the prior leaves them
    about their mean.
    """
    centre, spread = vectors.mean(axis=0), vectors.std(axis=0)
    steps = np.diag(spread)
    bent = (
        2 * prior(centre)[0] - heights_of(prior, centre + steps) - heights_of(prior, centre - steps)
    )
    return np.flatnonzero(bent < 0.5)


def judged(fit: BlockFit, posterior: xr.Dataset) -> pd.DataFrame:
    """The diagnostics of draws, as a fit of them would have."""
    again, blueprint = replace(fit, posterior=posterior), fit.synthesizer.build(fit.prepared)
    assert blueprint is not None
    assert blueprint.of_vector is not None
    layout, shape = layout_of(blueprint), tuple(fit.sizes.values())
    places = list(np.ndindex(*shape))
    likelihood = np.array(
        [again.contributions(again.draw(*place)).sum() for place in places]
    ).reshape(shape)
    vectors = np.array([layout.vector(again.draw(*place)) for place in places])
    heights = heights_of(blueprint.of_vector(fit.weights.to_numpy()), vectors).reshape(shape)
    return judge(
        PosteriorDraws(posterior, likelihood, log_posterior=heights),
        blueprint.monitored,
        monitored_quantities(again),
    )


def _row(model: str, seed: int, kind: str, table: pd.DataFrame) -> dict[str, object]:
    rows = deciding_rows(table)
    worst = (rows["r_hat"] - rows["limit"]).fillna(np.inf).idxmax()
    before = table[
        ~table.index.str.startswith("released ") & (table.index != "log_pseudo_posterior")
    ]
    passed = (
        (before["r_hat"] <= R_HAT_LIMIT)
        & (before["ess_bulk"] >= ESS_LIMIT)
        & (before["divergences"] == 0)
    )
    least = rows[["ess_bulk", "ess_spread"]].min()
    numbers = {
        "judged": len(rows),
        "r_hat": rows["r_hat"][worst],
        "limit": rows["limit"][worst],
        "of": worst,
    }
    sizes = {
        "ess_bulk": least["ess_bulk"],
        "ess_spread": least["ess_spread"],
        "divergences": int(rows["divergences"].max()),
    }
    return {
        "model": model,
        "seed": seed,
        "chain": kind,
        **numbers,
        **sizes,
        "passed": rows["converged"].all(),
        "before": passed.all(),
    }


def _tasks() -> list[tuple[str, dict[str, Any], int, str]]:
    settings = {name: given for name, _, given in _MODELS}
    sound = [
        (name, given, seed, "") for name, count, given in _MODELS for seed in range(1, count + 1)
    ]
    names = [name for name, count in _STUCK for _ in range(count)]
    return sound + [
        (name, settings[name], 101 + place, KINDS[place % len(KINDS)])
        for place, name in enumerate(names)
    ]


def main(show: Callable[..., None] = print) -> None:
    """Write the table, row by row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("experiments/trust/convergence.csv"))
    parser.add_argument("--part", choices=("sound", "stuck"), help="one of both alone")
    given = parser.parse_args()
    out = given.out
    done = (
        pd.read_csv(out, keep_default_na=False)
        if out.exists()
        else pd.DataFrame(columns=["model", "seed", "chain"])
    )
    rows = done.to_dict("records")
    have = set(zip(done["model"], done["seed"], done["chain"], strict=True))
    for model, settings, seed, kind in _tasks():
        if (model, seed, kind) in have or (
            given.part is not None and (kind == "") != (given.part == "sound")
        ):
            continue
        fit = fitted(model, settings, seed).block
        table = (
            fit.diagnostics
            if not kind
            else judged(fit, changed(fit, kind, np.random.default_rng(seed)))
        )
        rows.append(_row(model, seed, kind, table))
        pd.DataFrame(rows).to_csv(out, index=False, float_format="%.4f")
        show(rows[-1], flush=True)


if __name__ == "__main__":
    main()
