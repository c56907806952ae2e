"""Columns of a unit that follow from its members, such as the income of a household or how many
of it work (METHODS section 12.5): no model knows them, and every dataset has what its own values
come to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats, holds_numbers, require_columns
from riskweighted.common.units import Units
from riskweighted.design.precision import find_precision
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.declared import Chain

__all__ = ["Total", "make_totals"]

# how far a total may lie from what its members come to: of itself, and of its last digit
_EXACT, _WITHIN = 1e-9, 0.999


@dataclass(frozen=True)
class Total:
    """``of``: the column that is summed over members, without missing values and ``codes``, or the
    condition that is counted; ``step``: how finely it is recorded, 0 where on no grid.
    """

    name: str
    of: str | Condition
    codes: tuple[float, ...] = ()
    step: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is made of."""
        return (self.of,) if isinstance(self.of, str) else self.of.names

    @property
    def text(self) -> str:
        """It in words."""
        told = f"sum of {self.of}" if isinstance(self.of, str) else f"count of {self.of.text}"
        return f"{self.name} = {told}"

    def values(self, frame: pd.DataFrame, unit: np.ndarray) -> np.ndarray:
        """What it comes to in each record's unit, (n,), of the codes `unit` (n,)."""
        if isinstance(self.of, str):
            amounts = as_floats(frame[self.of])
            each = np.where(np.isnan(amounts) | np.isin(amounts, self.codes), 0.0, amounts)
        else:
            each = self.of.holds(frame).astype(float)
        return np.asarray(np.bincount(unit, each)[unit])

    def column(self, frame: pd.DataFrame, unit: np.ndarray) -> pd.Series:
        """The same as a column like the one that the frame has, and as fine."""
        values = self.values(frame, unit)
        if self.step:
            values = np.round(np.rint(values / self.step) * self.step, 8)
        return pd.Series(values, frame.index, name=self.name).astype(frame[self.name].dtype)

    def broken(self, frame: pd.DataFrame, unit: np.ndarray) -> np.ndarray:
        """In which units a frame holds another value, booleans (H,)."""
        held, values = as_floats(frame[self.name]), self.values(frame, unit)
        within = np.maximum(_EXACT * np.abs(values), _WITHIN * self.step)
        return np.asarray(np.bincount(unit, ~(np.abs(held - values) <= within)) > 0)

    def check(self, confidential: pd.DataFrame, unit: np.ndarray) -> None:
        """Refuse data that hold other values, with their number."""
        if broken := int(self.broken(confidential, unit).sum()):
            raise InputError(
                f"units.totals: {self.text!r} does not hold in {broken} of "
                f"{len(np.unique(unit))} units "
                "of the confidential data: correct the data, or leave the total out"
            )


def make_totals(
    units: Units, chain: Chain, recipes: Mapping[str, object], confidential: pd.DataFrame
) -> tuple[Total, ...]:
    """The totals of units as a chain computes them; refuses those that predict, or that no
    synthesized variable is a part of. `recipes`: by name the columns that are read.
    """
    ruled = [name for rule in chain.rules.rules for name in rule.names]
    if both := [name for name in units.totals if name in (*recipes, *ruled)]:
        raise InputError(
            f"{listing(both)}, a total of units, predicts or is in a rule, and is known only "
            "once all is drawn: leave it out there"
        )
    return tuple(_total(name, units, chain, confidential) for name in units.totals)


def _total(name: str, units: Units, chain: Chain, confidential: pd.DataFrame) -> Total:
    ((kind, text),) = units.totals[name].items()
    place = f"units.totals.{name}"
    total = Total(name, text if kind == "sum" else Condition.parse(text, place))
    if others := [part for part in total.names if part in units.totals]:
        raise InputError(
            f"{place} names {listing(others)}, a total itself: name what it is made of"
        )
    if not any(part in chain.variables for part in total.names):
        raise InputError(
            f"{place} names no synthesized variable, only {listing(total.names)}, so that it stays "
            "as it is: leave it out, and name it in [release] columns"
        )
    numbers = [name, text] if kind == "sum" else [name]
    require_columns(confidential, [name, *total.names], f"confidential data ({place})")
    if others := [part for part in numbers if not holds_numbers(confidential[part])]:
        raise InputError(f"{place} names {listing(others)}, which holds no numbers to add up")
    if kind == "count":
        return replace(total, step=1.0)
    step = find_precision(confidential[name]) or 0.0
    return replace(total, codes=tuple(chain.codes.get(text, ())), step=step)
