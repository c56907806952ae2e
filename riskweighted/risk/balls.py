"""Probability that a synthesizer's value lands in a record's ball, as released values lie: rounded,
codes apart (METHODS section 2); and released values of a model that is cut to the balls (METHODS
section 12).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.contract.distribution import has_mass, interval_masses, read_only
from riskweighted.contract.synthesizer import ContractError, Draw, Synthesizer
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import AMOUNT, MISSING, find_statuses
from riskweighted.sequence.rounding import Rounding

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sampling.block_fit import BlockFit

__all__ = [
    "REPEATS",
    "BallCounts",
    "DrawnBalls",
    "Inside",
    "drawn_balls",
    "gives_mass",
    "mass_inside",
    "masses_inside",
]


REPEATS = 20  # draws of y* per theta that stand for the mass of a synthesizer without one
_ROUND_OFF = 1e-9


class DrawnBalls(NamedTuple):
    """Balls on the scale of unrounded draws: closed intervals (n,), whose ends say nothing where
    they are ``empty``.

    ``rounding`` of draws; ``codes``: what is drawn as each special code of the scenario; ``status``
    (n,) of the records; ``near`` (2, n): the balls of released values. ``points``: of each code of
    the model that no multiple stands for, where its share of the draws comes to that of the
    interval (1) or goes off it (-1), (n,).
    """

    lower: np.ndarray
    upper: np.ndarray
    rounding: Rounding
    codes: Mapping[float, tuple[float, float]]
    status: np.ndarray
    empty: np.ndarray
    near: np.ndarray
    points: Mapping[float, np.ndarray]

    @classmethod
    def of_code(cls, code: float, count: int, rounding: Rounding) -> "DrawnBalls":
        """Of one code of levels for that many records."""
        ends, nobody = np.full((2, count), code), np.zeros(count, dtype=bool)
        return cls(ends[0] - 0.5, ends[1] + 0.5, rounding, {}, np.zeros(count), nobody, ends, {})

    def at(self, rows: np.ndarray) -> "DrawnBalls":
        """Those of some records."""
        parts = {name: getattr(self, name)[rows] for name in ("lower", "upper", "status", "empty")}
        return self._replace(
            near=self.near[:, rows],
            points={code: sign[rows] for code, sign in self.points.items()},
            **parts,
        )

    def hold(self, values: np.ndarray) -> np.ndarray:
        """Which released values (n,) lie in them."""
        near = (values >= self.near[0]) & (values <= self.near[1])
        return np.asarray(
            near & (find_statuses(pd.Series(values), tuple(self.codes)).status == self.status)
        )


def drawn_balls(
    scenario: Scenario, target: str, values: np.ndarray, in_balls: bool, rounding: Rounding
) -> DrawnBalls:
    """The scenario's balls around values (n,) as draws give them: all that is released in them,
    found by what `rounding` does.

    `in_balls`: whether the target is matched so, rather than by equality. NaN where a value is
    missing.
    """
    codes, plain = scenario.codes_of(target), pd.Series(values)
    single = rounding.stored(np.array(codes, dtype=float)) if codes else np.empty(0)
    status = find_statuses(plain, tuple(single)).status
    near = np.array(scenario.balls(target, values) if in_balls else (values, values))
    lower, upper, empty = rounding.ends(*near)
    drawn_as = {}
    for number, code in enumerate(codes):
        of_code = rounding.ends(*np.full((2, 1), code))
        drawn_as[code] = (
            (code, code) if of_code.empty[0] else (float(of_code.lower[0]), float(of_code.upper[0]))
        )
        here = status == MISSING + 1 + number
        lower[here], upper[here], empty[here] = *drawn_as[code], False
    points = {}
    for code in set(rounding.points) - set(codes):
        drawn = (lower <= code) & (code <= upper) & ~empty
        released = (near[0] <= code) & (code <= near[1])
        points[code] = np.where(status == AMOUNT, released.astype(float) - drawn, 0.0)
    lower, upper = (read_only(np.where(empty, values, end)) for end in (lower, upper))
    return DrawnBalls(lower, upper, rounding, drawn_as, status, empty, near, points)


def gives_mass(fit: "BlockFit") -> bool:
    """Whether the distribution of a fit's records gives probabilities of intervals."""
    return has_mass(fit.synthesizer, fit.draw(0, 0), fit.prepared)


def mass_inside(fit: "BlockFit", theta: Draw, prepared: Any, balls: DrawnBalls) -> np.ndarray:
    """P(y*_i in B_i | theta) by the synthesizer's ``mass``, without the special codes that stand
    among amounts, (n,).
    """
    return masses_inside(fit, prepared, balls)(theta)


