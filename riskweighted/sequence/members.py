"""What a model reads of the other members of a unit, as sources of its columns (METHODS section
12.5).

Members are drawn one after the other, so that a model of one variable sees the values that earlier
members have of it, and what all others have of columns that are known by then. The likelihood of a
unit is the product of its members' densities. What others have of a predictor is needed: where the
mean of a group is left out, the slope within groups is another one (Mundlak 1978).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import as_floats
from riskweighted.common.units import Arrangement, Units
from riskweighted.design.distinct import Distinct, distinct_records
from riskweighted.design.spline_basis import largest_round
from riskweighted.sequence.member_columns import (
    MemberDraws,
    Named,
    Slots,
    composition_columns,
    means,
    other_member_columns,
    unit_columns,
)
from riskweighted.sequence.recoding import RECODINGS, Recipe, free_names, make_recipes
from riskweighted.sequence.totals import Total
from riskweighted.sequence.unit_rules import UnitRules

__all__ = ["MemberColumns", "Members", "make_members"]

_MOST_WAVES = 12  # that have a dummy each
_STEPS = 16  # of a grid of logarithms to their standard deviation


@dataclass(frozen=True)
class MemberColumns:
    """Numeric columns of a source that tells of other members, called ``names``.

    ``others``: whether it tells what others have of a predictor, which goes first where columns are
    too many; ``many``: whether its columns are of levels that are too many for a dummy each.
    """

    names: tuple[str, ...]
    others: bool = False
    many: bool = False

    @property
    def straight(self) -> np.ndarray:
        """No column is a bend of another, booleans (k,)."""
        return np.ones(len(self.names), dtype=bool)


class _Log(NamedTuple):
    """Logarithms less their mean, rounded to a grid."""

    centre: float
    step: float

    def of(self, amounts: np.ndarray) -> np.ndarray:
        """The place of amounts (m,) > 0 on the line; what is drawn as 0 or less has the mean's."""
        logs = np.log(np.where(amounts > 0, amounts, np.exp(self.centre)))
        return np.asarray(np.rint(logs / self.step) * self.step - self.centre)


@dataclass(frozen=True, eq=False)
class Members:
    """The units of a sequence and the columns that tell of them. Confidential.

    ``held``: how the confidential records are arranged; ``waves``: how the time of a panel becomes
    columns; ``read``: by column, which of its numeric columns are read of other members, those that
    are no bends; ``logs``: of variables whose amounts are positive and skewed, the line on which
    earlier ones stand; ``constant``: predictors that do not vary within units; ``totals``: columns
    of the unit that are computed once all is drawn; ``rules``: between members; ``columns``: by
    source.
    """

    units: Units
    held: Arrangement = field(repr=False)
    slots: Slots = field(repr=False)
    recipes: Mapping[str, Recipe] = field(repr=False)
    variables: tuple[str, ...]
    read: Mapping[str, np.ndarray] = field(repr=False)
    logs: Mapping[str, "_Log"] = field(repr=False)
    constant: frozenset[str]
    waves: Recipe | None = field(repr=False)
    taken: set[str] = field(repr=False)
    totals: tuple[Total, ...]
    rules: UnitRules
    columns: dict[str, MemberColumns] = field(default_factory=dict, repr=False)

    # -- which sources predict what

    def is_of_unit(self, variable: str) -> bool:
        """Whether a variable is drawn once a unit: the same for all members, or with steps."""
        return variable in self.units.unit_level or variable in self.rules.steps

    @property
    def _place(self) -> str:
        return f"place in {self.units.id}"

    @property
    def _unit(self) -> str:
        return f"members of {self.units.id}"

    @staticmethod
    def earlier(variable: str) -> str:
        """The source of what earlier members have of a variable."""
        return f"{variable} of earlier members"

    @staticmethod
    def _others(name: str) -> str:
        return f"{name} of others"

    @staticmethod
    def _all(name: str) -> str:
        return f"{name} of all members"

    def sources(self, variable: str, names: Sequence[str]) -> tuple[str, ...]:
        """The sources of columns that predict a variable, given those that would if records were
        alone: predictors and earlier variables.
        """
        varying = [name for name in names if name in self.read and name not in self.constant]
        if self.is_of_unit(variable):
            return (
                *(name for name in names if name in self.constant),
                self._unit,
                *map(self._all, varying),
            )
        return (*names, self._place, self.earlier(variable), *map(self._others, varying))

    def is_altered(self, source: str) -> bool:
        """Whether a source tells of a synthesized variable."""
        return any(
            source in (self.earlier(name), self._others(name), self._all(name))
            for name in self.variables
        )

    # -- their columns

    def composition(self, of: Arrangement) -> dict[str, Distinct]:
        """How each record's unit is made up, and its place there: the same in every dataset."""
        unit = unit_columns(self.slots, of)
        place = composition_columns(self.slots, of, unit)
        if self.waves is not None:
            assert of.times is not None
            wave = self.waves.columns(_as_waves(of.times, self.waves.levels is not None))
            of_wave = dict(zip(self.waves.names, wave.T, strict=True))
            place |= of_wave
            unit |= {name: column[of.first] for name, column in of_wave.items()}
        return self._tables({self._unit: unit, self._place: place})

    def others(self, name: str, table: Distinct, of: Arrangement) -> dict[str, Distinct]:
        """What other members have of a column whose numeric columns these are."""
        if name not in self.read or name in self.constant:
            return {}
        values, made = table.rows[:, self.read[name]][table.which], Named()
        for place, column in enumerate(values.T):
            made |= other_member_columns(self.slots, of, f"{place}", column)
        everybody = Named()
        if any(map(self.is_of_unit, self.variables)):
            for place, column in enumerate(np.hstack([means(of, values), values[of.first]]).T):
                everybody[f"{place}"] = column
        return self._tables({self._others(name): made, self._all(name): everybody})

    def of_earlier(self, variable: str, column: pd.Series, of: Arrangement) -> dict[str, Distinct]:
        """What earlier members have of a variable, all of whose values (n,) are known."""
        if self.is_of_unit(variable):
            return {}
        drawn = self.drawn(variable, of)
        drawn.values[:] = self.values(variable, column)
        parts = [drawn.columns(rows) for rows in of.by_position]
        order = np.argsort(np.concatenate(of.by_position), kind="stable")
        made = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
        return self._tables({self.earlier(variable): made})

    def values(self, variable: str, column: pd.Series) -> np.ndarray:
        """What is read of values (m,) of a variable, (m, k): of levels an indicator each, else the
        place of the amount on its line and what says that it is none.
        """
        recipe = self.recipes[variable]
        table = recipe.table(column)
        read = table.rows[:, self.read[variable]][table.which]
        if variable in self.logs:
            line, numbers = self.logs[variable], as_floats(column)
            amount = ~np.isnan(numbers) & ~np.isin(numbers, recipe.codes)
            read[amount, 0] = line.of(numbers[amount])
        return np.asarray(read)

    def drawn(self, variable: str, of: Arrangement) -> MemberDraws:
        """What members have of a variable, while it is drawn position by position."""
        recipe, shape = self.recipes[variable], (len(of.unit), len(self.read[variable]))
        return MemberDraws(self.slots, of, np.zeros(shape), recipe.levels is not None, recipe.many)

    def _tables(self, made: Mapping[str, Named]) -> dict[str, Distinct]:
        """Columns by name as tables; what they are called is noted when a source is first made."""
        for source, named in made.items():
            if named and source not in self.columns:
                names = free_names([f"{source} {name}" for name in named], self.taken)
                self.taken.update(names)
                self.columns[source] = MemberColumns(
                    names, source in map(self._others, self.read), self._is_many(source)
                )
        return {source: _table(named) for source, named in made.items() if named}

    def _is_many(self, source: str) -> bool:
        return any(
            source == self.earlier(name) and self.recipes[name].many for name in self.variables
        )


