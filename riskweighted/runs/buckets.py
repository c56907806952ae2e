"""A file that is larger than what its model is fitted to: a stated sample of it for the fit, and
all its records bucket by bucket for what is drawn and for the expected risk.

Whole known patterns share a bucket, since a record's risk depends on its pattern alone. Which
records are fitted, which bucket a record is in and its random numbers follow from the study and the
file, whoever does the work, so that results are the same bytes for any number of workers.
"""

import io
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import keep, make_folder, recall, whole_file
from riskweighted.common.cluster import connect_client, own_workers
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.fingerprints import versions
from riskweighted.contract.centring import CentredWeights
from riskweighted.evaluation.mechanism import find_mechanism
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import make_world
from riskweighted.measures.context import Mechanism
from riskweighted.measures.evaluation_settings import EvaluationSettings
from riskweighted.risk.expected_identification import ExpectedRisk
from riskweighted.runs.study import Study
from riskweighted.sequence.fit import Fit
from riskweighted.weights.functions import OfRows
from riskweighted.weights.match import world_functions
from riskweighted.weights.scheme_names import is_centred

__all__ = [
    "ROOM",
    "SURVEY",
    "BucketPool",
    "BucketResult",
    "BucketTask",
    "JoinedBuckets",
    "bucket_rows",
    "fitted_rows",
    "functions_at",
    "pool",
    "refuse_of_sample",
    "without_functions",
]

ROOM = 250_000  # records of a bucket that holds more than one known pattern
SURVEY = "riskweighted survey weight"  # beside the risk weights of a bucket
_BLOCK = "block "
_BESIDE = ("dask", "distributed", "pyarrow")  # which work in buckets takes besides
_IN_MEMORY = 2e8  # bytes of expected risk by block of draws; more lie in a file of no name


def fitted_rows(
    data: pd.DataFrame, patterns: np.ndarray, count: int, read: Sequence[str], seed: int
) -> np.ndarray:
    """The rows to which a model is fitted, in order: the same share of every known pattern at
    random, and a record of each level that these would lack.

    `patterns` (n,): the known pattern of each record; `read`: the columns that the model reads.
    """
    rng, n = np.random.default_rng(seed), len(data)
    order = np.lexsort((rng.random(n), patterns))
    step = n / count
    chosen = np.zeros(n, dtype=bool)
    chosen[order[((np.arange(count) + rng.random()) * step).astype(np.int64)]] = True
    for name in read:
        if not pd.api.types.is_numeric_dtype(data[name].dtype):
            codes = pd.factorize(data[name])[0]
            lacking = np.isin(codes, codes[chosen], invert=True)
            others = order[lacking[order]]
            chosen[others[np.unique(codes[others], return_index=True)[1]]] = True
    return np.flatnonzero(chosen)


def bucket_rows(
    patterns: np.ndarray, sizes: np.ndarray, room: int | None = None
) -> list[np.ndarray]:
    """The rows of each bucket, in order: neighbouring known patterns share one as long as they are
    no more records than `room` (250,000).

    `patterns` (n,): the known pattern of each record; `sizes` (P,): records of each.
    """
    room = ROOM if room is None else room
    bucket, buckets, held = -1, np.empty(len(sizes), dtype=np.int64), room
    for place, count in enumerate(sizes.tolist()):
        if held + count > room:
            bucket, held = bucket + 1, 0
        buckets[place] = bucket
        held += count
    of_row = buckets[patterns]
    order = np.argsort(of_row, kind="stable")
    return np.split(order, np.cumsum(np.bincount(of_row, minlength=bucket + 1))[:-1])


def functions_at(weights: CentredWeights, rows: np.ndarray) -> CentredWeights:
    """Centred weights of some of the records that they were made of."""
    functions = {
        name: OfRows(function, rows, f"of {len(rows)} of {len(function.pattern)}")
        for name, function in weights.functions.items()
    }
    return CentredWeights(weights.alpha.iloc[rows], functions)


def without_functions(fit: Fit) -> Fit:
    """A fit of a few records that goes to other processes: without the weights as functions, which
    hold the file, and which are made anew of the records of a bucket.
    """
    blocks = {
        name: block
        if block.centring is None
        else replace(block, centring=replace(block.centring, inside=_unasked))
        for name, block in fit.blocks.items()
    }
    return replace(fit, blocks=blocks)


