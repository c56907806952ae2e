"""A synthesizer that is its equations: everything else is made of one PyMC distribution of each
record's value.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError
from riskweighted.contract.distribution import is_symbolic
from riskweighted.contract.synthesizer import Blueprint, Draw, Tensor
from riskweighted.design.design import Design, build_design, response_values
from riskweighted.design.formulas import response_name
from riskweighted.design.predictor_tables import Tables

__all__ = ["InGraph", "Mix", "Predictors", "Regression"]


class Predictors(NamedTuple):
    """The predictors of n records by their distinct ``rows`` (m, p): ``predictors @ slope`` is one
    number a record, (n,).
    """

    rows: Any
    which: Any

    def __matmul__(self, slope: Any) -> Tensor:
        return (self.rows @ slope)[self.which]


class Mix(NamedTuple):
    """A mix holds K distributions, of which each record's value has one, with the logarithms of
    their shares.

    `Regression.values` may return it in the place of one distribution. Its components may change
    places, so what has an entry for each of them is not monitored where anything else is.

    Attributes
    ----------
    log_shares : sequence of TensorVariable
        The logarithm of each share, a scalar or (n,); the shares add up to 1.
    parts : sequence of TensorVariable
        A ``pm.*.dist`` of shape (n,) for each.

    Examples
    --------
    >>> import pymc as pm
    >>> mix = rw.Mix([-0.7, -0.7], [pm.Normal.dist(centre, 1.0) for centre in (0.0, 3.0)])
    >>> len(mix.parts)
    2
    """

    log_shares: Sequence[Any]
    parts: Sequence[Any]


class _Prepared(NamedTuple):
    """The values ``y`` (n,), the design, and the unit of each predictor (p,): 1 of dummies, else
    its standard deviation.
    """

    y: np.ndarray
    design: Design
    unit: np.ndarray

    def at(self, frame: pd.DataFrame) -> "_Prepared":
        """Other rows by the confidential recipe."""
        design = self.design.at(frame)
        return self._replace(y=design.response(frame), design=design)

    def from_tables(self, columns: Tables) -> "_Prepared":
        """Records of which only the predictors are known, by their model matrix."""
        return self._replace(
            y=np.full(len(columns), np.nan), design=self.design.from_tables(columns)
        )

    @property
    def rows(self) -> np.ndarray:
        """The different rows of the predictors, centred, in their units, (m, p)."""
        return np.asarray(self.design.distinct.rows / self.unit)

    @property
    def which(self) -> np.ndarray:
        """The row of each record, (n,)."""
        return self.design.distinct.which


@dataclass(frozen=True)
class Regression(ABC):
    """Base of a synthesizer that is its equations: its priors, and the PyMC distribution of each
    record's value.

    Graph, log density, mass, inverse (where PyMC has it) and draws are made of these two.
    Predictors are centred, dummies as they are and numeric ones in standard deviations, so that a
    slope does not depend on how rare a level is.

    Parameters
    ----------
    formula : str
        ``"cost ~ age + C(region)"``.

    Examples
    --------
    >>> import pymc as pm
    >>> import riskweighted as rw
    >>> class Laplace(rw.Regression):
    ...     def priors(self, predictors):
    ...         slope = pm.Normal("slope", 0, 1, shape=predictors)
    ...         return {
    ...             "level": pm.Normal("level", 0, 1),
    ...             "slope": slope,
    ...             "width": pm.HalfNormal("width", 1),
    ...         }
    ...
    ...     def values(self, theta, x):
    ...         return pm.Laplace.dist(theta["level"] + x @ theta["slope"], theta["width"])
    >>> Laplace("cost ~ age").target
    'cost'
    """

    data_dependent: ClassVar[tuple[str, ...]] = ()

    formula: str

    @abstractmethod
    def priors(self, predictors: int) -> Mapping[str, Any]:
        """The parameters by their names, made in the ``pm.Model`` around, of so many predictors."""

    @abstractmethod
    def values(self, theta: Mapping[str, Any], x: Predictors) -> Tensor | Mix:
        """The distribution of the records' values, a ``pm.*.dist`` of shape (n,) or a `Mix` of
        such, given parameters; ``x @ slope`` is (n,).
        """

    def possible(self, y: np.ndarray) -> np.ndarray:
        """Which values (n,) the distribution can take; here all."""
        return np.ones(len(y), dtype=bool)

    @property
    def target(self) -> str:
        """The synthesized column."""
        return response_name(self.formula)

    def response(self, prepared: _Prepared) -> np.ndarray:
        """The values, (n,)."""
        return prepared.y

    def from_response(self, responses: np.ndarray, prepared: _Prepared) -> np.ndarray:
        """Values are modelled as they are, (m,)."""
        return responses

    def prepare(self, data: pd.DataFrame) -> _Prepared:
        """Check the values and build the design."""
        y = response_values(self.formula, data)
        impossible = int((~self.possible(y)).sum())
        if impossible:
            raise InputError(
                f"{self.target!r} has {impossible} of {len(y)} values that {type(self).__name__} "
                "cannot take"
            )
        design = build_design(self.formula, data)
        rows, which = design.distinct
        dummy = np.isin(np.round(rows + design.centre, 9), (0, 1)).all(axis=0)
        return _Prepared(y, design, np.where(dummy, 1.0, np.sqrt((rows[which] ** 2).mean(axis=0))))

    def build(self, prepared: _Prepared) -> Blueprint:
        """The priors, and the weighted log density of the values."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            alpha = pm.Data("alpha", np.ones(len(prepared.y)))
            theta = dict(self.priors(prepared.rows.shape[1]))
            values = self.values(theta, Predictors(pt.as_tensor(prepared.rows), prepared.which))
            total = (alpha * InGraph(values).log_density(prepared.y)).sum()
        of_parts = (len(values.parts),) if isinstance(values, Mix) else (-1,)
        same = [name for name in theta if theta[name].type.shape[:1] != of_parts]
        monitored = tuple(same or theta)
        return Blueprint(
            model, total, lambda weights: {"alpha": weights}, monitored, len(prepared.y)
        )

    def distribution(self, theta: Draw, prepared: _Prepared) -> Any:
        """What `Records` says, of numbers or of expressions."""
        import pytensor.tensor as pt

        if is_symbolic(theta):
            return InGraph(
                self.values(
                    theta, Predictors(pt.as_tensor(prepared.rows), pt.as_tensor(prepared.which))
                )
            )
        names = tuple((name, np.ndim(value)) for name, value in theta.items())
        return _Numbers(
            _compiled(self, names),
            [np.asarray(value, dtype=float) for value in theta.values()],
            prepared,
        )


