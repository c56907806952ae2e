"""The file as a model is fitted to it: distinct records of what it reads, with how many each stands
for and the sums of their weights.

Values that a model's likelihood does not tell apart, or hardly, are counted as one
(`standing_for`), so that a file of ten times the records has a few times the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.frames import with_columns
from riskweighted.parts.gather import ORDER
from riskweighted.parts.job import Job
from riskweighted.parts.tasks import Tasks

__all__ = [
    "COUNT",
    "Counted",
    "Values",
    "add_all",
    "add_values",
    "count_all",
    "fitted_to",
    "values_of",
    "write_counts",
]

COUNT = "riskweighted count"
_SCHEME = "riskweighted weight of "
_TOGETHER = 8  # counted files that are added at once


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of the target (G,), how many records have each, (G,), and which value
    stands for each in counts, None where itself does. Confidential.
    """

    values: pd.Series = field(repr=False)
    counts: np.ndarray = field(repr=False)
    standing: np.ndarray | None = field(default=None, repr=False)

    @property
    def records(self) -> int:
        return int(self.counts.sum())


class Counted(NamedTuple):
    """Counted records in a file, (m,). Confidential."""

    path: Path
    rows: int

    def read(self, scheme: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """The columns that the model reads, how many records each row stands for (m,), and their
        mean weight (m,).
        """
        frame = pd.read_parquet(self.path)
        counts = frame.pop(COUNT).to_numpy()
        # round-off alone may exceed 1
        alpha = np.minimum(frame[f"{_SCHEME}{scheme}"].to_numpy() / counts, 1.0)
        return frame[[name for name in frame if not str(name).startswith(_SCHEME)]], counts, alpha


def values_of(records: pd.DataFrame, target: str) -> Values:
    """Those of a bucket."""
    held = records[target].value_counts(dropna=False, sort=False).sort_index()
    held = held[held > 0]  # of categories the others count none
    return Values(held.index.to_series(index=range(len(held)), name=target), held.to_numpy())


def add_values(parts: Sequence[Values]) -> Values:
    """Those of several buckets together."""
    together = pd.concat([part.values for part in parts], ignore_index=True)
    held = (
        pd.Series(np.concatenate([part.counts for part in parts]))
        .groupby(together, dropna=False, observed=True)
        .sum()
    )
    return Values(
        held.index.to_series(index=range(len(held)), name=parts[0].values.name), held.to_numpy()
    )


def count_all(
    tasks: Tasks, columns: Sequence[str], values: Values, schemes: Sequence[str], turn: int = 0
) -> Counted:
    """The counted records of the file: those of all buckets, added in a tree whose shape follows
    from the buckets alone.
    """
    found = dict(
        tasks.each("counting distinct records", count_bucket, columns, values, schemes, turn)
    )
    return add_all(
        tasks, f"counted-{turn}", [found[number] for number in tasks.job.numbers], columns
    )


def add_all(tasks: Tasks, what: str, parts: list[Counted], columns: Sequence[str]) -> Counted:
    """Tables of all buckets added, in a tree whose shape follows from the buckets alone."""
    level = 0
    while len(parts) > 1:
        stage, starts = f"{what}-added-{level}", range(0, len(parts), _TOGETHER)
        wanted = [
            (f"{stage}-{place:06d}", parts[start : start + _TOGETHER])
            for place, start in enumerate(starts)
        ]
        added = [(add_counts, tasks.job, name, group, columns) for name, group in wanted]
        of_place = dict(tasks.done("adding counts", added))
        parts, level = [of_place[place] for place in range(len(wanted))], level + 1
    return parts[0]


def fitted_to(job: Job, records: pd.DataFrame) -> np.ndarray:
    """To which of a bucket's records the model is fitted, booleans (n,): to all, or to the same
    share of all known patterns, at random.
    """
    fitted = job.study.data.fitted
    if fitted is None or fitted >= job.gathered.records:
        return np.ones(len(records), dtype=bool)
    known, share = list(job.study.scenario.known), fitted / job.gathered.records
    pattern = (
        records.groupby(known, dropna=False, observed=True, sort=False).ngroup().to_numpy()
        if known
        else np.zeros(len(records))
    )
    ranks = pd.Series(job.places("fitted", records, [ORDER])).groupby(pattern)
    # the same for a pattern: by chance one more, so that all have the same share
    above = job.places("fitted", records, known) / 2.0**64
    return np.asarray(
        ranks.rank(method="first") <= np.floor(share * ranks.transform("size") + above)
    )


def count_bucket(
    job: Job, number: int, columns: Sequence[str], values: Values, schemes: Sequence[str], turn: int
) -> Counted:
    """The counted records of a bucket, whose values are those that stand for them."""
    whole = job.records(number)
    chosen = fitted_to(job, whole)
    records = whole.loc[chosen, list(columns)]
    if values.standing is not None:
        stand = pd.Series(values.standing, index=values.values.to_numpy())
        records = with_columns(records, {job.target: records[job.target].map(stand).to_numpy()})
    weights = {f"{_SCHEME}{scheme}": job.weights(number, scheme)[chosen] for scheme in schemes}
    return write_counts(
        job, f"turn-{turn}-{number:06d}", with_columns(records, {COUNT: 1, **weights}), columns
    )


def add_counts(job: Job, name: str, parts: Sequence[Counted], columns: Sequence[str]) -> Counted:
    """Counted records of several buckets together; sums are taken in the order of the buckets."""
    together = pd.concat([pd.read_parquet(part.path) for part in parts], ignore_index=True)
    return write_counts(job, name, together, columns)


def write_counts(job: Job, name: str, records: pd.DataFrame, columns: Sequence[str]) -> Counted:
    """A file in which rows that are alike in the columns are one, and the others their sums."""
    held = (
        records.groupby(list(columns), observed=True, dropna=False, sort=True).sum().reset_index()
    )
    path = job.folder / "counts" / f"{name}.parquet"
    with whole_file(path, private=True) as unfinished:
        held.to_parquet(unfinished, index=False)
    return Counted(path, len(held))
