"""What the vectors of the two finite mixtures share: weights and slopes of components, their
priors, and where chains begin.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln

from riskweighted.contract.synthesizer import Density, Draw
from riskweighted.design.distinct import Distinct
from riskweighted.sampling.laplace import DensityWithStarts, ScaleMixtureDensity, mode_of
from riskweighted_models.column_blocks import ColumnBlocks, column_blocks
from riskweighted_models.thinning import ROUGH_ABOVE, thin_weights

__all__ = [
    "UNHEARD_OF",
    "ComponentVector",
    "MixtureRows",
    "log_normalised",
    "mixture_rows",
    "offer_starts",
    "separate_modes",
]

UNHEARD_OF = 300.0  # of the logarithm of a scale: beyond it its square is no number
_SAME = 0.05  # of every part of a vector: no further apart are two ends of one search


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """What the likelihood depends on: distinct pairs of a design and a response. Confidential.

    ``columns`` (m, p): the distinct designs, and how many ``records`` (m,) have each; ``cell`` (R,)
    of uint32, increasing: the design of every pair, and ``z`` (R,) its response; ``which`` (n,):
    the pair of each record.
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
        return np.asarray(
            self.columns.T @ (self.records[:, None] * self.columns) / self.records.sum()
        )

    def weigh(self, alpha: np.ndarray) -> np.ndarray:
        """Sums of alpha (n,) over the records of each pair, (R,)."""
        return np.bincount(self.which, weights=alpha, minlength=len(self.z))

    def thinned(self, weight: np.ndarray) -> "tuple[MixtureRows, np.ndarray]":
        """Every so-manieth row of those with weight (R,), each with more of it, and their
        weights.
        """
        weight = thin_weights(weight)
        kept = np.flatnonzero(weight > 0)
        cells, cell = np.unique(self.cell[kept], return_inverse=True)
        fewer = MixtureRows(
            self.columns[cells],
            self.records[cells],
            cell.astype(np.uint32),
            self.z[kept],
            np.arange(len(kept)),
        )
        return fewer, weight[kept]


def mixture_rows(designs: Distinct, z: np.ndarray) -> MixtureRows:
    """Rows of n records, of their designs and responses (n,)."""
    columns, design = designs
    order = np.lexsort((z, design))
    begins = np.ones(len(z), dtype=bool)
    begins[1:] = (np.diff(design[order]) != 0) | (np.diff(z[order]) != 0)
    which = np.empty(len(z), dtype=np.int64)
    which[order] = np.cumsum(begins) - 1
    first = order[begins]
    records = np.bincount(design, minlength=len(columns))
    return MixtureRows(columns, records, design[first].astype(np.uint32), z[first], which)


