"""One-way and two-way tables: do the synthetic counts differ from the confidential ones by more
than chance? (Raab, Nowok & Dibben 2021)
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_names
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, require_columns
from riskweighted.common.groups import Grouping, group_kind, level_groups, number_groups
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.common.value_counts import ValueCounts
from riskweighted.intruder.pairing import as_frames

__all__ = [
    "TableDistance",
    "cell_counts",
    "groupings_of",
    "table_distance",
    "table_rows",
    "table_utility",
]

_MOST_GROUPS = 100
_MOST_LEVELS = 2**26  # of a variable: a cell of two is one number, which a float holds exactly
Columns: TypeAlias = Mapping[str, pd.Series] | pd.DataFrame  # of one file, by name


class TableDistance(NamedTuple):
    """``pmse`` of one table; ``s_pmse``, over its expectation under the null (1 is ideal; NaN where
    ``df`` is 0); ``df``; ``total_variation``: half the sum over the cells of the absolute
    differences of their shares (0 is identical, 1 disjoint)."""

    pmse: float
    s_pmse: float
    df: int
    total_variation: float


def table_distance(
    confidential: np.ndarray, synthetic: np.ndarray, fixed: int = 1
) -> TableDistance:
    """pMSE of the saturated model of one table, standardised (METHODS section 6), from the counts
    (K,) of both files.

    With d_k confidential and s_k synthetic records in cell k, N records in all and c the share of
    synthetic ones, the propensity score of a cell is its share of synthetic records and pMSE =
    sum_k (s_k - c (d_k + s_k))^2 / (d_k + s_k) / N. ``fixed``: how many totals both files share by
    design; df = filled cells - fixed.
    """
    both = confidential + synthetic
    filled = both > 0
    total, share = both.sum(), synthetic.sum() / both.sum()
    pmse = float(((synthetic - share * both)[filled] ** 2 / both[filled]).sum() / total)
    df = int(filled.sum()) - fixed
    variation = float(
        np.abs(confidential / confidential.sum() - synthetic / synthetic.sum()).sum() / 2
    )
    return TableDistance(
        pmse, pmse / (df * (1 - share) ** 2 * share / total) if df else np.nan, df, variation
    )


def table_utility(
    confidential: Frame,
    synthetic: "GivenFrames",
    variables: Sequence[str] | None = None,
    ways: int = 2,
    groups: int = 5,
    synthesized: Sequence[str] | None = None,
    special: Mapping[str, Sequence[float]] | None = None,
) -> pd.DataFrame:
    """Return the standardised pMSE of every variable, or of every pair, by cross-tabulation
    (METHODS section 6).

    The formulas of `utility.tables` of the R package synthpop (Raab, Nowok & Dibben 2021): pMSE
    over its expectation (k - 1)(1 - c)^2 c / N, k being the cells that are not empty in both files
    and c the share of synthetic records.

    The null is that of partial synthesis from given parameters: synthetic records are drawn from
    the distribution that the confidential ones show. S_pMSE is then 1 on average. It is 1 / (1 -
    c), that is 2 for files of one size, where the parameters of a right model were drawn from their
    posterior first, and where the synthetic file is another sample of the same population.

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame or L of them
        Their rows need not pair, nor be n.
    variables : sequence of str, optional
        All columns by default; then both files must have the same.
    ways : {1, 2}
        Tables of one variable, or of each pair.
    groups : int, default 5
        Numbers are cut at quantiles of the confidential data; values that one in `groups` records
        holds are a group each, and so is every value where there are few. Other variables count by
        level. A missing value is a group of its own.
    synthesized : sequence of str, optional
        The replaced ones among the variables; all by default, as in synthpop. Tables of the others
        alone are left out, and those of one of each have as many fixed totals as the other one has
        groups, so that df is their filled cells less these.
    special : mapping of str to sequence of float, optional
        Special codes of numeric variables, such as -8: a group each, and not among those that are
        cut at quantiles.

    Returns
    -------
    DataFrame, one row per table
        ``variables`` (names, a comma between two), ``ways``, ``pmse`` and ``s_pmse`` (means over
        the L datasets), ``s_pmse_min`` and ``s_pmse_max`` (their range), ``df`` (mean),
        ``total_variation`` (mean over the datasets of half the sum of the absolute differences of
        the cells' shares), ``tables`` (L). A variable with one value has ``df`` 0 and no ``s_pmse``
        (NaN).

    Raises
    ------
    InputError
        If a variable is unknown, repeated, numeric in one file only or has no level in common; if a
        file is empty or has other columns; if `ways` or `groups` is not valid, or no table is left.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.table_utility(data, synthetic, ["income", "region"], synthesized=["income"])[
    ...     ["variables", "s_pmse"]
    ... ].round(2)
            variables  s_pmse
    0  income, region    2.62
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    if not isinstance(ways, int) or isinstance(ways, bool) or ways not in (1, 2):
        raise InputError(f"ways must be 1 or 2, got {ways!r}")
    if check_count(groups, "groups", most=_MOST_GROUPS) < 2:
        raise InputError("groups must be at least 2, got 1")
    frames = as_frames(synthetic)
    names = _checked_variables(confidential, frames, variables)
    free = set(names if synthesized is None else check_names(synthesized, "synthesized"))
    if free - set(names):
        raise InputError(
            f"synthesized names {listing(sorted(free - set(names)))}; the variables are "
            f"{listing(names)}"
        )
    if not _chosen(names, free, ways):
        raise InputError(
            f"no table of ways={ways} is left of the variables {listing(names)}, synthesized "
            f"{listing(sorted(free))}"
        )
    groupings = groupings_of(confidential, frames, names, special, groups)
    files = [
        cell_counts({name: of.codes(frame[name]) for name, of in groupings.items()}, free)
        for frame in (confidential, *frames)
    ]
    return table_rows(files, names, free, ways)


def _chosen(names: Sequence[str], free: Collection[str], ways: int) -> list[tuple[str, ...]]:
    """The tables that a synthesized variable enters."""
    return [table for table in combinations(names, ways) if not set(table).isdisjoint(free)]


def groupings_of(
    confidential: Columns,
    datasets: Sequence[Columns],
    names: Sequence[str],
    special: Mapping[str, Sequence[float]] | None,
    groups: int = 5,
) -> dict[str, Grouping]:
    """The groups of each of some variables, alike in the confidential data and each synthetic
    dataset; `special`: codes of numeric variables, which are a group each.

    Refuses variables that cannot be compared.
    """
    held = special or {}
    return {
        name: _grouping(
            [confidential[name], *(dataset[name] for dataset in datasets)],
            groups,
            held.get(name, ()),
        )
        for name in names
    }


def _grouping(columns: Sequence[pd.Series], groups: int, special: Sequence[float]) -> Grouping:
    """That of one variable, from its confidential column and that of each synthetic dataset."""
    name, first = columns[0].name, columns[0]
    whose = ["confidential data", *(f"synthetic dataset {k}" for k in range(1, len(columns)))]
    kinds = [group_kind(column, what) for column, what in zip(columns, whose, strict=True)]
    if {"numbers", "categories"} <= set(kinds):
        numbers, others = (whose[kinds.index(kind)] for kind in ("numbers", "categories"))
        raise InputError(
            f"{name!r} is numeric in the {numbers} and not in the {others}: not comparable; "
            "convert one of them"
        )
    if "numbers" in kinds:
        values = as_floats(first) if kinds[0] == "numbers" else np.empty(0)
        return number_groups(ValueCounts.of(values[~np.isnan(values)]), groups, special)
    levels = [dict.fromkeys(pd.unique(column.dropna()).tolist()) for column in columns]
    for of_file, what in zip(levels[1:], whose[1:], strict=True):
        if levels[0] and of_file and of_file.keys().isdisjoint(levels[0]):
            raise InputError(
                f"{name!r} has no level in common in the confidential data and {what}: their "
                "categories are spelled otherwise"
            )
    declared = first.cat.categories.tolist() if isinstance(first.dtype, pd.CategoricalDtype) else ()
    return level_groups(declared, (level for of_file in levels for level in of_file))


def cell_counts(codes: Mapping[str, np.ndarray], free: Collection[str]) -> dict[str, ValueCounts]:
    """How many records of one file lie in each cell of the table of each variable, and of each pair
    that a synthesized one enters; by the names with a comma between.
    """
    tables = [(name,) for name in codes] + _chosen(list(codes), free, 2)
    return {_named(table): _counted(*(codes[name] for name in table)) for table in tables}


def _named(table: Sequence[str]) -> str:
    return ", ".join(table)


def _counted(groups: np.ndarray, others: np.ndarray | None = None) -> ValueCounts:
    """By the group, or the groups of two variables as one number."""
    which, cells = pd.factorize(groups if others is None else groups * _MOST_LEVELS + others)
    order, counts = np.argsort(cells), np.bincount(which, minlength=len(cells))
    return ValueCounts(cells[order].astype(float), counts[order])


def table_rows(
    files: Sequence[Mapping[str, ValueCounts]],
    names: Sequence[str],
    free: Collection[str],
    ways: int,
) -> pd.DataFrame:
    """The rows of `table_utility`, from the cells of each file, the confidential one first."""
    for name in names:
        if name not in free:
            _require_unaltered(name, [file[name] for file in files])
    return pd.DataFrame(
        [
            _row(table, [name for name in table if name not in free], files)
            for table in _chosen(names, free, ways)
        ]
    )


def _checked_variables(
    confidential: pd.DataFrame, frames: Sequence[pd.DataFrame], variables: Sequence[str] | None
) -> tuple[str, ...]:
    """The names of the variables, which stand in all files; without a choice the files must have
    the same columns.
    """
    require_columns(confidential, [], "confidential data")
    names = check_names(list(confidential.columns) if variables is None else variables, "variables")
    if not names:
        raise InputError("variables names none; valid are columns of both files")
    require_columns(confidential, names, "confidential data")
    for number, frame in enumerate(frames, start=1):
        require_columns(frame, names, f"synthetic dataset {number}")
        others = [name for name in frame.columns if name not in names]
        if variables is None and others:
            raise InputError(
                f"synthetic dataset {number} has columns {listing(others)}, which the "
                "confidential data lacks; choose variables"
            )
    return names


def _require_unaltered(name: str, files: Sequence[ValueCounts]) -> None:
    """Refuse a variable that is declared not to be synthesized and has other counts in a synthetic
    dataset.
    """
    first, *others = ((file.values.tolist(), file.counts.tolist()) for file in files)
    if any(other != first for other in others):
        raise InputError(
            f"synthesized leaves out {name!r}, but its counts differ between the files: name it too"
        )


def _row(
    table: Sequence[str], unsynthesized: Sequence[str], files: Sequence[Mapping[str, ValueCounts]]
) -> dict[str, object]:
    """One row of the result: the distance of one table in each dataset, averaged."""
    fixed = len(files[0][unsynthesized[0]].values) if unsynthesized else 1
    confidential, *datasets = (file[_named(table)] for file in files)
    distances = np.array(
        [table_distance(*_aligned(confidential, dataset), fixed) for dataset in datasets],
        dtype=float,
    )
    pmse, s_pmse, df, variation = distances.mean(axis=0)
    return {
        "variables": _named(table),
        "ways": len(table),
        "pmse": pmse,
        "s_pmse": s_pmse,
        "s_pmse_min": distances[:, 1].min(),
        "s_pmse_max": distances[:, 1].max(),
        "df": df,
        "total_variation": variation,
        "tables": len(distances),
    }


def _aligned(confidential: ValueCounts, synthetic: ValueCounts) -> tuple[np.ndarray, np.ndarray]:
    """How many records of either file lie in each cell that is not empty in both."""
    filled = np.union1d(confidential.values, synthetic.values)
    counts = np.zeros((2, len(filled)), dtype=np.int64)
    for row, file in zip(counts, (confidential, synthetic), strict=True):
        row[np.searchsorted(filled, file.values)] = file.counts
    return counts[0], counts[1]
