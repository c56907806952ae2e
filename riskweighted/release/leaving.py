"""The datasets as they leave: rows shuffled within released patterns, so that nobody joins datasets by row, and columns of the types that
the data have where the files of a run hold others.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.frames import with_columns
from riskweighted.data.io import spells_alike
from riskweighted.data.typed import without_untold
from riskweighted.data.variable import Variable
from riskweighted.data.variables import Variables
from riskweighted.disclosure.shuffle import released_patterns, shuffled_rows
from riskweighted.runs.finished import FinishedRun

__all__ = ["as_the_data_have_it", "leaving_datasets"]


def leaving_datasets(run: FinishedRun, confidential: pd.DataFrame, scheme: str) -> Sequence[pd.DataFrame]:
    """The L datasets of a scheme in the order of rows in which they leave, which the run's entropy makes again; of one that is not to be
    shuffled, as they are.
    """
    study = run.study
    datasets = as_the_data_have_it(run.synthetic[scheme], confidential, study.unaltered(confidential), run.described)
    datasets = _without_untold(datasets, run.described or Variables({}))
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


def as_the_data_have_it(
    datasets: Sequence[pd.DataFrame], confidential: pd.DataFrame, unaltered: Sequence[str], described: Variables | None
) -> Sequence[pd.DataFrame]:
    """Datasets as read from the files of a run, with unaltered columns that these spell otherwise taken from the data: a csv makes
    floats of whole numbers with gaps, and numbers of text such as "1.50".

    `described`: what is said of the columns; where anything is, the datasets have its types, and all unaltered columns are the data's.
    """
    if not isinstance(datasets, Datasets) or len(datasets.base) != len(confidential):
        return datasets
    base = datasets.base
    other = [name for name in unaltered if name in base and not spells_alike(base[name], confidential[name])]
    if described is None:
        return Datasets(_with(base, confidential, other), datasets.altered) if other else datasets
    return Datasets(_with(base, confidential, [name for name in unaltered if name in base]), datasets.altered)


def _without_untold(datasets: Sequence[pd.DataFrame], described: Variables) -> Sequence[pd.DataFrame]:
    """Datasets whose categories occur in one of them, or have a label: others are levels of confidential records, which nobody drew."""
    if not isinstance(datasets, Datasets) or len(datasets) == 0:
        return datasets
    base, altered = datasets.base, [dict(columns) for columns in datasets.altered]
    for name in base:
        stated = described.get(str(name), Variable())
        if name in altered[0]:
            for columns, column in zip(altered, without_untold([columns[name] for columns in altered], stated), strict=True):
                columns[name] = column
        elif (column := without_untold([base[name]], stated)[0]).dtype != base[name].dtype:
            base = with_columns(base, {name: column})
    return Datasets(base, altered)


def _with(base: pd.DataFrame, confidential: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return with_columns(base, {name: confidential[name].set_axis(base.index) for name in names})
