"""Bias and coverage of centred weights beside plain ones: `python -m experiments.trust.centred`
(METHODS section 15).

Superpopulations: x ~ N(0, 1), y = 1 + x / 2 + e with e normal, skewed (a centred exponential, sd
1), or of sd exp(x / 2); n = 200 records, one pattern, an absolute radius of .5. The registered
linear regression; draws from the normal approximation at the mode of its posterior, in which log
sigma is a parameter. L = 20 datasets, combined by vbar + b / L (Reiter 2003), by kappa vbar + b / L
with the estimand's own variance ratio, never below 1, and with the one that a release states: the
largest of the list, rounded up to .1.
"""

import argparse
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import stats

import riskweighted as rw
from riskweighted.contract.synthesizer import Density
from riskweighted.contract.vector_layout import as_posterior, layout_of
from riskweighted.sampling.laplace import laplace_draws, mode_of
from riskweighted.sequence.alphas import alphas_of, functions_of
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.tasks import block_tasks
from riskweighted.utility.combining_rules import combine_partially_synthetic
from riskweighted.utility.regressions import checked_analyses
from riskweighted.utility.variance_ratios import BlockEstimands, mode_variances, stated_ratio

__all__ = ["ERRORS", "SCHEMES", "replicate", "summarise", "truths"]

PLAIN = ("unweighted", "marginal", "pairwise")
SCHEMES = (
    *PLAIN,
    "marginal+",
    "pairwise+",
    "power+(g=0.5)",
    "bounded+(b=0.1)",
    "mix+(t=0.5)",
    "others-in-ball+",
)
ERRORS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "normal": lambda x, rng: rng.normal(size=len(x)),
    "skewed": lambda x, rng: rng.exponential(size=len(x)) - 1,
    "heteroscedastic": lambda x, rng: np.exp(x / 2) * rng.normal(size=len(x)),
}
_N, _L, _DRAWS, _CUT = 200, 20, 1000, 2.0
_MODEL = rw.load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)
_SCENARIO = rw.Scenario(synthetic="y", radius=0.5, radius_kind="absolute")
_ESTIMANDS = ("mean", "slope", "median", "share")
_IN_LIST = dict(
    zip(_ESTIMANDS, ("mean", "coefficient x in y ~ x", "0.5 quantile", "0.9 quantile"), strict=True)
)


