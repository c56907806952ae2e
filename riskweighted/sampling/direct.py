"""Posterior draws without chains: proposals about the mode, weighted by importance and resampled,
where the weights say that they can be.

Proposals are multivariate t with 7 degrees of freedom, with the inverse Hessian at the mode as
scale. With many parameters d the mean of a skewed posterior lies many standard deviations from its
mode, so proposals stand where the gradient, averaged over normal ones, is zero; and the radius of a
t of few degrees varies far more than that of the posterior, so from d = 56 on there are d / 8 of
them. A softmax of 7 levels by 40 predictors (d = 246, n = 5,000) has 1,200 effective of 4,000
proposals so, and 74 with 7 degrees of freedom at the mode. The weights, of exactly the density, are
Pareto smoothed (Vehtari, Simpson, Gelman, Yao & Gabry 2024), and the shape k-hat of their tail says
whether they can be relied on.
"""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from riskweighted.common.errors import InputError
from riskweighted.contract.centring import Centring
from riskweighted.contract.layout import as_posterior, layout_of
from riskweighted.contract.synthesizer import Blueprint, Density, Synthesizer
from riskweighted.sampling.convergence import Drawn
from riskweighted.sampling.laplace import curvature_at, heights_of, mode_of, root_of_inverse
from riskweighted.sampling.loo import K_LIMIT, importance_weights
from riskweighted.sampling.settings import AUTO, DIRECT, NUTS, Sampling

__all__ = [
    "EFFECTIVE",
    "Direct",
    "draw_directly",
    "draw_or_refuse",
    "not_possible",
    "relied_on",
    "resampled",
    "smoothed",
]

# proposals that the weighted ones must be worth; fewer only where fewer draws are asked for
EFFECTIVE = 400
_FREEDOM, _FREEDOM_BY_SIZE = 7, 1 / 8
# steps of the centre, and pairs of opposite points over which the gradient is averaged
_SHIFTS, _PAIRS = 2, 32
_PROPOSALS = 2000  # of the first round; more where more draws are asked for
# how many times as many, and whether fitted to the round before
_ROUNDS = ((1, False), (4, False), (4, True), (4, True))


@dataclass(frozen=True, eq=False)
class Direct:
    """Draws of a density, or the failure to find any.

    ``vectors`` (count, d) in random order, where a proposal of large weight stands more than once;
    ``which`` (count,): the number of its proposal; ``heights`` (count,): log densities;
    ``pareto_k`` of the importance weights, NaN where there are none; ``effective``: how many
    proposals of equal weight the weighted ones are worth, of those ``needed``; ``proposals`` of the
    last round.
    """

    vectors: np.ndarray
    which: np.ndarray
    heights: np.ndarray
    pareto_k: float
    effective: float
    needed: int
    proposals: int

    @property
    def accepted(self) -> bool:
        """Whether they may be used: k-hat <= 0.7, and enough effective draws."""
        return relied_on(self.pareto_k, self.effective, self.needed)


@dataclass(frozen=True, eq=False)
class _Proposals:
    """Proposals (S, d) about a centre, their log densities (S,) and smoothed weights (S,), which
    add up to 1.
    """

    centre: np.ndarray
    root: np.ndarray
    vectors: np.ndarray
    heights: np.ndarray
    weights: np.ndarray
    pareto_k: float

    @property
    def effective(self) -> float:
        return float(1 / (self.weights**2).sum())


def draw_directly(density: Density, size: int, count: int, rng: np.random.Generator) -> Direct:
    """Draws of a log density of vectors (d,) by importance resampling, to be used only if they are
    ``accepted``.

    Where the weights fail, from more proposals, then from proposals fitted to them. See
    `Blueprint.direct` for what a density may offer.
    """
    needed = min(EFFECTIVE, count)
    with threadpool_limits(1):  # a sum that is split over threads does not repeat
        try:
            mode = mode_of(density, size)
            root = root_of_inverse(curvature_at(density, mode))
            centre = _shifted(density, mode, root, rng)
        except ValueError:  # no number on the way
            return Direct(
                np.empty((0, size)), np.empty(0, int), np.empty(0), np.nan, 0.0, needed, 0
            )
        proposed: _Proposals | None = None
        for times, fitted in _ROUNDS:
            if fitted and proposed is not None:
                centre, root = _moments(proposed)
            proposed = _proposed(density, centre, root, times * max(_PROPOSALS, count), rng)
            if relied_on(proposed.pareto_k, proposed.effective, needed):
                break
    assert proposed is not None
    which = resampled(proposed.weights, count, rng)
    told = (proposed.pareto_k, proposed.effective, needed, len(proposed.vectors))
    return Direct(proposed.vectors[which], which, proposed.heights[which], *told)


