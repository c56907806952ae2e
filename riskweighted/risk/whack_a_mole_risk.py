"""Whack-a-mole: protecting some records moves them away, and exposes those that they hid (Hu et al.
2022; METHODS section 2). And what a count over L datasets would be by chance, from each record's
probability of landing in its ball (METHODS section 2.5).
"""

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd
from scipy.stats import binom

if TYPE_CHECKING:
    from riskweighted.risk.expected_identification import ExpectedRisk

__all__ = [
    "expected_over",
    "expected_whack_a_mole_records",
    "risk_rise",
    "whack_a_mole_records",
]


_Risk = TypeVar("_Risk", np.ndarray, pd.Series)


def risk_rise(risk: _Risk, baseline: _Risk) -> _Risk:
    """D, (n,): the risk of every record minus its risk under the unweighted synthesizer."""
    rise: _Risk = risk - baseline
    return rise


def whack_a_mole_records(risk: _Risk, baseline: _Risk, increase: float = 0.25) -> _Risk:
    """Which records are flagged, boolean (n,): D >= `increase`, a rise of exactly that included."""
    flagged: _Risk = risk_rise(risk, baseline) >= increase
    return flagged


_CHUNK = 65_536  # records at a time
_SLACK = 1e-9  # the same risk, reached by another sum


def expected_over(risk: "ExpectedRisk", datasets: int, threshold: float) -> float:
    """How many records are to be expected whose IR over `datasets` datasets exceeds a threshold.

    With N_i ~ Bin(L, p_i) of its own values in the ball, IR_i = (N_i / L) outside_i.
    """
    with np.errstate(divide="ignore"):
        least = np.floor(threshold * datasets / risk.outside + _SLACK)
    return float(binom.sf(np.minimum(least, datasets), datasets, risk.own_mass).sum())


def expected_whack_a_mole_records(
    risk: "ExpectedRisk", baseline: "ExpectedRisk", datasets: int, increase: float
) -> float:
    """How many records are to be expected whose IR rises by `increase` or more, each fit with L =
    `datasets` datasets of its own: a double binomial sum, N_i ~ Bin(L, p_i) under either fit,
    independent.
    """
    expected = 0.0
    for start in range(0, len(risk.own_mass), _CHUNK):
        part = slice(start, start + _CHUNK)
        for landed in range(datasets + 1):
            before = landed / datasets * baseline.outside[part]
            with np.errstate(divide="ignore", invalid="ignore"):
                least = np.ceil((before + increase) * datasets / risk.outside[part] - _SLACK)
            least = np.where(np.isfinite(least), np.minimum(least, datasets + 1), datasets + 1)
            at_least = binom.sf(least - 1, datasets, risk.own_mass[part])
            chances = binom.pmf(landed, datasets, baseline.own_mass[part]) * at_least
            expected += float(chances.sum())
    return expected
