"""Negative-binomial regression and its finite mixture, for counts (Hu et al. 2022, section 2.4)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from scipy.special import betainc, betaincc, gammaln, logsumexp, xlogy

from riskweighted.common.errors import InputError
from riskweighted.contract.distribution import cached_on_arrays, is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Draw
from riskweighted.design.design import Design, build_design, response_values
from riskweighted.design.distinct import Distinct
from riskweighted.design.formulas import response_name
from riskweighted_models.common_scale import common_scale_coefficients
from riskweighted_models.count_posterior import CountLayout, count_density, expected_counts
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
from riskweighted_models.normal_parts import draw_component
from riskweighted_models.scaling import OfFormula

__all__ = ["DistinctCounts", "NegativeBinomial"]


class DistinctCounts(NamedTuple):
    """The distinct pairs of count and predictors: ``counts`` (R,) and ``cell`` (R,), the row of
    ``whitened`` (m, p) that each has; ``which`` (n,): each record's pair."""

    counts: np.ndarray
    cell: np.ndarray
    whitened: np.ndarray
    which: np.ndarray
    design: Design

    def at(self, frame: pd.DataFrame) -> "DistinctCounts":
        """Other rows on the confidential design; without the response every row stands alone, with
        the count NaN.
        """
        design = self.design.at(frame)
        if response_name(design.formula) in frame.columns:
            return _distinct(_checked_counts(design.formula, design.response(frame)), design)
        rows, which = design.distinct
        return DistinctCounts(
            design.response(frame), which, rows @ design.turn, np.arange(len(frame)), design
        )


def _checked_counts(formula: str, values: np.ndarray) -> np.ndarray:
    """The values (n,), once they are whole and not negative."""
    negative, fractional = int((values < 0).sum()), int((values != np.rint(values)).sum())
    if negative or fractional:
        raise InputError(
            f"{response_name(formula)!r} must hold whole counts >= 0: "
            f"{negative} of {len(values)} records are negative, {fractional} fractional"
        )
    return values


def _distinct(values: np.ndarray, design: Design) -> DistinctCounts:
    rows = mixture_rows(design.distinct, values)
    return DistinctCounts(rows.z, rows.cell, rows.columns @ design.turn, rows.which, design)


