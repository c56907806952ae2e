"""The main job on data in parts: every stage as tasks of a Dask cluster, a bucket each, and the
model fitted once on counts.
"""

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from riskweighted.common.atomic import keep, make_folder, recall
from riskweighted.common.cluster import connected, own_workers, workers_of
from riskweighted.common.errors import InputError, RiskWeightedWarning, SingletonWarning
from riskweighted.common.fingerprints import versions
from riskweighted.common.folders import WorkingFolder, opened
from riskweighted.common.progress import Reporter, default_reporter
from riskweighted.common.seeds import Streams
from riskweighted.common.settings import to_table
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.data.parts import Parts
from riskweighted.disclosure.setting import LOOKED_AT
from riskweighted.parts.asking import check_looked, disclose_looked, ratios_looked
from riskweighted.parts.centred import centre_all
from riskweighted.parts.counting import Values, add_values, count_all
from riskweighted.parts.fitting import Fitted, LightFit, fit_counted, load_counted, with_standing
from riskweighted.parts.gather import (
    RECORDS,
    ROOM,
    Gathered,
    count_patterns,
    gather,
    is_whole,
    records_of,
    refuse_large,
    refuse_repeated,
)
from riskweighted.parts.job import Job
from riskweighted.parts.limits import (
    BASE,
    BYTES,
    check_sample,
    columns_read,
    refuse_what_is_not_by_parts,
)
from riskweighted.parts.looking import choose_patterns, known_patterns_of, look
from riskweighted.parts.measuring import Common, Question, again_bucket, find_cuts, measure_bucket
from riskweighted.parts.regressions import read_regressions
from riskweighted.parts.tables import Told
from riskweighted.parts.tasks import Tasks
from riskweighted.parts.weighing import weigh_bucket, weigh_by_fit
from riskweighted.runs.folder import check_replaceable
from riskweighted.runs.randomness import counting_earlier, keep_entropy, run_streams
from riskweighted.runs.run import Run
from riskweighted.runs.study import Study
from riskweighted.weights.names import is_centred
from riskweighted.weights.schemes import in_order, scheme_source

__all__ = ["measured_again", "run_by_parts"]

_BUCKETS, _WORK = "buckets-", "work-"  # folders of finished work, named by what it was made of
_BY_PARTS = ("dask", "distributed", "pyarrow")  # which work by parts takes besides
# bytes that a fit takes for a counted row, and disclosure for a record that is looked at
_OF_ROW, _OF_LOOKED = 600.0, 30_000.0
# of the workers' memory, what the tasks of the whole file take that are done at once
_OF_ALL = 1 / 8


def run_by_parts(
    study: Study,
    out: str | Path,
    *,
    force: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    reporter: Reporter | None = None,
    entropy: bytes | None = None,
    room: int = ROOM,
) -> Run:
    """Return a run of a study whose data are in parts; its folder holds its datasets and records
    part by part (docs/parts.md).

    Parameters
    ----------
    study : Study
        With ``[data] path = "parts/*.parquet"``, or one parquet file and ``row_groups = true``.
    out : str or Path
        A folder that does not exist yet; it appears when everything is done. All workers must see
        where it will be.
    force : bool
        Replace an existing folder, once the new one is complete.
    workers : int, optional
        Processes on this machine; default: its cores. They change nothing of the results.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers are used instead.
    reporter : Reporter, optional
        Shows progress.
    entropy : bytes, optional
        That of an earlier run, to repeat it, as in `run_study`.
    room : int
        Records that are worked on at once, unless a known pattern has more. Random numbers follow
        from it.

    Raises
    ------
    InputError
        If the study asks for what is not done by parts, the parts differ, a pattern is larger than
        a worker, identifiers repeat, the scheduler does not answer, its workers have other versions
        or do not see the data; or as `run_study`. Finished work is kept, and the same command goes
        on from there.
    """
    refuse_what_is_not_by_parts(study)
    parts, told = study.data.parts, reporter or default_reporter()
    columns = columns_read(study, parts)
    with (
        opened(
            Path(out), "a run by parts", check_replaceable=check_replaceable, force=force
        ) as working,
        threadpool_limits(1),
    ):
        with told.step("checking the study on a sample"):
            check_sample(study, parts, columns)
        with _client(scheduler, workers, working.folder, parts) as client:
            gathered = _gathered(client, study, parts, columns, working.folder, room, told)
            streams = run_streams(study, gathered.digest, working.folder, entropy)
            keep_entropy(streams, working.folder)
            study = counting_earlier(study, gathered.digest, streams, Path(out))
            key = _key(study, gathered, streams)
            folder = _only(working.folder, f"{_WORK}{key}")
            job = Job(study, gathered, folder, working.result, streams, key)
            return _Stages(Tasks(client, job, told), columns).run(working)


