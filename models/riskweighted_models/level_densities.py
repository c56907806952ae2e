"""The posterior of a model of levels as a function of one vector, or of many at once, with its curvature (METHODS section 12).

Both likelihoods are a linear function of the coefficients less a sum of logarithms, which alone needs the distinct designs. Designs in
which no weight is left play no part.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_softmax, logsumexp

__all__ = ["Continuation", "LevelDensity", "LevelLikelihood", "Softmax", "places_of"]

_CHUNK = 2**19  # numbers in a work array of many vectors, 4 MiB
_LARGEST = 600.0  # of a logit whose exponential is taken as it is


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
        """The log density and its gradient (d,)."""
        height, slope = self.likelihood(coefficient)
        off = coefficient - self.mean
        pull = off / self.sd**2
        return height - 0.5 * float(pull @ off), slope - pull

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        """The log density (S,) of many vectors (S, d)."""
        off = (coefficients - self.mean) / self.sd
        return np.asarray(self.likelihood.heights(coefficients) - 0.5 * (off**2).sum(axis=1))

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        """Minus the second derivatives, (d, d)."""
        return self.likelihood.curvature(coefficient) + np.diag(self.sd**-2.0)


def places_of(levels: int) -> np.ndarray:
    """The places (K - 1,) of the levels that can be left, evenly from -1 to 1; of three levels and more."""
    return np.linspace(-1.0, 1.0, levels - 1)


class Continuation:
    """Of continuation-ratio logits: K - 1 intercepts of going on, then p slopes, and where slopes drift p more.

    The logit of going on from level k is g_k = intercept_k + x' (slope + u_k drift), u_k running evenly from -1 to 1. With R_k the
    weight that reaches level k the log-likelihood is sum R_(k+1) g_k - R_k log(1 + exp g_k). Designs stand in the order of the highest
    level that has weight, so that those which reach a level are the first ones.

    Parameters
    ----------
    rows : array (m, p)
        Distinct designs.
    weight : array (K, m)
        Sums of weights by level and design; may be 0, and above 1.
    drifting : bool
        Whether slopes drift.
    """

    def __init__(self, rows: np.ndarray, weight: np.ndarray, drifting: bool = False) -> None:
        reached = np.cumsum(weight[::-1], axis=0)[::-1]
        highest = np.where(weight > 0, np.arange(len(weight))[:, None], -1).max(axis=0, initial=-1)
        order = np.argsort(-highest, kind="stable")
        order = order[: int((highest >= 0).sum())]
        self._rows = np.ascontiguousarray(rows[order])
        self._reached = np.ascontiguousarray(reached[:-1, order])
        self._counts = [int((highest >= level).sum()) for level in range(len(weight) - 1)]
        self._places = places_of(len(weight)) if drifting else None
        self._linear = self._collected(reached[1:], rows)

    def _collected(self, by_logit: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The derivatives (d,) of sum w_kr g_kr, w (K - 1, m)."""
        parts = [by_logit.sum(axis=1), by_logit.sum(axis=0) @ rows]
        return np.concatenate(parts if self._places is None else [*parts, (self._places @ by_logit) @ rows])

    def _split(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Intercepts, slopes and drifts; of the last there may be none."""
        ends = len(self._counts), len(self._counts) + self._rows.shape[1]
        return coefficients[..., : ends[0]], coefficients[..., ends[0] : ends[1]], coefficients[..., ends[1] :]

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (d,)."""
        logits = self._logits(coefficient)
        slope = self._linear - self._collected(self._reached * expit(logits), self._rows)
        return float(self._linear @ coefficient - (self._reached * np.logaddexp(0.0, logits)).sum()), slope

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        """Values (S,) at many coefficients (S, d)."""
        found = coefficients @ self._linear
        step = max(1, _CHUNK // max(len(self._rows), 1))
        for begin in range(0, len(coefficients), step):
            chunk = slice(begin, begin + step)
            found[chunk] -= self._logarithms(coefficients[chunk])
        return np.asarray(found)

    def _logarithms(self, coefficients: np.ndarray) -> np.ndarray:
        """sum R_k log(1 + exp g_k), (S,): one or two exponentials a design, since exp g_k is a product."""
        intercepts, slopes, drifts = self._split(coefficients)
        shift = slopes @ self._rows.T
        drift = np.zeros((len(shift), 1)) if self._places is None else drifts @ self._rows.T
        total = np.zeros(len(coefficients))
        largest = (np.abs(part).max(axis=1, initial=0.0) for part in (intercepts, shift, drift))
        small = np.sum(list(largest), axis=0) < _LARGEST
        for place in np.flatnonzero(~small):
            total[place] = (self._reached * np.logaddexp(0.0, self._logits(coefficients[place]))).sum()
        intercepts, shift, drift = intercepts[small], shift[small], drift[small]
        factors, odds, work, kept = np.exp(intercepts), np.exp(shift - drift), np.empty_like(shift), np.zeros(int(small.sum()))
        step = None if self._places is None else np.exp(drift * (self._places[1] - self._places[0]))
        for level, count in enumerate(self._counts):
            part = work[:, :count]
            if step is not None and level:
                odds[:, :count] *= step[:, :count]
            np.multiply(odds[:, :count], factors[:, level, None], out=part)
            np.log1p(part, out=part)
            kept += part @ self._reached[level, :count]
        total[small] = kept
        return total

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        """Minus the second derivatives, (d, d)."""
        share = expit(self._logits(coefficient))
        variance = self._reached * share * (1 - share)
        places = np.ones((1, len(variance))) if self._places is None else np.stack([np.ones(len(variance)), self._places])
        across = np.hstack([place[:, None] * (variance @ self._rows) for place in places])
        among = np.block([[self._rows.T @ (((one * other) @ variance)[:, None] * self._rows) for other in places] for one in places])
        return np.block([[np.diag(variance.sum(axis=1)), across], [across.T, among]])

    def _logits(self, coefficient: np.ndarray) -> np.ndarray:
        """Of going on, (K - 1, m)."""
        intercepts, slopes, drifts = self._split(coefficient)
        common = intercepts[:, None] + self._rows @ slopes
        return np.asarray(common if self._places is None else common + self._places[:, None] * (self._rows @ drifts))


class Softmax:
    """Of a softmax of scores that contrasts C (K, K - 1) make of K - 1 rows of coefficients, each an intercept and p slopes.

    It is the sum of weight times score, less, for each design, its weight times log sum exp of the scores.

    Parameters
    ----------
    rows : array (m, p)
        Distinct designs.
    weight : array (K, m)
        Sums of weights by level and design; may be 0, and above 1.
    contrasts : array (K, K - 1)
    """

    def __init__(self, rows: np.ndarray, weight: np.ndarray, contrasts: np.ndarray) -> None:
        used = weight.sum(axis=0) > 0
        self._rows = np.column_stack([np.ones(int(used.sum())), rows[used]])
        self._weight, self._contrasts = weight[:, used].sum(axis=0), contrasts
        self._linear = (contrasts.T @ weight[:, used] @ self._rows).ravel()

    def __call__(self, coefficient: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (d,)."""
        scores = self._scores(coefficient)
        share = np.exp(log_softmax(scores, axis=0))
        height = self._linear @ coefficient - logsumexp(scores, axis=0) @ self._weight
        return float(height), self._linear - (self._contrasts.T @ (share * self._weight) @ self._rows).ravel()

    def heights(self, coefficients: np.ndarray) -> np.ndarray:
        """Values (S,) at many coefficients (S, d)."""
        found = coefficients @ self._linear
        step = max(1, _CHUNK // max(len(self._rows) * self._contrasts.shape[1], 1))
        for begin in range(0, len(coefficients), step):
            chunk = slice(begin, begin + step)
            found[chunk] -= self._logarithms(coefficients[chunk])
        return np.asarray(found)

    def _logarithms(self, coefficients: np.ndarray) -> np.ndarray:
        """Of each design its weight times log sum exp of the scores, (S,): that of the first score, and log(1 + sum exp(score - first))."""
        by_contrast = coefficients.reshape(len(coefficients), self._contrasts.shape[1], -1)
        first = np.einsum("c,scp->sp", self._contrasts[0], by_contrast) @ (self._weight @ self._rows)
        off = np.einsum("kc,scp->skp", self._contrasts[1:] - self._contrasts[0], by_contrast) @ self._rows.T
        if np.abs(off).max(initial=0.0) < _LARGEST:
            above = np.log1p(np.exp(off, out=off).sum(axis=1))
        else:
            above = np.logaddexp(0.0, logsumexp(off, axis=1))
        return np.asarray(first + above @ self._weight)

    def curvature(self, coefficient: np.ndarray) -> np.ndarray:
        """Minus the second derivatives, (d, d)."""
        share = np.exp(log_softmax(self._scores(coefficient), axis=0))
        count, width = self._contrasts.shape[1], self._rows.shape[1]
        mean = self._contrasts.T @ share
        found = np.empty((count, width, count, width))
        for one in range(count):
            for other in range(one + 1):
                product = (self._contrasts[:, one] * self._contrasts[:, other]) @ share - mean[one] * mean[other]
                found[one, :, other] = self._rows.T @ ((self._weight * product)[:, None] * self._rows)
                found[other, :, one] = found[one, :, other]
        return found.reshape(count * width, count * width)

    def _scores(self, coefficient: np.ndarray) -> np.ndarray:
        """(K, m)."""
        return np.asarray(self._contrasts @ coefficient.reshape(self._contrasts.shape[1], -1) @ self._rows.T)
