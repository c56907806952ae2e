"""Densities and masses of normal distributions and their mixtures as PyTensor expressions, with
gradients.
"""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from riskweighted.contract.synthesizer import Tensor
from riskweighted_models.bounds import Bounds

__all__ = ["GraphParts", "log_normal_graph", "normal_mass_graph"]

_FARTHEST = 1e10  # standard units: an end at infinity has no gradient


def log_normal_graph(z: Any, mean: Tensor, sd: Tensor) -> Tensor:
    """log density of N(mean, sd) at z."""
    return -pt.log(sd) - 0.5 * np.log(2 * np.pi) - 0.5 * ((z - mean) / sd) ** 2


def normal_mass_graph(lower: np.ndarray, upper: np.ndarray, mean: Tensor, sd: Tensor) -> Tensor:
    """P(lower <= z <= upper) for z ~ N(mean, sd): a difference of the tails that are near, so that
    small masses keep their digits.
    """
    low, high = ((np.clip(end, -_FARTHEST, _FARTHEST) - mean) / sd for end in (lower, upper))
    above = low > 0
    ends = pt.switch(above, -low, high), pt.switch(above, -high, low)
    below = [0.5 * pt.erfc(-end / np.sqrt(2)) for end in ends]
    return pt.maximum(below[0] - below[1], 0.0)


class GraphParts(NamedTuple):
    """What `NormalParts` is of arrays, of expressions: ``mean`` (m, K), ``sd`` (K,), ``log_share``
    (m, K) or (1, K).
    """

    mean: Tensor
    sd: Tensor
    log_share: Tensor
    which: np.ndarray
    bounds: Bounds | None

    def log_density(self, z: np.ndarray) -> Tensor:
        """log p(z_i) without bounds, (n,)."""
        each = self._of_records(self.log_share) + log_normal_graph(
            z[:, None], self.mean[self.which], self.sd
        )
        return pt.logsumexp(each, axis=1)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Tensor:
        """P(lower <= z_i <= upper), (n,)."""
        if self.bounds is None:
            return self._plain_mass(lower, upper)
        low, high = (np.full(len(self.which), end) for end in self.bounds)
        inside = self._plain_mass(np.maximum(lower, low), np.minimum(upper, high))
        return pt.minimum(inside / self._plain_mass(low, high), 1.0)

    def _plain_mass(self, lower: np.ndarray, upper: np.ndarray) -> Tensor:
        each = normal_mass_graph(lower[:, None], upper[:, None], self.mean[self.which], self.sd)
        return (pt.exp(self._of_records(self.log_share)) * each).sum(axis=1)

    def _of_records(self, rows: Tensor) -> Tensor:
        """Rows (m, K) as those of the records, (n, K); one that all have (1, K) as it is."""
        return rows if rows.type.shape[0] == 1 else rows[self.which]