def make_members(
    units: Units,
    held: Arrangement,
    confidential: pd.DataFrame,
    recipes: Mapping[str, Recipe],
    variables: Sequence[str],
    totals: Sequence[Total],
    rules: UnitRules,
) -> Members:
    """The checked units of the data, and what is read of other members: by the recipes of the
    predictors and of all variables.
    """
    if strange := [name for name in recipes if name == units.id]:
        raise InputError(
            f"{listing(strange)} names the units and predicts nothing: leave it out of predictors"
        )
    first = held.first
    constant = {
        name
        for name in recipes
        if name in units.unit_level
        or (name not in variables and _is_constant(confidential[name], first))
    }
    kept = [name for name in recipes if not recipes[name].many or name in variables]
    read = {name: np.flatnonzero(recipes[name].straight) for name in kept}
    logs = {
        name: line
        for name in variables
        if (line := _log_of(confidential[name], recipes[name])) is not None
    }
    taken = {*map(str, confidential.columns)} | {
        name for recipe in recipes.values() for name in recipe.names
    }
    waves = None
    if held.times is not None:
        times = _as_waves(held.times, len(np.unique(held.times)) <= _MOST_WAVES)
        waves = make_recipes(
            pd.DataFrame({"wave": times}), ["wave"], {}, sorted(taken), RECODINGS[1]
        )["wave"]
    return Members(
        units,
        held,
        Slots(held),
        recipes,
        tuple(variables),
        read,
        logs,
        frozenset(constant | {*units.public}),
        waves,
        taken,
        tuple(totals),
        rules,
    )


def _log_of(column: pd.Series, recipe: Recipe) -> _Log | None:
    """The line of a variable's logarithms, where all amounts are positive and their logarithms are
    less skewed than they.
    """
    numbers = np.empty(0) if recipe.levels is not None else as_floats(column)
    amounts = numbers[~np.isnan(numbers) & ~np.isin(numbers, recipe.codes)]
    if not len(amounts) or (amounts <= 0).any() or _skew(np.log(amounts)) >= _skew(amounts):
        return None
    logs = np.log(amounts)
    step = largest_round(float(logs.std()) / _STEPS)
    return _Log(float(np.rint(logs.mean() / step) * step), step)


def _skew(values: np.ndarray) -> float:
    """How far the middle lies from halfway between outer quantiles, over their distance (Bowley
    1920); 0 where they do not differ.
    """
    lower, middle, upper = np.quantile(values, [0.05, 0.5, 0.95])
    return 0.0 if upper == lower else float(abs(upper + lower - 2 * middle) / (upper - lower))


def _is_constant(column: pd.Series, first: np.ndarray) -> bool:
    """Whether a column is the same for all members of each unit."""
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    return bool((codes == codes[first]).all())


def _as_waves(times: np.ndarray, few: bool) -> pd.Series:
    """Times as levels, where they are few, or as numbers."""
    return pd.Series([f"{time:g}" for time in times] if few else times, name="wave")


def _table(columns: Named) -> Distinct:
    """Columns (n,) beside each other, each different row once."""
    matrix = np.column_stack(list(columns.values()))
    first, which = distinct_records((pd.Series(column) for column in matrix.T), len(matrix))
    return Distinct(matrix[first], which)
