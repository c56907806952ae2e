"""Different records with how often each stands in a file, the file itself, and every synthesizer
that takes such rows.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from riskweighted_models.counts import CountRatio
from riskweighted_models.linear_regression import LinearRegression
from riskweighted_models.logistic import Logistic
from riskweighted_models.multinomial import Multinomial
from riskweighted_models.negative_binomial import NegativeBinomial
from riskweighted_models.normal_mixture import NormalMixture
from riskweighted_models.ordinal import Ordinal
from riskweighted_models.transformation import Transformation
from riskweighted_models.two_part import TwoPart

__all__ = ["COUNTED", "File", "counted_file"]

_PREDICTORS = "group + size + spline(age)"
COUNTED: dict[str, Any] = {
    "linear-regression": LinearRegression(f"rent ~ {_PREDICTORS}", transform="log"),
    "linear-regression alone": LinearRegression("gain ~ 1", support=(-2000.0, 3000.0, "found")),
    "normal-mixture": NormalMixture(f"rent ~ {_PREDICTORS}"),
    "normal-mixture gating": NormalMixture(
        "rent ~ group + size", components=2, gating=True, concentration="gamma"
    ),
    "negative-binomial": NegativeBinomial("visits ~ group + age"),
    "negative-binomial mixture": NegativeBinomial("visits ~ group", components=2),
    "transformation": Transformation(f"rent ~ {_PREDICTORS}"),
    "transformation found": Transformation("rent ~ group", support=(40.0, 30_000.0, "found")),
    "two-part": TwoPart(f"gain ~ {_PREDICTORS}"),
    "two-part of a mixture": TwoPart("gain ~ group + size", value="normal-mixture", codes=(-9.0,)),
    "two-part of a regression": TwoPart(
        "gain ~ group", value="linear-regression", support=(-5000, 20_000)
    ),
    "logistic": Logistic(f"owner ~ {_PREDICTORS}"),
    "ordinal": Ordinal("health ~ group + age", drift=True),
    "multinomial": Multinomial("region ~ group + size"),
    "counts": CountRatio("rooms ~ group + spline(age)"),
}


class File(NamedTuple):
    """``rows`` (m,), and ``counts`` (m,) of the records that each stands for; ``records`` (n,), and
    which ``row`` (n,) each is.
    """

    rows: pd.DataFrame
    counts: np.ndarray
    records: pd.DataFrame
    row: np.ndarray


def counted_file(m: int = 400, seed: int = 3, largest: int = 60) -> File:
    """A file of every type of variable, most of whose rows stand for a few records and some for
    many.
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], m, p=[0.5, 0.4, 0.1])
    amount = np.round(
        np.exp(5.5 + 0.5 * (group == "b") + rng.choice([0.2, 0.8], m) * rng.normal(size=m)), -1
    ).clip(40)
    gain = np.select(
        [rng.random(m) < 0.2, rng.random(m) < 0.25, rng.random(m) < 0.05],
        [0.0, -np.round(amount / 3), -9.0],
        amount,
    )
    rows = pd.DataFrame(
        {
            "group": group,
            "size": rng.integers(1, 4, m),
            "age": np.where(rng.random(m) < 0.2, 0, np.round(np.exp(rng.normal(3, 1, m)))).astype(
                int
            ),
            "rent": amount,
            "gain": gain,
            "visits": rng.negative_binomial(1.5, 0.2, m),
            "owner": rng.choice(["no", "yes"], m, p=[0.7, 0.3]),
            "health": pd.Categorical(
                rng.choice(["bad", "fair", "good"], m), ["bad", "fair", "good"], ordered=True
            ),
            "region": rng.choice(["n", "s", "w"], m),
            "rooms": rng.integers(1, 7, m),
        }
    )
    counts = np.ceil(largest ** rng.random(m) - 0.5).astype(int).clip(1)
    row = np.repeat(np.arange(m), counts)
    return File(rows, counts, rows.iloc[row].reset_index(drop=True), row)
