"""What every worker knows of a study by parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from riskweighted.common.seeds import Streams
from riskweighted.intruder.world import World, make_world
from riskweighted.parts.gather import Gathered, read_bucket
from riskweighted.runs.study import Study

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """A study on gathered records. Confidential.

    ``folder``: where work is kept that all workers read; ``result``: where the files of the run are
    written; ``key``: a digest of all that decides what is computed.
    """

    study: Study = field(repr=False)
    gathered: Gathered
    folder: Path
    result: Path
    streams: Streams = field(repr=False)
    key: str

    @property
    def numbers(self) -> range:
        """The buckets."""
        return range(len(self.gathered.buckets))

    @property
    def target(self) -> str:
        """The synthesized variable."""
        return self.study.target

    @property
    def codes(self) -> dict[str, Sequence[float]]:
        """The special codes of columns that have any, which regressions leave out."""
        scenario = self.study.evaluating_scenario()
        return {name: scenario.codes_of(name) for name in scenario.codes}

    def records(self, number: int) -> pd.DataFrame:
        """The records of a bucket, in their order."""
        return read_bucket(self.gathered.buckets[number])

    def world(self, records: pd.DataFrame, *, weighing: bool = False) -> World:
        """Records of whole known patterns as the intruder of the weights, or of the evaluation,
        sees them.
        """
        return make_world(
            records,
            self.study.weighting_scenario() if weighing else self.study.evaluating_scenario(),
        )

    def places(self, purpose: str, records: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
        """A secret random number for each record, the same for all that agree in some columns, (n,)
        of uint64.
        """
        if not len(names):
            return np.zeros(len(records), dtype=np.uint64)
        key = f"{self.streams.seed_for(purpose, 'places') % 10**16:016d}"
        held = records[list(names)].astype(str)  # of numbers pandas leaves the key out
        return np.asarray(pd.util.hash_pandas_object(held, index=False, hash_key=key).to_numpy())

    def seed(self, purpose: str, label: str, number: int) -> int:
        """A seed of its own for a purpose, a label and a bucket, whoever uses it."""
        return self.streams.seed_for(purpose, f"{label}/bucket {number}")

    def weights(self, number: int, scheme: str) -> np.ndarray:
        """The weights of a bucket's records, (n,)."""
        return np.asarray(np.load(self.weights_file(number, scheme)))

    def weights_file(self, number: int, scheme: str) -> Path:
        """Where they are kept."""
        place = self.study.weights.schemes.index(scheme)
        return self.folder / "weights" / f"{number:06d}-{place}.npy"
