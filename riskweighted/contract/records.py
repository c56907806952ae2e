"""What a synthesizer's distribution can do, as a type."""

from typing import Protocol

import numpy as np

__all__ = ["Records"]


class Records(Protocol):
    """The values of n records as random variables, independent given parameters; what
    `Synthesizer.distribution` returns.

    Numbers are those of the target: its values, or the codes of its levels. A model that cannot do
    something has no such method. Of parameters that are PyTensor expressions the first two are
    expressions too: the same statement serves a graph.
    """

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log p(y_i | x_i, theta) on the model's scale, constants included, (n,); NaN where y_i
        is.
        """

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower_i <= Y_i <= upper_i | x_i, theta), (n,); ends may be infinite, and stand at
        halves for whole numbers and codes.
        """

    def inverse(self, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The value within each interval up to which it has this share (n,) of its mass, (n,); NaN
        where it has none.
        """

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """New values, (n,), from `rng` alone."""
