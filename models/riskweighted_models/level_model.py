"""What the models of a variable with few different values share: designs, weights by cell, density, draws (METHODS section 12)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns, require_finite, require_target
from riskweighted.common.groups import most_categories
from riskweighted.contract.categories import codes_in
from riskweighted.contract.synthesizer import Blueprint, Draw
from riskweighted.design.design import Design, build_design
from riskweighted.design.formulas import response_name
from riskweighted.design.tables import Tables
from riskweighted.sampling.coordinates import free_vector
from riskweighted.sampling.laplace import round_coordinates
from riskweighted_models.bounds import interval_ends
from riskweighted_models.continuation import cell_weights
from riskweighted_models.level_densities import LevelDensity, LevelLikelihood
from riskweighted_models.raw_columns import RawColumns, raw_columns

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

__all__ = ["INTERCEPT_SD", "LevelModel", "Levelled"]

Tensor: TypeAlias = "TensorVariable[Any, Any]"
INTERCEPT_SD = 2.0  # of a logit


class Levelled(NamedTuple):
    """``code`` (n,): each record's level, -1 where it is not known; ``levels``: the values of the column, in the order of the codes.

    ``kind``: what one is called. Confidential.
    """

    code: np.ndarray
    levels: tuple[object, ...]
    design: Design
    raw: RawColumns
    kind: str = "level"

    @property
    def rows(self) -> np.ndarray:
        """The different raw columns, (m, p)."""
        return self.raw.distinct.rows

    @property
    def which(self) -> np.ndarray:
        """The row of each record, (n,)."""
        return self.raw.distinct.which

    def at(self, frame: pd.DataFrame) -> "Levelled":
        """Other rows by the confidential levels and design; without the response no level is known."""
        name, placed = response_name(self.design.formula), self._on(self.design.at(frame))
        if name not in frame.columns:
            return placed
        return placed._replace(code=_checked_codes(frame[name], self.levels, "frame", self.kind, "the confidential data lack"))

    def placed(self, columns: Tables) -> "Levelled":
        """Records of which only the predictors are known, by their model matrix."""
        return self._on(self.design.placed(columns))

    def _on(self, design: Design) -> "Levelled":
        """The same levels with a design of other records."""
        raw = self.raw.at(design)
        return self._replace(code=np.full(len(raw.distinct.which), -1), design=design, raw=raw)


def _checked_codes(column: pd.Series, levels: tuple[object, ...], what: str, kind: str, fault: str) -> np.ndarray:
    """Codes (n,) of a column without gaps whose values are all levels."""
    require_finite(column, what)
    code = codes_in(column, levels)
    unknown = int((code < 0).sum())
    if unknown:
        raise InputError(f"{what}: {column.name!r} has a {kind} that {fault} in {unknown} of {len(column)} records")
    return code


@dataclass(frozen=True)
class LevelModel(ABC):
    """Base of the models of a variable that takes one of a list of values, its levels.

    A model says what the levels are, the number that each stands for, its prior, N(mean, sd^2) for every coefficient, and the log
    probabilities of the levels in each distinct design. Records of equal level and design have equal likelihood, so their weights are
    summed: exact, and the cost is that of the distinct designs.
    """

    probability_mass: ClassVar[bool] = True
    kind: ClassVar[str] = "level"  # what a value of the list is called; the setting that gives the list is the plural

    formula: str

    def __post_init__(self) -> None:
        response_name(self.formula)

    @property
    def target(self) -> str:
        """The synthesized column."""
        return response_name(self.formula)

    @property
    def data_dependent(self) -> tuple[str, ...]:
        """The list of values where it is left to the data or to its dtype, whose categories may have been made of the data."""
        return (f"{self.kind}s",) if getattr(self, f"{self.kind}s") is None else ()

    def prepare(self, data: pd.DataFrame) -> Levelled:
        """Find the levels and each record's, and the distinct designs."""
        require_columns(data, [self.target], "confidential data")
        column = data[self.target]
        require_target(column, "confidential data")
        levels = self._levels_of(column)
        fault = f"the setting '{self.kind}s' does not name"
        code = _checked_codes(column, levels, "confidential data", self.kind, fault)
        if len(np.unique(code)) < 2:
            raise InputError(f"{self.target!r} is constant in all {len(code)} records: there is nothing to synthesize")
        most = min(most_categories(len(column)), len(column) - 1)
        if len(levels) > most:
            raise InputError(
                f"{self.target!r} has {len(levels)} {self.kind}s for {len(column)} records, which allow {most}; merge {self.kind}s"
            )
        design = build_design(self.formula, data)
        return Levelled(code, levels, design, raw_columns(design), self.kind)

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
        direct = partial(self._density, prepared)
        return Blueprint(model, total, weigh, ("coefficient",), levels * cells, geometry, records=records, direct=direct)

    def response(self, prepared: Levelled) -> np.ndarray:
        """The numbers that the levels of the records stand for, (n,); NaN where there is no level."""
        return np.where(prepared.code < 0, np.nan, self._numbers(prepared).astype(float)[prepared.code])

    def log_likelihood(self, theta: Draw, prepared: Levelled) -> np.ndarray:
        """log P(level_i | x_i, theta), (n,); NaN where there is no level."""
        return np.where(prepared.code < 0, np.nan, self._own_log_probabilities(theta["coefficient"], prepared))

    def mass(self, theta: Draw, prepared: Levelled, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower <= number of the level <= upper | x_i, theta), (n,)."""
        low, high = (interval_ends(bound, len(prepared.which)) for bound in (lower, upper))
        found = self._mass(self._numbers(prepared), self._by_row(theta, prepared), prepared, low, high)
        return np.asarray(np.minimum(found, 1.0))

    @staticmethod
    def _mass(numbers: np.ndarray, shares: np.ndarray, prepared: Levelled, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Sum over the levels inside of their shares (K, m), (n,)."""
        found = np.zeros(len(prepared.which))
        for number, share in zip(numbers, shares, strict=True):
            found += np.where((lower <= number) & (number <= upper), prepared.raw.distinct.spread(share), 0.0)
        return found

    def inverse(self, theta: Draw, prepared: Levelled, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The number inside each interval up to which it has this share (n,) of its mass, (n,); NaN where no level lies inside."""
        numbers, shares = self._numbers(prepared), self._by_row(theta, prepared)
        aim, below = share * self._mass(numbers, shares, prepared, lower, upper), np.zeros(len(prepared.which))
        found = np.full(len(below), np.nan)
        for number, one in zip(numbers, shares, strict=True):
            inside = (lower <= number) & (number <= upper)
            found = np.where(inside & ((below < aim) | np.isnan(found)), number, found)
            below += np.where(inside, prepared.raw.distinct.spread(one), 0.0)
        return found

    def draw(self, theta: Draw, prepared: Levelled, rng: np.random.Generator) -> np.ndarray:
        """The numbers of newly drawn levels, (n,)."""
        shares, place = self._by_row(theta, prepared), rng.random(len(prepared.which))
        below, code = np.zeros(len(prepared.rows)), np.zeros(len(place), dtype=np.int64)
        for share in shares[:-1]:  # in turn: all at once would need K numbers a record
            below += share
            code += place > prepared.raw.distinct.spread(below)
        return np.asarray(self._numbers(prepared)[code])

    def _by_row(self, theta: Draw, prepared: Levelled) -> np.ndarray:
        """P(level | row, theta), (K, m)."""
        return self._probabilities(theta["coefficient"], prepared.rows, len(prepared.levels))

    def _probabilities(self, coefficient: np.ndarray, rows: np.ndarray, levels: int) -> np.ndarray:
        """P(level | row), (K, m)."""
        return np.asarray(np.exp(self._log_probabilities(coefficient, rows, levels)))

    def _own_log_probabilities(self, coefficient: np.ndarray, prepared: Levelled) -> np.ndarray:
        """log P(own level | row), (n,); of a record without a level any number."""
        return np.asarray(self._log_probabilities(coefficient, prepared.rows, len(prepared.levels))[prepared.code, prepared.which])

    def _density(self, prepared: Levelled, alpha: np.ndarray) -> LevelDensity:
        """The posterior for weights alpha (n,), as a function of the coefficients (d,)."""
        levels, rows = len(prepared.levels), prepared.rows
        weight = cell_weights(prepared.code, prepared.which, alpha, levels, len(rows))
        return LevelDensity(self._likelihood(rows, weight), *self._prior(levels, rows.shape[1]))

    @abstractmethod
    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        """The levels, checked against a column without gaps."""

    @abstractmethod
    def _numbers(self, prepared: Levelled) -> np.ndarray:
        """The number that each level stands for, increasing, (K,)."""

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
    def _likelihood(self, rows: np.ndarray, weight: np.ndarray) -> LevelLikelihood:
        """Sum of weight (K, m) times log P(level | row), as a function of the coefficients."""
