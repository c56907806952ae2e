"""Columns of a file as numeric predictors: levels as dummies, numbers bent, gaps and codes as indicators (METHODS section 12).

A chain predicts every variable from those before it, which may be of any type, have gaps and hold special codes. Each source column
becomes a few numeric columns by a recipe that the confidential data set once, so that a synthetic predecessor is read the same way.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.common.frames import as_floats, holds_numbers, kind_of_values
from riskweighted.common.groups import most_categories
from riskweighted.design.distinct import Distinct, distinct_records

__all__ = ["Recipe", "independent", "make_recipes"]

_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)  # quantiles, Harrell's places for five knots, and for seven
_MORE_KNOTS = (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975)
_MANY = 2000  # amounts, from which there are seven
_FEWEST_FOR_BENDS = 8  # different amounts; of fewer a straight line
_STRETCHED = 3.0  # times their median that the largest hundredth of amounts must exceed for a signed log
_DEPENDENT = 1e-7
_MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Recipe:
    """How one source column becomes k numeric ones, called ``names``. Confidential: levels and quantiles are the data's.

    ``levels`` of a categorical source, the reference first, each other one with a dummy; None where the source holds numbers. Of these:
    ``codes``, values that are no amounts; ``indicated``, the codes with an indicator, and None for a missing value; ``unit``, where
    amounts y are taken as asinh(y / unit); ``knots`` of a natural cubic spline, empty for a straight line; ``onto`` (b, b), from the
    spline's columns to orthogonal ones, and their ``centre`` (b,) over the amounts; ``mean`` of the amounts.
    """

    source: str
    names: tuple[str, ...]
    levels: tuple[object, ...] | None = field(default=None, repr=False)
    codes: tuple[float, ...] = ()
    indicated: tuple[float | None, ...] = ()
    unit: float | None = None
    knots: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    onto: np.ndarray = field(default_factory=lambda: np.eye(1), repr=False)
    centre: np.ndarray = field(default_factory=lambda: np.zeros(1), repr=False)
    mean: float = field(default=0.0, repr=False)

    def columns(self, values: pd.Series) -> np.ndarray:
        """The numeric columns of m values, (m, k); InputError where one is a level, or missing, that the confidential data lack."""
        return self._of_levels(values) if self.levels is not None else self._of_numbers(values)

    def table(self, values: pd.Series) -> Distinct:
        """`columns` of m values, each different value's once."""
        first, which = distinct_records([values], len(values))
        try:
            return Distinct(self.columns(values.iloc[first]), which)
        except InputError:  # whose message counts records
            return Distinct(self.columns(values)[first], which)

    def with_levels(self, levels: Sequence[object], taken: Iterable[str] = ()) -> "Recipe":
        """The same with further levels, which no confidential record has; of numbers unchanged. `taken`: names of other columns."""
        if self.levels is None:
            return self
        held = [level for level in self.levels if not pd.isna(level)]  # <NA> equals nothing, not even false
        new = [level for level in levels if level not in held]
        names = _names([f"{self.source}_{_text(level)}" for level in new], {*self.names, *taken})
        return replace(self, levels=(*self.levels, *new), names=(*self.names, *names))

    def filled(self, values: pd.Series) -> pd.Series:
        """The source without gaps, for a formula of the user's own: a missing level is "missing"; what is no amount is the amounts' mean.

        For which records the mean stands, the indicators among `columns` tell.
        """
        if self.levels is not None:
            return values.astype(object).where(values.notna(), _MISSING)
        numbers = as_floats(values)
        return pd.Series(np.where(np.isnan(numbers) | np.isin(numbers, self.codes), self.mean, numbers), values.index, name=values.name)

    def _of_levels(self, values: pd.Series) -> np.ndarray:
        assert self.levels is not None
        code = _level_codes(values, self.levels)
        unknown = int((code < 0).sum())
        if unknown:
            raise InputError(f"predictor {self.source!r} has a level that the confidential data lack in {unknown} of {len(values)} records")
        return np.asarray(code[:, None] == np.arange(1, len(self.levels)), dtype=float)

    def _of_numbers(self, values: pd.Series) -> np.ndarray:
        numbers = as_floats(values)
        missing = np.isnan(numbers)
        if missing.any() and None not in self.indicated:
            raise InputError(f"predictor {self.source!r} is missing in {int(missing.sum())} of {len(numbers)} records, and never before")
        amount = ~missing & ~np.isin(numbers, self.codes)
        bent = np.zeros((len(numbers), len(self.centre)))
        bent[amount] = bent_columns(stretched(numbers[amount], self.unit), self.knots) @ self.onto - self.centre
        flags = [missing if code is None else numbers == code for code in self.indicated]
        return np.column_stack([bent, *flags]).astype(float)


