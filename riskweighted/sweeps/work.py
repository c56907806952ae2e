"""How a worker computes a group of cells. What several cells have in common is computed once, as long as the worker keeps it."""

import io
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.seeds import Streams, seed_for
from riskweighted.evaluation.evaluate import evaluate_world
from riskweighted.evaluation.expected import find_mechanism
from riskweighted.evaluation.tables import CONFIDENTIAL
from riskweighted.intruder.world import World, make_world
from riskweighted.measures.context import Mechanism
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.runs.checked import study_weights
from riskweighted.runs.fits import fit_baseline, plan_fit
from riskweighted.runs.sections import DataSettings
from riskweighted.runs.stages import STAGES
from riskweighted.runs.study import Study
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.convergence import no_diagnostics
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.sequence.saved import read_fit
from riskweighted.sequence.tasks import BlockTask
from riskweighted.sweeps.cells import Cell, Group
from riskweighted.sweeps.memo import Memo, bytes_of
from riskweighted.sweeps.outcomes import Outcome, Result, Stored, describe
from riskweighted.utility.regressions import checked_regression
from riskweighted.weights.names import UNWEIGHTED
from riskweighted.weights.schemes import scheme_source

__all__ = ["forget", "run_group"]

_memo = Memo(room=2**29)
_one_at_a_time = threading.Lock()  # compiled models, warnings and thread limits belong to the process


def forget() -> None:
    """Let go of all that this process keeps for further cells, but the compiled models."""
    _memo.clear()
    _read.cache_clear()


def run_group(given: pd.DataFrame | None, group: Group, posteriors: Mapping[str, Stored | None]) -> Outcome:
    """Fit once and evaluate every cell of a group; errors are values, since schedulers log what a worker raises.

    `given`: the confidential data, None where the study's path is read; `posteriors`: by key the fits that the group needs
    (`Fit.to_bytes`).
    """
    with _one_at_a_time, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say stands in the results: convergence, singleton patterns
        began = time.perf_counter()
        try:
            confidential = _read(group.first.study.data, group.first.data) if given is None else given
            work = _Work(group, confidential, posteriors, _memo)
            fit, baseline = work.fit(), work.again(UNWEIGHTED, group.first.baseline)
        except Exception as error:
            return Outcome.failed(group, describe(error))
        results, errors = {}, {}
        for cell in group.cells:
            try:
                results[cell.key] = work.evaluate(cell, fit, baseline)
            except Exception as error:
                errors[cell.key] = describe(error)
        posterior = fit.to_bytes() if fit is not None and group.posterior else None
    return Outcome(results, errors, posterior, seconds=time.perf_counter() - began, compiling=work.compiling)


@lru_cache(maxsize=2)
def _read(source: DataSettings, expected: str) -> pd.DataFrame:
    """The data of a study, once per process; refuses other data than the sweep was started with."""
    data = source.read()
    if fingerprint(data) != expected:
        raise InputError("the data that this worker reads differ from those that the sweep was started with")
    return data


