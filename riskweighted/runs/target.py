"""A study that asks for a target (`[weights] target`): the scheme that meets it, found once and named."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from typing import Any

import pandas as pd

from riskweighted.common.atomic import keep, recall
from riskweighted.runs.checked import CheckedStudy, all_weights, study_weights
from riskweighted.runs.fits import Fits
from riskweighted.runs.stages import Stages
from riskweighted.tuning.tune import tune_model
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["TunedScheme", "meet_target"]


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
        found = _from_json(kept)
    else:
        tuning = tune_model(
            checked.model,
            checked.world,
            partial(study_weights, checked.study, checked.world.under(checked.study.weighting_scenario())),
            settings,
            checked.study.sampling,
            fits.streams,
            analysis=checked.analysis,
            unweighted=unweighted,
            reporter=fits.reporter,
        )
        tables = {"tuning": tuning.families, "frontier": tuning.frontier}
        found = TunedScheme(settings.target, settings.at_most, tuning.scheme, tuning.why, tables)
        if tuning.scheme != UNWEIGHTED:
            fits.keep(tuning.scheme, tuning.fit)
        keep(path, _as_json(found), name)
    schemes = list(dict.fromkeys([*asked.schemes, found.scheme]))
    study = replace(checked.study, weights=replace(asked, schemes=schemes, target=None, at_most=None, family=None))
    return replace(checked, study=study, weights=all_weights(study, checked.world)), found


def _as_json(found: TunedScheme) -> bytes:
    tables = {name: table.to_csv(index=False) for name, table in found.tables.items()}
    return json.dumps({**found.__dict__, "tables": tables}).encode()


def _from_json(content: bytes) -> TunedScheme:
    stored: dict[str, Any] = json.loads(content)
    tables = {name: pd.read_csv(StringIO(text)) for name, text in stored.pop("tables").items()}
    return TunedScheme(**stored, tables=tables)
