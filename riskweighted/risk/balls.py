"""Probability that a synthesizer's value lands in a record's ball, as released values lie: rounded, codes apart (METHODS section 2); and
released values of a model that is cut to the balls (METHODS section 12).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.contract.distribution import has_mass, interval_masses
from riskweighted.contract.synthesizer import ContractError, Draw, Synthesizer
from riskweighted.intruder.scenario import Scenario
from riskweighted.intruder.statuses import AMOUNT, MISSING, ends_of_code, find_statuses
from riskweighted.sampling.block_fit import BlockFit

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sampling.block_fit import BlockFit

__all__ = ["REPEATS", "Counted", "DrawnBalls", "Inside", "drawn_balls", "gives_mass", "mass_inside", "masses_inside"]


REPEATS = 20  # draws of y* per theta that stand for the mass of a synthesizer without one
_ROUND_OFF = 1e-9


class DrawnBalls(NamedTuple):
    """Ends of the balls on the scale of unrounded draws, (n,) each, and to what these are rounded; what is drawn as each special code of
    the scenario, and the statuses of the records (n,)."""

    lower: np.ndarray
    upper: np.ndarray
    precision: float | None
    codes: Mapping[float, tuple[float, float]]
    status: np.ndarray

    def at(self, rows: np.ndarray) -> "DrawnBalls":
        """Those of some records."""
        return self._replace(lower=self.lower[rows], upper=self.upper[rows], status=self.status[rows])

    def hold(self, values: np.ndarray) -> np.ndarray:
        """Which released values (n,) lie in them."""
        near = (values >= self.lower) & (values <= self.upper)
        return np.asarray(near & (find_statuses(pd.Series(values), tuple(self.codes)).status == self.status))


def drawn_balls(scenario: Scenario, target: str, values: np.ndarray, in_balls: bool, precision: float | None) -> DrawnBalls:
    """The scenario's balls around values (n,) as draws give them; where released values are multiples of a precision, all that rounds
    into them. `in_balls`: whether the target is matched so, rather than by equality. NaN where a value is missing."""
    codes = scenario.codes_of(target)
    status = find_statuses(pd.Series(values), codes).status
    lower, upper = scenario.balls(target, values) if in_balls else (values, values)
    if precision is not None:
        slack = 1e-9 * np.maximum(np.abs(values) / precision, 1.0)
        if in_balls and scenario.boundary == "open" and max(scenario.radius_of(target), scenario.min_radius) > 0:  # without the ends
            first, last = np.floor(lower / precision + slack) + 1, np.ceil(upper / precision - slack) - 1
        else:
            first, last = np.ceil(lower / precision - slack), np.floor(upper / precision + slack)
        lower, upper = (first - 0.5) * precision, (last + 0.5) * precision
    upper = np.maximum(lower, upper)  # of an empty ball, which has no mass
    drawn_as = {code: ends_of_code(code, precision) for code in codes}
    for status_of_code, ends in enumerate(drawn_as.values(), start=MISSING + 1):
        for side, end in zip((lower, upper), ends, strict=True):
            side[status == status_of_code] = end
    return DrawnBalls(lower, upper, precision, drawn_as, status)


def gives_mass(fit: "BlockFit") -> bool:
    """Whether the distribution of a fit's records gives probabilities of intervals."""
    return has_mass(fit.synthesizer, fit.draw(0, 0), fit.prepared)


def mass_inside(fit: "BlockFit", theta: Draw, prepared: Any, balls: DrawnBalls) -> np.ndarray:
    """P(y*_i in B_i | theta) by the synthesizer's ``mass``, without the special codes that stand among amounts, (n,)."""
    return masses_inside(fit, prepared, balls)(theta)


