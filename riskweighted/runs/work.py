"""What is computed of a study, stage by stage: asked of a store by the stage's key, else made of
the stages before it.

The one place that knows how weights, fits, datasets and evaluations are made. A run keeps them in
memory, and the fits of blocks in its working folder, from which an interrupted run goes on; a
worker of a sweep keeps what other cells may need (`riskweighted.sweeps.cell_work`).
"""

import hashlib
import io
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.fingerprints import fingerprint
from riskweighted.common.frames import with_columns
from riskweighted.common.progress import Advance, Quiet, Reporter
from riskweighted.common.seeds import Streams, seed_for
from riskweighted.common.survey_weights import checked_survey
from riskweighted.contract.centring import CentredWeights
from riskweighted.data.parts import FITTED
from riskweighted.evaluation.evaluate import Evaluation, evaluate_world
from riskweighted.evaluation.fit_check import COLUMNS as CHECKED, check_fit
from riskweighted.evaluation.measure_rows import CONFIDENTIAL, as_table
from riskweighted.evaluation.mechanism import expected_seed, find_mechanism
from riskweighted.intruder.world import World, make_world
from riskweighted.measures.context import Mechanism
from riskweighted.risk.matching import mean_risk_and_matches
from riskweighted.runs.buckets import (
    SURVEY,
    BucketPool,
    BucketTask,
    JoinedBuckets,
    bucket_rows,
    fitted_rows,
    functions_at,
    refuse_of_sample,
    without_functions,
)
from riskweighted.runs.disclosure_stage import Disclosed, attribution_of_label
from riskweighted.runs.found_bounds import add_found_bounds
from riskweighted.runs.memo import Store
from riskweighted.runs.sample_checks import disclosed_of_sample
from riskweighted.runs.stages import STAGES, Stages, fit_key
from riskweighted.runs.study import Study
from riskweighted.sampling.compilation import compile_prepared
from riskweighted.sampling.nuts import share_of
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sequence.alphas import functions_of
from riskweighted.sequence.baselines import prepare_baseline
from riskweighted.sequence.blocks import PreparedSequence
from riskweighted.sequence.fit import Fit
from riskweighted.sequence.fitting import fit_sequence
from riskweighted.sequence.prepare import add_learned_scores, prepare_sequence
from riskweighted.sequence.saved import read_fit
from riskweighted.sequence.tasks import BlockTask, block_tasks, fit_tasks
from riskweighted.utility.regressions import Analysis, checked_regression
from riskweighted.weights.families import Fits
from riskweighted.weights.match import world_weighting, world_weights
from riskweighted.weights.scheme_names import UNWEIGHTED, is_centred
from riskweighted.weights.schemes import is_by_risk, scheme_source

__all__ = ["Work"]

_Weights = TypeVar("_Weights", pd.DataFrame, pd.DataFrame | CentredWeights)
_ITSELF = "itself"  # the label of the confidential data as their own release


