"""Identification risk of each record, in the confidential data and in synthetic data (S003 eq. 1, 2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskweighted.balls import Neighbourhood, find_neighbours
from riskweighted.errors import InputError, listing
from riskweighted.pairing import Frames, as_frames
from riskweighted.patterns import Patterns, cells, known_patterns
from riskweighted.scenario import Scenario, require_columns, require_finite
from riskweighted.weights import confidential_risk

__all__ = ["check_synthetic", "identification_risk", "identification_risks"]


def check_synthetic(confidential: pd.DataFrame, synthetic: pd.DataFrame, scenario: Scenario, patterns: Patterns, what: str) -> None:
    """Refuse a synthetic frame whose rows do not pair with the confidential ones.

    Rows pair by index: same length, same index in the same order, the scenario's columns present (further columns
    and their order do not matter), and the known variables unaltered.
    """
    require_columns(synthetic, (*scenario.known, *scenario.synthetic), what)
    if len(synthetic) != len(confidential):
        raise InputError(f"{what} has {len(synthetic)} records, the confidential data {len(confidential)}: rows must pair")
    if not synthetic.index.equals(confidential.index):
        raise InputError(f"{what} has another index than the confidential data: rows must pair, in the same order")
    for name in scenario.synthetic:
        numeric = scenario.is_numeric(confidential[name])
        if numeric != scenario.is_numeric(synthetic[name]):
            raise InputError(f"{what}: {name!r} has dtype {synthetic[name].dtype}, the confidential data {confidential[name].dtype}")
        require_finite(synthetic[name], what)
    stacked = [pd.concat([confidential[name], synthetic[name]], ignore_index=True) for name in scenario.known]
    codes = cells(stacked, np.zeros(2 * len(confidential), dtype=np.int64))
    altered = int((codes[: len(confidential)] != codes[len(confidential) :]).sum())
    if altered:
        raise InputError(
            f"{what}: the known variables {listing(scenario.known)} differ from the confidential data in {altered} records; "
            "they are not synthesized, so rows do not pair"
        )


def identification_risks(confidential: pd.DataFrame, synthetic: Sequence[pd.DataFrame], scenario: Scenario) -> np.ndarray:
    """IR_i^(l) of every record in every synthetic dataset (S003 eq. 1).

    Parameters
    ----------
    confidential : DataFrame, n rows
    synthetic : sequence of L DataFrames, each paired with `confidential` row by row
    scenario : Scenario

    Returns
    -------
    ndarray (L, n), in [0, 1]: the share of the pattern's synthetic values outside the ball around the confidential
    value, where the record's own synthetic value lies inside it, else 0.
    """
    scenario.check(confidential)
    patterns = known_patterns(confidential, scenario.known)
    frames = as_frames(synthetic)
    risks = np.empty((len(frames), len(confidential)))
    for number, frame in enumerate(frames):
        check_synthetic(confidential, frame, scenario, patterns, f"synthetic dataset {number + 1}")
        neighbours = find_neighbours(confidential, frame, scenario, patterns)
        risks[number] = Neighbourhood(patterns.in_pattern, neighbours.within).risk * neighbours.own_inside
    return risks


def identification_risk(confidential: pd.DataFrame, scenario: Scenario, synthetic: Frames | None = None) -> pd.Series:
    """Identification risk of each record (S003 eq. 1 and 2).

    Parameters
    ----------
    confidential : DataFrame, n rows
    scenario : Scenario
    synthetic : DataFrame, sequence of DataFrames, or None
        None: the risk in the confidential data, IR^c (eq. 2), with the scenario's rule for singleton patterns.
        Frames: IR_i, the average over them of eq. 1. The ball stays around the confidential value. In a pattern
        of one record eq. 1 gives 0 whatever is released, although the pattern alone identifies the record.

    Returns
    -------
    Series named "identification_risk" on the index of `confidential`, in [0, 1]; higher is riskier. Confidential.

    Raises
    ------
    InputError
        If the data lacks a column, has missing or infinite sensitive values, or a frame does not pair with it.
    """
    if synthetic is None:
        return confidential_risk(confidential, scenario)
    risks = identification_risks(confidential, as_frames(synthetic), scenario)
    return pd.Series(risks.mean(axis=0), confidential.index, name="identification_risk")
