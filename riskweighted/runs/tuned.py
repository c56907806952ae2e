"""A scheme that meets a target: that of a study (`[weights] target`), found once in a run and named, or that of `riskweighted tune`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from typing import Any

import pandas as pd

from riskweighted.common.atomic import keep, recall
from riskweighted.common.errors import InputError
from riskweighted.common.progress import Reporter
from riskweighted.common.seeds import Streams
from riskweighted.intruder.world import World, make_world
from riskweighted.runs.checked import CheckedStudy, all_weights, study_weights
from riskweighted.runs.derivation import check_derived
from riskweighted.runs.fits import Fits
from riskweighted.runs.stages import Stages
from riskweighted.runs.study import Study
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.tuning.settings import TuningSettings
from riskweighted.tuning.tune import Tuning, tune_model
from riskweighted.utility.regressions import checked_regression
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["TunedScheme", "meet_target", "tune_study", "tuned_study"]


@dataclass(frozen=True)
class TunedScheme:
    """The scheme that a run's target led to.

    ``target``, ``at_most``: what was asked; ``scheme``: what meets it, as its text; ``why``: in words; ``tables``: "tuning" (a row per
    family) and "frontier" (a row per setting that was scored).
    """

    target: str
    at_most: float
    scheme: str
    why: str
    tables: Mapping[str, pd.DataFrame] = field(repr=False)


def meet_target(fits: Fits) -> tuple[CheckedStudy, TunedScheme | None]:
    """A checked study that names the scheme which meets its target, and how it was found; as it stands where it has no target.

    Unweighted and tuned fit are sampled as the run samples them, and kept with the run's other fits.
    """
    checked, asked = fits.checked, fits.checked.study.weights
    settings = asked.tuning
    if settings is None:
        return checked, None
    unweighted = fits.of(UNWEIGHTED, checked.alphas_of(UNWEIGHTED, {}))
    name = f"tuning {Stages(checked.study, checked.model.fingerprint, streams=fits.streams).key('tuned')}"
    path = fits.partial / "tuning"
    kept = recall(path, name)
    if kept is not None:
        tuned = _from_json(kept)
    else:
        tuning = tune_model(
            checked.model,
            checked.world,
            _weighing(checked.study, checked.world),
            settings,
            checked.study.sampling,
            fits.streams,
            analysis=checked.analysis,
            unweighted=unweighted,
            reporter=fits.reporter,
            sample=fits.of,
        )
        tables = {"tuning": tuning.families, "frontier": tuning.frontier}
        tuned = TunedScheme(settings.target, settings.at_most, tuning.scheme, tuning.why, tables)
        keep(path, _as_json(tuned), name)
    schemes = list(dict.fromkeys([*asked.schemes, tuned.scheme]))
    study = _with_schemes(checked.study, schemes)
    return replace(checked, study=study, weights=all_weights(study, checked.world)), tuned


def _weighing(study: Study, world: World) -> Callable[..., pd.DataFrame]:
    """What makes the weights of a scheme, (n, V), as the study says."""
    return partial(study_weights, study, world.under(study.weighting_scenario()))


def _with_schemes(study: Study, schemes: Sequence[str]) -> Study:
    """The study with these schemes, and no target any more."""
    return replace(study, weights=replace(study.weights, schemes=schemes, target=None, at_most=None, family=None))


def tuned_study(study: Study, tuning: Tuning) -> Study:
    """The study with the unweighted synthesizer and the scheme that was chosen."""
    return _with_schemes(study, tuple(dict.fromkeys((UNWEIGHTED, tuning.scheme))))


def tune_study(
    study: Study, settings: TuningSettings, *, seed: int | None = None, cores: int | None = None, reporter: Reporter | None = None
) -> Tuning:
    """Tune the weights of a study (METHODS section 11), whatever its list of schemes; by its own seed alone, or `seed`.

    No number of the search enters released data. The regression of the loss "overlap" is that of the study's evaluation.
    """
    if study.guarantee is not None:
        raise InputError("a guarantee holds for no setting that is tuned on the data: leave out [guarantee], or name a public setting")
    synthesizer, confidential = study.make_synthesizer(), study.read_data()
    world = make_world(confidential, study.evaluating_scenario())
    check_derived(study, confidential)
    analysis = None
    if settings.loss == "overlap":
        analysis = checked_regression(confidential, study.evaluation.regression, study.evaluation.coefficient, study.variables)
    sampling, streams = replace(study.sampling, cores=cores), Streams(study.seed if seed is None else seed)
    model = prepare_sequence(synthesizer, confidential, study.weights.survey)
    return tune_model(model, world, _weighing(study, world), settings, sampling, streams, analysis=analysis, reporter=reporter)


def _as_json(tuned: TunedScheme) -> bytes:
    tables = {name: table.to_csv(index=False) for name, table in tuned.tables.items()}
    return json.dumps({**tuned.__dict__, "tables": tables}).encode()


def _from_json(content: bytes) -> TunedScheme:
    stored: dict[str, Any] = json.loads(content)
    tables = {name: pd.read_csv(StringIO(text)) for name, text in stored.pop("tables").items()}
    return TunedScheme(**stored, tables=tables)
