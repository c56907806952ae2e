"""What a release gives away of a file of which a sample is fitted, asked of some of its records.

They are whole known patterns, taken at random until they are enough, since the weights of the
others in one change without a record; of a large one whole released patterns are, within which rows
are shuffled, and they stand for all of it. Of those outside the sample the fit has read no value:
without one of them only weights of fitted records of its known pattern are others.
"""

import warnings

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.frames import with_columns
from riskweighted.common.progress import Advance
from riskweighted.common.seeds import Streams
from riskweighted.disclosure.shuffle import released_patterns
from riskweighted.intruder.world import make_world
from riskweighted.runs.buckets import BucketTask
from riskweighted.runs.disclosure_stage import Disclosed, attribution_of_label
from riskweighted.runs.study import Study
from riskweighted.weights.match import world_weights

__all__ = ["disclosed_of_sample", "sample_rows", "sample_size"]

LOOKED_AT = 12_000  # values whose disclosure is asked, of a file of more than twice as many
_OF_ONE = 20  # of what is looked at, the share of one known pattern at most
STANDS_FOR = "riskweighted records of the file"


def sample_size(study: Study) -> int:
    """How many records are looked at: fewer of several variables, whose packs are larger."""
    return LOOKED_AT // len(study.variables)


def sample_rows(
    known: np.ndarray, released: np.ndarray, seed: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are looked at, in order (m,), and how many records each stands for (m,).

    `known`, `released` (n,): the known pattern of each record, and the pattern of all released
    columns.
    """
    rng, n = np.random.default_rng(seed), len(known)
    if n <= 2 * most:
        return np.arange(n), np.ones(n)
    sizes = np.bincount(known)
    turn = rng.permutation(len(sizes))
    last = int(np.searchsorted(np.cumsum(np.minimum(sizes[turn], most // _OF_ONE)), most)) + 1
    rows = np.flatnonzero(np.isin(known, turn[:last]))
    place = rng.permutation(int(released.max()) + 1)[released[rows]]
    rows = rows[np.lexsort((rng.random(len(rows)), place, known[rows]))]
    first = np.flatnonzero(np.diff(known[rows], prepend=-1))
    held = np.diff(np.append(first, len(rows)))
    taken = np.minimum(held, most // _OF_ONE)
    kept = np.arange(len(rows)) - np.repeat(first, held) < np.repeat(taken, held)
    rows, stands_for = rows[kept], np.repeat(held / taken, held)[kept]
    order = np.argsort(rows)
    return rows[order], stands_for[order]


def disclosed_of_sample(
    task: BucketTask,
    study: Study,
    whole: pd.DataFrame,
    fitted: np.ndarray,
    datasets: Datasets,
    known: np.ndarray,
    survey: pd.Series | None,
    streams: Streams,
    progress: Advance | None = None,
) -> Disclosed:
    """What the datasets of a task's label give away beyond inference, measured on the records that
    are looked at, whose weights are made anew of their own known patterns.

    `whole`: the confidential data; `fitted`: the rows of the sample; `known` (n,): the known
    pattern of each record; `survey` (n,): survey weights of mean 1.
    """
    label, unaltered = task.label, study.unaltered(whole)
    seed = streams.seed_for("disclosure", "")
    rows, stands_for = sample_rows(
        known, released_patterns(whole, unaltered), seed, sample_size(study)
    )
    counted = stands_for if survey is None else stands_for * survey.to_numpy()[rows]
    data = with_columns(whole.iloc[rows].reset_index(drop=True), {STANDS_FOR: counted})
    altered = [
        {name: column.iloc[rows].reset_index(drop=True) for name, column in columns.items()}
        for columns in datasets.altered
    ]
    drawn = Datasets(data, altered)
    worlds = tuple(make_world(data, scenario) for scenario in task.scenarios)
    of_rows = None if survey is None else survey.iloc[rows].set_axis(data.index)
    in_fit = pd.Series(np.isin(rows, fitted).astype(float), data.index)
    in_fit = in_fit if of_rows is None else in_fit * of_rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # told of the whole file
        ones = pd.DataFrame(1.0, data.index, list(study.variables))
        made_of = None if task.source is None else task.source.on(data, ones, of_rows)
        alphas = world_weights(worlds[1], label, fit=made_of, **task.making)
        held = task.on(data, alphas, of_rows, in_fit)
        table = attribution_of_label(
            label,
            study,
            held,
            (worlds[0], worlds[1]),
            drawn,
            streams,
            progress,
            refits=0,
            counted_by=None if (counted == 1).all() else STANDS_FOR,
            of=None if len(rows) == len(whole) else len(whole),
        )
        told = Disclosed.of(label, study, held, drawn, streams, table)
    concerned = told.concerned
    return told._replace(
        concerned=concerned.assign(row=rows[concerned["row"].to_numpy().astype(int)])
    )
