"""The posterior of a transformation model: its PyMC model, and the same density with its gradient
in NumPy and a compiled kernel.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from riskweighted.contract.synthesizer import Density, Draw, Tensor
from riskweighted.contract.vector_layout import EndToEnd
from riskweighted.sampling.laplace import DensityWithStarts, Independent, ScaleMixtureDensity
from riskweighted_models.column_blocks import column_blocks
from riskweighted_models.grid import Grid
from riskweighted_models.kernels.bin_points import heaped_sum
from riskweighted_models.kernels.bins import (
    CUBIC,
    LINEAR,
    STEEPEST,
    STRAIGHT,
    in_blocks,
    weighted_sum,
)
from riskweighted_models.thinning import ROUGH_ABOVE, thin_weights

__all__ = [
    "LikelihoodCells",
    "density_of",
    "gamma_of",
    "log_bins_graph",
    "log_points_graph",
    "point_weight",
    "predictor_of",
    "priors",
    "tilts_of",
    "written_sum",
]

_SLOPES = ("slope", "log_slope", "log_slope_by_place")
_SD = {
    "intercept": 2.0,
    "slope": 1.0,
    "log_slope": 0.3,
    "log_slope_by_place": 0.15,
    "gamma_middle": 1.0,
    "log_tau": 0.5,
    "tilt": 0.3,
    "log_heaping": 2.0,
}
# of the tilt of a bin that holds one value alone, about as much as the numbers that it stands for
# have
_SINGLE_SD = 2.0
_LOG_TAU = float(np.log(0.5))


class LikelihoodCells(NamedTuple):
    """What the likelihood depends on: distinct designs, their pairs with bins, and what values are
    heaped on. Confidential.

    ``rows`` (m, p): the designs, and ``which`` (n,) is each record's; ``pair`` (n,): each record's
    pair of a design and a bin, ``pair_bin`` (P,) the bin of every pair, ``pair_start`` (m + 1,)
    where those of each design begin; ``place`` (n,): bin and heap of each record, as a place in (K,
    C) laid end to end; ``heap_of`` (K, C): place among the heaping parameters of the heaps of each
    bin, -1 for none, ``heap_log_units`` (F,): log of the heap of each, the mean of its prior.
    """

    rows: np.ndarray
    which: np.ndarray
    pair: np.ndarray
    pair_bin: np.ndarray
    pair_start: np.ndarray
    place: np.ndarray
    grid: Grid
    heap_of: np.ndarray
    heap_log_units: np.ndarray

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every parameter, in the order of the vector that is sampled."""
        p, knots, heaps = self.rows.shape[1], len(self.grid.knots), len(self.heap_log_units)
        shapes: dict[str, tuple[int, ...]] = {
            "intercept": (),
            **(dict.fromkeys(_SLOPES, (p,)) if p else {}),
        }
        shapes |= {
            "gamma_middle": (),
            **({"log_tau": (), "step": (knots - 1,)} if knots > 1 else {}),
            "tilt": (len(self.grid.band),),
        }
        return shapes | ({"log_heaping": (heaps,)} if heaps else {})

    def weigh(self, alpha: np.ndarray) -> dict[str, np.ndarray]:
        """Sums of alpha (n,) over the records of a design (m,), of a pair (P,), and of a bin and
        heap (K, C).
        """
        shape = self.grid.points.shape
        return {
            "design_weight": np.bincount(self.which, weights=alpha, minlength=len(self.rows)),
            "pair_weight": np.bincount(self.pair, weights=alpha, minlength=len(self.pair_bin)),
            "heaped": np.bincount(self.place, weights=alpha, minlength=shape[0] * shape[1]).reshape(
                shape
            ),
        }


