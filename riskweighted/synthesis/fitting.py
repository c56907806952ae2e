"""The risk-weighted pseudo posterior (S003 eq. 4, 10): compile once, sample for each weight vector, check.

This file, `agreement`, `checking` and `convergence` beside it are the ones that know the versions of PyMC, nutpie and ArviZ.
"""

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import ConvergenceWarning, InputError
from riskweighted.common.frames import check_weights
from riskweighted.synthesis.agreement import (
    Records,
    WeightedSum,
    check_at_draws,
    check_censored,
    check_density,
    compile_clipped_sum,
    compile_records,
    compile_weighted_sum,
    free_shapes,
)
from riskweighted.synthesis.censoring import LOWER, UPPER, Censoring, censor, clipped_sum, obstacles, refusal, refuse_dependence
from riskweighted.synthesis.chains import Progress, begun_near, graph_density, run_chains, run_density
from riskweighted.synthesis.contract import Blueprint, Chain, Synthesizer, is_chain
from riskweighted.synthesis.convergence import ESS_LIMIT, R_HAT_LIMIT, diagnose, no_diagnostics
from riskweighted.synthesis.drawing import spread_draws
from riskweighted.synthesis.guarantee import Guarantee
from riskweighted.synthesis.laplace import mode_of
from riskweighted.synthesis.posterior import Fit, PreparedModel, prepare_model, refuse_survey
from riskweighted.synthesis.sampling import Sampling

if TYPE_CHECKING:
    from riskweighted.synthesis.chain_fit import ChainFit

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import nutpie
    import pymc as pm
    import pytensor

__all__ = ["CompiledModel", "compile_model", "compile_prepared", "fit"]

_UNCLIPPED = 1e9  # a bound that no contribution reaches


class Censored(NamedTuple):
    """What of a censored model is held to its log_likelihood: the ``records`` of its graph and their ``clipped`` sum."""

    records: Records
    clipped: Callable[..., float]


