"""The mode of a log density, which gives plug-in parameters, and the Hessian there, which gives coordinates that a sampler moves in freely.

A scale tau with parameters s ~ N(0, tau^2) is where both go wrong. The joint density of tau and s is highest where tau is next to nothing,
whatever the data say, so its mode is that of tau and s / tau. And the width of s follows tau: wholly where the data say nothing of s, not
at all where they say all. The sampler moves in s stretched by tau^c, c being the prior's share of what is known of s (a partially
non-centred parametrisation, Papaspiliopoulos, Roberts & Skold 2007), and c follows alpha.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from riskweighted.synthesis.contract import Density

__all__ = [
    "Coordinates",
    "Independent",
    "Scaled",
    "begun_at_modes",
    "curvature_at",
    "laplace_draws",
    "mode_of",
    "root_of_inverse",
    "round_coordinates",
]

_DIFFERENCE = 1e-4  # step of the differences of gradients
_FLATTEST = 1e-2  # curvature: a parameter that the data say nothing of has its prior's
_TURNS = 6
_NEAR = 0.05  # standard deviations from the mode
_STILL = 1e-3  # likewise, where a search ends
_NEGLIGIBLE = 20.0  # of log probability: a mode has 2e-9 of what another has
_WALL = 1e300  # where a density is no number


@dataclass(frozen=True)
class Independent:
    """A log density of parts that do not depend on each other, side by side: called like any other, and searched part by part.

    ``parts``: size of each, and its density.
    """

    parts: tuple[tuple[int, Density], ...]

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density (sum) and its gradient (d,)."""
        ends = np.cumsum([size for size, _ in self.parts])
        found = [part(vector[end - size : end]) for (size, part), end in zip(self.parts, ends, strict=True)]
        return sum(height for height, _ in found), np.concatenate([gradient for _, gradient in found])


