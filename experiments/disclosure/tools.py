"""Known tools: each takes a case, its values of the sensitive variable, the rows that it learns
from, and a generator; it gives (L, n).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.peers_methods import (
    cart,
    gaussian_copula,
    log_normal_noise,
    normal_scores_regression,
    top_coding,
)
from experiments.disclosure.cases import Case
from riskweighted.common.frames import with_columns
from riskweighted.design.formulas import response_name

__all__ = [
    "TOOLS",
    "L",
    "Tool",
    "altered",
    "leaf_donors",
    "learned",
    "log_normal",
    "poisoned",
    "rank_swapping",
]

L = 20
SWAPPED = 0.05  # of the ranks: how far a value moves at most
Tool = Callable[[Case, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def log_normal(
    case: Case, y: np.ndarray, train: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Conjugate log-normal regression, its parameters drawn anew for every dataset."""
    x, logs = case.design, np.log(y[train])
    design_matrix = x[train]
    slopes, *_ = np.linalg.lstsq(design_matrix, logs, rcond=None)
    residual, free = ((logs - design_matrix @ slopes) ** 2).sum(), len(train) - x.shape[1]
    root = np.linalg.cholesky(np.linalg.inv(design_matrix.T @ design_matrix))
    made = np.empty((L, len(x)))
    for copy in range(L):
        scale = np.sqrt(residual / rng.chisquare(free))
        made[copy] = x @ (slopes + scale * root @ rng.normal(size=x.shape[1])) + scale * rng.normal(
            size=len(x)
        )
    return np.exp(made)


def leaf_donors(
    case: Case, y: np.ndarray, train: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Donors from the five training records that are nearest by a regression's prediction, ties at
    random.
    """
    x = case.design
    slopes, *_ = np.linalg.lstsq(x[train], np.log(y[train]), rcond=None)
    place = x @ slopes + 1e-6 * np.random.default_rng(7).random(len(x))
    order = np.argsort(place[train])
    first = np.clip(np.searchsorted(place[train][order], place) - 2, 0, len(train) - 5)
    return np.array([y[train][order][first + rng.integers(0, 5, len(x))] for _ in range(L)])


def rank_swapping(formula: str, data: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Every value changes places with one whose rank is at most 5 % of the records away, from
    below, (n,).
    """
    values = data[response_name(formula)].to_numpy(dtype=float)
    order = np.lexsort((rng.random(len(values)), values))
    shown = values[order]
    far = max(int(SWAPPED * len(values)), 1)
    free = np.ones(len(values), dtype=bool)
    for place in range(len(values)):
        if free[place]:
            others = np.flatnonzero(free[place + 1 : place + far + 1])
            other = place + 1 + int(rng.choice(others)) if len(others) else place
            shown[[place, other]] = shown[[other, place]]
            free[[place, other]] = False
    made = np.empty_like(values)
    made[order] = shown
    return made


def learned(method: Callable[..., np.ndarray]) -> Tool:
    """A method of `benchmarks.peers_methods` that learns from some rows and makes values for
    all.
    """

    def made(case: Case, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        data = with_columns(case.data, {case.target: y})
        return np.array([method(case.formula, data, rng, train) for _ in range(L)])

    return made


def altered(method: Callable[..., np.ndarray]) -> Tool:
    """A method that alters the values themselves; who is left out holds the value of another with
    the same columns.
    """

    def made(case: Case, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shown = y.copy()
        _, pattern = np.unique(case.design, axis=0, return_inverse=True)
        for row in np.setdiff1d(np.arange(len(y)), train):
            mates = train[pattern[train] == pattern[row]]
            shown[row] = y[rng.choice(mates if len(mates) else train)]
        data = with_columns(case.data, {case.target: shown})
        return np.array([method(case.formula, data, rng) for _ in range(L)])

    return made


def poisoned(share: float) -> Tool:
    """The regression with the true values of a share of the records that it was trained on, the
    same ones in every dataset.
    """

    def made(case: Case, y: np.ndarray, train: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        values = log_normal(case, y, train, rng)
        true = rng.choice(train, int(share * len(y)), replace=False)
        values[:, true] = y[true]
        return values

    return made


TOOLS: dict[str, Tool] = {
    "conjugate log-normal regression": log_normal,
    "Gaussian copula": learned(gaussian_copula),
    "normal-scores regression": learned(normal_scores_regression),
    "CART, leaves of 20": learned(partial(cart, least=20)),
    "CART, leaves of 5": learned(cart),
    "donors among the 5 nearest": leaf_donors,
    "rank swapping 5 %": altered(rank_swapping),
    "log-normal noise 20 %": altered(log_normal_noise),
    "top-coding 3 %": altered(top_coding),
}
