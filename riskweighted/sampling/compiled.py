"""A model that is ready to be fitted: under any weights by one engine or the other, checked and judged."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import ConvergenceWarning
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import log_densities
from riskweighted.contract.drawing import spread_draws
from riskweighted.contract.layout import as_posterior, layout_of
from riskweighted.contract.synthesizer import Blueprint, Density, Draw, Synthesizer, is_strange
from riskweighted.guarantee.clip import LOWER, UPPER, Censoring
from riskweighted.sampling.agreement import check_censored, check_centred, check_density, check_draws, check_weighted
from riskweighted.sampling.block_fit import BlockFit, PreparedModel
from riskweighted.sampling.centred import EXPECTED, CentredTerm, graph_coefficients
from riskweighted.sampling.convergence import WARN, Drawn, failure, judge, verdict_of
from riskweighted.sampling.direct import draw_or_refuse, heights_of
from riskweighted.sampling.graphs import Records, WeightedSum
from riskweighted.sampling.isolation import check_independent, near_start, refuse_dependence
from riskweighted.sampling.laplace import mode_of, modes_from
from riskweighted.sampling.near import draw_near
from riskweighted.sampling.nuts import LOG_LIKELIHOOD, SHORT_STEPS, Progress, begun_near, graph_density, run_chains, run_density
from riskweighted.sampling.released import released_quantities
from riskweighted.sampling.second_mode import refuse_second_mode
from riskweighted.sampling.settings import IMPORTANCE, Sampling

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Attempt", "Censored", "CompiledModel", "Sampler", "drawn_of_density", "without_chains"]

_COMPARED = 100  # draws at which an approximation is held to what it stands for
_UNCLIPPED = 1e9  # a bound that no contribution reaches


class Censored(NamedTuple):
    """What of a censored model is held to its log_density: the ``records`` of its graph and their ``clipped`` sum."""

    records: Records
    clipped: Callable[..., float]


class Attempt(NamedTuple):
    """What the direct engine gave: draws, or None where chains are to be run."""

    draws: Drawn | None


@dataclass(frozen=True, eq=False)
class Sampler:
    """What nutpie makes of a model, compiled when first asked for: a model that is drawn from directly may never need it."""

    model: "pm.Model"
    make: Callable[["pm.Model"], Any]

    @cached_property
    def compiled(self) -> Any:
        return self.make(self.model)


@dataclass(frozen=True)
class CompiledModel:
    """A prepared model that samples under any weights without compiling again.

    ``censored``: None for the plain pseudo posterior; else it samples the censored one, for any guarantee and equal weights. ``term``: the
    centring term of its graph as a function of a draw and of the values of its data, where the graph is sampled under centred weights.
    """

    model: PreparedModel
    blueprint: Blueprint | None = field(repr=False)
    sampler: Sampler | None = field(repr=False)
    weighted_sum: WeightedSum | None = field(default=None, repr=False)
    log_prior: WeightedSum | None = field(default=None, repr=False)
    censored: Censored | None = field(default=None, repr=False)
    term: Callable[[Draw, np.ndarray], float] | None = field(default=None, repr=False)

    @property
    def compiled(self) -> Any:
        """What nutpie samples, compiled when first asked for; None where it samples a density of one vector, or nothing."""
        return None if self.sampler is None else self.sampler.compiled

    def attempted(self, alpha: pd.Series, random_seed: int | None, sampling: Sampling, centring: Centring | None = None) -> Attempt:
        """What the direct engine gives, for `sample`; it looks at nothing that changes, so threads may call it."""
        if self.blueprint is None:
            return Attempt(None)
        weights = self.model.weights(alpha).to_numpy()
        return Attempt(
            without_chains(self.model.synthesizer, self.blueprint, weights, self.censored is None, sampling, random_seed, centring)
        )

    def sample(
        self,
        alpha: pd.Series | None = None,
        *,
        random_seed: int | None = None,
        sampling: Sampling | None = None,
        progress: Progress | None = None,
        censoring: Censoring | None = None,
        attempt: Attempt | None = None,
        centring: Centring | None = None,
    ) -> BlockFit:
        """Sample the pseudo posterior with checked weights alpha (n,), None for 1 everywhere, under the clip that it was compiled for.

        `attempt`: what `attempted` gave for the same weights, seed and sampling, so that it is not made again. `centring`: what centred
        weights take off.
        """
        sampling = sampling or Sampling()
        alpha = pd.Series(1.0, self.model.confidential.index, name="alpha") if alpha is None else alpha
        if self.blueprint is None:
            nothing = self.model.fitted(alpha, xr.Dataset(coords={"chain": [0], "draw": [0]}), random_seed)
            self._check_contract(nothing)
            return nothing
        drawn = (self.attempted(alpha, random_seed, sampling, centring) if attempt is None else attempt).draws
        if drawn is None:
            drawn = self._chains(self.blueprint, self.model.weights(alpha).to_numpy(), censoring, sampling, random_seed, progress, centring)
        elif progress is not None:
            progress(sampling.chains * sampling.draws, sampling.chains * sampling.draws)
        fitted = self.model.fitted(alpha, drawn.posterior, random_seed, censoring, centring=centring, stats=drawn.stats)
        self._check_contract(fitted)
        fitted = replace(fitted, diagnostics=judge(drawn, self.blueprint.monitored, released_quantities(fitted)))
        if not fitted.converged:
            warnings.warn(
                f"{type(self.model.synthesizer).__name__} did not converge: {failure(fitted.diagnostics)}; "
                "sample longer or simplify the model before releasing anything",
                ConvergenceWarning,
                stacklevel=3,
            )
        word, why = verdict_of(fitted.diagnostics)
        if word == WARN:
            warnings.warn(f"{type(self.model.synthesizer).__name__} converged with {why}", ConvergenceWarning, stacklevel=3)
        return fitted

    def _chains(
        self,
        blueprint: Blueprint,
        alpha: np.ndarray,
        censoring: Censoring | None,
        sampling: Sampling,
        random_seed: int | None,
        progress: Progress | None,
        centring: Centring | None = None,
    ) -> Drawn:
        """Draws for these weights, this clip and this centring."""
        if censoring is None and (blueprint.of_vector if centring is None else blueprint.centred) is not None:
            name = type(self.model.synthesizer).__name__
            return _density_chains(name, blueprint, alpha, sampling, random_seed, progress, centring)
        values = blueprint.weigh(alpha) if censoring is None else censoring.values(alpha)
        if centring is not None:
            values |= {EXPECTED: graph_coefficients(self._term_of(centring))}
        if blueprint.geometry is not None:
            values |= blueprint.geometry(alpha)
        compiled = self.compiled.with_data(**values)
        if censoring is not None:
            compiled = self._begun(compiled, values, censoring.cells is not None)
        drawn = run_chains(compiled, sampling, random_seed, progress)
        if drawn.stats["diverging"].any() and sampling.target_accept is None:
            drawn = run_chains(compiled, sampling, random_seed, progress, SHORT_STEPS)
        posterior, heights, stats = drawn
        return Drawn(posterior.drop_vars(LOG_LIKELIHOOD), posterior[LOG_LIKELIHOOD].values, stats, log_posterior=heights)

    def _term_of(self, centring: Centring) -> CentredTerm:
        return CentredTerm(self.model.synthesizer, self.model.prepared, self.model.confidential, centring)

    def _begun(self, compiled: Any, values: Mapping[str, Any], centred: bool) -> Any:
        """A censored model whose chains begin at the mode without the clip: far from it every contribution is clipped, and in the prior
        that is left a chain finds no way back. Where chains begin is no part of what is proved, which is of exact draws.

        A `centred` clip may leave several modes: they begin about those to which that mode and the start of the sampler lead."""
        wide, start = self.compiled.with_data(**{**values, LOWER: -_UNCLIPPED, UPPER: _UNCLIPPED}), self.compiled.initial_point_func(0)
        density = graph_density(compiled)
        try:
            with threadpool_limits(1):
                mode = mode_of(graph_density(wide), wide.n_dim, np.asarray(start))
                places = modes_from(density, (mode, np.asarray(start))) if centred else mode[None]
        except ValueError:  # a gradient that is no number on the way: the chains begin where they would
            return compiled
        return begun_near(compiled, places) if np.isfinite(density(places[0])[0]) else compiled

    def check_start(self, alpha: pd.Series, censoring: Censoring | None = None, centring: Centring | None = None) -> None:
        """Refuse, before anything is sampled, graph, density and distribution that differ where chains begin, for weights alpha (n,)."""
        if self.blueprint is not None:
            nothing = xr.Dataset(coords={"chain": [0], "draw": [0]})
            fitted = self.model.fitted(alpha, nothing, None, censoring, centring=centring)
            self._check_agreement(fitted, near_start(self.blueprint))

    def _check_contract(self, fitted: BlockFit) -> None:
        """On three posterior draws; 0.02 to 0.3 s for 5,000 records, and no compilation."""
        chains, draws = fitted.posterior.sizes["chain"], fitted.posterior.sizes["draw"]
        thetas = [fitted.draw(*place) for place in spread_draws(chains, draws, min(3, chains * draws))]
        synthesizer = fitted.synthesizer
        self._check_agreement(fitted, thetas)
        check_draws(synthesizer, fitted.prepared, thetas, fitted.confidential)
        if is_strange(synthesizer):
            guaranteed, prepared = fitted.censoring is not None, fitted.prepared
            places: Sequence[Draw] = thetas
            if fitted.counts is not None:  # tried with each row as one record
                prepared = synthesizer.prepare(fitted.confidential)
                blueprint = synthesizer.build(prepared)
                places = ({},) if blueprint is None else near_start(blueprint)
            check_independent(synthesizer, prepared, places, fitted.confidential, guaranteed=guaranteed, elsewhere=True)

    def _check_agreement(self, fitted: BlockFit, thetas: Sequence[Draw]) -> None:
        """What is sampled is what the distribution says, at these draws."""
        if self.blueprint is None or self.weighted_sum is None:
            return
        alpha, synthesizer, name = fitted.weights.to_numpy(), fitted.synthesizer, type(fitted.synthesizer).__name__
        terms = log_densities(synthesizer, fitted.prepared, fitted.y)
        sums = check_weighted(name, terms, alpha, thetas, self.weighted_sum)
        if fitted.centring is not None:
            self._check_centred(fitted, thetas)
        elif self.log_prior is not None:
            check_density(synthesizer, self.blueprint, sums + [self.log_prior(theta, alpha) for theta in thetas], alpha, thetas)
        if fitted.censoring is not None and self.censored is not None:
            check_censored(name, terms, fitted.contributions, fitted.censoring.values(alpha), thetas, *self.censored)
            refuse_dependence(synthesizer, fitted.prepared, fitted.confidential, thetas, fitted.censoring.cells)

    def _check_centred(self, fitted: BlockFit, thetas: Sequence[Draw]) -> None:
        """What a centred fit is asked besides: what was sampled is the sum of what its distribution says that records add."""
        assert self.blueprint is not None
        assert fitted.centred is not None
        alpha = fitted.weights.to_numpy()
        if self.term is not None:
            values = graph_coefficients(fitted.centred)
            stated = [float(fitted.centred.each(theta)[0].sum()) for theta in thetas]
            check_centred(type(fitted.synthesizer).__name__, [self.term(theta, values) for theta in thetas], stated, alpha)
            return
        assert self.log_prior is not None
        added = np.array([fitted.contributions(theta).sum() + self.log_prior(theta, alpha) for theta in thetas])
        check_density(fitted.synthesizer, self.blueprint, added, alpha, thetas, fitted.centring)


def _density_chains(
    name: str,
    blueprint: Blueprint,
    alpha: np.ndarray,
    sampling: Sampling,
    random_seed: int | None,
    progress: Progress | None,
    centring: Centring | None = None,
) -> Drawn:
    """Draws of the blueprint's density. What it has over itself without data is the likelihood, up to a constant."""
    density, prior, layout = *_density_and_prior(name, blueprint, alpha, centring), layout_of(blueprint)
    vectors, heights, stats = run_density(density, layout.size, sampling, random_seed, progress)
    return drawn_of_density(blueprint, alpha, centring, density, prior, vectors, heights, stats)


