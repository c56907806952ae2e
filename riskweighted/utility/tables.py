"""One-way and two-way tables: do the synthetic counts differ from the confidential ones by more than chance? (Raab, Nowok & Dibben 2021)"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_count, check_names
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.groups import group_codes, group_kind
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.intruder.pairing import as_frames

__all__ = ["FileCodes", "TableDistance", "coded_tables", "codes_of", "file_codes", "table_distance", "table_utility"]

_MOST_GROUPS = 100
FileCodes: TypeAlias = dict[str, list[np.ndarray]]  # of each variable, the groups in every file


class TableDistance(NamedTuple):
    """``pmse`` of one table; ``s_pmse``, over its expectation under the null (1 is ideal; NaN where ``df`` is 0); ``df``;
    ``total_variation``: half the sum over the cells of the absolute differences of their shares (0 is identical, 1 disjoint)."""

    pmse: float
    s_pmse: float
    df: int
    total_variation: float


def table_distance(confidential: np.ndarray, synthetic: np.ndarray, fixed: int = 1) -> TableDistance:
    """pMSE of the saturated model of one table, standardised (METHODS section 6), from the counts (K,) of both files.

    With d_k confidential and s_k synthetic records in cell k, N records in all and c the share of synthetic ones, the propensity score
    of a cell is its share of synthetic records and pMSE = sum_k (s_k - c (d_k + s_k))^2 / (d_k + s_k) / N. ``fixed``: how many totals both
    files share by design; df = filled cells - fixed.
    """
    both = confidential + synthetic
    filled = both > 0
    total, share = both.sum(), synthetic.sum() / both.sum()
    pmse = float(((synthetic - share * both)[filled] ** 2 / both[filled]).sum() / total)
    df = int(filled.sum()) - fixed
    variation = float(np.abs(confidential / confidential.sum() - synthetic / synthetic.sum()).sum() / 2)
    return TableDistance(pmse, pmse / (df * (1 - share) ** 2 * share / total) if df else np.nan, df, variation)


def table_utility(
    confidential: Frame,
    synthetic: "GivenFrames",
    variables: Sequence[str] | None = None,
    ways: int = 2,
    groups: int = 5,
    synthesized: Sequence[str] | None = None,
    special: Mapping[str, Sequence[float]] | None = None,
) -> pd.DataFrame:
    """Return the standardised pMSE of every variable, or of every pair, by cross-tabulation (METHODS section 6).

    The formulas of `utility.tables` of the R package synthpop (Raab, Nowok & Dibben 2021): pMSE over its expectation
    (k - 1)(1 - c)^2 c / N, k being the cells that are not empty in both files and c the share of synthetic records.

    The null is that of partial synthesis from given parameters: synthetic records are drawn from the distribution that the
    confidential ones show. S_pMSE is then 1 on average. It is 1 / (1 - c), that is 2 for files of one size, where the parameters of a
    right model were drawn from their posterior first, and where the synthetic file is another sample of the same population.

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
        Numbers are cut at quantiles of the confidential data; values that one in `groups` records holds are a group each, and so is
        every value where there are few. Other variables count by level. A missing value is a group of its own.
    synthesized : sequence of str, optional
        The replaced ones among the variables; all by default, as in synthpop. Tables of the others alone are left out, and those
        of one of each have as many fixed totals as the other one has groups, so that df is their filled cells less these.
    special : mapping of str to sequence of float, optional
        Special codes of numeric variables, such as -8: a group each, and not among those that are cut at quantiles.

    Returns
    -------
    DataFrame, one row per table
        ``variables`` (names, a comma between two), ``ways``, ``pmse`` and ``s_pmse`` (means over the L datasets), ``s_pmse_min`` and
        ``s_pmse_max`` (their range), ``df`` (mean), ``total_variation`` (mean over the datasets of half the sum of the absolute differences
        of the cells' shares), ``tables`` (L). A variable with one value has ``df`` 0 and no ``s_pmse`` (NaN).

    Raises
    ------
    InputError
        If a variable is unknown, repeated, numeric in one file only or has no level in common; if a file is empty or has other columns;
        if `ways` or `groups` is not valid, or no table is left.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthetic
    >>> rw.table_utility(data, synthetic, ["income", "region"], synthesized=["income"])[["variables", "s_pmse"]].round(2)
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
        raise InputError(f"synthesized names {listing(sorted(free - set(names)))}; the variables are {listing(names)}")
    if not _chosen(names, free, ways):
        raise InputError(f"no table of ways={ways} is left of the variables {listing(names)}, synthesized {listing(sorted(free))}")
    return coded_tables(codes_of(confidential, frames, names, special, groups), names, free, ways)


def _chosen(names: Sequence[str], free: Collection[str], ways: int) -> list[tuple[str, ...]]:
    """The tables that a synthesized variable enters."""
    return [table for table in combinations(names, ways) if not set(table).isdisjoint(free)]


def codes_of(
    confidential: pd.DataFrame,
    frames: Sequence[pd.DataFrame],
    names: Sequence[str],
    special: Mapping[str, Sequence[float]] | None,
    groups: int = 5,
) -> FileCodes:
    """`file_codes` of each of some variables."""
    held = special or {}
    return {name: file_codes([confidential[name], *(frame[name] for frame in frames)], groups, held.get(name, ())) for name in names}


def coded_tables(codes: FileCodes, names: Sequence[str], free: Collection[str], ways: int) -> pd.DataFrame:
    """`table_utility` of checked variables whose groups are known; `free`: the synthesized ones."""
    for name in names:
        if name not in free:
            _require_unaltered(name, codes[name])
    return pd.DataFrame([_row(table, [name for name in table if name not in free], codes) for table in _chosen(names, free, ways)])


def _checked_variables(confidential: pd.DataFrame, frames: Sequence[pd.DataFrame], variables: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the variables, which stand in all files; without a choice the files must have the same columns."""
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
                f"synthetic dataset {number} has columns {listing(others)}, which the confidential data lacks; choose variables"
            )
    return names


def file_codes(columns: Sequence[pd.Series], groups: int, special: Sequence[float] = ()) -> list[np.ndarray]:
    """The groups of one variable in the confidential data and each synthetic dataset, alike in all of them; 0 where it is missing.

    `special`: codes of a numeric variable, which are a group each.
    """
    name = columns[0].name
    whose = ["confidential data", *(f"synthetic dataset {number}" for number in range(1, len(columns)))]
    kinds = {what: group_kind(column, what) for column, what in zip(columns, whose, strict=True)}
    present = set(kinds.values()) - {"nothing"}
    if len(present) > 1:
        numbers, others = (next(what for what, kind in kinds.items() if kind == wanted) for wanted in ("numbers", "categories"))
        raise InputError(f"{name!r} is numeric in the {numbers} and not in the {others}: not comparable; convert one of them")
    codes = group_codes(columns, groups, numeric=present == {"numbers"}, alone=special)
    for drawn, what in zip(codes[1:], whose[1:], strict=True):
        if present == {"categories"} and codes[0].any() and drawn.any() and not np.intersect1d(codes[0], drawn).any():  # 0 is missing
            raise InputError(f"{name!r} has no level in common in the confidential data and {what}: their categories are spelled otherwise")
    return codes


def _require_unaltered(name: str, codes: Sequence[np.ndarray]) -> None:
    """Refuse a variable that is declared not to be synthesized and has other counts in a synthetic dataset."""
    counts = [np.bincount(file, minlength=max(int(other.max()) for other in codes) + 1) for file in codes]
    if any((file != counts[0]).any() for file in counts[1:]):
        raise InputError(f"synthesized leaves out {name!r}, but its counts differ between the files: name it too")


def _row(table: Sequence[str], unsynthesized: Sequence[str], codes: dict[str, list[np.ndarray]]) -> dict[str, object]:
    """One row of the result: the distance of one table in each dataset, averaged."""
    fixed = len(np.unique(codes[unsynthesized[0]][0])) if unsynthesized else 1
    confidential, *datasets = zip(*(codes[name] for name in table), strict=True)
    distances = np.array([table_distance(*_counts(confidential, dataset), fixed) for dataset in datasets], dtype=float)
    pmse, s_pmse, df, variation = distances.mean(axis=0)
    return {
        "variables": ", ".join(table),
        "ways": len(table),
        "pmse": pmse,
        "s_pmse": s_pmse,
        "s_pmse_min": distances[:, 1].min(),
        "s_pmse_max": distances[:, 1].max(),
        "df": df,
        "total_variation": variation,
        "tables": len(distances),
    }


def _counts(confidential: Sequence[np.ndarray], synthetic: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How many records of either file lie in each cell that is not empty in both; codes of one variable or two."""
    both = [np.concatenate(pair) for pair in zip(confidential, synthetic, strict=True)]
    cells, filled = pd.factorize(both[0] if len(both) == 1 else both[0] * (both[1].max() + 1) + both[1])
    n = len(confidential[0])
    return np.bincount(cells[:n], minlength=len(filled)), np.bincount(cells[n:], minlength=len(filled))
