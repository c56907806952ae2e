"""Figures of a file that is given as different rows and how many records each row stands for,
without the records being made.

``counts`` (m,) are whole numbers; None where each row is a record, and then every figure is what
NumPy says of the values.
"""

from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError

__all__ = [
    "checked_counts",
    "cut_of",
    "first_records",
    "mean_of",
    "median_of",
    "number_of",
    "quantile_of",
    "records_at",
    "sd_of",
]

_MOST = 2**53  # records, of which sums of floats are still whole numbers


def checked_counts(counts: Any, index: pd.Index) -> pd.Series:
    """How many records each row of a frame stands for, whole numbers >= 1 on its index."""
    if isinstance(counts, pd.Series) and not counts.index.equals(index):
        raise InputError(
            "counts must stand on the index of the confidential data, in its order; theirs differs"
        )
    values = np.asarray(counts)
    if values.shape != (len(index),):
        raise InputError(
            f"counts must be one whole number for each of {len(index)} rows, got shape "
            f"{values.shape}"
        )
    if values.dtype.kind not in "iuf":
        raise InputError(f"counts must be whole numbers >= 1, got dtype {values.dtype}")
    wrong = int((~((values >= 1) & (values == np.floor(values)) & (values < _MOST))).sum())
    if wrong:
        raise InputError(f"counts must be whole numbers >= 1: {wrong} of {len(values)} are not")
    return pd.Series(values.astype(np.int64), index, name="counts")


def number_of(there: np.ndarray, counts: np.ndarray | None = None) -> int:
    """The records of the rows that are there (booleans (m,))."""
    return int(there.sum() if counts is None else counts[there].sum())


def mean_of(values: np.ndarray, counts: np.ndarray | None = None) -> Any:
    """Their mean, of values (m,) or (m, p)."""
    if counts is None:
        return values.mean(axis=0)
    # a product of BLAS hangs on its threads
    return (values * counts.reshape(-1, *[1] * (values.ndim - 1))).sum(axis=0) / counts.sum()


def sd_of(values: np.ndarray, counts: np.ndarray | None = None) -> Any:
    """Their standard deviation, over n, of values (m,)."""
    return (
        values.std()
        if counts is None
        else np.sqrt(mean_of((values - mean_of(values, counts)) ** 2, counts))
    )


def quantile_of(values: np.ndarray, places: Any, counts: np.ndarray | None = None) -> Any:
    """Quantiles of the file by linear interpolation, as `numpy.quantile` gives them of the records,
    to the last bit.
    """
    if counts is None:
        return np.quantile(values, places)
    virtual = (int(counts.sum()) - 1) * np.asarray(places, dtype=float)
    below = np.floor(virtual)
    ends = records_at(values, np.stack([below, below + 1]), counts)
    found = np.array(
        [
            np.quantile(pair, share)
            for pair, share in zip(ends.reshape(2, -1).T, np.ravel(virtual - below), strict=True)
        ]
    )
    return found.reshape(virtual.shape)[()]


def cut_of(values: np.ndarray, place: float, counts: np.ndarray | None = None) -> Any:
    """The least value of the file that at least such a share of the records does not exceed."""
    if counts is None:
        return np.quantile(values, place, method="inverted_cdf")
    return records_at(values, np.ceil(np.array([int(counts.sum()) * place - 1])), counts)[0]


def median_of(values: np.ndarray, counts: np.ndarray | None = None) -> float:
    """As `numpy.median` gives it of the records, to the last bit."""
    if counts is None:
        return float(np.median(values))
    total = int(counts.sum())
    return float(records_at(values, np.array([(total - 1) // 2, total // 2]), counts).mean())


def records_at(values: np.ndarray, ranks: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The values at ranks 0, 1, ... of the file in increasing order; a rank beyond the last is the
    last.
    """
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    return np.asarray(
        values[order][np.searchsorted(ends, np.clip(ranks, 0, ends[-1] - 1), side="right")]
    )


def first_records(counts: np.ndarray | None, n: int, most: int) -> np.ndarray:
    """The rows of the first records of a file of n rows, (most,) or fewer where it has fewer."""
    first = np.arange(min(n, most))
    return (
        first if counts is None else np.repeat(first, np.minimum(counts[: len(first)], most))[:most]
    )