def stretched(amounts: np.ndarray, unit: float | None) -> np.ndarray:
    """Amounts on the scale of the predictor."""
    return amounts if unit is None else np.arcsinh(amounts / unit)


def bent_columns(z: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """z (m,) and the bends of a natural cubic spline, straight beyond the end knots, (m, 1) or (m, knots - 1)."""
    if len(knots) == 0:
        return z[:, None]
    scale = knots[-1] - knots[0]
    cubes = np.maximum((z[:, None] - knots) / scale, 0.0) ** 3
    slopes = (cubes[:, :-1] - cubes[:, -1:]) / ((knots[-1] - knots[:-1]) / scale)
    return np.column_stack([z, slopes[:, :-1] - slopes[:, -1:]])


def make_recipes(
    confidential: pd.DataFrame, sources: Iterable[str], codes: Mapping[str, Sequence[float]], targets: Sequence[str] = ()
) -> dict[str, Recipe]:
    """A recipe for each source column; ``codes``: values that are no amounts; no numeric column is called as one of the targets is."""
    taken: set[str] = set()
    recipes: dict[str, Recipe] = {}
    for source in sources:
        column = confidential[source]
        _check_source(column)
        stated = tuple(float(code) for code in codes.get(source, ()))
        others = taken | ({*targets} - {source})  # its own name is free: a column never predicts itself
        recipes[source] = _number_recipe(column, stated, others) if holds_numbers(column) else _level_recipe(column, others)
        taken |= set(recipes[source].names)
    return recipes


def _check_source(column: pd.Series) -> None:
    if column.isna().all():
        raise InputError(f"{column.name!r} is missing in all {len(column)} records: it can predict nothing")
    kind = kind_of_values(column)
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype) or kind.startswith("date"):
        raise InputError(f"predictor {column.name!r} holds dates; valid are numbers, text, categories and truth values")
    if not holds_numbers(column):
        return
    infinite = int(np.isinf(as_floats(column)).sum())
    if infinite:
        raise InputError(f"{column.name!r} is infinite in {infinite} of {len(column)} records; values must be finite or missing")


def _level_recipe(column: pd.Series, taken: set[str]) -> Recipe:
    """Dummies of all levels but the one most records have; a missing value is a level."""
    counts = column.value_counts(dropna=False)
    counts = counts[counts > 0]
    most = most_categories(len(column))
    if len(counts) > most:
        raise InputError(f"predictor {column.name!r} has {len(counts)} levels for {len(column)} records, which allow {most}; merge levels")
    held = sorted(counts.index.tolist(), key=lambda level: (pd.isna(level), str(level)))
    reference = max(held, key=lambda level: counts[level] if not pd.isna(level) else counts[counts.index.isna()].iloc[0])
    levels = (reference, *(level for level in held if level is not reference))
    return Recipe(str(column.name), _names([f"{column.name}_{_text(level)}" for level in levels[1:]], taken), levels)


