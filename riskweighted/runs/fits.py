"""The fits of a run, each kept in its working folder as soon as it is sampled."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from riskweighted.common.atomic import keep, recall
from riskweighted.common.progress import Reporter
from riskweighted.common.seeds import Streams
from riskweighted.runs.checked import CheckedStudy
from riskweighted.runs.randomness import keep_entropy
from riskweighted.runs.stages import fit_key
from riskweighted.sampling.fitting import CompiledModel, compile_prepared
from riskweighted.sampling.posterior import Fit, PreparedModel
from riskweighted.sequence.blocks import PreparedChain
from riskweighted.sequence.chain_fit import ChainFit
from riskweighted.sequence.chain_fitting import BlockTask, block_alpha, fit_tasks
from riskweighted.weights.schemes import in_order

__all__ = ["Fits", "kept_name"]


@dataclass
class Fits:
    """Fits the schemes of a study with one compiled model, or reads what an interrupted run had finished."""

    checked: CheckedStudy = field(repr=False)
    streams: Streams = field(repr=False)
    partial: Path
    reporter: Reporter = field(repr=False)
    _compiled: CompiledModel | None = field(default=None, repr=False)
    _made: dict[str, Fit] = field(default_factory=dict, repr=False)

    def all(self) -> dict[str, Fit | ChainFit]:
        """Every scheme of the study, in its order, then the baselines."""
        schemes, fits = self.checked.study.weights.schemes, dict[str, Fit | ChainFit]()
        for number, scheme in enumerate(in_order(schemes), 1):
            which = f" ({number} of {len(schemes)})"
            if isinstance(self.checked.model, PreparedChain):
                fits[scheme] = self.of_chain(self.checked.model, scheme, self.checked.alphas_of(scheme, fits), which)
            else:
                fits[scheme] = self.of(scheme, self.checked.alpha_of(scheme, fits), which)
        baselines = {label: compile_prepared(model).sample(None) for label, model in self.checked.baselines.items()}
        return {scheme: fits[scheme] for scheme in schemes} | baselines

    def of(self, scheme: str, alpha: pd.Series, which: str = "") -> Fit:
        """The fit of a scheme whose weights are alpha (n,)."""
        study, seed = self.checked.study, self.streams.seed_for("fit", scheme)
        assert isinstance(self.checked.model, PreparedModel)
        made_for = self._made_for(alpha, seed)
        if made_for in self._made:
            return self._made[made_for]
        if recall(self._path(made_for), made_for) is not None:
            with self.reporter.step(f"reading the finished fit {scheme}"):
                loaded = self.checked.model.load(self._path(made_for), alpha, seed, guarantee=study.guarantee, L=study.release.L)
            self._made[made_for] = loaded
            return loaded
        if self._compiled is None:
            with self.reporter.step(f"compiling {study.synthesizer.name}"):
                self._compiled = compile_prepared(self.checked.model, study.guarantee is not None)
        with self.reporter.step(f"fitting {scheme}{which}") as advance:
            fitted = self._compiled.sample(
                alpha, random_seed=seed, sampling=study.sampling, progress=advance, guarantee=study.guarantee, L=study.release.L
            )
        self.keep(fitted, seed)
        return fitted

    def of_chain(self, prepared: PreparedChain, scheme: str, alpha: pd.DataFrame, which: str = "") -> ChainFit:
        """The fits of every block of a chain whose weights are alpha (n, V), each kept by itself as soon as it is sampled.

        The seed of a block follows from what it is made for, so that it stays what it is when another variable's settings change.
        """
        study, made_for, tasks = self.checked.study, dict[str, str](), list[BlockTask]()
        for block in prepared.blocks:
            weights = block_alpha(prepared, block, alpha)
            seed = self.streams.seed_of(fit_key(study, block.model, weights))
            key = made_for[block.name] = kept_name(fit_key(study, block.model, weights), seed)
            if key not in self._made and recall(self._path(key), key) is not None:
                self._made[key] = block.model.load(self._path(key), weights)
            if key not in self._made:
                tasks.append(BlockTask(block, weights, seed))
        with self.reporter.step(f"fitting {scheme}{which}") as advance:
            for name, fitted in fit_tasks(tasks, study.sampling, advance):
                self._keep(fitted, made_for[name])
        fits = {name: self._made[key] for name, key in made_for.items()}
        return ChainFit(prepared, alpha, fits)

    def keep(self, fitted: Fit, seed: int) -> None:
        """Keep a fit that was sampled with this seed."""
        self._keep(fitted, self._made_for(fitted.alpha, seed))

    def _made_for(self, alpha: pd.Series, seed: int) -> str:
        assert isinstance(self.checked.model, PreparedModel)
        return kept_name(fit_key(self.checked.study, self.checked.model, alpha), seed)

    def _keep(self, fitted: Fit, made_for: str) -> None:
        keep_entropy(self.streams, self.partial)
        keep(self._path(made_for), fitted.to_bytes(), made_for)
        self._made[made_for] = fitted

    def _path(self, made_for: str) -> Path:
        return self.partial / f"{made_for}.nc"


def kept_name(key: str, seed: int) -> str:
    """Under what a fit is kept that was sampled with a seed, which may be secret."""
    return hashlib.sha256(f"{key}/{seed}".encode()).hexdigest()[:24]