@dataclass(frozen=True)
class NegativeBinomial(OfFormula):
    """Negative-binomial regression (K = 1, the paper's synthesizer) or a mixture of K of them.

    NB2: variance mu + mu^2/phi. With whitened predictors x (METHODS section 5, the authors'
    priors)::

        y_i ~ sum_k weight_k NB(exp(intercept_k + x_i' beta_k), phi_k)
        1/phi_k ~ half-Cauchy(5)
        intercept_k, beta ~ N(0, sigma_beta), sigma_beta ~ half-t(3, scale 1)
        beta_k = beta + tau delta_k, delta_k ~ N(0, 1), tau ~ half-N(slope_spread)      (K >= 2)
        weight ~ Dirichlet(concentration, ...)                                          (K >= 2)

    sigma_beta is summed out (`riskweighted_models.common_scale`), so a fit holds no draws of it.

    Records of equal count and predictors have equal likelihood, so their weights are summed: exact,
    and without covariates its cost is that of the distinct counts.

    Parameters
    ----------
    formula : str
        ``"employees ~ 1"``.
    components : int, default 1
        K.
    concentration : float or "gamma", default 5
        Of the component weights. Smaller values let a component run empty; its phi and mean then
        fall back on heavy-tailed priors, where chains diverged on the paper's simulated data.
    slope_spread
        See `NormalMixture`.
    """

    probability_mass: ClassVar[bool] = True
    data_dependent: ClassVar[tuple[str, ...]] = ()

    components: int = 1
    concentration: float | str = 5.0
    slope_spread: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mixture(self.components, self.concentration, self.slope_spread)

    def prepare(self, data: pd.DataFrame) -> DistinctCounts:
        """Check the counts and find the distinct pairs of count and predictors."""
        values = _checked_counts(self.formula, response_values(self.formula, data))
        return _distinct(values, build_design(self.formula, data))

    def build(self, prepared: DistinctCounts) -> Blueprint:
        """Priors and weighted likelihood; convergence is judged on what does not depend on the
        components' labels.
        """
        m, p = len(prepared.counts), prepared.whitened.shape[1]

        def weigh(alpha: np.ndarray) -> dict[str, np.ndarray]:
            return {"alpha": np.bincount(prepared.which, weights=alpha, minlength=m)}

        with pm.Model() as model:
            alpha = pm.Data("alpha", weigh(np.ones(len(prepared.which)))["alpha"])
            weight = component_weights(self.components, self.concentration)
            inverse_phi = pm.HalfCauchy("inverse_phi", 5.0, shape=self.components)
            coefficient = common_scale_coefficients("coefficient", self.components + p, nu=3.0)
            intercept = pm.Deterministic("intercept", coefficient[: self.components])
            theta = {"intercept": intercept, "inverse_phi": inverse_phi, "weight": weight}
            if p:
                theta |= {"slope": pm.Deterministic("slope", coefficient[self.components :])}
                theta |= slope_priors(self.components, p, self.slope_spread, _normal)
            each = self.distribution(theta, prepared).of_pairs(prepared.counts, prepared.cell)
            at_centre = pt.exp(intercept)
            overall = (weight * at_centre).sum()
            second = (weight * (at_centre + at_centre**2 * (1 + inverse_phi))).sum()
            pm.Deterministic("predictive_mean", overall)
            pm.Deterministic("predictive_sd", pt.sqrt(second - overall**2))
            total = (alpha * each).sum()
        layout = self._layout(prepared)
        return Blueprint(
            model,
            total,
            weigh,
            label_free(self.components, p),
            1 + m * self.components // 7,  # as of `NormalMixture`
            density=lambda alpha: count_density(layout, weigh(alpha)["alpha"]),
            layout=layout,
            centred=lambda alpha, centring: count_density(
                layout,
                weigh(alpha)["alpha"],
                expected_counts(layout, centring, prepared.cell[prepared.which]),
            ),
        )

    def _layout(self, prepared: DistinctCounts) -> CountLayout:
        """What the vector that is sampled stands for."""
        design, rows = prepared.design, prepared.design.distinct
        held = MixtureRows(rows.rows, rows.counts, prepared.cell, prepared.counts, prepared.which)
        mean = max(float(self.response(prepared).mean()), 0.5 / len(prepared.which))
        shared = self.components, rows.rows.shape[1], self.concentration, self.slope_spread
        return CountLayout(*shared, held, design.turn, float(np.log(mean)))

    def response(self, prepared: DistinctCounts) -> np.ndarray:
        return np.asarray(prepared.counts[prepared.which])

    def from_response(self, responses: np.ndarray, prepared: DistinctCounts) -> np.ndarray:
        """Counts are modelled as they are, (m,)."""
        return responses

    def distribution(self, theta: Draw, prepared: DistinctCounts) -> Any:
        """A mixture for each record: `CountRecords`, or `CountGraph` of expressions."""
        if is_symbolic(theta):
            shift = (
                pt.as_tensor(prepared.whitened) @ slopes_graph(theta).T
                if "slope" in theta
                else np.zeros((len(prepared.whitened), 1))
            )
            weight = theta["weight"] if "weight" in theta else pt.ones(1)
            return CountGraph(
                pt.exp(theta["intercept"] + shift), 1 / theta["inverse_phi"], weight, prepared
            )
        mean: np.ndarray = np.exp(
            theta["intercept"] + prepared.whitened @ slopes_of(theta, self.components).T
        )
        return CountRecords(mean, 1 / theta["inverse_phi"], weights_of(theta), prepared)


