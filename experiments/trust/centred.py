"""Bias and coverage of centred weights beside plain ones: `python -m experiments.trust.centred` (METHODS section 15).

Superpopulations: x ~ N(0, 1), y = 1 + x / 2 + e with e normal, skewed (a centred exponential, sd 1), or of sd exp(x / 2); n = 200 records,
one pattern, an absolute radius of .5. The registered linear regression; draws from the normal approximation at the mode of its posterior,
in which log sigma is a parameter. L = 20 datasets, combined by vbar + b / L (Reiter 2003).
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.trust.pseudo import pseudo_posterior, weights_of
from riskweighted.sampling.laplace import laplace_draws
from riskweighted.utility.intervals import combine_partially_synthetic

__all__ = ["ERRORS", "SCHEMES", "replicate", "summarise"]

SCHEMES = ("unweighted", "marginal", "marginal+", "pairwise", "pairwise+", "mix+(t=0.5)", "power+(g=0.5)", "others+")
ERRORS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "normal": lambda x, rng: rng.normal(size=len(x)),
    "skewed": lambda x, rng: rng.exponential(size=len(x)) - 1,
    "heteroscedastic": lambda x, rng: np.exp(x / 2) * rng.normal(size=len(x)),
}
_N, _L = 200, 20
_MODEL = rw.load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)
_SCENARIO = rw.Scenario(synthetic="y", radius=0.5, radius_kind="absolute")


def replicate(errors: str, seed: int) -> pd.DataFrame:
    """Of one sample and every scheme: the mode's slope and log sigma less the truth, and whether the intervals of the release hold it."""
    rng = np.random.default_rng([seed, list(ERRORS).index(errors)])
    x = rng.normal(size=_N)
    data = pd.DataFrame({"x": x, "y": 1 + x / 2 + ERRORS[errors](x, rng)})
    return pd.DataFrame([{"errors": errors, "seed": seed, "scheme": scheme} | _measured(data, scheme, rng) for scheme in SCHEMES])


def _measured(data: pd.DataFrame, scheme: str, rng: np.random.Generator) -> dict[str, float]:
    fitted = pseudo_posterior(_MODEL, data, weights_of(scheme, data, _SCENARIO))
    draws = fitted.layout.parameters(laplace_draws(fitted.density, fitted.layout.size, 1000, rng))
    thetas = [{name: values[place] for name, values in draws.items()} for place in range(0, 1000, 1000 // _L)]
    copies = np.array([_MODEL.distribution(theta, fitted.prepared).draw(rng) for theta in thetas])
    centre = draws["coefficient"].mean(axis=0)
    x = data["x"].to_numpy() - data["x"].mean()
    slopes, residual = copies @ x / (x @ x), x @ x
    spread = copies - copies.mean(axis=1)[:, None] - slopes[:, None] * x
    variances = (spread**2).sum(axis=1) / (_N - 2) / residual
    low, high = combine_partially_synthetic(slopes, variances, level=0.95)[1:3]
    lowest, highest = combine_partially_synthetic(copies.mean(axis=1), copies.var(axis=1, ddof=1) / _N, level=0.95)[1:3]
    return {
        "slope": centre[1] / data["x"].std(ddof=0) - 0.5,
        "log sigma": float(np.log(draws["sigma"]).mean()),
        "slope covered": low <= 0.5 <= high,
        "mean covered": lowest <= 1 <= highest,
    }


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over replications, and the standard error of the slope's."""
    groups = rows.groupby(["errors", "scheme"], sort=False)
    table = groups[["slope", "log sigma", "slope covered", "mean covered"]].mean()
    return table.assign(se=groups["slope"].std() / np.sqrt(groups.size())).round(4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=400)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    samples = [replicate(errors, seed) for errors in ERRORS for seed in range(asked.replications)]
    print(summarise(pd.concat(samples)).to_csv())
