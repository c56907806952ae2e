"""The fits of a study, block by block: one that was made before is not made again, in a run, after its interruption or in a sweep."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pandas as pd

from riskweighted.common.atomic import keep, recall
from riskweighted.common.progress import Reporter
from riskweighted.common.seeds import Streams
from riskweighted.runs.checked import CheckedStudy
from riskweighted.runs.randomness import keep_entropy
from riskweighted.runs.stages import fit_key
from riskweighted.runs.study import Study
from riskweighted.sampling.block_fit import BlockFit
from riskweighted.sampling.fitting import compile_prepared
from riskweighted.sampling.nuts import Progress
from riskweighted.sampling.settings import Sampling
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.tasks import BlockTask, block_tasks, fit_tasks
from riskweighted.weights.schemes import in_order

__all__ = ["Fits", "Keeper", "ToFit", "fit_baseline", "plan_fit"]


class Keeper(Protocol):
    """What holds fits of blocks by name."""

    def found(self, name: str, task: BlockTask) -> BlockFit | None:
        """The fit that is kept under a name, if any."""

    def kept(self, name: str, fit: BlockFit) -> None:
        """Keep one."""


@dataclass(frozen=True)
class ToFit:
    """A scheme to be fitted with weights (n, V).

    ``names``: under which each block's fit is kept, by block; ``found``: those that are there; ``waiting``: those that are to be sampled.
    """

    prepared: PreparedSequence = field(repr=False)
    alphas: pd.DataFrame = field(repr=False)
    names: Mapping[str, str]
    found: Mapping[str, BlockFit] = field(repr=False)
    waiting: tuple[BlockTask, ...] = field(repr=False)

    def compile(self) -> None:
        """Compile what is to be sampled; the last few models are kept."""
        for task in self.waiting:
            compile_prepared(task.block.model, task.censoring is not None)

    def fit(self, sampling: Sampling, keeper: Keeper, progress: Progress | None = None) -> Fit:
        """Sample what is not there, and keep each block as soon as it is."""
        made = dict(self.found)
        for name, fitted in fit_tasks(self.waiting, sampling, progress):
            keeper.kept(self.names[name], fitted)
            made[name] = fitted
        return Fit(self.prepared, self.alphas, {name: made[name] for name in self.names})


def plan_fit(study: Study, prepared: PreparedSequence, scheme: str, alphas: pd.DataFrame, streams: Streams, keeper: Keeper) -> ToFit:
    """What of a scheme's fit is to be sampled: each block has a name made of its model, data, weights, sampling and seed."""
    names, found, waiting = dict[str, str](), dict[str, BlockFit](), list[BlockTask]()
    for block_task in block_tasks(prepared, alphas, None, study.guarantee, study.release.L):
        key = fit_key(study, block_task.block.model, block_task.alpha)
        task = block_task._replace(seed=prepared.run_seed(streams, scheme, key))
        names[task.name] = hashlib.sha256(f"{key}/{task.seed}".encode()).hexdigest()[:24]
        kept = keeper.found(names[task.name], task)
        if kept is None:
            waiting.append(task)
        else:
            found[task.name] = kept
    return ToFit(prepared, alphas, names, found, tuple(waiting))


def fit_baseline(prepared: PreparedSequence) -> Fit:
    """A baseline, which estimates nothing, as a fit."""
    return fit_sequence(prepared, None, Sampling())


@dataclass
class Fits:
    """Fits the schemes of a run, or reads what an interrupted run had finished; keeps every block in its working folder."""

    checked: CheckedStudy = field(repr=False)
    streams: Streams = field(repr=False)
    partial: Path
    reporter: Reporter = field(repr=False)
    _compiled: bool = field(default=False, repr=False)
    _made: dict[str, BlockFit] = field(default_factory=dict, repr=False)

    def all(self) -> dict[str, Fit]:
        """Every scheme of the study, in its order, then the baselines."""
        schemes, fits = self.checked.study.weights.schemes, dict[str, Fit]()
        for number, scheme in enumerate(in_order(schemes), 1):
            fits[scheme] = self.of(scheme, self.checked.alphas_of(scheme, fits), f" ({number} of {len(schemes)})")
        return {scheme: fits[scheme] for scheme in schemes} | {name: fit_baseline(made) for name, made in self.checked.baselines.items()}

    def of(self, scheme: str, alphas: pd.DataFrame, which: str = "") -> Fit:
        """The fit of a scheme whose weights are alphas (n, V)."""
        study = self.checked.study
        planned = plan_fit(study, self.checked.model, scheme, alphas, self.streams, self)
        unread = [name for name in planned.found if planned.names[name] not in self._made]
        if unread:
            with self.reporter.step(f"reading the finished fit {scheme}"):
                self._made |= {planned.names[name]: planned.found[name] for name in unread}
        if not planned.waiting:
            return planned.fit(study.sampling, self)
        if not self._compiled:
            with self.reporter.step(f"compiling {study.synthesizer.name}"):
                planned.compile()
            self._compiled = True
        with self.reporter.step(f"fitting {scheme}{which}") as advance:
            return planned.fit(study.sampling, self, advance)

    def found(self, name: str, task: BlockTask) -> BlockFit | None:
        """A block that was made before, from memory or from the working folder."""
        if name in self._made or recall(self._path(name), name) is None:
            return self._made.get(name)
        return task.block.model.load(self._path(name), task.alpha, task.seed, task.censoring)

    def kept(self, name: str, fit: BlockFit) -> None:
        """Keep a block in the working folder, with the entropy that its seed was made with."""
        keep_entropy(self.streams, self.partial)
        keep(self._path(name), fit.to_bytes(), name)
        self._made[name] = fit

    def _path(self, name: str) -> Path:
        return self.partial / f"{name}.nc"
