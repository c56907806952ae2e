"""Centred weights by parts: what they take off is summed by predictors and kind of value, which is
all that a model reads of it.

The intervals over which it is summed are those of the whole file. Of every bucket come sums by
predictors and kind; they are added as counts are, and each stands at the first counted row of its
predictors and kind, whose other rows have none.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.frames import with_columns
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.centring import CentredSums, Centring, OwnFunction, summed
from riskweighted.contract.intervals import Places, places_of
from riskweighted.contract.synthesizer import Synthesizer
from riskweighted.parts.counting import Counted, Values, add_all, fitted_to, write_counts
from riskweighted.parts.job import Job
from riskweighted.parts.tasks import Tasks
from riskweighted.sampling.block_fit import PreparedModel
from riskweighted.sequence.centring import centring_of
from riskweighted.sequence.prepare import sequence_of
from riskweighted.weights.match import world_functions
from riskweighted.weights.names import is_centred

__all__ = ["Centred", "centre_all"]

KIND = "riskweighted kind of value"
_GROUP = "riskweighted group"
_WHAT = "riskweighted centring of "


@dataclass(frozen=True, eq=False)
class CentredFile:
    """What centring reads of the whole file: a synthesizer without predictors, prepared for its
    values, and ``places``. Confidential.
    """

    synthesizer: Any = field(repr=False)
    prepared: Any = field(repr=False)
    places: Places = field(repr=False)


def _file_of(alone: Synthesizer, values: pd.Series, counts: np.ndarray) -> CentredFile:
    """That of the distinct values of a file; `alone`: the synthesizer without predictors."""
    prepared: Any = alone.prepare(values.to_frame(), counts=counts)  # type: ignore[call-arg]
    return CentredFile(
        alone,
        prepared,
        places_of(alone, prepared, target_numbers(alone, prepared, values.to_frame())),
    )


def _names(scheme: str, what: str, count: int) -> list[str]:
    return [f"{_WHAT}{scheme}/{what} {place}" for place in range(count)]


def _columns(
    records: pd.DataFrame,
    file: CentredFile,
    scheme: str,
    function: OwnFunction,
    by: Sequence[str],
    chosen: np.ndarray,
) -> pd.DataFrame:
    """Of a bucket's chosen records what centring takes off, summed by columns and by the kind of
    value: these, and the sums.
    """
    made = sequence_of(PreparedModel(file.synthesizer, records, file.prepared.at(records)))
    centring = centring_of(made, made.blocks[0], function, file.places)
    assert centring is not None  # of a part it always is
    keyed = with_columns(records[list(by)], {KIND: centring.own})[chosen]
    group = keyed.groupby([*by, KIND], observed=True, dropna=False, sort=False)
    rows, of_chosen = group.ngroups, group.ngroup().to_numpy()
    row = np.full(len(records), rows)  # of those that the model is not fitted to, one more
    row[chosen] = of_chosen
    inside, kinds = (
        None if sums is None else sums[:rows] for sums in centring.by_row(row, rows + 1)
    )
    assert inside is not None
    first = np.empty(rows, dtype=np.int64)
    first[of_chosen[::-1]] = np.arange(len(of_chosen))[::-1]
    sums = pd.DataFrame(inside, columns=_names(scheme, "interval", inside.shape[1]))
    if kinds is not None:
        sums = pd.concat(
            [sums, pd.DataFrame(kinds, columns=_names(scheme, "kind", kinds.shape[1]))], axis=1
        )
    return pd.concat([keyed.iloc[first].reset_index(drop=True), sums], axis=1)


class _AtFirst:
    """Sums (m, G) of which only some rows are not zero: those at their first places."""

    def __init__(self, sums: np.ndarray, place: np.ndarray) -> None:
        # (groups, G), and of every row its group, -1 for none (m,)
        self.sums, self.place = sums, place

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        place = self.place[rows]
        return np.where((place >= 0)[:, None], self.sums[np.maximum(place, 0)], 0.0)


def _summed(
    frame: pd.DataFrame,
    counts: np.ndarray,
    alpha: np.ndarray,
    table: pd.DataFrame,
    file: CentredFile,
    scheme: str,
    target: str,
) -> CentredSums:
    """Centred weights of counted rows; `table`: the sums of all buckets by predictors and kind of
    value.
    """
    intervals = file.places.intervals
    own = intervals.kind_of(target_numbers(file.synthesizer, file.prepared, frame))
    by = [str(name) for name in frame if name != target]
    keyed = with_columns(frame[by], {KIND: own})
    groups = with_columns(table[[*by, KIND]], {_GROUP: np.arange(len(table))})
    where = keyed.merge(groups, on=[*by, KIND], how="left")[_GROUP].to_numpy(dtype=np.int64)
    place = np.where(pd.Series(where).duplicated().to_numpy(), -1, where)
    inside = table[_names(scheme, "interval", len(intervals.lower))].to_numpy()
    kinds: Any = None
    if intervals.kind.max() > 0:
        kinds = _AtFirst(
            table[_names(scheme, "kind", int(intervals.kind.max()) + 1)].to_numpy(), place
        )[np.arange(len(frame))]
    at_first: Any = _AtFirst(inside, place)
    centring: Centring = summed(
        intervals, at_first, own, kinds, counts.astype(float), f"{scheme} by parts"
    )
    return CentredSums(pd.DataFrame({target: alpha}, frame.index), {target: centring})


class Centred(NamedTuple):
    """What centring takes off in the whole file: ``file``, and a table of sums by predictors and
    kind of value. Confidential.
    """

    file: CentredFile
    table: Counted

    def weights(
        self, frame: pd.DataFrame, counts: np.ndarray, alpha: np.ndarray, scheme: str, target: str
    ) -> CentredSums:
        """The centred weights of counted rows."""
        return _summed(
            frame, counts, alpha, pd.read_parquet(self.table.path), self.file, scheme, target
        )


def centre_all(
    tasks: Tasks,
    synthesizer: Synthesizer,
    values: Values,
    columns: Sequence[str],
    schemes: Sequence[str],
) -> Centred | None:
    """What centring takes off under the centred ones of some schemes, of all buckets; None where
    none is.
    """
    some = [scheme for scheme in schemes if is_centred(scheme)]
    if not some:
        return None
    alone: Any = replace(synthesizer, formula=f"`{synthesizer.target}` ~ 1")  # type: ignore[type-var]
    file = _file_of(alone, values.values, values.counts)
    by = [name for name in columns if name != synthesizer.target]
    found = dict(tasks.each("summing what centring takes off", _centre_bucket, file, by, some))
    return Centred(
        file,
        add_all(tasks, "centred", [found[number] for number in tasks.job.numbers], [*by, KIND]),
    )


def _centre_bucket(
    job: Job, number: int, file: CentredFile, by: Sequence[str], schemes: Sequence[str]
) -> Counted:
    """That of a bucket, by predictors and kind of value."""
    records = job.records(number)
    world = job.world(records, weighing=True)
    table = pd.DataFrame()
    chosen = fitted_to(job, records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # told of the whole file
        for scheme in schemes:
            function = world_functions(world, scheme, **job.study.weights.making)[job.target]
            made = _columns(records, file, scheme, function, by, chosen)
            table = (
                made if table.empty else pd.concat([table, made.drop(columns=[*by, KIND])], axis=1)
            )
    return write_counts(job, f"centred-{number:06d}", table, [*by, KIND])
