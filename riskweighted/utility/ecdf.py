"""Distance between the confidential and the synthetic empirical distribution functions (Woo et al.
2009).
"""

import contextlib
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.common.value_counts import LevelCounts, ValueCounts
from riskweighted.utility.bootstrap import count_values
from riskweighted.utility.kernels.merging import compare_shares

__all__ = ["EcdfDistance", "ecdf_distance", "mean_ecdf_distance", "mean_total_variation"]

_EMPTY = (
    "{} values must be one non-empty array without missing values; leave those out, and special "
    "codes too"
)


class EcdfDistance(NamedTuple):
    """``maximum`` (U_m) and ``mean_square`` (U_a) of the difference; 0 is identical, higher is less
    useful.
    """

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
    return _distance(
        *(
            count_values(_numbers(values, what))
            for what, values in (("confidential", confidential), ("synthetic", synthetic))
        )
    )


def _numbers(values: object, what: str) -> np.ndarray:
    given = None
    with contextlib.suppress(TypeError, ValueError):
        given = np.asarray(values, dtype=float)
    if given is None or given.ndim != 1:
        raise InputError(f"{what} values must be one array of numbers, got {type(values).__name__}")
    if np.isnan(given).any():
        raise InputError(_EMPTY.format(what))
    return given


def mean_ecdf_distance(
    confidential: np.ndarray | ValueCounts, synthetic: Sequence[np.ndarray | ValueCounts]
) -> EcdfDistance:
    """U_m and U_a of each synthetic dataset, averaged over the L datasets (METHODS section 6), of
    values or of their counts.
    """
    true = count_values(confidential)
    distances = np.array([_distance(true, count_values(values)) for values in synthetic])
    return EcdfDistance(*map(float, distances.mean(axis=0)))


def _distance(one: ValueCounts, other: ValueCounts) -> EcdfDistance:
    for what, values in (("confidential", one), ("synthetic", other)):
        if len(values) == 0:
            raise InputError(_EMPTY.format(what))
    return EcdfDistance(*compare_shares(one.values, one.ends, other.values, other.ends))


def mean_total_variation(confidential: LevelCounts, synthetic: Sequence[LevelCounts]) -> float:
    """Half the sum of absolute differences of the shares of levels, missing being one, mean over L
    datasets; 0 is identical.
    """

    def shares(of: LevelCounts) -> dict[object, float]:
        return {level: count / len(of) for level, count in of.with_missing}

    def variation(theirs: dict[object, float]) -> float:
        levels = dict.fromkeys([*true, *theirs])
        return math.fsum(abs(true.get(level, 0.0) - theirs.get(level, 0.0)) for level in levels) / 2

    true = shares(confidential)
    return float(np.mean([variation(shares(drawn)) for drawn in synthetic]))
