"""Finite mixture of normal regressions, for the logarithm of income (Hu et al. 2022, section 2)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.special import log_softmax

from riskweighted.common.errors import InputError
from riskweighted.contract.distribution import is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Draw
from riskweighted.sampling.coordinates import free_normal
from riskweighted_models.mixture import (
    check_mixture,
    component_weights,
    label_free,
    slope_priors,
    slopes_graph,
    slopes_of,
    weights_of,
)
from riskweighted_models.mixture_layout import MixtureRows, mixture_rows
from riskweighted_models.mixture_posterior import MixtureLayout, mixture_density
from riskweighted_models.normal_graphs import GraphParts
from riskweighted_models.normal_parts import NormalParts
from riskweighted_models.raw_columns import ridge, root_of_inverse
from riskweighted_models.scaling import (
    ScaledRecords,
    ScaledResponse,
    StandardUnits,
    expected_masses,
)

__all__ = ["NormalMixture"]

_EXACT_UP_TO, _WORTH = 100_000, 0.9  # records; of the pairs that there are
_ROUNDED_TO = 0.01  # standard deviations, to which responses of a large file are rounded


@dataclass(frozen=True)
class NormalMixture(StandardUnits):
    """Finite mixture of normal regressions.

    In standard units z of the transformed response and the raw columns x of the design, centred
    (METHODS section 5.5; the paper's own supplement is not public, so this is a reconstruction)::

        z_i ~ sum_k weight_k N(centre_k + x_i' beta_k, sigma_k)
        centre_k ~ N(0, 1)       sigma_k ~ half-N(0, 1)
        beta_k = beta + tau delta_k, beta ~ N(0, 1), delta_k ~ N(0, 1), tau ~ half-N(slope_spread)
        weight ~ Dirichlet(concentration, ..., concentration)

    or with ``concentration="gamma"`` the truncated Dirichlet process Dirichlet(a/K, ..., a/K),
    a ~ Gamma(1, 1), of the weights.

    A slope is the effect of a level (columns that hold only 0 and 1), or of one standard deviation
    of a numeric predictor, in standard deviations of the response. With ``gating`` the weights
    depend on the predictors too, alike for every component::

        weight_ik  proportional to  weight_k exp(x_i' gate_k),      gate_k ~ N(0, 1)

    Each record's likelihood is weighted after its component is summed out. It is not truncated to
    `support`; draws and ``mass`` are.

    Parameters
    ----------
    formula : str
        ``"income ~ C(region) + C(age_band)"``.
    components : int, default 3
        K.
    transform : str, default "log"
    concentration : float or "gamma", default 5
        Per component; 1 is uniform over all weights. Below that a component can run empty: its
        parameters then follow the prior, and chains diverge.
    slope_spread : float, default 0.03
        Prior scale of tau: how far the slopes of the components may differ, in the units of a
        slope. On real data (401ksubs, K = 3) chains travelled slowly between tau near 0.02 and near
        0.1 with 0.02 (pairwise weights), and over a flat stretch with 0.1 (marginal).
    gating : bool, default False
        Whether the weights of the components depend on the predictors.
    exact : bool, default False
        Sample with every response as it is. Otherwise, of more than 100,000 records, with responses
        rounded to .01 standard deviations, where that leaves at least a tenth fewer different
        records; the diagnostics say how far off that is (``approximation``).
    transform_constant, location, scale, support
        See `StandardUnits`.
    """

    transform: str = "log"
    components: int = 3
    concentration: float | str = 5.0
    slope_spread: float = 0.03
    gating: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mixture(self.components, self.concentration, self.slope_spread)
        for name in ("gating", "exact"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, got {getattr(self, name)!r}")

    def build(self, prepared: ScaledResponse) -> Blueprint:
        """Priors and weighted likelihood; convergence is judged on what does not depend on the
        components' labels.
        """
        rows, p = self._rows(prepared), len(prepared.raw.unit)
        with pm.Model() as model:
            alpha = pm.Data("alpha", rows.weigh(np.ones(len(prepared.z))))
            weight = component_weights(self.components, self.concentration)
            centre = pm.Normal("centre", 0.0, 1.0, shape=self.components)
            sigma = pm.HalfNormal("sigma", 1.0, shape=self.components)
            theta = {"weight": weight, "centre": centre, "sigma": sigma}
            if p:
                theta |= {"slope": free_normal("slope", p)} | slope_priors(
                    self.components, p, self.slope_spread, free_normal
                )
            if self._gates(p):
                theta["gate"] = free_normal("gate", (self.components, p))
            parts = self._graph_parts(theta, prepared)
            share, each = pt.exp(parts.log_share), (rows.records / rows.records.sum())[:, None]
            overall = (share * parts.mean * each).sum()
            spread = (share * (sigma**2 + (parts.mean - overall) ** 2) * each).sum()
            pm.Deterministic("predictive_mean", overall)
            pm.Deterministic("predictive_sd", pt.sqrt(spread))
            total = (alpha * parts._replace(which=rows.cell).log_density(rows.z)).sum()
        # the kernel takes seven in the time of one in a graph
        terms = 1 + len(rows.z) * self.components // 7
        geometry = (lambda weights: self._geometry(weights, prepared)) if p else None
        layout = MixtureLayout(
            self.components, p, self.concentration, self.slope_spread, rows, self._gates(p)
        )
        sampled = replace(layout, rows=self._fewer(prepared, rows))
        return Blueprint(
            model,
            total,
            lambda weights: {"alpha": rows.weigh(weights)},
            label_free(self.components, p),
            terms,
            geometry,
            density=lambda weights: mixture_density(sampled, sampled.rows.weigh(weights)),
            layout=layout,
            exact=None
            if sampled.rows is rows
            else lambda weights: mixture_density(layout, rows.weigh(weights)),
            centred=lambda weights, centring: mixture_density(
                layout,
                rows.weigh(weights),
                expected_masses(prepared, centring, *prepared.raw.distinct),
            ),
        )

    def distribution(self, theta: Draw, prepared: ScaledResponse) -> ScaledRecords:
        """A mixture for each record."""
        columns, which = prepared.raw.distinct
        if is_symbolic(theta):
            return ScaledRecords(self._graph_parts(theta, prepared), prepared, self.support)
        mean = theta["centre"] + columns @ slopes_of(theta, self.components).T
        with np.errstate(divide="ignore"):
            log_share = np.log(weights_of(theta))[None]
        if "gate" in theta:
            log_share = log_softmax(log_share + columns @ theta["gate"].T, axis=1)
        parts = NormalParts(
            mean, np.asarray(theta["sigma"], dtype=float), log_share, which, self._bounds(prepared)
        )
        return ScaledRecords(parts, prepared, self.support)

    def _graph_parts(self, theta: Mapping[str, Any], prepared: ScaledResponse) -> GraphParts:
        """The same of expressions."""
        columns, which = prepared.raw.distinct
        mean = theta["centre"] + (
            pt.as_tensor(columns) @ slopes_graph(theta).T
            if columns.shape[1]
            else np.zeros((len(columns), 1))
        )
        log_share = pt.log(theta["weight"])[None] if "weight" in theta else pt.zeros((1, 1))
        if "gate" in theta:
            log_share = pt.special.log_softmax(
                log_share + pt.as_tensor(columns) @ theta["gate"].T, axis=1
            )
        return GraphParts(mean, theta["sigma"], log_share, which, self._bounds(prepared))

    @staticmethod
    def _rows(prepared: ScaledResponse) -> MixtureRows:
        """The distinct pairs of a design and a response."""
        return mixture_rows(prepared.raw.distinct, prepared.z)

    def _fewer(self, prepared: ScaledResponse, rows: MixtureRows) -> MixtureRows:
        """The pairs that are sampled with: of a large file those of rounded responses, where they
        are fewer.
        """
        if self.exact or len(prepared.z) <= _EXACT_UP_TO:
            return rows
        rounded = mixture_rows(
            prepared.raw.distinct, np.rint(prepared.z / _ROUNDED_TO) * _ROUNDED_TO
        )
        return rounded if len(rounded.z) < _WORTH * len(rows.z) else rows

    def _gates(self, predictors: int) -> bool:
        return self.gating and self.components > 1 and predictors > 0

    def _geometry(self, alpha: np.ndarray, prepared: ScaledResponse) -> dict[str, np.ndarray]:
        """Where the slopes of one weighted regression lie, and how deviations and gates are tied by
        the columns of that many records.
        """
        designs = prepared.raw.distinct
        mean, covariance, variance = ridge(prepared.raw.with_one, prepared.z, alpha)
        values = {"slope_centre": mean[1:], "slope_turn": np.linalg.cholesky(covariance[1:, 1:])}
        if self.components == 1:
            return values
        gram = designs.gram(designs.sums(alpha)) / self.components
        still, eye = np.zeros(len(gram)), np.eye(len(gram))
        values |= {
            "slope_deviation_centre": still,
            "slope_deviation_turn": root_of_inverse(self.slope_spread**2 * gram / variance + eye),
        }
        if self.gating:
            values |= {
                "gate_centre": still,
                "gate_turn": root_of_inverse(gram / self.components + eye),
            }
        return values
