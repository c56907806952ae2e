"""Propensity-score distance: can a model tell synthetic records from confidential ones? (Snoke et
al. 2018)
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.groups import Grouping
from riskweighted.utility.contingency_tables import Columns

__all__ = ["FileCodes", "PropensityDistance", "file_propensity", "ordered_variables"]

FileCodes: TypeAlias = Mapping[str, np.ndarray]  # of one file the groups of each variable, (n,)

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


def ordered_variables(
    confidential: Columns, groupings: Mapping[str, Grouping], files: Sequence[Columns]
) -> list[str]:
    """The variables whose group numbers mean an order: of numbers, of ordered categories, of two
    levels.
    """

    def is_ordered(name: str) -> bool:
        column, grouping = confidential[name], groupings[name]
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        declared = isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
        if numeric or declared:
            return True
        seen = set[int]()
        for file in files:
            seen |= set(pd.unique(grouping.codes(file[name])).tolist())
            if len(seen) > 2:
                return False
        return True

    return [name for name in groupings if is_ordered(name)]


def file_propensity(
    confidential: FileCodes, synthetic: FileCodes, ordered: Sequence[str], free: Collection[str]
) -> PropensityDistance:
    """pMSE of all variables of the file at once, of any type, from the groups (`groupings_of`) of
    each in the confidential data and in one synthetic dataset (METHODS section 6).

    The logistic regression has a dummy for each group of each variable but one, and for each pair
    with a synthesized variable (`free`) the product of their group numbers; a variable that is not
    among the `ordered` ones has no such product. Columns that follow from others count once, and
    those of the unsynthesized variables alone are equal in both files and do not count in the null.
    Records of the same groups stand together.
    """
    both = {name: np.concatenate([codes, synthetic[name]]) for name, codes in confidential.items()}
    total, n = (len(next(iter(codes.values()))) for codes in (both, confidential))
    which = np.zeros(total, dtype=np.int64)
    for codes in both.values():
        which = pd.factorize(which * (int(codes.max(initial=0)) + 1) + codes)[0]
    first = np.empty(int(which.max(initial=-1)) + 1, dtype=np.int64)
    first[which[::-1]] = np.arange(total)[::-1]
    counts, drawn = (np.bincount(each, minlength=len(first)) for each in (which, which[n:]))
    means = {name: codes.mean() for name, codes in both.items()}
    alike = {name: codes[first] for name, codes in both.items()}
    fixed, added = (
        np.reshape(list(columns), (-1, len(first))).T
        for columns in _columns(alike, means, ordered, free)
    )
    return _distance(fixed, added, counts.astype(float), drawn.astype(float))


def _columns(
    codes: FileCodes, means: Mapping[str, float], ordered: Sequence[str], free: Collection[str]
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
                yield (codes[name] - means[name]) * (codes[other] - means[other])

    return fixed(), added()


def _distance(
    fixed: np.ndarray, added: np.ndarray, counts: np.ndarray, drawn: np.ndarray
) -> PropensityDistance:
    """pMSE of the columns (m, p), over the null of those that are added; of each row, ``counts``
    (m,): how many records have it, and ``drawn`` (m,) of the synthetic ones.
    """
    columns, first = np.column_stack([fixed, added]), slice(fixed.shape[1])
    gram, later = columns.T @ (counts[:, None] * columns), slice(fixed.shape[1], None)
    basis = _directions(gram[first, first], np.diag(gram)[first])
    # the part of the added columns that the fixed ones hold
    onto = basis @ (basis.T @ gram[first, later])
    further = _directions(gram[later, later] - gram[later, first] @ onto, np.diag(gram)[later])
    turn = np.block([[basis, -onto @ further], [np.zeros((len(further), basis.shape[1])), further]])
    total = counts.sum()
    share, free = float(drawn.sum() / total), further.shape[1]
    scores = _scores(columns, turn, turn.T @ gram @ turn, counts, drawn)
    pmse = float(counts @ (scores - share) ** 2 / total)
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
    columns: np.ndarray, turn: np.ndarray, gram: np.ndarray, counts: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Fitted probabilities (m,) of a logistic regression on columns (m, p) @ turn (p, r), by
    Newton's method; `counts` and `drawn` as of `_distance`.

    ``gram`` (r, r): the products of what is regressed on, four times the curvature where Newton's
    method begins.
    """
    slopes, scores, hessian = np.zeros(turn.shape[1]), np.full(len(counts), 0.5), gram / 4
    for step in range(_STEPS):
        if step:
            weighted = columns * np.sqrt(counts * scores * (1 - scores))[:, None]
            hessian = turn.T @ (weighted.T @ weighted) @ turn
        hessian[np.diag_indices_from(hessian)] += _RIDGE
        slopes = slopes + np.linalg.solve(hessian, turn.T @ (columns.T @ (drawn - counts * scores)))
        before, scores = scores, 1 / (1 + np.exp(-np.clip(columns @ (turn @ slopes), -30, 30)))
        if np.abs(scores - before).max() < _NEAR:
            break
    return np.asarray(scores)
