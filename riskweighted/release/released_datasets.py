"""The datasets as they leave: whole rows in one secret random order for all of them, synthesized
values shuffled within released patterns besides, so that nobody joins datasets by row, and columns
of the types that the data have where the files of a run hold others.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.common.datasets import Datasets
from riskweighted.common.frames import with_columns
from riskweighted.data.io import spells_alike
from riskweighted.data.typed import as_plain_numbers, drop_unlabelled_levels, order_by_labels
from riskweighted.data.variable import CATEGORIES, Variable
from riskweighted.data.variables import Variables
from riskweighted.disclosure.shuffle import Exchange, leaving_rows, released_patterns
from riskweighted.runs.file_order import (
    numbered_anew,
    numbered_columns,
    states_order,
    units_numbered,
    units_together,
)
from riskweighted.runs.finished import FinishedRun

__all__ = ["leaving_datasets", "restore_spelling", "restrict_levels", "rows_of"]


def leaving_datasets(
    run: FinishedRun, confidential: pd.DataFrame, scheme: str
) -> Sequence[pd.DataFrame]:
    """The L datasets of a scheme as they leave, in an order of rows that the run's entropy makes
    again.
    """
    study, described = run.study, run.described or Variables({})
    unaltered = study.unaltered(confidential)
    datasets = restore_spelling(run.synthetic[scheme], confidential, unaltered, run.described)
    # no datasets of a run: the check will say so
    if not isinstance(datasets, Datasets) or len(datasets.base) != len(confidential):
        return datasets
    datasets, rows, altered = restrict_levels(datasets, described), rows_of(run, confidential), []
    patterns, unit = released_patterns(confidential, unaltered), study.linking_column
    units = None if unit is None else pd.factorize(confidential[unit], use_na_sentinel=False)[0]
    exchange = Exchange(patterns, units)
    for number, columns in enumerate(datasets.altered):
        rng = np.random.default_rng(run.streams.order_seed(scheme, number))
        drawn = exchange.rows(rng)[rows] if study.release.shuffle else rows
        altered.append(
            {
                name: pd.Series(column.array.take(drawn), name=name)
                for name, column in columns.items()
            }
        )
    base = datasets.base.take(rows).reset_index(drop=True)
    return Datasets(
        with_columns(
            base,
            {
                name: (units_numbered if study.units and name == study.units.id else numbered_anew)(
                    base[name]
                )
                for name in numbered_columns(study, datasets.base)
            },
        ),
        altered,
    )


def rows_of(run: FinishedRun, confidential: pd.DataFrame) -> np.ndarray:
    """Which record stands in each row of every dataset as it leaves, (n,); of a study with units
    their members by time, or role by role. Confidential.
    """
    units, rng = (
        units_together(run.study, confidential),
        np.random.default_rng(run.streams.order_seed("rows", 0)),
    )
    if run.study.units is not None and units is not None:
        of = run.study.units.arranged(confidential)
        rows = leaving_rows(len(confidential), rng, units)
        within = of.role if of.times is None else of.times
        places = np.argsort(rows)
        firsts = np.full(len(of.sizes), len(rows))
        np.minimum.at(firsts, units, places)
        return np.lexsort((places, within, firsts[units]))
    keep = units is not None and states_order(
        units, confidential[run.study.unaltered(confidential)]
    )
    return leaving_rows(
        len(confidential),
        rng,
        units,
        keep=keep,
    )


def restore_spelling(
    datasets: Sequence[pd.DataFrame],
    confidential: pd.DataFrame,
    unaltered: Sequence[str],
    described: Variables | None,
) -> Sequence[pd.DataFrame]:
    """Datasets as read from the files of a run, with unaltered columns that these spell otherwise
    taken from the data: a csv makes floats of whole numbers with gaps, and numbers of text such as
    "1.50".

    `described`: what is said of the columns; where anything is, the datasets have its types, and
    all unaltered columns are the data's. Numbers of which a study alone says that they are levels
    leave as the numbers that they are, and that labels are of.
    """
    if not isinstance(datasets, Datasets) or len(datasets.base) != len(confidential):
        return datasets
    base = datasets.base
    if described is None:
        other = [
            name
            for name in unaltered
            if name in base and not spells_alike(base[name], confidential[name])
        ]
    else:
        other = [name for name in unaltered if name in base]
    categories = [
        name for name, variable in (described or {}).items() if variable.type in CATEGORIES
    ]
    columns = {name: confidential[name].set_axis(base.index) for name in other}
    taken = {
        name: column if name in categories else as_plain_numbers(column)
        for name, column in columns.items()
    }
    return Datasets(with_columns(base, taken), datasets.altered) if other else datasets


def restrict_levels(datasets: Datasets, described: Variables) -> Datasets:
    """Datasets whose categories occur in one of them, or have a label, since others are levels of
    confidential records, which nobody drew; in the order that is stated, else by name.
    """
    base, altered = datasets.base, [dict(columns) for columns in datasets.altered]
    for name in base:
        stated = described.get(str(name), Variable())
        if altered and name in altered[0]:
            for columns, column in zip(
                altered,
                drop_unlabelled_levels([columns[name] for columns in altered], stated),
                strict=True,
            ):
                columns[name] = order_by_labels(column, stated)
        elif isinstance(base[name].dtype, pd.CategoricalDtype):
            base = with_columns(
                base,
                {name: order_by_labels(drop_unlabelled_levels([base[name]], stated)[0], stated)},
            )
    return Datasets(base, altered)
