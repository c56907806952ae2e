"""The mode of a log density, which gives plug-in parameters, and the Hessian there, which gives
coordinates that a sampler moves in freely.

A scale tau with parameters s ~ N(0, tau^2) is where both go wrong. The joint density of tau and s
is highest where tau is next to nothing, whatever the data say, so its mode is that of tau and s /
tau. And the width of what the vector holds follows tau: wholly in directions of which the data say
nothing, not at all in those of which they say all. So given tau the sampler moves in the directions
y in which the prior of s has a share c of the precision and the data the rest, from where y stands
at that tau, in its width there (a partially non-centred parametrisation, Papaspiliopoulos, Roberts
& Skold 2007, along the eigenvectors); c follows alpha.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import linalg, optimize

from riskweighted.contract.synthesizer import Density

__all__ = [
    "Coordinates",
    "DensityWithStarts",
    "Independent",
    "Mode",
    "NonCentredCoordinates",
    "ScaleMixtureDensity",
    "begun_at_modes",
    "curvature_at",
    "heights_of",
    "laplace_draws",
    "laplace_steps",
    "mode_of",
    "modes_from",
    "parts_of",
    "peak_of",
    "root_of_inverse",
    "round_about",
    "round_coordinates",
]

# step of the differences of gradients, of which the curvature is made to as many digits
_DIFFERENCE = 1e-5
_FLATTEST = 1e-2  # curvature: a parameter that the data say nothing of has its prior's
_TURNS = 6
_NEAR = 0.05  # standard deviations from the mode
_STILL = 1e-3  # likewise, where a search ends
_NEGLIGIBLE = 20.0  # of log probability: a mode has 2e-9 of what another has
_WALL = 1e300  # where a density is no number


@dataclass(frozen=True)
class Independent:
    """A log density of parts that do not depend on each other, side by side: called like any other,
    and searched part by part.

    ``parts``: size of each, and its density; where one has parts itself, these stand in its place.
    """

    parts: tuple[tuple[int, Density], ...]

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "parts",
            tuple(part for size, density in self.parts for part in parts_of(density, size)),
        )

    def heights(self, vectors: np.ndarray) -> np.ndarray:
        """The log densities (S,) of many vectors (S, d)."""
        ends = np.cumsum([size for size, _ in self.parts])
        each = [
            heights_of(part, vectors[:, end - size : end])
            for (size, part), end in zip(self.parts, ends, strict=True)
        ]
        return np.asarray(np.sum(each, axis=0))

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density (sum) and its gradient (d,)."""
        ends = np.cumsum([size for size, _ in self.parts])
        each = [
            part(vector[end - size : end])
            for (size, part), end in zip(self.parts, ends, strict=True)
        ]
        return sum(height for height, _ in each), np.concatenate([gradient for _, gradient in each])


@dataclass(frozen=True, eq=False)
class DensityWithStarts:
    """A log density with places where chains begin, a rough one, or many values at once; see
    `Blueprint.density`. Called like any other.
    """

    density: Density
    starts: Callable[[], np.ndarray] | None = None
    rough: Callable[[], Density] | None = None
    heights: Callable[[np.ndarray], np.ndarray] | None = None

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        return self.density(vector)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleMixtureDensity(DensityWithStarts):
    """A log density in which some parameters have a prior whose scale is a parameter too; called
    like any other.

    ``log_scale``: place of log tau in the vector; ``scaled``: places of the parameters with prior
    N(0, (tau unit)^2); ``unit``: theirs.
    """

    log_scale: int
    scaled: slice
    unit: np.ndarray


