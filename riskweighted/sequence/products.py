"""Products of what is so of one column with the levels of another, as further predictors of what
asks whether (METHODS section 12.3).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.found import found_numbers
from riskweighted.common.frames import as_floats, holds_numbers
from riskweighted.design.distinct import Distinct, distinct_records
from riskweighted.design.spline_basis import zero_is_status
from riskweighted.sequence.conditions import Condition
from riskweighted.sequence.recoding import Recipe, free_names

__all__ = ["FEWEST_OF_PRODUCT", "Product", "asks_whether", "make_products", "read_products"]

FEWEST_OF_PRODUCT = 10  # records that meet the condition at a level
_MOST_LEVELS = 30  # of numbers that are levels


@dataclass(frozen=True)
class Product:
    """What a chain declares: whether ``when`` holds, times the levels of the column ``levels``; it
    predicts ``variables``.

    ``found``: whether it was found in the data, so that it is not public.
    """

    when: Condition
    levels: str
    variables: tuple[str, ...]
    found: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is made of."""
        return tuple(dict.fromkeys((*self.when.names, self.levels)))

    @property
    def source(self) -> str:
        """How it is called among the sources of numeric columns."""
        return f"{self.when.text} at {self.levels}"


def read_products(
    stated: Iterable[object], variables: Sequence[str], predictors: Sequence[str]
) -> tuple[Product, ...]:
    """Products as a study states them, ``[condition, column of levels, variable, ...]``: of no
    variable named, all later ones.

    `variables` in the order of synthesis; `predictors`: columns that are not synthesized.
    InputError where a name is none of these, or a variable does not come after all that its product
    is made of.
    """
    read = tuple(
        _read(entry, f"products[{place}]", variables, predictors)
        for place, entry in enumerate(stated)
    )
    sources = [product.source for product in read]
    twice = [source for source in sources if sources.count(source) > 1]
    if twice:
        raise InputError(
            f"products states {twice[0]!r} twice: name all variables that it predicts in one"
        )
    return read


def _read(
    entry: object, place: str, variables: Sequence[str], predictors: Sequence[str]
) -> Product:
    given, found = found_numbers(entry)
    if (
        not isinstance(given, (list, tuple))
        or len(given) < 2
        or not all(isinstance(text, str) for text in given)
    ):
        raise InputError(
            f"{place} must be a condition, a column of levels and the variables that they "
            'predict, ["x == 0", "region", "y"]'
        )
    condition, levels, *asked = given
    when = Condition.parse(condition, place)
    strange = [name for name in (*when.names, levels) if name not in (*variables, *predictors)]
    if strange or not when.names:
        named = (
            f"names {listing(strange)}, which is neither a predictor nor synthesized"
            if strange
            else "names no column"
        )
        raise InputError(f"{place} {named}; valid are {listing([*predictors, *variables])}")
    last = max(
        (variables.index(name) + 1 for name in (*when.names, levels) if name in variables),
        default=0,
    )
    early = [name for name in asked if name not in variables[last:]]
    if early or not variables[last:]:
        what = f"predicts {listing(early)}" if early else "predicts nothing"
        raise InputError(
            f"{place} {what}: valid are variables that are synthesized after its columns, "
            f"{listing(variables[last:])}"
        )
    return Product(when, levels, tuple(asked) or tuple(variables[last:]), found)


def asks_whether(target: pd.Series) -> bool:
    """Whether a model of these values asks whether they are one that many share: two levels, or
    numbers of which many are zero.
    """
    return zero_is_status(as_floats(target)) if holds_numbers(target) else target.nunique() == 2


@dataclass(frozen=True, eq=False)
class ProductRecipe:
    """How a product becomes k numeric columns, ``names``: where it holds and the source has this
    one of the ``levels``. Confidential.
    """

    product: Product
    names: tuple[str, ...]
    levels: tuple[object, ...] = field(repr=False)
    many = False  # each level has records enough

    @property
    def straight(self) -> np.ndarray:
        """No column is a bend of another, booleans (k,)."""
        return np.ones(len(self.names), dtype=bool)

    def table(self, frame: pd.DataFrame) -> Distinct:
        """The numeric columns of n records, each different row once."""
        first, which = distinct_records((frame[name] for name in self.product.columns), len(frame))
        rows = frame[list(self.product.columns)].iloc[first]
        return Distinct(_indicators(self.product, rows, self.levels).astype(float), which)


def make_products(
    products: Iterable[Product], confidential: pd.DataFrame, recipes: Mapping[str, Recipe]
) -> dict[str, ProductRecipe]:
    """A recipe for each product, by its source: the levels at which 10 records and more meet the
    condition, and 10 do not.

    InputError where the column holds numbers of many values, or no level has so many.
    """
    made: dict[str, ProductRecipe] = {}
    taken = {str(name) for name in confidential.columns} | {
        name for recipe in recipes.values() for name in recipe.names
    }
    for product in products:
        column = confidential[product.levels]
        levels = sorted(column.dropna().unique().tolist(), key=str)
        if holds_numbers(column) and len(levels) > _MOST_LEVELS:
            raise InputError(
                f"product {product.source!r}: {product.levels!r} holds numbers of {len(levels)} "
                f"values; valid are {_MOST_LEVELS} at most"
            )
        counts = _indicators(product, confidential, levels).sum(axis=0)
        sizes = [int((column == level).sum()) for level in levels]
        kept = [
            each
            for each, hit, of in zip(levels, counts, sizes, strict=True)
            if FEWEST_OF_PRODUCT <= hit <= of - FEWEST_OF_PRODUCT
        ]
        if not kept:
            raise InputError(
                f"product {product.source!r}: at no level {FEWEST_OF_PRODUCT} records meet the "
                f"condition and {FEWEST_OF_PRODUCT} do not; "
                "leave it out"
            )
        names = free_names([f"{product.source} {level}" for level in kept], taken)
        taken |= set(names)
        made[product.source] = ProductRecipe(product, names, tuple(kept))
    return made


def _indicators(product: Product, frame: pd.DataFrame, levels: Sequence[object]) -> np.ndarray:
    """Which records meet the condition and have each level, bool (n, k)."""
    holds, column = product.when.holds(frame), frame[product.levels]
    each = [holds & (column == level).to_numpy(dtype=bool, na_value=False) for level in levels]
    return np.array(each).reshape(len(levels), len(frame)).T
