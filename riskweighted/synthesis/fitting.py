"""The risk-weighted pseudo posterior (S003 eq. 4, 10): compile once, sample for each weight vector, check.

This file, `compiled`, `agreement`, `checking` and `convergence` beside it are the ones that know the versions of PyMC, nutpie and ArviZ.
"""

import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import InputError
from riskweighted.synthesis.agreement import (
    compile_clipped_sum,
    compile_log_posterior,
    compile_records,
    compile_weighted_sum,
)
from riskweighted.synthesis.censoring import clipped_sum, obstacles, refusal
from riskweighted.synthesis.chains import Progress
from riskweighted.synthesis.compiled import Censored, CompiledModel, Sampler, check_alpha
from riskweighted.synthesis.contract import Blueprint, Chain, Synthesizer, is_chain
from riskweighted.synthesis.guarantee import Guarantee
from riskweighted.synthesis.posterior import Fit, PreparedModel, prepare_model
from riskweighted.synthesis.sampling import AUTO, Sampling

if TYPE_CHECKING:
    from riskweighted.synthesis.chain_fit import ChainFit

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces ArviZ 1, which we support
    import nutpie
    import pymc as pm
    import pytensor

__all__ = ["CompiledModel", "compile_model", "compile_prepared", "fit"]


def _compile(model: "pm.Model") -> Any:
    """Compile for nutpie with numba and without a C++ compiler."""
    with pytensor.config.change_flags(cxx="", mode="NUMBA"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nutpie.compile_pymc_model(model, backend="numba")


_KEPT = 32  # as many as a chain of many variables has blocks
_recent: OrderedDict[tuple[Any, ...], CompiledModel] = OrderedDict()


def compile_prepared(model: PreparedModel, censored: bool = False) -> CompiledModel:
    """The model compiled, for a guarantee if `censored`; the last few are kept, since compiling takes seconds."""
    key = (model.synthesizer, model.fingerprint, censored)
    if key in _recent:
        _recent.move_to_end(key)
        return replace(_recent[key], confidential=model.confidential, survey=model.survey)
    blueprint = model.build()
    sampler, weighted_sum, log_posterior, clipped = None, None, None, None
    if blueprint is not None:
        weighted_sum, total = compile_weighted_sum(model.synthesizer, blueprint, len(model.confidential)), blueprint.weighted_log_likelihood
        log_posterior = compile_log_posterior(blueprint) if blueprint.of_vector is not None else None
        if censored:
            clipped, total = _censored(model, blueprint)
        with blueprint.model:
            pm.Potential("weighted_log_likelihood", total)
        sampler = Sampler(blueprint.model, _compile) if blueprint.density is None else None
    made = (
        model.synthesizer,
        model.confidential,
        model.prepared,
        blueprint,
        sampler,
        weighted_sum,
        log_posterior,
        model.fingerprint,
        clipped,
        model.survey,
    )
    if sampler is not None and (censored or (blueprint is not None and blueprint.direct is None)):
        _ = sampler.compiled
    _recent[key] = CompiledModel(*made)
    while len(_recent) > _KEPT:
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
    engine: str = AUTO,
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
    engine: str = AUTO,
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
    engine: str = AUTO,
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
    draws, tune, chains, cores, target_accept, engine
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
    sampling = Sampling(draws=draws, tune=tune, chains=chains, cores=cores, target_accept=target_accept, engine=engine)
    check_seed(random_seed)
    if is_chain(synthesizer):
        # Imported late: it fits blocks with what stands here.
        from riskweighted.synthesis.chain_fitting import fit_chain

        return fit_chain(cast(Chain, synthesizer), confidential, alpha, sampling, random_seed, progress, guarantee, survey)
    single = cast(Synthesizer, synthesizer)
    if isinstance(alpha, pd.DataFrame):
        raise InputError(f"alpha must be (n,) for {type(single).__name__}, which is of one variable; got a DataFrame")
    model = prepare_model(single, confidential, survey)
    checked = check_alpha(alpha, confidential.index, model.survey)
    censoring = model.censor(guarantee, checked, L)
    return compile_prepared(model, guarantee is not None)._sample(checked, random_seed, sampling, progress, censoring)