def _unasked(records: np.ndarray) -> np.ndarray:
    raise AssertionError(f"weights of {len(records)} records are asked of a fit without functions")


class BucketResult(NamedTuple):
    """What a bucket's records come to under one label. Confidential.

    ``drawn``: the synthesized variables of every dataset, side by side; ``risk`` (n_b, 2 + B):
    expected risk by block of draws, ``own_mass`` and ``outside``; ``influence``: its columns;
    ``sizes`` (B,): draws of each block.
    """

    drawn: pd.DataFrame
    risk: pd.DataFrame
    influence: pd.DataFrame
    sizes: np.ndarray

    def to_bytes(self) -> bytes:
        """All of it, for a file."""
        held, tables = io.BytesIO(), dict[str, Any]()
        for name in ("drawn", "risk", "influence"):
            buffer = io.BytesIO()
            getattr(self, name).to_parquet(buffer, index=False)
            tables[name] = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
        np.savez(held, sizes=self.sizes, **tables)
        return held.getvalue()

    @classmethod
    def of(cls, content: bytes) -> "BucketResult":
        """The same read back."""
        with np.load(io.BytesIO(content)) as held:
            drawn, risk, influence = (
                pd.read_parquet(io.BytesIO(held[name].tobytes()))
                for name in ("drawn", "risk", "influence")
            )
            return cls(drawn, risk, influence, held["sizes"])

    @property
    def blocks(self) -> np.ndarray:
        """Expected risk by block of draws, (B, n_b)."""
        names = [name for name in self.risk if str(name).startswith(_BLOCK)]
        return np.asarray(self.risk[names].to_numpy().T)


@dataclass(frozen=True, eq=False)
class BucketTask:
    """What is computed of a bucket under one label, in whatever process. Confidential.

    ``fit``: of a few records, so that it is light; ``scenarios``: of the evaluation and of the
    weights; ``making``: how these are made; ``seeds``: of the draws and of the evaluation;
    ``source``: of the label whose fit the weights are made of, if any.
    """

    label: str
    fit: Fit = field(repr=False)
    scenarios: tuple[Scenario, Scenario]
    making: Mapping[str, Any]
    settings: EvaluationSettings
    L: int
    seeds: tuple[int, int | None] = field(repr=False)
    source: "BucketTask | None" = field(default=None, repr=False)

    def __call__(
        self, number: int, records: pd.DataFrame | Path, weights: pd.DataFrame | Path
    ) -> bytes:
        """`BucketResult` of the records of a bucket with their risk weights (n_b, V), beside which
        survey weights of mean 1 may stand in the column `SURVEY`; both as frames or as files of
        them.
        """
        records = pd.read_parquet(records) if isinstance(records, Path) else records
        weights = pd.read_parquet(weights) if isinstance(weights, Path) else weights
        weights = weights.set_axis(records.index)
        survey = weights.pop(SURVEY) if SURVEY in weights else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RiskWeightedWarning)  # told of the whole file
            fit = self.on(records, weights, survey)
            drawn = {
                f"{place} {name}": frame[name]
                for place, frame in enumerate(
                    fit.synthetic(self.L, random_seed=self.seeds[0], part=number)
                )
                for name in fit.variables
            }
            world = make_world(records, self.scenarios[0])
            entropy = [self.seeds[1] or 0, number]
            seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
            mechanism = find_mechanism(self.label, fit, world, self.settings, seed)
        risk = mechanism.risk
        columns = {f"{_BLOCK}{place}": block for place, block in enumerate(risk.blocks)}
        table = pd.DataFrame({"own_mass": risk.own_mass, "outside": risk.outside, **columns})
        influence = pd.DataFrame() if mechanism.influence is None else mechanism.influence
        return BucketResult(pd.DataFrame(drawn), table, influence, risk.sizes).to_bytes()

    def on(
        self,
        records: pd.DataFrame,
        weights: pd.DataFrame,
        survey: pd.Series | None = None,
        in_fit: pd.Series | None = None,
    ) -> Fit:
        """The fit of a bucket's records with their risk weights; `in_fit` (m,): what each counts in
        the fit, the survey weights by default.
        """
        in_fit = survey if in_fit is None else in_fit
        if not is_centred(self.label):
            return self.fit.on(records, weights, in_fit)
        weighing = make_world(records, self.scenarios[1])
        ones = weights * 0.0 + 1.0
        of = None if self.source is None else self.source.on(records, ones, survey)
        functions = world_functions(weighing, self.label, fit=of, **self.making)
        return self.fit.on(records, CentredWeights(weights, functions), in_fit)


