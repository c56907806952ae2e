"""Which part each column of a file may play: what is sensitive, what an intruder knows, what predicts, what gives another away."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.common.groups import group_codes
from riskweighted.common.ranks import order_alike
from riskweighted.data.io import cells_without_number
from riskweighted.derivation.columns import as_numbers
from riskweighted.derivation.derived import REFUSE, derived
from riskweighted.design.bends import independent
from riskweighted.intruder.disguise import disguise_of
from riskweighted.intruder.patterns import cells
from riskweighted.runs.columns import AMOUNT, LEVELS, SENSITIVE, YEAR, Column, codes_as_text, hint_in, skewness
from riskweighted.runs.derivation import how_told

__all__ = ["amounts_with_text", "giving_away", "known_of", "likely_target", "most_columns", "patterns_of", "predictors_of"]

_KNOWN = (
    "sex|gender|male|female|age|birth|race|ethn|hisp|region|state|county|province|marit|marr|mar|area|urban|rural|place|city|edu|school|"
    "size|family|fam|household|child|kid|occup|prof|nation|citiz|industr|sector|branch|legal"
)
_MOST_KNOWN, _WITHOUT_HINT = 4, 2
_MOST_LEVELS = 20  # of a known variable, and of a predictor
_MOST_ALONE = 0.005  # of the records, by what is known
_PER_PATTERN = 20  # records, on average
_MOST_COLUMNS, _RECORDS_PER_COLUMN = 40, 20  # of the model matrix
_MOST_MISSING = 0.5  # of a predictor
_FEW_CELLS = 0.1  # of a column of numbers, that hold none
_GROUPS = 10


def likely_target(columns: Sequence[Column], left_out: Mapping[str, str]) -> tuple[str, ...]:
    """One variable: an amount whose name says money or the like, else the most skewed amount, else levels."""
    if not columns:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
        raise InputError(f"no column of the file can be synthesized: {reasons}")
    amounts = [column for column in columns if column.use == AMOUNT]
    if amounts:
        best = min(amounts, key=_by_name_or_skewness)
    else:
        best = min(columns, key=lambda column: (hint_in(SENSITIVE, column.name), column.use == YEAR, column.missing, -column.distinct))
    return (best.name,)


def _by_name_or_skewness(column: Column) -> tuple[int, float]:
    """Smaller is likelier to be sensitive; of equal names the first in the file."""
    hint = hint_in(SENSITIVE, column.name)
    return hint, -skewness(column.amounts) if hint == len(SENSITIVE.split("|")) else 0.0


def amounts_with_text(data: pd.DataFrame, named: Sequence[str]) -> dict[str, pd.Series]:
    """Text columns that a few cells keep from being numbers, if they are `named` or called like what is sensitive: these cells by name."""
    likely = [name for name in map(str, data.columns) if name in named or hint_in(SENSITIVE, name) < len(SENSITIVE.split("|"))]
    read = {name: cells_without_number(data[name]) for name in likely if disguise_of(data[name]) == "numbers"}
    return {
        name: cells
        for name, cells in read.items()
        if cells is not None and 0 < len(cells) <= _FEW_CELLS * len(data) and not codes_as_text(data[name].drop(cells.index))
    }


def giving_away(data: pd.DataFrame, columns: Sequence[Column], targets: Sequence[Column]) -> dict[str, str]:
    """The columns to leave out so that no others give a target away, alone or together, each with how it does.

    Of several that do so together the one that is most in the order of the target is left out.
    """
    left_out: dict[str, str] = {}
    for _ in columns:
        kept = [column.name for column in columns if column.name not in left_out]
        levels = [column.name for column in targets if column.use == LEVELS]
        codes = {column.name: column.codes for column in targets}
        table = derived(data, [column.name for column in targets], released=kept, codes=codes, categorical=levels)
        refused = table[table["verdict"] == REFUSE].to_dict("records")
        for row in refused:
            if not set(row["columns"]) & set(left_out):
                left_out[_likest(data, row)] = f"gives {row['target']} away{_together(row['columns'])}: {how_told(row)}"
        if not refused:
            break
    return left_out


def _together(columns: Sequence[str]) -> str:
    return f", with {listing(columns)}" if len(columns) > 1 else ""


def _likest(data: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """Of columns that tell a target together, the one in whose order it is most."""
    if len(row["columns"]) == 1 or not holds_numbers(data[row["target"]]):
        return str(row["columns"][0])
    target = as_floats(data[row["target"]])
    return str(max(row["columns"], key=lambda name: order_alike(as_numbers(data[name]), target)))


# -- what is known, and what predicts


def known_of(data: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Variables of few levels, those with names as in a register first, as long as few records are alone."""
    few = [column for column in columns if column.use == LEVELS and column.distinct <= _MOST_LEVELS]
    hints = len(_KNOWN.split("|"))
    known: list[str] = []
    for column in sorted(few, key=lambda column: (hint_in(_KNOWN, column.name), column.distinct)):
        hinted = hint_in(_KNOWN, column.name) < hints
        if len(known) == _MOST_KNOWN or (not hinted and len(known) >= _WITHOUT_HINT):
            continue
        patterns, alone = patterns_of(data, [*known, column.name])
        if alone <= _MOST_ALONE * len(data) and patterns * _PER_PATTERN <= len(data):
            known.append(column.name)
    return tuple(known)


