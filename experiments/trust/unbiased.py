"""What centred weights are unbiased for: `python -m experiments.trust.unbiased` (METHODS section
15).

`patterns`: 200 records in 40 known patterns of 5, log y = 1 + .4 x + .5 N(0, 1), radius 20 %; bias
of the mode's log sigma and slope under marginal weights: plain; centred by the weight that each
record would have got (own); centred by the function that all records of a pattern share, in which
record i is counted at its value for every y (common).

`levels`: 4,000 records of shares (.55, .25, .12, .05, .03), a softmax without predictors; bias of
the mode's probabilities, for two schemes without the prior too, whose pull towards equal shares
grows where weights are small.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import riskweighted as rw
from experiments.trust.pseudo import pseudo_posterior, weights_of
from riskweighted.contract.centring import CentredWeights

__all__ = ["SCHEMES", "Common", "levels_once", "patterns_once", "summarise"]

SCHEMES = (
    "unweighted",
    "marginal",
    "marginal+",
    "pairwise+",
    "mix+(t=0.5)",
    "power+(g=0.5)",
    "others-in-ball+",
)
SHARES = np.array([0.55, 0.25, 0.12, 0.05, 0.03])
_RADIUS, _SLOPE, _SIGMA = 0.2, 0.4, 0.5
_KNOWN = rw.Scenario(known="known", synthetic="y", radius=_RADIUS)
_LINEAR = rw.load_synthesizer("linear-regression")(
    "y ~ x", transform="log", location=1.0, scale=1.0
)
_SOFTMAX = rw.load_synthesizer("multinomial")("level ~ 1")
_OF_LEVELS = rw.Scenario(synthetic="level")


@dataclass(frozen=True)
class Common:
    """Marginal weights by the function that the records of a pattern share: what lies in the ball
    of y, record i's own value among it.
    """

    values: np.ndarray
    pattern: np.ndarray
    label: str = "common"

    def at(self, records: np.ndarray, values: pd.Series) -> np.ndarray:
        asked = values.to_numpy(dtype=float)
        near = np.abs(self.values[:, None] - asked) <= _RADIUS * np.abs(asked)
        same = self.pattern[records][:, None] == self.pattern
        return np.asarray(same.astype(float) @ near / same.sum(axis=1, keepdims=True))


def patterns_once(seed: int) -> pd.DataFrame:
    """Of one sample: log sigma and slope of the mode less the truth, by weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200)
    data = pd.DataFrame(
        {
            "x": x,
            "known": np.repeat(np.arange(40), 5),
            "y": np.exp(1 + _SLOPE * x + _SIGMA * rng.normal(size=200)),
        }
    )
    own = rw.centred_weights("marginal+", data, _KNOWN)
    common = CentredWeights(
        own.alpha, {"y": Common(data["y"].to_numpy(), data["known"].to_numpy())}
    )
    rows = []
    for name, weights in {"plain": own.alpha["y"], "own": own, "common": common}.items():
        mode = pseudo_posterior(_LINEAR, data, weights).mode()
        slope = mode["coefficient"][1] / x.std() - _SLOPE
        rows.append(
            {
                "weights": name,
                "log sigma": float(np.log(mode["sigma"] / _SIGMA)),
                "slope": float(slope),
            }
        )
    return pd.DataFrame(rows)


def levels_once(seed: int) -> pd.DataFrame:
    """Of one sample: probabilities of the mode less the shares in the population, by scheme."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"level": rng.choice(list("abcde"), 4000, p=SHARES)})
    rows = []
    for scheme, flat in [
        *((scheme, False) for scheme in SCHEMES),
        ("unweighted", True),
        ("marginal+", True),
    ]:
        fitted = pseudo_posterior(_SOFTMAX, data, weights_of(scheme, data, _OF_LEVELS), flat)
        shares = _SOFTMAX.distribution(fitted.mode(), fitted.prepared)
        mass = [
            float(shares.mass(np.full(4000, float(k)), np.full(4000, float(k)))[0])
            for k in range(5)
        ]
        rows.append(
            {
                "weights": f"{scheme}, flat prior" if flat else scheme,
                **dict(zip("abcde", np.array(mass) - SHARES, strict=True)),
            }
        )
    return pd.DataFrame(rows)


def summarise(once: Callable[[int], pd.DataFrame], samples: int) -> pd.DataFrame:
    """Means over samples, and their standard errors."""
    groups = pd.concat([once(seed) for seed in range(samples)]).groupby("weights", sort=False)
    return groups.mean().join((groups.std() / np.sqrt(samples)).add_suffix(" se"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(summarise(patterns_once, asked.samples).round(4).to_csv())
    print(summarise(levels_once, asked.samples // 2).round(5).to_csv())
