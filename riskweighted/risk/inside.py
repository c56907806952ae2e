"""Released values of a model that is cut to the balls of records (METHODS section 12)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.contract.synthesizer import Draw
from riskweighted.intruder.statuses import AMOUNT, MISSING, find_statuses
from riskweighted.risk.balls import DrawnBalls, mass_inside
from riskweighted.sampling.block_fit import BlockFit

__all__ = ["Counted", "Inside"]

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
