"""The posterior of a mixture of normal regressions as a function of one vector: what is sampled of `NormalMixture`."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln

from riskweighted.synthesis.contract import Density, Draw
from riskweighted.synthesis.distinct import Distinct
from riskweighted.synthesis.laplace import Scaled, mode_of
from riskweighted_models.column_blocks import ColumnBlocks, column_blocks
from riskweighted_models.kernels.mixtures import mixture_sum
from riskweighted_models.mixture import slopes_of, weights_of
from riskweighted_models.thinning import ROUGH_ABOVE, thinned

__all__ = ["MixtureLayout", "MixtureRows", "mixture_density", "mixture_rows"]

_NARROWEST = 0.02  # sd of a component; below it the search ran into a single heaped value
_STARTS = ((0.8, 0.6, 0.6), (0.0, 0.4, 1.2), (0.5, 1.1, 0.4))  # how far apart centres stand, and the first and the last sd


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """What the likelihood depends on: distinct pairs of a design and a response. Confidential.

    Attributes
    ----------
    columns : array (m, p)
        The distinct designs.
    records : array (m,)
        How many records have each.
    cell : array (R,) of uint32
        The design of every pair, increasing.
    z : array (R,)
    which : array (n,)
        The pair of each record.
    """

    columns: np.ndarray
    records: np.ndarray
    cell: np.ndarray
    z: np.ndarray
    which: np.ndarray

    @cached_property
    def blocks(self) -> ColumnBlocks:
        return column_blocks(self.columns)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Mean over the records of x x', (p, p); the columns are centred."""
        return np.asarray(self.columns.T @ (self.records[:, None] * self.columns) / self.records.sum())

    def weigh(self, alpha: np.ndarray) -> np.ndarray:
        """Sums of alpha (n,) over the records of each pair, (R,)."""
        return np.bincount(self.which, weights=alpha, minlength=len(self.z))


def mixture_rows(designs: Distinct, z: np.ndarray) -> MixtureRows:
    """Rows of n records, of their designs and responses (n,)."""
    columns, design = designs
    order = np.lexsort((z, design))
    begins = np.ones(len(z), dtype=bool)
    begins[1:] = (np.diff(design[order]) != 0) | (np.diff(z[order]) != 0)
    which = np.empty(len(z), dtype=np.int64)
    which[order] = np.cumsum(begins) - 1
    first = order[begins]
    return MixtureRows(columns, np.bincount(design, minlength=len(columns)), design[first].astype(np.uint32), z[first], which)


