"""Bias under a guarantee whose clip is centred beside one whose clip is not: `python -m
experiments.trust.clip` (METHODS section 9.3).

Superpopulation: x ~ N(0, 1), y = 1 + x / 2 + e with e ~ N(0, 1); n = 400 records, every one of them
another x, which is public. The registered linear regression in units that are given; the mode of
the log posterior that the package itself states record by record (`BlockFit.contributions`), in
which log sigma is a parameter.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr
from scipy import optimize, stats

import riskweighted as rw
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.block_fit import prepare_model
from riskweighted.sampling.graphs import compile_log_prior

__all__ = ["CASES", "exactness", "replicate", "summarise"]

_N = 400
_MODEL = rw.load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)
_TRUE = np.array([1.0, 0.5])
# M; mean and standard deviation of the reference
CASES = ((0.5, 1.0, 1.3), (1.0, 1.0, 1.3), (0.5, 0.0, 3.0))


def replicate(seed: int) -> pd.DataFrame:
    """Of one sample, every clip and reference, centred and not: the mode's log sigma, slope and
    mean less the truth.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=_N)
    data = pd.DataFrame({"x": x, "y": _TRUE[0] + _TRUE[1] * x + rng.normal(size=_N)})
    rows = [
        {"seed": seed, "M": M, "reference": f"N({loc:g}, {scale:g})", "centred": centred}
        | _measured(
            data,
            rw.Guarantee(
                M=M,
                reference=rw.Reference("norm", {"loc": loc, "scale": scale}),
                public=["x"],
                centred=centred,
            ),
        )
        for M, loc, scale in CASES
        for centred in (False, True)
    ]
    return pd.DataFrame(rows)


def _measured(data: pd.DataFrame, guarantee: rw.Guarantee) -> dict[str, float]:
    model, alpha = prepare_model(_MODEL, data), pd.Series(1.0, data.index)
    blueprint = model.build()
    assert blueprint is not None
    block = model.fitted(alpha, xr.Dataset(), 1, model.censor(guarantee, alpha, 1))
    log_prior, layout = compile_log_prior(blueprint), layout_of(blueprint)

    def height(vector: np.ndarray) -> float:
        theta = {name: values[0] for name, values in layout.parameters(vector[None]).items()}
        added = block.contributions(theta).sum() + log_prior(theta, alpha.to_numpy())
        return -float(added + layout.log_jacobian(vector[None])[0])

    begin = layout.vector(
        {"coefficient": np.array([data["y"].mean(), 0.5]), "sigma": np.array(1.0)}
    )
    simplex = np.vstack([begin, begin + 0.3 * np.eye(len(begin))])
    found = optimize.minimize(
        height,
        begin,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 2e-3, "fatol": 2e-3},
    ).x
    theta = {name: values[0] for name, values in layout.parameters(found[None]).items()}
    x = data["x"]
    return {
        "log sigma": float(np.log(theta["sigma"])),
        "slope": float(theta["coefficient"][1] / x.std(ddof=0) - _TRUE[1]),
        "mean": float(theta["coefficient"][0] - _TRUE[0] - _TRUE[1] * x.mean()),
    }


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the samples, and the standard error of log sigma's."""
    groups = rows.groupby(["reference", "M", "centred"], sort=False)
    table = groups[["log sigma", "slope", "mean"]].mean()
    return table.assign(se=groups["log sigma"].std() / np.sqrt(groups.size())).round(4)


def exactness(cells: int) -> pd.DataFrame:
    """By how much the mode of a population N(m, s) beside the reference N(0, 1) is off where the
    term is summed over so many cells.
    """
    ends, shares = rw.Reference("norm").cut(cells)
    ends, rows = np.concatenate([[-np.inf], ends, [np.inf]]), []
    for bound in (0.1, 0.5, 1.0):
        for mean, sd in (
            (0.3, 0.8),
            (0.3, 0.5),
            (1.0, 0.5),
            (0.3, 0.2),
            (1.5, 0.2),
            (0.3, 0.1),
            (0.3, 0.05),
        ):
            z = stats.norm(mean, sd).ppf((np.arange(20_000) + 0.5) / 20_000)

            def height(at: np.ndarray, z: np.ndarray = z, bound: float = bound) -> float:
                model = stats.norm(at[0], np.exp(at[1]))
                term = np.clip(
                    np.diff(model.cdf(ends)), np.exp(-bound) * shares, np.exp(bound) * shares
                ).sum()
                return float(
                    term - np.clip(model.logpdf(z) - stats.norm.logpdf(z), -bound, bound).mean()
                )

            simplex = np.array([mean, np.log(sd)]) + 0.3 * sd * np.array([[0, 0], [1, 0], [0, 1]])
            options = {"initial_simplex": simplex, "xatol": 1e-6, "fatol": 1e-10}
            found = optimize.minimize(height, simplex[0], method="Nelder-Mead", options=options).x
            rows.append(
                {
                    "cells": cells,
                    "M": bound,
                    "m": mean,
                    "s": sd,
                    "mean": found[0] - mean,
                    "log s": found[1] - np.log(sd),
                }
            )
    return pd.DataFrame(rows).round(4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cells", action="store_true", help="how exact the sum over cells is, instead"
    )
    parser.add_argument("--samples", type=int, default=20)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.cells:
        print(pd.concat([exactness(cells) for cells in (64, 128, 256)]).to_csv(index=False))
    else:
        print(summarise(pd.concat([replicate(seed) for seed in range(asked.samples)])).to_csv())
