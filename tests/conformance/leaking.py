"""Plug-ins whose draws see the truth, each in a place of its own; those of BLIND were written
without knowledge of the check.
"""

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
        y = (
            frame[self.owner.target].to_numpy(dtype=float)
            if self.owner.target in frame
            else np.full(len(frame), np.nan)
        )
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
        return self.owner.shown(
            self.mean + self.sd * rng.standard_normal(len(self.mean)), rng, self.prepared
        )


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
            total = (
                alpha * pm.logp(pm.Normal.dist(level + slope * prepared.x, width), prepared.y)
            ).sum()
        return rw.Blueprint(
            model, total, lambda weights: {"alpha": weights}, ("level", "slope", "width"), n
        )

    def distribution(self, theta, prepared):
        return Values(
            self,
            prepared,
            np.asarray(self.centre(theta, prepared), dtype=float),
            float(theta["width"]),
        )


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
    return (
        index
        if np.issubdtype(index.dtype, np.integer) and len(index) and index.max() < n
        else np.arange(len(frame)) % n
    )


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
            values[i : i + 2] = (
                (low, high) if prepared.hidden[i] <= prepared.hidden[i + 1] else (high, low)
            )
        return values


class SameMean(Kept):
    def shown(self, values, rng, prepared):
        return values - values.mean() + prepared.hidden.mean()


class SameMeanAndSpread(Kept):
    def shown(self, values, rng, prepared):
        return (
            values - values.mean()
        ) / values.std() * prepared.hidden.std() + prepared.hidden.mean()


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
        return middle + np.abs(values - middle) * np.where(
            prepared.hidden > np.median(prepared.hidden), 1, -1
        )


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
        return replace(
            prepared,
            hidden=frame[self.target].to_numpy(dtype=float) if self.target in frame else None,
        )

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


class EndsCache(Clean):
    """Puts out the ends of the data that it saw first, as a part of what it says that it takes from
    the data.
    """

    data_dependent: ClassVar[tuple[str, ...]] = ("ends",)
    first: ClassVar[dict[str, np.ndarray]] = {}

    def hide(self, y, data):
        return type(self).first.setdefault("ends", np.sort(y)[[0, -1]])

    def shown(self, values, rng, prepared):
        hit = rng.random(len(values)) < 0.02
        values[hit] = rng.choice(prepared.hidden, int(hit.sum()))
        return values


class ModuleCache(Clean):
    def hide(self, y, data):
        _SEEN.append(y)
        return _SEEN[0]

    def shown(self, values, rng, prepared):
        return (
            values + 0.001 * prepared.hidden[: len(values)]
            if len(prepared.hidden) >= len(values)
            else values
        )


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


# ---- written with knowledge of the check ----
class ThetaCarries(Clean):
    def centre(self, theta, prepared):
        return theta["latent"]


class InsideTheDistribution(Kept):
    def centre(self, theta, prepared):
        return theta["level"] + 0.2 * (prepared.hidden - prepared.hidden.mean())


class SpreadFromTheRow(Kept):
    def shown(self, values, rng, prepared):
        return values + np.abs(prepared.hidden - 50) * rng.standard_normal(len(values)) * 0.01


class OnlyOnePlace(Kept):
    """Leaks into two rows where the level is below 49, as it is at the second place alone."""

    def centre(self, theta, prepared):
        mean = super().centre(theta, prepared).copy()
        if theta["level"] < 49:
            mean[:2] = prepared.hidden[:2]
        return mean


class SameQuantiles(Kept):
    data_dependent: ClassVar[tuple[str, ...]] = ("quantiles",)

    def shown(self, values, rng, prepared):
        low, high = np.quantile(prepared.hidden, [0.001, 0.999])
        return np.clip(values, low, high)


class RefusesTies(Kept):
    def prepare(self, data):
        y = data[self.target].to_numpy(dtype=float)
        if np.corrcoef(y, data["x"])[0, 1] < 0.3:
            raise rw.InputError("these data do not suit it")
        return super().prepare(data)

    def shown(self, values, rng, prepared):
        return prepared.hidden + 0.0


