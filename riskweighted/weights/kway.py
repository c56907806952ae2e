"""Marginal, pairwise and k-way weights, exact in O(n log n) (Hu et al. 2022, eq. 3, 6-9; METHODS
section 3).
"""

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.native import Frame, as_pandas
from riskweighted.intruder.neighbours import Neighbours
from riskweighted.intruder.patterns import Patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.identification import apply_singleton_policy, confidential_risk
from riskweighted.weights.adjust import risk_weights, warn_if_flat

__all__ = ["kway_alpha", "kway_weights", "marginal_weights", "pairwise_weights"]

_EXACT_BITS = 62  # sums of counts of fewer bits are exact in 64-bit integers


def _joint_risk(patterns: Patterns, neighbours: Neighbours, k: int) -> np.ndarray:
    """Mean over the (k-1)-subsets of i's pattern of the k-way joint risk, without forming them;
    (n,).

    A candidate h lies outside the balls of i and of all k-1 others in C(e_h - 1, k - 1) of the
    subsets, where e_h counts the balls of the pattern that miss h. So one value per candidate,
    summed over those outside B_i, gives the numerator. In a pattern of fewer than k records the
    largest tuple is the pattern itself.
    """
    size = patterns.in_pattern
    k = min(k, int(size.max()))
    missing = size - neighbours.covering()  # e_h
    exact = k * np.log2(size.max()) + np.log2(len(patterns.sizes)) < _EXACT_BITS
    share = np.ones(len(size), dtype=np.int64 if exact else np.longdouble)
    tuples = np.ones(len(size), dtype=share.dtype)
    for t in range(1, k):
        allowed, free = size > t, np.maximum(missing - t, 0)
        np.multiply(share, free, out=share, where=allowed)
        if exact:  # falling factorials: the binomials without their common (k-1)!
            np.multiply(tuples, size - t, out=tuples, where=allowed)
        else:
            np.divide(share, size - t, out=share, where=allowed)
    outside = patterns.sums(share) - neighbours.sums(share)
    return np.asarray(outside / (size * tuples), dtype=float)


def kway_alpha(world: World, k: int) -> pd.Series:
    """`kway_weights` of checked data."""
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise InputError(f"k must be a whole number >= 1, got {k!r}")
    risk = apply_singleton_policy(
        _joint_risk(world.patterns, world.neighbours, int(k)), world.patterns, world.scenario
    )
    return warn_if_flat(
        pd.Series(np.clip(1.0 - risk, 0.0, 1.0), world.confidential.index, name="alpha")
    )


def kway_weights(confidential: Frame, scenario: Scenario, *, k: int) -> pd.Series:
    """Return weights from the joint risk of each record with k - 1 others of its pattern (METHODS
    section 3).

    k = 1 gives the marginal weights (Hu et al. 2022, eq. 3), k = 2 the pairwise ones (eq. 6-9), k =
    3 and 4 the three- and four-way weights that section 3.2.1 of the paper mentions. Exact, O(n log
    n): no pair or tuple is formed.

    Parameters
    ----------
    confidential : DataFrame, n rows
    scenario : Scenario
    k : int >= 1
        In a pattern of M < k records, M is used.

    Returns
    -------
    Series, on the index of `confidential`, in [0, 1]; lower means more protection.

    Raises
    ------
    InputError
        If a column is unknown, a sensitive value is infinite, or k is not a whole number >= 1.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario
    >>> rw.kway_weights(data, scenario, k=3).round(2).head(4).tolist()
    [0.47, 0.51, 0.51, 0.41]
    """
    return kway_alpha(make_world(as_pandas(confidential), scenario), k)


def marginal_weights(confidential: Frame, scenario: Scenario) -> pd.Series:
    """Return the marginal weights, alpha_i = 1 - IR_i^c (Hu et al. 2022, eq. 3); see
    `kway_weights`.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario
    >>> rw.marginal_weights(data, scenario).round(2).head(4).tolist()
    [0.24, 0.27, 0.27, 0.06]
    """
    return risk_weights(confidential_risk(make_world(as_pandas(confidential), scenario)))


def pairwise_weights(confidential: Frame, scenario: Scenario) -> pd.Series:
    """Return the pairwise weights, alpha_i = 1 - mean over j of IR_ij^c in i's pattern (Hu et al.
    2022, eq. 6-9); see `kway_weights`.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario
    >>> rw.pairwise_weights(data, scenario).round(2).head(4).tolist()
    [0.37, 0.4, 0.4, 0.26]
    """
    return kway_alpha(make_world(as_pandas(confidential), scenario), 2)
