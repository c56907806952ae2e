"""Families as paths from the unweighted synthesizer to ever smaller weights: their settings in order of strength."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from riskweighted.sequence.fit import Fit
from riskweighted.weights.families import FAMILIES
from riskweighted.weights.names import scheme_text

__all__ = ["Path", "path_of", "rounded"]

_POINTS: Mapping[str, tuple[float, ...]] = {
    "mix": (0, 0.2, 0.4, 0.6, 0.8, 0.9, 1),
    "power": (0, 0.1, 0.25, 0.5, 1, 2, 4),
    "delete": (0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4),
    "uniform": (1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02),
    "lipschitz-target": (1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02),  # shares of the largest f_i
}
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
    """The path of a family; `fit` is the unweighted one, from which "lipschitz-target" starts."""
    (setting,) = FAMILIES[family].settings
    points = _POINTS[family]
    if family == "lipschitz-target":
        largest = max(float(block.largest_terms.max()) for block in fit.blocks.values() if block.estimates)
        points = tuple(rounded(share * largest) for share in points)
    return Path(family, setting, points)


def rounded(value: float) -> float:
    """A setting with four digits, so that a file can hold it as it was used."""
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else value
