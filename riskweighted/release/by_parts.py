"""The pack of a run of data in parts: every part drawn again, held to what the run left, shuffled,
written and read back.

The records are gathered as the run gathered them, and its fits are made ready from their counts. So
a part leaves only if it is, value for value, what the fit draws with the run's own random numbers.
Released patterns lie within known ones, so rows are shuffled part by part. Which records a part
holds, and its number, follow from their known patterns, which leave anyway; its whole rows stand in
a random order.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import make_folder
from riskweighted.common.cluster import own_workers
from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.folders import WorkingFolder, for_the_moment
from riskweighted.common.frames import as_floats
from riskweighted.common.progress import Reporter
from riskweighted.data.io import DatasetWriter
from riskweighted.data.parts import files_named
from riskweighted.data.variables import Variables
from riskweighted.disclosure.row_order import UNLIKELY, in_order, order_chance
from riskweighted.disclosure.shuffle import leaving_rows, released_patterns, shuffled_rows
from riskweighted.parts.drawing import draw_bucket, drawn_of, part_file
from riskweighted.parts.fitting import LightFit
from riskweighted.parts.gather import ORDER, Gathered, count_patterns, gather, records_of
from riskweighted.parts.job import Job
from riskweighted.parts.limits import columns_read
from riskweighted.parts.run import measured_again
from riskweighted.parts.tables import Told
from riskweighted.parts.tasks import Tasks
from riskweighted.release.column_facts import ColumnFacts
from riskweighted.release.contents import dataset_stem
from riskweighted.release.leak_check import most_by_chance
from riskweighted.release.leaving import told_as_stated
from riskweighted.runs.again import alike, as_read, not_made, refuse_other_tables
from riskweighted.runs.file_order import order_told
from riskweighted.runs.finished import SAMPLE, SampledRun, data_places
from riskweighted.runs.randomness import refuse_other_settings

__all__ = ["PartsReleased", "release_parts"]

_FRESH = 20  # datasets drawn to see what chance gives


class PartsReleased(NamedTuple):
    """What was written: SHA-256 by the name in the pack; what every column of the released data
    holds; and how near each dataset is.
    """

    hashes: dict[str, str]
    facts: dict[str, ColumnFacts]
    check: pd.DataFrame


class _Released(NamedTuple):
    """Of one bucket: ``equal`` by scheme, in how many rows each dataset has the confidential value,
    (L,), and fresh ones, (F,).
    """

    hashes: dict[str, str]
    facts: dict[str, ColumnFacts]
    equal: dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class _Asked:
    """What is released of a run: ``run`` is its folder, ``folder`` where the pack is made."""

    run: Path
    folder: Path
    fits: Mapping[str, LightFit] = field(repr=False)
    formats: tuple[str, ...]
    layout: Any


def release_parts(
    run: SampledRun,
    working: WorkingFolder,
    schemes: Sequence[str],
    formats: Sequence[str],
    layout: Any,
    data: str | Path | None,
    reporter: Reporter,
) -> PartsReleased:
    """Write the datasets of some schemes to a pack, part by part, once the run's tables, what it
    holds of the records, and each part were seen to be what its fits make.
    """
    if strange := [kind for kind in formats if kind not in ("csv", "parquet")]:
        raise InputError(
            f"a run of data in parts is released in parts, and {strange[0]!r} has none; valid "
            "are csv and parquet"
        )
    study = replace(run.study, seed=run.streams.seed)
    study = replace(study, data=replace(study.data, path=_where(run, data)))
    parts = study.data.parts
    columns = columns_read(study, parts)
    with for_the_moment() as place, own_workers(os.cpu_count() or 1, place) as client:
        records = records_of(parts, columns, study.data.id)
        patterns = count_patterns(client, records, study.scenario.known)
        buckets = place / "buckets"
        make_folder(buckets, private=True)
        gathered = gather(
            client,
            records,
            study.scenario.known,
            patterns,
            buckets,
            int(run.manifest["input"]["room"]),
        )
        if gathered.digest != run.manifest["input"]["sha256"]:
            raise InputError(
                "the data in parts are not those that the run was made from: their SHA-256 "
                "differs from the manifest's"
            )
        refuse_other_settings(study, gathered.digest, run.streams)
        make_folder(place / "files", private=True)
        job = Job(study, gathered, place, place / "files", run.streams, secrets.token_hex(16))
        told = measured_again(Tasks(client, job, reporter), columns, run.posterior_path)
        _refuse_what_is_not_made(run, told)
        asked = _Asked(
            run.folder,
            working.result,
            {scheme: told.fits[scheme].fit for scheme in schemes},
            tuple(formats),
            layout,
        )
        found = dict(
            Tasks(client, replace(job, result=run.folder), reporter).each(
                "releasing parts", _release_bucket, asked
            )
        )
    parts_of = [found[number] for number in job.numbers]
    hashes, facts = _together(parts_of)
    there = {
        path.relative_to(working.result).as_posix()
        for path in working.result.rglob("*")
        if path.is_file()
    }
    if there != set(hashes):
        raise InputError(
            f"nothing was released: {len(there ^ set(hashes))} files of the pack are not those "
            "that were checked"
        )
    return PartsReleased(hashes, facts, _check(parts_of, gathered, study.target, study.release.L))


def _where(run: SampledRun, data: str | Path | None) -> Path:
    """Where the parts lie: as stated, else beside the run, in the folder of their name or without
    it, or where they were read.
    """
    if data is not None:
        return Path(data)
    stored, beside = Path(str(run.study.data.path)), run.folder.absolute().parent
    for path in (beside / stored, beside / stored.name, *data_places(run)):
        if any(file.is_file() for file in files_named(path)):
            return path
    raise InputError(
        f"the confidential data {str(stored)!r} are not beside the run: say where they are "
        "(--confidential 'FOLDER/*.parquet')"
    )


def _same(drawn: pd.Series, truth: pd.Series) -> np.ndarray:
    """Which rows hold the same value, numbers but for rounding, (n,)."""
    if pd.api.types.is_numeric_dtype(truth.dtype):
        mine, theirs = as_floats(drawn), as_floats(truth)
        return np.asarray(np.abs(mine - theirs) <= 1e-6 * np.abs(theirs))
    same: np.ndarray = drawn.astype(str).to_numpy() == truth.astype(str).to_numpy()
    return np.asarray(same & truth.notna().to_numpy())


def _identical(mine: pd.Series, theirs: pd.Series) -> bool:
    """Whether two columns hold the same values to the last bit, missing ones in the same rows."""
    if pd.api.types.is_numeric_dtype(mine.dtype):
        return np.array_equal(as_floats(mine), as_floats(theirs), equal_nan=True)
    gaps = np.array_equal(mine.isna().to_numpy(), theirs.isna().to_numpy())
    return gaps and np.array_equal(mine.astype(str).to_numpy(), theirs.astype(str).to_numpy())


def _refuse_what_is_not_made(run: SampledRun, told: Told) -> None:
    """Refuse a run whose tables, or what it holds of the records, are not what was made again."""
    refuse_other_tables(
        run, {name: as_read(table) for name, table in told.tables(told.evaluation()).items()}
    )
    if not alike(told.sample, pd.read_parquet(run.folder / SAMPLE)):
        raise not_made(SAMPLE)
    for number in told.job.numbers:
        made, held = (
            part_file(folder / "confidential" / "records", number)
            for folder in (told.job.result, run.folder)
        )
        if not alike(pd.read_parquet(made), pd.read_parquet(held)):
            raise not_made(held.relative_to(run.folder).as_posix())


def _release_bucket(job: Job, number: int, asked: _Asked) -> _Released:
    """Check, shuffle, write and read back the datasets of a bucket."""
    records, study = job.records(number), job.study
    unaltered, truth = study.unaltered(records), records[job.target]
    held = pd.read_parquet(part_file(asked.run / "synthetic" / "unaltered", number))
    if not held.equals(records[unaltered]):
        raise InputError(
            f"nothing was released: part {number + 1} of the run has unaltered columns that are "
            "not those of the data"
        )
    hashes = dict[str, str]()
    equal = dict[str, tuple[np.ndarray, np.ndarray]]()
    facts = dict[str, ColumnFacts]()
    patterns, order = released_patterns(records, unaltered), _order_of_rows(job, number)
    _check_order(job, records, patterns, order)
    weighing = job.world(records, weighing=True)
    released = [str(name) for name in records if name in (*unaltered, job.target)]
    for scheme, light in asked.fits.items():
        fit = light.on(records, job.weights(number, scheme), weighing, study.weights.making)
        datasets = drawn_of(job, number, scheme, records)
        again = draw_bucket(job, number, scheme, fit)
        for mine, theirs in zip(again.altered, datasets.altered, strict=True):
            if not _identical(mine[job.target], theirs[job.target]):
                raise InputError(
                    f"nothing was released: part {number + 1} of {scheme!r} is not what the fit "
                    "of the run draws"
                )
        # the same posterior draws in every bucket
        seed = job.streams.seed_for("leak check", scheme)
        fresh = [
            frame[job.target] for frame in fit.synthetic(_FRESH, random_seed=seed, part=number)
        ]
        equal[scheme] = tuple(  # type: ignore[assignment]
            np.array([int(_same(column, truth).sum()) for column in columns])
            for columns in ([altered[job.target] for altered in datasets.altered], fresh)
        )
        stated = told_as_stated(Datasets(records[released], datasets.altered), Variables({}))
        leaving = _reordered(_shuffled(job, number, scheme, stated, patterns), order)
        hashes |= _write(job, number, scheme, leaving, asked)
        for altered in leaving.altered:
            facts[job.target] = ColumnFacts.of(altered[job.target]).beside(facts.get(job.target))
    facts |= {name: ColumnFacts.of(records[name]) for name in unaltered}
    return _Released(hashes, facts, equal)


def _shuffled(
    job: Job, number: int, scheme: str, datasets: Datasets, patterns: np.ndarray
) -> Datasets:
    """The datasets in the order of rows in which they leave."""
    if not job.study.release.shuffle:
        return datasets
    altered = []
    for place, columns in enumerate(datasets.altered):
        seed = job.streams.order_seed(f"{scheme}/bucket {number}", place)
        rows = shuffled_rows(patterns, np.random.default_rng(seed))
        altered.append(
            {
                name: pd.Series(column.array.take(rows), column.index, name=name)
                for name, column in columns.items()
            }
        )
    return Datasets(datasets.base, altered)


def _order_of_rows(job: Job, number: int) -> np.ndarray:
    """Which record of a bucket stands in each row of its part, (m,), of all schemes and
    datasets.
    """
    return leaving_rows(
        job.gathered.buckets[number].records,
        np.random.default_rng(job.streams.order_seed(f"rows/bucket {number}", 0)),
    )


def _reordered(datasets: Datasets, order: np.ndarray) -> Datasets:
    """The datasets with whole rows in another order: those of the run stand in the order of their
    identifiers.
    """
    altered = [
        {name: pd.Series(column.array.take(order), name=name) for name, column in columns.items()}
        for columns in datasets.altered
    ]
    return Datasets(datasets.base.take(order).reset_index(drop=True), altered)


def _check_order(job: Job, records: pd.DataFrame, patterns: np.ndarray, order: np.ndarray) -> None:
    """Refuse rows of a part, or an unaltered column, in an order that tells the synthesized
    variable.
    """
    buckets, place = len(job.numbers), in_order(records[ORDER])
    for line in order_told(job.study, records, place, buckets):
        raise InputError(f"nothing was released: {line}")
    if buckets * order_chance(records[job.target], np.argsort(order), patterns) < UNLIKELY:
        raise InputError(
            "nothing was released: rows of a part stand in an order that tells the synthesized "
            "variable: run again"
        )


def _write(job: Job, number: int, scheme: str, datasets: Datasets, asked: _Asked) -> dict[str, str]:
    """Write the datasets of a bucket in every format and read them back, byte for byte."""
    hashes, writer = {}, DatasetWriter(datasets, layout=asked.layout)
    for place in range(len(datasets)):
        for kind in asked.formats:
            name = f"{dataset_stem(scheme, place, len(datasets))}/part-{number + 1:06d}.{kind}"
            path, label = asked.folder / name, f"SYNTHETIC DATA {place + 1} of {len(datasets)}"
            writer.write(place, path, label=label)
            if not writer.is_in(path, place, label=label):
                raise InputError(f"nothing was released: {name!r} does not hold what was written")
            hashes[name] = file_hash(path)
    return hashes


def _together(parts: Sequence[_Released]) -> tuple[dict[str, str], dict[str, ColumnFacts]]:
    hashes = {name: digest for part in parts for name, digest in part.hashes.items()}
    facts = {
        name: reduce(ColumnFacts.__add__, (part.facts[name] for part in parts))
        for name in parts[0].facts
    }
    return hashes, facts


def _check(parts: Sequence[_Released], gathered: Gathered, target: str, count: int) -> pd.DataFrame:
    """How many rows of each dataset have the confidential value, all parts together, beside what
    chance gives; refuses more than that.
    """
    rows = []
    for scheme in parts[0].equal:
        drawn, fresh = (
            np.sum([part.equal[scheme][which] for part in parts], axis=0) for which in range(2)
        )
        most = most_by_chance(fresh, gathered.records)
        for place, equal in enumerate(drawn.tolist()):
            name = dataset_stem(scheme, place, count)
            if equal > most:
                raise InputError(
                    f"nothing was released: {name!r} holds the confidential value in {equal:,} "
                    "rows, more than chance gives"
                )
            told = {
                "rows": gathered.records,
                "equal to the confidential value": equal,
                "expected by chance": float(fresh.mean()),
            }
            rows.append({"file": name, "variable": target, **told, "at most": most})
    return pd.DataFrame(rows)