@dataclass(frozen=True, eq=False)
class ComponentVector:
    """The vector of a mixture of K regressions on p columns: K - 1 log odds of the weights, log of
    the total concentration, what its own class puts `between`, log tau and the deviations of the
    slopes (tau delta), and what it puts `after`, as far as the model has them.

    ``components`` K; ``predictors`` p; ``concentration`` a number or "gamma"; ``slope_spread``;
    ``rows`` of the data.
    """

    # parts of the vector that hold a row for each component
    by_component: ClassVar[tuple[str, ...]]

    components: int
    predictors: int
    concentration: float | str
    slope_spread: float
    rows: MixtureRows

    @property
    def between(self) -> dict[str, int]:
        """Sizes of parts by name."""
        raise NotImplementedError

    @property
    def after(self) -> dict[str, int]:
        """Sizes of parts by name, of a mixture with predictors."""
        return {}

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where each part stands."""
        k, p = self.components, self.predictors
        sizes = {
            "log_odds": k - 1,
            "log_total": int(k > 1 and self.concentration == "gamma"),
            **self.between,
        }
        if k > 1 and p:
            sizes |= {"log_tau": 1, "deviation": k * p, **self.after}
        ends = np.cumsum(list(sizes.values()))
        return {
            name: slice(end - size, end)
            for (name, size), end in zip(sizes.items(), ends.tolist(), strict=True)
            if size
        }

    @property
    def size(self) -> int:
        return int(max(place.stop for place in self.places.values()))

    def log_weight(self, vectors: np.ndarray) -> np.ndarray:
        """Logarithms of the components' weights, (S, K)."""
        last = np.zeros((len(vectors), 1))
        if self.components == 1:
            return last
        odds = np.concatenate([vectors[:, self.places["log_odds"]], last], axis=1)
        return log_normalised(odds.T).T

    def common_parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """What `Layout.parameters` gives of the parts that both mixtures have."""
        at, named, exp = self.places, {}, np.exp
        if "log_odds" in at:
            named["weight"] = exp(self.log_weight(vectors))
        if "log_total" in at:
            named["total_concentration"] = exp(vectors[:, at["log_total"].start])
        if "log_tau" in at:
            named["slope_spread"] = exp(vectors[:, at["log_tau"].start])
            deviation = vectors[:, at["deviation"]] / named["slope_spread"][:, None]
            named["slope_deviation"] = deviation.reshape(-1, self.components, self.predictors)
        return named

    def common_vector(self, theta: Draw) -> np.ndarray:
        """`Layout.vector` with the parts that both mixtures have, and 0 elsewhere."""
        vector, at = np.zeros(self.size), self.places
        if "log_odds" in at:
            vector[at["log_odds"]] = np.log(theta["weight"][:-1]) - np.log(theta["weight"][-1])
        if "log_total" in at:
            vector[at["log_total"]] = np.log(theta["total_concentration"])
        if "log_tau" in at:
            vector[at["log_tau"]] = np.log(theta["slope_spread"])
            vector[at["deviation"]] = np.ravel(theta["slope_spread"] * theta["slope_deviation"])
        return vector

    def common_log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        """What `Layout.log_jacobian` has of these parts, (S,)."""
        at, total = self.places, np.zeros(len(vectors))
        if "log_odds" in at:
            total = total + self.log_weight(vectors).sum(axis=1)
        if "log_total" in at:
            total = total + vectors[:, at["log_total"].start]
        if "log_tau" in at:
            total = (
                total + (1 - self.components * self.predictors) * vectors[:, at["log_tau"].start]
            )
        return total

    def common_prior(
        self, vector: np.ndarray, log_weight: np.ndarray, gradient: np.ndarray
    ) -> float:
        """Log density of the priors of these parts, up to a constant; its derivatives go into
        `gradient` (d,).
        """
        height, at = 0.0, self.places
        if any(
            abs(vector[at[name].start]) > UNHEARD_OF
            for name in ("log_tau", "log_total")
            if name in at
        ):
            return -math.inf  # a search that steps there is to turn back
        if "log_tau" in at:
            log_tau = float(vector[at["log_tau"].start])
            far = vector[at["deviation"]] * math.exp(-log_tau)
            length, above = float(far @ far), math.exp(2 * log_tau) / self.slope_spread**2
            height += (1 - len(far)) * log_tau - 0.5 * (above + length)
            gradient[at["log_tau"].start] = 1 - len(far) - above + length
            gradient[at["deviation"]] = -math.exp(-log_tau) * far
        return (
            height + self.of_weights(vector, log_weight, gradient) if "log_odds" in at else height
        )

    def of_weights(self, vector: np.ndarray, log_weight: np.ndarray, gradient: np.ndarray) -> float:
        """Of the weights, Dirichlet, in their log odds, and of the total concentration, Gamma(1,
        1), in its logarithm.
        """
        at, k, sum_of_logs = self.places, self.components, float(log_weight.sum())
        learned = "log_total" in at
        total = (
            math.exp(vector[at["log_total"].start]) if learned else k * float(self.concentration)
        )
        gradient[at["log_odds"]] = total / k - total * np.exp(log_weight[:-1])
        if not learned:
            return total / k * sum_of_logs
        gradient[at["log_total"]] = 1 + total * (
            digamma(total) - digamma(total / k) + sum_of_logs / k - 1
        )
        return float(
            gammaln(total)
            - k * gammaln(total / k)
            + total / k * sum_of_logs
            - total
            + math.log(total)
        )

    def slopes(self, vector: np.ndarray, common: np.ndarray) -> np.ndarray:
        """Slopes (K, p) of the components, from the common ones (p,) and their deviations."""
        slopes = np.empty((self.components, self.predictors))
        slopes[:] = common
        if "deviation" in self.places:
            slopes += vector[self.places["deviation"]].reshape(slopes.shape)
        return slopes

    def apart(self, vector: np.ndarray) -> np.ndarray:
        """The vector with what each component has for itself in ``by_component``: here the same."""
        return vector

    def together(self, vector: np.ndarray) -> np.ndarray:
        """The inverse of `apart`."""
        return vector

    def relabelled(self, vector: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The same mixture with its components in another order (K,)."""
        vector, at = self.apart(vector), self.places
        ordered = vector.copy()
        log_weight = self.log_weight(vector[None])[0][order]
        ordered[at["log_odds"]] = log_weight[:-1] - log_weight[-1]
        for name in self.by_component:
            if name in at:
                ordered[at[name]] = vector[at[name]].reshape(self.components, -1)[order].ravel()
        return self.together(ordered)

    def features(self, vector: np.ndarray) -> np.ndarray:
        """By what components are told apart: the first two parts that they have each, and their log
        weights, (K, 3).
        """
        parts, at = self.apart(vector), self.places
        first, second = (parts[at[name]] for name in self.by_component[:2])
        return np.column_stack([first, second, self.log_weight(vector[None])[0]])


def log_normalised(log_shares: np.ndarray) -> np.ndarray:
    """Logarithms (K, m) less those of their sums over K."""
    top = log_shares.max(axis=0)
    return np.asarray(log_shares - (top + np.log(np.exp(log_shares - top).sum(axis=0))))


def offer_starts(
    layout: ComponentVector,
    weight: np.ndarray,
    density: Density,
    of_rows: Callable[[Any, np.ndarray], Density],
    beginnings: Callable[[Any], np.ndarray],
    sound: Callable[[Mapping[str, np.ndarray]], bool],
    roughly: bool = True,
) -> Density:
    """The density with what `Blueprint.density` may offer: `of_rows` makes it of a layout, whose
    rows are thinned once, and of weights.
    """

    @cache
    def rough() -> Density:
        rows, more = layout.rows.thinned(weight)
        return of_rows(replace(layout, rows=rows), more)

    def starts() -> np.ndarray:
        return separate_modes(layout, rough(), beginnings(layout), sound)

    at = layout.places
    offered = (
        starts if layout.components > 1 else None,
        rough if roughly and (weight > 0).sum() > ROUGH_ABOVE else None,
    )
    if "log_tau" not in at:
        return DensityWithStarts(density, *offered)
    unit = np.ones(at["deviation"].stop - at["deviation"].start)
    return ScaleMixtureDensity(
        density, *offered, log_scale=at["log_tau"].start, scaled=at["deviation"], unit=unit
    )


def separate_modes(
    layout: ComponentVector,
    density: Density,
    beginnings: np.ndarray,
    sound: Callable[[Mapping[str, np.ndarray]], bool],
) -> np.ndarray:
    """The different modes of a density to which beginnings (S, d) lead, of those that are sound if
    any is, with labels like the highest's.

    Of a thinned density they are near enough for chains, and far enough apart to tell on them.
    `sound` is asked of the parts of a vector.
    """
    modes = [mode_of(density, layout.size, begin) for begin in beginnings]
    kept = [
        mode
        for mode in modes
        if sound({name: layout.apart(mode)[place] for name, place in layout.places.items()})
    ] or modes
    ordered = sorted(kept, key=lambda mode: -density(mode)[0])
    different = [ordered[0]]
    for mode in ordered[1:]:
        aligned = _aligned(layout, mode, ordered[0])
        if not any(np.allclose(aligned, other, atol=_SAME) for other in different):
            different.append(aligned)
    return np.array(different)


def _aligned(layout: ComponentVector, vector: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The components in the order of those of another vector that they are nearest to."""
    apart = ((layout.features(like)[:, None] - layout.features(vector)[None]) ** 2).sum(axis=2)
    return layout.relabelled(vector, linear_sum_assignment(apart)[1])
