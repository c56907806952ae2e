"""Some records of the whole file, for what is asked of a sample: what a release gives away, and
whether the model suits the data.

Disclosure is asked of whole known patterns, taken at random until they are enough, since the
weights of the others in one change without a record; of a large one whole released patterns are,
within which rows are shuffled, and they stand for all of it. The fit is checked on records taken at
random.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.datasets import Datasets
from riskweighted.common.frames import with_columns
from riskweighted.disclosure.setting import LOOKED_AT
from riskweighted.parts.drawing import part_file
from riskweighted.parts.gather import ORDER
from riskweighted.parts.job import Job
from riskweighted.runs.finished import DRAWN

__all__ = [
    "CHECKED",
    "STANDS_FOR",
    "KnownPatterns",
    "Looked",
    "choose_patterns",
    "drawn_apart",
    "join_looked",
    "known_patterns_of",
    "look",
]

CHECKED = 200_000  # records at most on which a fit is checked
_OF_ONE = 20  # of what is looked at, the share of one known pattern at most
STANDS_FOR = "riskweighted records of the file"


class KnownPatterns(NamedTuple):
    """Known patterns of a bucket by a random number that follows from what they hold, (P,), and how
    many records each has, (P,).
    """

    place: np.ndarray
    sizes: np.ndarray


class Looked(NamedTuple):
    """Two files: records ``released`` whose disclosure is measured, with their drawn values, and
    records on which fits are ``checked``.
    """

    released: Path
    checked: Path


def known_patterns_of(job: Job, number: int) -> KnownPatterns:
    """Those of a bucket."""
    records = job.records(number)
    places, sizes = np.unique(
        job.places("look", records, job.study.scenario.known), return_counts=True
    )
    return KnownPatterns(places, sizes)


def choose_patterns(parts: Sequence[KnownPatterns], most: int = LOOKED_AT) -> np.ndarray | None:
    """The known patterns of all buckets that are looked at, in order, (C,); None where all are."""
    places = np.concatenate([part.place for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    if sizes.sum() <= 2 * most:
        return None
    order = np.argsort(places, kind="stable")
    last = int(np.searchsorted(np.cumsum(np.minimum(sizes[order], most // _OF_ONE)), most)) + 1
    return np.asarray(places[order][:last])


def _rows(
    job: Job, records: pd.DataFrame, chosen: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of chosen known patterns, of a large one whole released patterns until they are
    enough; and how many each stands for.
    """
    places = job.places("look", records, job.study.scenario.known)
    rows = np.flatnonzero(np.isin(places, chosen))
    some = records.iloc[rows]
    rows = rows[
        np.lexsort(
            (
                job.places("look", some, [ORDER]),
                job.places("look", some, job.study.unaltered(records)),
                places[rows],
            )
        )
    ]
    _, first, sizes = np.unique(places[rows], return_index=True, return_counts=True)
    taken = np.minimum(sizes, most // _OF_ONE)
    kept = np.arange(len(rows)) - np.repeat(first, sizes) < np.repeat(taken, sizes)
    rows, stands_for = rows[kept], np.repeat(sizes / taken, sizes)[kept]
    order = np.argsort(rows)
    return rows[order], stands_for[order]


def look(
    job: Job, number: int, chosen: np.ndarray | None, labels: Sequence[str], most: int = LOOKED_AT
) -> Looked:
    """The records of a bucket that are looked at, each with how many it stands for and what was
    drawn for it under every label.
    """
    records = job.records(number)
    rows, stands_for = np.arange(len(records)), np.ones(len(records))
    if chosen is not None:
        rows, stands_for = _rows(job, records, chosen, most)
    some = np.flatnonzero(
        job.places("check", records, [ORDER]) / 2.0**64 <= CHECKED / job.gathered.records
    )
    drawn = {
        label: pd.read_parquet(part_file(job.result / "synthetic" / label, number))
        for label in labels
    }
    known = pd.read_parquet(part_file(job.result / "confidential" / "records", number)).drop(
        columns=ORDER
    )
    released = with_columns(_beside(records, drawn, rows), {STANDS_FOR: stands_for})
    checked = with_columns(
        _beside(records, drawn, some),
        {name: column.to_numpy()[some] for name, column in known.items()},
    )
    return Looked(
        _written(job, f"released-{number:06d}", released),
        _written(job, f"checked-{number:06d}", checked),
    )


def _beside(
    records: pd.DataFrame, drawn: Mapping[str, pd.DataFrame], rows: np.ndarray
) -> pd.DataFrame:
    """Some records with what was drawn for them under every label."""
    columns = {
        f"{DRAWN}{label}/{place}": column.to_numpy()[rows]
        for label, table in drawn.items()
        for place, (_, column) in enumerate(table.items(), 1)
    }
    return with_columns(records.iloc[rows], columns)


def join_looked(parts: Sequence[Looked]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Those of all buckets."""
    released, checked = (
        pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
        for paths in zip(*parts, strict=True)
    )
    return released, checked


def drawn_apart(records: pd.DataFrame, label: str, target: str) -> tuple[pd.DataFrame, Datasets]:
    """Records without what was drawn for them, and the datasets of a label."""
    data = records[[name for name in records if not str(name).startswith(DRAWN)]]
    of_label = [
        records[name] for name in records if str(name).rpartition("/")[0] == f"{DRAWN}{label}"
    ]
    return data, Datasets(
        data, [{target: column.rename(target).astype(data[target].dtype)} for column in of_label]
    )


def _written(job: Job, name: str, records: pd.DataFrame) -> Path:
    path = job.folder / "looked" / f"{name}.parquet"
    with whole_file(path, private=True) as unfinished:
        records.to_parquet(unfinished, index=False)
    return path
