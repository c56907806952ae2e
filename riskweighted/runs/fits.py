"""The fits of a run, each kept in its working folder as soon as it is sampled."""

import hashlib
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from riskweighted.common.atomic import keep, recall
from riskweighted.common.progress import Reporter
from riskweighted.common.seeds import Streams
from riskweighted.runs.checked import CheckedStudy
from riskweighted.runs.randomness import keep_entropy
from riskweighted.runs.stages import fit_key
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.fitting import CompiledModel, compile_prepared
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.tasks import Alpha, BlockTask, alphas_of, block_tasks, fit_tasks
from riskweighted.weights.schemes import in_order

__all__ = ["Fits", "kept_name"]


@dataclass
class Fits:
    """Fits the schemes of a study with one compiled model, or reads what an interrupted run had finished."""

    checked: CheckedStudy = field(repr=False)
    streams: Streams = field(repr=False)
    partial: Path
    reporter: Reporter = field(repr=False)
    _compiled: list[CompiledModel] = field(default_factory=list, repr=False)
    _made: dict[str, BlockFit] = field(default_factory=dict, repr=False)

    def all(self) -> dict[str, Fit]:
        """Every scheme of the study, in its order, then the baselines."""
        schemes, fits, checked = self.checked.study.weights.schemes, dict[str, Fit](), self.checked
        for number, scheme in enumerate(in_order(schemes), 1):
            alpha = checked.alpha_of(scheme, fits) if checked.model.of_one else checked.alphas_of(scheme, fits)
            fits[scheme] = self.of(scheme, alpha, f" ({number} of {len(schemes)})")
        baselines = {label: fit_sequence(prepared, None, Sampling()) for label, prepared in checked.baselines.items()}
        return {scheme: fits[scheme] for scheme in schemes} | baselines

    def of(self, scheme: str, alpha: Alpha, which: str = "") -> Fit:
        """The fit of a scheme with these weights, each block kept by itself as soon as it is sampled."""
        study, model = self.checked.study, self.checked.model
        alphas = alphas_of(model.variables, alpha, model.confidential.index)
        tasks, made_for, waiting = block_tasks(model, alphas, None, study.guarantee, study.release.L), dict[str, str](), list[BlockTask]()
        for task in tasks:
            seed = self._seed(scheme, task)
            key = made_for[task.name] = kept_name(fit_key(study, task.block.model, task.alpha), seed)
            if key not in self._made and recall(self._path(key), key) is not None:
                with self.reporter.step(f"reading the finished fit {scheme}") if model.of_one else nullcontext():
                    self._made[key] = task.block.model.load(self._path(key), task.alpha, seed, task.censoring)
            if key not in self._made:
                waiting.append(task._replace(seed=seed))
        if waiting and not self._compiled:
            with self.reporter.step(f"compiling {study.synthesizer.name}"):
                self._compiled = [compile_prepared(task.block.model, task.censoring is not None) for task in tasks]
        if waiting or not model.of_one:
            with self.reporter.step(f"fitting {scheme}{which}") as advance:
                for name, fitted in fit_tasks(waiting, study.sampling, advance):
                    self._keep(fitted, made_for[name])
        return Fit(model, alphas, {name: self._made[key] for name, key in made_for.items()})

    def _seed(self, scheme: str, task: BlockTask) -> int:
        """Of a block: of a chain it follows from what the block is made for, so that it stays when another variable's settings change."""
        if self.checked.model.of_one:
            return self.streams.seed_for("fit", scheme)
        return self.streams.seed_of(fit_key(self.checked.study, task.block.model, task.alpha))

    def keep(self, fitted: Fit, seed: int) -> None:
        """Keep a fit of one variable that was sampled with this seed."""
        self._keep(fitted.block, kept_name(fit_key(self.checked.study, self.checked.model.blocks[0].model, fitted.alpha), seed))

    def _keep(self, fitted: BlockFit, made_for: str) -> None:
        keep_entropy(self.streams, self.partial)
        keep(self._path(made_for), fitted.to_bytes(), made_for)
        self._made[made_for] = fitted

    def _path(self, made_for: str) -> Path:
        return self.partial / f"{made_for}.nc"


def kept_name(key: str, seed: int) -> str:
    """Under what a fit is kept that was sampled with a seed, which may be secret."""
    return hashlib.sha256(f"{key}/{seed}".encode()).hexdigest()[:24]
