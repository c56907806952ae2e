"""Identification risk in the confidential data themselves, IR^c, from which weights are made (Hu et al. 2022, eq. 2)."""

import warnings

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.intruder.neighbours import Neighbourhood
from riskweighted.intruder.patterns import Patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import World

__all__ = ["apply_singleton_policy", "confidential_risk"]


def apply_singleton_policy(risk: np.ndarray, patterns: Patterns, scenario: Scenario) -> np.ndarray:
    """Risk of the records that are alone in their pattern: 1 ("protect"), 0 ("paper") or a refusal ("error")."""
    count = patterns.singletons
    if count == 0:
        return risk
    alone = f"{count} of {len(patterns.sizes)} known patterns hold a single record, which the pattern alone identifies"
    if scenario.singletons == "error":
        raise InputError(f"{alone}; coarsen the known variables, or set singletons to 'protect' or 'paper'")
    if scenario.singletons == "paper":
        warnings.warn(f"{alone}; singletons='paper': risk 0, weight 1 as eq. 2 is printed", SingletonWarning, stacklevel=4)
        return np.where(patterns.in_pattern == 1, 0.0, risk)
    warnings.warn(f"{alone}; singletons='protect': risk 1, weight 0", SingletonWarning, stacklevel=4)
    return np.where(patterns.in_pattern == 1, 1.0, risk)


def confidential_risk(world: World) -> pd.Series:
    """Identification risk of each confidential record, IR^c, in [0, 1] (Hu et al. 2022, eq. 2), with the scenario's rule for singletons."""
    risk = Neighbourhood(world.patterns.in_pattern, world.neighbours.within).risk
    return pd.Series(apply_singleton_policy(risk, world.patterns, world.scenario), world.confidential.index, name="identification_risk")
