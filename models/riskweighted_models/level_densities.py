"""The posterior of a model of levels as a function of one vector, or of many at once, with its
curvature (METHODS section 12).

Both likelihoods are a linear function of the coefficients less a sum of logarithms, which alone
needs the distinct designs. Designs in which no weight is left play no part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, log_softmax, logsumexp

from riskweighted_models.column_blocks import column_blocks
from riskweighted_models.kernels.ratios import log_sums, slopes_of_logs
from riskweighted_models.kernels.vectors import BLOCK

__all__ = [
    "LARGEST",
    "CentredLevels",
    "Continuation",
    "LevelDensity",
    "LevelLikelihood",
    "Softmax",
    "places_of",
]

_CHUNK = 2**19  # numbers in a work array of many vectors, 4 MiB
LARGEST = 600.0  # of a logit whose exponential is taken as it is


class LevelLikelihood(Protocol):
    """The weighted log-likelihood of coefficients (d,), constants left out."""

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient (d,)."""

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        """Its values (S,) at many coefficients (S, d)."""

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        """Minus its second derivatives, (d, d)."""


@dataclass(frozen=True, eq=False)
class LevelDensity:
    """The log posterior under independent priors N(mean, sd^2), (d,) each, up to a constant."""

    likelihood: LevelLikelihood
    mean: np.ndarray
    sd: np.ndarray

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = self.likelihood(coefficient)
        off = coefficient - self.mean
        pull = off / self.sd**2
        return height - 0.5 * float(pull @ off), slope - pull

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        off = (coefficients - self.mean) / self.sd
        return np.asarray(self.likelihood.heights(coefficients) - 0.5 * (off**2).sum(axis=1))

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        return self.likelihood.curvature(coefficient) + np.diag(self.sd**-2.0)


@dataclass(frozen=True, eq=False)
class CentredLevels:
    """A log posterior less the centring term: sum of ``expected`` (K, m) times P(level | row).

    ``probabilities``: from coefficients to P (K, m); ``likelihood``: of weights (K, m). The
    derivatives of the term are those of a log-likelihood with weights ``expected`` times P, held.
    """

    density: LevelDensity
    expected: np.ndarray
    probabilities: Callable[[np.ndarray], np.ndarray]
    likelihood: Callable[[np.ndarray], LevelLikelihood]

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = self.density(coefficient)
        taken = self.expected * self.probabilities(coefficient)
        return height - float(taken.sum()), slope - self.likelihood(taken)(coefficient)[1]

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        taken = [
            float((self.expected * self.probabilities(coefficient)).sum())
            for coefficient in coefficients
        ]
        return np.asarray(self.density.heights(coefficients) - taken)


def places_of(levels: int) -> np.ndarray:
    """The places (K - 1,) of the levels that can be left, evenly from -1 to 1; of three levels and
    more.
    """
    return np.linspace(-1.0, 1.0, levels - 1)


def _in_blocks(weight: np.ndarray) -> np.ndarray:
    """Weights (K, m) with zeros behind them up to a whole number of blocks."""
    return np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -weight.shape[1] % BLOCK))))


class _Logits(NamedTuple):
    """Intercepts (S, K - 1), and what slopes and drifts add, (S, m), or (S, 0) for no drift; no
    logit exceeds `bound` (S,).
    """

    intercepts: np.ndarray
    shift: np.ndarray
    drift: np.ndarray
    bound: np.ndarray


