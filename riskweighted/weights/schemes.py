"""Weights by the name of a scheme, as study files and sweeps give it."""

import re

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.confidential import confidential_risk
from riskweighted.weights.adjust import risk_weights
from riskweighted.weights.kway import kway_alpha
from riskweighted.weights.names import UNWEIGHTED

__all__ = ["scheme_alpha", "scheme_weights"]


def scheme_alpha(world: World, scheme: str) -> pd.Series:
    """`scheme_weights` of checked data."""
    if scheme == UNWEIGHTED:
        return pd.Series(1.0, world.confidential.index, name="alpha")
    if scheme == "marginal":
        return risk_weights(confidential_risk(world))
    if scheme == "pairwise":
        return kway_alpha(world, 2)
    match = re.fullmatch(r"([1-9]\d{0,999})-way", str(scheme))
    if match is None:
        raise InputError(f"unknown weighting scheme {scheme!r}; valid are 'unweighted', 'marginal', 'pairwise', '3-way', '4-way', ...")
    k, records = int(match[1]), len(world.confidential)
    if k > max(records, 2):
        raise InputError(f"scheme {scheme!r} needs {k} records, and there are {records}; choose a smaller k")
    return kway_alpha(world, k)


def scheme_weights(scheme: str, confidential: pd.DataFrame, scenario: Scenario) -> pd.Series:
    """Weights by the name of a scheme: "unweighted", "marginal", "pairwise", or "3-way", "4-way", ...

    Parameters
    ----------
    scheme : str
    confidential : DataFrame, n rows
    scenario : Scenario

    Returns
    -------
    Series alpha on the index of `confidential`, in [0, 1].

    Raises
    ------
    InputError
        If the scheme is unknown or needs more records than there are, or as for `kway_weights`.
    """
    return scheme_alpha(make_world(confidential, scenario), scheme)