@dataclass
class _Work:
    """Fits and evaluates one group; whatever other groups may need too comes from the memo, under all that decides it."""

    group: Group
    confidential: pd.DataFrame = field(repr=False)
    posteriors: Mapping[str, Stored | None] = field(repr=False)
    memo: Memo = field(repr=False)
    compiling: float = 0.0

    @property
    def study(self) -> Study:
        """What decides the fit; not the evaluation, which differs from cell to cell."""
        return self.group.first.study

    # -- fits

    def fit(self) -> "Fit | None":
        """The group's fit, that of `run_study` for a reproducible study; none for the confidential data."""
        first = self.group.first
        return None if first.label == CONFIDENTIAL else self.memo.once(("fit", first.fit), self._fit)

    def _fit(self) -> Fit:
        """Blocks that were fitted before in this process are taken from there: those of a chain that no setting of the cell changes."""
        label, study = self.group.first.label, self.study
        if label in study.baselines:
            return fit_baseline(study.prepare_baseline(label, self.confidential))
        planned = plan_fit(study, self._prepared(), label, self._alphas(label), Streams(study.seed), self)
        began = time.perf_counter()
        planned.compile()
        self.compiling += time.perf_counter() - began
        return planned.fit(replace(study.sampling, cores=self.group.cores), self)

    def found(self, name: str, task: BlockTask) -> BlockFit | None:
        """The fit of a block that this process keeps."""
        key = ("block", name)
        return cast(BlockFit, self.memo.once(key, lambda: None)) if key in self.memo else None

    def kept(self, name: str, fit: BlockFit) -> None:
        """Keep the fit of a block."""
        self.memo.once(("block", name), lambda: fit)

    def again(self, scheme: str, key: str | None) -> "Fit | None":
        """A fit of the group's study under a scheme that was made before, here or elsewhere; none where its posterior is not given."""
        posterior = self.posteriors.get(key or "")
        if posterior is None:
            return None
        if ("fit", key) in self.memo:
            return cast(Fit, self.memo.once(("fit", key), lambda: None))
        return self.memo.once(("again", key), lambda: self._from(posterior, scheme))

    def _from(self, posterior: bytes, scheme: str) -> Fit:
        study = self.study
        return read_fit(io.BytesIO(posterior), self._prepared(), self._alphas(scheme), None, study.guarantee, study.release.L)

    def _prepared(self) -> PreparedSequence:
        study, made = self.study, ("prepared", self.group.first.model)
        return self.memo.once(made, lambda: prepare_sequence(study.make_synthesizer(), self.confidential, study.weights.survey))

    def _alphas(self, scheme: str) -> pd.DataFrame:
        """Weights of a scheme, (n, V), made of the fit of another one where they are."""
        source, world = scheme_source(scheme), self._world(self.group.first, "weighing")
        made_of = None if source is None else self.again(source, self.group.first.stages.key("fit", source))
        return self.memo.once(self._made("weights", scheme), lambda: study_weights(self.study, world, scheme, made_of))

    def _made(self, stage: str, label: str) -> tuple[str, str]:
        """Under what the memo keeps a stage of the group's study."""
        return stage, self.group.first.stages.key(stage, label)

    def _world(self, cell: Cell, stage: str) -> World:
        """The data under the scenario that a cell's stage has; patterns are found once for all that know the same."""
        study = cell.study
        scenario = study.weighting_scenario() if stage == "weighing" else study.evaluating_scenario()
        base = self.memo.once(("patterns", cell.stages.key("patterns")), lambda: make_world(self.confidential, scenario))
        return self.memo.once(("world", cell.stages.key(stage)), lambda: base.under(scenario))

    # -- evaluation

    def evaluate(self, cell: Cell, fit: "Fit | None", baseline: "Fit | None") -> Result:
        """Risk and utility of the cell's label alone; its bootstrap has the seed of `run_study`."""
        study, label = cell.study, cell.label
        frames = [self.confidential] if fit is None else self._datasets(cell, fit, label)
        world, settings = self._world(cell, "world"), study.evaluation.measures
        against: dict[str, Any] = {}
        if baseline is not None:
            risk = self._baseline_risk(cell, baseline, world)
            against = {"baseline": UNWEIGHTED, "baseline_risk": pd.Series(risk, self.confidential.index)}
        result = evaluate_world(
            world,
            {"itself" if label == CONFIDENTIAL else label: frames},
            settings,
            checked_regression(self.confidential, settings.regression, settings.coefficient, study.variables),
            mechanisms=self._mechanisms(cell, fit, baseline, world),
            unaltered=study.unaltered(self.confidential),
            fits=None if fit is None else {label: fit},
            random_seed=_evaluation_seed(study),
            once=lambda part, of, make: self._part(cell, part, of, make),
            **against,
        )
        rows = [row for table in (result.risk, result.utility) for row in table.to_dict("records") if row["label"] == label]
        measures = [{name: row[name] for name in row if name != "label"} for row in rows]
        return Result(measures, _convergence(fit, label in study.baselines))

    def _datasets(self, cell: Cell, fit: Fit, label: str) -> list[pd.DataFrame]:
        """The datasets that `run_study` draws for a reproducible study. Those of another L are other ones: their draws lie elsewhere."""
        release = cell.study.release
        seed = seed_for(cell.study.seed, "synthesize", label)
        return self.memo.once(
            ("drawn", cell.stages.key("drawn", label)),
            lambda: fit.synthesize(release.L, random_seed=seed, precision=release.precision),
            partial(self._bytes_of_datasets, cell),
        )

    def _baseline_risk(self, cell: Cell, baseline: Fit, world: World) -> np.ndarray:
        """Risk of every record under the baseline, (n,)."""

        def make() -> tuple[np.ndarray, float]:
            return mean_risk_and_matches(world.pair(self._datasets(cell, baseline, UNWEIGHTED)))

        return self.memo.once(("scores", UNWEIGHTED, cell.stages.key("scores", UNWEIGHTED)), make)[0]

    def _mechanisms(self, cell: Cell, fit: "Fit | None", baseline: "Fit | None", world: World) -> dict[str, Mechanism]:
        """Expected risk and influence of the fit and of its baseline."""
        mechanisms = {}
        settings, seed, precision = cell.study.evaluation.measures, _evaluation_seed(cell.study), cast(Any, cell.study.release.precision)
        for label, fitted in ((cell.label, fit), (UNWEIGHTED, baseline)):
            if fitted is not None:
                made = partial(find_mechanism, label, fitted, world, settings, seed, precision)
                mechanisms[label] = self.memo.once(("expected", cell.stages.key("expected", label)), made)
        return mechanisms

    def _part(self, cell: Cell, part: str, label: str, make: Callable[[], Any]) -> Any:
        """A part of an evaluation (see `evaluate_world`), that other cells have too: utility at any radius, the confidential data."""
        of, size = CONFIDENTIAL if label == CONFIDENTIAL else cell.label, partial(self._bytes_of_datasets, cell)
        if part in STAGES:
            return self.memo.once((part, label, cell.stages.key(part, of)), make, size if part == "paired" else None)
        return self.memo.once((part, label, cell.stages.key("evaluated", of)), make) if of == CONFIDENTIAL else make()

    def _bytes_of_datasets(self, cell: Cell, datasets: Any) -> int:
        """Of L datasets as frames or paired; the columns that are not synthesized are everyone's."""
        return len(datasets) * bytes_of(self.confidential[list(cell.study.variables)])


def _evaluation_seed(study: Study) -> int:
    return seed_for(study.seed, "evaluate", "")


def _convergence(fit: "Fit | None", of_baseline: bool) -> dict[str, Any]:
    """Mean weight and convergence, as they stand in the results."""
    mean_weight = np.nan if fit is None or of_baseline else float(fit.alphas.to_numpy().mean())
    table = fit.diagnostics if fit is not None else no_diagnostics()
    if len(table) == 0:
        return {"mean_weight": mean_weight}
    worst = {"largest_r_hat": float(table["r_hat"].max()), "smallest_ess_bulk": float(table["ess_bulk"].min())}
    verdict = {"divergences": int(table["divergences"].max()), "converged": bool(table["converged"].all())}
    return {"mean_weight": mean_weight, **worst, **verdict}
