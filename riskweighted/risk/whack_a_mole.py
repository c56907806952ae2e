"""Whack-a-mole: protecting some records moves them away, and exposes those that they hid (Hu et al. 2022; METHODS section 2)."""

from typing import TypeVar

import numpy as np
import pandas as pd

__all__ = ["risk_rise", "whacked"]

_Risk = TypeVar("_Risk", np.ndarray, pd.Series)


def risk_rise(risk: _Risk, baseline: _Risk) -> _Risk:
    """D, (n,): the risk of every record minus its risk under the unweighted synthesizer."""
    rise: _Risk = risk - baseline
    return rise


def whacked(risk: _Risk, baseline: _Risk, increase: float = 0.25) -> _Risk:
    """Which records are flagged, boolean (n,): D >= `increase`, a rise of exactly that included."""
    flagged: _Risk = risk_rise(risk, baseline) >= increase
    return flagged