@dataclass(frozen=True, eq=False)
class MixtureLayout:
    """The vector: K - 1 log odds of the weights, log of the total concentration, centres, log sds, common slopes, log tau, deviations of
    the slopes (tau delta), gates, as far as the model has them.

    ``components`` K; ``predictors`` p; ``concentration`` a number or "gamma"; ``slope_spread``; ``gating``; ``rows``, over which predictive
    moments are means.
    """

    components: int
    predictors: int
    concentration: float | str
    slope_spread: float
    gating: bool
    rows: MixtureRows

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where each part stands."""
        k, p = self.components, self.predictors
        sizes = {"log_odds": k - 1, "log_total": int(k > 1 and self.concentration == "gamma"), "centre": k, "log_sigma": k, "slope": p}
        if k > 1 and p:
            sizes |= {"log_tau": 1, "deviation": k * p, "gate": k * p if self.gating else 0}
        ends = np.cumsum(list(sizes.values()))
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends.tolist(), strict=True) if size}

    @property
    def size(self) -> int:
        """d."""
        return int(max(place.stop for place in self.places.values()))

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """See `Layout`."""
        at, k, p = self.places, self.components, self.predictors
        found = {"centre": vectors[:, at["centre"]], "sigma": np.exp(vectors[:, at["log_sigma"]])}
        if "log_odds" in at:
            found["weight"] = np.exp(self.log_weight(vectors))
        if "log_total" in at:
            found["total_concentration"] = np.exp(vectors[:, at["log_total"].start])
        if "slope" in at:
            found["slope"] = vectors[:, at["slope"]]
        if "log_tau" in at:
            found["slope_spread"] = np.exp(vectors[:, at["log_tau"].start])
            found["slope_deviation"] = (vectors[:, at["deviation"]] / found["slope_spread"][:, None]).reshape(-1, k, p)
        if "gate" in at:
            found["gate"] = vectors[:, at["gate"]].reshape(-1, k, p)
        moments = np.array([self._moments({name: values[row] for name, values in found.items()}) for row in range(len(vectors))])
        return found | {"predictive_mean": moments[:, 0], "predictive_sd": moments[:, 1]}

    def vector(self, theta: Draw) -> np.ndarray:
        """See `Layout`."""
        found, at = np.zeros(self.size), self.places
        found[at["centre"]], found[at["log_sigma"]] = theta["centre"], np.log(theta["sigma"])
        if "log_odds" in at:
            found[at["log_odds"]] = np.log(theta["weight"][:-1]) - np.log(theta["weight"][-1])
        if "log_total" in at:
            found[at["log_total"]] = np.log(theta["total_concentration"])
        if "slope" in at:
            found[at["slope"]] = theta["slope"]
        if "log_tau" in at:
            found[at["log_tau"]] = np.log(theta["slope_spread"])
            found[at["deviation"]] = np.ravel(theta["slope_spread"] * theta["slope_deviation"])
        if "gate" in at:
            found[at["gate"]] = np.ravel(theta["gate"])
        return found

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        """See `Layout`."""
        at = self.places
        found = vectors[:, at["log_sigma"]].sum(axis=1)
        if "log_odds" in at:
            found = found + self.log_weight(vectors).sum(axis=1)
        if "log_total" in at:
            found = found + vectors[:, at["log_total"].start]
        if "log_tau" in at:
            found = found + (1 - self.components * self.predictors) * vectors[:, at["log_tau"].start]
        return np.asarray(found)

    def relabelled(self, vector: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The same mixture with its components in another order (K,)."""
        found, at, k = vector.copy(), self.places, self.components
        log_weight = self.log_weight(vector[None])[0][order]
        found[at["log_odds"]] = log_weight[:-1] - log_weight[-1]
        for name in ("centre", "log_sigma", "deviation", "gate"):
            if name in at:
                found[at[name]] = vector[at[name]].reshape(k, -1)[order].ravel()
        return found

    def features(self, vector: np.ndarray) -> np.ndarray:
        """By what components are told apart: centre, log sd and log weight, (K, 3)."""
        at = self.places
        return np.column_stack([vector[at["centre"]], vector[at["log_sigma"]], self.log_weight(vector[None])[0]])

    def log_weight(self, vectors: np.ndarray) -> np.ndarray:
        """Logarithms of the components' weights, (S, K)."""
        if self.components == 1:
            return np.zeros((len(vectors), 1))
        odds = np.zeros((len(vectors), self.components))
        odds[:, :-1] = vectors[:, self.places["log_odds"]]
        return _normalised(odds.T).T

    def _moments(self, theta: Draw) -> tuple[float, float]:
        """Mean and sd of the responses that one draw predicts for the records together."""
        slopes, centre, rows = slopes_of(theta, self.components), theta["centre"], self.rows
        if "gate" not in theta:  # columns are centred, so means over the records are those at x = 0, and their squares need x x' alone
            share, among = weights_of(theta), np.einsum("kp,pq,kq->k", slopes, rows.covariance, slopes)
            overall = float(share @ centre)
            return overall, float(np.sqrt(share @ (theta["sigma"] ** 2 + (centre - overall) ** 2 + among)))
        mean = centre[:, None] + rows.blocks.linear(slopes)
        share = np.exp(_normalised(np.log(weights_of(theta))[:, None] + rows.blocks.linear(theta["gate"])))
        each = rows.records / rows.records.sum()
        overall = float((share * mean).sum(axis=0) @ each)
        return overall, float(np.sqrt((share * (theta["sigma"][:, None] ** 2 + (mean - overall) ** 2)).sum(axis=0) @ each))


def mixture_density(layout: MixtureLayout, weight: np.ndarray) -> Density:
    """The posterior for weights (R,) of the rows: from a vector (d,) to its log density, up to a constant, and gradient (d,)."""
    at, rows, k, p = layout.places, layout.rows, layout.components, layout.predictors
    used, prior = weight > 0, _Prior(layout)
    fixed = (rows.z[used], weight[used], rows.cell[used])
    any_used, m = bool(used.any()), len(rows.columns)

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        log_weight = layout.log_weight(vector[None])
        height, gradient = prior(vector, log_weight[0])
        if not any_used:
            return height, gradient
        mean = np.empty((k, m))
        mean[:] = vector[at["centre"]][:, None]
        if p:
            slopes = np.empty((k, p))
            slopes[:] = vector[at["slope"]]
            if "deviation" in at:
                slopes += vector[at["deviation"]].reshape(k, p)
            mean += rows.blocks.linear(slopes)
        log_share = log_weight.T.copy()
        if "gate" in at:
            log_share = _normalised(log_share + rows.blocks.linear(vector[at["gate"]].reshape(k, p)))
        value, by_mean, by_log_sd, by_share = mixture_sum(*fixed, mean, np.exp(vector[at["log_sigma"]]), log_share)
        gradient[at["centre"]] += by_mean.sum(axis=1)
        gradient[at["log_sigma"]] += by_log_sd
        if p:
            by_slope = rows.blocks.pulled(by_mean)
            gradient[at["slope"]] += by_slope.sum(axis=0)
            if "deviation" in at:
                gradient[at["deviation"]] += by_slope.ravel()
        by_share -= np.exp(log_share) * by_share.sum(axis=0)  # shares add up to 1
        if "log_odds" in at:
            gradient[at["log_odds"]] += by_share.sum(axis=1)[:-1]
        if "gate" in at:
            gradient[at["gate"]] += rows.blocks.pulled(by_share).ravel()
        return height + value, gradient

    starts = partial(_starts, layout, weight) if k > 1 else None
    rough = partial(_thinned, layout, weight) if used.sum() > ROUGH_ABOVE else None
    if "log_tau" not in at:
        return _Offering(density, starts, rough)
    return Scaled(density, at["log_tau"].start, at["deviation"], np.ones(k * p), starts, rough)


