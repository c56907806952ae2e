"""Distance between the confidential and the synthetic empirical distribution functions (Woo et al. 2009)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.groups import group_codes
from riskweighted.utility.bootstrap import in_order
from riskweighted.utility.kernels.merging import compare_shares

__all__ = ["EcdfDistance", "ecdf_distance", "mean_ecdf_distance", "mean_total_variation"]


class EcdfDistance(NamedTuple):
    """``maximum`` (U_m) and ``mean_square`` (U_a) of the difference; 0 is identical, higher is less useful."""

    maximum: float
    mean_square: float


def ecdf_distance(confidential: np.ndarray, synthetic: np.ndarray) -> EcdfDistance:
    """Return U_m and U_a over all values of both datasets merged, ties kept (METHODS section 6).

    Parameters
    ----------
    confidential : array (n,)
    synthetic : array (m,)

    Raises
    ------
    InputError
        If either is empty or holds missing values.

    Examples
    --------
    >>> round(rw.ecdf_distance(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])).maximum, 3)
    0.333
    """
    both = [np.asarray(values, dtype=float) for values in (confidential, synthetic)]
    for what, values in zip(("confidential", "synthetic"), both, strict=True):
        if values.ndim != 1 or len(values) == 0 or np.isnan(values).any():
            raise InputError(f"{what} values must be one non-empty array without missing values; leave those out, and special codes too")
    return EcdfDistance(*compare_shares(*map(in_order, both)))


def mean_ecdf_distance(confidential: np.ndarray, synthetic: Sequence[np.ndarray]) -> EcdfDistance:
    """U_m and U_a of each synthetic dataset, averaged over the L datasets (METHODS section 6)."""
    confidential = in_order(np.asarray(confidential, dtype=float))
    distances = np.array([ecdf_distance(confidential, values) for values in synthetic])
    return EcdfDistance(*map(float, distances.mean(axis=0)))


def mean_total_variation(confidential: pd.Series, synthetic: Sequence[pd.Series]) -> float:
    """Half the sum of absolute differences of the shares of levels, missing being one, mean over L datasets; 0 is identical."""
    codes = group_codes([confidential, *synthetic], 2, numeric=False)
    levels = 1 + max(int(file.max()) for file in codes)
    confidential_shares, *datasets = (np.bincount(file, minlength=levels) / len(file) for file in codes)
    return float(np.mean([np.abs(confidential_shares - shares).sum() / 2 for shares in datasets]))
