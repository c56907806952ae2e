"""Data with other sensitive values in them, by which it is seen what draws depend on (METHODS section 9.4)."""

import numpy as np
import pandas as pd

from riskweighted.common.groups import most_categories

__all__ = ["INNER", "KEPT", "PERMUTED", "RANGE", "REVERSED", "moved_targets", "some_rows"]

PERMUTED, REVERSED, RANGE, INNER = "permuted", "in the reverse order of rank", "others of the same range", "inner ones"
KEPT = (PERMUTED, REVERSED)  # of these the multiset is what it was
_ATOM = 0.05  # the share of the records from which a value is a status rather than an amount
_FEW = 10


def moved_targets(column: pd.Series, levels: bool) -> dict[str, pd.Series]:
    """The sensitive column (n,) under every move, the permuted one first; gaps stay where they are, and of levels none is inner."""
    rng, there = np.random.default_rng(7), column.notna().to_numpy()
    codes, named = pd.factorize(column[there], sort=False)
    numbers = codes.astype(float) if levels else column[there].to_numpy(dtype=float)
    order, reverse = np.argsort(numbers, kind="stable"), np.empty(len(numbers), dtype=int)
    reverse[order] = order[::-1]
    present = column[there]
    moves = {PERMUTED: present.array[rng.permutation(len(present))], REVERSED: present.array[reverse]}
    if levels:
        drawn = rng.integers(len(named), size=len(codes))
        drawn[: len(named)] = np.arange(len(named))[: len(drawn)]
        moves[RANGE] = pd.Series(named.take(drawn)).astype(column.dtype).array
    else:
        moves |= {name: pd.Series(values).astype(column.dtype).array for name, values in _amounts(numbers, rng).items()}
    return {name: _put(column, there, values) for name, values in moves.items()}


def _put(column: pd.Series, there: np.ndarray, values: object) -> pd.Series:
    moved = column.copy()
    moved[there] = values
    return moved


def _amounts(numbers: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Other amounts; values that many records share stay, as zeros of a model of two parts do. Whole numbers of few values take these
    alone, and never one of them all: a model of counts may refuse others, whatever it depends on."""
    held, place, count = np.unique(numbers, return_inverse=True, return_counts=True)
    free = count[place] <= max(_ATOM * len(numbers), 1)
    if free.sum() < _FEW:
        free[:] = True
    amounts, whole = numbers[free], bool((held == np.rint(held)).all())
    few = whole and len(held) <= most_categories(len(numbers))

    def possible(values: np.ndarray) -> np.ndarray:
        values = np.rint(values) if whole else values
        return held[np.searchsorted((held[1:] + held[:-1]) / 2, values)] if few else values

    within = np.quantile(amounts, rng.uniform(size=len(amounts)) ** 2)
    ends = rng.permutation(len(amounts))[:2]
    within[ends] = [amounts.min(), amounts.max()][: len(ends)]
    low, high = np.quantile(amounts, 0.3), np.quantile(amounts, 0.7)
    inner = possible(rng.permutation(np.linspace(low, high, len(amounts))))
    if np.ptp(inner) == 0:
        inner = possible(rng.permutation(np.linspace(amounts.min(), amounts.max(), len(amounts))))
    moved = {}
    for name, values in ((RANGE, possible(within)), (INNER, inner)):
        moved[name] = numbers.copy()
        moved[name][free] = values
    return moved


def some_rows(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """That many rows or a few more, in their order: at random, the ends of every numeric column, and a row of every level."""
    if len(frame) <= count:
        return frame
    rows = set(np.random.default_rng(8).choice(len(frame), count, replace=False).tolist())
    for _, column in frame.items():
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype) and column.nunique() > _FEW:
            numbers = column.to_numpy(dtype=float, na_value=np.nan)
            if not np.isnan(numbers).all():
                rows |= {int(np.nanargmin(numbers)), int(np.nanargmax(numbers))}
        else:
            rows |= set(np.flatnonzero(~column.duplicated().to_numpy()).tolist())
    return frame.iloc[sorted(rows)]
