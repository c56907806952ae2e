"""Extremes and variance of numbers that come one draw after the other, for many records at once."""

from typing import NamedTuple

import numpy as np

from riskweighted.common.jit import kernel

__all__ = ["Moments", "add_to_moments", "no_moments"]


class Moments(NamedTuple):
    """Of V variables and n records, each (V, n): the least and the largest number so far, their mean, their squared distances from it."""

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


def no_moments(variables: int, records: int) -> Moments:
    """Those of no draw."""
    shape = (variables, records)
    return Moments(np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape))


@kernel
def add_to_moments(moments: Moments, terms: np.ndarray, count: int) -> None:
    """Take in draw number `count`, from 1, in place; `terms` (V, n)."""
    for v in range(terms.shape[0]):
        for i in range(terms.shape[1]):
            term = terms[v, i]
            moments.low[v, i] = min(moments.low[v, i], term)
            moments.high[v, i] = max(moments.high[v, i], term)
            off = term - moments.mean[v, i]
            moments.mean[v, i] += off / count
            moments.squares[v, i] += off * (term - moments.mean[v, i])