def _key(study: Study, gathered: Gathered, streams: Streams) -> str:
    """A digest of all that decides what a run by parts computes of gathered records."""
    settings: dict[str, Any] = to_table(study)
    settings["sampling"].pop("cores", None)
    settings.pop("thresholds", None)
    settings["data"] = {"fitted": study.data.fitted}
    return _digest(
        settings,
        gathered.digest,
        gathered.room,
        versions(),
        hashlib.sha256(streams.key or b"").hexdigest(),
    )


def _digest(*told: Any) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _only(folder: Path, name: str) -> Path:
    """A folder of finished work, without those of the same kind that were made of something
    else.
    """
    kind = name.partition("-")[0]
    for other in folder.glob(f"{kind}-*"):
        if other.name != name:
            shutil.rmtree(other)
    make_folder(folder / name, private=True)
    return folder / name


@contextmanager
def _client(
    scheduler: str | None, workers: int | None, folder: Path, parts: Parts
) -> Iterator[Any]:
    """A client of the cluster that does the work."""
    if scheduler is not None:
        with connected(
            scheduler, [*parts.files, folder], versions() | versions(_BY_PARTS)
        ) as client:
            yield client
        return
    with own_workers(workers or os.cpu_count() or 1, folder) as client:
        yield client


def _patterns(
    client: Any, study: Study, parts: Parts, columns: Sequence[str], reporter: Reporter
) -> pd.DataFrame:
    """The known patterns with their sizes; refuses what no worker can hold, single patterns that
    are an error, and repeated identifiers.
    """
    records = records_of(parts, columns, study.data.id)
    with reporter.step("counting known patterns"):
        patterns = count_patterns(client, records, study.scenario.known)
        memory = min(
            (worker["memory_limit"] or np.inf) / worker["nthreads"]
            for worker in workers_of(client).values()
        )
        refuse_large(int(patterns[RECORDS].max()), BYTES, memory - BASE)
        alone = int((patterns[RECORDS] == 1).sum())
        if alone and study.scenario.singletons == "error":
            raise InputError(
                f"{alone} of {len(patterns)} known patterns hold a single record, which the "
                "pattern alone identifies; coarsen the known "
                "variables, or set singletons to 'protect' or 'paper'"
            )
        if alone and study.scenario.singletons == "protect":
            warnings.warn(
                f"{alone} of {len(patterns)} known patterns hold a single record: risk 1, weight 0",
                SingletonWarning,
                stacklevel=2,
            )
        if study.data.id is not None:
            refuse_repeated(client, records, study.data.id)
    return patterns


def _gathered(
    client: Any,
    study: Study,
    parts: Parts,
    columns: Sequence[str],
    partial: Path,
    room: int,
    reporter: Reporter,
) -> Gathered:
    """The records in buckets, gathered unless that was done before."""
    patterns = _patterns(client, study, parts, columns, reporter)
    key = _digest(
        list(columns),
        study.data.id,
        list(study.scenario.known),
        room,
        parts.fingerprint,
        versions(),
    )
    folder = _only(partial, f"{_BUCKETS}{key}")
    kept = recall(folder / "gathered", key)
    if kept is not None:
        found = Gathered.kept(folder, kept)
        with reporter.step("looking at the records that were gathered before"):
            if all(client.gather(client.map(is_whole, found.buckets, pure=False))):
                return found
    with reporter.step("gathering records by known pattern"):
        made = gather(
            client,
            records_of(parts, columns, study.data.id),
            study.scenario.known,
            patterns,
            folder,
            room,
        )
    keep(folder / "gathered", made.to_keep(), key)
    return made


