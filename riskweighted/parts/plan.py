"""What a run by parts would do and take, found from footers, from the known columns and from a
sample: what a dry run tells.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.data.parts import Parts
from riskweighted.parts.gather import ROOM, packed
from riskweighted.parts.limits import (
    BASE,
    BYTES,
    check_sample,
    columns_read,
    refuse_what_is_not_by_parts,
)
from riskweighted.runs.study import Study

__all__ = ["PartsPlan", "plan_by_parts"]

_ENOUGH = 1_000_000  # records of a sample that is fitted
_MANY = 0.5  # of the records of a sample, whose design no other one of it has
_OF_BUCKET, _OF_NUMBER = 40e6, 8  # bytes: tallies of a bucket, a number of a record


@dataclass(frozen=True)
class PartsPlan:
    """What a run by parts would do.

    ``largest``: records of the largest known pattern; ``own_designs``: share of the records of a
    sample whose predictors no other record of it has; ``memory``: bytes that a worker needs;
    ``disk``: bytes that are written beside the data while it runs.
    """

    records: int
    files: int
    patterns: int
    singletons: int
    largest: int
    buckets: int
    own_designs: float
    memory: float
    disk: float

    def lines(self, study: Study) -> dict[str, str]:
        """The same for people, by name."""
        from riskweighted.common.room import size

        designs = (
            f"{self.own_designs:.0%} of the records of a sample have predictors that no other "
            "one of it has"
        )
        if self.own_designs > _MANY:
            designs += "; counts save little: name fewer or coarser predictors"
        if self.own_designs > _MANY and self.records > _ENOUGH:
            designs += (
                f", or fit a sample ([data] fitted = {_ENOUGH}), whose posterior is as wide as "
                "that of a file of so many records: its effective size is "
                f"{_ENOUGH / self.records:.0%} of that of all"
            )
        return {
            "records": f"{self.records:,} in {self.files:,} files, "
            f"worked on in {self.buckets:,} buckets",
            "known patterns": f"{self.patterns:,}, of which {self.singletons:,} hold a single "
            f"record; the largest holds {self.largest:,}",
            "designs": designs,
            "schemes": ", ".join(study.weights.schemes),
            "synthetic datasets": f"{study.release.L} per scheme",
            "memory": f"about {size(self.memory)} at each worker",
            "disk": f"about {size(self.disk)} while it runs, the results among them",
            "measured on a sample": "disclosure (100,000 records of known patterns taken at "
            "random), fit check (200,000 records)",
        }


def plan_by_parts(study: Study) -> PartsPlan:
    """Check a study by parts and say what it would do; nothing is fitted or written."""
    refuse_what_is_not_by_parts(study)
    parts = study.data.parts
    columns = columns_read(study, parts)
    sample = check_sample(study, parts, columns)
    sizes = _pattern_sizes(parts, list(study.scenario.known))
    buckets = packed(sizes, ROOM)
    largest = int(np.bincount(buckets, weights=sizes).max())
    read = [name for name in sample if name in study.synthesizer.columns and name != study.target]
    own = (~sample.duplicated(read, keep=False)).mean() if read else 0.0
    numbers = (
        len(columns)
        + 1
        + 3 * (len(study.weights.schemes) + 1)
        + study.release.L * len(study.weights.schemes)
    )
    count = int(buckets[-1]) + 1
    return PartsPlan(
        parts.records,
        len(parts.files),
        len(sizes),
        int((sizes == 1).sum()),
        int(sizes.max()),
        count,
        float(own),
        BASE + BYTES * largest,
        _OF_NUMBER * numbers * parts.records + _OF_BUCKET * count,
    )


def _pattern_sizes(parts: Parts, known: list[str]) -> np.ndarray:
    """The sizes of the known patterns, read piece by piece."""
    if not known:
        return np.array([parts.records])
    total: Any = None
    for piece in parts.pieces:
        counted = parts.read(piece, known).groupby(known, dropna=False, observed=True).size()
        total = (
            counted
            if total is None
            else pd.concat([total, counted])
            .groupby(level=list(range(len(known))), dropna=False, observed=True)
            .sum()
        )
    return np.asarray(total.to_numpy())