def drawn_of_density(
    blueprint: Blueprint,
    alpha: np.ndarray,
    centring: Centring | None,
    density: Density,
    prior: Density,
    vectors: np.ndarray,
    heights: np.ndarray,
    stats: xr.Dataset,
) -> Drawn:
    """Chains of a density of one vector, (chains, draws, d), with all that they are judged by."""
    drawn, off = vectors.reshape(-1, vectors.shape[-1]), np.nan
    log_likelihood = heights - heights_of(prior, drawn).reshape(heights.shape)
    if blueprint.exact is not None and centring is None:
        some = drawn[:: -(-len(drawn) // _COMPARED)]
        off = float((heights_of(blueprint.exact(alpha), some) - heights_of(density, some)).std(ddof=1))
    return Drawn(as_posterior(layout_of(blueprint), vectors), log_likelihood, stats, off, log_posterior=heights)


def without_chains(
    synthesizer: Synthesizer,
    blueprint: Blueprint,
    alpha: np.ndarray,
    plain: bool,
    sampling: Sampling,
    random_seed: int | None,
    centring: Centring | None,
) -> Drawn | None:
    """Draws by importance under weights alpha (n,), the same of the same seed; None where chains are to be run. `plain`: no guarantee."""
    if plain and blueprint.direct is None and sampling.engine == IMPORTANCE:
        return _drawn_near(type(synthesizer).__name__, blueprint, alpha, sampling, random_seed, centring)
    return draw_or_refuse(synthesizer, blueprint, alpha, plain and blueprint.direct is not None, sampling, random_seed, centring)


def _density_and_prior(name: str, blueprint: Blueprint, alpha: np.ndarray, centring: Centring | None) -> tuple[Density, Density]:
    """The blueprint's density, which is refused where centring gives it a second mode, and itself without data."""
    density, prior = blueprint.weighted(alpha, centring), blueprint.weighted(np.zeros(len(alpha)))
    assert density is not None
    assert prior is not None
    if centring is not None:
        unweighted, nothing = blueprint.weighted(centring.survey), blueprint.weighted(np.zeros(len(alpha)), centring)
        assert unweighted is not None
        assert nothing is not None
        with threadpool_limits(1):
            refuse_second_mode(name, density, unweighted, nothing, layout_of(blueprint).size)
    return density, prior


def _drawn_near(
    name: str, blueprint: Blueprint, alpha: np.ndarray, sampling: Sampling, random_seed: int | None, centring: Centring | None
) -> Drawn | None:
    """Draws of the blueprint's density by importance; None where chains are to be run."""
    if blueprint.density is None or blueprint.exact is not None or (centring is not None and blueprint.centred is None):
        return None
    density, prior = _density_and_prior(name, blueprint, alpha, centring)
    layout, shape = layout_of(blueprint), (sampling.chains, sampling.draws)
    near = draw_near(density, layout.size, sampling.chains * sampling.draws, np.random.default_rng(random_seed))
    if near is None:
        return None
    posterior, heights = as_posterior(layout, near.vectors.reshape(*shape, layout.size)), near.heights.reshape(shape)
    log_likelihood = heights - heights_of(prior, near.vectors).reshape(shape)
    return Drawn(posterior, log_likelihood, which=near.which, pareto_k=near.pareto_k, log_posterior=heights)
