"""The cells of a sweep: what decides each one, which of them share a fit, and how a group of them is computed.

A cell is what one label (a scheme, the confidential data, a baseline) comes to in one repetition at one point of the
grid. Its key is a hash of exactly the settings that decide it, the data's fingerprint and the versions, so that points
that differ in nothing relevant are one cell: unweighted has no weighting radius. Cells of one fit form a group.
"""

import hashlib
import json
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.seeds import seed_for
from riskweighted.common.settings import to_table
from riskweighted.evaluation.evaluate import evaluate_world
from riskweighted.evaluation.expected import Mechanism, find_mechanism
from riskweighted.evaluation.settings import EvaluationSettings
from riskweighted.evaluation.tables import CONFIDENTIAL
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.identification import identification_risks
from riskweighted.runs.checked import study_alpha
from riskweighted.runs.study import DataSettings, Study
from riskweighted.sweeps.chains import fit_cell_chain, read_cell_chain
from riskweighted.sweeps.grid import Point
from riskweighted.synthesis.chain_fit import AnyFit, ChainFit
from riskweighted.synthesis.convergence import no_diagnostics
from riskweighted.synthesis.fitting import compile_prepared
from riskweighted.synthesis.posterior import Fit, prepare_model
from riskweighted.utility.regression import checked_regression
from riskweighted.weights.names import UNWEIGHTED
from riskweighted.weights.schemes import scheme_source

Stored: TypeAlias = xr.Dataset | bytes  # a posterior; of a chain as its archive

__all__ = ["Cell", "Group", "Outcome", "Result", "describe", "group_cells", "identify", "run_group"]


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


class Result(NamedTuple):
    """``measures``: one dict per measure of risk and utility; ``fit``: mean weight and convergence."""

    measures: list[dict[str, Any]]
    fit: dict[str, Any]


class Outcome(NamedTuple):
    """What became of a group. Confidential: it may hold a posterior.

    ``results`` and ``errors`` by cell key; ``posterior`` of a fit that others need; ``failure``: why there is no fit.
    """

    results: dict[str, Result]
    errors: dict[str, str]
    posterior: Stored | None = None
    failure: str | None = None

    @classmethod
    def failed(cls, group: Group, reason: str) -> "Outcome":
        """No cell of the group has a result, for one reason."""
        return cls({}, {cell.key: reason for cell in group.cells}, failure=reason)


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
    evaluation = {"scenario": asdict(study.evaluating_scenario()), "measures": to_table(study.evaluation.measures), "seed": study.seed}
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
    weights = {"scenario": asdict(study.weighting_scenario()), "scale": study.weights.scale, "shift": study.weights.shift}
    weights |= {"cluster": study.weights.cluster}
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


def describe(error: BaseException) -> str:
    """An error in a line that quotes no data: the text of our own, the type and place of any other."""
    if isinstance(error, InputError):
        return " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + (f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "")


_one_at_a_time = threading.Lock()  # compiled models, warnings and thread limits belong to the process


def run_group(given: pd.DataFrame | None, group: Group, posteriors: Mapping[str, Stored | None]) -> Outcome:
    """Fit once and evaluate every cell of a group; errors are values, since schedulers log what a worker raises.

    Parameters
    ----------
    given : DataFrame or None
        The confidential data; None: read from the path in the study.
    group : Group
    posteriors : mapping of key to Dataset
        Of the fits that the group needs; of a chain what `ChainFit.to_bytes` gives.
    """
    with _one_at_a_time, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say stands in the results: convergence, singleton patterns
        try:
            confidential = _read(group.first.study.data, group.first.data) if given is None else given
            fitted = _fit(group, confidential, posteriors)
            work = _Work(
                group.first.label,
                confidential,
                *fitted,
                _again(group, UNWEIGHTED, confidential, posteriors.get(group.first.baseline or "")),
            )
        except Exception as error:
            return Outcome.failed(group, describe(error))
        results, errors = {}, {}
        for cell in group.cells:
            try:
                results[cell.key] = work.evaluate(cell)
            except Exception as error:
                errors[cell.key] = describe(error)
    return Outcome(results, errors, _stored(work.fit) if work.fit is not None and group.posterior else None)


def _stored(fit: AnyFit) -> Stored:
    return fit.to_bytes() if isinstance(fit, ChainFit) else fit.posterior


@lru_cache(maxsize=2)
def _read(source: DataSettings, expected: str) -> pd.DataFrame:
    """The data of a study, once per process; refuses other data than the sweep was started with."""
    data = source.read()
    if fingerprint(data) != expected:
        raise InputError("the data that this worker reads differ from those that the sweep was started with")
    return data


def _fit(group: Group, confidential: pd.DataFrame, posteriors: Mapping[str, Stored | None]) -> "tuple[AnyFit | None, float]":
    """The group's fit and the mean of its weights; none for the confidential data."""
    label, study = group.first.label, group.first.study
    if label == CONFIDENTIAL:
        return None, np.nan
    if label in study.baselines:
        return compile_prepared(prepare_model(study.make_baseline(label), confidential)).sample(None), np.nan
    if study.synthesizer.of_several:
        chain = fit_cell_chain(study, confidential, label, replace(study.sampling, cores=group.cores))
        return chain, float(chain.alpha.to_numpy().mean())
    source = scheme_source(label)
    made_of = None if source is None else _again(group, source, confidential, posteriors[str(group.first.source)])
    assert not isinstance(made_of, ChainFit)
    alpha = study_alpha(study, make_world(confidential, study.weighting_scenario()), label, made_of)
    sampling = replace(study.sampling, cores=group.cores)
    compiled = compile_prepared(prepare_model(study.make_synthesizer(), confidential, study.weights.survey), study.guarantee is not None)
    seed = seed_for(study.seed, "fit", label)
    fitted = compiled.sample(alpha, random_seed=seed, sampling=sampling, guarantee=study.guarantee, L=study.release.L)
    return fitted, float(alpha.mean())