@dataclass(frozen=True, eq=False)
class _UnitScaleDensity:
    """A `ScaleMixtureDensity` log density, of the vector with s / tau in the place of s."""

    of: ScaleMixtureDensity

    def vector(self, v: np.ndarray) -> np.ndarray:
        """The parameters (d,) of v."""
        vector = v.copy()
        vector[self.of.scaled] = v[self.of.scaled] * np.exp(v[self.of.log_scale])
        return vector

    def over(self, vector: np.ndarray) -> np.ndarray:
        """v (d,) of the parameters."""
        v = vector.copy()
        v[self.of.scaled] = vector[self.of.scaled] / np.exp(vector[self.of.log_scale])
        return v

    def __call__(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density of v and its gradient (d,)."""
        scaled, vector, log_scale = self.of.scaled, self.vector(v), float(v[self.of.log_scale])
        height, slope = self.of.density(vector)
        slope = slope.copy()
        slope[self.of.log_scale] += slope[scaled] @ vector[scaled] + len(self.of.unit)
        slope[scaled] *= np.exp(log_scale)
        return height + log_scale * len(self.of.unit), slope


@dataclass(frozen=True, eq=False)
class NonCentredCoordinates:
    """A `ScaleMixtureDensity` log density of a vector w: log tau in its own width, and directions
    that follow tau.

    All but log tau are centre + turn y. There, at the mode, y has precision 1, of which the prior
    of s holds the share c. Where tau is rho times that at the mode, y has the precision 1 - c + c /
    rho^2 =: 1 / r^2, and stands where the prior's pull, g at the mode, and the data's against it
    have taken it. So y = g (1 / rho^2 - 1) r^2 + r z, and z is about N(0, 1) whatever tau.
    """

    of: ScaleMixtureDensity
    centre: np.ndarray  # (d,)
    width: float  # of log tau
    turn: np.ndarray  # (d - 1, d - 1)
    share: np.ndarray  # c (d - 1,)
    pull: np.ndarray  # g (d - 1,)

    @property
    def prior_share(self) -> float:
        return float(self.share.sum() / len(self.of.unit))

    def heights(self, places: np.ndarray) -> np.ndarray:
        """The log densities (S,) of many w (S, d), up to a constant."""
        vectors = np.array([self.vector(w) for w in places])
        return np.asarray(heights_of(self.of, vectors) + self.log_volume(vectors))

    def log_volume(self, vectors: np.ndarray) -> np.ndarray:
        """What the log density of w has over that of its vector (..., d), up to a constant."""
        steps = vectors[..., self.of.log_scale] - self.centre[self.of.log_scale]
        return np.array([np.log(self._at(step)[0]).sum() for step in steps.ravel()]).reshape(
            steps.shape
        )

    def _at(self, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """r and where y stands at a step of log tau, each (d - 1,), and their derivatives in it,
        that of r over r.
        """
        weaker = np.exp(-2 * step)
        square = 1 / (1 - self.share + self.share * weaker)
        place = self.pull * (weaker - 1) * square
        return (
            np.sqrt(square),
            place,
            self.share * weaker * square,
            -2 * self.pull * weaker * square**2,
        )

    def vector(self, w: np.ndarray) -> np.ndarray:
        """The parameters (d,) of w."""
        step = float(w[self.of.log_scale]) * self.width
        length, place, _, _ = self._at(step)
        others = self.turn @ (place + length * np.delete(w, self.of.log_scale))
        return np.asarray(self.centre + np.insert(others, self.of.log_scale, step))

    def place(self, vector: np.ndarray) -> np.ndarray:
        """w (d,) of the parameters."""
        away = vector - self.centre
        step = float(away[self.of.log_scale])
        length, place, _, _ = self._at(step)
        z = (np.linalg.solve(self.turn, np.delete(away, self.of.log_scale)) - place) / length
        return np.insert(z, self.of.log_scale, step / self.width)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density of w, up to a constant, and its gradient (d,)."""
        at, z = self.of.log_scale, np.delete(w, self.of.log_scale)
        step = float(w[at]) * self.width
        length, place, growth, drift = self._at(step)
        height, slope = self.of.density(
            self.centre + np.insert(self.turn @ (place + length * z), at, step)
        )
        of_y = self.turn.T @ np.delete(slope, at)
        of_step = (
            float(slope[at]) + float(of_y @ (drift + length * growth * z)) + float(growth.sum())
        )
        return height + float(np.log(length).sum()), np.insert(
            length * of_y, at, of_step * self.width
        )


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A log density in coordinates w (d,) in which it is round near its mode; called like any
    other.

    ``prior_share``: of the prior in what is known of the `ScaleMixtureDensity` parameters, 0 to 1.
    """

    density: Density
    centre: np.ndarray
    turn: np.ndarray
    prior_share: ClassVar[float] = 0.0

    def vector(self, w: np.ndarray) -> np.ndarray:
        """The parameters (d,) at w."""
        return np.asarray(self.centre + self.turn @ w)

    def place(self, vector: np.ndarray) -> np.ndarray:
        """w (d,) of the parameters."""
        return np.asarray(np.linalg.solve(self.turn, vector - self.centre))

    def heights(self, places: np.ndarray) -> np.ndarray:
        """The log densities (S,) of many w (S, d), up to a constant."""
        return heights_of(self.density, self.centre + places @ self.turn.T)

    def log_volume(self, vectors: np.ndarray) -> np.ndarray:
        """What the log density of w has over that of its vector (..., d), up to a constant:
        nothing.
        """
        return np.zeros(vectors.shape[:-1])

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The log density of w, up to a constant, and its gradient (d,)."""
        height, slope = self.density(self.centre + self.turn @ w)
        return height, self.turn.T @ slope


def parts_of(density: Density, size: int) -> tuple[tuple[int, Density], ...]:
    """The independent parts of a log density of vectors (d,), each behind its size; itself where it
    has none.
    """
    return density.parts if isinstance(density, Independent) else ((size, density),)


def heights_of(density: Density, vectors: np.ndarray) -> np.ndarray:
    """Log densities (S,) of many vectors (S, d), all at once where the density offers that; -inf
    where it is no number.
    """
    at_once = getattr(density, "heights", None)
    heights = (
        np.asarray(at_once(vectors))
        if at_once is not None
        else np.array([density(vector)[0] for vector in vectors])
    )
    return np.where(np.isfinite(heights), heights, -np.inf)


def mode_of(density: Density, size: int, start: np.ndarray | None = None) -> np.ndarray:
    """Where a log density of a vector (d,) has its mode, (d,), searched from a start; if
    `ScaleMixtureDensity`, that of parameters over their scale.
    """
    place = np.zeros(size) if start is None else start
    if isinstance(density, Independent):
        parts = zip(density.parts, _starts_of(density, place), strict=True)
        return np.concatenate([mode_of(part, width, begin) for (width, part), begin in parts])
    return _found(density, place)[0]


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode of a log density and its width there, in coordinates v (d,) of its own: those of a
    `ScaleMixtureDensity` density are over their scale.

    ``place`` (d,): the mode; ``root`` (d, d): R with R R' = inverse of minus the second derivatives
    there.
    """

    density: Density
    place: np.ndarray
    root: np.ndarray

    def vector(self, v: np.ndarray) -> np.ndarray:
        """The parameters (d,) of v."""
        if isinstance(self.density, Independent):
            return np.concatenate(
                [
                    _vector_of(part, each)
                    for (_, part), each in zip(
                        self.density.parts, _starts_of(self.density, v), strict=True
                    )
                ]
            )
        return _vector_of(self.density, v)


def _vector_of(density: Density, v: np.ndarray) -> np.ndarray:
    return _UnitScaleDensity(density).vector(v) if isinstance(density, ScaleMixtureDensity) else v


def peak_of(density: Density, start: np.ndarray) -> Mode:
    """The mode of a log density, searched from parameters (d,), with its width; of `Independent`
    parts, part by part.
    """
    if isinstance(density, Independent):
        parts = zip(density.parts, _starts_of(density, start), strict=True)
        peaks = [peak_of(part, begin) for (_, part), begin in parts]
        return Mode(
            density,
            np.concatenate([peak.place for peak in peaks]),
            linalg.block_diag(*(peak.root for peak in peaks)),
        )
    mode, curvature = _found(density, start)
    place = (
        _UnitScaleDensity(density).over(mode) if isinstance(density, ScaleMixtureDensity) else mode
    )
    return Mode(density, place, root_of_inverse(curvature))


def _starts_of(density: Independent, place: np.ndarray) -> list[np.ndarray]:
    """Where each part's search begins."""
    return np.split(place, np.cumsum([width for width, _ in density.parts])[:-1])


def _found(density: Density, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode (d,), and minus the second derivatives (d, d) there; of a `ScaleMixtureDensity`
    density those in the parameters over their scale.

    A density of a share of the records, where one is offered, is searched first: the whole one then
    has the last steps left.
    """
    make_rough, turn = getattr(density, "rough", None), None
    if make_rough is not None:
        place, curvature = _found(make_rough(), place)
        turn = root_of_inverse(curvature)
    if not isinstance(density, ScaleMixtureDensity):
        return _climbed(density, place, turn)
    whole = _UnitScaleDensity(density)
    v, curvature = _climbed(whole, whole.over(place), turn)
    return whole.vector(v), curvature


def _climbed(
    density: Density, place: np.ndarray, turn: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The mode and minus the second derivatives there, from a place, in coordinates that are round
    about there if any are known.
    """
    for _ in range(_TURNS):
        if turn is None:
            curvature = curvature_at(density, place)
            turn = root_of_inverse(curvature)
            if np.abs(turn.T @ density(place)[1]).max() < _NEAR:
                return place, curvature
        place, turn = place + turn @ _descended(density, place, turn), None
    return place, curvature_at(density, place)


def laplace_draws(
    density: Density,
    size: int,
    count: int,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Draws (count, d) from the normal approximation at the mode, in `round_coordinates`;
    independent parts each from its own.
    """
    place = np.zeros(size) if start is None else start
    if isinstance(density, Independent):
        parts = zip(density.parts, _starts_of(density, place), strict=True)
        return np.concatenate(
            [laplace_draws(part, width, count, rng, begin) for (width, part), begin in parts],
            axis=1,
        )
    coordinates = round_coordinates(density, size, place)
    return np.array([coordinates.vector(w) for w in rng.standard_normal((count, size))])


def laplace_steps(
    density: Density, size: int, step: float, start: np.ndarray | None = None
) -> np.ndarray:
    """Vectors (d, 2, d) that lie a step to either side of the mode along each of the
    `round_coordinates`, in which it is about N(0, I).
    """
    place = np.zeros(size) if start is None else start
    if not isinstance(density, Independent):
        coordinates = round_coordinates(density, size, place)
        return np.array(
            [
                [coordinates.vector(sign * step * along) for sign in (1.0, -1.0)]
                for along in np.eye(size)
            ]
        )
    parts = list(zip(density.parts, _starts_of(density, place), strict=True))
    steps = np.tile(
        np.concatenate([mode_of(part, width, begin) for (width, part), begin in parts]),
        (size, 2, 1),
    )
    first = 0
    for (width, part), begin in parts:
        own = slice(first, first + width)
        steps[own, :, own], first = laplace_steps(part, width, step, begin), first + width
    return steps


def round_coordinates(
    density: Density, size: int, start: np.ndarray | None = None
) -> Coordinates | NonCentredCoordinates:
    """Those of the Hessian at the mode, not of `Independent` parts; of a `ScaleMixtureDensity`
    density they follow the scale as the prior does.
    """
    return _round(density, *_found(density, np.zeros(size) if start is None else start))


def round_about(density: ScaleMixtureDensity, place: np.ndarray) -> NonCentredCoordinates:
    """`round_coordinates` about parameters (d,) that are the mode given their scale."""
    over = _UnitScaleDensity(density)
    coordinates = _round(density, place, curvature_at(over, over.over(place)))
    assert isinstance(coordinates, NonCentredCoordinates)
    return coordinates


def _round(
    density: Density, mode: np.ndarray, curvature: np.ndarray
) -> Coordinates | NonCentredCoordinates:
    """The coordinates at what `_found` found."""
    if not isinstance(density, ScaleMixtureDensity):
        return Coordinates(density, mode, root_of_inverse(curvature))
    given = np.delete(np.arange(len(mode)), density.log_scale)
    scaled = np.zeros(len(mode))
    tau = np.exp(mode[density.log_scale])
    scaled[density.scaled] = 1.0
    over, precision = np.where(scaled[given] > 0, tau, 1.0), np.zeros(len(mode))
    # of the parameters, given tau
    root = over[:, None] * root_of_inverse(curvature[np.ix_(given, given)])
    precision[density.scaled] = (tau * density.unit) ** -2.0
    share, vectors = linalg.eigh((root * precision[given, None]).T @ root)
    turn = root @ vectors
    made = (np.clip(share, 0.0, 1.0), -turn.T @ (precision * mode)[given])
    return _in_width(NonCentredCoordinates(density, mode, 1.0, turn, *made))


def _in_width(coordinates: NonCentredCoordinates) -> NonCentredCoordinates:
    """The same with log tau in the width that it has along what follows it."""
    step, rest = _DIFFERENCE, np.zeros(len(coordinates.centre))
    along = np.insert(np.zeros(len(rest) - 1), coordinates.of.log_scale, step)
    falls = coordinates(rest - along)[1] - coordinates(rest + along)[1]
    curvature = max(float(falls[coordinates.of.log_scale]) / (2 * step), _FLATTEST)
    return replace(coordinates, width=1 / np.sqrt(curvature))


def begun_at_modes(
    density: Density, size: int
) -> tuple[Coordinates | NonCentredCoordinates, np.ndarray]:
    """`round_coordinates` where chains begin, and the places (S, d) there of all modes about which
    they do.

    Of the modes to which the density's ``starts`` lead, those count whose share of the posterior,
    in the normal approximation, is not negligible beside the largest one's.
    """
    find = getattr(density, "starts", None)
    if find is None:
        return round_coordinates(density, size), np.zeros((1, size))
    modes, shares = _modes_from(density, find())
    coordinates = _round(density, *modes[int(shares.argmax())])
    return coordinates, np.array([coordinates.place(mode) for mode in _counting(modes, shares)])


def modes_from(density: Density, starts: Sequence[np.ndarray]) -> np.ndarray:
    """Of the modes to which starts (d,) lead, those that count in `begun_at_modes`, (S, d)."""
    return np.array(_counting(*_modes_from(density, starts)))


def _modes_from(
    density: Density, starts: Iterable[np.ndarray]
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """The mode to which each start leads with its curvature, and the log of its share of the
    posterior.
    """
    modes = [_found(density, start) for start in starts]
    return modes, np.array([_log_share(density, *mode) for mode in modes])


def _counting(
    modes: Sequence[tuple[np.ndarray, np.ndarray]], shares: np.ndarray
) -> list[np.ndarray]:
    """Those whose share is not negligible."""
    return [
        mode
        for (mode, _), share in zip(modes, shares, strict=True)
        if share >= shares.max() - _NEGLIGIBLE
    ]


def _log_share(density: Density, mode: np.ndarray, curvature: np.ndarray) -> float:
    """log of the probability about a mode by the normal approximation there, up to a constant."""
    height = density(mode)[0]
    if isinstance(
        density, ScaleMixtureDensity
    ):  # the curvature is that of the parameters over their scale
        height += (density.scaled.stop - density.scaled.start) * float(mode[density.log_scale])
    return height - 0.5 * float(
        np.log(np.maximum(np.abs(linalg.eigvalsh(curvature)), _FLATTEST)).sum()
    )


def _descended(density: Density, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """From a place towards the mode, in the coordinates of the Hessian there, (d,)."""

    def downhill(w: np.ndarray) -> tuple[float, np.ndarray]:
        height, slope = density(place + turn @ w)
        return (-height, -(turn.T @ slope)) if np.isfinite(height) else (_WALL, np.zeros(len(w)))

    options = {"maxiter": 150, "maxcor": 30, "ftol": 1e-12, "gtol": _STILL}
    return np.asarray(
        optimize.minimize(
            downhill, np.zeros(len(place)), jac=True, method="L-BFGS-B", options=options
        ).x
    )


def curvature_at(density: Density, place: np.ndarray) -> np.ndarray:
    """Minus the second derivatives, (d, d): the density's own, or from differences of gradients."""
    stated = getattr(density, "curvature", None)
    if stated is not None:
        return np.asarray(stated(place))
    here = density(place)[1]
    rows = np.array(
        [
            (here - density(place + direction)[1]) / _DIFFERENCE
            for direction in np.eye(len(place)) * _DIFFERENCE
        ]
    )
    return np.asarray((rows + rows.T) / 2)


def root_of_inverse(curvature: np.ndarray) -> np.ndarray:
    """R with R R' = inverse of the matrix. Its eigenvalues, of which some are negative away from
    the mode, count by their size.
    """
    values, vectors = linalg.eigh(curvature)
    return np.asarray(vectors / np.sqrt(np.maximum(np.abs(values), _FLATTEST)))
