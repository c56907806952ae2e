"""Any risk as weights, and weights scaled: by hand (the authors' code), or to an equal total for a
fair comparison.
"""

import warnings

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_number
from riskweighted.common.errors import FlatWeightsWarning, InputError
from riskweighted.common.frames import check_weights
from riskweighted.common.units import Arrangement

__all__ = [
    "adjust_weights",
    "cluster_weights",
    "equalize_weights",
    "risk_weights",
    "running_weights",
    "warn_if_flat",
]


def risk_weights(risk: pd.Series) -> pd.Series:
    """Return alpha = 1 - risk (n,) for any risk of records in [0, 1], such as an expected match
    risk or one of your own.

    Examples
    --------
    >>> rw.risk_weights(pd.Series([0.0, 0.25, 1.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    return warn_if_flat((1.0 - _as_series(risk, "risk")).rename("alpha"))


def warn_if_flat(alpha: pd.Series) -> pd.Series:
    """The weights as they are; says so where they are all 1 or all 0."""
    if (alpha == 1).all():
        warnings.warn(
            f"all {len(alpha)} weights are 1: nobody is protected; check the radius (a share: "
            "0.2 is 20 %) and the known variables",
            FlatWeightsWarning,
            stacklevel=3,
        )
    elif (alpha == 0).all():
        warnings.warn(
            f"all {len(alpha)} weights are 0: no record would be used; enlarge the radius, "
            "coarsen the known variables or raise the shift",
            FlatWeightsWarning,
            stacklevel=3,
        )
    return alpha


def _as_series(weights: pd.Series | np.ndarray, what: str = "weights") -> pd.Series:
    """Checked weights on their own index."""
    return check_weights(
        weights,
        weights.index if isinstance(weights, pd.Series) else pd.RangeIndex(np.size(weights)),
        what=what,
    )


def adjust_weights(alpha: pd.Series, scale: float = 1, shift: float = 0) -> pd.Series:
    """Return clip(scale * alpha + shift, 0, 1) (n,), scale >= 0: the authors' two adjustments
    towards utility or towards privacy.

    Examples
    --------
    >>> rw.adjust_weights(pd.Series([0.2, 0.5, 0.9]), scale=1.5).round(2).tolist()
    [0.3, 0.75, 1.0]
    """
    scale, shift = check_number(scale, "scale", least=0), check_number(shift, "shift")
    return warn_if_flat((scale * _as_series(alpha) + shift).clip(0.0, 1.0).rename("alpha"))


def cluster_weights(alpha: pd.Series, clusters: pd.Series) -> pd.Series:
    """Return for every record the smallest weight of its cluster, such as a household (METHODS
    section 9.2).

    Parameters
    ----------
    alpha : Series (n,)
    clusters : Series (n,) on the same index
        Records of equal value make a cluster; all missing ones do.

    Raises
    ------
    InputError
        If the two have other indices.

    Examples
    --------
    >>> rw.cluster_weights(pd.Series([0.9, 0.4, 0.7]), pd.Series(["a", "a", "b"])).tolist()
    [0.4, 0.4, 0.7]
    """
    alpha = _as_series(alpha)
    if not alpha.index.equals(clusters.index):
        raise InputError(
            f"clusters must have the index of the {len(alpha)} weights, got {len(clusters)} "
            "on another index"
        )
    codes, _ = pd.factorize(clusters, use_na_sentinel=False)
    smallest = alpha.groupby(codes).transform("min")
    return warn_if_flat(pd.Series(smallest.to_numpy(), alpha.index, name="alpha"))


def running_weights(alpha: pd.Series, arrangement: Arrangement) -> pd.Series:
    """Return for every record the smallest of its own weight and those of the members of its unit
    before it (METHODS section 9.2).

    What a member adds to the likelihood is its value given those before it, and so is its weight: a
    function of these values alone.
    """
    smallest = alpha.to_numpy(dtype=float).copy()
    for rows in arrangement.by_position[1:]:
        smallest[rows] = np.minimum(smallest[rows], smallest[arrangement.previous[rows]])
    return warn_if_flat(pd.Series(smallest, alpha.index, name="alpha"))


def equalize_weights(alpha: pd.Series, total: float) -> pd.Series:
    """Return min(1, m * alpha) (n,), with m such that the weights sum to `total`, to compare
    schemes at equal total weight.

    Raises
    ------
    InputError
        If `total` is negative or exceeds the number of records with a positive weight, which no m
        can reach.

    Examples
    --------
    >>> rw.equalize_weights(pd.Series([0.1, 0.2, 0.4]), total=1.4).round(2).tolist()
    [0.2, 0.4, 0.8]
    """
    alpha = _as_series(alpha)
    total, positive = check_number(total, "total"), int((alpha > 0).sum())
    if not 0 <= total <= positive:
        raise InputError(
            f"total must lie between 0 and the {positive} records of positive weight, got {total!r}"
        )
    # m * alpha reaches 1 for the largest weights first: with j of them at 1, the others share total
    # - j.
    values = np.sort(alpha.to_numpy())[::-1]
    rest = np.cumsum(values[::-1])[::-1]  # sum of the j-th largest and below
    for_each = np.divide(
        total - np.arange(len(values)), rest, out=np.zeros(len(values)), where=rest > 0
    )
    # the first j whose next largest stays at or below 1
    enough = np.flatnonzero(for_each * values <= 1.0)
    m = for_each[enough[0]] if total < positive else np.inf
    scaled = np.ones(len(alpha)) if np.isinf(m) else np.minimum(1.0, m * alpha.to_numpy())
    return pd.Series(np.where(alpha.to_numpy() > 0, scaled, 0.0), alpha.index, name="alpha")
