"""What the models of a variable with few different values share: designs, weights by cell, density,
draws (METHODS section 12).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pytensor.tensor as pt

from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns, require_finite, require_target
from riskweighted.common.groups import most_categories
from riskweighted.contract.categories import codes_in
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Draw, Tensor
from riskweighted.design.design import Design, build_design
from riskweighted.design.formulas import response_name
from riskweighted.design.predictor_tables import Tables
from riskweighted.sampling.laplace import round_coordinates
from riskweighted_models.bounds import interval_ends
from riskweighted_models.continuation import cell_weights
from riskweighted_models.level_densities import CentredLevels, LevelDensity, LevelLikelihood
from riskweighted_models.raw_columns import RawColumns, raw_columns
from riskweighted_models.scaling import OfFormula

__all__ = ["INTERCEPT_SD", "LevelModel", "Levelled"]

INTERCEPT_SD = 2.0  # of a logit


class Levelled(NamedTuple):
    """``code`` (n,): each record's level, -1 where it is not known; ``levels``: the values of the
    column, in the order of the codes.

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
        """Other rows by the confidential levels and design; without the response no level is
        known.
        """
        name, placed = response_name(self.design.formula), self._on(self.design.at(frame))
        if name not in frame.columns:
            return placed
        return placed._replace(
            code=_checked_codes(
                frame[name], self.levels, "frame", self.kind, "the confidential data lack"
            )
        )

    def from_tables(self, columns: Tables) -> "Levelled":
        """Records of which only the predictors are known, by their model matrix."""
        return self._on(self.design.from_tables(columns))

    def _on(self, design: Design) -> "Levelled":
        """The same levels with a design of other records."""
        raw = self.raw.at(design)
        return self._replace(code=np.full(len(raw.distinct.which), -1), design=design, raw=raw)


def _checked_codes(
    column: pd.Series, levels: tuple[object, ...], what: str, kind: str, fault: str
) -> np.ndarray:
    """Codes (n,) of a column without gaps whose values are all levels."""
    require_finite(column, what)
    code = codes_in(column, levels)
    unknown = int((code < 0).sum())
    if unknown:
        raise InputError(
            f"{what}: {column.name!r} has a {kind} that {fault} in {unknown} of {len(column)} "
            "records"
        )
    return code


