"""Families as paths from the unweighted synthesizer to ever smaller weights: their settings in order of strength."""

from typing import NamedTuple

import numpy as np

from riskweighted.sequence.fit import Fit
from riskweighted.weights.families import FAMILIES
from riskweighted.weights.names import scheme_text

__all__ = ["Path", "path_of", "rounded"]

_DIGITS = 4  # of a setting


class Path(NamedTuple):
    """A family's settings in order of strength. ``setting``: its name; ``points``: those that are scanned first."""

    family: str
    setting: str
    points: tuple[float, ...]

    def text(self, value: float) -> str:
        """The scheme as it stands in a study file."""
        return scheme_text(self.family, {self.setting: value})


def path_of(family: str, fit: Fit) -> Path:
    """The path of a family; `fit` is the unweighted one, of which the settings of some are shares."""
    declared = FAMILIES[family]
    (setting,) = declared.settings
    if declared.unit is None:
        return Path(family, setting, declared.path)
    unit = declared.unit(fit)
    return Path(family, setting, tuple(rounded(share * unit) for share in declared.path))


def rounded(value: float) -> float:
    """A setting with four digits, so that a file can hold it as it was used."""
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else value