@dataclass(frozen=True)
class BucketPool:
    """Who works on buckets: this process, or the workers of a Dask ``client``, which see the same
    folders.
    """

    client: Any = field(default=None, repr=False)

    def each(
        self,
        task: BucketTask,
        buckets: Iterable[tuple[int, pd.DataFrame, pd.DataFrame]],
        key: str,
        folder: Path | None,
    ) -> Iterator[tuple[int, BucketResult]]:
        """What a task gives of each bucket (its number, records and weights), as they come; in the
        working folder of a run what is done is kept by `key`, and not done again.
        """
        if folder is None:
            for number, records, weights in buckets:
                yield number, BucketResult.of(task(number, records, weights))
            return
        place = folder / f"told-{key[:32]}"
        make_folder(place, private=True)
        waiting = []
        for number, records, weights in buckets:
            name = f"{number:06d}"
            if (content := recall(place / name, f"{key}/{name}")) is not None:
                yield number, BucketResult.of(content)
            elif self.client is None:
                content = task(number, records, weights)
                keep(place / name, content, f"{key}/{name}")
                yield number, BucketResult.of(content)
            else:
                paths = [
                    _written(table, folder / "buckets", f"{key[:32]}-{name}-{what}")
                    for table, what in ((records, "records"), (weights, "weights"))
                ]
                waiting.append((number, paths))
        for number in self._by_workers(task, waiting, place, key):
            name = f"{number:06d}"
            content = recall(place / name, f"{key}/{name}")
            if content is None:
                raise InputError(f"the work on bucket {number + 1} was lost: run the study again")
            yield number, BucketResult.of(content)

    def _by_workers(
        self, task: BucketTask, waiting: list[tuple[int, list[Path]]], place: Path, key: str
    ) -> Iterator[int]:
        """The numbers of buckets as workers have done them, a few at a time."""
        if not waiting:
            return
        from distributed import KilledWorker, as_completed

        left, count = waiting[::-1], len(self.client.scheduler_info()["workers"]) + 1
        futures: dict[Any, int] = {}

        def submit(most: int) -> list[Any]:
            made = []
            for _ in range(min(most, len(left))):
                number, paths = left.pop()
                future = self.client.submit(
                    _done, task, number, paths, place, key, pure=False, retries=3
                )
                futures[future] = number
                made.append(future)
            return made

        try:
            coming = as_completed(submit(count), loop=self.client.loop)
            for future in coming:
                number = futures.pop(future)
                future.result()
                future.release()
                coming.update(submit(1))
                yield number
        except KilledWorker:
            raise InputError(
                "workers ended again and again while they drew and measured, often for want of "
                "memory; finished work is kept: the same command goes on from there, with fewer "
                "--workers if need be"
            ) from None
        finally:
            self.client.cancel(list(futures))


@contextmanager
def pool(
    workers: int | None, scheduler: str | None, folder: Path, of_sample: bool
) -> Iterator[BucketPool]:
    """Who works on the buckets of a run in a working `folder`; refuses workers for a file that is
    fitted whole, which has one bucket.
    """
    if workers is None and scheduler is None:
        yield BucketPool()
        return
    if not of_sample:
        raise InputError(
            "workers and a scheduler are for a file of which a sample is fitted ([data] fitted), "
            "bucket by bucket; all records of this one are: valid here is --cores"
        )
    given = (
        own_workers(workers or 1, folder)
        if scheduler is None
        else connect_client(scheduler, [folder], versions() | versions(_BESIDE))
    )
    with given as client:
        yield BucketPool(client)


