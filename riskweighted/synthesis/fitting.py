"""The risk-weighted pseudo posterior (S003 eq. 4, 10): compile once, sample for each weight vector, check.

This file, `compiled`, `agreement`, `checking` and `convergence` beside it are the ones that know the versions of PyMC, nutpie and ArviZ.
"""

import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.synthesis.agreement import (
    compile_clipped_sum,
    compile_log_posterior,
    compile_records,
    compile_weighted_sum,
)
from riskweighted.synthesis.censoring import clipped_sum, obstacles, refusal
from riskweighted.synthesis.chains import Progress
from riskweighted.synthesis.compiled import Censored, CompiledModel, Sampler, check_alpha
from riskweighted.synthesis.contract import Blueprint, Synthesizer
from riskweighted.synthesis.guarantee import Guarantee
from riskweighted.synthesis.posterior import Fit, PreparedModel, prepare_model
from riskweighted.synthesis.sampling import AUTO, Sampling

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


_recent: OrderedDict[tuple[Any, ...], CompiledModel] = OrderedDict()


def compile_prepared(model: PreparedModel, censored: bool = False) -> CompiledModel:
    """The model compiled, for a guarantee if `censored`; the last few are kept, since compiling takes seconds."""
    key = (model.synthesizer, model.fingerprint, censored)
    if key in _recent:
        _recent.move_to_end(key)
        return replace(_recent[key], confidential=model.confidential)
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
    )
    if sampler is not None and (censored or (blueprint is not None and blueprint.direct is None)):
        _ = sampler.compiled
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


def compile_model(synthesizer: Synthesizer, confidential: pd.DataFrame, *, censored: bool = False) -> CompiledModel:
    """Prepare and compile a synthesizer for a dataset; the last few are kept, since compiling takes seconds.

    Parameters
    ----------
    synthesizer : Synthesizer
    confidential : DataFrame, n rows
    censored : bool
        Whether for fits with a guarantee; one compiled model serves any epsilon, reference and (equal) weights.

    Raises
    ------
    InputError
        Whatever the synthesizer finds wrong with the data; if `censored`, all that voids a guarantee.
    """
    return compile_prepared(prepare_model(synthesizer, confidential), censored)


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
) -> Fit:
    """Sample the risk-weighted pseudo posterior of a synthesizer (S003 eq. 4 and 10).

    Parameters
    ----------
    synthesizer : Synthesizer
        For example ``load_synthesizer("normal-mixture")("income ~ C(region)")``.
    confidential : DataFrame, n rows
    alpha : Series on the index of `confidential`, array (n,), or None
        Weights in [0, 1]; None is the unweighted synthesizer, 1 everywhere.
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

    Raises
    ------
    InputError
        If weights are outside [0, 1], missing, of another length or index, or all zero, or if the data does not
        suit the synthesizer; if the engine "direct" is asked for and fails. Under a guarantee also if anything is taken from the data, all
        of which it names.
    ContractError
        If the synthesizer's graph and log_likelihood disagree, alpha does not act, or it draws no n finite values.

    Warns
    -----
    ConvergenceWarning
        If a monitored quantity has R-hat > 1.02 or bulk ESS < 100, or a transition diverged.
    """
    sampling = Sampling(draws=draws, tune=tune, chains=chains, cores=cores, target_accept=target_accept, engine=engine)
    check_seed(random_seed)
    checked = check_alpha(alpha, confidential.index)
    model = prepare_model(synthesizer, confidential)
    censoring = model.censor(guarantee, checked, L)
    return compile_prepared(model, guarantee is not None)._sample(checked, random_seed, sampling, progress, censoring)
