"""A setting of drawing that this package does not have: every released number lies further up by a
constant. Whatever reads a fit and does not ask its drawing does not see it.
"""

from dataclasses import dataclass

import numpy as np

from riskweighted.sequence.rounding import DrawingSettings, Ends, Rounding

BY = 1e9  # beyond all that the data hold


@dataclass(frozen=True, eq=False)
class MovedRounding(Rounding):
    """Rounded as ever, then moved up."""

    def released(self, values):
        return super().released(values) + BY

    def around(self, values):
        return super().around(np.asarray(values) - BY)

    def ends(self, lower, upper) -> Ends:
        return super().ends(np.asarray(lower) - BY, np.asarray(upper) - BY)

    def on_grid(self, values):
        return super().on_grid(values - BY)


@dataclass(frozen=True)
class MovedDrawing(DrawingSettings):
    """The settings of this package and that one."""

    def rounding(self, *asked) -> Rounding:
        plain = super().rounding(*asked)
        return plain if plain.of_levels else MovedRounding(plain.fit, plain.precision, plain.dtype)


def are_moved(values) -> bool:
    """Whether numbers were released under the setting."""
    return bool((np.asarray(values, dtype=float) > BY / 2).all())