def _written(table: pd.DataFrame, folder: Path, name: str) -> Path:
    make_folder(folder, private=True)
    with whole_file(folder / name, private=True) as unfinished:
        table.to_parquet(unfinished, index=False)
    return folder / name


def _done(task: BucketTask, number: int, paths: Sequence[Path], place: Path, key: str) -> None:
    """Do a task of a bucket whose tables lie in files, and keep what it gives in another."""
    name = f"{number:06d}"
    keep(place / name, task(number, *paths), f"{key}/{name}")
    for path in paths:
        path.unlink(missing_ok=True)


class JoinedBuckets:
    """What all buckets come to under one label, in the order of the records. Confidential."""

    def __init__(self, data: pd.DataFrame, variables: Sequence[str], folder: Path | None) -> None:
        self._data, self._variables, self._folder = data, variables, folder
        self._rows, self._drawn = list[np.ndarray](), list[pd.DataFrame]()
        self._columns: dict[str, np.ndarray] = {}
        self._influence: list[str] = []
        self._blocks, self._sizes = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)

    def put(self, rows: np.ndarray, told: BucketResult) -> None:
        """Take in a bucket of the records in some rows."""
        blocks = told.blocks
        if not self._rows:
            self._sizes, self._influence = told.sizes, [str(name) for name in told.influence]
            self._blocks = self._room((len(blocks), len(self._data)))
        self._blocks[:, rows] = blocks
        for table in (told.risk[["own_mass", "outside"]], told.influence):
            for name, column in table.items():
                held = self._columns.setdefault(str(name), np.empty(len(self._data)))
                held[rows] = column.to_numpy()
        self._rows.append(rows)
        self._drawn.append(told.drawn)

    def _room(self, shape: tuple[int, int]) -> np.ndarray:
        """Room for numbers, of many in a file without a name that ends with this process."""
        if shape[0] * shape[1] * 8 <= _IN_MEMORY:
            return np.zeros(shape)
        with tempfile.TemporaryFile(dir=self._folder) as handle:
            return np.memmap(handle, dtype=float, mode="w+", shape=shape)

    @property
    def datasets(self) -> Datasets:
        """The datasets."""
        place = np.empty(len(self._data), dtype=np.int64)
        place[np.concatenate(self._rows)] = np.arange(len(self._data))
        altered: list[dict[str, pd.Series]] = []
        for name in self._drawn[0]:
            number, _, variable = str(name).partition(" ")
            if int(number) == len(altered):
                altered.append({})
            whole = pd.concat([table[name] for table in self._drawn], ignore_index=True)
            column = whole.take(place).set_axis(self._data.index)
            altered[-1][variable] = column.astype(self._data[variable].dtype).rename(variable)
        return Datasets(self._data, altered)

    @property
    def mechanism(self) -> Mechanism:
        """Expected risk and influence."""
        risk = ExpectedRisk(
            self._blocks, self._sizes, self._columns["own_mass"], self._columns["outside"]
        )
        if not self._influence:
            return Mechanism(risk)
        influence = pd.DataFrame(
            {name: self._columns[name] for name in self._influence}, self._data.index
        )
        influence.attrs = {
            "draws": int(self._sizes.sum()),
            "units": "log density on the scale of the model",
            "p_eff": float(2 * influence["information"].sum()),
        }
        return Mechanism(risk, influence)


def refuse_of_sample(study: Study) -> None:
    """Refuse what a model that is fitted to a sample cannot have."""
    asked = {
        "guarantee": study.guarantee,
        "weights.cluster": study.weights.cluster,
        "evaluation.cluster": study.evaluation.cluster,
        "release.unit": study.release.unit,
        "weights.target": study.weights.target,
    }
    why = {
        "guarantee": "a guarantee is stated of the records that are fitted",
        "weights.target": "a target is met on the records that are fitted",
    }
    for name, value in asked.items():
        if value is not None:
            reason = why.get(name, "a sample of records takes units apart")
            raise InputError(
                f"{name} is not possible where a sample is fitted ([data] fitted): {reason}; leave "
                "it out, or fit all records (fitted = the number of records or more)"
            )