class InGraph(NamedTuple):
    """The records' values as expressions: a PyMC distribution of shape (n,), or a `Mix`."""

    values: Any

    @property
    def parts(self) -> list[tuple[Any, Any]]:
        """The logarithm of its share and the distribution of each component."""
        if isinstance(self.values, Mix):
            return list(zip(self.values.log_shares, self.values.parts, strict=True))
        return [(0.0, self.values)]

    def log_density(self, y: Any) -> Any:
        """log p(y_i | x_i, theta)."""
        import pymc as pm
        import pytensor.tensor as pt
        from pytensor.gradient import disconnected_grad

        if not isinstance(self.values, Mix):
            return pm.logp(self.values, y)
        each = [share + pm.logp(part, y) for share, part in self.parts]
        top = reduce(pt.maximum, each)
        # a value that no component can have
        top = disconnected_grad(pt.switch(pt.isinf(top), 0.0, top))
        # not the logarithm of a sum of exponentials, which PyTensor would shift once more
        return top + pt.log1p(sum(pt.exp(part - top) for part in each) - 1.0)

    def mass(self, lower: Any, upper: Any) -> Any:
        """P(lower_i <= Y_i <= upper_i | x_i, theta)."""
        import pytensor.tensor as pt

        lower, upper = pt.as_tensor(lower), pt.as_tensor(upper)
        if self.discrete:
            lower, upper = pt.ceil(lower) - 1, pt.floor(upper)
        return pt.maximum(self.below(upper) - self.below(lower), 0.0)

    def inverse(self, lower: Any, upper: Any, share: Any) -> Any:
        """The value within each interval up to which it has this share of its mass."""
        import pymc as pm
        import pytensor.tensor as pt

        if isinstance(self.values, Mix):
            raise NotImplementedError("of a mixture")
        low, high = self.below(lower), self.below(upper)
        return pt.switch(
            high > low,
            pt.clip(pm.icdf(self.values, low + share * (high - low)), lower, upper),
            np.nan,
        )

    def below(self, end: Any) -> Any:
        """P(Y_i <= end_i); at infinity without a gradient."""
        import pymc as pm
        import pytensor.tensor as pt

        finite = pt.switch(pt.isinf(end), 1.0, end)
        chance = sum(pt.exp(share + pm.logcdf(part, finite)) for share, part in self.parts)
        return pt.switch(pt.isinf(end), pt.cast(end > 0, "float64"), chance)

    @property
    def discrete(self) -> bool:
        """Whether the values are whole numbers."""
        return bool(self.parts[0][1].dtype.startswith(("int", "uint")))

    @property
    def drawn(self) -> Any:
        """New values."""
        import pytensor.tensor as pt

        *others, (_, drawn) = self.parts
        if others:
            place = pt.random.uniform(size=drawn.shape)
            ends = accumulate(pt.exp(log_share) for log_share, _ in others)
            for end, (_, part) in reversed(list(zip(ends, others, strict=True))):
                drawn = pt.switch(place < end, part, drawn)
        return drawn


