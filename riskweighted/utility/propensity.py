"""Propensity-score distance: can a model tell synthetic records from confidential ones? (Snoke et
al. 2018)
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.utility.tables import FileCodes

__all__ = ["PropensityDistance", "coded_propensity"]

_SAME = 1e-9  # of the largest eigenvalue: directions below it hold nothing of their own
# Newton's steps, and the change of a score at which they end: the next one would be its square
_STEPS, _NEAR = 30, 1e-5
_RIDGE = 1e-8  # keeps a step finite where a group stands in one file only and its slope has no end


class PropensityDistance(NamedTuple):
    """``pmse``; ``ratio`` to its expectation under a correct synthesis (1 is ideal);
    ``standardised``: (pmse - mean)/sd.
    """

    pmse: float
    ratio: float
    standardised: float


def coded_propensity(
    codes: FileCodes, confidential: pd.DataFrame, free: Collection[str]
) -> list[PropensityDistance]:
    """pMSE of all variables of the file at once, of any type, for each of L synthetic datasets
    (METHODS section 6).

    The logistic regression has a dummy for each group (`table_utility`) of each variable but one,
    and for each pair with a synthesized variable (`free`) the product of their group numbers; an
    unordered variable of more than two levels has no such product. Columns that follow from others
    count once, and those of the unsynthesized variables alone are equal in both files and do not
    count in the null.
    """
    ordered = [name for name in codes if _is_ordered(confidential[name], codes[name])]
    distances = []
    for dataset in range(1, len(next(iter(codes.values())))):
        both = {name: np.concatenate([files[0], files[dataset]]) for name, files in codes.items()}
        rows = len(next(iter(both.values())))
        fixed, added = (
            np.reshape(list(columns), (-1, rows)).T for columns in _columns(both, ordered, free)
        )
        distances.append(_distance(fixed, added, len(confidential)))
    return distances


def _is_ordered(column: pd.Series, codes: Sequence[np.ndarray]) -> bool:
    """Whether group numbers mean an order: of numbers, of ordered categories, of two levels."""
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    declared = isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
    return numeric or declared or len(np.unique(np.concatenate(list(codes)))) <= 2


def _columns(
    codes: Mapping[str, np.ndarray], ordered: Sequence[str], free: Collection[str]
) -> tuple[Iterator[np.ndarray], Iterator[np.ndarray]]:
    """The columns of both files that no synthesized variable enters, a constant first, and those
    that one enters.
    """

    def dummies(synthesized: bool) -> Iterator[np.ndarray]:
        for name, groups in codes.items():
            if (name in free) == synthesized:
                yield from (
                    np.asarray(groups == code, dtype=float) for code in np.unique(groups)[1:]
                )

    def fixed() -> Iterator[np.ndarray]:
        yield np.ones(len(next(iter(codes.values()))))
        yield from dummies(False)

    def added() -> Iterator[np.ndarray]:
        yield from dummies(True)
        for name, other in combinations(ordered, 2):
            if name in free or other in free:
                yield (codes[name] - codes[name].mean()) * (codes[other] - codes[other].mean())

    return fixed(), added()


def _distance(fixed: np.ndarray, added: np.ndarray, confidential: int) -> PropensityDistance:
    """pMSE of the columns, of which the first `confidential` rows are of the one file, over the
    null of those that are added.
    """
    columns, first = np.column_stack([fixed, added]), slice(fixed.shape[1])
    gram, later = columns.T @ columns, slice(fixed.shape[1], None)
    basis = _directions(gram[first, first], np.diag(gram)[first])
    # the part of the added columns that the fixed ones hold
    onto = basis @ (basis.T @ gram[first, later])
    further = _directions(gram[later, later] - gram[later, first] @ onto, np.diag(gram)[later])
    turn = np.block([[basis, -onto @ further], [np.zeros((len(further), basis.shape[1])), further]])
    total = len(columns)
    label = np.arange(total) >= confidential
    share, free = 1 - confidential / total, further.shape[1]
    pmse = float(((_scores(columns, turn, turn.T @ gram @ turn, label) - share) ** 2).mean())
    null = float((1 - share) ** 2 * share / total)
    if free == 0:  # every synthesized variable has one value in both files
        return PropensityDistance(pmse, np.nan, np.nan)
    return PropensityDistance(
        pmse, pmse / (free * null), (pmse - free * null) / (math.sqrt(2 * free) * null)
    )


def _directions(gram: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """What (p, r) makes columns with these products (p, p) into an orthonormal basis of what they
    span.

    `squares` (p,): their sums of squares before something was taken out, which rounding is judged
    by.
    """
    length = np.sqrt(np.where(squares > 0, squares, 1.0))
    values, vectors = np.linalg.eigh(gram / length[:, None] / length)
    kept = values > _SAME
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / length[:, None])


def _scores(
    columns: np.ndarray, turn: np.ndarray, gram: np.ndarray, label: np.ndarray
) -> np.ndarray:
    """Fitted probabilities (N,) of a logistic regression on columns (N, p) @ turn (p, r), by
    Newton's method.

    ``gram`` (r, r): the products of what is regressed on, four times the curvature where Newton's
    method begins.
    """
    slopes, scores, hessian = np.zeros(turn.shape[1]), np.full(len(label), 0.5), gram / 4
    for step in range(_STEPS):
        if step:
            weighted = columns * np.sqrt(scores * (1 - scores))[:, None]
            hessian = turn.T @ (weighted.T @ weighted) @ turn
        hessian[np.diag_indices_from(hessian)] += _RIDGE
        slopes = slopes + np.linalg.solve(hessian, turn.T @ (columns.T @ (label - scores)))
        before, scores = scores, 1 / (1 + np.exp(-np.clip(columns @ (turn @ slopes), -30, 30)))
        if np.abs(scores - before).max() < _NEAR:
            break
    return np.asarray(scores)
