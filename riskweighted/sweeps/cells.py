"""The cells of a sweep: what decides each one, and which of them share a fit.

A cell is what one label (a scheme, the confidential data, a baseline) comes to in one repetition at one point of the
grid. Its key is a hash of exactly the settings that decide it, the data's fingerprint and the versions, so that points
that differ in nothing relevant are one cell: unweighted has no weighting radius. Cells of one fit form a group.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from riskweighted.common.settings import to_table
from riskweighted.evaluation.tables import CONFIDENTIAL
from riskweighted.intruder.scenario import Scenario
from riskweighted.runs.study import Study
from riskweighted.sweeps.grid import Point
from riskweighted.weights.names import UNWEIGHTED
from riskweighted.weights.schemes import scheme_source, uses_scenario

__all__ = ["Cell", "Group", "group_cells", "identify", "of_records", "scenario_text"]


@dataclass(frozen=True)
class Cell:
    """One label at one point of the grid in one repetition; equal keys mean equal results.

    Attributes
    ----------
    key : str
    fit : str
        Key of the fit; cells of the confidential data share one without sampling.
    baseline : str or None
        Key of the unweighted fit that whack-a-mole is measured against.
    source : str or None
        Key of the fit that its weights are made of.
    model : str
        Key of what is compiled.
    data : str
        Fingerprint of the confidential data.
    """

    key: str
    fit: str
    baseline: str | None
    source: str | None
    model: str
    data: str
    label: str
    study: Study

    @property
    def family(self) -> tuple[str, int]:
        """Cells of the same model and seed: they share the unweighted fit, its datasets and its risk."""
        return self.model, self.study.seed

    @property
    def fits_model(self) -> bool:
        """Whether it is one of a scheme, for which the model is fitted."""
        return self.label != CONFIDENTIAL and self.label not in self.study.baselines

    @property
    def needed(self) -> set[str]:
        """Keys of the fits that must be there first."""
        return {key for key in (self.baseline, self.source) if key is not None}


class Group(NamedTuple):
    """Cells that share a fit and a baseline.

    ``first``: any of them, all agree in what decides the fit. ``cells``: those to evaluate, none where only the
    posterior is needed. ``posterior``: whether others need it. ``cores``: chains sampled at once.
    """

    first: Cell
    cells: tuple[Cell, ...]
    posterior: bool = False
    cores: int = 1


def _digest(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def identify(point: Point, data: str, versions: Mapping[str, str], *, whack_a_mole: bool) -> Cell:
    """The cell of a point: keys from the settings that decide its fit and its evaluation."""
    label, study = point.label, point.study
    common: dict[str, Any] = {"data": data, "versions": dict(versions)}
    model = common | {"synthesizer": to_table(study.synthesizer)} | ({"variables": study.variables} if study.synthesizer.of_several else {})
    source = None
    if label == CONFIDENTIAL:
        fit = common | {"label": label, "seed": study.seed}
    elif label in study.baselines:
        fit = common | {"label": label, "variable": study.target, "settings": to_table(study.baselines[label])}
    else:
        fit, made_of = _fit_of(study, label, model), scheme_source(label)
        source = None if made_of is None else _digest(_fit_of(study, made_of, model))
    baseline = _digest(_fit_of(study, UNWEIGHTED, model)) if whack_a_mole and label not in (CONFIDENTIAL, UNWEIGHTED) else None
    evaluation: dict[str, Any] = {
        "scenario": asdict(study.evaluating_scenario()),
        "measures": to_table(study.evaluation.measures),
        "seed": study.seed,
    }
    if study.synthesizer.of_several:
        evaluation["columns"] = list(study.release.columns)  # whose tables with the synthesized ones are compared
    datasets = None if label == CONFIDENTIAL else [study.release.L, study.release.precision]
    key = _digest({"fit": fit, "baseline": baseline, "evaluation": evaluation, "datasets": datasets})
    return Cell(key, _digest(fit), baseline, source, _digest(model), data, label, study)


def _fit_of(study: Study, scheme: str, model: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the fit of a scheme."""
    sampled = {**model, "sampling": to_table(study.sampling), "seed": study.seed, "label": scheme}
    if study.guarantee is not None:
        sampled |= {"guarantee": to_table(study.guarantee), "L": study.release.L}
    if study.weights.survey is not None:
        sampled |= {"survey": study.weights.survey}
    if scheme == UNWEIGHTED:
        return sampled
    weights: dict[str, Any] = {"scale": study.weights.scale, "shift": study.weights.shift, "cluster": study.weights.cluster}
    if uses_scenario(scheme):
        weights["scenario"] = asdict(study.weighting_scenario())
    if study.synthesizer.of_several:
        weights |= {"match": study.weights.match}
    return sampled | {"weights": weights}


def group_cells(cells: Sequence[Cell], finished: set[str]) -> list[Group]:
    """Groups with work left, in the order in which to start them: model by model, a baseline before what needs it."""
    groups: dict[tuple[str, str | None], dict[str, Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.fit, cell.baseline), {}).setdefault(cell.key, cell)
    needed: set[str] = set().union(*(cell.needed for cell in cells if cell.key not in finished))
    needed |= set().union(*(cell.needed for cell in cells if cell.fit in needed))
    left = []
    for (fit, _), members in groups.items():
        missing = tuple(cell for key, cell in members.items() if key not in finished)
        if missing or fit in needed:
            left.append(Group(next(iter(members.values())), missing, fit in needed))
    models = {cell.model: place for place, cell in reversed(list(enumerate(cells)))}
    return sorted(left, key=lambda group: (models[group.first.model], group.first.study.seed, len(group.first.needed)))


_OF_BALLS = ("radius", "radius_kind", "min_radius", "boundary", "singletons", "allow_wide")


def scenario_text(scenario: Scenario) -> str:
    """A scenario as text, the same for equal ones."""
    return json.dumps(asdict(scenario), sort_keys=True, default=str)


def of_records(scenario: Scenario) -> str:
    """The same without balls and singletons: what known patterns, statuses and utility depend on."""
    return json.dumps({name: value for name, value in asdict(scenario).items() if name not in _OF_BALLS}, sort_keys=True, default=str)
