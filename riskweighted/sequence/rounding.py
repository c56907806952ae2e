"""How draws become released values, and which draws a released value stands for.

Every released number stands for the draws that are rounded to it, its cell. A wider set is the
union of whole cells. What decides both are the settings of drawing, which everything that reads a
fit asks of it.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.design.precision import (
    SIGNIFICANT_DIGITS,
    Precision,
    precision_of,
    round_to,
    round_within,
    unit_of,
)

if TYPE_CHECKING:  # at run time it would load xarray
    from riskweighted.sampling.block_fit import BlockFit

__all__ = ["DrawingSettings", "Ends", "Rounding"]

_SLACK = 1e-4  # of a unit: by which an end is moved, so that a point that lies on it is in, or out
_OFF = 1e-6  # of a unit: how far from a multiple a number may be written


class Ends(NamedTuple):
    """Closed intervals of draws, (n,) each; ``empty`` where no draw is released so, and the ends
    say nothing.
    """

    lower: np.ndarray
    upper: np.ndarray
    empty: np.ndarray


@dataclass(frozen=True, eq=False)
class Rounding:
    """How draws of a block's model become released values: rounded to ``precision`` within the
    bounds, then stored in a ``dtype``.

    Without a precision they have 7 significant digits. Of levels, codes are drawn and released as
    they are.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> rounding = Rounding(fit.block, 10.0)
    >>> [
    ...     end.tolist()
    ...     for end in rounding.ends(np.array([1490.0]), np.array([1500.0])).upper.round(3)[None]
    ... ]
    [[1505.0]]
    """

    fit: "BlockFit" = field(repr=False)
    precision: float | None
    dtype: object = np.dtype(float)

    @property
    def of_levels(self) -> bool:
        """Whether codes of levels are drawn."""
        return self.fit.categories is not None

    @property
    def support(self) -> tuple[float, float]:
        """Public bounds, infinite where there are none."""
        given = None if self.of_levels else getattr(self.fit.synthesizer, "support", None)
        return (-np.inf, np.inf) if given is None else (float(given[0]), float(given[1]))

    def released(self, values: np.ndarray) -> np.ndarray:
        """Drawn values (n,) as they are released, before they are stored: rounded within the
        bounds, special codes and codes of levels as they are.
        """
        if self.fit.keeps_true_values or self.of_levels:
            return values
        model = self.fit.synthesizer
        rounded = round_within(values, self.precision, getattr(model, "support", None))
        codes = getattr(model, "codes", ())
        return np.where(np.isin(values, codes), values, rounded) if len(codes) else rounded

    @cached_property
    def points(self) -> tuple[float, ...]:
        """The codes of the model that no multiple stands for: they are drawn and released as they
        are.
        """
        codes = np.array(
            () if self.of_levels else getattr(self.fit.synthesizer, "codes", ()), dtype=float
        )
        return tuple(codes[self.ends(codes, codes).empty].tolist())

    @property
    def _float(self) -> np.dtype | None:
        """The dtype of less than double precision that values are stored in, if they are."""
        plain = getattr(self.dtype, "numpy_dtype", self.dtype)
        return np.dtype(plain) if plain in (np.float16, np.float32) else None

    def read(self, column: pd.Series) -> np.ndarray:
        """Stored numbers (n,) as they were before they were stored: put on the grid where they are
        on it but for the way of writing.

        Numbers of less than double precision are 1e-7 of themselves off it, whatever column holds
        them. NaN where one is missing.
        """
        values = column.to_numpy(dtype=float, na_value=np.nan)
        near, there = values.copy(), np.isfinite(values)
        near[there] = round_to(values[there], self.precision)
        if self.precision is None:
            return np.asarray(near)
        single = np.spacing(np.abs(near).astype(np.float32)).astype(float)
        off = np.maximum(_OFF * self.precision, np.minimum(2 * single, self.precision / 4))
        return np.asarray(np.where(there & (np.abs(values - near) <= off), near, values))

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Rounded values as the column holds them."""
        return values if self._float is None else values.astype(self._float).astype(float)

    def on_grid(self, values: np.ndarray) -> np.ndarray:
        """Which numbers (n,) can be released, special codes aside: multiples within the bounds."""
        low, high = self._outermost
        return np.asarray(
            (values >= low) & (values <= high) & (round_to(values, self.precision) == values)
        )

    def around(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The draws that numbers (n,) stand for, whether or not they are multiples: from half a
        unit below them to half a unit above.
        """
        half = unit_of(values, self.precision) / 2
        return values - half, values + half

    def ends(self, lower: np.ndarray, upper: np.ndarray) -> Ends:
        """Of the draws that are released as a number from lower to upper (n,), both included, codes
        of the model aside.
        """
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        if self.of_levels:
            return Ends(lower - 0.5, upper + 0.5, lower > upper)
        lowest, highest = self._outermost
        if lowest > highest:  # nothing is rounded where no multiple lies within the bounds
            return Ends(lower, upper, lower > upper)
        first, last = self._beside(lower, up=True), self._beside(upper, up=False)
        empty = (first > last) | (first > highest) | (last < lowest)
        first, last = np.clip(first, lowest, highest), np.clip(last, lowest, highest)
        low, high = self.support
        outer = (
            np.where(first <= lowest, low, self._edge(first, -1)),
            np.where(last >= highest, high, self._edge(last, 1)),
        )
        return Ends(outer[0], np.maximum(*outer), empty)

    @cached_property
    def _outermost(self) -> tuple[float, float]:
        """The outermost multiples within the bounds, which hold all that steps back to them."""
        low, high = self.support
        ends = np.array([low, high])
        first = (
            ends[0] if not np.isfinite(low) else self._beside(ends[:1], up=True, stored=False)[0]
        )
        last = (
            ends[1] if not np.isfinite(high) else self._beside(ends[1:], up=False, stored=False)[0]
        )
        return float(first), float(last)

    def _beside(self, values: np.ndarray, *, up: bool, stored: bool = True) -> np.ndarray:
        """The first multiple at or above, or the last at or below, values (n,), as it is stored."""
        found, there = values.copy(), np.isfinite(values) & (values != 0)
        values, unit = values[there], unit_of(values[there], self.precision)
        steps = np.ceil(values / unit) if up else np.floor(values / unit)
        multiples = [
            round_to((steps + step) * unit, self.precision)
            for step in ((-1, 0, 1) if up else (1, 0, -1))
        ]
        best = multiples[-1]
        for multiple in multiples[-2::-1]:
            held = self.stored(multiple) if stored else multiple
            best = np.where(held >= values if up else held <= values, multiple, best)
        found[there] = best
        return found

    def _edge(self, multiples: np.ndarray, side: int) -> np.ndarray:
        """Half way from multiples (n,) to the next ones above (1) or below (-1); moved a little, by
        whether it is rounded to them.
        """
        values, there = multiples.astype(float), np.isfinite(multiples)
        held, edge = values[there], values.copy()
        unit = unit_of(held, self.precision)
        if self.precision is None:  # of a power of ten the next number towards zero is nearer
            toward_zero = np.sign(held) == -side
            unit = np.where(
                toward_zero
                & np.isclose(np.abs(held), unit * 10 ** (SIGNIFICANT_DIGITS - 1), rtol=1e-12),
                unit / 10,
                unit,
            )
        half = round_to(
            held + side * unit / 2, None if self.precision is None else self.precision / 1000
        )
        half = held + side * unit / 2 if self.precision is None else half
        taken = round_to(half, self.precision) == held
        slack = np.maximum(_SLACK * unit, 4 * np.spacing(np.abs(half)))
        edge[there] = half + np.where(taken, side, -side) * np.where(unit > 0, slack, 0.0)
        return edge


@dataclass(frozen=True)
class DrawingSettings:
    """What decides how draws become released values, for datasets and for everything that is
    measured of a fit.

    Attributes
    ----------
    precision : float or mapping of variable to float, optional
        Drawn numbers are multiples of it. Without it: of the largest power of ten (or other
        constant) of which all confidential values are multiples, or they have 7 significant
        digits. Under a guarantee it must be given, but for a whole-number dtype, whose precision
        is then 1.

    Examples
    --------
    >>> from riskweighted.runs.examples import fit
    >>> rw.DrawingSettings(precision={"income": 100.0}).rounding(fit.block, "income").precision
    100.0
    """

    precision: Precision = None

    def rounding(self, fit: "BlockFit", variable: str, dtype: object = np.dtype(float)) -> Rounding:
        """How draws of the fit of a variable's block are released, stored in a dtype."""
        return Rounding(fit, precision_of(self.precision, variable) or fit.precision, dtype)