class CountRecords(NamedTuple):
    """Mixtures of negative-binomial counts: see `Records`. ``mean`` (m, K) of the designs; ``phi``,
    ``weight`` (K,).
    """

    mean: np.ndarray
    phi: np.ndarray
    weight: np.ndarray
    prepared: DistinctCounts

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log p(y_i | theta); -inf for what is no count."""
        counts, cell, which = _pairs(self.prepared, y)
        mean, phi, count = self.mean[cell], self.phi, counts[:, None]
        with np.errstate(divide="ignore"):
            by_component = gammaln(count + phi) - gammaln(phi) - gammaln(count + 1)
            by_component = (
                by_component + xlogy(phi, phi / (mean + phi)) + xlogy(count, mean / (mean + phi))
            )
            if len(phi) > 1:
                by_component = logsumexp(by_component + np.log(self.weight), axis=1, keepdims=True)
        each = np.where(
            (counts < 0) | (counts != np.rint(counts)),
            np.where(np.isnan(counts), np.nan, -np.inf),
            by_component[:, 0],
        )
        return np.asarray(each[which])

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        ends = _distinct_ends(self.prepared, lower, upper)
        cdf, sf = _tails(ends.end, self.mean[ends.design], self.phi)
        below, last = ends.below, ends.last
        # of the tails that are near
        by_component = np.where(cdf[below] < 0.5, cdf[last] - cdf[below], sf[below] - sf[last])
        return np.asarray((np.maximum(by_component, 0.0) @ self.weight)[ends.of])

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """New counts: a gamma rate, then Poisson."""
        which = self.prepared.cell[self.prepared.which]
        component = draw_component(np.log(self.weight)[None], len(which), rng)
        phi = self.phi[component]
        rate = rng.gamma(phi, self.mean[which, component] / phi)
        return np.asarray(np.where(rate < 1e15, rng.poisson(np.minimum(rate, 1e15)), np.rint(rate)))


class CountGraph(NamedTuple):
    """The same of expressions."""

    mean: Any
    phi: Any
    weight: Any
    prepared: DistinctCounts

    def log_density(self, y: np.ndarray) -> Any:
        counts, cell, which = _pairs(self.prepared, y)
        return self.of_pairs(counts, cell)[which]

    def of_pairs(self, counts: np.ndarray, cell: np.ndarray) -> Any:
        """log p of counts (R,) under designs (R,)."""
        by_component = pm.logp(
            pm.NegativeBinomial.dist(mu=self.mean[cell], alpha=self.phi), counts[:, None]
        )
        return pt.logsumexp(pt.log(self.weight) + by_component, axis=1)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Any:
        ends = _distinct_ends(self.prepared, lower, upper)
        inside = np.isfinite(ends.end) & (ends.end >= 0)
        mean = self.mean[ends.design]
        cdf = pt.betainc(
            self.phi, np.where(inside, ends.end, 0.0) + 1, self.phi / (mean + self.phi)
        )
        cdf = pt.switch(inside, cdf, (ends.end > 0).astype(float))
        return (pt.maximum(cdf[ends.last] - cdf[ends.below], 0.0) @ self.weight)[ends.of]


class _Ends(NamedTuple):
    """Ends of the intervals of n records, each once for a design: ``end`` (e, 1) and its ``design``
    (e,); ``below`` and ``last`` (r,): the last count below an interval, and that in it; ``of``
    (n,): each record's interval."""

    end: np.ndarray
    design: np.ndarray
    below: np.ndarray
    last: np.ndarray
    of: np.ndarray


@cached_on_arrays
def _distinct_ends(prepared: DistinctCounts, lower: np.ndarray, upper: np.ndarray) -> _Ends:
    """An end that several intervals of a design share is looked at once."""
    n, cell = len(prepared.which), prepared.cell[prepared.which]
    ends = [
        np.broadcast_to(bound, n).astype(float) for bound in (np.ceil(lower) - 1, np.floor(upper))
    ]
    distinct, place = np.unique(
        np.column_stack([np.tile(cell, 2), np.concatenate(ends)]), axis=0, return_inverse=True
    )
    (below, last), of = np.unique(place.reshape(2, n), axis=1, return_inverse=True)
    return _Ends(distinct[:, 1:], distinct[:, 0].astype(int), below, last, of.reshape(-1))


@cached_on_arrays
def _pairs(prepared: DistinctCounts, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of a value of y (n,) and a design, and which of them each record has."""
    rows = mixture_rows(Distinct(prepared.whitened, prepared.cell[prepared.which]), y)
    return rows.z, rows.cell, rows.which


def _normal(name: str, shape: tuple[int, int]) -> Any:
    return pm.Normal(name, 0.0, 1.0, shape=shape)


def _tails(count: np.ndarray, mean: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(y <= count), and P(y > count) where the first is no less than 1/2, of NB(mean, phi):
    incomplete beta functions of the smaller of mean and phi, as shares."""
    inside = np.isfinite(count) & (count >= 0)
    k, phi = np.where(inside, count, 0.0) + 1, np.broadcast_to(phi, mean.shape)
    success, failure = phi / (mean + phi), mean / (mean + phi)
    few, cdf, sf = success < 0.5, np.empty(mean.shape), np.zeros(mean.shape)
    betainc(phi, k, success, where=few, out=cdf)
    betaincc(k, phi, failure, where=~few, out=cdf)
    late = cdf >= 0.5
    betaincc(phi, k, success, where=late & few, out=sf)
    betainc(k, phi, failure, where=late & ~few, out=sf)
    return np.where(inside, cdf, count > 0), np.where(inside, sf, count < 0)
