"""The posterior of negative-binomial regressions as a function of one vector: what is sampled of
`NegativeBinomial`.

With mean mu and size phi the log probability of a count y is A(y, phi) - log y! + y log(mu) - (y +
phi) log(1 + mu / phi), where A(y, phi) = log Gamma(y + phi) - log Gamma(phi) - y log(phi) goes to 0
for a large phi. A depends on the count alone and the rest on the design, so that a row, which is a
pair of both, has only a sum; and where K = 1 not even that: weights by count and by design are
enough.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import Centring
from riskweighted.contract.synthesizer import Density, Draw
from riskweighted_models.common_length import CommonLength
from riskweighted_models.kernels.count_sums import count_mixture, logistic_parts, rises
from riskweighted_models.mixture_layout import ComponentVector, offer_starts

__all__ = ["CountLayout", "count_density", "expected_counts"]

_SCALE_OF_INVERSE_PHI = 5.0
_LARGEST = 300.0  # of |log phi|, beyond which there is no number
_MOST_CELLS = 5_000_000  # of counts and designs in a centring term
_LEAST_ORIGIN = 0.5  # of |log mean|
# how far apart intercepts stand, and the first and the last 1 / phi
_STARTS = ((0.8, 0.3, 0.3), (0.1, 0.05, 2.0), (1.5, 0.5, 0.1))


@dataclass(frozen=True, eq=False)
class CountLayout(ComponentVector):
    """The vector: between the parts that every mixture has the coordinates w of intercepts and
    common slopes, less their `origin`, and logarithms of 1 / phi.

    ``turn`` (p, p): slopes stand on the columns of ``rows`` times it. ``log_mean`` of the counts:
    all intercepts at the origin, since at w = 0 the likelihood is flat.
    """

    by_component: ClassVar[tuple[str, ...]] = ("intercept", "log_inverse_phi", "deviation")

    turn: np.ndarray
    log_mean: float

    @property
    def between(self) -> dict[str, int]:
        return {
            "intercept": self.components,
            "slope": self.predictors,
            "log_inverse_phi": self.components,
        }

    @cached_property
    def length(self) -> CommonLength:
        """The prior of intercepts and common slopes, and the coordinates that they are sampled
        in.
        """
        return CommonLength(self.components + self.predictors, nu=3.0)

    @cached_property
    def coefficient(self) -> slice:
        """Intercepts and common slopes."""
        start = self.places["intercept"].start
        return slice(start, start + self.length.count)

    @cached_property
    def origin(self) -> np.ndarray:
        """w (K + p,) where the vector is 0."""
        placed = np.zeros(self.length.count)
        placed[: self.components] = np.copysign(
            max(abs(self.log_mean), _LEAST_ORIGIN), self.log_mean
        )
        return self.length.vector(placed)

    @cached_property
    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct counts (D,), and which of them every row has, (R,) of uint32."""
        values, place = np.unique(self.rows.z, return_inverse=True)
        return values, place.astype(np.uint32)

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        coefficient = self.length.coefficients(vectors[:, self.coefficient] + self.origin)
        k = self.components
        named = {
            "inverse_phi": np.exp(vectors[:, self.places["log_inverse_phi"]]),
            "coefficient": coefficient,
        }
        named |= self.common_parameters(vectors)
        named |= {"intercept": coefficient[:, :k]} | (
            {"slope": coefficient[:, k:]} if self.predictors else {}
        )
        weight, at_centre = named.get("weight", np.ones((1, 1))), np.exp(named["intercept"])
        overall = (weight * at_centre).sum(axis=1)
        second = (weight * (at_centre + at_centre**2 * (1 + named["inverse_phi"]))).sum(axis=1)
        return named | {"predictive_mean": overall, "predictive_sd": np.sqrt(second - overall**2)}

    def vector(self, theta: Draw) -> np.ndarray:
        vector = self.common_vector(theta)
        vector[self.coefficient] = (
            self.length.vector(np.asarray(theta["coefficient"])) - self.origin
        )
        vector[self.places["log_inverse_phi"]] = np.log(theta["inverse_phi"])
        return vector

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        of_length = self.length.log_jacobian(vectors[:, self.coefficient] + self.origin)
        return np.asarray(
            of_length
            + vectors[:, self.places["log_inverse_phi"]].sum(axis=1)
            + self.common_log_jacobian(vectors)
        )


