"""`tune` from a study: its data, scenarios, synthesizer, sampling and adjustments of weights; its list of schemes is not looked at."""

from dataclasses import replace
from functools import partial

from riskweighted.common.errors import InputError
from riskweighted.common.progress import Reporter
from riskweighted.common.seeds import Streams
from riskweighted.intruder.world import make_world
from riskweighted.risk.copies import refuse_copies
from riskweighted.runs.checked import study_weights
from riskweighted.runs.study import Study
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.tuning.settings import TuningSettings
from riskweighted.tuning.tune import Tuning, tune_model
from riskweighted.utility.regressions import checked_regression
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["tune_study", "tuned_study"]


def tune_study(
    study: Study, settings: TuningSettings, *, seed: int | None = None, cores: int | None = None, reporter: Reporter | None = None
) -> Tuning:
    """Tune the weights of a study (METHODS section 11).

    The search follows from the study's seed alone: no number of it enters released data.

    Parameters
    ----------
    study : Study
    settings : TuningSettings
        The regression of its loss "overlap" is that of the study's evaluation.
    seed : int, optional
        Instead of the study's.
    cores : int, optional
        Chains sampled at once.
    reporter : Reporter, optional

    Raises
    ------
    InputError
        As `tune`; or if the study names no model, or its data do not suit it.
    """
    if study.guarantee is not None:
        raise InputError("a guarantee holds for no setting that is tuned on the data: leave out [guarantee], or name a public setting")
    synthesizer, confidential = study.make_synthesizer(), study.read_data()
    world = make_world(confidential, study.evaluating_scenario())
    for variable in study.variables:
        refuse_copies(confidential, variable, study.unaltered(confidential))
    analysis = None
    if settings.loss == "overlap":
        analysis = checked_regression(confidential, study.evaluation.regression, study.evaluation.coefficient, study.variables)
    weigh = partial(study_weights, study, world.under(study.weighting_scenario()))
    sampling = replace(study.sampling, cores=cores)
    model = prepare_sequence(synthesizer, confidential, study.weights.survey)
    return tune_model(
        model, world, weigh, settings, sampling, Streams(study.seed if seed is None else seed), analysis=analysis, reporter=reporter
    )


def tuned_study(study: Study, tuning: Tuning) -> Study:
    """The study with the unweighted synthesizer and the scheme that was chosen."""
    schemes = tuple(dict.fromkeys((UNWEIGHTED, tuning.scheme)))
    return replace(study, weights=replace(study.weights, schemes=schemes, target=None, at_most=None, family=None))
