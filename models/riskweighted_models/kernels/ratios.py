"""Probabilities of levels from continuation ratios (METHODS section 12)."""

import math

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["fill_probabilities"]


@kernel
def fill_probabilities(logits: np.ndarray, found: np.ndarray) -> None:
    """Write P(level | design), (K, m), for logits (K - 1, m) of stopping at a level among those that reach it."""
    levels, designs = found.shape
    reached = found[levels - 1]
    for design in range(designs):
        reached[design] = 1.0
    for level in range(levels - 1):
        for design in range(designs):
            logit = logits[level, design]
            odds = math.exp(-abs(logit))
            larger = 1 / (1 + odds)
            smaller = odds * larger
            stopping, going_on = (larger, smaller) if logit > 0 else (smaller, larger)
            found[level, design] = reached[design] * stopping
            reached[design] *= going_on