def masses_inside(fit: "BlockFit", prepared: Any, balls: DrawnBalls) -> Callable[[Draw], np.ndarray]:
    """The same for many parameters."""
    n, synthesizer = len(balls.lower), fit.synthesizer
    whole = interval_masses(synthesizer, prepared, balls.lower, balls.upper)
    codes = []
    for low, high in balls.codes.values():
        among = (balls.status == AMOUNT) & (balls.lower <= low) & (high <= balls.upper)
        if among.any():
            codes.append((among, interval_masses(synthesizer, prepared, np.full(n, low), np.full(n, high))))

    def masses(theta: Draw) -> np.ndarray:
        mass = _checked(whole(theta), synthesizer, n)
        for among, at_code in codes:
            mass = np.where(among, np.maximum(mass - _checked(at_code(theta), synthesizer, n), 0.0), mass)
        return mass

    return masses


def _checked(mass: object, synthesizer: Synthesizer, n: int) -> np.ndarray:
    """What a synthesizer's ``mass`` gives, once it is seen to be n probabilities, (n,)."""
    checked, name = np.asarray(mass, dtype=float), type(synthesizer).__name__
    if checked.shape != (n,):
        raise ContractError(f"{name}: mass must give {n} probabilities, one a record; got shape {checked.shape}")
    wrong = int((~((checked >= -_ROUND_OFF) & (checked <= 1 + _ROUND_OFF))).sum())
    if wrong:
        raise ContractError(f"{name}: mass must give probabilities; {wrong} of {n} are none")
    return np.asarray(np.clip(checked, 0.0, 1.0))


_MOST_HALVINGS = 20
_AGAIN = 10  # rounds for amounts that fell on a special code


class Inside:
    """A model with ``mass``, cut to the balls of m records."""

    def __init__(self, fit: BlockFit, theta: Draw, prepared: Any, balls: DrawnBalls, rng: np.random.Generator) -> None:
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
        """By the model's `inverse`; without it by halving, until a ball holds a quarter of the precision, or a millionth of its width."""
        low, high, precision = self.balls.lower.copy(), self.balls.upper.copy(), self.balls.precision
        width = high - low
        wide = width > 0 if precision is None else width > 1.5 * precision
        if wide.any():
            share, records = self.rng.random(len(low)), self.fit.synthesizer.distribution(self.theta, self.prepared)
            inverse = getattr(records, "inverse", None)
            if inverse is None:
                low, high = self._halved(low, high, wide, share * self._below(high))
            else:
                inverted = inverse(low, high, share)
                low = high = np.where(wide & np.isfinite(inverted), inverted, (low + high) / 2)
        middle = (low + high) / 2
        return np.rint(middle) if self.fit.categories is not None else self.fit.rounded(middle, precision)

    def _halved(self, low: np.ndarray, high: np.ndarray, wide: np.ndarray, aim: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends (m,) between which the mass from the lower end of a wide ball reaches what is aimed at."""
        width, precision = (high - low).max(), self.balls.precision
        most = _MOST_HALVINGS if precision is None else int(np.ceil(np.log2(width / precision))) + 2
        for _ in range(min(most, _MOST_HALVINGS)):
            middle = (low + high) / 2
            beyond = self._below(middle) >= aim
            low, high = np.where(wide & ~beyond, middle, low), np.where(wide & beyond, middle, high)
        return low, high

    def _below(self, ends: np.ndarray) -> np.ndarray:
        """Mass from the lower ends of the balls to these, (m,)."""
        return mass_inside(self.fit, self.theta, self.prepared, self.balls._replace(upper=ends, codes={}))


class Counted:
    """A model without ``mass``: of some draws (m,) the share in the ball, and the first one there."""

    def __init__(self, fit: BlockFit, draws: Iterable[np.ndarray], balls: DrawnBalls) -> None:
        self._values = np.array([fit.rounded(values, balls.precision) for values in draws], dtype=float)
        self._near = np.array([balls.hold(values) for values in self._values])

    def mass(self) -> np.ndarray:
        """Of the balls, (m,)."""
        return np.asarray(self._near.mean(axis=0))

    def values(self) -> np.ndarray:
        """Released values inside them, (m,)."""
        return np.asarray(np.take_along_axis(self._values, self._near.argmax(axis=0)[None], axis=0)[0])
