"""What the models of a categorical variable share: levels, distinct designs, weights by cell, draws (METHODS section 12)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt

from riskweighted.common.errors import InputError
from riskweighted.common.frames import kind_of_values, require_columns, require_finite, require_target
from riskweighted.common.groups import most_categories
from riskweighted.synthesis.categories import codes_in
from riskweighted.synthesis.contract import Blueprint, Density, Draw
from riskweighted.synthesis.coordinates import free_vector
from riskweighted.synthesis.design import Design, build_design
from riskweighted.synthesis.formulas import response_name
from riskweighted.synthesis.laplace import round_coordinates
from riskweighted_models.bounds import interval_ends
from riskweighted_models.continuation import cell_weights, distinct_rows
from riskweighted_models.raw_columns import RawColumns, raw_columns

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

__all__ = ["INTERCEPT_SD", "Categorical", "Levelled"]

Tensor: TypeAlias = "TensorVariable[Any, Any]"
INTERCEPT_SD = 2.0  # of a logit


class Levelled(NamedTuple):
    """``code`` (n,): each record's level, -1 where it is not known; ``rows`` (m, p): the distinct raw columns; ``which`` (n,): its own.

    ``levels``: the values of the column, in the order of the codes. Confidential.
    """

    code: np.ndarray
    rows: np.ndarray
    which: np.ndarray
    levels: tuple[object, ...]
    design: Design
    raw: RawColumns

    def at(self, frame: pd.DataFrame) -> "Levelled":
        """Other rows by the confidential levels and design; without the response no level is known."""
        design, name = self.design.at(frame), response_name(self.design.formula)
        raw = self.raw.at(design)
        if name in frame.columns:
            code = _checked_codes(frame[name], self.levels, "frame", "the confidential data lack")
        else:
            code = np.full(len(frame), -1)
        return Levelled(code, *distinct_rows(raw.columns), self.levels, design, raw)


def _checked_codes(column: pd.Series, levels: tuple[object, ...], what: str, fault: str) -> np.ndarray:
    """Codes (n,) of a column without gaps whose values are all levels."""
    require_finite(column, what)
    code = codes_in(column, levels)
    unknown = int((code < 0).sum())
    if unknown:
        raise InputError(f"{what}: {column.name!r} has a level that {fault} in {unknown} of {len(column)} records")
    return code


@dataclass(frozen=True)
class Categorical(ABC):
    """Base of the models of a categorical variable.

    A model says its prior, N(mean, sd^2) for every coefficient, and the log probabilities of the levels in each distinct design. Records of
    equal level and design have equal likelihood, so their weights are summed: exact, and the cost is that of the distinct designs.

    Parameters
    ----------
    formula : str
        ``"education ~ age + C(region)"``.
    levels : sequence of str, int or bool, optional
        The values that the variable can take, in order; public. Default: the categories of a categorical dtype (unused ones too), False
        and True of a boolean one, else the values that occur, sorted. Categories may have been made of the data, so a guarantee needs
        ``levels``; and so does a column of numbers.
    """

    probability_mass: ClassVar[bool] = True

    formula: str
    levels: tuple[str | int | bool, ...] | None = None

    def __post_init__(self) -> None:
        response_name(self.formula)
        if self.levels is None:
            return
        if not isinstance(self.levels, (list, tuple)) or not all(isinstance(level, (str, int)) for level in self.levels):
            raise InputError("levels must be a list of texts, whole numbers or truth values")
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise InputError(
                f"levels must be two or more, each given once; got {len(self.levels)}, {len(set(self.levels))} of them different"
            )
        object.__setattr__(self, "levels", tuple(self.levels))

    @property
    def target(self) -> str:
        """The synthesized column."""
        return response_name(self.formula)

    @property
    def data_dependent(self) -> tuple[str, ...]:
        """Levels where they are left to the data or to its dtype, whose categories may have been made of the data."""
        return ("levels",) if self.levels is None else ()

    def prepare(self, data: pd.DataFrame) -> Levelled:
        """Find the levels and each record's, and the distinct designs."""
        require_columns(data, [self.target], "confidential data")
        column = data[self.target]
        require_target(column, "confidential data")
        levels = self._levels_of(column)
        code = _checked_codes(column, levels, "confidential data", "the setting 'levels' does not name")
        if len(np.unique(code)) < 2:
            raise InputError(f"{self.target!r} is constant in all {len(code)} records: there is nothing to synthesize")
        design = build_design(self.formula, data)
        raw = raw_columns(design)
        return Levelled(code, *distinct_rows(raw.columns), levels, design, raw)

    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        """The levels, checked against the column's dtype and the number of records."""
        levels: tuple[object, ...] | None = self.levels
        if levels is None:
            levels = self._found_levels(column)
        elif not _held_by(levels, column.dtype):
            raise InputError(f"levels must be values of {self.target!r}, whose dtype {column.dtype} does not hold all of them")
        most = min(most_categories(len(column)), len(column) - 1)
        if len(levels) > most:
            raise InputError(f"{self.target!r} has {len(levels)} levels for {len(column)} records, which allow {most}; merge levels")
        return levels

    def _found_levels(self, column: pd.Series) -> tuple[object, ...]:
        """Those of the dtype, or the values of a column of text, sorted."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            return tuple(column.cat.categories.tolist())
        if pd.api.types.is_bool_dtype(column.dtype):
            return (False, True)
        if pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype):
            return tuple(sorted(column.unique().tolist(), key=lambda value: (type(value).__name__, str(value))))
        raise InputError(
            f"{self.target!r} must hold text, categories or truth values for this synthesizer, got {kind_of_values(column)}; numbers that "
            "are codes are levels once the setting 'levels' names them"
        )

    def build(self, prepared: Levelled) -> Blueprint:
        """Priors and weighted likelihood by cells of level and design."""
        levels, cells = len(prepared.levels), len(prepared.rows)
        mean, sd = self._prior(levels, prepared.rows.shape[1])

        def weigh(alpha: np.ndarray) -> dict[str, np.ndarray]:
            return {"level_weight": cell_weights(prepared.code, prepared.which, alpha, levels, cells)}

        def geometry(alpha: np.ndarray) -> dict[str, np.ndarray]:
            found = round_coordinates(self._density(prepared, alpha), len(mean), mean)
            return {"coefficient_centre": found.centre, "coefficient_turn": found.turn}

        def prior(value: Tensor) -> Tensor:
            height: Tensor = (-0.5 * ((value - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))).sum(axis=-1)
            return height

        with pm.Model() as model:
            weight = pm.Data("level_weight", weigh(np.ones(len(prepared.code)))["level_weight"])
            coefficient = free_vector("coefficient", len(mean), prior, lambda rng: rng.normal(mean, sd))
            each = self._graph(coefficient, prepared.rows, levels)
            total = (weight * each).sum()
            records = each.T[pt.as_tensor(prepared.which), pt.as_tensor(prepared.code)]
        return Blueprint(model, total, weigh, ("coefficient",), levels * cells, geometry, records=records)

    def categories(self, prepared: Levelled) -> tuple[object, ...]:
        """The values of the column, in the order of the codes that `draw` gives."""
        return prepared.levels

    def response(self, prepared: Levelled) -> np.ndarray:
        """The codes, (n,)."""
        return prepared.code.astype(float)

    def log_likelihood(self, theta: Draw, prepared: Levelled) -> np.ndarray:
        """log P(level_i | x_i, theta), (n,); NaN where there is no level."""
        each = self._log_probabilities(theta["coefficient"], prepared.rows, len(prepared.levels))
        return np.where(prepared.code < 0, np.nan, each[prepared.code, prepared.which])

    def mass(self, theta: Draw, prepared: Levelled, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower <= code <= upper | x_i, theta), (n,)."""
        codes = np.arange(len(prepared.levels))
        low, high = (interval_ends(bound, len(prepared.which))[:, None] for bound in (lower, upper))
        inside = (low <= codes) & (codes <= high)
        return np.asarray(np.minimum((self._probabilities(theta, prepared) * inside).sum(axis=1), 1.0))

    def draw(self, theta: Draw, prepared: Levelled, rng: np.random.Generator) -> np.ndarray:
        """New codes, (n,)."""
        below = np.cumsum(self._probabilities(theta, prepared), axis=1)[:, :-1]
        return np.asarray((rng.random(len(below))[:, None] > below).sum(axis=1))

    def _probabilities(self, theta: Draw, prepared: Levelled) -> np.ndarray:
        """P(level | x_i, theta), (n, K)."""
        each = np.exp(self._log_probabilities(theta["coefficient"], prepared.rows, len(prepared.levels)))
        return np.asarray(each.T[prepared.which])

    def _density(self, prepared: Levelled, alpha: np.ndarray) -> Density:
        """The posterior for weights alpha (n,): from coefficients (d,) to its log density, up to a constant, and gradient (d,)."""
        levels = len(prepared.levels)
        mean, sd = self._prior(levels, prepared.rows.shape[1])
        weight = cell_weights(prepared.code, prepared.which, alpha, levels, len(prepared.rows))

        def density(coefficient: np.ndarray) -> tuple[float, np.ndarray]:
            each = self._log_probabilities(coefficient, prepared.rows, levels)
            pull = (coefficient - mean) / sd**2
            height = float((weight * each).sum()) - 0.5 * float(pull @ (coefficient - mean))
            return height, self._slope(each, prepared.rows, weight) - pull

        return density

    @abstractmethod
    def _prior(self, levels: int, predictors: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every coefficient, (d,) each."""

    @abstractmethod
    def _graph(self, coefficient: Tensor, rows: np.ndarray, levels: int) -> Tensor:
        """log P(level | row), (K, m), of coefficients (d,)."""

    @abstractmethod
    def _log_probabilities(self, coefficient: np.ndarray, rows: np.ndarray, levels: int) -> np.ndarray:
        """The same in NumPy, (K, m)."""

    @abstractmethod
    def _slope(self, each: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Gradient (d,) of the sum of weight (K, m) times log P, where log P is `each` (K, m)."""


def _held_by(levels: tuple[object, ...], dtype: Any) -> bool:
    """Whether a column of that dtype can hold every level as it is."""
    if isinstance(dtype, pd.CategoricalDtype):
        return set(levels) <= set(dtype.categories)
    given = pd.Series(list(levels), dtype=object)
    try:
        cast = given.astype(dtype)
    except (TypeError, ValueError):
        return False
    return bool(cast.notna().all() and (cast.astype(object) == given).all())
