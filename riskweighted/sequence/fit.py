"""`fit`: the risk-weighted pseudo posterior of one variable or of several (Hu et al. 2022, eq. 4, 10)."""

from dataclasses import replace
from typing import cast, overload

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.native import as_pandas, native_of
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sampling.compiled import check_alpha
from riskweighted.sampling.direct_fit import not_possible
from riskweighted.sampling.fitting import compile_prepared
from riskweighted.sampling.jaxed import check_jax
from riskweighted.sampling.nuts import Progress
from riskweighted.sampling.posterior import Fit, prepare_model
from riskweighted.sampling.settings import AUTO, DIRECT, JAX, Sampling
from riskweighted.sequence.chain_fit import ChainFit
from riskweighted.sequence.chain_fitting import fit_chain
from riskweighted.sequence.declared import Chain, is_chain

__all__ = ["fit"]


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
    """Sample the risk-weighted pseudo posterior of a synthesizer (Hu et al. 2022, eq. 4 and 10).

    Parameters
    ----------
    synthesizer : Synthesizer or Chain
        For example ``load_synthesizer("normal-mixture")("income ~ C(region)")``, or of several variables
        ``load_synthesizer("sequential")(["income", "smoke"], predictors=["age"])``.
    confidential : DataFrame, n rows
        Of pandas or polars, or a table of Arrow; datasets drawn from the fit are what it is.
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
    native, confidential, alpha = native_of(confidential), as_pandas(confidential), as_pandas(alpha)
    if is_chain(synthesizer):
        found = fit_chain(cast(Chain, synthesizer), confidential, alpha, sampling, random_seed, progress, guarantee, survey)
        return found if native is None else replace(found, native=native)
    single = cast(Synthesizer, synthesizer)
    if isinstance(alpha, pd.DataFrame):
        raise InputError(f"alpha must be (n,) for {type(single).__name__}, which is of one variable; got a DataFrame")
    model = prepare_model(single, confidential, survey)
    checked = check_alpha(alpha, confidential.index, model.survey)
    if sampling.engine == DIRECT:  # refused before anything is compiled
        blueprint = model.build()
        if blueprint is None or blueprint.direct is None or guarantee is not None:
            raise not_possible(single, blueprint)
    if sampling.engine == JAX:
        check_jax(single, model.build(), guarantee is not None)
    censoring = model.censor(guarantee, checked, L)
    fitted = compile_prepared(model, guarantee is not None)._sample(checked, random_seed, sampling, progress, censoring)
    return fitted if native is None else replace(fitted, native=native)
