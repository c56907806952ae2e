"""`tune`: the setting of a family of weights that meets a target at the least loss of utility
(METHODS section 11).
"""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_seed
from riskweighted.common.native import Frame, as_pandas, native_of
from riskweighted.common.progress import Reporter
from riskweighted.common.seeds import Streams
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.sampling.sampling_settings import AUTO, Sampling
from riskweighted.sequence.declared import Chain
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.tuning.constraints import Leaving
from riskweighted.tuning.search import tune_model
from riskweighted.tuning.tuning_settings import TuningSettings
from riskweighted.tuning.tuning_tables import Tuning
from riskweighted.utility.regressions import checked_regression
from riskweighted.weights.match import Match, world_weighting

__all__ = ["Tuning", "tune", "tune_model"]


def tune(
    synthesizer: Synthesizer | Chain,
    confidential: Frame,
    scenario: Scenario,
    *,
    target: str,
    target_max: float,
    family: str | None = None,
    loss: str = "U_m",
    constraints: Mapping[str, float] | None = None,
    regression: str | None = None,
    coefficient: str | None = None,
    fit: Fit | None = None,
    draws: int = 250,
    tune: int = 500,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float | None = None,
    engine: str = AUTO,
    risk_draws: int | None = None,
    survey: str | pd.Series | np.ndarray | None = None,
    risk_of: Match = "each-variable",
    random_seed: int | None = None,
    reporter: Reporter | None = None,
) -> Tuning:
    """Return a setting of the weights that meets a target at the least loss of utility (METHODS
    section 11).

    Each family is scanned and bisected at the mode of the pseudo posterior. The one of least loss
    at the target is sampled and measured; where it is off, the search is corrected by the ratio
    found and a second fit is sampled, and the better of the two is kept. The choice looks at the
    data, so it lies outside any epsilon.

    Parameters
    ----------
    synthesizer : Synthesizer or Chain
    confidential : DataFrame, n rows
    scenario : Scenario
    target : str
        "isolated-risk" (mean expected identification risk of the 5 % of the records with the
        largest IR^c) or "top-1-percent-risk" (of the largest 1 % of the values), along "mix",
        "power" and "drop-riskiest"; what records teach by their own values,
        "isolated-information-mean" (of isolated records), "largest-information" (of a record) or
        "information" (sum), and "lipschitz" (Delta) and "range" (largest), along these, "uniform",
        "bounded" and "budget"; or the key of another measure of datasets. Where several variables
        are synthesized it is that of all of them together, or of the one that is named:
        "isolated-risk(income)".
    target_max : float
        What the target shall not exceed.
    family : str, optional
        One family instead of all, a centred one by its plus, "mix+". All are "mix", "power" and
        "drop-riskiest" of expected risk, else the centred ones and "uniform"; "drop-riskiest+" is
        walked where it is named.
    loss : str
        "U_m": the largest ECDF distance, mean over the numbers that are synthesized; "overlap": 1
        less the overlap of the intervals of a regression coefficient; or the key of a measure of
        utility, such as "two-way-mean".
    constraints : mapping of str to float, optional
        Constraints: what other figures shall not exceed beside the target, by name,
        ``{"isolated-information": 0.5}``. Any target is one; "disclosure-largest", the largest D of
        one copy of a record (`attribution`), is one alone.
    regression, coefficient : str, optional
        For "overlap", as in `evaluate`.
    fit : Fit, optional
        The unweighted fit of this synthesizer to these data, which is then not sampled again.
    draws, tune, chains, cores, target_accept, engine
        See `fit`.
    risk_draws : int, optional
        Posterior draws on which the expected risk of a fit is measured; at most draws x chains.
        Default: 200, or all there are.
    survey : str, Series or array (n,), optional
        Survey weights, as in `fit`; a given unweighted fit must have them too.
    risk_of : {"each-variable", "joint"} or sequence of sequences of str, default "each-variable"
        Whose ball the weights of several variables are made of, as in `match_weights`.
    random_seed : int, optional
    reporter : Reporter, optional
        Shows progress.

    Returns
    -------
    Tuning

    Raises
    ------
    InputError
        If the target is none that weights can be chosen by, the family has no parameter or is not
        one along which the target falls, no family reaches it, or keeps the constraints (the
        message says what can be reached), or the data or a setting are not valid.

    Warns
    -----
    ConvergenceWarning
        If a fit did not converge.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthesizer
    >>> tuning = rw.tune(
    ...     synthesizer,
    ...     data,
    ...     scenario,
    ...     target="lipschitz",
    ...     target_max=3.0,
    ...     family="uniform",
    ...     random_seed=1,
    ... )
    >>> tuning.family, tuning.met
    ('uniform', True)
    """
    native, confidential = native_of(confidential), as_pandas(confidential)
    settings = TuningSettings(target, target_max, family, loss, risk_draws, constraints or {})
    sampling = Sampling(
        draws=draws,
        tune=tune,
        chains=chains,
        cores=cores,
        target_accept=target_accept,
        engine=engine,
    )
    check_seed(random_seed)
    world = make_world(confidential, scenario)
    analysis = checked_regression(confidential, regression, coefficient, scenario.synthetic)
    streams = Streams(secrets.randbits(63) if random_seed is None else int(random_seed))
    model = prepare_sequence(synthesizer, confidential, survey)
    weigh = partial(world_weighting, world, risk_of=risk_of)
    leaving = Leaving(lambda scheme: Weighting(scheme, risk_of, world=world))
    tuned = tune_model(
        model,
        world,
        weigh,
        settings,
        sampling,
        streams,
        analysis=analysis,
        unweighted=fit,
        reporter=reporter,
        leaving=leaving,
    )
    if native is None:
        return tuned
    return replace(
        tuned,
        fit=replace(tuned.fit, native=native),
        unweighted=replace(tuned.unweighted, native=native),
    )
