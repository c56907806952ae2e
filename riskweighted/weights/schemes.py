"""Weights by the name of a scheme, as study files and sweeps give it."""

import re

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.intruder.scenario import Scenario
from riskweighted.weights.kway import kway_weights, marginal_weights, pairwise_weights

__all__ = ["scheme_weights"]


def scheme_weights(scheme: str, confidential: pd.DataFrame, scenario: Scenario) -> pd.Series:
    """Weights by the name of a scheme: "unweighted", "marginal", "pairwise", or "3-way", "4-way", ..."""
    if scheme == "unweighted":
        return pd.Series(1.0, confidential.index, name="alpha")
    if scheme == "marginal":
        return marginal_weights(confidential, scenario)
    if scheme == "pairwise":
        return pairwise_weights(confidential, scenario)
    match = re.fullmatch(r"([1-9]\d*)-way", str(scheme))
    if match is None:
        raise InputError(f"unknown weighting scheme {scheme!r}; valid are 'unweighted', 'marginal', 'pairwise', '3-way', '4-way', ...")
    return kway_weights(confidential, scenario, k=int(match[1]))