@dataclass(frozen=True, eq=False)
class Work:
    """The stages of a study of one data set (`riskweighted.runs.stages`), computed. Confidential.

    A label is a scheme, a baseline or the confidential data. ``cores``: chains sampled at once,
    where the study does not say it. ``compiled``: seconds that compiling the models took, once it
    is done. ``pool``: who works on the buckets of a file of which a sample is fitted.
    """

    stages: Stages
    confidential: pd.DataFrame = field(repr=False)
    store: Store = field(default_factory=Store, repr=False)
    reporter: Reporter = field(default_factory=Quiet, repr=False)
    cores: int | None = None
    compiled: list[float] = field(default_factory=list, repr=False)
    pool: BucketPool = field(default_factory=BucketPool, repr=False)

    @classmethod
    def of(cls, study: Study, confidential: pd.DataFrame, folder: Path | None = None) -> "Work":
        """That of one study in this process, with bounds where it gives none; `folder`: the working
        folder of its run.
        """
        return cls(
            Stages(add_found_bounds(study, confidential), repr(study.data)),
            confidential,
            Store(folder=folder),
        )

    @property
    def study(self) -> Study:
        """Its settings."""
        return self.stages.study

    @property
    def streams(self) -> Streams:
        """Where its seeds come from."""
        return self.stages.streams or Streams(self.study.seed)

    @cached_property
    def fingerprint(self) -> str:
        """That of the confidential data."""
        return self.prepared().fingerprint if self.rows is None else fingerprint(self.confidential)

    @property
    def labels(self) -> tuple[str, ...]:
        """The schemes of the study, then its baselines."""
        return (*self.study.weights.schemes, *self.study.baselines)

    def at(self, study: Study) -> "Work":
        """Another study of the same data, which shares all that does not depend on the change."""
        return replace(self, stages=replace(self.stages, study=study))

    def by_each(self) -> dict[str, "Work"]:
        """The same study judged by each of its intruders; by "" where it has one scenario alone."""
        names = [each.name for each in self.study.intruders]
        return {name: self.at(self.study.judged_by(name)) for name in names} or {"": self}

    # -- of a file of which a sample is fitted

    @cached_property
    def rows(self) -> np.ndarray | None:
        """The rows to which models are fitted, in order (METHODS section 17); None for all."""
        data, count = self.study.data, self.study.data.fitted
        if count is None and data.in_parts:
            count = FITTED
        if count is None or count >= len(self.confidential):
            return None
        refuse_of_sample(self.study)
        read = [name for name in self._read_by_model if name in self.confidential]
        codes = self.world("weighing").patterns.codes
        seed = seed_for(self.study.seed, "fitted", f"{len(codes)}")
        return fitted_rows(self.confidential, codes, count, read, seed)

    @property
    def _read_by_model(self) -> list[str]:
        return list(dict.fromkeys([*self.study.synthesizer.columns, *self.study.variables]))

    @cached_property
    def fitted(self) -> pd.DataFrame:
        """The records to which models are fitted."""
        return self.confidential if self.rows is None else self.confidential.iloc[self.rows]

    def of_fitted(self, weights: _Weights) -> _Weights:
        """Weights of the records to which models are fitted, of those of all."""
        if self.rows is None:
            return weights
        if isinstance(weights, CentredWeights):
            return functions_at(weights, self.rows)
        return weights.iloc[self.rows]

    def on(self, label: str, rows: np.ndarray) -> Fit:
        """The fit of a label for some records of the file, of whole known patterns where its
        weights are centred.
        """
        records = self.confidential.iloc[rows]
        weights = self.weights(label).iloc[rows]
        survey = None if self.survey is None else self.survey.iloc[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RiskWeightedWarning)  # told of the whole file
            return self.task(label).on(records, weights, survey)

    @cached_property
    def survey(self) -> pd.Series | None:
        """Survey weights of mean 1 over the file."""
        return checked_survey(self.study.weights.survey, self.confidential)

    def task(self, label: str) -> BucketTask:
        """What is computed of a bucket under a label."""
        keys = (self.stages.key(stage, label) for stage in ("drawn", "expected"))
        return self.store.once(("task", *keys), partial(self._task, label))

    def _task(self, label: str) -> BucketTask:
        fit, study = self.fit(label), self.study
        some = np.arange(1)
        given = self.of_fitted(self.weighting(label))
        first = functions_at(given, some) if isinstance(given, CentredWeights) else given.iloc[some]
        survey = None if self.survey is None else self.survey.iloc[self.rows].iloc[some]
        light = without_functions(fit.on(self.fitted.iloc[some], first, survey))
        scenarios = (study.evaluating_scenario(), study.weighting_scenario())
        seeds = (
            self.streams.seed_for("synthesize", label),
            expected_seed(self._evaluation_seed, label),
        )
        return BucketTask(
            label,
            light,
            scenarios,
            study.weights.making,
            study.evaluation.measures,
            study.release.L,
            seeds,
            None if (source := scheme_source(label)) is None else self.task(source),
        )

    def _told(self, label: str) -> tuple[Datasets, Mechanism]:
        """What is drawn for all records under a label, and their expected risk and influence."""
        keys = [self.stages.key(stage, label) for stage in ("drawn", "expected")]
        return self.store.once(("told", *keys), partial(self._by_bucket, label, "-".join(keys)))

    @cached_property
    def buckets(self) -> list[np.ndarray]:
        """The rows of each bucket, in order."""
        patterns = self.world().patterns
        return bucket_rows(patterns.codes, patterns.sizes)

    def each_bucket(self, label: str) -> Iterator[tuple[int | None, np.ndarray, Fit]]:
        """The number and rows of each bucket with the fit of a label for its records; where all
        records are fitted they are one bucket of no number.
        """
        if not self._in_buckets(label):
            yield None, np.arange(len(self.confidential)), self.fit(label)
            return
        for number, rows in enumerate(self.buckets):
            yield number, rows, self.on(label, rows)

    def _by_bucket(self, label: str, key: str) -> tuple[Datasets, Mechanism]:
        rows, weights = self.buckets, self.weights(label)
        if self.survey is not None:
            weights = with_columns(weights, {SURVEY: self.survey})
        tables = (
            (number, self.confidential.iloc[of], weights.iloc[of]) for number, of in enumerate(rows)
        )
        joined = JoinedBuckets(self.confidential, self.study.variables, self.store.folder)
        with self.reporter.step(f"drawing and measuring {label}") as advance:
            told = self.pool.each(self.task(label), tables, key, self.store.folder)
            for done, (number, each) in enumerate(told, 1):
                joined.put(rows[number], each)
                advance(done, len(rows))
        datasets = joined.datasets
        self.fit(label).warn_of_draws(datasets.altered)
        return datasets, joined.mechanism

    # -- before a fit

    def world(self, stage: str = "world") -> World:
        """The data under the scenario that a stage has; patterns are found once for all that know
        the same.
        """
        first, *others = (
            self.study.weighting_scenarios()
            if stage == "weighing"
            else (self.study.evaluating_scenario(),)
        )
        base = self.store.once(
            ("patterns", self.stages.key("patterns")),
            lambda: make_world(self.confidential, first, self.study.units),
        )

        def make() -> World:
            return replace(base.under(first), others=tuple(map(base.under, others)))

        return self.store.once(("world", self.stages.key(stage)), make)

    def prepared(self, label: str = UNWEIGHTED) -> PreparedSequence:
        """The model, or that of a baseline, prepared for the data."""
        return self.store.once(
            ("prepared", self.stages.key("prepared", label)), partial(self._prepared, label)
        )

    def _prepared(self, label: str) -> PreparedSequence:
        study, data = self.study, self.confidential
        if label not in study.baselines:
            return prepare_sequence(study.make_synthesizer(), self.fitted, study.weights.survey)
        baselines, scenario = study.make_baselines(label), study.evaluating_scenario()
        if study.synthesizer.formula is not None:
            return prepare_sequence(baselines[study.target], data)
        return prepare_baseline(baselines, data, scenario.codes, scenario.categorical)

    def analysis(self) -> Analysis | None:
        """The regression whose coefficient the evaluation reports."""
        settings, variables = self.study.evaluation, self.study.variables
        made = partial(
            checked_regression,
            self.confidential,
            settings.regression,
            settings.coefficient,
            variables,
        )
        return self.store.once(("analysis", self.stages.key("checked")), made)

    # -- weights and fits

    def weights(self, scheme: str) -> pd.DataFrame:
        """Weights of a scheme, (n, V), made of the fit of another one where they are."""
        return self.store.once(
            ("weights", self.stages.key("weights", scheme)),
            lambda: self.weigh(scheme, self._made_of(scheme)),
        )

    def _made_of(self, scheme: str) -> Fit | Fits | None:
        """The fit that weights are made of, with the unweighted one where they compare the two."""
        source = scheme_source(scheme)
        if source is None:
            return None
        fit = self._of_all(source)
        return Fits(fit, self._of_all(UNWEIGHTED)) if is_by_risk(scheme) else fit

    def weighting(self, scheme: str) -> pd.DataFrame | CentredWeights:
        """The same as a fit takes them: centred weights with the functions that they come from."""
        if not is_centred(scheme):
            return self.weights(scheme)
        source = scheme_source(scheme)
        of_fit = None if source is None else self._of_all(source)
        make = partial(
            world_weighting,
            self.world("weighing"),
            scheme,
            of_fit,
            alphas=self.weights(scheme),
            **self.study.weights.making,
        )
        return self.store.once(("weighting", self.stages.key("weights", scheme)), make)

    def _of_all(self, label: str) -> Fit:
        """The fit of a label for all records of the file."""
        return (
            self.fit(label)
            if self.rows is None
            else self.on(label, np.arange(len(self.confidential)))
        )

    def data_weights(self) -> dict[str, pd.DataFrame]:
        """Weights by scheme, of those that are made of the data alone."""
        return {
            scheme: self.weights(scheme)
            for scheme in self.study.weights.schemes
            if scheme_source(scheme) is None
        }

    def weigh_anew(self, scheme: str, fit: Fit | None = None) -> pd.DataFrame | CentredWeights:
        """`weigh` as a fit takes it."""
        alphas = self.weigh(scheme, fit)
        return world_weighting(
            self.world("weighing"), scheme, fit, alphas=alphas, **self.study.weights.making
        )

    def weigh(self, scheme: str, fit: Fit | Fits | None = None) -> pd.DataFrame:
        """The same afresh, of any scheme; `fit`: that of `scheme_source`, if there is one."""
        alphas = world_weights(self.world("weighing"), scheme, fit=fit, **self.study.weights.making)
        if not (alphas > 0).any().all():
            raise InputError(
                f"scheme {scheme!r} gives every record weight zero: enlarge the radius, coarsen "
                "the known variables or raise weights.shift"
            )
        return alphas

    def check_models(self) -> None:
        """Refuse, before the first fit, models that every fit would refuse after it, under weights
        that are made of the data alone: of one scheme that is centred and of one that is not."""
        schemes = {is_centred(scheme): scheme for scheme in reversed(self.data_weights())}.values()
        named = [
            self._named_tasks(scheme, self.prepared(), self.of_fitted(self.weighting(scheme)))
            for scheme in schemes
        ]
        tasks = [
            task
            for of_scheme in named
            for name, task in of_scheme.items()
            if self.store.block(name, task) is None
        ]
        if tasks:
            self._compile(tasks)
        for task in tasks:
            model = compile_prepared(
                task.block.model, task.censoring is not None, task.centring, task.cells
            )
            model.check_start(task.alpha, task.censoring, task.centring)

    def fit(self, label: str, which: str = "") -> Fit:
        """The fit of a scheme or baseline; `which`: of how many, for the reporter."""
        fit = self.store.fit(self.stages.key("fit", label), partial(self._fit, label, which))
        return fit.with_drawing(self.study.release.drawing)

    def _fit(self, label: str, which: str) -> Fit:
        study = self.study
        if label in study.baselines:
            return fit_sequence(self.prepared(label), None, Sampling())
        alphas = self.of_fitted(self.weighting(label))
        prepared = add_learned_scores(self.prepared(), self.of_fitted(self.weights(label)))
        archive = self.store.archives.get(self.stages.key("fit", label))
        if archive is not None:
            return read_fit(
                io.BytesIO(archive), prepared, alphas, None, study.guarantee, study.release.L
            )
        return self._sampled(label, prepared, alphas, which)

    def _sampled(
        self,
        scheme: str,
        prepared: PreparedSequence,
        alphas: pd.DataFrame | CentredWeights,
        which: str,
    ) -> Fit:
        """Sample the blocks that the store does not have, and keep each as soon as it is there."""
        named = self._named_tasks(scheme, prepared, alphas)
        kept = {name: self.store.block(name, task) for name, task in named.items()}
        blocks = {named[name].name: block for name, block in kept.items() if block is not None}
        waiting = [task for name, task in named.items() if kept[name] is None]
        if blocks:
            with self.reporter.step(f"reading the finished fit {scheme}"):
                pass
        if waiting:
            self._compile(waiting)
            names = {task.name: name for name, task in named.items()}
            sampling = (
                self.study.sampling
                if self.cores is None
                else replace(self.study.sampling, cores=self.cores)
            )
            with self.reporter.step(f"fitting {scheme}{which}") as advance:
                for block, fitted in fit_tasks(waiting, sampling, advance):
                    self.store.keep_block(names[block], fitted, self.streams)
                    blocks[block] = fitted
        return Fit(
            prepared,
            self.of_fitted(self.weights(scheme)),
            {task.name: blocks[task.name] for task in named.values()},
        )

    def _named_tasks(
        self, scheme: str, prepared: PreparedSequence, alphas: pd.DataFrame | CentredWeights
    ) -> dict[str, BlockTask]:
        """What is to be fitted of a scheme; each block has a name made of its model, data, weights,
        sampling and seed.
        """
        study, named, functions = self.study, dict[str, BlockTask](), functions_of(alphas)
        for task in block_tasks(
            prepared,
            self.of_fitted(self.weights(scheme)),
            None,
            study.guarantee,
            study.release.L,
            functions,
        ):
            key = fit_key(study, task.block.model, task.alpha, task.centring)
            seed = prepared.run_seed(self.streams, scheme, key)
            named[hashlib.sha256(f"{key}/{seed}".encode()).hexdigest()[:24]] = task._replace(
                seed=seed
            )
        return named

    def _compile(self, waiting: Sequence[BlockTask]) -> None:
        """Compile what is to be sampled, the first time that anything is; the last few models are
        kept.
        """
        if self.compiled:
            return
        began = time.perf_counter()
        with self.reporter.step(f"compiling {self.study.synthesizer.name}"):
            for task in waiting:
                compile_prepared(
                    task.block.model, task.censoring is not None, task.centring, task.cells
                )
        self.compiled.append(time.perf_counter() - began)

    # -- datasets and what they come to

    def _in_buckets(self, label: str) -> bool:
        """Whether a label's datasets are made bucket by bucket: those of a sample's fit."""
        return self.rows is not None and label in self.study.weights.schemes

    def drawn(self, label: str) -> Datasets:
        """L datasets; those of another L are other ones, since their draws lie elsewhere. The data
        themselves are their own release.
        """
        if label == CONFIDENTIAL:
            return Datasets(self.confidential, [{}])
        if self._in_buckets(label):
            return self._told(label)[0]
        L, seed = self.study.release.L, self.streams.seed_for("synthesize", label)  # noqa: N806

        def make() -> Datasets:
            frames = self.fit(label).synthetic(L, random_seed=seed)
            return Datasets.of(self.confidential, frames, self.study.altered)

        return self.store.once(
            ("drawn", self.stages.key("drawn", label)), make, self._bytes_of_datasets
        )

    def expected(self, label: str) -> Mechanism:
        """Expected risk and influence of a fit."""
        if self._in_buckets(label):
            return self._told(label)[1]
        make = partial(
            find_mechanism,
            label,
            self.fit(label),
            self.world(),
            self.study.evaluation.measures,
            self._evaluation_seed,
        )
        return self.store.once(("expected", self.stages.key("expected", label)), make)

    def fit_check(self, label: str) -> pd.DataFrame:
        """How a fit compares with the data, by its known patterns and with the numeric columns that
        are used or released.

        No row of a baseline that keeps true values.
        """
        fit, study, data = self.fit(label), self.study, self.fitted
        if fit.keeps_true_values:
            return pd.DataFrame(columns=["label", *CHECKED])
        names = [*study.unaltered(data), *study.synthesizer.columns, *study.variables]
        others = [
            str(name)
            for name in data.columns
            if name in names and pd.api.types.is_numeric_dtype(data[name].dtype)
        ]
        seed, scenario = self.streams.seed_for("check", label), self.world().scenario
        table = check_fit(
            fit,
            scenario=scenario,
            others=others,
            random_seed=seed,
        )
        table.insert(0, "label", label)
        return table

    def scores(self, label: str) -> np.ndarray:
        """Risk of every record in the datasets of a label, (n,)."""

        def make() -> tuple[np.ndarray, np.ndarray]:
            return mean_risk_and_matches(self.world().pair(self.drawn(label)))

        return self.store.once(("scores", label, self.stages.key("scores", label)), make)[0]

    def disclosed(self, label: str, progress: Advance | None = None) -> Disclosed:
        """What the datasets of a label give away beyond inference."""

        def make() -> Disclosed:
            if self.rows is not None and self._in_buckets(label):
                return disclosed_of_sample(
                    self.task(label),
                    self.study,
                    self.confidential,
                    self.rows,
                    self.drawn(label),
                    self.world().patterns.codes,
                    self.survey,
                    self.streams,
                    progress,
                )
            fit = self.fit(label)
            drawn = self.drawn(label)
            worlds = (self.world(), self.world("weighing"))
            table = attribution_of_label(
                label, self.study, fit, worlds, drawn, self.streams, progress
            )
            return Disclosed.of(label, self.study, fit, drawn, self.streams, table)

        return self.store.once(("disclosed", label, self.stages.key("disclosed", label)), make)

    def evaluated(self, labels: Sequence[str]) -> Evaluation:
        """Risk, disclosure and utility of some labels, held against the unweighted one where
        `Stages.compared` says so.
        """
        result, rows = self._measured(labels), list[dict[str, object]]()
        leaving = [label for label in labels if label != CONFIDENTIAL]
        with self.reporter.step("measuring disclosure beyond inference") as advance:
            for place, label in enumerate(leaving):
                report = share_of(advance, place, len(leaving))
                rows += self.disclosed(label, report).rows
                report(1, 1)
        return replace(
            result,
            risk=pd.concat([result.risk, as_table(rows)], ignore_index=True)
            if rows
            else result.risk,
        )

    def _measured(self, labels: Sequence[str]) -> Evaluation:
        study = self.study
        fits = {label: self.fit(label) for label in labels if label != CONFIDENTIAL}
        compared, against = self.stages.compared and len(fits) > 0, dict[str, Any]()
        if compared and UNWEIGHTED not in fits:
            against = {"baseline_risk": pd.Series(self.scores(UNWEIGHTED), self.confidential.index)}
        mechanisms = dict[str, Mechanism]()
        needed = dict.fromkeys([*fits, *([UNWEIGHTED] if compared else [])])
        with self.reporter.step("estimating expected risk and influence") as advance:
            for done, label in enumerate(needed, 1):
                mechanisms[label] = self.expected(label)
                advance(done, len(needed))
        with self.reporter.step("measuring risk and utility") as advance:
            return evaluate_world(
                self.world(),
                {
                    _ITSELF if label == CONFIDENTIAL else label: self.drawn(label)
                    for label in labels
                },
                study.evaluation.measures,
                self.analysis(),
                mechanisms=mechanisms,
                fits=fits,
                baseline=UNWEIGHTED if compared else None,
                unaltered=study.unaltered(self.confidential),
                random_seed=self._evaluation_seed,
                progress=advance,
                once=self._part,
                **against,
            )

    def _part(self, part: str, label: str, make: Callable[[], Any]) -> Any:
        """A part of an evaluation (see `evaluate_world`), which others have too: utility at any
        radius, the confidential data.
        """
        of = CONFIDENTIAL if label == _ITSELF else label
        if part in STAGES:
            size = self._bytes_of_datasets if part == "paired" else None
            return self.store.once((part, label, self.stages.key(part, of)), make, size)
        return (
            self.store.once((part, label, self.stages.key("evaluated", of)), make)
            if of == CONFIDENTIAL
            else make()
        )

    @property
    def _evaluation_seed(self) -> int:
        return self.streams.seed_for("evaluate", "")

    def _bytes_of_datasets(self, datasets: Any) -> int:
        """Of L datasets as frames or paired; the columns that are not synthesized are
        everyone's.
        """
        return len(datasets) * int(
            self.confidential[list(self.study.variables)].memory_usage(index=False).sum()
        )