@dataclass(frozen=True)
class LevelModel(OfFormula, ABC):
    """Base of the models of a variable that takes one of a list of values, its levels.

    A model says what the levels are, the number that each stands for, its prior, N(mean, sd^2) for
    every coefficient, and the log probabilities of the levels in each distinct design. Records of
    equal level and design have equal likelihood, so their weights are summed: exact, and the cost
    is that of the distinct designs.
    """

    probability_mass: ClassVar[bool] = True
    # what a value of the list is called; the setting that gives the list is the plural
    kind: ClassVar[str] = "level"

    @property
    def data_dependent(self) -> tuple[str, ...]:
        """The list of values where it is left to the data or to its dtype, whose categories may
        have been made of the data.
        """
        return (f"{self.kind}s",) if getattr(self, f"{self.kind}s") is None else ()

    def prepare(self, data: pd.DataFrame) -> Levelled:
        """Find the levels and each record's, and the distinct designs."""
        require_columns(data, [self.target], "confidential data")
        column = data[self.target]
        require_target(column, "confidential data")
        levels = self._levels_of(column)
        fault = f"the setting '{self.kind}s' does not name"
        code = _checked_codes(column, levels, "confidential data", self.kind, fault)
        n = len(column)
        if len(np.unique(code)) < 2:
            raise InputError(
                f"{self.target!r} is constant in all {n} records: there is nothing to synthesize"
            )
        most = min(most_categories(n), n - 1)
        if len(levels) > most:
            raise InputError(
                f"{self.target!r} has {len(levels)} {self.kind}s for {n} records, which allow "
                f"{most}; merge {self.kind}s"
            )
        design = build_design(self.formula, data)
        return Levelled(code, levels, design, raw_columns(design), self.kind)

    def build(self, prepared: Levelled) -> Blueprint:
        """Priors and weighted likelihood by cells of level and design."""
        import pymc as pm

        from riskweighted.sampling.coordinates import free_vector

        levels, cells = len(prepared.levels), len(prepared.rows)
        mean, sd = self._prior(levels, prepared.rows.shape[1])

        def weigh(alpha: np.ndarray) -> dict[str, np.ndarray]:
            return {
                "level_weight": cell_weights(prepared.code, prepared.which, alpha, levels, cells)
            }

        def geometry(alpha: np.ndarray) -> dict[str, np.ndarray]:
            coordinates = round_coordinates(self._density(prepared, alpha), len(mean), mean)
            return {"coefficient_centre": coordinates.centre, "coefficient_turn": coordinates.turn}

        def prior(value: Tensor) -> Tensor:
            return (-0.5 * ((value - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))).sum(
                axis=-1
            )

        def centred(alpha: np.ndarray, centring: Centring) -> CentredLevels:
            return CentredLevels(
                self._density(prepared, alpha),
                centring.sums(prepared.which, cells).T,
                lambda coefficient: self.probabilities(coefficient, prepared.rows, levels),
                partial(self._likelihood, prepared.rows),
            )

        with pm.Model() as model:
            weight = pm.Data("level_weight", weigh(np.ones(len(prepared.code)))["level_weight"])
            coefficient = free_vector(
                "coefficient", len(mean), prior, lambda rng: rng.normal(mean, sd)
            )
            total = (weight * self._graph(coefficient, prepared.rows, levels)).sum()
        direct = partial(self._density, prepared)
        return Blueprint(
            model,
            total,
            weigh,
            ("coefficient",),
            levels * cells,
            geometry,
            direct=direct,
            centred=centred,
        )

    def n_parameters(self, prepared: Levelled) -> int:
        """How many parameters `build` gives the model."""
        return len(self._prior(len(prepared.levels), prepared.rows.shape[1])[0])

    def intervals(self, prepared: Levelled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The levels, for what is expected over them
        (`riskweighted.contract.centring.Intervals`).
        """
        numbers = self.numbers(prepared).astype(float)
        return numbers, numbers, np.zeros(len(numbers), dtype=int)

    def response(self, prepared: Levelled) -> np.ndarray:
        """The numbers that the levels of the records stand for, (n,); NaN where there is no
        level.
        """
        return np.where(
            prepared.code < 0, np.nan, self.numbers(prepared).astype(float)[prepared.code]
        )

    def distribution(self, theta: Draw, prepared: Levelled) -> Any:
        """The shares of the levels in each design: `LevelRecords`, or `LevelGraph` of
        expressions.
        """
        coefficient: Any = theta["coefficient"]
        if is_symbolic(theta):
            return LevelGraph(
                self._graph(coefficient, prepared.rows, len(prepared.levels)),
                self.numbers(prepared),
                prepared,
            )
        return LevelRecords(self, coefficient, prepared)

    def probabilities(self, coefficient: np.ndarray, rows: np.ndarray, levels: int) -> np.ndarray:
        """P(level | row), (K, m)."""
        return np.asarray(np.exp(self._log_probabilities(coefficient, rows, levels)))

    def log_probabilities_at(
        self, coefficient: np.ndarray, prepared: Levelled, code: np.ndarray
    ) -> np.ndarray:
        """log P(level of this code | row), (n,); of a code below 0 any number."""
        return np.asarray(
            self._log_probabilities(coefficient, prepared.rows, len(prepared.levels))[
                code, prepared.which
            ]
        )

    def _density(self, prepared: Levelled, alpha: np.ndarray) -> LevelDensity:
        """The posterior for weights alpha (n,), as a function of the coefficients (d,)."""
        levels, rows = len(prepared.levels), prepared.rows
        weight = cell_weights(prepared.code, prepared.which, alpha, levels, len(rows))
        return LevelDensity(self._likelihood(rows, weight), *self._prior(levels, rows.shape[1]))

    @abstractmethod
    def _levels_of(self, column: pd.Series) -> tuple[object, ...]:
        """The levels, checked against a column without gaps."""

    @abstractmethod
    def numbers(self, prepared: Levelled) -> np.ndarray:
        """The number that each level stands for, increasing, (K,)."""

    @abstractmethod
    def _prior(self, levels: int, predictors: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every coefficient, (d,) each."""

    @abstractmethod
    def _graph(self, coefficient: Tensor, rows: np.ndarray, levels: int) -> Tensor:
        """log P(level | row), (K, m), of coefficients (d,)."""

    @abstractmethod
    def _log_probabilities(
        self, coefficient: np.ndarray, rows: np.ndarray, levels: int
    ) -> np.ndarray:
        """The same in NumPy, (K, m)."""

    @abstractmethod
    def _likelihood(self, rows: np.ndarray, weight: np.ndarray) -> LevelLikelihood:
        """Sum of weight (K, m) times log P(level | row), as a function of the coefficients."""


@dataclass(frozen=True, eq=False)
class LevelRecords:
    """Levels with probabilities that follow each record's design: see `Records`."""

    model: LevelModel
    coefficient: np.ndarray
    prepared: Levelled

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log P(level_i | x_i, theta); -inf for a number that no level stands for."""
        code = np.searchsorted(numbers := self.model.numbers(self.prepared), y).clip(
            max=len(self.prepared.levels) - 1
        )
        each = self.model.log_probabilities_at(self.coefficient, self.prepared, code)
        return np.where(numbers[code] == y, each, np.where(np.isnan(y), np.nan, -np.inf))

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return np.asarray(
            np.minimum(
                self._mass(
                    *(interval_ends(bound, len(self.prepared.which)) for bound in (lower, upper))
                ),
                1.0,
            )
        )

    def _mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Sum over the levels inside of their shares, (n,)."""
        mass = np.zeros(len(self.prepared.which))
        for number, share in self._levels():
            mass += np.where(
                (lower <= number) & (number <= upper), self.prepared.raw.distinct.spread(share), 0.0
            )
        return mass

    def inverse(self, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The number inside each interval up to which it has this share of its mass; NaN where no
        level lies inside.
        """
        aim, below = share * self._mass(lower, upper), np.zeros(len(self.prepared.which))
        value = np.full(len(below), np.nan)
        for number, of_level in self._levels():
            inside = (lower <= number) & (number <= upper)
            value = np.where(inside & ((below < aim) | np.isnan(value)), number, value)
            below += np.where(inside, self.prepared.raw.distinct.spread(of_level), 0.0)
        return value

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The numbers of newly drawn levels."""
        place = rng.random(len(self.prepared.which))
        below, code = np.zeros(len(self.prepared.rows)), np.zeros(len(place), dtype=np.int64)
        for share in self._shares[:-1]:  # in turn: all at once would need K numbers a record
            below += share
            code += place > self.prepared.raw.distinct.spread(below)
        return np.asarray(self.model.numbers(self.prepared)[code])

    def _levels(self) -> "zip[tuple[Any, np.ndarray]]":
        """The number that each level stands for, and its probability in each design, (m,)."""
        return zip(self.model.numbers(self.prepared), self._shares, strict=True)

    @cached_property
    def _shares(self) -> np.ndarray:
        """P(level | design), (K, m)."""
        return self.model.probabilities(
            self.coefficient, self.prepared.rows, len(self.prepared.levels)
        )


class LevelGraph(NamedTuple):
    """The same of expressions: ``log_shares`` (K, m) of the designs, ``numbers`` (K,) of the
    levels.
    """

    log_shares: Tensor
    numbers: np.ndarray
    prepared: Levelled

    def log_density(self, y: np.ndarray) -> Tensor:
        return self.log_shares[np.searchsorted(self.numbers, y), self.prepared.which]

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> Tensor:
        inside = (lower <= self.numbers[:, None]) & (self.numbers[:, None] <= upper)
        return (inside * pt.exp(self.log_shares)[:, self.prepared.which]).sum(axis=0)
