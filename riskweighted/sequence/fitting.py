"""`fit`: the risk-weighted pseudo posterior of a synthesizer or of a chain, block by block (METHODS
sections 5 and 12).
"""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.common.errors import InputError
from riskweighted.common.html_repr import in_notebook
from riskweighted.common.native import Frame, as_pandas, native_of
from riskweighted.common.progress import default_reporter
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.guarantee.statement import Guarantee
from riskweighted.sampling.block_fit import refuse_survey
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sampling.compiled import CompiledModel
from riskweighted.sampling.nuts import Progress
from riskweighted.sampling.sampling_settings import AUTO, Sampling
from riskweighted.sequence.alphas import Alpha, alphas_of, functions_of
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import add_learned_scores, prepare_sequence
from riskweighted.sequence.public import refuse_told
from riskweighted.sequence.tasks import block_tasks, fit_tasks

__all__ = ["CompiledSequence", "compile_model", "fit", "fit_sequence"]


def fit(
    synthesizer: Synthesizer | Chain,
    confidential: Frame,
    alpha: Alpha = None,
    *,
    random_seed: int | None = None,
    draws: int = 250,
    tune: int = 500,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float | None = None,
    engine: str = AUTO,
    progress: Progress | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    survey: str | pd.Series | np.ndarray | None = None,
) -> Fit:
    """Return a sample of the risk-weighted pseudo posterior of a synthesizer (Hu et al. 2022, eq. 4
    and 10).

    Parameters
    ----------
    synthesizer : Synthesizer or Chain
        For example ``load_synthesizer("normal-mixture")("income ~ C(region)")``, or of several
        variables ``load_synthesizer("sequential")(["income", "smoke"], predictors=["age"])``.
    confidential : DataFrame, n rows
        Of pandas or polars, or a table of Arrow; datasets drawn from the fit are what it is.
    alpha : Series on the index of `confidential`, array (n,), CentredWeights, or None
        Weights in [0, 1]; None is the unweighted synthesizer, 1 everywhere. For a chain also (n,
        V), a DataFrame with the V variables as its columns or an array in their order; (n,) holds
        for all of them. Numbers alone are not centred, since they do not say what another value
        would weigh: `centred_weights` does (METHODS section 15).
    random_seed : int, optional
        The same seed gives the same draws, whatever the number of cores.
    draws, tune, chains, cores, target_accept, engine
        See `Sampling`.
    progress : callable, optional
        Called with (draws done, draws in all) twice a second.
    guarantee : Guarantee, optional
        Sample the censored pseudo posterior (METHODS section 9.3), whose datasets have a proved
        epsilon; `Fit.statement` says what holds. Alpha must be the same for all records.
    L : int
        The number of datasets that the guarantee is stated for; no more can be drawn from its fit.
    survey : str, Series or array (n,), optional
        Survey weights, by the name of their column or as values. Normalised to sum n they multiply
        alpha in the likelihood, where the product may exceed 1 (METHODS section 12). To let the
        weight act as a predictor instead, name its column in the formula.

    Returns
    -------
    Fit, with a posterior of its own for every block of a chain.

    Raises
    ------
    InputError
        If weights are outside [0, 1], missing, of another length or index, or all zero, if survey
        weights are negative, missing, infinite or all zero, or if the data does not suit the
        synthesizer. Under a guarantee also if anything is taken from the data, or read and not
        declared public, all of which it names; or if what is declared public gives a sensitive
        variable away.
    ContractError
        If the synthesizer's graph and log_density disagree, alpha does not act, or it draws no n
        finite values, or sees the sensitive ones.

    Warns
    -----
    ConvergenceWarning
        If a quantity of what leaves has R-hat above its limit (1.02, or more where chance gives
        more) or bulk ESS < 100, or a transition diverged, which fails above .5 % of the draws
        (METHODS section 5.13).

    Examples
    --------
    >>> from riskweighted.runs.examples import alpha, data, synthesizer
    >>> fit = rw.fit(synthesizer, data, alpha, draws=200, tune=200, random_seed=1)
    >>> fit.synthesize(2, random_seed=2)[0].shape
    (200, 5)
    """
    sampling = Sampling(
        draws=draws,
        tune=tune,
        chains=chains,
        cores=cores,
        target_accept=target_accept,
        engine=engine,
    )
    check_seed(random_seed)
    native, confidential, alpha = native_of(confidential), as_pandas(confidential), as_pandas(alpha)
    prepared = prepare_sequence(synthesizer, confidential, survey)
    with (
        default_reporter().step("sampling")
        if progress is None and in_notebook()
        else nullcontext(progress) as told
    ):
        fitted = fit_sequence(
            prepared, alpha, sampling, random_seed, told, guarantee=guarantee, L=L
        )
    return fitted if native is None else replace(fitted, native=native)


