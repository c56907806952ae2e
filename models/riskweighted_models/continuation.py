"""Continuation ratios: the levels of a variable one after the other, each by a logit among those
that are left (METHODS section 12).
"""

import numpy as np
import pytensor.tensor as pt
from scipy.special import log_expit

from riskweighted.contract.synthesizer import Tensor
from riskweighted_models.kernels.ratios import fill_probabilities

__all__ = ["cell_weights", "log_probabilities", "log_probability_graph", "probabilities"]

# levels: a loop samples up to twice as fast, and takes long to compile where there are many
_UNROLLED = 12


def cell_weights(
    code: np.ndarray, which: np.ndarray, alpha: np.ndarray, levels: int, cells: int
) -> np.ndarray:
    """Sums of alpha (n,) over the records of each level and distinct row, (levels, cells)."""
    sums = np.bincount(code * cells + which, weights=alpha, minlength=levels * cells)
    return sums.reshape(levels, cells)


def log_probability_graph(logits: Tensor, levels: int) -> Tensor:
    """log P(level) from logits (levels - 1, m) of stopping at a level among those that reach it,
    (levels, m).
    """
    if levels > _UNROLLED:
        none = pt.zeros_like(logits[:1])
        reached = pt.concatenate([none, -pt.cumsum(pt.softplus(logits), axis=0)])
        return reached - pt.concatenate([pt.softplus(-logits), none])
    going_on, parts = pt.zeros_like(logits[0]), []
    for place in range(levels - 1):
        parts.append(going_on - pt.softplus(-logits[place]))
        going_on = going_on - pt.softplus(logits[place])
    return pt.stack([*parts, going_on])


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """The same in NumPy, (levels, m)."""
    going_on = np.vstack([np.zeros((1, logits.shape[1])), np.cumsum(log_expit(-logits), axis=0)])
    going_on[:-1] += log_expit(logits)
    return going_on


def probabilities(logits: np.ndarray) -> np.ndarray:
    """The probabilities themselves, (levels, m): one exponential a logit, and no digits lost in
    either tail.
    """
    shares = np.empty((len(logits) + 1, logits.shape[1]))
    fill_probabilities(np.ascontiguousarray(logits, dtype=float), shares)
    return shares
