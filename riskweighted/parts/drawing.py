"""L datasets of a bucket's records: the same posterior draws in every bucket, and random numbers
that follow from the bucket alone.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from riskweighted.common.atomic import whole_file
from riskweighted.common.datasets import Datasets
from riskweighted.parts.job import Job
from riskweighted.sequence.fit import Fit

__all__ = ["columns_of", "count_far", "draw_bucket", "drawn_of", "part_file", "write_part"]


def draw_bucket(job: Job, number: int, label: str, fit: Fit) -> Datasets:
    """The datasets of a label."""
    seed = job.streams.seed_for("synthesize", label)
    frames = fit.synthetic(job.study.release.L, random_seed=seed, part=number)
    return Datasets.of(fit.confidential, frames, job.study.variables)


def count_far(fit: Fit, datasets: Datasets, target: str) -> int:
    """How many drawn values lie beyond ten times the largest one of the file."""
    return sum(fit.block.count_far(altered[target].dropna()) for altered in datasets.altered)


def part_file(folder: Path, number: int) -> Path:
    """The file of a bucket in a folder of the results."""
    return folder / f"part-{number + 1:06d}.parquet"


def write_part(table: pd.DataFrame, folder: Path, number: int) -> Path:
    """Write a bucket's rows to its file in a folder of the results, its owner's only."""
    path = part_file(folder, number)
    with whole_file(path, private=True) as unfinished:
        table.to_parquet(unfinished, index=False)
    return path


def columns_of(datasets: Datasets, target: str) -> dict[str, Sequence[object]]:
    """The synthesized variable of every dataset, side by side."""
    return {
        f"{target} {place}": altered[target].array
        for place, altered in enumerate(datasets.altered, 1)
    }


def drawn_of(job: Job, number: int, label: str, records: pd.DataFrame) -> Datasets:
    """The datasets of a label as they were written, of a bucket's records."""
    drawn = pd.read_parquet(part_file(job.result / "synthetic" / label, number))
    columns = (
        {job.target: column.rename(job.target).set_axis(records.index)}
        for _, column in drawn.items()
    )
    return Datasets(records, columns)
