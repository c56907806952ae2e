"""What others do, written anew from their descriptions: each takes data and a generator and gives
new values of one variable.

Those that estimate something use it as it is, drawing no parameters: their rows say "plug-in".
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from riskweighted import build_design
from riskweighted.design.formulas import response_name, split_formula

__all__ = [
    "PEERS",
    "PLUG_IN",
    "cart",
    "cart_with_leaves",
    "gaussian_copula",
    "log_normal_noise",
    "normal_scores_regression",
    "top_coding",
]

PLUG_IN = "plug-in"  # parameters are estimates, used as they are
NOISE = 0.2  # standard deviation of log-normal noise
LEAST_LEAF = 5
TOP = 0.97

Method = Callable[[str, pd.DataFrame, np.random.Generator], np.ndarray]


def top_coding(formula: str, data: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Values above the 0.97 quantile are set to it, (n,)."""
    values = data[response_name(formula)].to_numpy(dtype=float)
    return np.minimum(values, np.quantile(values, TOP))


def log_normal_noise(formula: str, data: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """y exp(0.2 e - 0.02), e standard normal: multiplied by noise of mean 1, (n,)."""
    values = data[response_name(formula)].to_numpy(dtype=float)
    return values * np.exp(NOISE * rng.normal(size=len(values)) - NOISE**2 / 2)


def normal_scores_regression(
    formula: str, data: pd.DataFrame, rng: np.random.Generator, train: np.ndarray | None = None
) -> np.ndarray:
    """Normal scores of the ranks (ties at random) regressed on the predictors; drawn scores go back
    to observed values by rank, (n,).

    `train`: the rows that are learned from, if not all; values are made for all.
    """
    values, columns = _response_and_columns(formula, data)
    learned = _rows(data, train)
    shown, m = values[learned], len(learned)
    scores = np.empty(m)
    scores[np.lexsort((rng.random(m), shown))] = ndtri((np.arange(m) + 1) / (m + 1))
    return _back(shown, _regressed(scores, columns, learned, rng))


def gaussian_copula(
    formula: str, data: pd.DataFrame, rng: np.random.Generator, train: np.ndarray | None = None
) -> np.ndarray:
    """Normal scores of every variable, jointly normal: the response given the predictors, through
    its empirical margin, (n,).

    A category is its place among the sorted levels; ties share the mean of their scores. `train`:
    the rows whose response is learned from, if not all.
    """
    values, _ = _response_and_columns(formula, data)
    scores = np.column_stack(
        [_scores(_ordinal(data[name])) for name in split_formula(formula).names]
    )
    learned = _rows(data, train)
    drawn = _regressed(
        _scores(values[learned]), np.column_stack([np.ones(len(values)), scores]), learned, rng
    )
    return np.asarray(np.quantile(values[learned], ndtr(drawn)))


def cart(
    formula: str, data: pd.DataFrame, rng: np.random.Generator, train: np.ndarray | None = None
) -> np.ndarray:
    """A regression tree whose leaves hold 5 records or more; each record draws a donor from its
    leaf, (n,).

    `train`: the rows that are learned from and give, if not all.
    """
    return cart_with_leaves(formula, data, rng, train, LEAST_LEAF)[0]


def cart_with_leaves(
    formula: str, data: pd.DataFrame, rng: np.random.Generator, train: np.ndarray | None, least: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same with leaves of `least` records or more, and the leaf of every row, (n,) each."""
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError:
        raise ModuleNotFoundError(
            "CART needs scikit-learn: pip install 'riskweighted[peers]'"
        ) from None
    values, columns = _response_and_columns(formula, data)
    learned = _rows(data, train)
    tree = DecisionTreeRegressor(min_samples_leaf=least, random_state=int(rng.integers(2**31)))
    leaf = np.unique(
        tree.fit(columns[learned], values[learned]).apply(columns), return_inverse=True
    )[1]
    order, sizes = learned[np.argsort(leaf[learned], kind="stable")], np.bincount(leaf[learned])
    first = np.cumsum(sizes) - sizes
    return np.asarray(values[order[first[leaf] + rng.integers(sizes[leaf])]]), leaf


PEERS: dict[str, tuple[Method, str]] = {
    "top-coding": (top_coding, "none"),
    "log-normal noise": (log_normal_noise, "none"),
    "normal-scores regression": (normal_scores_regression, PLUG_IN),
    "CART": (cart, PLUG_IN),
    "Gaussian copula": (gaussian_copula, PLUG_IN),
}


def _response_and_columns(formula: str, data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The response (n,), and an intercept with the columns of the formula (n, 1 + p)."""
    columns = build_design(formula, data).centred
    return data[response_name(formula)].to_numpy(dtype=float), np.column_stack(
        [np.ones(len(data)), columns]
    )


def _rows(data: pd.DataFrame, train: np.ndarray | None) -> np.ndarray:
    return np.arange(len(data)) if train is None else train


def _regressed(
    scores: np.ndarray, columns: np.ndarray, learned: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Scores of all rows drawn from the least-squares regression of some, residual variance with m
    - p degrees of freedom, (n,).
    """
    coefficients, *_ = np.linalg.lstsq(columns[learned], scores, rcond=None)
    mean = columns @ coefficients
    spread = np.sqrt(((scores - mean[learned]) ** 2).sum() / (len(scores) - columns.shape[1]))
    return np.asarray(mean + spread * rng.normal(size=len(mean)))


def _back(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The observed value of the rank that a score has among n, (n,)."""
    places = np.rint(ndtr(scores) * (len(values) + 1)).astype(int) - 1
    return np.asarray(np.sort(values)[np.clip(places, 0, len(values) - 1)])


def _scores(values: np.ndarray) -> np.ndarray:
    """Normal scores by mean ranks, (n,)."""
    return np.asarray(ndtri((pd.Series(values).rank().to_numpy() - 0.5) / len(values)))


def _ordinal(column: pd.Series) -> np.ndarray:
    """Numbers as they are; levels by their place."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype=float))
    return np.asarray(pd.factorize(column, sort=True)[0].astype(float))