@cache
def truths(errors: str) -> Mapping[str, float]:
    """Of the superpopulation: mean, slope, median, and the share above 2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    below: dict[str, Callable[[float], np.ndarray]] = {
        "normal": lambda y: stats.norm.cdf(y - 1 - nodes / 2),
        "skewed": lambda y: stats.expon.cdf(y - nodes / 2),
        "heteroscedastic": lambda y: stats.norm.cdf((y - 1 - nodes / 2) / np.exp(nodes / 2)),
    }
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if weights @ below[errors](middle) < 0.5 else (low, middle)
    return {
        "mean": 1.0,
        "slope": 0.5,
        "median": low,
        "share": float(1 - weights @ below[errors](_CUT)),
    }


class Sample:
    """One sample of a superpopulation, its model prepared, and the unweighted variance of every
    estimand in its list.
    """

    def __init__(self, errors: str, seed: int) -> None:
        self.rng = np.random.default_rng([seed, list(ERRORS).index(errors)])
        x = self.rng.normal(size=_N)
        self.data = pd.DataFrame({"x": x, "y": 1 + x / 2 + ERRORS[errors](x, self.rng)})
        self.prepared, self.truth = prepare_sequence(_MODEL, self.data), truths(errors)
        blueprint = self.prepared.blocks[0].model.build()
        assert blueprint is not None
        self.blueprint, self.layout = blueprint, layout_of(blueprint)
        self.analyses, self._unweighted = checked_analyses(self.data, ["y ~ x"]), None
        self.first = self.fit("unweighted")

    def fit(self, scheme: str) -> Fit:
        """Draws from the normal approximation at the mode, as a fit."""
        made_of = self.first if scheme.startswith("bounded") else None
        centred = scheme.partition("(")[0].endswith("+")
        make = rw.centred_weights if centred else rw.scheme_weights
        weights = make(
            scheme, self.data, _SCENARIO, **({} if made_of is None else {"fit": made_of})
        )
        alphas = alphas_of(("y",), weights, self.data.index)
        (task,) = block_tasks(self.prepared, alphas, functions=functions_of(weights))
        density = self.blueprint.weighted(task.alpha.to_numpy(), task.centring)
        assert density is not None
        mode = mode_of(density, self.layout.size)
        vectors = laplace_draws(density, self.layout.size, _DRAWS, self.rng, mode)
        posterior = as_posterior(self.layout, vectors[None])
        block = task.block.model.fitted(task.alpha, posterior, None, centring=task.centring)
        return Fit(self.prepared, alphas, {task.name: block})

    def ratios(self, fit: Fit) -> dict[str, float]:
        """The variance ratio of every estimand in the list; 1 of constant weights. The share above
        2 has that of the .9 quantile.
        """
        held, (block,) = fit.block, fit.prepared.blocks
        if held.centring is None:
            return dict.fromkeys(_IN_LIST.values(), 1.0)
        lists = BlockEstimands(fit, block, (0.5, 0.9), ())
        sums = lists.sums(self.analyses, held.centring.intervals)
        assert held.centred is not None
        term = replace(held.centred, confidential=held.confidential.iloc[lists.rows])
        start = self.layout.vector(held.draw(0, 0))

        def find(density: Density | None, contributions: Callable[..., np.ndarray]) -> np.ndarray:
            assert density is not None
            return mode_variances(density, contributions, self.layout, start, term, sums)

        if self._unweighted is None:
            self._unweighted = find(self.blueprint.weighted(np.ones(_N)), held.terms)
        weighted = find(
            self.blueprint.weighted(held.weights.to_numpy(), held.centring), held.contributions
        )
        return dict(
            zip(
                [name for each in sums for name in each.names],
                weighted / self._unweighted,
                strict=True,
            )
        )

    def estimates(self, fit: Fit) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Of every estimand the estimates and variances of the L datasets."""
        held = fit.block
        places = range(0, _DRAWS, _DRAWS // _L)
        copies = np.array(
            [held.distribution(held.draw(0, place)).draw(self.rng) for place in places]
        )
        x = self.data["x"].to_numpy() - self.data["x"].mean()
        slopes = copies @ x / (x @ x)
        spread = copies - copies.mean(axis=1)[:, None] - slopes[:, None] * x
        shares = (copies > _CUT).mean(axis=1)
        z = stats.norm.isf(0.025)
        low, middle, high = np.quantile(
            copies, [0.5 - z / (2 * np.sqrt(_N)), 0.5, 0.5 + z / (2 * np.sqrt(_N))], axis=1
        )
        return {
            "mean": (copies.mean(axis=1), copies.var(axis=1, ddof=1) / _N),
            "slope": (slopes, (spread**2).sum(axis=1) / (_N - 2) / (x @ x)),
            "median": (middle, ((high - low) / (2 * z)) ** 2),
            "share": (shares, shares * (1 - shares) / _N),
        }


def replicate(errors: str, seed: int) -> pd.DataFrame:
    """Of one sample, every scheme and estimand: the error of the estimate, and whether intervals of
    the release hold the truth.
    """
    sample, rows = Sample(errors, seed), []
    for scheme in SCHEMES:
        fit = sample.first if scheme == "unweighted" else sample.fit(scheme)
        plain = scheme in PLAIN
        ratios = dict.fromkeys(_IN_LIST.values(), 1.0) if plain else sample.ratios(fit)
        stated = stated_ratio(pd.DataFrame({"ratio": list(ratios.values())}))
        named = {"errors": errors, "seed": seed, "scheme": scheme}
        rows.append(
            named
            | {
                "estimand": "log sigma",
                "error": float(np.log(fit.posterior["sigma"].to_numpy()).mean()),
            }
        )
        for estimand, (each, variances) in sample.estimates(fit).items():
            truth, own = sample.truth[estimand], max(1.0, ratios[_IN_LIST[estimand]])
            held = {
                column: bool(low <= truth <= high)
                for column, kappa in (
                    ("covered", 1.0),
                    ("covered by own", own),
                    ("covered by stated", stated),
                )
                for low, high in [
                    combine_partially_synthetic(each, variances, level=0.95, kappa=kappa)[1:3]
                ]
            }
            told = {
                "estimand": estimand,
                "error": float(each.mean() - truth),
                "ratio": ratios[_IN_LIST[estimand]],
                "stated": stated,
            }
            rows.append(named | told | held)
    return pd.DataFrame(rows)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Bias with its standard error, coverage, mean ratios, and the ratio of the variances of the
    estimates over samples.
    """
    groups = rows.groupby(["errors", "scheme", "estimand"], sort=False)
    shown = ["covered", "covered by own", "covered by stated", "ratio", "stated"]
    table = (
        groups[["error"]]
        .mean()
        .rename(columns={"error": "bias"})
        .assign(se=groups["error"].std() / np.sqrt(groups.size()))
    )
    table = table.join(groups[shown].agg(lambda column: column.astype(float).mean()))
    spread = groups["error"].var()
    reference = spread.xs("unweighted", level="scheme")
    table["true ratio"] = spread / reference.reindex(spread.droplevel("scheme").index).to_numpy()
    return table.assign(samples=groups.size()).round(4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--errors", nargs="*", default=list(ERRORS), choices=list(ERRORS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    samples = [
        replicate(errors, seed) for errors in asked.errors for seed in range(asked.replications)
    ]
    print(summarise(pd.concat(samples)).to_csv())