def priors(cells: LikelihoodCells) -> dict[str, Tensor]:
    """The parameters, as variables of the ``pm.Model`` around."""
    import pymc as pm

    drawn: dict[str, Tensor] = {}
    for name, shape in cells.shapes.items():
        mean: Any = {"log_tau": _LOG_TAU, "log_heaping": cells.heap_log_units}.get(name, 0.0)
        steps = name == "step"
        sd = (
            pt.exp(drawn["log_tau"]) * np.sqrt(np.diff(cells.grid.knots))
            if steps
            else _prior_sd(name, cells.grid)
        )
        drawn[name] = pm.Normal(name, mean, sd, shape=shape)
    return drawn


def written_sum(
    theta: Mapping[str, Tensor], cells: LikelihoodCells, data: Mapping[str, Tensor]
) -> Tensor:
    """The weighted log-likelihood as METHODS section 5 writes it, for the weights of
    `LikelihoodCells.weigh`.
    """
    log_mass = log_bins_graph(theta, cells.rows, cells.grid)
    normaliser = pt.logsumexp(log_mass, axis=0)
    design = np.repeat(np.arange(len(cells.rows)), np.diff(cells.pair_start))
    binned = (data["pair_weight"] * log_mass[cells.pair_bin, design]).sum() - (
        data["design_weight"] * normaliser
    ).sum()
    return binned + (data["heaped"] * log_points_graph(theta, cells.grid, cells.heap_of)).sum()


def log_points_graph(theta: Mapping[str, Tensor], grid: Grid, heap_of: np.ndarray) -> Tensor:
    """log P(point | bin) by heap, (K, C); of a unit of width where values are on no grid."""
    phi = theta["log_heaping"] if "log_heaping" in theta else np.zeros(0)
    log_weight = pt.concatenate([phi, pt.zeros(1)])[heap_of] + _given(grid)
    return log_weight - pt.log((grid.points * pt.exp(log_weight)).sum(axis=1))[:, None]


def log_bins_graph(theta: Mapping[str, Tensor], rows: np.ndarray, grid: Grid) -> Tensor:
    """log P(bin | design), (K, m), up to the constant of each design."""
    hats, slopes = grid.hats, [theta[name] if name in theta else np.zeros(0) for name in _SLOPES]
    e0, e1, e2 = (pt.as_tensor(rows) @ slope for slope in slopes)
    gamma = theta["gamma_middle"] + _walk(len(grid.knots)) @ theta.get("step", np.zeros(0))
    slope = pt.exp(gamma[:, None] + e1 + hats.place[:, None] * e2)  # at the knots, (J, m)
    rise = pt.as_tensor(hats.coefficient) @ slope  # between inner edges, (K - 2, m)
    origin = int(hats.origin[0])
    up, down = pt.cumsum(rise[origin:], axis=0), pt.cumsum(rise[:origin][::-1], axis=0)[::-1]
    # at inner edges, (K - 1, m)
    h = theta["intercept"] + e0 + pt.concatenate([-down, pt.zeros((1, len(rows))), up])
    bent = pt.clip(h, -STRAIGHT, STRAIGHT)
    s = LINEAR * bent + CUBIC * bent**3 + STEEPEST * (h - bent)
    below, above = _softplus(-s), _softplus(s)  # -log F and -log(1 - F)
    between = _log_one_less_exp(s[:-1] - s[1:]) - (below[1:] + above[:-1])
    return (
        pt.concatenate([-below[:1], between, -above[-1:]]) + tilts_of(theta["tilt"], grid)[:, None]
    )


def tilts_of(tilt: Any, grid: Grid) -> Any:
    """By what the log probability of every bin is moved, (K,)."""
    return tilt + np.nan_to_num(grid.single)


def _prior_sd(name: str, grid: Grid) -> Any:
    """The prior standard deviation of a parameter but the steps; of the tilts one each, (K,)."""
    return np.where(np.isnan(grid.single), _SD[name], _SINGLE_SD) if name == "tilt" else _SD[name]


