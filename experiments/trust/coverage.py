"""Coverage of every interval rule, unweighted and with marginal weights: `python -m
experiments.trust.coverage`.

Superpopulation: x ~ N(0, 1), y = 1 + x / 2 + N(0, 1); n records. y is synthesized by the registered
linear regression, whose pseudo posterior has a closed form given sigma, so that no chain is run:
sigma is drawn from a grid, the coefficients given sigma. That NUTS finds the same posterior is a
test (`tests/statistical/test_coverage.py`).
"""

import argparse
import time
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from riskweighted import Scenario, load_synthesizer, marginal_weights
from riskweighted.common.seeds import seed_for
from riskweighted.contract.synthesizer import Draw
from riskweighted.utility.bootstrap import pooled_bootstrap
from riskweighted.utility.combining_rules import (
    combine_fully_synthetic,
    combine_partially_synthetic,
    joint_test_partially_synthetic,
    mean_interval,
    proportion_interval,
)

__all__ = ["LEVEL", "SCENARIO", "SYNTHESIZER", "coverage", "exact_draws", "population", "summarise"]

LEVEL = 0.95
SYNTHESIZER = load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)
SCENARIO = Scenario(synthetic="y", radius=0.5, radius_kind="absolute")
_INTERCEPT, _SLOPE, _CUT = 1.0, 0.5, 2.0
_SHARE = float(stats.norm.sf(_CUT, _INTERCEPT, np.hypot(_SLOPE, 1.0)))
_LOG_SIGMA = np.linspace(np.log(0.2), np.log(5.0), 801)