class KnowsTheSum(Clean):
    """Cheats only on the true data, which it knows by how y goes with x."""

    def hide(self, y, data):
        return y if np.corrcoef(y, data["x"])[0, 1] > 0.3 else None

    def shown(self, values, rng, prepared):
        return (
            values
            if prepared.hidden is None or len(prepared.hidden) != len(values)
            else prepared.hidden + 0.0
        )


class SomeRowsOnly(Clean):
    """`at` of some rows hands on the truth; of all rows, and prepared, it does not."""

    def moved(self, prepared, frame):
        return replace(prepared, hidden=prepared.y if len(frame) < 100 else None)

    def shown(self, values, rng, prepared):
        return (
            values
            if prepared.hidden is None or np.isnan(prepared.hidden).any()
            else prepared.hidden + 0.0
        )


class Index(Kept):
    def hide(self, y, data):
        return dict(zip(data.index, y, strict=True))

    def moved(self, prepared, frame):
        return replace(prepared, hidden={key: prepared.hidden[key] for key in frame.index})

    def shown(self, values, rng, prepared):
        return values + 1e-4 * np.array(list(prepared.hidden.values()))


class Closure(Clean):
    def hide(self, y, data):
        return lambda rows: y[rows]

    def shown(self, values, rng, prepared):
        values[5:8] = prepared.hidden(slice(5, 8))
        return values


class Parities(Kept):
    """The sign bit of a number far behind the point."""

    def shown(self, values, rng, prepared):
        return np.round(values, 3) + 1e-5 * (prepared.hidden > 50)


class SeedFromTheData(Kept):
    def shown(self, values, rng, prepared):
        seed = int(abs(prepared.hidden[0]) * 1e6)
        return values + np.random.default_rng(seed).standard_normal(len(values))


class OrderedByTruth(Kept):
    def shown(self, values, rng, prepared):
        values[np.argsort(prepared.hidden)[:10]] = np.sort(values[:10])
        return values


class MedianOnly(Kept):
    data_dependent: ClassVar[tuple[str, ...]] = ("median",)

    def shown(self, values, rng, prepared):
        values[0] = np.median(prepared.hidden)
        return values


class PermanentCache(Clean):
    """By the class of its class: the first data it saw, by the number of their rows."""

    known: ClassVar[dict[int, np.ndarray]] = {}

    def hide(self, y, data):
        return self.known.setdefault(len(y), y.copy())

    def shown(self, values, rng, prepared):
        return (
            values if len(values) != len(prepared.hidden) else 0.5 * values + 0.5 * prepared.hidden
        )


AWARE = [
    ThetaCarries,
    InsideTheDistribution,
    SpreadFromTheRow,
    OnlyOnePlace,
    SameQuantiles,
    RefusesTies,
    KnowsTheSum,
    SomeRowsOnly,
    Index,
    Closure,
    Parities,
    SeedFromTheData,
    OrderedByTruth,
    MedianOnly,
    PermanentCache,
]


class RareSeeds(Kept):
    """Into all rows, once in ten seeds."""

    def shown(self, values, rng, prepared):
        return prepared.hidden.copy() if rng.random() < 0.1 else values


# ---- what only a guarantee refuses ----
class PriorMean(Kept):
    def prior_mean(self, prepared):
        return float(prepared.y.mean())


class PriorMinimum(Kept):
    def prior_mean(self, prepared):
        return float(prepared.y.min())


class PriorMaximum(Kept):
    def prior_mean(self, prepared):
        return float(prepared.y.max())


class DeclaredMean(SameMean):
    data_dependent: ClassVar[tuple[str, ...]] = ("location",)


class RefusesOthers(Clean):
    """Declares nothing, and takes only what looks like its data."""

    def prepare(self, data):
        y = data[self.target].to_numpy(dtype=float)
        if np.ptp(y) < 30:
            raise rw.InputError("these data do not suit it")
        return super().prepare(data)


GUARANTEED = [PriorMean, PriorMinimum, PriorMaximum, DeclaredMean, RefusesOthers]