def _number_recipe(column: pd.Series, codes: tuple[float, ...], taken: set[str]) -> Recipe:
    """Bends of the amounts, and an indicator of every code and of missing values that occur."""
    numbers = as_floats(column)
    amounts = numbers[~np.isnan(numbers) & ~np.isin(numbers, codes)]
    indicated = [code for code in codes if (numbers == code).any()] + ([None] if np.isnan(numbers).any() else [])
    if len(amounts) == 0:
        amounts = np.zeros(1)
    unit = _unit(amounts)
    z = stretched(amounts, unit)
    places = _KNOTS if len(amounts) < _MANY else _MORE_KNOTS
    knots = np.unique(np.quantile(z, places)) if len(np.unique(amounts)) >= _FEWEST_FOR_BENDS else np.empty(0)
    knots = knots if len(knots) >= 3 else np.empty(0)
    bent = bent_columns(z, knots)
    onto = _orthogonal(bent - bent.mean(axis=0))
    source = str(column.name)
    wanted = [source, *(f"{source}_bend_{place}" for place in range(1, bent.shape[1]))]
    wanted += [f"{source}_{_MISSING if code is None else f'is_{_code(code)}'}" for code in indicated]
    centre, mean = (bent @ onto).mean(axis=0), float(amounts.mean())
    return Recipe(source, _names(wanted, taken), None, codes, tuple(indicated), unit, knots, onto, centre, mean)


def _unit(amounts: np.ndarray) -> float | None:
    """The median size of amounts with a long tail, whose signed log is taken."""
    sizes = np.abs(amounts[amounts != 0])
    if len(sizes) == 0 or np.quantile(sizes, 0.99) <= _STRETCHED * np.median(sizes):
        return None
    return float(np.median(sizes))


def _orthogonal(centred: np.ndarray) -> np.ndarray:
    """(b, b) that makes each column uncorrelated with those before it, and of the first one's variance."""
    spread = np.sqrt((centred**2).mean(axis=0))
    if not (spread > 0).all():
        return np.eye(centred.shape[1])
    triangle = np.linalg.qr(centred / spread)[1]
    if np.abs(np.diag(triangle)).min() <= 1e-8 * np.abs(np.diag(triangle)).max():
        return np.eye(centred.shape[1])
    turn = np.linalg.inv(triangle) * triangle[0, 0]
    return np.asarray(turn / spread[:, None] * spread[0])


def _code(code: float) -> str:
    return f"{code:g}".replace("-", "minus_")


def _text(level: object) -> str:
    return _MISSING if pd.isna(level) else str(level)


def _names(wanted: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """Names that a formula can hold, different from each other and from those taken."""
    names: list[str] = []
    for text in wanted:
        plain = re.sub(r"\W+", "_", text).strip("_") or "column"
        name, count = plain, 1
        while name in taken or name in names:
            count += 1
            name = f"{plain}_{count}"
        names.append(name)
    return tuple(names)


def _level_codes(values: pd.Series, levels: Sequence[object]) -> np.ndarray:
    """Place of each value among the levels, missing ones alike; -1 for none of them."""
    plain = [None if pd.isna(level) else level for level in levels]
    given = values.astype(object)
    given = given.where(given.notna(), None)
    return np.asarray(pd.Index(plain, dtype=object).get_indexer(pd.Index(given, dtype=object)))


def independent(columns: np.ndarray) -> np.ndarray:
    """Which columns (n, p) vary and are no combination of those before them; booleans (p,)."""
    centred = columns - columns.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    keep = np.zeros(columns.shape[1], dtype=bool)
    basis = np.empty((len(columns), 0))
    for place in range(columns.shape[1]):
        if size[place] <= 1e-12 * max(1.0, np.abs(columns[:, place]).max()) * np.sqrt(len(columns)):
            continue
        left = centred[:, place] / size[place]
        for _ in range(2):  # twice is enough
            left = left - basis @ (basis.T @ left)
        remaining = np.linalg.norm(left)
        if remaining > _DEPENDENT:
            basis = np.column_stack([basis, left / remaining])
            keep[place] = True
    return keep
