"""A scheme that meets a target: that of a study (`[weights] target`), found once in a run and
named, or that of `riskweighted tune`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from riskweighted.common.atomic import keep, recall
from riskweighted.common.errors import InputError, listing
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.common.seeds import Streams
from riskweighted.disclosure.leave_one_out_weights import Weighting
from riskweighted.evaluation.verdicts import Verdict, find_verdicts
from riskweighted.runs.derivation import check_derived
from riskweighted.runs.evaluation_tables import evaluate_labels
from riskweighted.runs.found_bounds import add_found_bounds
from riskweighted.runs.stages import Stages
from riskweighted.runs.study import Study, refuse_several
from riskweighted.runs.work import Work
from riskweighted.tuning.constraints import Leaving
from riskweighted.tuning.tune import Tuning, tune_model
from riskweighted.tuning.tuning_settings import TuningSettings
from riskweighted.tuning.tuning_tables import add_verdict_words
from riskweighted.utility.regressions import Analysis
from riskweighted.weights.scheme_names import UNWEIGHTED

__all__ = ["TunedScheme", "asking_study", "meet_target", "tune_study", "tuned_study"]

# settings of a study's weights that a finished run has no more
ASKED = ("target", "target_max", "family", "constraints", "schemes")


@dataclass(frozen=True)
class TunedScheme:
    """The scheme that a run's target led to.

    ``target``, ``target_max``, ``family``, ``constraints``, ``schemes``: what was asked;
    ``scheme``: what meets it, as its text; ``why``: in words; ``tables``: "tuning" (a row per
    family) and "frontier" (a row per setting that was scored).
    """

    target: str
    target_max: float
    family: Any
    constraints: Mapping[str, float]
    schemes: Sequence[str]
    scheme: str
    why: str
    tables: Mapping[str, pd.DataFrame] = field(repr=False)

    def judged(self, verdicts: Sequence[Verdict]) -> dict[str, pd.DataFrame]:
        """The tables, with the word that the run gives what was sampled."""
        return {**self.tables, "frontier": add_verdict_words(self.tables["frontier"], verdicts)}

    @property
    def asked(self) -> dict[str, Any]:
        """The settings of weights that asked for it."""
        return {name: getattr(self, name) for name in ASKED}


def meet_target(work: Work, folder: Path) -> tuple[Work, TunedScheme | None]:
    """The work of a study that names the scheme which meets its target, and how it was found; as it
    stands where it has no target.

    Unweighted and tuned fit are sampled as the run samples them, and kept with its other fits; what
    was found is kept in `folder`.
    """
    study = work.study
    settings = study.weights.tuning
    if settings is None:
        return work, None
    name = f"tuning {Stages(study, work.fingerprint, streams=work.streams).key('tuned')}"
    kept = recall(folder / "tuning", name)
    if kept is not None:
        tuned = _from_json(kept)
    else:
        tuning = _tuned(work, settings, work.analysis())
        tables = {"tuning": tuning.families, "frontier": tuning.frontier}
        asked = (
            settings.target,
            settings.target_max,
            study.weights.family,
            settings.constraints,
            study.weights.schemes,
        )
        tuned = TunedScheme(*asked, tuning.scheme, tuning.why, tables)
        keep(folder / "tuning", _as_json(tuned), name)
    schemes = list(dict.fromkeys([*study.weights.schemes, tuned.scheme]))
    return work.at(_with_schemes(study, schemes)), tuned


def _with_schemes(study: Study, schemes: Sequence[str]) -> Study:
    """The study with these schemes, and no target any more."""
    return replace(
        study,
        weights=replace(
            study.weights,
            schemes=schemes,
            target=None,
            target_max=None,
            family=None,
            constraints={},
        ),
    )


def asking_study(study: Study, tuned: Mapping[str, Any]) -> Study:
    """The study that asked for the scheme which a finished run's study names; `tuned`: what its
    manifest says of that.
    """
    if not isinstance(tuned, Mapping) or set(ASKED) - set(tuned):
        raise InputError(f"'tuning' in a run's manifest.json must say {listing(ASKED)}")
    return replace(study, weights=replace(study.weights, **{name: tuned[name] for name in ASKED}))


def tuned_study(study: Study, tuning: Tuning) -> Study:
    """The study with the unweighted synthesizer and the scheme that was chosen."""
    return _with_schemes(study, tuple(dict.fromkeys((UNWEIGHTED, tuning.scheme))))


def tune_study(
    study: Study,
    settings: TuningSettings,
    *,
    seed: int | None = None,
    cores: int | None = None,
    reporter: Reporter | None = None,
) -> Tuning:
    """Tune the weights of a study (METHODS section 11), whatever its list of schemes; by its own
    seed alone, or `seed`.

    The chosen scheme is judged as a run judges it. No number of the search enters released data.
    The regression of the loss "overlap" is that of the study's evaluation.
    """
    if study.guarantee is not None:
        raise InputError(
            "a guarantee holds for no setting that is tuned on the data: leave out [guarantee], "
            "or name a public setting"
        )
    refuse_several(study, "tuning")
    study = replace(study, sampling=replace(study.sampling, cores=cores))
    confidential, reporter = study.read_data(), reporter or default_reporter()
    study = add_found_bounds(study, confidential)
    stages = Stages(
        study,
        repr(study.data),
        compared=True,
        streams=Streams(study.seed if seed is None else seed),
    )
    work = Work(stages, confidential, reporter=reporter)
    check_derived(study, confidential)
    tuning = _tuned(work, settings, work.analysis() if settings.loss == "overlap" else None)
    _, tables = evaluate_labels(work.at(tuned_study(study, tuning)), [tuning.scheme])
    verdicts = find_verdicts(study.thresholds, tables, study.release.hidden)
    return replace(tuning, verdicts=verdicts, frontier=add_verdict_words(tuning.frontier, verdicts))


def _tuned(work: Work, settings: TuningSettings, analysis: Analysis | None) -> Tuning:
    """The search, with fits that are sampled and kept as those of a run."""
    return tune_model(
        work.prepared(),
        work.world(),
        work.weigh_anew,
        settings,
        work.study.sampling,
        work.streams,
        analysis=analysis,
        reporter=work.reporter,
        sample=lambda scheme, _: work.fit(scheme),
        leaving=_leaving(work),
    )


def _leaving(work: Work) -> Leaving:
    """How a run leaves a record out of a fit."""
    making, world = work.study.weights.making, work.world("weighing")
    return Leaving(
        lambda scheme: Weighting(scheme, world=world, **making), work.study.linking_column
    )


def _as_json(tuned: TunedScheme) -> bytes:
    tables = {name: table.to_csv(index=False) for name, table in tuned.tables.items()}
    return json.dumps({**tuned.__dict__, "tables": tables}).encode()


def _from_json(content: bytes) -> TunedScheme:
    stored: dict[str, Any] = json.loads(content)
    tables = {name: pd.read_csv(StringIO(text)) for name, text in stored.pop("tables").items()}
    return TunedScheme(**stored, tables=tables)
