"""A model that is ready to be fitted: under any weights by one engine or the other, checked and
judged.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import ConvergenceWarning
from riskweighted.common.progress import Forward
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import log_densities
from riskweighted.contract.drawn_columns import spread_draws
from riskweighted.contract.synthesizer import Blueprint, Density, Draw, is_strange
from riskweighted.contract.vector_layout import as_posterior, layout_of
from riskweighted.guarantee.clip import LOWER, UPPER, Censoring
from riskweighted.sampling.agreement import (
    check_censored,
    check_centred,
    check_density,
    check_draws,
    check_weighted,
)
from riskweighted.sampling.block_fit import BlockFit, PreparedModel
from riskweighted.sampling.centred import EXPECTED, CentredTerm, graph_coefficients
from riskweighted.sampling.convergence import (
    WARN,
    PosteriorDraws,
    chains_agree,
    failure,
    judge,
    verdict_of,
)
from riskweighted.sampling.density_parts import DensityParts, PartDraws, find_parts
from riskweighted.sampling.graphs import Records, WeightedSum
from riskweighted.sampling.isolation import (
    check_independent,
    refuse_dependence,
    starting_parameters,
)
from riskweighted.sampling.laplace import heights_of, mode_of, modes_from
from riskweighted.sampling.monitored import monitored_quantities
from riskweighted.sampling.nuts import (
    LOG_LIKELIHOOD,
    SHORT_STEPS,
    Progress,
    begun_near,
    graph_density,
    run_chains,
)
from riskweighted.sampling.sampling_settings import AUTO, Sampling
from riskweighted.sampling.second_mode import refuse_second_mode

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Censored", "CompiledModel", "Sampler", "Weighted", "drawn_of_density", "weighted_of"]

_COMPARED = 100  # draws at which an approximation is held to what it stands for
_UNCLIPPED = 1e9  # a bound that no contribution reaches
# draws, of which chains can be worth what is asked where importance is not
_MANY = 1000


class Censored(NamedTuple):
    """What of a censored model is held to its log_density: the ``records`` of its graph and their
    ``clipped`` sum.
    """

    records: Records
    clipped: Callable[..., float]


class Weighted(NamedTuple):
    """A block's density under its weights and itself without data, and the parts of the first with
    what importance gives of them.
    """

    density: Density
    prior: Density
    parts: DensityParts


@dataclass(frozen=True, eq=False)
class Sampler:
    """What nutpie makes of a model, compiled when first asked for: a model that is drawn from
    directly may never need it.
    """

    model: "pm.Model"
    make: Callable[["pm.Model"], Any]

    @cached_property
    def compiled(self) -> Any:
        return self.make(self.model)


@dataclass(frozen=True)
class CompiledModel:
    """A prepared model that samples under any weights without compiling again.

    ``censored``: None for the plain pseudo posterior; else it samples the censored one, for any
    guarantee and equal weights. ``term``: the centring term of its graph as a function of a draw
    and of the values of its data, where the graph is sampled under centred weights.
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
        """What nutpie samples, compiled when first asked for; None where it samples a density of
        one vector, or nothing.
        """
        return None if self.sampler is None else self.sampler.compiled

    def attempted(
        self,
        alpha: pd.Series,
        random_seed: int | None,
        sampling: Sampling,
        centring: Centring | None = None,
    ) -> Weighted | None:
        """What can be drawn without chains, for `sample`; it looks at nothing that changes, so
        threads may call it.
        """
        if self.blueprint is None:
            return None
        weights = self.model.weights(alpha).to_numpy()
        name = type(self.model.synthesizer).__name__
        return weighted_of(
            name, self.blueprint, weights, self.censored is None, sampling, random_seed, centring
        )

    def sample(
        self,
        alpha: pd.Series | None = None,
        *,
        random_seed: int | None = None,
        sampling: Sampling | None = None,
        progress: Progress | None = None,
        censoring: Censoring | None = None,
        attempt: Weighted | None = None,
        centring: Centring | None = None,
        compared: bool = False,
    ) -> BlockFit:
        """Sample the pseudo posterior with checked weights alpha (n,), None for 1 everywhere, under
        the clip that it was compiled for.

        `attempt`: what `attempted` gave for the same weights, seed and sampling, so that it is not
        made again. `centring`: what centred weights take off. `compared`: as of `compile_prepared`;
        a fit of few draws, for which longer chains are run only where short ones disagree, and of
        which nothing is told where there are none.
        """
        sampling = sampling or Sampling()
        alpha = (
            pd.Series(1.0, self.model.confidential.index, name="alpha") if alpha is None else alpha
        )
        if self.blueprint is None:
            nothing = self.model.fitted(
                alpha, xr.Dataset(coords={"chain": [0], "draw": [0]}), random_seed
            )
            self._check_contract(nothing)
            return nothing
        forward = None if progress is None else Forward(progress)
        tried = (
            self.attempted(alpha, random_seed, sampling, centring) if attempt is None else attempt
        )
        for drawn in self._draws(
            self.blueprint,
            self.model.weights(alpha).to_numpy(),
            tried,
            censoring,
            sampling,
            random_seed,
            forward,
            centring,
        ):
            fitted = self.model.fitted(
                alpha, drawn.posterior, random_seed, censoring, centring=centring, stats=drawn.stats
            )
            self._check_contract(fitted)
            if compared and drawn.stats is None:  # weights of proposals have been judged
                break
            fitted = replace(
                fitted,
                diagnostics=judge(drawn, self.blueprint.monitored, monitored_quantities(fitted)),
            )
            if fitted.converged or (compared and chains_agree(fitted.diagnostics)):
                break
        if forward is not None:
            forward.end()
        if not fitted.converged:
            warnings.warn(
                f"{type(self.model.synthesizer).__name__} did not converge: "
                f"{failure(fitted.diagnostics)}; "
                "sample longer or simplify the model before releasing anything",
                ConvergenceWarning,
                stacklevel=3,
            )
        word, why = verdict_of(fitted.diagnostics)
        if word == WARN:
            warnings.warn(
                f"{type(self.model.synthesizer).__name__} converged with {why}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fitted

    def _draws(
        self,
        blueprint: Blueprint,
        alpha: np.ndarray,
        attempt: Weighted | None,
        censoring: Censoring | None,
        sampling: Sampling,
        random_seed: int | None,
        progress: Progress | None,
        centring: Centring | None,
    ) -> Iterator[PosteriorDraws]:
        """Draws for these weights, this clip and this centring: by importance where it can be
        relied on, of chains that may be short, then of longer ones.
        """
        if attempt is not None:
            density, prior, found = attempt
            many = sampling.chains * sampling.draws >= _MANY
            rounds = [
                (parts, *length)
                for parts in (found.attempts if many else (found,))
                for length in parts.lengths(sampling)
            ]
            for number, (parts, length, short) in enumerate(rounds):
                report = None if progress is None else _stretch(progress, number, len(rounds))
                drawn = parts.draw(sampling, length, short, report)
                yield drawn_of_density(blueprint, alpha, centring, density, prior, drawn)
        else:
            yield self._graph_chains(
                blueprint, alpha, censoring, sampling, random_seed, progress, centring
            )

    def _graph_chains(
        self,
        blueprint: Blueprint,
        alpha: np.ndarray,
        censoring: Censoring | None,
        sampling: Sampling,
        random_seed: int | None,
        progress: Progress | None,
        centring: Centring | None,
    ) -> PosteriorDraws:
        """Draws of the model's graph."""
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
        return PosteriorDraws(
            posterior.drop_vars(LOG_LIKELIHOOD),
            posterior[LOG_LIKELIHOOD].values,
            stats,
            log_posterior=heights,
        )

    def _term_of(self, centring: Centring) -> CentredTerm:
        return CentredTerm(
            self.model.synthesizer, self.model.prepared, self.model.confidential, centring
        )

    def _begun(self, compiled: Any, values: Mapping[str, Any], centred: bool) -> Any:
        """A censored model whose chains begin at the mode without the clip: far from it every
        contribution is clipped, and in the prior that is left a chain finds no way back. Where
        chains begin is no part of what is proved, which is of exact draws.

        A `centred` clip may leave several modes: they begin about those to which that mode and the
        start of the sampler lead."""
        wide = self.compiled.with_data(**{**values, LOWER: -_UNCLIPPED, UPPER: _UNCLIPPED})
        start = self.compiled.initial_point_func(0)
        density = graph_density(compiled)
        try:
            with threadpool_limits(1):
                mode = mode_of(graph_density(wide), wide.n_dim, np.asarray(start))
                places = modes_from(density, (mode, np.asarray(start))) if centred else mode[None]
        # a gradient that is no number on the way: the chains begin where they would
        except ValueError:
            return compiled
        return begun_near(compiled, places) if np.isfinite(density(places[0])[0]) else compiled

    def check_start(
        self, alpha: pd.Series, censoring: Censoring | None = None, centring: Centring | None = None
    ) -> None:
        """Refuse, before anything is sampled, graph, density and distribution that differ where
        chains begin, for weights alpha (n,).
        """
        if self.blueprint is not None:
            nothing = xr.Dataset(coords={"chain": [0], "draw": [0]})
            fitted = self.model.fitted(alpha, nothing, None, censoring, centring=centring)
            self._check_agreement(fitted, starting_parameters(self.blueprint))

    def _check_contract(self, fitted: BlockFit) -> None:
        """On three posterior draws; 0.02 to 0.3 s for 5,000 records, and no compilation."""
        chains, draws = fitted.posterior.sizes["chain"], fitted.posterior.sizes["draw"]
        thetas = [
            fitted.draw(*place) for place in spread_draws(chains, draws, min(3, chains * draws))
        ]
        synthesizer = fitted.synthesizer
        self._check_agreement(fitted, thetas)
        check_draws(synthesizer, fitted.prepared, thetas, fitted.confidential)
        if is_strange(synthesizer):
            check_independent(
                synthesizer,
                fitted.prepared,
                thetas,
                fitted.confidential,
                guaranteed=fitted.censoring is not None,
                elsewhere=True,
            )

    def _check_agreement(self, fitted: BlockFit, thetas: Sequence[Draw]) -> None:
        """What is sampled is what the distribution says, at these draws."""
        if self.blueprint is None or self.weighted_sum is None:
            return
        alpha = fitted.weights.to_numpy()
        synthesizer = fitted.synthesizer
        name = type(fitted.synthesizer).__name__
        terms = log_densities(synthesizer, fitted.prepared, fitted.y)
        sums = check_weighted(name, terms, alpha, thetas, self.weighted_sum)
        if fitted.centring is not None:
            self._check_centred(fitted, thetas)
        elif self.log_prior is not None:
            check_density(
                synthesizer,
                self.blueprint,
                sums + [self.log_prior(theta, alpha) for theta in thetas],
                alpha,
                thetas,
            )
        if fitted.censoring is not None and self.censored is not None:
            check_censored(
                name,
                terms,
                fitted.contributions,
                fitted.censoring.values(alpha),
                thetas,
                *self.censored,
            )
            refuse_dependence(
                synthesizer, fitted.prepared, fitted.confidential, thetas, fitted.censoring.cells
            )

    def _check_centred(self, fitted: BlockFit, thetas: Sequence[Draw]) -> None:
        """What a centred fit is asked besides: what was sampled is the sum of what its distribution
        says that records add.
        """
        assert self.blueprint is not None
        assert fitted.centred is not None
        alpha = fitted.weights.to_numpy()
        if self.term is not None:
            values = graph_coefficients(fitted.centred)
            stated = [float(fitted.centred.each(theta)[0].sum()) for theta in thetas]
            check_centred(
                type(fitted.synthesizer).__name__,
                [self.term(theta, values) for theta in thetas],
                stated,
                alpha,
            )
            return
        assert self.log_prior is not None
        added = np.array(
            [fitted.contributions(theta).sum() + self.log_prior(theta, alpha) for theta in thetas]
        )
        check_density(fitted.synthesizer, self.blueprint, added, alpha, thetas, fitted.centring)


def _stretch(progress: Progress, number: int, lengths: int) -> Progress:
    """Progress of one of several lengths of chains, of which the later ones may not be needed: half
    of what is left.
    """
    begin, share = 1 - 0.5**number, 0.5 ** min(number + 1, lengths - 1)
    return lambda done, total: progress(round(total * begin + share * done), total)


def drawn_of_density(
    blueprint: Blueprint,
    alpha: np.ndarray,
    centring: Centring | None,
    density: Density,
    prior: Density,
    drawn: PartDraws,
) -> PosteriorDraws:
    """Draws of a density of one vector with all that they are judged by. What it has over itself
    without data is the likelihood, up to a constant."""
    vectors = drawn.vectors.reshape(-1, drawn.vectors.shape[-1])
    heights = drawn.heights
    off = np.nan
    log_likelihood = heights - heights_of(prior, vectors).reshape(heights.shape)
    if blueprint.exact is not None and centring is None:
        some = vectors[:: -(-len(vectors) // _COMPARED)]
        off = float(
            (heights_of(blueprint.exact(alpha), some) - heights_of(density, some)).std(ddof=1)
        )
    posterior = as_posterior(layout_of(blueprint), drawn.vectors)
    return PosteriorDraws(
        posterior, log_likelihood, drawn.stats, off, drawn.which, drawn.pareto_k, heights
    )


def weighted_of(
    name: str,
    blueprint: Blueprint,
    alpha: np.ndarray,
    plain: bool,
    sampling: Sampling,
    random_seed: int | None,
    centring: Centring | None,
) -> Weighted | None:
    """The density under weights alpha (n,) with what importance gives of its parts, the same of the
    same seed; None where the graph alone has it. `plain`: no guarantee; `name`: of the class, for
    an error."""
    if not plain or (blueprint.of_vector if centring is None else blueprint.centred) is None:
        return None
    density, prior = _density_and_prior(name, blueprint, alpha, centring)
    tried = sampling.engine == AUTO and blueprint.exact is None
    return Weighted(
        density, prior, find_parts(density, layout_of(blueprint).size, sampling, random_seed, tried)
    )


def _density_and_prior(
    name: str, blueprint: Blueprint, alpha: np.ndarray, centring: Centring | None
) -> tuple[Density, Density]:
    """The blueprint's density, which is refused where centring gives it a second mode, and itself
    without data.
    """
    density, prior = blueprint.weighted(alpha, centring), blueprint.weighted(np.zeros(len(alpha)))
    assert density is not None
    assert prior is not None
    if centring is not None and blueprint.direct is None:
        unweighted = blueprint.weighted(centring.survey)
        nothing = blueprint.weighted(np.zeros(len(alpha)), centring)
        assert unweighted is not None
        assert nothing is not None
        with threadpool_limits(1):
            refuse_second_mode(name, density, unweighted, nothing, layout_of(blueprint).size)
    return density, prior
