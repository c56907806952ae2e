"""A sponsor's ad hoc scores: per linking variable a function, a table of value pairs, or breaks on
the difference (primer, 2.2.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_path, is_number
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import require_columns
from riskweighted.common.interrupts import raise_interrupt
from riskweighted.data.io import read_table
from riskweighted.reidentification.files import LinkedFiles
from riskweighted.reidentification.nearest import STEPS, TABLE, Costs

__all__ = ["HIGHEST", "BreakScores", "PairScores", "Score", "adhoc_costs", "read_scores"]

HIGHEST = 5.0
_MOST_CELLS = 100_000_000  # of a score tabulated over distinct values: 800 MB


@dataclass(frozen=True)
class PairScores:
    """Pair scores are scores of value pairs, PUF value first; a pair not listed gets `equal` where
    its values are equal, else `other`.

    Examples
    --------
    >>> rw.PairScores({("m", "f"): 1.0}).other
    0.0
    """

    scores: Mapping[tuple[object, object], float] = field(repr=False)
    equal: float = HIGHEST
    other: float = 0.0


@dataclass(frozen=True)
class BreakScores:
    """Break scores are scores by absolute difference: `scores[i]` up to and including `breaks[i]`,
    and one more score beyond the last.

    Examples
    --------
    >>> rw.BreakScores(breaks=(1.0, 5.0), scores=(5.0, 4.0, 0.0)).scores[-1]
    0.0
    """

    breaks: tuple[float, ...]
    scores: tuple[float, ...]


Score: TypeAlias = Callable[[object, object], float] | PairScores | BreakScores


def adhoc_costs(
    files: LinkedFiles, scores: Mapping[str, Score]
) -> tuple[np.ndarray, np.ndarray, Costs]:
    """Both files as codes or numbers, and what each variable costs: 5 minus its score."""
    if not isinstance(scores, Mapping) or set(scores) != set(files.kinds):
        given = listing(scores) if isinstance(scores, Mapping) else type(scores).__name__
        raise InputError(
            f"scores must be given for every linking variable: {listing(files.kinds)}, got {given}"
        )
    v = len(files.kinds)
    kinds = np.full(v, TABLE)
    breaks = [np.empty(0)] * v
    steps = [np.empty(0)] * v
    tables = [np.empty((0, 0))] * v
    puf = files.puf.to_numpy(dtype=float, copy=True)
    eif = files.eif.to_numpy(dtype=float, copy=True)
    for number, (name, kind) in enumerate(files.kinds.items()):
        score = scores[name]
        if isinstance(score, BreakScores):
            if kind != "numeric":
                raise InputError(
                    f"the score of {name!r} has breaks on a difference, but the variable is "
                    "categorical; give a table"
                )
            kinds[number] = STEPS
            breaks[number], steps[number] = _check_breaks(name, score)
        else:
            codes, values = _coded(files, name)
            puf[:, number], eif[:, number] = codes
            tables[number] = HIGHEST - _tabulate(name, score, values)
    limit = HIGHEST * v / 2
    return puf, eif, Costs(kinds, HIGHEST, limit, tuple(breaks), tuple(steps), tuple(tables))


def _check_breaks(name: str, score: BreakScores) -> tuple[np.ndarray, np.ndarray]:
    breaks, scores = list(score.breaks), list(score.scores)
    if (
        not all(is_number(value) and value >= 0 for value in breaks)
        or sorted(set(breaks)) != breaks
    ):
        raise InputError(f"the breaks of {name!r} must be ascending numbers >= 0, got {breaks}")
    if len(scores) != len(breaks) + 1:
        raise InputError(
            f"the scores of {name!r} must be one more than its {len(breaks)} breaks, got "
            f"{len(scores)}"
        )
    _check_range(name, scores)
    return np.array(breaks, dtype=float), HIGHEST - np.array(scores, dtype=float)


def _check_range(name: str, scores: object) -> None:
    values = np.asarray(scores)
    # NaN fails too
    if values.dtype.kind not in "biuf" or not ((values >= 0) & (values <= HIGHEST)).all():
        wrong = (
            values.size
            if values.dtype.kind not in "biuf"
            else int((~((values >= 0) & (values <= HIGHEST))).sum())
        )
        raise InputError(
            f"scores of {name!r} must lie between 0 and 5; {wrong} of {values.size} do not"
        )


def _coded(
    files: LinkedFiles, name: str
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[list[object], list[object]]]:
    """Codes of one variable in each file, NaN where missing, and the distinct values that they
    stand for.
    """
    codes, values = [], []
    for frame in (files.puf, files.eif):
        column = frame[name].to_numpy(dtype=float)
        present = ~np.isnan(column)
        coded = np.full(len(column), np.nan)
        distinct, coded[present] = np.unique(column[present], return_inverse=True)
        codes.append(coded)
        values.append(
            [files.levels[name][int(level)] for level in distinct]
            if name in files.levels
            else distinct.tolist()
        )
    return (codes[0], codes[1]), (values[0], values[1])


def _tabulate(name: str, score: Score, values: tuple[list[object], list[object]]) -> np.ndarray:
    """Scores of all pairs of distinct values, (PUF values, EIF values)."""
    shape = (len(values[0]), len(values[1]))
    if shape[0] * shape[1] > _MOST_CELLS:
        raise InputError(
            f"the score of {name!r} would be asked for {shape[0]:,} x {shape[1]:,} pairs of "
            f"distinct values, at most {_MOST_CELLS:,} "
            "are possible; give breaks on the absolute difference, or round the variable in both "
            "files"
        )
    if isinstance(score, PairScores):
        table = _from_pairs(score, values)
    elif callable(score):
        table = _from_function(name, score, values)
    else:
        raise InputError(
            f"the score of {name!r} must be a function, PairScores or BreakScores, got "
            f"{type(score).__name__}"
        )
    _check_range(name, table)
    return table


def _from_pairs(score: PairScores, values: tuple[list[object], list[object]]) -> np.ndarray:
    table = np.full((len(values[0]), len(values[1])), score.other, dtype=float)
    second = {value: column for column, value in enumerate(values[1])}
    for row, value in enumerate(values[0]):
        if value in second:
            table[row, second[value]] = score.equal
    first = {value: row for row, value in enumerate(values[0])}
    for (puf_value, eif_value), number in score.scores.items():
        if puf_value in first and eif_value in second:
            table[first[puf_value], second[eif_value]] = number
    return table


def _from_function(
    name: str, score: Callable[[object, object], float], values: tuple[list[object], list[object]]
) -> np.ndarray:
    """The function's values, asked pair by pair."""
    try:
        table = np.array(
            [[score(puf_value, eif_value) for eif_value in values[1]] for puf_value in values[0]]
        )
    except Exception as error:  # its text may quote a value
        raise_interrupt(error)
        raise InputError(
            f"the score function of {name!r} failed with {type(error).__name__}"
        ) from None
    return table


