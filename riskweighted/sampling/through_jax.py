"""The density of a `Regression` by JAX, where the extra of that name is installed: made of its
graph in seconds, where nutpie's compilation takes minutes.

A graph is fast where no record is looked up on its own. So the distinct pairs of a design and a
value are sorted by design and cut into rows of eight at most, or, where few values are many, laid
in a grid of designs and values. Predictors, values and weights are data of the compiled function,
which serves all weights, and whatever has the same shape.
"""

import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.compile.ops import ViewOp
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.extras import late
from riskweighted.contract.centring import Centring, Intervals
from riskweighted.contract.equations import InGraph, Mix, Predictors, Regression
from riskweighted.contract.synthesizer import Blueprint, Density, Draw, Tensor
from riskweighted.contract.vector_layout import free_shapes
from riskweighted.sampling.graphs import PLAIN, log_volume, unconstrained_value
from riskweighted.sampling.laplace import DensityWithStarts, mode_of

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["through_jax"]

_WIDTHS = (8, 4, 2, 1)  # of a row
_DENSE = 2  # cells of a grid for each pair, at most
_DIGITS = 4  # binary digits of a length, so that a few records more or less have the same shape
_COUNTS = 2000  # of which probabilities are summed, at most
_KEPT = 32
_STARTS, _JITTER = 6, 0.5  # places from which the modes of a mixture are searched
_SAME = 1e-3  # of log density: two modes that differ in the order of components alone
_REWRITES = RewriteDatabaseQuery(
    include=["ShapeOpt", "merge", "canonicalize", "stabilize", "local_remove_check_parameter"],
    exclude=["local_view_op"],  # what has no gradient
)
_SERIES, _LOWEST = 25.0, -26.0  # of erfcx: where a series is exact, and where it is a number
_SMALLEST = 1e-290
_LOCK = threading.Lock()

Shapes = tuple[tuple[int, int], ...]


def through_jax(
    synthesizer: Regression,
    prepared: Any,
    blueprint: Blueprint,
    centring: Centring | None = None,
) -> Blueprint:
    """The blueprint with a density by JAX, where JAX has a form of every operation of its graph;
    else, and where the class builds it in a way of its own, as it is.

    `centring`: the density less a term of its intervals is made too.
    """
    if (
        type(synthesizer).build is not Regression.build
        or _holds_more(blueprint.model)
        or not hasattr(late("jax"), "enable_x64")  # one before 0.8, which somebody else needs
    ):
        return blueprint
    records = _Records.of(synthesizer, prepared.rows, prepared.which, prepared.y)
    try:
        _ = records.graph
        if centring is None or centring.kinds is not None:
            return blueprint._replace(density=records.density, layout=records.layout)
        term = _Term.of(records, centring.intervals)
    except NotImplementedError as error:
        warnings.warn(
            f"{type(synthesizer).__name__} is compiled without JAX, which takes longer: "
            f"{' '.join(str(error).split())}",
            RiskWeightedWarning,
            stacklevel=2,
        )
        return blueprint
    return blueprint._replace(density=records.density, layout=records.layout, centred=term.density)


def _holds_more(model: "pm.Model") -> bool:
    """Whether the priors bring terms or data of their own, which stand in the model alone."""
    return bool(model.potentials or model.observed_RVs or len(model.data_vars) > 1)


# -- the records