@dataclass(frozen=True)
class CompiledModel:
    """A synthesizer compiled for one dataset; samples for any weight vector without compiling again.

    ``censored``: None for the plain pseudo posterior; else it samples the censored one, for any guarantee and equal weights.
    """

    synthesizer: Synthesizer
    confidential: pd.DataFrame = field(repr=False)
    prepared: Any = field(repr=False)
    blueprint: Blueprint | None = field(repr=False)
    compiled: Any = field(repr=False)
    weighted_sum: WeightedSum | None = field(default=None, repr=False)
    data: str | None = None
    censored: Censored | None = field(default=None, repr=False)
    survey: pd.Series | None = field(default=None, repr=False)

    def sample(
        self,
        alpha: pd.Series | np.ndarray | None = None,
        *,
        random_seed: int | None = None,
        sampling: Sampling | None = None,
        progress: Progress | None = None,
        guarantee: Guarantee | None = None,
        L: int = 20,  # noqa: N803
    ) -> Fit:
        """Sample the pseudo posterior with weights alpha; see `fit`. A guarantee needs a model that was compiled for one."""
        check_seed(random_seed)
        checked = _check_alpha(alpha, self.confidential.index, self.survey)
        refuse_survey(self.survey, guarantee)
        if (guarantee is None) != (self.censored is None):
            raise InputError(f"guarantee: this model was compiled {'without' if self.censored is None else 'for'} one; compile it again")
        censoring = censor(self.synthesizer, self.prepared, self.confidential, checked, guarantee, L) if guarantee is not None else None
        return self._sample(checked, random_seed, sampling or Sampling(), progress, censoring)

    def _sample(
        self,
        checked: pd.Series,
        random_seed: int | None,
        sampling: Sampling,
        progress: Progress | None,
        censoring: Censoring | None = None,
    ) -> Fit:
        """Sample with checked weights; a warning points to the caller's caller."""
        if self.blueprint is None:
            posterior = xr.Dataset(coords={"chain": [0], "draw": [0]})
            fitted = Fit(self.synthesizer, checked, posterior, no_diagnostics(), self.confidential, self.prepared, random_seed, self.data)
            fitted = replace(fitted, survey=self.survey)
            _check_contract(fitted, None)
            return fitted
        weights = checked if self.survey is None else checked * self.survey
        posterior, divergences = self._chains(weights.to_numpy(), censoring, sampling, random_seed, progress)
        made = (self.synthesizer, checked, posterior, no_diagnostics(), self.confidential, self.prepared, random_seed, self.data, censoring)
        fitted = Fit(*made, self.survey)
        _check_contract(fitted, self.weighted_sum, self.blueprint, self.censored)
        fitted = replace(fitted, diagnostics=diagnose(_quantities(fitted, self.blueprint.monitored), divergences))
        if not fitted.converged:
            failed = fitted.diagnostics[~fitted.diagnostics["converged"]]
            warnings.warn(
                f"{type(self.synthesizer).__name__} did not converge: R-hat up to {failed['r_hat'].max():.3f} (limit {R_HAT_LIMIT}), "
                f"bulk ESS down to {failed['ess_bulk'].min():.0f} (limit {ESS_LIMIT:.0f}), {divergences} divergences; "
                "sample longer or simplify the model before releasing anything",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fitted

    def _chains(
        self,
        alpha: np.ndarray,
        censoring: Censoring | None,
        sampling: Sampling,
        random_seed: int | None,
        progress: Progress | None,
    ) -> tuple[xr.Dataset, int]:
        """Draws for these weights and this clip, and how many transitions diverged."""
        assert self.blueprint is not None
        if self.blueprint.density is not None:
            return run_density(self.blueprint.density(alpha), free_shapes(self.blueprint.model), sampling, random_seed, progress)
        values = self.blueprint.weigh(alpha) if censoring is None else censoring.values(alpha)
        if self.blueprint.geometry is not None:
            values |= self.blueprint.geometry(alpha)
        compiled = self.compiled.with_data(**values)
        if censoring is not None:
            compiled = self._begun(compiled, values)
        return run_chains(compiled, sampling, random_seed, progress)

    def _begun(self, compiled: Any, values: Mapping[str, Any]) -> Any:
        """A censored model whose chains begin at the mode without the clip: far from it every contribution is clipped, and in the prior
        that is left a chain finds no way back. Where chains begin is no part of what is proved, which is of exact draws."""
        wide = self.compiled.with_data(**{**values, LOWER: -_UNCLIPPED, UPPER: _UNCLIPPED})
        try:
            with threadpool_limits(1):
                mode = mode_of(graph_density(wide), wide.n_dim, np.asarray(wide.initial_point_func(0)))
        except ValueError:  # a gradient that is no number on the way: the chains begin where they would
            return compiled
        return begun_near(compiled, mode) if np.isfinite(graph_density(compiled)(mode)[0]) else compiled


def _check_contract(
    fitted: Fit, weighted_sum: WeightedSum | None, blueprint: Blueprint | None = None, censored: Censored | None = None
) -> None:
    """On three posterior draws; 0.02 to 0.3 s for 5,000 records, and no compilation."""
    chains, draws = fitted.posterior.sizes["chain"], fitted.posterior.sizes["draw"]
    thetas = [fitted.draw(*place) for place in spread_draws(chains, draws, min(3, chains * draws))]
    check_at_draws(fitted.synthesizer, fitted.prepared, fitted.weights.to_numpy(), thetas, weighted_sum)
    if blueprint is not None:
        check_density(fitted.synthesizer, blueprint, fitted.weights.to_numpy(), thetas)
    if fitted.censoring is not None and censored is not None:
        check_censored(fitted.synthesizer, fitted.prepared, fitted.censoring, fitted.alpha.to_numpy(), thetas, *censored)
        refuse_dependence(fitted.synthesizer, fitted.prepared, fitted.confidential, thetas)


def _check_alpha(alpha: pd.Series | np.ndarray | None, index: pd.Index, survey: pd.Series | None) -> pd.Series:
    """Checked weights on the index of the data, not all zero where the survey weights are above 0."""
    checked = check_weights(np.ones(len(index)) if alpha is None else alpha, index).rename("alpha")
    weighing = checked if survey is None else checked * survey
    if not (weighing > 0).any():
        raise InputError(
            f"all {len(checked)} weights are zero: the pseudo posterior would be the prior; valid is at least one positive weight"
        )
    return checked


def _compile(model: "pm.Model") -> Any:
    """Compile for nutpie with numba and without a C++ compiler."""
    with pytensor.config.change_flags(cxx="", mode="NUMBA"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nutpie.compile_pymc_model(model, backend="numba")


_recent: OrderedDict[tuple[Any, ...], CompiledModel] = OrderedDict()


def compile_prepared(model: PreparedModel, censored: bool = False) -> CompiledModel:
    """The model compiled, for a guarantee if `censored`; the last few are kept, since compiling takes seconds."""
    key = (model.synthesizer, model.fingerprint, censored)
    if key in _recent:
        _recent.move_to_end(key)
        return replace(_recent[key], confidential=model.confidential, survey=model.survey)
    blueprint = model.build()
    compiled, weighted_sum, clipped = None, None, None
    if blueprint is not None:
        weighted_sum, total = compile_weighted_sum(model.synthesizer, blueprint, len(model.confidential)), blueprint.weighted_log_likelihood
        if censored:
            clipped, total = _censored(model, blueprint)
        with blueprint.model:
            pm.Potential("weighted_log_likelihood", total)
        compiled = _compile(blueprint.model) if blueprint.density is None else None
    made = (
        model.synthesizer,
        model.confidential,
        model.prepared,
        blueprint,
        compiled,
        weighted_sum,
        model.fingerprint,
        clipped,
        model.survey,
    )
    _recent[key] = CompiledModel(*made)
    while len(_recent) > 4:
        _recent.popitem(last=False)
    return _recent[key]


def _censored(model: PreparedModel, blueprint: Blueprint) -> tuple[Censored, Any]:
    """What a censored model is checked by, and its sum of clipped contributions."""
    found, records = obstacles(model.synthesizer, model.prepared), compile_records(blueprint)
    if found or records is None:
        raise refusal(found)
    total = clipped_sum(blueprint, len(model.confidential))
    return Censored(records, compile_clipped_sum(blueprint, total)), total


def compile_model(
    synthesizer: Synthesizer,
    confidential: pd.DataFrame,
    *,
    censored: bool = False,
    survey: str | pd.Series | np.ndarray | None = None,
) -> CompiledModel:
    """Prepare and compile a synthesizer for a dataset; the last few are kept, since compiling takes seconds.

    Parameters
    ----------
    synthesizer : Synthesizer
    confidential : DataFrame, n rows
    censored : bool
        Whether for fits with a guarantee; one compiled model serves any epsilon, reference and (equal) weights.
    survey : str, Series or array (n,), optional
        Survey weights of its fits, see `fit`.

    Raises
    ------
    InputError
        Whatever the synthesizer finds wrong with the data; if `censored`, all that voids a guarantee.
    """
    return compile_prepared(prepare_model(synthesizer, confidential, survey), censored)


@overload
def fit(
    synthesizer: Synthesizer,
    confidential: pd.DataFrame,
    alpha: pd.Series | np.ndarray | None = None,
    *,
    random_seed: int | None = None,
    draws: int = 500,
    tune: int = 500,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float | None = None,
    progress: Progress | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    survey: str | pd.Series | np.ndarray | None = None,
) -> Fit: ...


@overload
def fit(
    synthesizer: Chain,
    confidential: pd.DataFrame,
    alpha: pd.DataFrame | pd.Series | np.ndarray | None = None,
    *,
    random_seed: int | None = None,
    draws: int = 500,
    tune: int = 500,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float | None = None,
    progress: Progress | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    survey: str | pd.Series | np.ndarray | None = None,
) -> "ChainFit": ...


def fit(
    synthesizer: Synthesizer | Chain,
    confidential: pd.DataFrame,
    alpha: pd.DataFrame | pd.Series | np.ndarray | None = None,
    *,
    random_seed: int | None = None,
    draws: int = 500,
    tune: int = 500,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float | None = None,
    progress: Progress | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    survey: str | pd.Series | np.ndarray | None = None,
) -> "Fit | ChainFit":
    """Sample the risk-weighted pseudo posterior of a synthesizer (S003 eq. 4 and 10).

    Parameters
    ----------
    synthesizer : Synthesizer or Chain
        For example ``load_synthesizer("normal-mixture")("income ~ C(region)")``, or of several variables
        ``load_synthesizer("sequential")(["income", "smoke"], predictors=["age"])``.
    confidential : DataFrame, n rows
    alpha : Series on the index of `confidential`, array (n,), or None
        Weights in [0, 1]; None is the unweighted synthesizer, 1 everywhere. For a chain also (n, V), a DataFrame with the V variables
        as its columns or an array in their order; (n,) holds for all of them.
    random_seed : int, optional
        The same seed gives the same draws, whatever the number of cores.
    draws, tune, chains, cores, target_accept
        See `Sampling`.
    progress : callable, optional
        Called with (draws done, draws in all) twice a second.
    guarantee : Guarantee, optional
        Sample the censored pseudo posterior (METHODS section 9.3), whose datasets have a proved epsilon; `Fit.statement` says what holds.
        Alpha must be the same for all records.
    L : int
        The number of datasets that the guarantee is stated for; no more can be drawn from its fit.
    survey : str, Series or array (n,), optional
        Survey weights, by the name of their column or as values. Normalised to sum n they multiply alpha in the likelihood, where the
        product may exceed 1 (METHODS section 12). To let the weight act as a predictor instead, name its column in the formula.

    Returns
    -------
    Fit; of a chain a ChainFit, with a fit of its own for every block.

    Raises
    ------
    InputError
        If weights are outside [0, 1], missing, of another length or index, or all zero, if survey weights are negative, missing,
        infinite or all zero, or if the data does not suit the synthesizer.
        Under a guarantee also if anything is taken from the data, all of which it names.
    ContractError
        If the synthesizer's graph and log_likelihood disagree, alpha does not act, or it draws no n finite values.

    Warns
    -----
    ConvergenceWarning
        If a monitored quantity has R-hat > 1.02 or bulk ESS < 100, or a transition diverged.
    """
    sampling = Sampling(draws=draws, tune=tune, chains=chains, cores=cores, target_accept=target_accept)
    check_seed(random_seed)
    if is_chain(synthesizer):
        # Imported late: it fits blocks with what stands here.
        from riskweighted.synthesis.chain_fitting import fit_chain

        return fit_chain(cast(Chain, synthesizer), confidential, alpha, sampling, random_seed, progress, guarantee, survey)
    single = cast(Synthesizer, synthesizer)
    if isinstance(alpha, pd.DataFrame):
        raise InputError(f"alpha must be (n,) for {type(single).__name__}, which is of one variable; got a DataFrame")
    model = prepare_model(single, confidential, survey)
    checked = _check_alpha(alpha, confidential.index, model.survey)
    censoring = model.censor(guarantee, checked, L)
    return compile_prepared(model, guarantee is not None)._sample(checked, random_seed, sampling, progress, censoring)


def _quantities(fitted: Fit, monitored: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The log pseudo-likelihood and every scalar of the monitored parameters, each (chains, draws)."""
    sizes = fitted.posterior.sizes
    quantities = {"log_pseudo_likelihood": np.empty((sizes["chain"], sizes["draw"]))}
    for chain, draw in np.ndindex(sizes["chain"], sizes["draw"]):
        quantities["log_pseudo_likelihood"][chain, draw] = fitted.contributions(fitted.draw(chain, draw)).sum()
    for name in monitored:
        values = fitted.posterior[name].values
        for place in np.ndindex(values.shape[2:]):
            label = name.replace("::::", ".")  # PyMC's name of what a model within the model holds
            label += f"[{', '.join(map(str, place))}]" if place else ""
            quantities[label] = values[(slice(None), slice(None), *place)]
    return quantities