def measured_again(tasks: Tasks, columns: Sequence[str], saved: Callable[[str], Path]) -> Told:
    """What a run by parts tells with fits that were made before; `saved`: where that of a scheme
    lies.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # the run has said it
        return _Stages(tasks, columns, saved).told()


@dataclass(frozen=True)
class _Stages:
    """The stages of a run, one after the other; ``saved``: where the fit of a scheme lies that was
    made before.
    """

    tasks: Tasks
    columns: Sequence[str]
    saved: Callable[[str], Path] | None = None

    @property
    def job(self) -> Job:
        return self.tasks.job

    @property
    def study(self) -> Study:
        return self.job.study

    def run(self, working: WorkingFolder) -> Run:
        """All of them, and the folder that they leave."""
        return self.told().written(working)

    def told(self) -> Told:
        """All of them."""
        values, sums, witnesses = self._weighed()
        regressions = read_regressions(self.tasks, witnesses)
        declared: Any = self.study.make_synthesizer()
        synthesizer, values = with_standing(declared, values)
        fits = self._fitted(synthesizer, values, sums)
        light = {scheme: fitted.fit for scheme, fitted in fits.items()}
        told = self._measured(Told(self.job, values, fits, sums, regressions), light)
        return self._asked(told, light)

    def _weighed(self) -> tuple[Values, dict[str, float], list[dict[str, pd.DataFrame]]]:
        """Values of the whole file, sums of the weights that are made of the data alone, and
        records of which regressions are read.
        """
        found = dict(self.tasks.each("weighing records", weigh_bucket))
        schemes = next(iter(found.values())).sums
        sums = {
            scheme: sum(found[number].sums[scheme] for number in self.job.numbers)
            for scheme in schemes
        }
        parts = [found[number] for number in self.job.numbers]
        return add_values([part.values for part in parts]), sums, [part.witnesses for part in parts]

    def _fitted(
        self, synthesizer: Synthesizer, values: Values, sums: dict[str, float]
    ) -> dict[str, Fitted]:
        """The fits of all schemes; those that weights are made of first."""
        schemes = in_order(self.study.weights.schemes)
        first = [scheme for scheme in schemes if scheme_source(scheme) is None]
        fits = self._fits(synthesizer, first, values, 0)
        later = [scheme for scheme in schemes if scheme not in first]
        if later:
            light = {scheme: fitted.fit for scheme, fitted in fits.items()}
            made = dict(self.tasks.each("weighing records by fits", weigh_by_fit, later, light))
            sums |= {
                scheme: sum(made[number][scheme] for number in self.job.numbers) for scheme in later
            }
            fits |= self._fits(synthesizer, later, values, 1)
        return {scheme: fits[scheme] for scheme in self.study.weights.schemes}

    def _fits(
        self, synthesizer: Synthesizer, schemes: Sequence[str], values: Values, turn: int
    ) -> dict[str, Fitted]:
        """Fits of schemes whose weights are there."""
        read = [
            name
            for name in self.columns
            if name in (*self.study.synthesizer.columns, self.job.target)
        ]
        counted = count_all(self.tasks, read, values, schemes, turn)
        centred = centre_all(self.tasks, synthesizer, values, read, schemes)
        given = [
            (fit_counted, ()) if self.saved is None else (load_counted, (self.saved(scheme),))
            for scheme in schemes
        ]
        tasks = [
            (making, self.job, synthesizer, scheme, counted, values, centred, *saved)
            for scheme, (making, saved) in zip(schemes, given, strict=True)
        ]
        fitting = self.tasks.done(
            f"fitting {len(schemes)} schemes", tasks, self._at_once(_OF_ROW * counted.rows)
        )
        fits = {schemes[place]: fitted for place, fitted in fitting}
        for scheme in schemes:
            for category, text in fits[scheme].said:
                warnings.warn(f"{scheme}: {text}", category, stacklevel=2)
        return fits

    def _at_once(self, size: float) -> int:
        """How many tasks that take so many bytes each are done at the same time."""
        memory = sum(
            worker["memory_limit"] or np.inf for worker in workers_of(self.tasks.client).values()
        )
        return max(1, int(min(_OF_ALL * memory / size, len(self.study.weights.schemes))))

    def _measured(self, told: Told, light: Mapping[str, LightFit]) -> Told:
        """Datasets drawn and written, and risk and utility as sums over the buckets."""
        with self.tasks.reporter.step("finding the isolated records"):
            common = Common(find_cuts(self.job, told.values), told.regressions)
        for _, found in self.tasks.each("drawing and measuring", measure_bucket, light, common):
            told = told.with_bucket(found)
        told.warn_of_far()
        while asked := told.asked():
            again = self.tasks.each("looking at risks again", again_bucket, common, Question(asked))
            told = told.completed(tallies for _, tallies in again)
        return told

    def _asked(self, told: Told, light: Mapping[str, LightFit]) -> Told:
        """What the releases give away, and whether the fits suit the data, of records that are
        looked at.
        """
        found = dict(self.tasks.each("choosing records to look at", known_patterns_of))
        chosen = choose_patterns([found[number] for number in self.job.numbers])
        looked = dict(self.tasks.each("looking at some records", look, chosen, list(light)))
        parts = [looked[number] for number in self.job.numbers]
        labels = list(light)
        at_once = self._at_once(_OF_LOOKED * min(LOOKED_AT, self.job.gathered.records))
        tasks: list[tuple[Any, ...]]
        tasks = [(disclose_looked, self.job, label, light, parts) for label in labels]
        disclosed = dict(self.tasks.done("measuring disclosure beyond inference", tasks, at_once))
        tasks = [(check_looked, self.job, label, light[label], parts) for label in labels]
        checked = dict(self.tasks.done("comparing the fits with the data", tasks))
        centred = [label for label in labels if is_centred(label)]
        tasks = [
            (ratios_looked, self.job, label, light[label], parts, told.regressions)
            for label in centred
        ]
        ratios = dict(self.tasks.done("finding what centring costs", tasks)) if centred else {}
        return replace(
            told,
            disclosed={label: disclosed[place] for place, label in enumerate(labels)},
            checked={label: checked[place] for place, label in enumerate(labels)},
            ratios={label: ratios[place] for place, label in enumerate(centred)},
            looked=parts,
        )