def _rounded(length: int) -> int:
    """A length of few binary digits, no shorter."""
    unit = 1 << max(length.bit_length() - _DIGITS, 0)
    return -(-length // unit) * unit


def _padded(values: np.ndarray) -> np.ndarray:
    """Rows (m, ...), the last of them repeated."""
    return values[np.minimum(np.arange(_rounded(len(values))), len(values) - 1)]


@dataclass(frozen=True, eq=False)
class _Records:
    """Records laid in cells (R, B), those of a row of one design. Confidential.

    ``x`` (R, p): the predictors of each row; ``y``: the value of each cell, (R, B), or of each
    column, (1, B); ``place`` (n,): the cell of each record.
    """

    model: Regression
    rows: np.ndarray = field(repr=False)
    which: np.ndarray = field(repr=False)
    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    place: np.ndarray = field(repr=False)

    @classmethod
    def of(
        cls, model: Regression, rows: np.ndarray, which: np.ndarray, y: np.ndarray
    ) -> "_Records":
        """Of n records, their designs (m, p), which of them each has, and their values (n,)."""
        values, number = np.unique(y, return_inverse=True)
        pairs, pair = np.unique(which * len(values) + number, return_inverse=True)
        if len(rows) * len(values) <= _DENSE * len(pairs):
            columns = _padded(values)
            place = which * len(columns) + number
            return cls(model, rows, which, _padded(rows), columns[None], place)
        design, number = np.divmod(pairs, len(values))
        counts = np.bincount(design, minlength=len(rows))
        width = min(_WIDTHS, key=lambda wide: int((-(-counts // wide)).sum()) * (wide + 1))
        lines = -(-counts // width)
        within = np.arange(len(pairs)) - (np.cumsum(counts) - counts)[design]
        cell = (np.cumsum(lines) - lines)[design] * width + within
        x = _padded(np.repeat(rows, lines, axis=0))
        cells = np.full(len(x) * width, values[0])
        cells[cell] = values[number]
        return cls(model, rows, which, x, cells.reshape(-1, width), cell[pair])

    def density(self, alpha: np.ndarray) -> Density:
        """The log posterior of a vector (d,) under weights alpha (n,), and its gradient."""
        return self.graph.of(self.x, self.y, self.weights(alpha))

    def weights(self, alpha: np.ndarray) -> np.ndarray:
        """Sums of alpha (n,) by cell, (R, B)."""
        sums = np.bincount(self.place, weights=alpha, minlength=self.x.shape[0] * self.y.shape[1])
        return sums.reshape(len(self.x), -1)

    @property
    def shapes(self) -> Shapes:
        return (self.x.shape, self.y.shape, (len(self.x), self.y.shape[1]))

    @cached_property
    def graph(self) -> "_Graph":
        return _graph(self.model, self.shapes)

    @property
    def layout(self) -> "_Layout":
        return _layout(self.model, self.x.shape[1])


@dataclass(frozen=True, eq=False)
class _Term:
    """What centring takes off: a sum of coefficients times P(Y <= end) over designs and ends.
    Confidential.

    ``ends`` (E,); ``below``, ``upto`` (G,): the places of both ends of the intervals among them, -1
    where an end has nothing beyond it. ``counts``: the ends are all counts up to the largest, whose
    probabilities are summed, since JAX does not know all distribution functions of counts.
    """

    records: _Records
    x: np.ndarray = field(repr=False)
    ends: np.ndarray
    below: np.ndarray
    upto: np.ndarray
    counts: bool

    @classmethod
    def of(cls, records: _Records, intervals: Intervals) -> "_Term":
        lower, upper = intervals.lower, intervals.upper
        discrete = _in_graph(records.model, records.x.shape[1]).discrete
        if discrete:
            lower, upper = np.ceil(lower) - 1, np.floor(upper)
        ends = np.unique([*lower[np.isfinite(lower)], *upper[np.isfinite(upper)], 0.0])
        counts = discrete and ends[-1] < _COUNTS and not records.model.possible(-np.ones(1)).any()
        if counts:
            ends = np.arange(ends[-1] + 1)
        below, upto = (
            np.where(np.isfinite(side) & (side >= ends[0]), np.searchsorted(ends, side), -1)
            for side in (lower, upper)
        )
        made = cls(records, _padded(records.rows), _padded(ends), below, upto, counts)
        _ = made.graph
        return made

    @cached_property
    def graph(self) -> "_Graph":
        shape = (len(self.x), len(self.ends))
        return _graph(
            self.records.model,
            (*self.records.shapes, self.x.shape, (1, shape[1]), shape),
            self.counts,
        )

    def density(self, alpha: np.ndarray, centring: Centring) -> Density:
        """The log posterior less the term, up to a constant."""
        records = self.records
        sums = centring.sums(records.which, len(records.rows))
        taken = np.zeros((len(self.x), len(self.ends) + 1))
        np.add.at(taken[: len(sums)].T, self.upto, sums.T)
        np.subtract.at(taken[: len(sums)].T, self.below, sums.T)
        taken = taken[:, :-1]
        if self.counts:
            taken = np.flip(np.cumsum(np.flip(taken, axis=1), axis=1), axis=1)
        return self.graph.of(
            records.x, records.y, records.weights(alpha), self.x, self.ends[None], taken
        )


# -- the graph


class _Rows(Predictors):
    """Predictors (R, p): ``predictors @ slope`` is one number a row, (R, 1)."""

    def __matmul__(self, slope: Any) -> Tensor:
        return (self.rows @ slope)[:, None]


class _Priors(NamedTuple):
    """The parameters of a model with so many predictors, by name, and the PyMC model of them."""

    model: "pm.Model"
    theta: dict[str, Any]


@lru_cache(maxsize=_KEPT)
def _priors(model: Regression, predictors: int) -> _Priors:
    with late("pymc").Model() as of_priors:
        return _Priors(of_priors, dict(model.priors(predictors)))


def _in_graph(model: Regression, predictors: int, x: Any = None) -> InGraph:
    """The values of rows with predictors x (R, p)."""
    x = pt.matrix("x", shape=(None, predictors)) if x is None else x
    return InGraph(model.values(_priors(model, predictors).theta, _Rows(x, None)))


@lru_cache(maxsize=_KEPT)
def _graph(model: Regression, shapes: Shapes, counts: bool = False) -> "_Graph":
    """The log posterior of data of such shapes, less a term where there are designs, ends and
    coefficients of it; NotImplementedError where JAX has no form of an operation.
    """
    data = [
        pt.tensor(f"data_{place}", dtype="float64", shape=shape)
        for place, shape in enumerate(shapes)
    ]
    predictors = shapes[0][1]
    x, y, weights, *of_term = data
    values = _in_graph(model, predictors, x)
    # a cell without weight may hold a value that is impossible there
    total = (weights * pt.switch(weights > 0, values.log_density(y), 0.0)).sum()
    if of_term:
        designs, ends, taken = of_term
        of_designs = _in_graph(model, predictors, designs)
        chance = pt.exp(of_designs.log_density(ends)) if counts else of_designs.below(ends)
        total = total - (taken * chance).sum()
    priors = _priors(model, predictors).model
    (likelihood,) = priors.replace_rvs_by_values([total])
    height = priors.logp(vars=priors.free_RVs, jacobian=True) + likelihood
    graph = FunctionGraph([*priors.value_vars, *data], [height], clone=True)
    optdb.query(_REWRITES).rewrite(graph)
    several = isinstance(values.values, Mix)
    return _Graph(_lowered(graph, list(free_shapes(priors).values()), shapes), several)


def _lowered(graph: FunctionGraph, shapes: list[tuple[int, ...]], data: Shapes) -> Any:
    """The height of a graph and its gradient as one array (1 + d,) of a vector and the data, ready
    to be compiled by JAX.
    """
    jax = _jax()
    from pytensor.link.jax.dispatch.basic import jax_typify
    from pytensor.link.utils import fgraph_to_python

    sizes = [math.prod(shape) for shape in shapes]
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        height = fgraph_to_python(graph, _form, type_conversion_fn=jax_typify)

        def packed(vector: Any, *values: Any) -> Any:
            parts = jax.numpy.split(vector, np.cumsum(sizes)[:-1])
            free = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
            return height(*free, *values)[0]

        def both(vector: Any, *values: Any) -> Any:
            found, slope = jax.value_and_grad(packed)(vector, *values)
            return jax.numpy.concatenate([found[None], slope])

        given = [jax.ShapeDtypeStruct(shape, "float64") for shape in ((sum(sizes),), *data)]
        try:
            return jax.jit(both).lower(*given)
        except ValueError as error:
            # what JAX raises of a function whose derivative in some arguments it has not
            if "gradient with respect to" in str(error):
                raise NotImplementedError(str(error)) from None
            raise


def _jax() -> Any:
    """JAX, with PyTensor's forms for it; these would set double precision for the whole process."""
    jax = late("jax")
    held = jax.config.jax_enable_x64
    late("pytensor.link.jax.dispatch")
    jax.config.update("jax_enable_x64", held)
    return jax


def _form(op: Any, node: Any = None, **settings: Any) -> Callable[..., Any]:
    """JAX's form of an operation: PyTensor's, but for those that it lacks, or whose gradients are
    no numbers far out there.
    """
    from pytensor.link.jax.dispatch.basic import jax_funcify

    name = type(getattr(op, "scalar_op", op)).__name__
    if isinstance(op, ViewOp):
        stopped: Callable[..., Any] = late("jax").lax.stop_gradient
        return stopped
    if name == "Softplus":
        softplus: Callable[..., Any] = late("jax").nn.softplus
        return softplus
    if name == "Erfcx":
        return _erfcx()
    if name in ("Log", "Log1p"):
        return _logarithm(name == "Log1p")
    form: Callable[..., Any] = jax_funcify(op, node=node, **settings)
    return form


@lru_cache(maxsize=2)
def _logarithm(of_one_more: bool) -> Callable[..., Any]:
    """log(x), or log(1 + x), with a slope at the end of its range too: where another branch of a
    graph is taken, that slope counts nothing, and nothing times infinity would be no number.
    """
    jax = late("jax")
    function = jax.custom_jvp(jax.numpy.log1p if of_one_more else jax.numpy.log)
    function.defjvps(lambda along, value, x: along / jax.numpy.maximum(x + of_one_more, _SMALLEST))
    made: Callable[..., Any] = function
    return made


@lru_cache(maxsize=1)
def _erfcx() -> Callable[..., Any]:
    """exp(x^2) erfc(x), which a normal distribution function asks for."""
    jax, root = late("jax"), math.sqrt(math.pi)

    def erfcx(x: Any) -> Any:
        near, far = jax.numpy.clip(x, _LOWEST, _SERIES), jax.numpy.maximum(x, _SERIES)
        series = 1.0
        for term in range(7, 0, -1):
            series = 1.0 - (2 * term - 1) / (2 * far * far) * series
        return jax.numpy.where(
            x < _SERIES,
            jax.numpy.exp(near * near) * jax.scipy.special.erfc(near),
            series / (far * root),
        )

    function = jax.custom_jvp(erfcx)
    function.defjvps(
        lambda along, value, x: along * jax.numpy.where(x > _LOWEST, 2 * x * value - 2 / root, 0.0)
    )
    made: Callable[..., Any] = function
    return made


@dataclass(frozen=True, eq=False)
class _Graph:
    """A log posterior that JAX compiles when it is first asked for; ``several``: whether it may
    have several modes, as that of a mixture.
    """

    lowered: Any = field(repr=False)
    several: bool

    def of(self, *data: np.ndarray) -> Density:
        """The density of these data."""
        jax = late("jax")
        with _LOCK:
            compiled = self._compiled
        with jax.enable_x64(True):
            held = [jax.device_put(np.asarray(values, dtype=float)) for values in data]

        def density(vector: np.ndarray) -> tuple[float, np.ndarray]:
            with jax.enable_x64(True):
                both = np.array(compiled(np.asarray(vector, dtype=float), *held))
            if not np.isfinite(both).all():
                return -np.inf, np.zeros(len(vector))
            return float(both[0]), both[1:]

        size = self.lowered.in_avals[0][0].shape[0]
        return (
            DensityWithStarts(density, lambda: _modes(density, size)) if self.several else density
        )

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        compiled: Callable[..., Any] = self.lowered.compile()
        return compiled


def _modes(density: Density, size: int) -> np.ndarray:
    """The modes (S, d) of a mixture to which some places lead, one for each order of components."""
    rng, found = np.random.default_rng(0), list[tuple[float, np.ndarray]]()
    for start in _JITTER * rng.standard_normal((_STARTS, size)):
        mode = mode_of(density, size, start)
        height = density(mode)[0]
        if all(abs(height - other) > _SAME for other, _ in found):
            found.append((height, mode))
    return np.array([mode for _, mode in found])


# -- the vector


@lru_cache(maxsize=_KEPT)
def _layout(model: Regression, predictors: int) -> "_Layout":
    return _Layout(_priors(model, predictors).model)


@dataclass(frozen=True, eq=False)
class _Layout:
    """The free variables of a PyMC model in the form in which it samples them, laid end to end."""

    model: "pm.Model"

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        return list(free_shapes(self.model).values())

    @property
    def size(self) -> int:
        return sum(map(math.prod, self.shapes))

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        each = [self._named(*self._split(vector))[1:] for vector in vectors]
        named = [*self.model.free_RVs, *self.model.deterministics]
        return {
            str(variable.name): np.array(values)
            for variable, values in zip(named, zip(*each, strict=True), strict=True)
        }

    def vector(self, theta: Draw) -> np.ndarray:
        parts = self._unbounded(*(theta[str(variable.name)] for variable in self.model.free_RVs))
        return np.concatenate([np.ravel(part) for part in parts])

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        return np.array([float(self._named(*self._split(vector))[0]) for vector in vectors])

    def _split(self, vector: np.ndarray) -> list[np.ndarray]:
        parts = np.split(vector, np.cumsum([math.prod(shape) for shape in self.shapes])[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    @cached_property
    def _named(self) -> Any:
        """The volume, and the variables, of what is sampled."""
        model = self.model
        outputs = [log_volume(model), *model.free_RVs, *model.deterministics]
        return _plain(model.value_vars, model.replace_rvs_by_values(outputs))

    @cached_property
    def _unbounded(self) -> Any:
        model = self.model
        return _plain(
            model.free_RVs, [unconstrained_value(model, variable) for variable in model.free_RVs]
        )


def _plain(inputs: list[Tensor], outputs: list[Tensor]) -> Any:
    with pytensor.config.change_flags(cxx=""):
        return pytensor.function(
            inputs, outputs, mode=PLAIN, on_unused_input="ignore", allow_input_downcast=True
        )