def _softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), of functions that NumPy has: PyTensor's own works one number at a time where
    nothing is compiled.
    """
    rest = pt.exp(-pt.abs(x))
    return pt.maximum(x, 0) + 2 * pt.arctanh(rest / (2 + rest))


def _log_one_less_exp(x: Tensor) -> Tensor:
    """log(1 - exp(x)) for x < 0, likewise."""
    share = pt.tanh(-x / 2)
    return pt.log(2 * share) - pt.log1p(share)


def density_of(
    cells: LikelihoodCells, alpha: np.ndarray, expected: np.ndarray | None = None
) -> Density:
    """The posterior for weights alpha (n,): from a vector (d,) to its log density, up to a
    constant, and gradient (d,).

    Less the centring term, sum of `expected` (m, K) times P(bin | design), if it is given. What the
    values of a decade are heaped on depends on nothing else, so these are parts of their own.
    """
    of_bins = _density_of_bins(cells, alpha, expected)
    if not len(cells.heap_log_units):
        return of_bins
    size = EndToEnd(_without_heaping(cells.shapes)).size
    return Independent(((size, of_bins), *_densities_of_heaps(cells, cells.weigh(alpha)["heaped"])))


def _without_heaping(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {name: shape for name, shape in shapes.items() if name != "log_heaping"}


def _densities_of_heaps(
    cells: LikelihoodCells, heaped: np.ndarray
) -> Iterator[tuple[int, Density]]:
    """The size and density of each decade's heaping parameters, one decade after the other as they
    stand in the vector.

    ``heaped`` (K, C): sums of alpha over the records of a bin and heap.
    """
    for decade in range(cells.grid.band.max() + 1):
        bins = cells.grid.band == decade
        places = np.unique(cells.heap_of[bins])
        places = places[places >= 0]
        fixed = (
            np.where(cells.heap_of[bins] < 0, -1, cells.heap_of[bins] - places[0]),
            cells.grid.points[bins],
            heaped[bins],
        )
        density = partial(_density_of_heaps, mean=cells.heap_log_units[places], fixed=fixed)
        yield len(places), density


def _density_of_heaps(
    log_phi: np.ndarray, mean: np.ndarray, fixed: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray]:
    """The log density of one decade's heaping parameters (F,), and its gradient; `fixed`: what
    `heaped_sum` is asked besides.
    """
    off, precision = log_phi - mean, _SD["log_heaping"] ** -2
    value, slope = heaped_sum(log_phi, *fixed)
    return value - 0.5 * precision * float(off @ off), slope - precision * off


def _density_of_bins(
    cells: LikelihoodCells, alpha: np.ndarray, expected: np.ndarray | None
) -> Density:
    """The posterior of all other parameters."""
    weights, shapes, grid = cells.weigh(alpha), _without_heaping(cells.shapes), cells.grid
    used, taken = weights["design_weight"] > 0, np.zeros((0, 0, 0))
    # a weight of 0 says that this value, whatever it is, does not count: its term stays
    if expected is not None:
        used |= (expected > 0).any(axis=1)
        taken = in_blocks(expected[used])
    rows = np.ascontiguousarray(cells.rows[used])
    kept = np.repeat(used, np.diff(cells.pair_start))
    start = np.concatenate([[0], np.cumsum(np.diff(cells.pair_start)[used])])
    fixed = (
        weights["design_weight"][used],
        weights["pair_weight"][kept],
        cells.pair_bin[kept],
        start,
        grid.hats,
        taken,
    )
    walk, log_distance = _walk(len(grid.knots)), 0.5 * np.log(np.diff(grid.knots))
    blocks = column_blocks(rows) if "slope" in shapes else None
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    ends = dict(zip(shapes, np.cumsum(sizes), strict=True))
    places = {
        name: slice(end - size, end) for (name, end), size in zip(ends.items(), sizes, strict=True)
    }
    mean, precision = np.zeros(sum(sizes)), np.zeros(sum(sizes))
    for name, place in places.items():
        precision[place] = 0.0 if name == "step" else _prior_sd(name, grid) ** -2.0
    if "step" in places:
        mean[places["log_tau"]] = _LOG_TAU

    def prior(vector: np.ndarray) -> tuple[float, np.ndarray]:
        off = vector - mean
        gradient = -precision * off
        height = 0.5 * float(gradient @ off)
        if "step" in places:
            log_tau, step = vector[places["log_tau"]], vector[places["step"]]
            standard = step * np.exp(-log_tau - log_distance)
            height -= 0.5 * float(standard @ standard) + len(step) * float(log_tau[0])
            gradient[places["log_tau"]] += standard @ standard - len(step)
            gradient[places["step"]] -= standard * np.exp(-log_tau - log_distance)
        return height, gradient

    def likelihood(
        vector: np.ndarray, derive: bool
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        eta = (
            np.zeros((3, len(rows)))
            if blocks is None
            else blocks.linear(np.array([vector[places[name]] for name in _SLOPES]))
        )
        eta[0] += vector[places["intercept"]]
        gamma = vector[places["gamma_middle"]] + walk @ (
            vector[places["step"]] if "step" in places else np.zeros(0)
        )
        value: tuple[float, np.ndarray, np.ndarray, np.ndarray] = weighted_sum(
            eta, gamma, tilts_of(vector[places["tilt"]], grid), *fixed, derive
        )
        return value

    def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
        height, gradient = prior(vector)
        value, by_eta, by_gamma, by_tilt = likelihood(vector, True)
        gradient[places["intercept"]] += by_eta[0].sum()
        if blocks is not None:
            for name, pulled in zip(_SLOPES, blocks.pulled(by_eta), strict=True):
                gradient[places[name]] += pulled
        gradient[places["gamma_middle"]] += by_gamma.sum()
        if "step" in places:
            gradient[places["step"]] += by_gamma @ walk
        gradient[places["tilt"]] += by_tilt
        return height + value, gradient

    def heights(vectors: np.ndarray) -> np.ndarray:
        return np.array([prior(vector)[0] + likelihood(vector, False)[0] for vector in vectors])

    if "step" not in places:
        return DensityWithStarts(density, heights=heights)
    thin = expected is None and (alpha > 0).sum() > ROUGH_ABOVE
    rough = partial(_density_of_bins, cells, thin_weights(alpha), None) if thin else None
    scale = {
        "log_scale": places["log_tau"].start,
        "scaled": places["step"],
        "unit": np.sqrt(np.diff(grid.knots)),
    }
    return ScaleMixtureDensity(density, rough=rough, heights=heights, **scale)


def predictor_of(theta: Draw, rows: np.ndarray) -> np.ndarray:
    """e0, e1 and e2 of designs (m, p), (3, m)."""
    eta = np.zeros((3, len(rows)))
    for part, name in enumerate(_SLOPES):
        if name in theta:
            eta[part] = rows @ theta[name]
    eta[0] += theta["intercept"]
    return eta


def gamma_of(theta: Draw) -> np.ndarray:
    """gamma at every knot, (J,)."""
    step = theta.get("step", np.zeros(0))
    return np.asarray(theta["gamma_middle"] + _walk(len(step) + 1) @ step)


def _given(grid: Grid) -> np.ndarray | float:
    """What is given of a point's log probability, (C,), or nothing."""
    return 0.0 if grid.given is None else grid.given


def point_weight(theta: Draw, grid: Grid, heap_of: np.ndarray) -> np.ndarray:
    """P(point | bin) by heap, (K, C); of a unit of width where values are on no grid."""
    log_phi = np.asarray(theta.get("log_heaping", np.zeros(0)))
    weight = np.where(grid.points > 0, np.exp(np.append(log_phi, 0.0)[heap_of] + _given(grid)), 0.0)
    return np.asarray(weight / (grid.points * weight).sum(axis=1, keepdims=True))


def _walk(knots: int) -> np.ndarray:
    """From the steps between knots (J - 1,) to the walk that starts at the middle knot, (J, J -
    1).
    """
    middle, place, step = knots // 2, np.arange(knots)[:, None], np.arange(knots - 1)[None, :]
    return np.where((place > step) & (step >= middle), 1.0, 0.0) - np.where(
        (place <= step) & (step < middle), 1.0, 0.0
    )