class Continuation:
    """Of continuation-ratio logits: K - 1 intercepts of going on, then p slopes, and where slopes
    are ``drifting`` p more.

    The logit of going on from level k is g_k = intercept_k + x' (slope + u_k drift), u_k running
    evenly from -1 to 1. With R_k the weight that reaches level k the log-likelihood is sum R_(k+1)
    g_k - R_k log(1 + exp g_k). Designs stand in the order of the highest level that has weight, so
    that those which reach a level are the first ones. ``rows`` (m, p): distinct designs; ``weight``
    (K, m): sums of weights by level and design; may be 0, and above 1.
    """

    def __init__(self, rows: np.ndarray, weight: np.ndarray, drifting: bool = False) -> None:
        reached = np.cumsum(weight[::-1], axis=0)[::-1]
        highest = np.where(weight > 0, np.arange(len(weight))[:, None], -1).max(axis=0, initial=-1)
        there = np.packbits(weight[::-1] > 0, axis=0)
        # those of the same levels side by side
        order = np.lexsort(tuple(there[::-1]))[::-1][: int((highest >= 0).sum())]
        self._rows = np.ascontiguousarray(rows[order])
        self._blocks = column_blocks(self._rows)
        self._reached = _in_blocks(reached[:-1, order])
        # by the last level that is faced
        self._ending = _in_blocks(np.vstack([weight[:-2, order], reached[-2:-1, order]]))
        counts = (highest >= np.arange(len(weight) - 1)[:, None]).sum(axis=1)
        self._last = (counts[:, None] > np.arange(0, self._reached.shape[1], BLOCK)).sum(axis=0)
        self._levels, self._places = len(counts), places_of(len(weight)) if drifting else None
        self._width = 0.0 if self._places is None else float(self._places[1] - self._places[0])
        parts = [reached[1:].sum(axis=1), reached[1:].sum(axis=0) @ rows]
        self._linear = np.concatenate(
            parts if self._places is None else [*parts, (self._places @ reached[1:]) @ rows]
        )

    def _split(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Intercepts, slopes and drifts; of the last there may be none."""
        ends = self._levels, self._levels + self._rows.shape[1]
        return (
            coefficients[..., : ends[0]],
            coefficients[..., ends[0] : ends[1]],
            coefficients[..., ends[1] :],
        )

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        at = self._at(coefficient[None])
        value = float(self._linear @ coefficient - self._logarithms(at)[0])
        if at.bound[0] < LARGEST:
            along, across = np.empty(at.shift.shape[1]), np.empty(at.drift.shape[1])
            by_level = slopes_of_logs(
                at.shift[0],
                at.drift[0],
                at.intercepts[0],
                self._width,
                self._reached,
                self._last,
                along,
                across,
            )
        else:
            by_logit = self._reached[:, : len(self._rows)] * expit(self._logits(coefficient))
            by_level, along = by_logit.sum(axis=1), by_logit.sum(axis=0)
            across = np.empty(0) if self._places is None else self._places @ by_logit
        pulled = self._blocks.pulled(
            along[None] if self._places is None else np.stack([along, across])
        )
        return value, self._linear - np.concatenate([by_level, pulled.ravel()])

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        heights = coefficients @ self._linear
        step = max(1, _CHUNK // max(len(self._rows), 1))
        for begin in range(0, len(coefficients), step):
            chunk = slice(begin, begin + step)
            heights[chunk] -= self._logarithms(self._at(coefficients[chunk]))
        return np.asarray(heights)

    def _at(self, coefficients: np.ndarray) -> "_Logits":
        """The logits at many coefficients (S, d)."""
        intercepts, slopes, drifts = self._split(coefficients)
        shift, bound = self._blocks.linear_within(slopes)
        drift, more = (
            (np.empty((len(shift), 0)), 0.0)
            if self._places is None
            else self._blocks.linear_within(drifts)
        )
        bound = bound + more
        return _Logits(
            np.ascontiguousarray(intercepts),
            shift,
            drift,
            bound + np.abs(intercepts).max(axis=1, initial=0.0),
        )

    def _logarithms(self, at: "_Logits") -> np.ndarray:
        """sum R_k log(1 + exp g_k), (S,): a logarithm of a product for each level at which weight
        ends.
        """
        sums, small = np.zeros(len(at.shift)), at.bound < LARGEST
        for place in np.flatnonzero(~small):
            logits = at.intercepts[place][:, None] + at.shift[place]
            logits = (
                logits if self._places is None else logits + self._places[:, None] * at.drift[place]
            )
            sums[place] = (self._reached[:, : len(self._rows)] * np.logaddexp(0.0, logits)).sum()
        at = at if small.all() else _Logits(*(part[small] for part in at))
        kept = np.empty(len(at.shift))
        largest = np.logaddexp(
            0.0, at.intercepts + (at.bound - np.abs(at.intercepts).max(axis=1))[:, None]
        )
        log_sums(
            at.shift, at.drift, at.intercepts, self._width, largest, self._ending, self._last, kept
        )
        sums[small] = kept
        return sums

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        share = expit(self._logits(coefficient))
        variance = self._reached[:, : len(self._rows)] * share * (1 - share)
        places = (
            np.ones((1, len(variance)))
            if self._places is None
            else np.stack([np.ones(len(variance)), self._places])
        )
        across = np.hstack([place[:, None] * (variance @ self._rows) for place in places])
        pairs = [
            [
                self._rows.T @ (((first * second) @ variance)[:, None] * self._rows)
                for second in places
            ]
            for first in places
        ]
        among = np.block(pairs)
        return np.block([[np.diag(variance.sum(axis=1)), across], [across.T, among]])

    def _logits(self, coefficient: np.ndarray) -> np.ndarray:
        """Of going on, (K - 1, m)."""
        intercepts, slopes, drifts = self._split(coefficient)
        common = intercepts[:, None] + self._rows @ slopes
        return np.asarray(
            common
            if self._places is None
            else common + self._places[:, None] * (self._rows @ drifts)
        )


class Softmax:
    """Of a softmax of scores that contrasts C (K, K - 1) make of K - 1 rows of coefficients, each
    an intercept and p slopes.

    It is the sum of ``weight`` (K, m) times score, less, for each design of ``rows`` (m, p), its
    weight times log sum exp of the scores.
    """

    def __init__(self, rows: np.ndarray, weight: np.ndarray, contrasts: np.ndarray) -> None:
        used = weight.sum(axis=0) > 0
        self._rows = np.column_stack([np.ones(int(used.sum())), rows[used]])
        self._weight, self._contrasts = weight[:, used].sum(axis=0), contrasts
        self._linear = (contrasts.T @ weight[:, used] @ self._rows).ravel()

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        scores = self._scores(coefficient)
        share = np.exp(log_softmax(scores, axis=0))
        height = self._linear @ coefficient - logsumexp(scores, axis=0) @ self._weight
        return float(height), self._linear - (
            self._contrasts.T @ (share * self._weight) @ self._rows
        ).ravel()

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        heights = coefficients @ self._linear
        step = max(1, _CHUNK // max(len(self._rows) * self._contrasts.shape[1], 1))
        for begin in range(0, len(coefficients), step):
            chunk = slice(begin, begin + step)
            heights[chunk] -= self._logarithms(coefficients[chunk])
        return np.asarray(heights)

    def _logarithms(self, coefficients: np.ndarray) -> np.ndarray:
        """Of each design its weight times log sum exp of the scores, (S,): that of the first score,
        and log(1 + sum exp(score - first)).
        """
        by_contrast = coefficients.reshape(len(coefficients), self._contrasts.shape[1], -1)
        first = np.einsum("c,scp->sp", self._contrasts[0], by_contrast) @ (
            self._weight @ self._rows
        )
        off = (
            np.einsum("kc,scp->skp", self._contrasts[1:] - self._contrasts[0], by_contrast)
            @ self._rows.T
        )
        if np.abs(off).max(initial=0.0) < LARGEST:
            above = np.log1p(np.exp(off, out=off).sum(axis=1))
        else:
            above = np.logaddexp(0.0, logsumexp(off, axis=1))
        return np.asarray(first + above @ self._weight)

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        share = np.exp(log_softmax(self._scores(coefficient), axis=0))
        count, width = self._contrasts.shape[1], self._rows.shape[1]
        mean = self._contrasts.T @ share
        blocks = np.empty((count, width, count, width))
        for first in range(count):
            for second in range(first + 1):
                product = (self._contrasts[:, first] * self._contrasts[:, second]) @ share - mean[
                    first
                ] * mean[second]
                blocks[first, :, second] = self._rows.T @ (
                    (self._weight * product)[:, None] * self._rows
                )
                blocks[second, :, first] = blocks[first, :, second]
        return blocks.reshape(count * width, count * width)

    def _scores(self, coefficient: np.ndarray) -> np.ndarray:
        return np.asarray(
            self._contrasts @ coefficient.reshape(self._contrasts.shape[1], -1) @ self._rows.T
        )
