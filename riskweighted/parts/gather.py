"""The records of all parts brought together by known pattern, in buckets on disk: what a record's
risk and weight depend on lies in one.

Dask counts the patterns and shuffles the records. Which bucket a pattern is in, and the order of a
bucket's records, follow from the data alone, whoever does the work and however the records are
spread over parts.
"""

import errno
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash, fingerprint
from riskweighted.common.frames import with_columns
from riskweighted.common.room import size
from riskweighted.data.parts import Parts

__all__ = [
    "OFTEN_FOR_WANT_OF_MEMORY",
    "ORDER",
    "RECORDS",
    "ROOM",
    "Bucket",
    "Gathered",
    "computed",
    "count_patterns",
    "gather",
    "is_whole",
    "packed",
    "read_bucket",
    "records_of",
    "refuse_large",
    "refuse_repeated",
]

# the column by which the records of a pattern are in order: their identifier, or their place among
# all
ORDER = "riskweighted order"
_BUCKET = "riskweighted bucket"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what says that there is no room on disk
RECORDS = "riskweighted records"
OFTEN_FOR_WANT_OF_MEMORY = (
    "workers ended again and again while {}, often for want of memory; finished work is kept: "
    "the same command goes on from there, with "
    "fewer --workers if need be"
)
ROOM = 250_000  # records of a bucket that holds more than one pattern


class Bucket(NamedTuple):
    """A file of so many ``records`` of whole known ``patterns``, and the SHA-256 of what they hold
    and of the ``written`` file.
    """

    path: Path
    records: int
    patterns: int
    sha256: str
    written: str


@dataclass(frozen=True)
class Gathered:
    """All records in ``buckets``. Confidential. ``singletons``: patterns of one record; ``room``:
    with which patterns were packed.
    """

    buckets: tuple[Bucket, ...] = field(repr=False)
    singletons: int
    room: int

    @property
    def records(self) -> int:
        return sum(bucket.records for bucket in self.buckets)

    @property
    def digest(self) -> str:
        """That of all records, whatever parts they came in."""
        return hashlib.sha256(
            "".join(bucket.sha256 for bucket in self.buckets).encode()
        ).hexdigest()

    @property
    def patterns(self) -> int:
        return sum(bucket.patterns for bucket in self.buckets)

    def to_keep(self) -> bytes:
        """What is said of the buckets, as JSON."""
        buckets = [bucket[1:] for bucket in self.buckets]
        return json.dumps(
            {"buckets": buckets, "singletons": self.singletons, "room": self.room}
        ).encode()

    @classmethod
    def kept(cls, folder: Path, content: bytes) -> "Gathered":
        """The same of what `to_keep` gave; `folder`: where the buckets lie."""
        told = json.loads(content)
        buckets = tuple(
            Bucket(_file(folder, number), *of) for number, of in enumerate(told["buckets"])
        )
        return cls(buckets, int(told["singletons"]), int(told["room"]))


def records_of(parts: Parts, columns: Sequence[str], identifier: str | None) -> Any:
    """Columns of all records as a frame of Dask, a piece a partition, with the column ``ORDER``."""
    import dask.dataframe as dd

    def read(piece: Any) -> pd.DataFrame:
        frame = parts.read(piece, columns, identifier)
        return with_columns(
            frame, {ORDER: frame.index if identifier is None else frame[identifier]}
        )[[*columns, ORDER]]

    first = parts.pieces[0]
    return dd.from_map(read, list(parts.pieces), meta=read(first).iloc[:0])


def computed(client: Any, wanted: Any) -> Any:
    """What a frame of Dask holds; an error in the data as it is, not as Dask wraps it."""
    from distributed import KilledWorker

    try:
        return client.compute(wanted).result()
    except KilledWorker:
        raise InputError(OFTEN_FOR_WANT_OF_MEMORY.format("reading the parts")) from None
    except Exception as error:
        causes = [error]
        while (cause := causes[-1].__cause__) is not None and isinstance(cause, Exception):
            causes.append(cause)
        for each in causes[::-1]:
            if isinstance(each, InputError):
                raise each from None
            if type(each).__name__ == "P2POutOfDiskError" or (
                isinstance(each, OSError) and each.errno in _FULL
            ):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise


def count_patterns(client: Any, records: Any, known: Sequence[str]) -> pd.DataFrame:
    """The known patterns and how many ``records`` each has, in an order that follows from the
    patterns alone.
    """
    if not known:
        total = int(computed(client, records[ORDER].size))
        return pd.DataFrame({RECORDS: [total]})
    counted = (
        records[[*known, ORDER]]
        .groupby(list(known), dropna=False, observed=True)[ORDER]
        .size(split_every=8)
    )
    table = computed(client, counted).rename(RECORDS).reset_index()
    return table.sort_values(list(known), key=lambda column: column.astype(str), ignore_index=True)


