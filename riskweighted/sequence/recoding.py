"""Columns of a file as numeric predictors: levels as dummies, numbers bent, gaps and codes as
indicators (METHODS section 12).

A chain predicts every variable from those before it, which may be of any type, have gaps and hold
special codes. Each source column becomes a few numeric columns by a recipe that the confidential
data set once, so that a synthetic predecessor is read the same way.
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
from riskweighted.design.spline_basis import SplineBasis, make_spline_basis
from riskweighted.sequence.many_levels import are_many, indicators_of_many

__all__ = ["RECODINGS", "Recipe", "free_names", "make_recipes"]

RECODINGS = ("plain", "statuses")
_MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Recipe:
    """How one source column becomes k numeric ones, called ``names``. Confidential: levels and
    quantiles are the data's.

    ``levels`` of a categorical source, None where it holds numbers; ``indicators`` (levels, k),
    which columns each has: a dummy each but the reference, which is the first; of many, what
    `indicators_of_many` says, and then ``many``. Of numbers: ``codes``, values that are no amounts;
    ``bends`` of the amounts, whose last column is an indicator where zero is apart; ``indicated``,
    the codes with an indicator, and None for a missing value; ``mean`` of the amounts.
    """

    source: str
    names: tuple[str, ...]
    levels: tuple[object, ...] | None = field(default=None, repr=False)
    indicators: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    many: bool = False
    codes: tuple[float, ...] = ()
    indicated: tuple[float | None, ...] = ()
    bends: SplineBasis = field(default_factory=SplineBasis, repr=False)
    mean: float = field(default=0.0, repr=False)

    @property
    def straight(self) -> np.ndarray:
        """Which of the columns are no bends, booleans (k,)."""
        bends = 0 if self.levels is not None else len(self.bends.centre)
        return (np.arange(len(self.names)) < 1) | (np.arange(len(self.names)) >= bends)

    def columns(self, values: pd.Series) -> np.ndarray:
        """The numeric columns of m values, (m, k); InputError where one is a level, or missing,
        that the confidential data lack.
        """
        return self._of_levels(values) if self.levels is not None else self._of_numbers(values)

    def table(self, values: pd.Series) -> Distinct:
        """`columns` of m values, each different value's once."""
        first, which = distinct_records([values], len(values))
        try:
            return Distinct(self.columns(values.iloc[first]), which)
        except InputError:  # whose message counts records
            return Distinct(self.columns(values)[first], which)

    def with_levels(self, levels: Sequence[object], taken: Iterable[str] = ()) -> "Recipe":
        """The same with further levels, which no confidential record has, and which of many have no
        column; of numbers unchanged.

        `taken`: names of other columns.
        """
        if self.levels is None:
            return self
        # <NA> equals nothing, not even false
        held = [level for level in self.levels if not pd.isna(level)]
        new = [level for level in levels if level not in held]
        columns = [] if self.many else new
        names = free_names(
            [f"{self.source}_{_text(level)}" for level in columns], {*self.names, *taken}
        )
        indicators = np.pad(self.indicators, ((0, len(new)), (0, len(columns))))
        if columns:
            indicators[-len(new) :, -len(new) :] = np.eye(len(new))
        return replace(
            self, levels=(*self.levels, *new), names=(*self.names, *names), indicators=indicators
        )

    def filled(self, values: pd.Series) -> pd.Series:
        """The source without gaps, for a formula of the user's own: a missing level is "missing";
        what is no amount is the amounts' mean.

        For which records the mean stands, the indicators among `columns` tell.
        """
        if self.levels is not None:
            return values.astype(object).where(values.notna(), _MISSING)
        numbers = as_floats(values)
        return pd.Series(
            np.where(np.isnan(numbers) | np.isin(numbers, self.codes), self.mean, numbers),
            values.index,
            name=values.name,
        )

    def _of_levels(self, values: pd.Series) -> np.ndarray:
        assert self.levels is not None
        code = _level_codes(values, self.levels)
        unknown = int((code < 0).sum())
        if unknown:
            raise InputError(
                f"predictor {self.source!r} has a level that the confidential data lack in "
                f"{unknown} of {len(values)} records"
            )
        return np.asarray(self.indicators[code])

    def _of_numbers(self, values: pd.Series) -> np.ndarray:
        numbers = as_floats(values)
        missing = np.isnan(numbers)
        if missing.any() and None not in self.indicated:
            raise InputError(
                f"predictor {self.source!r} is missing in {int(missing.sum())} of {len(numbers)} "
                "records, and never before"
            )
        amount = ~missing & ~np.isin(numbers, self.codes)
        of_amounts = self.bends.columns(numbers[amount])
        bent = np.zeros((len(numbers), of_amounts.shape[1]))
        bent[amount] = of_amounts
        flags = [missing if code is None else numbers == code for code in self.indicated]
        return np.column_stack([bent, *flags]).astype(float)


