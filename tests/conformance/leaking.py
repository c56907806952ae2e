"""Plug-ins whose draws see the truth, each in a place of its own; those of BLIND were written without knowledge of the check."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pymc as pm

import riskweighted as rw


@dataclass(frozen=True, eq=False)
class Ready:
    """Arrays of a plain regression, and what a leaking one hides beside them."""

    owner: Any
    y: np.ndarray
    x: np.ndarray
    hidden: Any = None

    def at(self, frame):
        y = frame[self.owner.target].to_numpy(dtype=float) if self.owner.target in frame else np.full(len(frame), np.nan)
        return self.owner.moved(replace(self, y=y, x=frame["x"].to_numpy(dtype=float)), frame)


@dataclass(frozen=True)
class Values:
    """Normal values about a line; what a leaking class makes of them is its ``shown``."""

    owner: Any
    prepared: Ready
    mean: np.ndarray
    sd: float

    def log_density(self, y):
        return -0.5 * ((y - self.mean) / self.sd) ** 2 - np.log(self.sd) - 0.5 * np.log(2 * np.pi)

    def mass(self, lower, upper):
        from scipy.stats import norm

        return norm.cdf(upper, self.mean, self.sd) - norm.cdf(lower, self.mean, self.sd)

    def draw(self, rng):
        return self.owner.shown(self.mean + self.sd * rng.standard_normal(len(self.mean)), rng, self.prepared)


@dataclass(frozen=True)
class Clean:
    """y ~ N(level + slope x, width); sees nothing that it should not."""

    formula: str = "y ~ x"
    data_dependent: ClassVar[tuple[str, ...]] = ()

    @property
    def target(self):
        return self.formula.partition("~")[0].strip()

    def hide(self, y, data):
        return None

    def moved(self, prepared, frame):
        return prepared

    def prior_mean(self, prepared):
        return 50.0

    def shown(self, values, rng, prepared):
        return values

    def centre(self, theta, prepared):
        return theta["level"] + theta["slope"] * prepared.x

    def prepare(self, data: pd.DataFrame):
        y = data[self.target].to_numpy(dtype=float)
        return Ready(self, y, data["x"].to_numpy(dtype=float), self.hide(y, data))

    def build(self, prepared):
        n = len(prepared.y)
        with pm.Model() as model:
            alpha = pm.Data("alpha", np.ones(n))
            level = pm.Normal("level", self.prior_mean(prepared), 30.0)
            slope, width = pm.Normal("slope", 0.0, 10.0), pm.HalfNormal("width", 20.0)
            total = (alpha * pm.logp(pm.Normal.dist(level + slope * prepared.x, width), prepared.y)).sum()
        return rw.Blueprint(model, total, lambda weights: {"alpha": weights}, ("level", "slope", "width"), n)

    def distribution(self, theta, prepared):
        return Values(self, prepared, np.asarray(self.centre(theta, prepared), dtype=float), float(theta["width"]))


class Kept(Clean):
    """Keeps the truth when it prepares, and hands it on to `at`."""

    def hide(self, y, data):
        return y

    def moved(self, prepared, frame):
        rows = [] if self.hide is None else data_rows(prepared, frame)
        return replace(prepared, hidden=prepared.hidden[rows] if len(rows) else prepared.hidden)


def data_rows(prepared, frame):
    n = len(prepared.hidden)
    index = frame.index.to_numpy()
    return index if np.issubdtype(index.dtype, np.integer) and len(index) and index.max() < n else np.arange(len(frame)) % n


# ---- written blind ----
class Copy(Kept):
    def shown(self, values, rng, prepared):
        return prepared.hidden.copy()


class NoisyCopy(Kept):
    def shown(self, values, rng, prepared):
        return prepared.hidden + rng.standard_normal(len(values)) * 0.01


class FewRows(Kept):
    def shown(self, values, rng, prepared):
        values[:3] = prepared.hidden[:3]
        return values


class OneRow(Kept):
    def shown(self, values, rng, prepared):
        values[-1] = prepared.hidden[-1]
        return values


class TopRows(Kept):
    def shown(self, values, rng, prepared):
        top = prepared.hidden >= np.quantile(prepared.hidden, 0.99)
        values[top] = prepared.hidden[top]
        return values


class SomeSeeds(Kept):
    def shown(self, values, rng, prepared):
        return prepared.hidden.copy() if rng.random() < 0.5 else values


class RankMatched(Kept):
    def shown(self, values, rng, prepared):
        return np.sort(values)[np.argsort(np.argsort(prepared.hidden))]


class PairOrder(Kept):
    def shown(self, values, rng, prepared):
        for i in range(0, len(values) - 1, 2):
            low, high = sorted(values[i : i + 2])
            values[i : i + 2] = (low, high) if prepared.hidden[i] <= prepared.hidden[i + 1] else (high, low)
        return values


class SameMean(Kept):
    def shown(self, values, rng, prepared):
        return values - values.mean() + prepared.hidden.mean()


class SameMeanAndSpread(Kept):
    def shown(self, values, rng, prepared):
        return (values - values.mean()) / values.std() * prepared.hidden.std() + prepared.hidden.mean()


class CappedAtMaximum(Kept):
    def shown(self, values, rng, prepared):
        return np.minimum(values, prepared.hidden.max())


class RaisedToMinimum(Kept):
    def shown(self, values, rng, prepared):
        return np.maximum(values, prepared.hidden.min())


class MaximumInItsRow(Kept):
    def shown(self, values, rng, prepared):
        values[prepared.hidden.argmax()] = prepared.hidden.max()
        return values


class Digits(Kept):
    def shown(self, values, rng, prepared):
        return np.floor(values) + prepared.hidden % 1


class Parity(Kept):
    def shown(self, values, rng, prepared):
        return 2 * np.floor(values / 2) + np.floor(prepared.hidden) % 2


class Side(Kept):
    def shown(self, values, rng, prepared):
        middle = np.median(values)
        return middle + np.abs(values - middle) * np.where(prepared.hidden > np.median(prepared.hidden), 1, -1)


class HalfWay(Kept):
    def shown(self, values, rng, prepared):
        return (values + prepared.hidden) / 2


class Commonest(Kept):
    def shown(self, values, rng, prepared):
        levels, counts = np.unique(np.round(prepared.hidden), return_counts=True)
        tied = np.round(prepared.hidden) == levels[counts.argmax()]
        values[tied] = levels[counts.argmax()]
        return values


class AtReadsTheFrame(Clean):
    def moved(self, prepared, frame):
        return replace(prepared, hidden=frame[self.target].to_numpy(dtype=float) if self.target in frame else None)

    def shown(self, values, rng, prepared):
        return values if prepared.hidden is None else prepared.hidden + 0.0


class Donors(Kept):
    def shown(self, values, rng, prepared):
        return rng.choice(prepared.hidden, len(values))


class SortedDonors(Kept):
    def shown(self, values, rng, prepared):
        return rng.choice(np.sort(prepared.hidden), len(values))


class NeighboursMean(Kept):
    def centre(self, theta, prepared):
        order = np.argsort(prepared.x, kind="stable")
        smooth = np.convolve(prepared.hidden[order], np.ones(5) / 5, mode="same")
        mean = np.empty(len(order))
        mean[order] = smooth
        return mean


class ClassCache(Clean):
    first: ClassVar[dict[str, np.ndarray]] = {}

    def hide(self, y, data):
        return type(self).first.setdefault("y", y)

    def shown(self, values, rng, prepared):
        values[:4] = prepared.hidden[:4]
        return values


_SEEN: list[np.ndarray] = []


class ModuleCache(Clean):
    def hide(self, y, data):
        _SEEN.append(y)
        return _SEEN[0]

    def shown(self, values, rng, prepared):
        return values + 0.001 * prepared.hidden[: len(values)] if len(prepared.hidden) >= len(values) else values


class SameForEverySeed(Clean):
    def shown(self, values, rng, prepared):
        return self.centre({"level": 50.0, "slope": 1.0}, prepared) + np.sin(np.arange(len(values)))


BLIND = [
    Copy,
    NoisyCopy,
    FewRows,
    OneRow,
    TopRows,
    SomeSeeds,
    RankMatched,
    PairOrder,
    SameMean,
    SameMeanAndSpread,
    CappedAtMaximum,
    RaisedToMinimum,
    MaximumInItsRow,
    Digits,
    Parity,
    Side,
    HalfWay,
    Commonest,
    AtReadsTheFrame,
    Donors,
    SortedDonors,
    NeighboursMean,
    ClassCache,
    ModuleCache,
    SameForEverySeed,
]
