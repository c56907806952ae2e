"""A plug-in that makes of the values only what moves everybody's chances alike is judged by
weights; one that keeps values by folds.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from handmade import given_fit
from scipy.stats import norm

import riskweighted as rw
from riskweighted.disclosure.kept_values import _takes_what_ours_takes, keeps_values
from riskweighted.disclosure.own_folds import why_folds
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sequence.fit import Fit

# of the draws that take a kept value
SHARES = {"nothing": 0.0, "richest": 0.01, "largest": 0.001, "all": 0.1, "kernels": 0.5}


@dataclass(frozen=True)
class Ready:
    owner: "Line"
    y: np.ndarray
    x: np.ndarray
    kept: tuple

    def at(self, frame):
        y = frame["y"].to_numpy(dtype=float) if "y" in frame else np.full(len(frame), np.nan)
        return Ready(self.owner, y, frame["x"].to_numpy(dtype=float), self.kept)


@dataclass(frozen=True)
class Values:
    """Normal values about a line, and a share of them normal about kept values."""

    mean: np.ndarray
    sd: float
    share: float = 0.0
    kept: np.ndarray = field(default_factory=lambda: np.zeros(1))
    width: float = 1.0

    def log_density(self, y):
        apart = norm.pdf(y[:, None], self.kept, self.width).mean(axis=1)
        return np.log((1 - self.share) * norm.pdf(y, self.mean, self.sd) + self.share * apart)

    def mass(self, lower, upper):
        apart = (
            norm.cdf(upper[:, None], self.kept, self.width)
            - norm.cdf(lower[:, None], self.kept, self.width)
        ).mean(axis=1)
        return (1 - self.share) * (
            norm.cdf(upper, self.mean, self.sd) - norm.cdf(lower, self.mean, self.sd)
        ) + self.share * apart

    def draw(self, rng):
        drawn = rng.normal(self.mean, self.sd)
        apart = rng.normal(rng.choice(self.kept, len(self.mean)), self.width)
        return np.where(rng.random(len(drawn)) < self.share, apart, drawn)


@dataclass(frozen=True)
class Line:
    """y ~ N(level + slope x, width) in units of its mean and standard deviation, and a share of
    values about what is kept of y.
    """

    kind: str
    target: ClassVar[str] = "y"
    data_dependent: ClassVar[tuple[str, ...]] = ("location", "scale")

    def prepare(self, data):
        y = data["y"].to_numpy(dtype=float)
        kept = {
            "nothing": np.zeros(1),
            "richest": np.sort(y)[-3:],
            "largest": y.max(keepdims=True),
        }.get(self.kind, np.sort(y))
        return Ready(self, y, data["x"].to_numpy(dtype=float), (y.mean(), y.std(), kept))

    def distribution(self, theta, prepared):
        location, scale, kept = prepared.kept
        mean = location + scale * (theta["level"] + theta["slope"] * prepared.x)
        width = scale * (0.05 if self.kind == "kernels" else 1e-9)
        return Values(mean, float(scale * theta["width"]), SHARES[self.kind], kept, float(width))


def fitted(synthesizer, n, seed):
    """Draws of a posterior of a line that are given by hand, on values of heavy tails."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, n).astype(float)
    data = pd.DataFrame({"x": x, "y": 40 + 3 * x + 5 * rng.standard_t(4, n)})
    names = {"level": -0.5, "slope": 0.3, "width": 0.7}
    posterior = xr.Dataset(
        {
            name: (("chain", "draw"), mean + rng.normal(0, n**-0.5, (2, 20)))
            for name, mean in names.items()
        }
    )
    alpha = pd.Series(1.0, data.index, name="alpha")
    return BlockFit(synthesizer, alpha, posterior, pd.DataFrame(), data, synthesizer.prepare(data))


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("kind", SHARES)
def test_what_is_kept_of_single_records_is_seen_and_what_is_made_of_all_of_them_is_not(kind, n):
    seen = [keeps_values(fitted(Line(kind), n, seed)) for seed in range(3)]
    assert seen == [kind != "nothing"] * 3


def test_folds_are_asked_of_a_class_that_keeps_values_alone():
    assert why_folds(Fit.of(fitted(Line("nothing"), 200, 1))) == ()
    assert (
        "what its class takes from the data"
        in why_folds(Fit.of(fitted(Line("richest"), 200, 1)))[0]
    )


def test_a_plain_subclass_of_a_model_is_judged_as_the_model_is():
    own = given_fit(pd.DataFrame({"jobs": np.random.default_rng(2).negative_binomial(5, 0.1, 300)}))
    assert not keeps_values(next(iter(own.blocks.values())))


def test_what_cannot_be_prepared_without_records_is_asked_of_folds():
    class Whole(Line):
        def prepare(self, data):
            if len(data) < 100:
                raise rw.InputError("too few records")
            return super().prepare(data)

    assert keeps_values(fitted(Whole("nothing"), 100, 1))


def test_a_class_that_extends_one_of_ours_holds_what_that_holds():
    transformation = rw.load_synthesizer("transformation")

    class Mine(transformation):
        """Draws as the package's."""

    class Other(transformation):
        def distribution(self, theta, prepared, wanted=None):
            return super().distribution(theta, prepared, wanted)

    assert _takes_what_ours_takes(Mine("y ~ x", support=(0, 10)))
    assert not _takes_what_ours_takes(Other("y ~ x", support=(0, 10)))