def _shifted(
    density: Density, mode: np.ndarray, root: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Where the gradient has mean zero over normal draws about it, (d,): the mean of the normal
    that is nearest to the density.
    """
    centre = mode
    for _ in range(_SHIFTS):
        points = rng.standard_normal((_PAIRS, len(mode))) @ root.T
        gradient = np.mean(
            [density(centre + point)[1] for point in np.concatenate([points, -points])], axis=0
        )
        centre = centre + root @ (root.T @ gradient)
    return centre if np.isfinite(centre).all() else mode


def relied_on(pareto_k: float, effective: float, needed: int) -> bool:
    return bool(pareto_k <= K_LIMIT and effective >= needed)


def _proposed(
    density: Density, centre: np.ndarray, root: np.ndarray, count: int, rng: np.random.Generator
) -> _Proposals:
    """Proposals of t with centre (d,) and scale root root' (d, d), weighted."""
    normal = rng.standard_normal((count, len(centre)))
    freedom = max(_FREEDOM, len(centre) * _FREEDOM_BY_SIZE)
    stretch = np.sqrt(freedom / rng.chisquare(freedom, count))
    vectors = centre + (stretch[:, None] * normal) @ root.T
    heights = heights_of(density, vectors)
    spread = stretch**2 * (normal**2).sum(axis=1)
    weights, pareto_k = smoothed(
        heights + 0.5 * (freedom + len(centre)) * np.log1p(spread / freedom)
    )
    return _Proposals(centre, root, vectors, heights, weights, pareto_k)


def smoothed(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto smoothed weights (S,) that add up to 1, and the shape of their tail; NaN where no
    proposal has a weight.
    """
    if not np.isfinite(log_weights).any():
        return np.full(len(log_weights), 1 / len(log_weights)), np.nan
    with np.errstate(all="ignore"):  # the fit of a tail overflows where there is none
        weights, pareto_k = importance_weights(-(log_weights - log_weights.max())[None])
    return weights[0], float(pareto_k[0])


def _moments(proposed: _Proposals) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean (d,) and root of the weighted covariance (d, d), which the scale of the
    proposals joins as worth d draws.
    """
    size = len(proposed.centre)
    mean = proposed.weights @ proposed.vectors
    off = proposed.vectors - mean
    covariance = off.T @ (proposed.weights[:, None] * off)
    share = proposed.effective / (proposed.effective + size)
    values, axes = np.linalg.eigh(
        share * covariance + (1 - share) * proposed.root @ proposed.root.T
    )
    return mean, axes * np.sqrt(np.maximum(values, 0.0))


def resampled(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Which proposals are drawn, (count,): each as often as its weight says, to one; in random
    order.
    """
    places = (rng.random() + np.arange(count)) / count
    ends = np.cumsum(weights)
    return rng.permutation(np.minimum(np.searchsorted(ends / ends[-1], places), len(weights) - 1))


def draw_or_refuse(
    synthesizer: Synthesizer,
    blueprint: Blueprint,
    alpha: np.ndarray,
    possible: bool,
    sampling: Sampling,
    random_seed: int | None,
    centring: Centring | None = None,
) -> Drawn | None:
    """What the direct engine draws under weights alpha (n,); None where chains are to be run.

    `possible`: whether there is a density to draw from, which is what is to be sampled: a guarantee
    samples another one. Where the engine is "direct", and it is not possible or its draws may not
    be used, an InputError says so.
    """
    name = type(synthesizer).__name__
    if sampling.engine == DIRECT and not possible:
        raise not_possible(synthesizer, blueprint)
    if not possible or sampling.engine == NUTS:
        return None
    assert blueprint.direct is not None
    layout, shape = layout_of(blueprint), (sampling.chains, sampling.draws)
    density = blueprint.direct(alpha) if centring is None else blueprint.weighted(alpha, centring)
    if density is None:
        return None
    direct = draw_directly(
        density, layout.size, sampling.chains * sampling.draws, np.random.default_rng(random_seed)
    )
    if direct.accepted:
        prior = heights_of(blueprint.direct(np.zeros(len(alpha))), direct.vectors)
        posterior = as_posterior(layout, direct.vectors.reshape(*shape, layout.size))
        heights = direct.heights.reshape(shape)
        return Drawn(
            posterior,
            heights - prior.reshape(shape),
            which=direct.which,
            pareto_k=direct.pareto_k,
            log_posterior=heights,
        )
    if sampling.engine == DIRECT:
        raise InputError(
            f"engine = {DIRECT!r} failed for {name}: Pareto k-hat {direct.pareto_k:.2f} (at most "
            f"{K_LIMIT}) and {direct.effective:.0f} "
            f"effective of {direct.proposals} proposals (at least {direct.needed}); {AUTO!r} and "
            f"{NUTS!r} run chains"
        )
    return None


def not_possible(synthesizer: Synthesizer, blueprint: Blueprint | None) -> InputError:
    """Why the direct engine cannot be asked for: there is no density, or a guarantee samples
    another one.
    """
    lacking = blueprint is None or blueprint.direct is None
    why = (
        f"{type(synthesizer).__name__} has no density to draw from directly"
        if lacking
        else "a guarantee censors the model"
    )
    return InputError(
        f"engine = {DIRECT!r} is not possible: {why}; valid are {AUTO!r} and {NUTS!r}"
    )