class _Compiled:
    """Functions of parameters, rows, the row of each record, and what is asked; each compiled when
    first called, for all data.
    """

    def __init__(self, model: Regression, names: tuple[tuple[str, int], ...]) -> None:
        import pytensor.tensor as pt

        theta = {
            name: pt.tensor(name, dtype="float64", shape=(None,) * ndim) for name, ndim in names
        }
        rows, which = pt.matrix("rows", dtype="float64"), pt.lvector("which")
        self._inputs = [*theta.values(), rows, which]
        self._graph = InGraph(model.values(theta, Predictors(rows, which)))
        self._asked = {
            name: pt.vector(name, dtype="float64") for name in ("y", "lower", "upper", "share")
        }

    def _function(self, output: Any, *asked: str) -> Callable[..., np.ndarray]:
        import pytensor
        from pytensor.compile.mode import Mode
        from pytensor.graph.rewriting.db import RewriteDatabaseQuery

        with pytensor.config.change_flags(cxx=""):
            function: Callable[..., np.ndarray] = pytensor.function(
                [*self._inputs, *(self._asked[name] for name in asked)],
                output,
                mode=Mode(
                    linker="py",
                    optimizer=RewriteDatabaseQuery(include=["canonicalize", "stabilize"]),
                ),
                on_unused_input="ignore",
            )
        return function

    @cached_property
    def log_density(self) -> Callable[..., np.ndarray]:
        return self._function(self._graph.log_density(self._asked["y"]), "y")

    @cached_property
    def mass(self) -> Callable[..., np.ndarray]:
        return self._function(
            self._graph.mass(self._asked["lower"], self._asked["upper"]), "lower", "upper"
        )

    @cached_property
    def inverse(self) -> Callable[..., np.ndarray] | None:
        """None where PyMC has none of this distribution."""
        asked = ("lower", "upper", "share")
        try:
            return self._function(
                self._graph.inverse(*(self._asked[name] for name in asked)), *asked
            )
        except NotImplementedError:
            return None

    @cached_property
    def draw(self) -> tuple[Callable[..., np.ndarray], list[Any]]:
        """The function, and the generators that it draws from."""
        from pytensor.graph.traversal import graph_inputs
        from pytensor.tensor.random.type import RandomType

        drawn = self._graph.drawn
        held = [
            variable for variable in graph_inputs([drawn]) if isinstance(variable.type, RandomType)
        ]
        return self._function(drawn), held


@lru_cache(maxsize=64)
def _compiled(model: Regression, names: tuple[tuple[str, int], ...]) -> _Compiled:
    """One a model and the parameters that it has."""
    return _Compiled(model, names)


class _Numbers(NamedTuple):
    """The same of numbers."""

    functions: _Compiled
    theta: list[np.ndarray]
    prepared: _Prepared

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self._of(self.functions.log_density, y)

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return self._of(self.functions.mass, lower, upper)

    @property
    def inverse(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None:
        """None where PyMC has none of this distribution."""
        function = self.functions.inverse
        return (
            None
            if function is None
            else lambda lower, upper, share: self._of(function, lower, upper, share)
        )

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        function, held = self.functions.draw
        for variable in held:
            variable.set_value(np.random.default_rng(rng.integers(2**63)), borrow=True)
        return self._of(function).astype(float)

    def _of(self, function: Callable[..., np.ndarray], *asked: Any) -> np.ndarray:
        n = len(self.prepared.which)
        ends = [np.array(np.broadcast_to(np.asarray(end, dtype=float), n)) for end in asked]
        return np.array(function(*self.theta, self.prepared.rows, self.prepared.which, *ends))