def count_density(
    layout: CountLayout, weight: np.ndarray, taken: np.ndarray | None = None
) -> Density:
    """The posterior for weights (R,) of the rows: from a vector (d,) to its log density, up to a
    constant, and gradient (d,).

    Less the centring term if it is given: sum of `taken` (m, Q) times P(count | design), counts 0,
    ..., Q - 1.
    """
    at, k, p = layout.places, layout.components, layout.predictors
    likelihood = (_Single if k == 1 else _Several)(layout, weight)
    any_used = bool((weight > 0).any()) or taken is not None

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        log_inverse_phi = vector[at["log_inverse_phi"]]
        if not np.abs(log_inverse_phi).max() < _LARGEST:
            return -np.inf, np.zeros(len(vector))
        log_weight = layout.log_weight(vector[None])[0]
        w = vector[layout.coefficient] + layout.origin
        height, gradient = _prior(layout, vector, log_weight)
        of_length, gradient[layout.coefficient], coefficient, pulled = layout.length(w)
        height += of_length
        if not any_used:
            return height, gradient
        eta = np.empty((k, len(layout.rows.columns)))
        eta[:] = coefficient[:k, None]
        if p:
            eta += layout.rows.blocks.linear(layout.slopes(vector, coefficient[k:]) @ layout.turn.T)
        value, by_eta, by_log_phi, by_share = likelihood(eta, -log_inverse_phi, log_weight)
        if taken is not None:
            off, *derivatives = _expected(taken, eta, -log_inverse_phi, log_weight)
            value -= off
            by_eta, by_log_phi, by_share = (
                by - of for by, of in zip((by_eta, by_log_phi, by_share), derivatives, strict=True)
            )
        by_coefficient = np.concatenate([by_eta.sum(axis=1), np.zeros(p)])
        if p:
            by_slope = layout.rows.blocks.pulled(by_eta) @ layout.turn
            by_coefficient[k:] = by_slope.sum(axis=0)
            if "deviation" in at:
                gradient[at["deviation"]] += by_slope.ravel()
        gradient[layout.coefficient] += pulled(by_coefficient)
        gradient[at["log_inverse_phi"]] -= by_log_phi
        if "log_odds" in at:
            gradient[at["log_odds"]] += (by_share - np.exp(log_weight) * by_share.sum())[:-1]
        return height + value, gradient

    return offer_starts(
        layout,
        weight,
        density,
        count_density,
        _beginnings,
        _finite,
        roughly=k > 1 and taken is None,
    )


def expected_counts(layout: CountLayout, centring: Centring, which: np.ndarray) -> np.ndarray:
    """What P(count | design) counts in the centring term, (m, Q), less what all counts above do,
    which is then a constant.

    InputError where counts and designs are too many to be summed over.
    """
    ends = centring.intervals.upper
    highest = int(np.ceil(ends[np.isfinite(ends)].max(initial=0.0)))
    sums = centring.sums(which, len(layout.rows.columns))
    if highest * len(sums) > _MOST_CELLS:
        raise InputError(
            f"{highest} counts of {len(sums)} different predictors are too many to be centred: "
            "valid are uncentred weights"
        )
    place = np.searchsorted(ends, np.arange(highest, dtype=float))
    return np.asarray((sums - sums[:, -1:])[:, place])