def fit_sequence(
    prepared: PreparedSequence,
    alphas: Alpha,
    sampling: Sampling,
    random_seed: int | None = None,
    progress: Progress | None = None,
    before: Fit | None = None,
    guarantee: Guarantee | None = None,
    L: int = 20,  # noqa: N803
    *,
    compared: bool = False,
) -> Fit:
    """Every block fitted; those that are the same in the fit `before` (model, records, weights,
    sampling, seed) are taken from it. `compared`: as of `compile_prepared`."""
    check_seed(random_seed)
    checked = alphas_of(prepared.variables, alphas, prepared.confidential.index)
    prepared = add_learned_scores(prepared, checked)
    wanted = block_tasks(prepared, checked, random_seed, guarantee, L, functions_of(alphas))
    if guarantee is not None:
        refuse_told(prepared, guarantee)
    earlier = {} if before is None else before.blocks
    fits = {
        task.name: earlier[task.name]
        for task in wanted
        if task.name in earlier and task.is_done_by(earlier[task.name], sampling)
    }
    fits |= fit_tasks(
        [task for task in wanted if task.name not in fits], sampling, progress, compared=compared
    )
    return Fit(prepared, checked, {task.name: fits[task.name] for task in wanted}, random_seed)


@dataclass(frozen=True, eq=False)
class CompiledSequence:
    """A synthesizer or a chain ready for one dataset; samples for any weights without compiling
    again. Confidential.

    ``censored``: whether it samples the censored pseudo posterior, for any guarantee and equal
    weights; ``models``: of the blocks.
    """

    prepared: PreparedSequence = field(repr=False)
    censored: bool
    models: tuple[CompiledModel, ...]

    def sample(
        self,
        alpha: Alpha = None,
        *,
        random_seed: int | None = None,
        sampling: Sampling | None = None,
        progress: Progress | None = None,
        guarantee: Guarantee | None = None,
        L: int = 20,  # noqa: N803
    ) -> Fit:
        """Sample the pseudo posterior with weights alpha; see `fit`. A guarantee needs a model that
        was compiled for one.
        """
        refuse_survey(self.prepared.survey, guarantee)
        if (guarantee is not None) != self.censored:
            raise InputError(
                f"guarantee: this model was compiled {'for' if self.censored else 'without'} "
                "one; compile it again"
            )
        return fit_sequence(
            self.prepared,
            alpha,
            sampling or Sampling(),
            random_seed,
            progress,
            guarantee=guarantee,
            L=L,
        )


def compile_model(
    synthesizer: Synthesizer | Chain,
    confidential: Frame,
    *,
    censored: bool = False,
    survey: str | pd.Series | np.ndarray | None = None,
) -> CompiledSequence:
    """Return a synthesizer prepared and compiled for a dataset; the last few are kept, since
    compiling takes seconds.

    Parameters
    ----------
    synthesizer : Synthesizer or Chain
    confidential : DataFrame, n rows
    censored : bool
        Whether for fits with a guarantee; one compiled model serves any epsilon, reference and
        (equal) weights.
    survey : str, Series or array (n,), optional
        Survey weights of its fits, see `fit`.

    Raises
    ------
    InputError
        Whatever the synthesizer finds wrong with the data; if `censored`, all that voids a
        guarantee.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthesizer
    >>> compiled = rw.compile_model(synthesizer, data)
    >>> compiled.sample(random_seed=1).converged
    True
    """
    prepared = prepare_sequence(synthesizer, as_pandas(confidential), survey)
    return CompiledSequence(
        prepared,
        censored,
        tuple(compile_prepared(block.model, censored) for block in prepared.blocks),
    )
