"""Posterior draws without chains: proposals about the mode of a density, in the coordinates in
which chains would move, weighted by importance and resampled, where the weights say that they can
be.

Where a prior has a scale, no multivariate t is near the posterior of the parameters; in
`round_coordinates`, which follow the scale, one is. The scale of the joint mode is not a usual one,
so they are made anew about a usual scale and the mode given that: the transformation model of 5,500
records (d = 213) has 240 to 390 effective of 2,000 proposals so, 90 to 210 about the joint mode.
Proposals are t with d / 2 degrees of freedom about where the gradient has mean zero, since the
radius of a t with few varies far more than that of the posterior. They are added until they are
worth enough, or will not be. The weights, of exactly the density, are Pareto smoothed (Vehtari,
Simpson, Gelman, Yao & Gabry 2024), and the shape k-hat of their tail says whether they can be
relied on.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from riskweighted.contract.synthesizer import Density
from riskweighted.sampling.laplace import (
    Coordinates,
    NonCentredCoordinates,
    begun_at_modes,
    heights_of,
    round_about,
)
from riskweighted.sampling.loo import K_LIMIT, importance_weights

__all__ = ["ENOUGH", "ImportanceProposals", "Resampled", "propose_about_mode"]

# proposals that the weighted ones must be worth; fewer only where fewer draws are asked for
ENOUGH = 300
_SHIFTS, _PAIRS = 4, 64
_CLIMBED, _DAMPED = 15, 0.8  # steps to a mode in round coordinates
_FREEDOM, _FREEDOM_BY_SIZE = 7, 1 / 2
_SCALE_FREEDOM, _SCALE_WIDTH = 4, 1.25  # of the logarithm of a scale, whose lower tail is long
# proposals; from so many on it shows whether the most will do
_AT_ONCE, _FEWEST, _TELLING, _MOST = 500, 1000, 2000, 6000


class Resampled(NamedTuple):
    """Vectors (count, d) in random order, the log densities (count,) there, and the number (count,)
    of the proposal that each is.
    """

    vectors: np.ndarray
    heights: np.ndarray
    which: np.ndarray


@dataclass(frozen=True, eq=False)
class ImportanceProposals:
    """Proposals for a density of one mode, in coordinates about it.

    ``places`` (S, d) there; ``heights`` (S,): their log densities; ``weights`` (S,), which add up
    to 1, and the ``pareto_k`` of their tail; ``needed``: how many draws they must be worth.
    """

    coordinates: Coordinates | NonCentredCoordinates
    places: np.ndarray
    heights: np.ndarray
    weights: np.ndarray
    pareto_k: float
    needed: int

    @property
    def effective(self) -> float:
        """How many proposals of equal weight they are worth."""
        return float(1 / (self.weights**2).sum())

    @property
    def accepted(self) -> bool:
        """Whether draws from them may be used."""
        return bool(self.pareto_k <= K_LIMIT and self.effective >= self.needed)

    def resampled(self, count: int, rng: np.random.Generator) -> Resampled:
        """So many draws, where a proposal of large weight stands more than once."""
        which = _resampled(self.weights, count, rng)
        vectors = np.array([self.coordinates.vector(place) for place in self.places[which]])
        return Resampled(vectors, self.heights[which] - self.coordinates.log_volume(vectors), which)


def propose_about_mode(
    density: Density, size: int, count: int, rng: np.random.Generator
) -> ImportanceProposals | None:
    """Proposals for a log density of vectors (d,) with one mode and no parts, of which `count`
    draws are wanted; None where no mode is found, since the density is no number on the way."""
    # a sum that is split over threads does not repeat; a far tail overflows
    with threadpool_limits(1), np.errstate(all="ignore"):
        try:
            coordinates, _ = begun_at_modes(density, size)
            centre = _shifted(coordinates, np.zeros(size), rng, _SHIFTS)
            if isinstance(coordinates, NonCentredCoordinates):
                coordinates = _recentred(coordinates, centre)
                centre = _shifted(coordinates, np.zeros(size), rng, _SHIFTS // 2)
        except ValueError:
            return None
        batches = []
        for made in range(_AT_ONCE, _MOST + 1, _AT_ONCE):
            batches.append(_proposed(coordinates, centre, _AT_ONCE, rng))
            if made < _FEWEST:
                continue
            places, heights, log_weights = (
                np.concatenate(each) for each in zip(*batches, strict=True)
            )
            near = ImportanceProposals(
                coordinates, places, heights, *_smoothed(log_weights), min(ENOUGH, count)
            )
            if near.accepted or (made >= _TELLING and near.effective * _MOST < near.needed * made):
                break
    return near


def _recentred(coordinates: NonCentredCoordinates, centre: np.ndarray) -> NonCentredCoordinates:
    """The coordinates about the log scale of a centre (d,), and the mode of all else given that."""
    scale, place = coordinates.of.log_scale, np.zeros(len(centre))
    place[scale] = centre[scale]
    for _ in range(_CLIMBED):
        place = place + _DAMPED * np.where(
            np.arange(len(place)) == scale, 0.0, coordinates(place)[1]
        )
    return round_about(coordinates.of, coordinates.vector(place))


def _shifted(
    coordinates: Coordinates | NonCentredCoordinates,
    centre: np.ndarray,
    rng: np.random.Generator,
    steps: int,
) -> np.ndarray:
    """Nearer to where the gradient has mean zero over normal draws about it, (d,): at most one
    standard deviation a step.
    """
    for _ in range(steps):
        points = rng.standard_normal((_PAIRS, len(centre)))
        gradient = np.mean(
            [coordinates(centre + point)[1] for point in np.concatenate([points, -points])], axis=0
        )
        centre = centre + np.clip(np.nan_to_num(gradient), -1, 1)
    return centre


def _proposed(
    coordinates: Coordinates | NonCentredCoordinates,
    centre: np.ndarray,
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Proposals (S, d) about a centre, their log densities (S,) and log weights (S,)."""
    size = len(centre)
    freedom = max(_FREEDOM, size * _FREEDOM_BY_SIZE)
    off = (
        rng.standard_normal((count, size))
        * np.sqrt(freedom / rng.chisquare(freedom, count))[:, None]
    )
    log_share = np.zeros(count)
    square = (off**2).sum(axis=1)
    if isinstance(coordinates, NonCentredCoordinates):
        place = coordinates.of.log_scale
        square, size = square - off[:, place] ** 2, size - 1
        off[:, place] = _SCALE_WIDTH * rng.standard_t(_SCALE_FREEDOM, count)
        log_share = stats.t.logpdf(off[:, place] / _SCALE_WIDTH, _SCALE_FREEDOM)
    log_share = log_share - 0.5 * (freedom + size) * np.log1p(square / freedom)
    heights = heights_of(coordinates, centre + off)
    return centre + off, heights, heights - log_share


def _smoothed(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto smoothed weights (S,) that add up to 1, and the shape of their tail; NaN where no
    proposal has a weight.
    """
    if not np.isfinite(log_weights).any():
        return np.full(len(log_weights), 1 / len(log_weights)), np.nan
    with np.errstate(all="ignore"):  # the fit of a tail overflows where there is none
        weights, pareto_k = importance_weights(-(log_weights - log_weights.max())[None])
    return weights[0], float(pareto_k[0])


def _resampled(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Which proposals are drawn, (count,): each as often as its weight says, to one; in random
    order.
    """
    places = (rng.random() + np.arange(count)) / count
    ends = np.cumsum(weights)
    return rng.permutation(np.minimum(np.searchsorted(ends / ends[-1], places), len(weights) - 1))