def patterns_of(data: pd.DataFrame, known: Sequence[str]) -> tuple[int, int]:
    """Known patterns, and records alone in theirs."""
    if not known:
        return 1, int(len(data) == 1)
    sizes = np.bincount(cells((data[name] for name in known), np.zeros(len(data), dtype=np.int64)))
    return int((sizes > 0).sum()), int((sizes == 1).sum())


def predictors_of(
    data: pd.DataFrame, columns: Sequence[Column], targets: Sequence[str], known: Sequence[str], recodes: Collection[tuple[str, str]] = ()
) -> tuple[tuple[str, ...], dict[str, str]]:
    """What is known, then the column of few levels that tells most of the targets, which may leave with them; no other.

    The datasets would tell of a predictor that does not leave, it costs parameters, and nobody can analyse the release by it. `recodes`:
    pairs of a column and one that follows from it. Of these, and of columns that are a combination of others, the one that tells less is
    left out: the second result says by name of what they are.
    """
    answers = [_grouped(data[name]) for name in targets]
    told = {column.name: sum(_told(_grouped(data[column.name]), answer) for answer in answers) for column in columns if _suits(column)}
    ordered = sorted(
        (column for column in columns if column.name in known or (_may_leave(data, column, known) and told[column.name] > 0)),
        key=lambda column: (column.name not in known, -told[column.name]),
    )
    names, most = [column.name for column in ordered], most_columns(len(data))
    predictors, told_by, design = list[Column](), dict[str, str](), np.empty((len(data), 0))
    for column in ordered:
        if any(predictor.name not in known for predictor in predictors):
            break
        if column.width > most:
            continue
        finer = [name for name in names if (name, column.name) in recodes and not any((other, name) in recodes for other in names)]
        own = _in_design(data[column.name], column)
        adds = independent(np.column_stack([design, own]))[design.shape[1] :]
        if finer or not adds[0 : 1 if column.is_number and not column.enters_as_levels else None].any():
            told_by[column.name] = finer[0] if finer else "other predictors"
        elif adds.all() or len(targets) > 1 or not column.fills_formula:  # a chain leaves out single columns of the matrix
            predictors.append(column)
            design, most = np.column_stack([design, own]), most - column.width
        else:
            told_by[column.name] = "other predictors, in part"
    return tuple(column.name for column in predictors), told_by


def _may_leave(data: pd.DataFrame, column: Column, known: Sequence[str]) -> bool:
    """Whether a column that nobody is taken to know may leave unaltered: complete, of few levels, and few records alone by it."""
    few = column.use == LEVELS and column.fills_formula and _suits(column)
    return few and patterns_of(data, [*known, column.name])[1] <= _MOST_ALONE * len(data)


def _suits(column: Column) -> bool:
    """Whether a column has few gaps, and few levels if it has any."""
    return column.missing <= _MOST_MISSING * column.records and (column.use != LEVELS or column.distinct <= _MOST_LEVELS)


def _in_design(column: pd.Series, of: Column) -> np.ndarray:
    """A column as a model matrix may hold it, (n, k): a number by itself and where it is missing, levels by indicators."""
    if of.is_number and not of.enters_as_levels:
        values = as_floats(column)
        missing = np.isnan(values)
        filled = np.where(missing, np.nanmean(values), values)
        return np.column_stack([filled, missing])[:, : 1 + missing.any()]
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    return np.asarray(codes[:, None] == np.arange(1, codes.max() + 1), dtype=float)


def most_columns(records: int) -> int:
    """How many columns of a model matrix so many records can carry."""
    return min(_MOST_COLUMNS, records // _RECORDS_PER_COLUMN)


def _grouped(column: pd.Series) -> np.ndarray:
    return group_codes([column], _GROUPS, numeric=holds_numbers(column))[0]


def _told(codes: np.ndarray, answer: np.ndarray) -> float:
    """Mutual information in nats, less twice what independence gives on average."""
    table = np.zeros((int(codes.max()) + 1, int(answer.max()) + 1))
    np.add.at(table, (codes, answer), 1.0)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    shares = table / table.sum()
    expected = shares.sum(1, keepdims=True) * shares.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = float(np.nansum(shares * np.log(shares / expected)))
    by_chance: float = (table.shape[0] - 1) * (table.shape[1] - 1) / len(codes)
    return information - by_chance
