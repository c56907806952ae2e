"""The datasets as they leave: rows shuffled within released patterns, so that nobody joins datasets by row."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.disclosure.shuffle import released_patterns, shuffled_rows
from riskweighted.runs.finished import FinishedRun

__all__ = ["leaving_datasets"]


def leaving_datasets(run: FinishedRun, confidential: pd.DataFrame, scheme: str) -> Sequence[pd.DataFrame]:
    """The L datasets of a scheme in the order of rows in which they leave, which the run's entropy makes again; of one that is not to be
    shuffled, as they are.
    """
    study, datasets = run.study, run.synthetic[scheme]
    if not study.release.shuffle or not isinstance(datasets, Datasets):  # others are no datasets of a run: the check will say so
        return datasets
    patterns = released_patterns(confidential, study.unaltered(confidential))
    unit = study.linking_column
    units = None if unit is None else pd.factorize(confidential[unit], use_na_sentinel=False)[0]
    altered = []
    for number, columns in enumerate(datasets.altered):
        rows = shuffled_rows(patterns, np.random.default_rng(run.streams.order_seed(scheme, number)), units)
        altered.append({name: pd.Series(column.array.take(rows), column.index, name=name) for name, column in columns.items()})
    return Datasets(datasets.base, altered)