@dataclass(frozen=True, eq=False)
class Scaled:
    """A log density in which some parameters have a prior whose scale is a parameter too; called like any other.

    Attributes
    ----------
    density : callable
    log_scale : int
        Place of log tau in the vector.
    scaled : slice
        Places of the parameters with prior N(0, (tau unit)^2).
    unit : array
        Theirs.
    starts, rough : callable or None
        See `Blueprint.density`.
    """

    density: Density
    log_scale: int
    scaled: slice
    unit: np.ndarray
    starts: Callable[[], np.ndarray] | None = None
    rough: Callable[[], Density] | None = None

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density and its gradient (d,)."""
        return self.density(vector)


@dataclass(frozen=True, eq=False)
class _Stretched:
    """A `Scaled` log density, of a vector v: the width of what is scaled follows tau as far as the prior holds it.

    With prior N(0, tau^2) and a normal likelihood of precision d, log sd of s given tau grows by c with log tau, where
    c = tau^-2 / (d + tau^-2) is the prior's share. So s = v r with r = (tau / tau at the mode)^c, and
    what the prior holds goes to 0 with tau.
    """

    of: Scaled
    log_scale: float  # where v is the vector itself
    share: np.ndarray  # as many as are scaled

    def _log_stretch(self, v: np.ndarray) -> np.ndarray:
        """log r, (as many as are scaled,)."""
        return np.asarray(self.share * (v[self.of.log_scale] - self.log_scale))

    def vector(self, v: np.ndarray) -> np.ndarray:
        """The parameters (d,) of v."""
        scaled, vector = self.of.scaled, v.copy()
        vector[scaled] = v[scaled] * np.exp(self._log_stretch(v))
        return vector

    def stretched(self, vector: np.ndarray) -> np.ndarray:
        """v (d,) of the parameters."""
        scaled, v = self.of.scaled, vector.copy()
        v[scaled] = vector[scaled] / np.exp(self._log_stretch(vector))
        return v

    def curvature_from(self, whole: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Minus the second derivatives in v at a mode, (d, d), from those in the parameters over their scale.

        At the mode s / tau = v exp((c - 1)(log tau - its value there)) / tau, whose derivative in log tau is (c - 1) s / tau.
        """
        over = np.eye(len(vector))
        scaled, tau = self.of.scaled, np.exp(vector[self.of.log_scale])
        over[scaled, scaled] /= tau
        over[scaled, self.of.log_scale] = (self.share - 1) * vector[scaled] / tau
        return np.asarray(over.T @ whole @ over)

    def __call__(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density of v and its gradient (d,)."""
        scaled, vector, log_stretch = self.of.scaled, self.vector(v), self._log_stretch(v)
        height, slope = self.of.density(vector)
        slope = slope.copy()
        slope[self.of.log_scale] += slope[scaled] @ (self.share * vector[scaled]) + self.share.sum()
        slope[scaled] *= np.exp(log_stretch)
        return height + float(log_stretch.sum()), slope


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A log density in coordinates w (d,) in which it is round near its mode; called like any other."""

    density: Density
    centre: np.ndarray
    turn: np.ndarray

    @property
    def prior_share(self) -> float:
        """Mean share of the prior in what is known of the `Scaled` parameters, 0 to 1."""
        return float(self.density.share.mean()) if isinstance(self.density, _Stretched) else 0.0

    def vector(self, w: np.ndarray) -> np.ndarray:
        """The parameters (d,) at w."""
        v = self.centre + self.turn @ w
        return self.density.vector(v) if isinstance(self.density, _Stretched) else v

    def place(self, vector: np.ndarray) -> np.ndarray:
        """w (d,) of the parameters."""
        v = self.density.stretched(vector) if isinstance(self.density, _Stretched) else vector
        return np.asarray(np.linalg.solve(self.turn, v - self.centre))

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density of w, up to a constant, and its gradient (d,)."""
        height, slope = self.density(self.centre + self.turn @ w)
        return height, self.turn.T @ slope


def mode_of(density: Density, size: int, start: np.ndarray | None = None) -> np.ndarray:
    """Where a log density of a vector (d,) has its mode, (d,): if `Scaled`, that of the parameters over their scale.

    Parameters
    ----------
    density : callable
        From a vector (d,) to the log density there and its gradient (d,).
    size : int
        d.
    start : array (d,), optional
        Where the search begins, such as the mode under other weights; default 0.
    """
    place = np.zeros(size) if start is None else start
    if isinstance(density, Independent):
        starts = np.split(place, np.cumsum([width for width, _ in density.parts])[:-1])
        return np.concatenate([mode_of(part, width, own) for (width, part), own in zip(density.parts, starts, strict=True)])
    return _found(density, place)[0]


def _found(density: Density, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode (d,), and minus the second derivatives (d, d) there; of a `Scaled` density those in the parameters over their scale.

    A density of a share of the records, where one is offered, is searched first: the whole one then has the last steps left.
    """
    make_rough, turn = getattr(density, "rough", None), None
    if make_rough is not None:
        place, curvature = _found(make_rough(), place)
        turn = root_of_inverse(curvature)
    if not isinstance(density, Scaled):
        return _climbed(density, place, turn)
    whole = _Stretched(density, 0.0, np.ones(len(density.unit)))
    v, curvature = _climbed(whole, whole.stretched(place), turn)
    return whole.vector(v), curvature


def _climbed(density: Density, place: np.ndarray, turn: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The mode and minus the second derivatives there, from a place, in coordinates that are round about there if any are known."""
    for _ in range(_TURNS):
        if turn is None:
            curvature = curvature_at(density, place)
            turn = root_of_inverse(curvature)
            if np.abs(turn.T @ density(place)[1]).max() < _NEAR:
                return place, curvature
        place, turn = place + turn @ _descended(density, place, turn), None
    return place, curvature_at(density, place)


def laplace_draws(density: Density, size: int, count: int, rng: np.random.Generator, start: np.ndarray | None = None) -> np.ndarray:
    """Draws (count, d) from the normal approximation at the mode, in `round_coordinates`; independent parts each from its own.

    Parameters
    ----------
    density, size, start
        See `mode_of`.
    count : int
    rng : Generator
    """
    place = np.zeros(size) if start is None else start
    if isinstance(density, Independent):
        starts = np.split(place, np.cumsum([width for width, _ in density.parts])[:-1])
        parts = [laplace_draws(part, width, count, rng, own) for (width, part), own in zip(density.parts, starts, strict=True)]
        return np.concatenate(parts, axis=1)
    coordinates = round_coordinates(density, size, place)
    return np.array([coordinates.vector(w) for w in rng.standard_normal((count, size))])


def round_coordinates(density: Density, size: int, start: np.ndarray | None = None) -> Coordinates:
    """Those of the Hessian at the mode; what is `Scaled` is stretched by its scale as far as the prior holds it there.

    Parameters
    ----------
    density, size, start
        See `mode_of`; not `Independent` parts, of which each has its own.
    """
    return _round(density, *_found(density, np.zeros(size) if start is None else start))


def _round(density: Density, mode: np.ndarray, curvature: np.ndarray) -> Coordinates:
    """The coordinates at what `_found` found."""
    if not isinstance(density, Scaled):
        return Coordinates(density, mode, root_of_inverse(curvature))
    given = np.delete(np.arange(len(mode)), density.log_scale)  # tau
    variance = np.zeros(len(mode))
    variance[given] = (root_of_inverse(curvature[np.ix_(given, given)]) ** 2).sum(axis=1)
    share = np.minimum(variance[density.scaled] / density.unit**2, 1.0)
    stretched = _Stretched(density, float(mode[density.log_scale]), share)
    return Coordinates(stretched, mode, root_of_inverse(stretched.curvature_from(curvature, mode)))


def begun_at_modes(density: Density, size: int) -> tuple[Coordinates, np.ndarray]:
    """`round_coordinates` where chains begin, and the places (S, d) there of all modes about which they do.

    Of the modes to which the density's ``starts`` lead, those count whose share of the posterior, in the normal approximation, is not
    negligible beside the largest one's.
    """
    find = getattr(density, "starts", None)
    if find is None:
        return round_coordinates(density, size), np.zeros((1, size))
    found = [_found(density, start) for start in find()]
    shares = np.array([_log_share(density, *one) for one in found])
    coordinates = _round(density, *found[int(shares.argmax())])
    kept = [mode for (mode, _), share in zip(found, shares, strict=True) if share >= shares.max() - _NEGLIGIBLE]
    return coordinates, np.array([coordinates.place(mode) for mode in kept])


def _log_share(density: Density, mode: np.ndarray, curvature: np.ndarray) -> float:
    """log of the probability about a mode by the normal approximation there, up to a constant."""
    height = density(mode)[0]
    if isinstance(density, Scaled):  # the curvature is that of the parameters over their scale
        height += (density.scaled.stop - density.scaled.start) * float(mode[density.log_scale])
    return height - 0.5 * float(np.log(np.maximum(np.abs(linalg.eigvalsh(curvature)), _FLATTEST)).sum())


def _descended(density: Density, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """From a place towards the mode, in the coordinates of the Hessian there, (d,)."""

    def downhill(w: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = density(place + turn @ w)
        return (-height, -(turn.T @ slope)) if np.isfinite(height) else (_WALL, np.zeros(len(w)))

    options = {"maxiter": 150, "maxcor": 30, "ftol": 1e-12, "gtol": _STILL}
    return np.asarray(optimize.minimize(downhill, np.zeros(len(place)), jac=True, method="L-BFGS-B", options=options).x)


def curvature_at(density: Density, place: np.ndarray) -> np.ndarray:
    """Minus the second derivatives, (d, d): the density's own, or from differences of gradients."""
    own = getattr(density, "curvature", None)
    if own is not None:
        return np.asarray(own(place))
    rows = []
    for direction in np.eye(len(place)) * _DIFFERENCE:
        rows.append((density(place - direction)[1] - density(place + direction)[1]) / (2 * _DIFFERENCE))
    return np.asarray((np.array(rows) + np.array(rows).T) / 2)


def root_of_inverse(curvature: np.ndarray) -> np.ndarray:
    """R with R R' = inverse of the matrix. Its eigenvalues, of which some are negative away from the mode, count by their size."""
    values, vectors = linalg.eigh(curvature)
    return np.asarray(vectors / np.sqrt(np.maximum(np.abs(values), _FLATTEST)))
