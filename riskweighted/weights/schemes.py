"""Weights by the name of a scheme, as study files and sweeps give it."""

import re
from typing import TYPE_CHECKING

import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World, make_world
from riskweighted.risk.confidential import confidential_risk
from riskweighted.weights.adjust import risk_weights, warn_if_flat
from riskweighted.weights.families import FAMILIES, family_alpha
from riskweighted.weights.kway import kway_alpha
from riskweighted.weights.names import UNWEIGHTED

if TYPE_CHECKING:
    from riskweighted.synthesis.posterior import Fit

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


def scheme_weights(name: str, confidential: pd.DataFrame, scenario: Scenario, fit: "Fit | None" = None, **settings: float) -> pd.Series:
    """Weights by the name of a scheme (METHODS sections 3 and 9.2).

    - "unweighted", "marginal", "pairwise", or "3-way", "4-way", ...
    - "uniform": c for all. "delete": 0 for records whose IR^c lies above its 1 - q quantile, 1 for the others. "power": marginal
      weights to the power g. "mix": 1 - t (1 - alpha), alpha being the marginal weights.
    - "lipschitz": clip(c (1 - (f_i - min f) / (max f - min f)) + g, 0, 1), f_i = max_s abs(log p(y_i | theta_s)) under the unweighted
      `fit`; c = 1, g = 0 by default. "lipschitz-target": min(1, D / f_i).
    - "reweighted": clip(c alpha_i Delta / Delta_i, 0, 1), alpha and Delta being those of a weighted `fit`; c = 0.95 by default, 0 stays 0.
      The influence of its refit must be measured again: nothing bounds it.

    Parameters
    ----------
    name : str
    confidential : DataFrame, n rows
    scenario : Scenario
    fit : Fit, optional
        For "lipschitz", "lipschitz-target" (unweighted) and "reweighted".
    **settings
        c, q, g, t or D, as above.

    Returns
    -------
    Series alpha on the index of `confidential`, in [0, 1].

    Raises
    ------
    InputError
        If the scheme is unknown, lacks a setting or a fit or has one that it does not know, or needs more records than there are; or as
        for `kway_weights`.
    """
    world = make_world(confidential, scenario)
    if name in FAMILIES:
        return warn_if_flat(family_alpha(world, name, fit, settings))
    if settings:
        raise InputError(f"scheme {name!r} has no setting {next(iter(settings))!r}; schemes with settings are {', '.join(FAMILIES)}")
    return scheme_alpha(world, name)
