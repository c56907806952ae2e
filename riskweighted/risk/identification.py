"""Identification risk of each record, in the confidential data and in synthetic data (Hu et al.
2022, eq. 1, 2).
"""

import warnings
from typing import overload

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, SingletonWarning
from riskweighted.common.native import Frame, GivenFrames, as_pandas
from riskweighted.intruder.neighbours import Neighbourhood, Neighbours
from riskweighted.intruder.patterns import Patterns
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.world import Paired, World, make_world

__all__ = [
    "apply_singleton_policy",
    "confidential_risk",
    "identification_risk",
    "identification_risks",
    "mean_identification_risk",
    "record_risks",
]


def apply_singleton_policy(risk: np.ndarray, patterns: Patterns, scenario: Scenario) -> np.ndarray:
    """Risk of the records that are alone in their pattern: 1 ("protect"), 0 ("paper") or a refusal
    ("error").
    """
    count = patterns.singletons
    if count == 0:
        return risk
    alone = (
        f"{count} of {len(patterns.sizes)} known patterns hold a single record, which the "
        "pattern alone identifies"
    )
    if scenario.singletons == "error":
        raise InputError(
            f"{alone}; coarsen the known variables, or set singletons to 'protect' or 'paper'"
        )
    if scenario.singletons == "paper":
        warnings.warn(
            f"{alone}; singletons='paper': risk 0, weight 1 as eq. 2 is printed",
            SingletonWarning,
            stacklevel=4,
        )
        return np.where(patterns.in_pattern == 1, 0.0, risk)
    warnings.warn(
        f"{alone}; singletons='protect': risk 1, weight 0", SingletonWarning, stacklevel=4
    )
    return np.where(patterns.in_pattern == 1, 1.0, risk)


def confidential_risk(world: World) -> pd.Series:
    """Identification risk of each confidential record, IR^c, in [0, 1] (Hu et al. 2022, eq. 2),
    with the scenario's rule for singletons.
    """
    risk = Neighbourhood(world.patterns.in_pattern, world.neighbours.within).risk
    return pd.Series(
        apply_singleton_policy(risk, world.patterns, world.scenario),
        world.confidential.index,
        name="identification_risk",
    )


def identification_risks(paired: Paired) -> np.ndarray:
    """IR_i^(l) of every record in every synthetic dataset, (L, n), in [0, 1] (Hu et al. 2022, eq.
    1).

    That is the share of the pattern's synthetic values outside the ball around the confidential
    value, where the record's own synthetic value lies inside it, else 0. Under
    `singletons="protect"` a record that is alone in its pattern is found by the pattern, so its
    risk is whether its own synthetic value is near (METHODS section 2).
    """
    return np.stack([record_risks(paired.world, neighbours) for neighbours in paired.neighbours()])


def record_risks(world: World, neighbours: Neighbours) -> np.ndarray:
    """IR_i^(l) of every record in one synthetic dataset whose records lie in the balls as
    `neighbours` say, (n,).
    """
    in_pattern, singletons = world.patterns.in_pattern, world.scenario.singletons
    outside = Neighbourhood(in_pattern, neighbours.within).risk
    if singletons == "protect":
        outside[in_pattern == 1] = 1.0
    return np.asarray(outside * neighbours.own_inside)


def mean_identification_risk(paired: Paired) -> np.ndarray:
    """IR_i of every record, the mean of `identification_risks` over the datasets, (n,); summed
    dataset by dataset.
    """
    total = np.zeros(len(paired.world.confidential))
    for neighbours in paired.neighbours():
        total += record_risks(paired.world, neighbours)
    return total / len(paired)


@overload
def identification_risk(
    confidential: Frame, synthetic: "GivenFrames | None", scenario: Scenario
) -> pd.Series: ...


@overload
def identification_risk(confidential: Frame, *, scenario: Scenario) -> pd.Series: ...


def identification_risk(
    confidential: Frame, synthetic: "GivenFrames | None" = None, scenario: Scenario | None = None
) -> pd.Series:
    """Return the identification risk of each record (Hu et al. 2022, eq. 1 and 2).

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : DataFrame, sequence of DataFrames, or None
        None: the risk in the confidential data, IR^c (eq. 2), with the scenario's rule for
        singleton patterns. Frames: IR_i, the average over them of eq. 1. The ball stays around the
        confidential value. In a pattern of one record eq. 1 gives 0 whatever is released
        (`singletons="paper"`); under "protect" it is the share of frames whose value for that
        record lies in its ball, because the pattern alone finds the record.
    scenario : Scenario
        Needed; by name where `synthetic` is left out.

    Returns
    -------
    Series named "identification_risk" on the index of `confidential`, in [0, 1]; higher is riskier.
    Confidential.

    Raises
    ------
    InputError
        If there is no scenario, the data lacks a column or has infinite sensitive values, or a
        frame does not pair with it.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, scenario, synthetic
    >>> rw.identification_risk(data, scenario=scenario).round(2).head(3).tolist()
    [0.76, 0.73, 0.73]
    >>> rw.identification_risk(data, synthetic, scenario).round(2).head(3).tolist()
    [0.22, 0.45, 0.21]
    """
    confidential, synthetic = as_pandas(confidential), as_pandas(synthetic)
    if not isinstance(scenario, Scenario) or isinstance(synthetic, Scenario):
        got = "it in second place" if isinstance(synthetic, Scenario) else type(scenario).__name__
        raise InputError(
            f"scenario must be a Scenario, got {got}: identification_risk(confidential, "
            "synthetic, scenario), synthetic may be None"
        )
    world = make_world(confidential, scenario)
    if synthetic is None:
        return confidential_risk(world)
    risk = mean_identification_risk(world.pair(synthetic))
    return pd.Series(risk, confidential.index, name="identification_risk")