def packed(sizes: np.ndarray, room: int) -> np.ndarray:
    """The bucket of each pattern, of sizes (P,) in their order: neighbours share one as long as
    they are no more records than `room`.
    """
    buckets, bucket, held = np.empty(len(sizes), dtype=np.int64), -1, room
    for place, count in enumerate(sizes.tolist()):
        if held + count > room:
            bucket, held = bucket + 1, 0
        buckets[place] = bucket
        held += count
    return buckets


def refuse_large(largest: int, each: float, memory: float) -> None:
    """Refuse patterns that a worker cannot hold: `each` bytes for a record, of so many bytes that a
    worker has.
    """
    if largest * each > memory:
        raise InputError(
            f"the largest known pattern has {largest:,} records, which need about "
            f"{size(largest * each)} of memory at a worker that has "
            f"{size(memory)}: name more columns in scenario.known, or give workers more memory "
            "(fewer --workers)"
        )


def refuse_repeated(client: Any, records: Any, identifier: str) -> None:
    """Refuse identifiers that several records have, wherever their parts are."""

    def repeated(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"count": [int(frame[ORDER].duplicated().sum())]})

    counts = (
        records[[ORDER]]
        .shuffle(on=ORDER, shuffle_method="p2p")
        .map_partitions(repeated, meta={"count": "int64"})
    )
    count = int(computed(client, counts["count"].sum()))
    if count:
        raise InputError(
            f"data.id {identifier!r}: {count:,} records have an identifier that another one has; "
            "valid is one for each record"
        )


def gather(
    client: Any, records: Any, known: Sequence[str], patterns: pd.DataFrame, folder: Path, room: int
) -> Gathered:
    """Write every bucket to `folder`, its records in the order of their patterns and
    identifiers.
    """
    buckets = packed(patterns[RECORDS].to_numpy(), room)
    count = int(buckets[-1]) + 1
    places = with_columns(patterns[list(known)], {_BUCKET: buckets})

    def placed(frame: pd.DataFrame) -> pd.DataFrame:
        if not known:
            return with_columns(frame, {_BUCKET: 0})
        found = frame[list(known)].merge(places, on=list(known), how="left")[_BUCKET]
        return with_columns(frame, {_BUCKET: found.to_numpy(dtype=np.int64)})

    def written(frame: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
        if partition_info is None:  # how Dask finds out what comes back
            return pd.DataFrame({"bucket": [0], "records": [0], "sha256": [""], "written": [""]})
        number = int(partition_info["number"])
        path = _file(folder, number)
        digest = _write_bucket(frame.reset_index(drop=True), list(known), path)
        return pd.DataFrame(
            {
                "bucket": [number],
                "records": [len(frame)],
                "sha256": [digest],
                "written": [file_hash(path)],
            }
        )

    meta = (
        placed(records._meta_nonempty).iloc[:0]
        if not known
        else with_columns(records._meta, {_BUCKET: np.array([], dtype=np.int64)})
    )
    shuffled = records.map_partitions(placed, meta=meta).set_index(
        _BUCKET, divisions=[*range(count), count - 1], shuffle_method="p2p"
    )
    meta = {"bucket": "int64", "records": "int64", "sha256": "str", "written": "str"}
    told = computed(client, shuffled.map_partitions(written, meta=meta)).set_index("bucket")
    sizes = np.bincount(buckets)
    made = tuple(
        Bucket(
            _file(folder, number),
            int(of.records),
            int(sizes[number]),
            str(of.sha256),
            str(of.written),
        )
        for number, of in zip(range(count), told.loc[range(count)].itertuples(), strict=True)
    )
    if sum(bucket.records for bucket in made) != int(patterns[RECORDS].sum()):
        raise InputError("the parts changed while they were read: run the study again")
    return Gathered(made, int((patterns[RECORDS] == 1).sum()), room)


def _file(folder: Path, number: int) -> Path:
    return folder / f"bucket-{number:06d}.parquet"


def _write_bucket(frame: pd.DataFrame, known: list[str], path: Path) -> str:
    """Records by pattern, and within one by identifier; returns the SHA-256 of their values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    patterns = [frame[name].astype(str) for name in known]
    order = pd.DataFrame(dict(enumerate([*patterns, frame[ORDER]])))
    ranked = frame.iloc[order.sort_values(list(order), kind="stable").index]
    table = pa.Table.from_pandas(ranked, preserve_index=False).replace_schema_metadata(None)
    with whole_file(path, private=True) as unfinished:
        pq.write_table(table, unfinished)
    return fingerprint(ranked.reset_index(drop=True))


def is_whole(bucket: Bucket) -> bool:
    """Whether its file holds what was gathered."""
    return bucket.path.is_file() and file_hash(bucket.path) == bucket.written


def read_bucket(bucket: Bucket) -> pd.DataFrame:
    """Its records, in their order, in the types that a parquet file of them is read in."""
    import pyarrow.parquet as pq

    frame: pd.DataFrame = pq.read_table(bucket.path).to_pandas(ignore_metadata=True)
    return frame
