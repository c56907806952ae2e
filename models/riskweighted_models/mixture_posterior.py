"""The posterior of a mixture of normal regressions as a function of one vector: what is sampled of
`NormalMixture`.

Where components are all but interchangeable, as under weights that leave few records much, the data
still say what all of them come to. So the vector holds the mean, the slopes and the variance of the
whole, and of the components how far they are from each other: a change of their weights then moves
nothing that is known well. The change of coordinates has Jacobian 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riskweighted.contract.synthesizer import Density, Draw
from riskweighted_models.kernels.mixture_sums import mixture_sum
from riskweighted_models.kernels.normals import interval_sum
from riskweighted_models.kernels.wholes import add_prior, pull_back, take_apart
from riskweighted_models.mixture import slopes_of, weights_of
from riskweighted_models.mixture_layout import (
    UNHEARD_OF,
    ComponentVector,
    log_normalised,
    offer_starts,
)

__all__ = ["MixtureLayout", "mixture_density"]

_NONE = slice(0)
_NARROWEST = 0.02  # sd of a component; below it the search ran into a single heaped value
# how far apart centres stand, and the first and the last sd
_STARTS = ((0.8, 0.6, 0.6), (0.0, 0.4, 1.2), (0.5, 1.1, 0.4))


@dataclass(frozen=True, eq=False)
class MixtureLayout(ComponentVector):
    """The vector: between the parts that every mixture has centres and log sds, each as K - 1
    distances from the last component's and that of the whole, and slopes of the whole; after them
    gates. `apart` gives it component by component.

    ``gating``: whether there are gates; predictive moments are means over the records of ``rows``.
    """

    by_component: ClassVar[tuple[str, ...]] = ("centre", "log_sigma", "deviation", "gate")

    gating: bool

    @property
    def between(self) -> dict[str, int]:
        return {"centre": self.components, "log_sigma": self.components, "slope": self.predictors}

    @property
    def after(self) -> dict[str, int]:
        return {"gate": self.components * self.predictors if self.gating else 0}

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        at, of_components = self.places, self._of_components(vectors)
        named = {"centre": of_components["centre"], "sigma": np.exp(of_components["log_sigma"])}
        if "slope" in at:
            named["slope"] = of_components["slope"]
        named |= self.common_parameters(vectors)
        if "gate" in at:
            named["gate"] = vectors[:, at["gate"]].reshape(-1, self.components, self.predictors)
        moments = np.array(
            [
                self._moments({name: values[row] for name, values in named.items()})
                for row in range(len(vectors))
            ]
        )
        return named | {"predictive_mean": moments[:, 0], "predictive_sd": moments[:, 1]}

    def vector(self, theta: Draw) -> np.ndarray:
        vector, at = self.common_vector(theta), self.places
        vector[at["centre"]], vector[at["log_sigma"]] = theta["centre"], np.log(theta["sigma"])
        for name in ("slope", "gate"):
            if name in at:
                vector[at[name]] = np.ravel(theta[name])
        return self.together(vector)

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        return np.asarray(
            self._of_components(vectors)["log_sigma"].sum(axis=1)
            + self.common_log_jacobian(vectors)
        )

    def apart(self, vector: np.ndarray) -> np.ndarray:
        """See `ComponentVector`: with the centre and the log sd of every component, and the slopes
        that all deviate from.
        """
        components = vector.copy()
        take_apart(*self.parts(components))
        return components

    def together(self, vector: np.ndarray) -> np.ndarray:
        whole, at, weight = vector.copy(), self.places, np.exp(self.log_weight(vector[None])[0])
        centre, log_sigma = vector[at["centre"]], vector[at["log_sigma"]]
        whole[at["centre"]] = np.append(centre[:-1] - centre[-1], weight @ centre)
        whole[at["log_sigma"]] = np.append(
            log_sigma[:-1] - log_sigma[-1], 0.5 * np.log(weight @ np.exp(2 * log_sigma))
        )
        if "deviation" in at:
            whole[at["slope"]] = vector[at["slope"]] + weight @ vector[at["deviation"]].reshape(
                self.components, -1
            )
        return whole

    def parts(
        self, vector: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Views of log odds, centres, log sds, slopes and deviations (K, p), for `take_apart`;
        empty what the vector lacks.
        """
        names = ("log_odds", "centre", "log_sigma", "slope", "deviation")
        odds, centre, log_sigma, slope, deviation = (
            vector[self.places.get(name, _NONE)] for name in names
        )
        return (
            odds,
            centre,
            log_sigma,
            slope,
            deviation.reshape(self.components, -1 if len(deviation) else 0),
        )

    def _of_components(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """Centres and log sds (S, K) of the components, and the slopes (S, p) that theirs deviate
        from, at vectors (S, d).
        """
        at = self.places
        weight = np.exp(self.log_weight(vectors))
        far, wider = (
            np.concatenate([vectors[:, at[name]][:, :-1], np.zeros((len(vectors), 1))], axis=1)
            for name in ("centre", "log_sigma")
        )
        named = {
            "centre": far + vectors[:, at["centre"]][:, -1:] - (weight * far).sum(axis=1)[:, None],
            "log_sigma": wider
            + vectors[:, at["log_sigma"]][:, -1:]
            - 0.5 * np.log((weight * np.exp(2 * wider)).sum(axis=1))[:, None],
        }
        if "slope" in at:
            named["slope"] = vectors[:, at["slope"]]
        if "deviation" in at:
            deviation = vectors[:, at["deviation"]].reshape(len(vectors), self.components, -1)
            named["slope"] = named["slope"] - (weight[:, :, None] * deviation).sum(axis=1)
        return named

    def _moments(self, theta: Draw) -> tuple[float, float]:
        """Mean and sd of the responses that one draw predicts for the records together."""
        slopes, centre, rows = slopes_of(theta, self.components), theta["centre"], self.rows
        # columns are centred, so means over the records are those at x = 0, and their squares need
        # x x' alone
        if "gate" not in theta:
            share = weights_of(theta)
            among = np.einsum("kp,pq,kq->k", slopes, rows.covariance, slopes)
            overall = float(share @ centre)
            return overall, float(
                np.sqrt(share @ (theta["sigma"] ** 2 + (centre - overall) ** 2 + among))
            )
        mean = centre[:, None] + rows.blocks.linear(slopes)
        share = np.exp(
            log_normalised(np.log(weights_of(theta))[:, None] + rows.blocks.linear(theta["gate"]))
        )
        each = rows.records / rows.records.sum()
        overall = float((share * mean).sum(axis=0) @ each)
        return overall, float(
            np.sqrt(
                (share * (theta["sigma"][:, None] ** 2 + (mean - overall) ** 2)).sum(axis=0) @ each
            )
        )


def mixture_density(
    layout: MixtureLayout, weight: np.ndarray, taken: tuple[np.ndarray, np.ndarray] | None = None
) -> Density:
    """The posterior for weights (R,) of the rows: from a vector (d,) to its log density, up to a
    constant, and gradient (d,).

    Less the centring term if it is given: ends (G + 1,) of intervals, and what the mass of each
    counts in each design, (m, G).
    """
    at, rows, k, p = layout.places, layout.rows, layout.components, layout.predictors
    used, gate = weight > 0, at.get("gate", _NONE)
    log_tau = at["log_tau"].start if "log_tau" in at else None
    bounded = [at[name].start for name in ("log_tau", "log_total") if name in at]
    # 0: learned, and added apart
    concentration = (
        0.0 if isinstance(layout.concentration, str) or k == 1 else float(layout.concentration)
    )
    fixed = (rows.z[used], weight[used], rows.cell[used])
    any_used, m = bool(used.any()), len(rows.columns)

    def density(sampled: np.ndarray) -> tuple[float, np.ndarray]:
        vector, gradient = sampled.copy(), np.zeros(len(sampled))
        if any(abs(vector[place]) > UNHEARD_OF for place in bounded):
            return -np.inf, gradient  # a search that steps there is to turn back
        parts, slopes = layout.parts(vector), layout.parts(gradient)
        log_weight = take_apart(*parts)
        tau = 0.0 if log_tau is None else vector[log_tau]
        height, by_log_tau = add_prior(
            parts,
            vector[gate],
            log_weight,
            concentration,
            tau,
            layout.slope_spread,
            slopes,
            gradient[gate],
        )
        if log_tau is not None:
            gradient[log_tau] = by_log_tau
        if "log_total" in at:
            height += layout.of_weights(vector, log_weight, gradient)
        height += likelihood(vector, log_weight, gradient)
        pull_back(log_weight, layout.parts(sampled), slopes)
        return height, gradient

    def likelihood(vector: np.ndarray, log_weight: np.ndarray, gradient: np.ndarray) -> float:
        """The weighted log-likelihood of components; its derivatives are added to the gradient
        (d,).
        """
        if not any_used and taken is None:
            return 0.0
        mean = np.empty((k, m))
        mean[:] = vector[at["centre"]][:, None]
        if p:
            mean += rows.blocks.linear(layout.slopes(vector, vector[at["slope"]]))
        log_share = log_weight[:, None]
        if "gate" in at:
            log_share = log_normalised(
                log_share + rows.blocks.linear(vector[at["gate"]].reshape(k, p))
            )
        sd = np.exp(vector[at["log_sigma"]])
        value, by_mean, by_log_sd, by_share = mixture_sum(*fixed, mean, sd, log_share)
        if taken is not None:
            off, *derivatives = interval_sum(*taken, mean, sd, log_share)
            value -= off
            by_mean, by_log_sd, by_share = (
                by - of for by, of in zip((by_mean, by_log_sd, by_share), derivatives, strict=True)
            )
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
        return value

    return offer_starts(
        layout, weight, density, mixture_density, _beginnings, _wide, roughly=taken is None
    )


def _wide(parts: Mapping[str, np.ndarray]) -> bool:
    """Whether no component stands on a single heaped value."""
    return bool(np.exp(parts["log_sigma"]).min() > _NARROWEST)


def _beginnings(layout: MixtureLayout) -> np.ndarray:
    """Where searches begin, (S, d)."""
    at, begun = layout.places, np.zeros((len(_STARTS), layout.size))
    for vector, (apart, first, last) in zip(begun, _STARTS, strict=True):
        vector[at["centre"]] = np.linspace(-apart, apart, layout.components)
        vector[at["log_sigma"]] = np.linspace(np.log(first), np.log(last), layout.components)
        if "log_tau" in at:
            vector[at["log_tau"]] = np.log(layout.slope_spread)
    return np.array([layout.together(vector) for vector in begun])