def _normalised(log_shares: np.ndarray) -> np.ndarray:
    """Logarithms (K, m) less those of their sums over K."""
    top = log_shares.max(axis=0)
    return np.asarray(log_shares - (top + np.log(np.exp(log_shares - top).sum(axis=0))))


@dataclass(frozen=True, eq=False)
class _Offering:
    """A density with places where chains begin, or a rough one; see `Blueprint.density`."""

    density: Density
    starts: Callable[[], np.ndarray] | None
    rough: Callable[[], Density] | None

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        return self.density(vector)


@dataclass(frozen=True, eq=False)
class _Prior:
    """Log density of the priors in the coordinates of the vector, and its gradient."""

    layout: MixtureLayout

    @cached_property
    def precision(self) -> np.ndarray:
        """1 where the vector has N(0, 1) for itself, else 0, (d,)."""
        found = np.zeros(self.layout.size)
        for name in ("centre", "slope", "gate"):
            if name in self.layout.places:
                found[self.layout.places[name]] = 1.0
        return found

    def __call__(self, vector: np.ndarray, log_weight: np.ndarray) -> tuple[float, np.ndarray]:
        at, gradient = self.layout.places, -self.precision * vector
        log_sigma = vector[at["log_sigma"]]
        square = np.exp(2 * log_sigma)
        height = 0.5 * float(gradient @ vector) + float(log_sigma.sum()) - 0.5 * float(square.sum())
        gradient[at["log_sigma"]] = 1 - square
        if "log_tau" in at:
            log_tau = float(vector[at["log_tau"].start])
            far = vector[at["deviation"]] * math.exp(-log_tau)
            length, above = float(far @ far), math.exp(2 * log_tau) / self.layout.slope_spread**2
            height += (1 - len(far)) * log_tau - 0.5 * (above + length)
            gradient[at["log_tau"].start] = 1 - len(far) - above + length
            gradient[at["deviation"]] = -math.exp(-log_tau) * far
        if "log_odds" in at:
            height += self._of_weights(vector, log_weight, gradient)
        return height, gradient

    def _of_weights(self, vector: np.ndarray, log_weight: np.ndarray, gradient: np.ndarray) -> float:
        """Of the weights, Dirichlet, in their log odds, and of the total concentration, Gamma(1, 1), in its logarithm."""
        layout, at, sum_of_logs = self.layout, self.layout.places, float(log_weight.sum())
        k, learned = layout.components, "log_total" in at
        total = math.exp(vector[at["log_total"].start]) if learned else k * float(layout.concentration)
        gradient[at["log_odds"]] = total / k - total * np.exp(log_weight[:-1])
        if not learned:
            return total / k * sum_of_logs
        gradient[at["log_total"]] = 1 + total * (digamma(total) - digamma(total / k) + sum_of_logs / k - 1)
        return float(gammaln(total) - k * gammaln(total / k) + total / k * sum_of_logs - total + math.log(total))


def _thinned(layout: MixtureLayout, weight: np.ndarray) -> Density:
    """The density of every so-manieth row, with more weight."""
    rows, weight = layout.rows, thinned(weight)
    kept = np.flatnonzero(weight > 0)
    cells, cell = np.unique(rows.cell[kept], return_inverse=True)
    fewer = MixtureRows(rows.columns[cells], rows.records[cells], cell.astype(np.uint32), rows.z[kept], np.arange(len(kept)))
    return mixture_density(replace(layout, rows=fewer), weight[kept])


def _starts(layout: MixtureLayout, weight: np.ndarray) -> np.ndarray:
    """Modes of the thinned density to which different beginnings lead: near enough for chains, and far enough apart to tell on them."""
    density = _thinned(layout, weight)
    modes = [mode_of(density, layout.size, begin) for begin in _beginnings(layout)]
    sound = [mode for mode in modes if np.exp(mode[layout.places["log_sigma"]]).min() > _NARROWEST] or modes
    best = max(sound, key=lambda mode: density(mode)[0])
    return np.array([_aligned(layout, mode, best) for mode in sound])


def _beginnings(layout: MixtureLayout) -> np.ndarray:
    """Where searches begin, (S, d)."""
    at, begun = layout.places, np.zeros((len(_STARTS), layout.size))
    for vector, (apart, first, last) in zip(begun, _STARTS, strict=True):
        vector[at["centre"]] = np.linspace(-apart, apart, layout.components)
        vector[at["log_sigma"]] = np.linspace(np.log(first), np.log(last), layout.components)
        if "log_tau" in at:
            vector[at["log_tau"]] = np.log(layout.slope_spread)
    return begun


def _aligned(layout: MixtureLayout, vector: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The components in the order of those of another vector that they are nearest to."""
    apart = ((layout.features(like)[:, None] - layout.features(vector)[None]) ** 2).sum(axis=2)
    return layout.relabelled(vector, linear_sum_assignment(apart)[1])
