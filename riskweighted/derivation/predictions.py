"""Predictions of a sensitive amount from other columns that never use the record's own value:
neighbours in an order, and two-fold fits.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

__all__ = [
    "COMBINED",
    "combine_columns",
    "next_to",
    "permute_targets",
    "predict_by_all",
    "predict_by_neighbours",
    "promising_pairs",
]

_REWEIGHTINGS = 25  # of least squares, until they are least absolute deviations
_STANDARDS = (1, 0.25, 0.05)  # of the reach
_LIKE = 5  # records on either side, among whom targets are exchanged

_OPERATIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
COMBINED = ("+", "-", "*", "/", "max", "min")


def next_to(
    values: np.ndarray, groups: np.ndarray | None = None, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the records in the order of a column (m,), and whether the next one is a neighbour of
    each (m - 1,).

    Ties stand in random order. Records without a value are ordered among themselves. `groups` (m,):
    neighbours are of one group.
    """
    present = np.isfinite(values)
    groups = np.where(present, 0, 1) if groups is None else 2 * groups + ~present
    shuffled = rng.permutation(len(values))
    order = shuffled[np.lexsort((np.where(present, values, 0)[shuffled], groups[shuffled]))]
    arranged = groups[order]
    return order, arranged[1:] == arranged[:-1]


def predict_by_neighbours(
    values: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    each: int = 1,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the median of the targets of as many records on `each` side in the order of a column,
    (m,), NaN without a neighbour.

    This finds any function of the column; within a level others of the level are taken. Two on each
    side stand where some values are wrong.
    """
    order, same = next_to(values, groups, rng=rng)
    arranged, linked = y[order], same
    around = np.full((2 * each, len(y)), np.nan)
    for step in range(1, min(each, len(y) - 1) + 1):
        linked = same if step == 1 else linked[1:] & same[: 1 - step]
        around[2 * step - 2, step:] = np.where(linked, arranged[:-step], np.nan)
        around[2 * step - 1, :-step] = np.where(linked, arranged[step:], np.nan)
    around.sort(axis=0)  # NaN last
    count, every = np.isfinite(around).sum(axis=0), np.arange(len(y))
    guess = np.empty(len(y))
    guess[order] = (
        around[np.maximum(count - 1, 0) // 2, every]
        + around[np.minimum(count // 2, 2 * each - 1), every]
    ) / 2
    return guess


def combine_columns(left: np.ndarray, right: np.ndarray, how: str) -> np.ndarray:
    """Return two columns (..., m) combined by one of `COMBINED`, or (a backslash) divided the other
    way round; NaN where that is none."""
    if how == "\\":
        left, right = right, left
    with np.errstate(all="ignore"):
        if how in ("/", "\\"):
            return np.asarray(
                np.divide(
                    left,
                    right,
                    out=np.full(np.broadcast_shapes(left.shape, right.shape), np.nan),
                    where=right != 0,
                )
            )
        return np.asarray(_OPERATIONS[how](left, right))


def promising_pairs(
    columns: np.ndarray, y: np.ndarray, reach: np.ndarray, *, best: int = 3
) -> Iterator[tuple[int, int, str]]:
    """Yield the pairs of columns (c, m), and how they are combined, whose neighbours predict best,
    by three standards.
    """
    pairs = np.array(list(combinations(range(len(columns)), 2)), dtype=int).reshape(-1, 2)
    scores: list[np.ndarray] = []
    names: list[tuple[int, int, str]] = []
    for how in COMBINED:
        order = np.argsort(combine_columns(columns[pairs[:, 0]], columns[pairs[:, 1]], how), axis=1)
        arranged = y[order]
        errors = (
            np.abs((arranged[:, :-2] + arranged[:, 2:]) / 2 - arranged[:, 1:-1])
            / reach[order][:, 1:-1]
        )
        scores.append(np.array([(errors <= limit).mean(axis=1) for limit in _STANDARDS]))
        names.extend((int(one), int(other), how) for one, other in pairs)
    by_standard = np.concatenate(scores, axis=1)
    yield from (
        names[place]
        for place in dict.fromkeys(
            int(place) for score in by_standard for place in np.argsort(-score)[:best]
        )
    )


def predict_by_all(
    columns: np.ndarray, y: np.ndarray, reach: np.ndarray, fold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the prediction (m,) by least absolute deviations on all columns (c, m), fitted on the
    other half of the records, and what each column typically does to it, (c,), in units of `reach`.

    Least absolute deviations are exact where one relation holds for most records, whatever the
    others do.
    """
    design = np.vstack([np.ones(len(y)), columns]).T
    scale = np.sqrt((design**2).mean(axis=0))
    design = design / np.where(scale > 0, scale, 1)
    guess, does = np.full(len(y), np.nan), np.zeros(design.shape[1])
    away = np.abs(design - np.median(design, axis=0)) / reach[:, None]
    for part in (0, 1):
        train, test = fold != part, fold == part
        coefficients = _least_absolute(design[train], y[train], 1 / reach[train])
        guess[test] = design[test] @ coefficients
        does = np.maximum(does, (away * np.abs(coefficients)).mean(axis=0))
    return guess, does[1:]


def _least_absolute(design: np.ndarray, y: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Coefficients (p,) that make the sum of scaled absolute residuals least."""
    weights, rows = scale, design
    coefficients = np.zeros(design.shape[1])
    ridge = 1e-10 * np.eye(design.shape[1])
    for _ in range(_REWEIGHTINGS):
        weighted = rows * (weights**2)[:, None]
        cross = weighted.T @ rows
        coefficients = np.linalg.lstsq(
            cross + ridge * np.trace(cross) / len(cross), weighted.T @ y, rcond=None
        )[0]
        residual = np.abs(y - rows @ coefficients) * scale
        weights = scale / np.sqrt(np.maximum(residual, 1e-6))
    return coefficients


def permute_targets(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the targets (m,) exchanged at random among the 11 of like size."""
    order = np.argsort(y, kind="stable")
    mixed = np.lexsort((rng.random(len(y)), np.arange(len(y)) // (2 * _LIKE + 1)))
    other = np.empty_like(y)
    other[order] = y[order[mixed]]
    return other