def make_recipes(
    confidential: pd.DataFrame,
    sources: Iterable[str],
    codes: Mapping[str, Sequence[float]],
    targets: Sequence[str] = (),
    recoding: str = RECODINGS[0],
) -> dict[str, Recipe]:
    """A recipe for each source column; ``codes``: values that are no amounts; no numeric column is
    called as one of the targets is.

    `recoding`: "statuses" gives zero an indicator where it is a status, places amounts on a grid,
    and takes many levels as `indicators_of_many` says.
    """
    taken: set[str] = set()
    recipes: dict[str, Recipe] = {}
    for source in sources:
        column = confidential[source]
        _check_source(column)
        stated = tuple(float(code) for code in codes.get(source, ()))
        # its own name is free: a column never predicts itself
        others = taken | ({*targets} - {source})
        recipe = _number_recipe if holds_numbers(column) else _level_recipe
        statuses = recoding != RECODINGS[0]
        recipes[source] = recipe(column, stated, others, statuses)
        taken |= set(recipes[source].names)
    return recipes


def _check_source(column: pd.Series) -> None:
    if column.isna().all():
        raise InputError(
            f"{column.name!r} is missing in all {len(column)} records: it can predict nothing"
        )
    kind = kind_of_values(column)
    if (
        pd.api.types.is_datetime64_any_dtype(column.dtype)
        or pd.api.types.is_timedelta64_dtype(column.dtype)
        or kind.startswith("date")
    ):
        raise InputError(
            f"predictor {column.name!r} holds dates; valid are numbers, text, categories and "
            "truth values"
        )
    if not holds_numbers(column):
        return
    infinite = int(np.isinf(as_floats(column)).sum())
    if infinite:
        raise InputError(
            f"{column.name!r} is infinite in {infinite} of {len(column)} records; values must be "
            "finite or missing"
        )


def _level_recipe(
    column: pd.Series, codes: tuple[float, ...], taken: set[str], statuses: bool
) -> Recipe:
    """Dummies of all levels but the one most records have; a missing value is a level. With
    statuses many levels are told apart as far as enough records have them."""
    counts = column.value_counts(dropna=False)
    counts = counts[counts > 0]
    held = sorted(counts.index.tolist(), key=lambda level: (pd.isna(level), str(level)))
    records = np.array(
        [
            counts[level] if not pd.isna(level) else counts[counts.index.isna()].iloc[0]
            for level in held
        ]
    )
    if statuses and are_many(len(held), len(column)):
        texts, indicators = indicators_of_many([_text(level) for level in held], records)
        names = free_names([f"{column.name}_{text}" for text in texts], taken)
        return Recipe(str(column.name), names, tuple(held), indicators, True)
    most = most_categories(len(column))
    if len(counts) > most:
        raise InputError(
            f"predictor {column.name!r} has {len(counts)} levels for {len(column)} records, "
            f"which allow {most}; merge levels"
        )
    reference = held[int(records.argmax())]
    levels = (reference, *(level for level in held if level is not reference))
    names = free_names([f"{column.name}_{_text(level)}" for level in levels[1:]], taken)
    return Recipe(str(column.name), names, levels, np.eye(len(levels))[:, 1:])


def _number_recipe(
    column: pd.Series, codes: tuple[float, ...], taken: set[str], statuses: bool
) -> Recipe:
    """Bends of the amounts, and an indicator of every code and of missing values that occur; with
    statuses of zero too, if it is one.
    """
    numbers = as_floats(column)
    amounts = numbers[~np.isnan(numbers) & ~np.isin(numbers, codes)]
    mean = float(amounts.mean()) if len(amounts) else 0.0
    indicated: list[float | None] = [code for code in codes if (numbers == code).any()]
    indicated += [None] * bool(np.isnan(numbers).any())
    bends = make_spline_basis(amounts if len(amounts) else np.zeros(1), on_grid=statuses)
    source = str(column.name)
    wanted = [source, *(f"{source}_bend_{place}" for place in range(1, len(bends.centre)))]
    with_indicators = [0.0] * bends.zero_apart + indicated
    wanted += [
        f"{source}_{_MISSING if code is None else f'is_{_code(code)}'}" for code in with_indicators
    ]
    return Recipe(
        source,
        free_names(wanted, taken),
        codes=codes,
        indicated=tuple(indicated),
        bends=bends,
        mean=mean,
    )


def _code(code: float) -> str:
    return f"{code:g}".replace("-", "minus_")


def _text(level: object) -> str:
    return _MISSING if pd.isna(level) else str(level)


def free_names(wanted: Sequence[str], taken: set[str]) -> tuple[str, ...]:
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