def read_scores(path: str | Path) -> PairScores | BreakScores:
    """Return one variable's scores from a table file, which a sponsor can write in a spreadsheet.

    Either columns ``puf``, ``eif``, ``score``: one row a pair of values (pairs that are not listed:
    5 where equal, else 0). Or columns ``up_to``, ``score``: one row a break on the absolute
    difference, the last with an empty ``up_to``.

    Raises
    ------
    InputError
        If the file has neither set of columns, or a score is no number from 0 to 5.

    Examples
    --------
    >>> pd.DataFrame({"up_to": [1, 5, None], "score": [5, 4, 0]}).to_csv(
    ...     "age_scores.csv", index=False
    ... )
    >>> rw.read_scores("age_scores.csv").breaks
    (1.0, 5.0)
    """
    path = check_path(path, "scores")
    table = read_table(path)
    what = f"score file {path.name!r}"
    if "up_to" in table:
        require_columns(table, ["up_to", "score"], what)
        _check_range(path.name, table["score"])
        bounds = table["up_to"]
        if (
            not pd.api.types.is_numeric_dtype(bounds)
            or bounds.iloc[:-1].isna().any()
            or not np.isnan(bounds.iloc[-1])
        ):
            raise InputError(
                f"{what}: up_to must be numbers in all rows but the last, where it is empty"
            )
        return BreakScores(
            tuple(bounds.iloc[:-1].astype(float)), tuple(table["score"].astype(float))
        )
    require_columns(table, ["puf", "eif", "score"], f"{what} (which has no column 'up_to')")
    _check_range(path.name, table["score"])
    repeated = int(table.duplicated(["puf", "eif"]).sum())
    if repeated:
        raise InputError(f"{what} lists {repeated} pairs more than once")
    pairs = zip(table["puf"], table["eif"], strict=True)
    return PairScores(dict(zip(pairs, table["score"].astype(float), strict=True)))