def _expected(
    taken: np.ndarray, eta: np.ndarray, log_phi: np.ndarray, log_weight: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """sum of `taken` (m, Q) times P(count | design), and its derivatives in log means (K, m), log
    phi (K,) and log weights (K,).
    """
    counts, mean, phi = np.arange(taken.shape[1], dtype=float), np.exp(eta), np.exp(log_phi)
    logs = np.empty((len(eta), *taken.shape))
    for k, log_share in enumerate(log_weight):
        of_count = gammaln(counts + phi[k]) - gammaln(phi[k]) - gammaln(counts + 1) + log_share
        total = np.logaddexp(eta[k], log_phi[k])
        logs[k] = (
            of_count + phi[k] * (log_phi[k] - total)[:, None] + np.outer(eta[k] - total, counts)
        )
    parts = taken * np.exp(logs)
    by_eta, by_log_phi = np.empty(eta.shape), np.empty(len(phi))
    for k, part in enumerate(parts):
        sums, moments = part.sum(axis=1), part @ counts
        by_eta[k] = moments - mean[k] / (mean[k] + phi[k]) * (moments + phi[k] * sums)
        change = part.sum(axis=0) @ (digamma(counts + phi[k]) - digamma(phi[k]))
        by_log_phi[k] = phi[k] * (
            change
            + sums @ (log_phi[k] - np.logaddexp(eta[k], log_phi[k]) + 1)
            - ((moments + phi[k] * sums) / (mean[k] + phi[k])).sum()
        )
    return float(parts.sum()), by_eta, by_log_phi, parts.sum(axis=(1, 2))


def _prior(
    layout: CountLayout, vector: np.ndarray, log_weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Log density of the priors in the coordinates of the vector, up to a constant, and its
    gradient: of all but the coefficients.
    """
    gradient, place = np.zeros(len(vector)), layout.places["log_inverse_phi"]
    square = np.exp(2 * vector[place]) / _SCALE_OF_INVERSE_PHI**2
    height = float((vector[place] - np.log1p(square)).sum())
    gradient[place] = 1 - 2 * square / (1 + square)
    return height + layout.common_prior(vector, log_weight, gradient), gradient


class _Single:
    """The weighted log-likelihood of one component: from log means (1, m), log phi (1,) and log
    weights (1,) to its value and derivatives in log means (1, m), log phi (1,) and log weights
    (1,)."""

    def __init__(self, layout: CountLayout, weight: np.ndarray) -> None:
        rows, (self.values, place) = layout.rows, layout.counted
        self.constant = float(weight @ gammaln(rows.z + 1))
        self.by_count = np.bincount(place, weights=weight, minlength=len(self.values))
        of_design = (
            np.bincount(rows.cell, weights=each, minlength=len(rows.columns))
            for each in (weight, weight * rows.z)
        )
        self.by_design, self.counts_by_design = of_design

    def __call__(
        self, eta: np.ndarray, log_phi: np.ndarray, log_weight: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        phi = np.exp(log_phi)
        (risen,), (change,) = rises(self.values, phi)
        (grown,), (share,) = logistic_parts(eta, log_phi)
        both = self.counts_by_design + phi * self.by_design
        value = (
            risen @ self.by_count + self.counts_by_design @ eta[0] - both @ grown - self.constant
        )
        by_log_phi = change @ self.by_count + both @ share - phi[0] * (self.by_design @ grown)
        return (
            float(value),
            (self.counts_by_design - both * share)[None],
            np.array([by_log_phi]),
            np.zeros(1),
        )


class _Several:
    """The same of a mixture, whose terms meet in every row."""

    def __init__(self, layout: CountLayout, weight: np.ndarray) -> None:
        used, (values, place) = weight > 0, layout.counted
        self.fixed = weight[used], layout.rows.cell[used], place[used], values
        self.constant = float(weight @ gammaln(layout.rows.z + 1))

    def __call__(
        self, eta: np.ndarray, log_phi: np.ndarray, log_weight: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        value, *slopes = count_mixture(*self.fixed, eta, log_phi, log_weight)
        return value - self.constant, slopes[0], slopes[1], slopes[2]


def _finite(parts: Mapping[str, np.ndarray]) -> bool:
    return bool(all(np.isfinite(part).all() for part in parts.values()))


def _beginnings(layout: CountLayout) -> np.ndarray:
    """Where searches begin, (S, d)."""
    at, k = layout.places, layout.components
    begun = np.zeros((len(_STARTS), layout.size))
    middle = layout.length.coefficients(layout.origin[None])[0]
    for vector, (apart, first, last) in zip(begun, _STARTS, strict=True):
        placed = middle.copy()
        placed[:k] += np.linspace(-apart, apart, k)
        vector[layout.coefficient] = layout.length.vector(placed) - layout.origin
        vector[at["log_inverse_phi"]] = np.linspace(np.log(first), np.log(last), k)
        if "log_tau" in at:
            vector[at["log_tau"]] = np.log(layout.slope_spread)
    return begun