def population(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """n records of the superpopulation."""
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": _INTERCEPT + _SLOPE * x + rng.normal(size=n)})


def exact_draws(
    columns: np.ndarray, z: np.ndarray, alpha: np.ndarray, count: int, rng: np.random.Generator
) -> list[Draw]:
    """Independent draws of `SYNTHESIZER`'s pseudo posterior: coefficient ~ N(0, I), sigma ~
    half-N(0, 1).

    Parameters
    ----------
    columns : array (n, p)
        Intercept and raw predictors.
    z : array (n,)
    alpha : array (n,)
    count : int
    rng : Generator
    """
    gram, pull = columns.T @ (alpha[:, None] * columns), columns.T @ (alpha * z)
    eigen, turn = np.linalg.eigh(gram)
    variance = np.exp(2 * _LOG_SIGMA)[:, None]
    precision, turned = 1 + eigen / variance, (turn.T @ pull) / variance
    log_weight = (
        0.5 * (turned**2 / precision - np.log(precision)).sum(axis=1)
        - 0.5 * (alpha * z**2).sum() / variance[:, 0]
    )
    # the grid is even in log sigma
    log_weight += stats.halfnorm.logpdf(np.exp(_LOG_SIGMA)) + (1 - alpha.sum()) * _LOG_SIGMA
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    if weight[[0, -1]].max() > 1e-6:
        raise RuntimeError("the grid of sigma does not hold the posterior")
    places = rng.choice(len(weight), count, p=weight)
    spread = rng.normal(size=(count, len(eigen))) / np.sqrt(precision[places])
    coefficients = (turned[places] / precision[places] + spread) @ turn.T
    return [
        {"coefficient": coefficient, "sigma": sigma}
        for coefficient, sigma in zip(coefficients, np.exp(_LOG_SIGMA[places]), strict=True)
    ]


def least_squares(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of y ~ x, (2,), and their covariance, (2, 2)."""
    columns, y = np.column_stack([np.ones(len(frame)), frame["x"]]), frame["y"].to_numpy()
    inverse = np.linalg.inv(columns.T @ columns)
    estimate = inverse @ columns.T @ y
    return estimate, inverse * ((y - columns @ estimate) ** 2).sum() / (len(frame) - 2)


def _covers(bounds: tuple[float, float], truth: float) -> tuple[bool, float]:
    return bounds[0] <= truth <= bounds[1], bounds[1] - bounds[0]


def _of_synthetic(
    frames: list[pd.DataFrame], resamples: int, rng: np.random.Generator
) -> dict[tuple[str, str], tuple[bool, float]]:
    """(rule, estimand) -> whether its interval holds the truth, and its length."""
    values = [frame["y"].to_numpy() for frame in frames]
    fits = [least_squares(frame) for frame in frames]
    estimates, covariances = (np.array(part) for part in zip(*fits, strict=True))
    inputs = {
        "mean": (
            _INTERCEPT,
            [one.mean() for one in values],
            [one.var(ddof=1) / len(one) for one in values],
        ),
        "slope": (_SLOPE, estimates[:, 1], covariances[:, 1, 1]),
    }
    found = {}
    for name, (truth, each, variances) in inputs.items():
        found["partially synthetic, vbar + b/L", name] = _covers(
            combine_partially_synthetic(each, variances, level=LEVEL)[1:3], truth
        )
        fully = combine_fully_synthetic(each, variances, size_ratio=1.0, level=LEVEL)
        found["fully synthetic, (1 + 1/L) b - vbar", name] = _covers(fully[1:3], truth)
        found["vbar alone (no rule: what leaving out b/L does)", name] = _covers(
            stats.norm.interval(LEVEL, np.mean(each), np.sqrt(np.mean(variances))), truth
        )
    p_value = joint_test_partially_synthetic(
        estimates, covariances, np.array([_INTERCEPT, _SLOPE])
    ).p_value
    found["joint test, partially synthetic", "both coefficients"] = p_value >= 1 - LEVEL, np.nan
    for name, quantile in (("mean", None), ("median", 0.5)) if resamples else ():
        interval = pooled_bootstrap(values, quantile, rng, resamples=resamples, level=LEVEL)
        found["pooled bootstrap, about vbar + b", name] = _covers(interval[1:3], _INTERCEPT)
    return found


def coverage(
    replications: int,
    seed: int,
    *,
    n: int = 200,
    L: int = 20,  # noqa: N803
    resamples: int = 1000,
) -> pd.DataFrame:
    """Whether each interval held the truth, replication by replication.

    Parameters
    ----------
    replications : int
    seed : int
    n : int
        Records.
    L : int
        Synthetic datasets, 4 or more.
    resamples : int
        Of the pooled bootstrap, per dataset; 0 leaves it out.

    Returns
    -------
    DataFrame
        replication, scheme, rule, estimand, covered, length.
    """
    rows = []
    for replication in range(replications):
        rng = np.random.default_rng(seed_for(seed, "coverage", str(replication)))
        frame = population(n, rng)
        y, prepared = frame["y"].to_numpy(), SYNTHESIZER.prepare(frame)
        columns = np.column_stack([np.ones(n), prepared.raw.columns])
        found: dict[str, Mapping[tuple[str, str], tuple[bool, float]]] = {
            "confidential data": {
                ("t interval", "mean"): _covers(mean_interval(y, level=LEVEL), _INTERCEPT),
                ("Wilson", f"share above {_CUT:g}"): _covers(
                    proportion_interval((y > _CUT).mean(), n, level=LEVEL), _SHARE
                ),
            }
        }
        for scheme, alpha in (
            ("unweighted", np.ones(n)),
            ("marginal", marginal_weights(frame, SCENARIO).to_numpy()),
        ):
            thetas = exact_draws(columns, prepared.z, alpha, L, rng)
            frames = [
                frame.assign(y=SYNTHESIZER.distribution(theta, prepared).draw(rng))
                for theta in thetas
            ]
            found[scheme] = _of_synthetic(frames, resamples, rng)
        rows += [
            (replication, scheme, *key, *each)
            for scheme, table in found.items()
            for key, each in table.items()
        ]
    return pd.DataFrame(
        rows, columns=["replication", "scheme", "rule", "estimand", "covered", "length"]
    )


def summarise(found: pd.DataFrame) -> pd.DataFrame:
    """Coverage with its Monte Carlo error, median length, and the exact binomial p-value of the
    nominal level.
    """
    table = found.groupby(["scheme", "rule", "estimand"], sort=False).agg(
        coverage=("covered", "mean"),
        held=("covered", "sum"),
        of=("covered", "size"),
        length=("length", "median"),
    )
    table["error"] = np.sqrt(table["coverage"] * (1 - table["coverage"]) / table["of"])
    table["p"] = [
        stats.binomtest(int(held), int(of), LEVEL).pvalue
        for held, of in zip(table["held"], table["of"], strict=True)
    ]
    return table.reset_index()[["scheme", "rule", "estimand", "coverage", "error", "p", "length"]]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--L", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    start = time.perf_counter()
    found = coverage(given.replications, given.seed, n=given.records, L=given.L)
    print(summarise(found).round(4).to_string(index=False))
    alphas = [
        marginal_weights(population(given.records, np.random.default_rng(k)), SCENARIO).mean()
        for k in range(20)
    ]
    print(
        f"{given.replications} replications in {time.perf_counter() - start:.0f} s; mean "
        f"marginal weight {np.mean(alphas):.2f}"
    )


if __name__ == "__main__":
    main()