def _again(group: Group, scheme: str, confidential: pd.DataFrame, posterior: Stored | None) -> "AnyFit | None":
    """A fit of the group's study under a scheme again, from its posterior."""
    if posterior is None:
        return None
    study = group.first.study
    if study.synthesizer.of_several:
        return read_cell_chain(study, confidential, scheme, cast(bytes, posterior))
    model = prepare_model(study.make_synthesizer(), confidential, study.weights.survey)
    alpha = study_alpha(study, make_world(confidential, study.weighting_scenario()), scheme)
    censoring = model.censor(study.guarantee, alpha, study.release.L)
    made = (model.synthesizer, alpha, cast(xr.Dataset, posterior), no_diagnostics(), confidential, model.prepared)
    return Fit(*made, censoring=censoring, survey=model.survey)


class _Work:
    """Evaluates the cells of one group; what several cells need is made once."""

    def __init__(self, label: str, confidential: pd.DataFrame, fit: "AnyFit | None", mean_weight: float, baseline: "AnyFit | None") -> None:
        self.label, self.confidential, self.fit, self.mean_weight, self.baseline = label, confidential, fit, mean_weight, baseline
        self._checked: World | None = None
        self._found: dict[tuple[str, int | None, str | None, int, str], dict[str, Mechanism]] = {}
        self._datasets: dict[tuple[str, int, int, str], list[pd.DataFrame]] = {}

    def evaluate(self, cell: Cell) -> Result:
        """Risk and utility of the cell's label alone; its bootstrap has the seed of `run_study`."""
        study, label = cell.study, cell.label
        frames = [self.confidential] if self.fit is None else self._synthesize(self.fit, label, study)
        name = "itself" if label == CONFIDENTIAL else label
        seed = seed_for(study.seed, "evaluate", "")
        world, settings = self._world(study), study.evaluation.measures
        analysis = checked_regression(self.confidential, settings.regression, settings.coefficient, study.variables)
        against: dict[str, Any] = {}
        if self.baseline is not None:
            unweighted = identification_risks(world.pair(self._synthesize(self.baseline, UNWEIGHTED, study))).mean(axis=0)
            against = {"baseline": UNWEIGHTED, "baseline_risk": pd.Series(unweighted, self.confidential.index)}
        found = self._mechanisms(world, settings, seed, study.release.precision)
        shown = study.unaltered(self.confidential)
        result = evaluate_world(world, {name: frames}, settings, analysis, mechanisms=found, unaltered=shown, random_seed=seed, **against)
        rows = [row for table in (result.risk, result.utility) for row in table.to_dict("records") if row["label"] == label]
        return Result([{name: row[name] for name in row if name != "label"} for row in rows], self._convergence())

    def _world(self, study: Study) -> World:
        """The data under the cell's scenario; patterns are found once for all cells."""
        scenario = study.evaluating_scenario()
        self._checked = make_world(self.confidential, scenario) if self._checked is None else self._checked.under(scenario)
        return self._checked

    def _mechanisms(self, world: World, settings: EvaluationSettings, seed: int, precision: Any) -> dict[str, Mechanism]:
        """Expected risk and influence of the fit and of its baseline, once for all cells of the same scenario."""
        if self.fit is None:
            return {}
        key = (
            json.dumps(asdict(world.scenario), sort_keys=True, default=str),
            settings.risk_draws,
            settings.cluster,
            seed,
            repr(precision),
        )
        if key not in self._found:
            fits = {self.label: self.fit} | ({UNWEIGHTED: self.baseline} if self.baseline is not None else {})
            found = {label: find_mechanism(label, cast(Any, fit), world, settings, seed, precision) for label, fit in fits.items()}
            self._found[key] = found
        return self._found[key]

    def _synthesize(self, fit: AnyFit, label: str, study: Study) -> list[pd.DataFrame]:
        """The datasets that `run_study` draws for a reproducible study, once for all cells of the same L and precision."""
        count, precision = study.release.L, cast(Any, study.release.precision)  # a number of one variable, a table of several
        key = (label, study.seed, count, repr(precision))
        if key not in self._datasets:
            seed = seed_for(study.seed, "synthesize", label)
            self._datasets[key] = fit.synthesize(count, random_seed=seed, precision=precision)
        return self._datasets[key]

    def _convergence(self) -> dict[str, Any]:
        table = self.fit.diagnostics if self.fit is not None else no_diagnostics()
        if len(table) == 0:
            return {"mean_weight": self.mean_weight}
        worst = {"largest_r_hat": float(table["r_hat"].max()), "smallest_ess_bulk": float(table["ess_bulk"].min())}
        verdict = {"divergences": int(table["divergences"].max()), "converged": bool(table["converged"].all())}
        return {"mean_weight": self.mean_weight, **worst, **verdict}
