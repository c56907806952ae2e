"""What a record moves when weights are made anew without it: `python -m
experiments.trust.leave_one_out` (METHODS section 15).

x ~ N(0, 1), y = 1 + x / 2 + N(0, 1), n = 200 records, one pattern, an absolute radius of .5; the
registered linear regression with fixed location and scale. Kullback-Leibler divergence of the
posterior of all records from that of all but one, both by the normal approximation at the mode:
once with the others' weights made anew of the n - 1 records, once with them held as they were.
Isolated: the 5 % of largest risk.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.trust.pseudo import pseudo_posterior, weights_of
from riskweighted.contract.centring import CentredWeights, OwnFunction
from riskweighted.intruder.world import make_world
from riskweighted.risk.identification import confidential_risk
from riskweighted.weights.functions import OfRows, OwnWeights

__all__ = ["MODEL", "SCENARIO", "SCHEMES", "divergences", "sample", "summarise"]

SCHEMES = (
    "unweighted",
    "uniform(c=0.25)",
    "marginal",
    "marginal+",
    "pairwise",
    "pairwise+",
    "mix+(t=0.5)",
    "power+(g=0.5)",
    "others-in-ball+",
)
SCHEMES = (*SCHEMES, "drop-riskiest+(q=0.05)", "drop-riskiest+, cut stated")
MODEL = rw.load_synthesizer("linear-regression")("y ~ x", location=0.0, scale=1.0)
SCENARIO = rw.Scenario(synthetic="y", radius=0.5, radius_kind="absolute")
_N = 200


def sample(seed: int) -> pd.DataFrame:
    """The records."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=_N)
    return pd.DataFrame({"x": x, "y": 1 + x / 2 + rng.normal(size=_N)})


def _weights(scheme: str, data: pd.DataFrame, stated: pd.DataFrame) -> pd.Series | CentredWeights:
    """By name; "cut stated" is `drop-riskiest` with a cut halfway between the risk at which it lies
    in the `stated` data and the next.
    """
    if not scheme.endswith("cut stated"):
        return weights_of(scheme, data, SCENARIO)
    risk = confidential_risk(make_world(stated, SCENARIO)).to_numpy()
    cut = float(np.quantile(risk, 0.95)) + 0.5 / len(stated)
    world = make_world(data, SCENARIO)
    alpha = np.where(confidential_risk(world) > cut, 0.0, 1.0)
    function = OwnWeights(
        world, 1, lambda risk, size: np.where(risk > cut, 0.0, 1.0), scheme=scheme
    )
    return CentredWeights(pd.DataFrame({"y": alpha}, data.index), {"y": function})


def _held(
    weights: pd.Series | CentredWeights, kept: np.ndarray, index: pd.Index
) -> pd.Series | CentredWeights:
    """Those of some of the records, as they were."""
    if not isinstance(weights, CentredWeights):
        return pd.Series(weights.to_numpy()[kept], index, name="alpha")
    functions: dict[str, OwnFunction] = {
        name: OfRows(function, kept, f"{len(kept)}") for name, function in weights.functions.items()
    }
    return CentredWeights(weights.alpha.iloc[kept].set_axis(index), functions)


def divergences(data: pd.DataFrame, scheme: str, records: np.ndarray) -> pd.DataFrame:
    """``anew`` and ``held``: of some records, the divergence of the posterior with from that
    without each.
    """
    weights = _weights(scheme, data, data)
    whole = _normal(data, weights)
    rows = []
    for record in records:
        kept = np.delete(np.arange(len(data)), record)
        others = data.iloc[kept].reset_index(drop=True)
        made = {"anew": _weights(scheme, others, data), "held": _held(weights, kept, others.index)}
        rows.append(
            {name: _divergence(whole, _normal(others, each)) for name, each in made.items()}
        )
    return pd.DataFrame(rows, index=records)


def _normal(
    data: pd.DataFrame, weights: pd.Series | CentredWeights
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of intercept and slope on x as it is, and log sigma."""
    mean, covariance = pseudo_posterior(MODEL, data, weights).normal()
    centre, sd = data["x"].mean(), data["x"].std(ddof=0)
    turn = np.array([[1, -centre / sd, 0], [0, 1 / sd, 0], [0, 0, 1]])
    return turn @ mean, turn @ covariance @ turn.T


def _divergence(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> float:
    """KL(first, second) of normal distributions."""
    (mean, covariance), (other, wide) = first, second
    precision, off = np.linalg.inv(wide), other - mean
    log_volume = np.linalg.slogdet(wide)[1] - np.linalg.slogdet(covariance)[1]
    return float(
        0.5 * (np.trace(precision @ covariance) + off @ precision @ off - len(mean) + log_volume)
    )


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """By scheme: mean and largest divergence anew and held, ratio of the means, and the mean of
    isolated records.
    """
    groups = rows.groupby("scheme", sort=False)
    table = groups[["anew", "held"]].mean()
    table["ratio"] = table["anew"] / table["held"]
    table["largest anew"] = groups["anew"].max()
    isolated = rows[rows["isolated"]].groupby("scheme", sort=False)[["anew", "held"]].mean()
    return table.join(isolated.add_prefix("isolated "))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="every so manieth record")
    given = parser.parse_args()
    parts = []
    for seed in range(given.samples):
        data = sample(seed)
        risk = rw.identification_risk(data, scenario=SCENARIO).to_numpy()
        cut = float(np.quantile(risk, 0.95))
        records = np.arange(0, _N, given.every)
        for scheme in SCHEMES:
            made = divergences(data, scheme, records)
            parts.append(made.assign(scheme=scheme, seed=seed, isolated=(risk >= cut)[records]))
    print(
        (1000 * summarise(pd.concat(parts)).drop(columns="ratio"))
        .assign(ratio=summarise(pd.concat(parts))["ratio"])
        .round(2)
        .to_csv()
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