def masses_inside(
    fit: "BlockFit", prepared: Any, balls: DrawnBalls
) -> Callable[[Draw], np.ndarray]:
    """The same for many parameters."""
    n, synthesizer = len(balls.lower), fit.synthesizer
    whole = interval_masses(synthesizer, prepared, balls.lower, balls.upper)
    asked = []
    for low, high in balls.codes.values():
        among = (balls.status == AMOUNT) & (balls.lower <= low) & (high <= balls.upper)
        asked.append((-among.astype(float), (low, high)))
    asked += [(sign, (code, code)) for code, sign in balls.points.items()]
    ends = [
        (sign, interval_masses(synthesizer, prepared, np.full(n, low), np.full(n, high)))
        for sign, (low, high) in asked
        if sign.any()
    ]

    def masses(theta: Draw) -> np.ndarray:
        mass = np.where(balls.empty, 0.0, _checked(whole(theta), synthesizer, n))
        for sign, at_code in ends:
            mass = np.maximum(mass + sign * _checked(at_code(theta), synthesizer, n), 0.0)
        return mass

    return masses


def _checked(mass: object, synthesizer: Synthesizer, n: int) -> np.ndarray:
    """What a synthesizer's ``mass`` gives, once it is seen to be n probabilities, (n,)."""
    checked, name = np.asarray(mass, dtype=float), type(synthesizer).__name__
    if checked.shape != (n,):
        raise ContractError(
            f"{name}: mass must give {n} probabilities, one a record; got shape {checked.shape}"
        )
    wrong = int((~((checked >= -_ROUND_OFF) & (checked <= 1 + _ROUND_OFF))).sum())
    if wrong:
        raise ContractError(f"{name}: mass must give probabilities; {wrong} of {n} are none")
    return np.asarray(np.clip(checked, 0.0, 1.0))


_MOST_HALVINGS = 20
_AGAIN = 10  # rounds for amounts that fell on a special code


class Inside:
    """A model with ``mass``, cut to the balls of m records."""

    def __init__(
        self,
        fit: "BlockFit",
        theta: Draw,
        prepared: Any,
        balls: DrawnBalls,
        rng: np.random.Generator,
    ) -> None:
        self.fit, self.theta, self.prepared, self.balls, self.rng = fit, theta, prepared, balls, rng

    def mass(self) -> np.ndarray:
        """Of the balls, (m,)."""
        return mass_inside(self.fit, self.theta, self.prepared, self.balls)

    def values(self) -> np.ndarray:
        """Released values inside them, (m,): drawn by inverting the mass."""
        values = self._drawn()
        for _ in range(_AGAIN):
            strange = self._strange(values)
            if not strange.any():
                return values
            values = np.where(strange, self._drawn(), values)
        return values

    def _strange(self, values: np.ndarray) -> np.ndarray:
        """Amounts that fell on a special code of the scenario inside the ball."""
        status = find_statuses(pd.Series(values), tuple(self.balls.codes)).status
        return np.asarray((status > MISSING) & (self.balls.status == AMOUNT))

    def _drawn(self) -> np.ndarray:
        """By the model's `inverse`; without it by halving, until a ball holds a quarter of the
        precision, or a millionth of its width.
        """
        low, high, rounding = self.balls.lower, self.balls.upper, self.balls.rounding
        width, precision = high - low, rounding.precision
        wide = width > 0 if precision is None else width > 1.5 * precision
        if wide.any():
            share = self.rng.random(len(low))
            records = self.fit.synthesizer.distribution(self.theta, self.prepared)
            inverse = getattr(records, "inverse", None)
            if inverse is None:
                low, high = self._halved(low, high, wide, share * self._below(high))
            else:
                inverted = inverse(low, high, share)
                low = high = np.where(wide & np.isfinite(inverted), inverted, (low + high) / 2)
        middle = (low + high) / 2
        return np.rint(middle) if rounding.of_levels else rounding.released(middle)

    def _halved(
        self, low: np.ndarray, high: np.ndarray, wide: np.ndarray, aim: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends (m,) between which the mass from the lower end of a wide ball reaches what is aimed
        at.
        """
        width, precision = (high - low).max(), self.balls.rounding.precision
        most = _MOST_HALVINGS if precision is None else int(np.ceil(np.log2(width / precision))) + 2
        for _ in range(min(most, _MOST_HALVINGS)):
            middle = (low + high) / 2
            beyond = self._below(middle) >= aim
            low, high = np.where(wide & ~beyond, middle, low), np.where(wide & beyond, middle, high)
        return low, high

    def _below(self, ends: np.ndarray) -> np.ndarray:
        """Mass from the lower ends of the balls to these, (m,)."""
        return mass_inside(
            self.fit,
            self.theta,
            self.prepared,
            self.balls._replace(upper=ends, codes={}, points={}),
        )


class BallCounts:
    """A model without ``mass``: of some draws (m,) the share in the ball, and the first one
    there.
    """

    def __init__(self, draws: Iterable[np.ndarray], balls: DrawnBalls) -> None:
        self._values = np.array([balls.rounding.released(values) for values in draws], dtype=float)
        self._near = np.array([balls.hold(values) for values in self._values])

    def mass(self) -> np.ndarray:
        """Of the balls, (m,)."""
        return np.asarray(self._near.mean(axis=0))

    def values(self) -> np.ndarray:
        """Released values inside them, (m,)."""
        return np.asarray(
            np.take_along_axis(self._values, self._near.argmax(axis=0)[None], axis=0)[0]
        )
