"""What a synthesizer is, and where the registered ones are found."""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
import pandas as pd

from riskweighted.common.errors import InputError, listing
from riskweighted.common.extras import late
from riskweighted.contract.descriptions import CHAINS, GROUP

if TYPE_CHECKING:
    import pymc as pm

    from riskweighted.contract.centring import Centring

__all__ = [
    "Blueprint",
    "ContractError",
    "Layout",
    "Prepared",
    "Records",
    "Synthesizer",
    "Tensor",
    "baseline_names",
    "chain_names",
    "data_dependent",
    "keeps_true_values",
    "load_synthesizer",
    "probability_mass",
    "synthesizer_names",
]

_BASELINES = "riskweighted.baselines"

Tensor: TypeAlias = Any  # an expression of PyTensor, whose types mypy cannot follow
Draw = Mapping[str, np.ndarray]  # one posterior draw: parameter name -> value
Density = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Layout(Protocol):
    """What the vector (d,) of a density stands for: the variables of its model in a form without
    bounds.
    """

    @property
    def size(self) -> int:
        """d."""

    def parameters(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """From vectors (S, d) to what a fit holds of them: free variables and what follows from
        them, by name, each (S, ...).
        """

    def vector(self, theta: Draw) -> np.ndarray:
        """The vector (d,) of one draw of the free variables."""

    def log_jacobian(self, vectors: np.ndarray) -> np.ndarray:
        """log |d free variables / d vector| at vectors (S, d), (S,): what the log density has over
        the log posterior of the variables.
        """


class Blueprint(NamedTuple):
    """A blueprint is a model ready to be weighted.

    Attributes
    ----------
    model : pm.Model
        The priors, and the data that depends on alpha as mutable ``pm.Data``. No likelihood.
    weighted_log_likelihood : TensorVariable, scalar
        sum_i alpha_i log p(y_i | theta), or the same number from sufficient statistics. The
        framework adds it to the model as its one ``pm.Potential``.
    weigh : callable
        From alpha (n,) to the values of every ``pm.Data`` that depends on it.
    monitored : tuple of str
        Parameters on which convergence is judged. A mixture names only what does not change when
        its components swap labels.
    density_terms : int
        Log densities evaluated per gradient, for the estimate of the running time where the model
        has a graph alone.
    geometry : callable, optional
        From alpha (n,) to the values of ``pm.Data`` that set the coordinates in which the sampler
        moves, and nothing of the posterior (`riskweighted.sampling.coordinates`).
    density : callable, optional
        The same posterior as a compiled function, which is then what is sampled: from alpha (n,) to
        a function of one vector (d,), all free variables of the model laid end to end or in another
        `layout`, that gives the log density (up to a constant) and its gradient (d,). It may offer
        ``starts()``, places (S, d) about which chains begin, in place of the one mode that is found
        from 0: a posterior that may have several modes begins at each; and ``rough()``, a density
        of a share of the records, searched before the whole one. At every fit the framework holds
        it to the model.
    direct : callable, optional
        The same posterior as such a function of one vector, for a model whose posterior is close to
        normal: it is drawn from by importance (`riskweighted.sampling.importance`) before anything
        is compiled, and sampled by chains where that fails. Alpha (n,) may be all zero. The
        function may offer ``heights(vectors)``, from (S, d) to the log densities (S,), and
        ``curvature(vector)``, minus the second derivatives (d, d). The model must monitor what its
        layout gives.
    exact : callable, optional
        Where ``density`` is an approximation: the density that it stands for, held to the model in
        its place. How far apart the two are over the draws is a number of the fit's diagnostics.
    layout : Layout, optional
        What that vector stands for; without it no free variable may be bounded.
    centred : callable, optional
        From alpha (n,) and a `riskweighted.contract.centring.Centring` to the density less the
        centring term; without it the term is put into the graph, which is then sampled.

    Examples
    --------
    >>> from riskweighted.runs.examples import alpha, data, synthesizer
    >>> blueprint = synthesizer.build(synthesizer.prepare(data))
    >>> sorted(blueprint.weigh(alpha.to_numpy()))
    ['gram', 'least_squares', 'residual_squares', 'total_weight']
    """

    model: "pm.Model"
    weighted_log_likelihood: Tensor
    weigh: Callable[[np.ndarray], dict[str, np.ndarray]]
    monitored: tuple[str, ...]
    density_terms: int
    geometry: Callable[[np.ndarray], dict[str, np.ndarray]] | None = None
    density: Callable[[np.ndarray], Density] | None = None
    direct: Callable[[np.ndarray], Density] | None = None
    layout: Layout | None = None
    exact: Callable[[np.ndarray], Density] | None = None
    centred: "Callable[[np.ndarray, Centring], Density] | None" = None

    def weighted(self, alpha: np.ndarray, centring: "Centring | None" = None) -> Density | None:
        """The density under weights alpha (n,), less the centring term if there is one; None where
        the graph alone has it.
        """
        if centring is not None:
            return None if self.centred is None else self.centred(alpha, centring)
        return None if self.of_vector is None else self.of_vector(alpha)

    @property
    def of_vector(self) -> Callable[[np.ndarray], Density] | None:
        """`density`, or else `direct`: the posterior as a function of one vector, where it is given
        so.
        """
        return self.density if self.density is not None else self.direct


class ContractError(InputError):
    """A contract error says that a synthesizer does not keep its contract; it names the class and
    the clause, and no value of the data.

    Examples
    --------
    >>> issubclass(rw.ContractError, rw.InputError)
    True
    """


class Prepared(Protocol):
    """Prepared data are what `Synthesizer.prepare` makes of the confidential data: checked arrays,
    in a form of the model's own.

    In a chain ``from_tables(columns)``, where it is offered, is `at` of records whose model matrix
    without its intercept is given as `Tables`.

    Examples
    --------
    >>> from riskweighted.runs.examples import data, synthesizer
    >>> type(synthesizer.prepare(data).at(data.head(5))) is type(synthesizer.prepare(data))
    True
    """

    def at(self, frame: pd.DataFrame) -> Self:
        """The same for the m rows of another frame, by the confidential recipe: levels, centre,
        turn, location, scale, codes.

        The response too where the frame has the column, else NaN: no distribution depends on it.
        InputError where a predictor is absent, missing, infinite, or has a level that the
        confidential data lack.
        """


class Records(Protocol):
    """The values of n records as random variables, independent given parameters; what
    `Synthesizer.distribution` returns.

    Numbers are those of the target: its values, or the codes of its levels. A model that cannot do
    something has no such method. Of parameters that are PyTensor expressions the first two are
    expressions too: the same statement serves a graph.
    """

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log p(y_i | x_i, theta) on the model's scale, constants included, (n,); NaN where y_i
        is.
        """

    def mass(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(lower_i <= Y_i <= upper_i | x_i, theta), (n,); ends may be infinite, and stand at
        halves for whole numbers and codes.
        """

    def inverse(self, lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The value within each interval up to which it has this share (n,) of its mass, (n,); NaN
        where it has none.
        """

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """New values, (n,), from `rng` alone."""


class Synthesizer(Protocol):
    """A synthesizer is a Bayesian model of one sensitive variable, made of a formula and settings;
    immutable, hashable, equal by value.

    These are declared where they hold: ``categories(prepared)``, for a categorical target: its
    levels as a tuple, whose codes 0, ..., K - 1 are then the numbers of its distribution;
    ``draws_points = True`` for a model that draws single values such as zero with positive
    probability; and ``keeps_true_values = True`` for a class whose output holds confidential
    values, so that it is never treated as synthetic; and ``support = (low, high)``, public bounds
    that draws keep to, so that rounding keeps to them too.

    A guarantee (`riskweighted.guarantee.statement`) needs ``data_dependent``: names of all that
    priors, likelihood or draws take from the sensitive values besides the record's own likelihood,
    as the settings stand; () for nothing. It asks for ``response(prepared)``, the values on the
    model's scale (n,), where a reference is given, and for ``from_response(responses, prepared)``,
    the way back of any such numbers (m,), where its clip is centred. ``probability_mass = True``
    says that the likelihood is a probability, whose logarithm is never positive.

    Examples
    --------
    >>> from riskweighted.runs.examples import synthesizer
    >>> synthesizer.target, hash(synthesizer) == hash(synthesizer)
    ('income', True)
    """

    @property
    def target(self) -> str:
        """The column that it synthesizes."""

    def prepare(self, data: pd.DataFrame) -> Any:
        """Check the data and turn it into a `Prepared` that the other methods need. Raises
        InputError.
        """

    def build(self, prepared: Any) -> Blueprint | None:
        """Priors and weighted likelihood; None where there is nothing to estimate."""

    def distribution(self, theta: Draw, prepared: Any) -> Records:
        """The distribution of every record's value given one posterior draw."""


def keeps_true_values(synthesizer: Synthesizer) -> bool:
    """Whether its output holds confidential values, as top-coding's does: confidential, whatever it
    is called.
    """
    return bool(getattr(synthesizer, "keeps_true_values", False))


def data_dependent(synthesizer: Synthesizer) -> tuple[str, ...] | None:
    """The settings that it takes from the data as they stand, a tuple of names; None where it does
    not say.
    """
    stated = getattr(synthesizer, "data_dependent", None)
    if stated is not None and not (
        isinstance(stated, tuple) and all(isinstance(name, str) for name in stated)
    ):
        raise ContractError(
            f"{type(synthesizer).__name__}: data_dependent must be a tuple of names, got "
            f"{type(stated).__name__}"
        )
    return stated


def probability_mass(synthesizer: Synthesizer) -> bool:
    """Whether its likelihood is a probability, whose logarithm is never positive, rather than a
    density.
    """
    return getattr(synthesizer, "probability_mass", False) is True


def synthesizer_names() -> list[str]:
    """Return the names of the synthesizers that installed packages register under
    ``riskweighted.synthesizers``.

    Examples
    --------
    >>> "linear-regression" in rw.synthesizer_names()
    True
    """
    return sorted(entry_points(group=GROUP).names)


def chain_names() -> list[str]:
    """Return the names of the synthesizers of several variables, which packages register under
    ``riskweighted.chains``.

    Examples
    --------
    >>> rw.chain_names()
    ['sequential']
    """
    return sorted(entry_points(group=CHAINS).names)


def baseline_names() -> list[str]:
    """Names of those that packages also register under ``riskweighted.baselines``: protection
    without a model, for comparison.
    """
    return sorted(entry_points(group=_BASELINES).names)


def is_strange(synthesizer: object) -> bool:
    """Whether another package than this one brought a synthesizer or a chain, or a class of
    such.
    """
    points = (point for group in (GROUP, CHAINS) for point in entry_points(group=group))
    packages = {
        point.module.partition(".")[0]
        for point in points
        if point.dist is not None and point.dist.name == "riskweighted"
    }
    made = synthesizer if isinstance(synthesizer, type) else type(synthesizer)
    module = sys.modules.get(made.__module__)
    # a class may say of itself that it is from anywhere
    where_it_says = getattr(module, made.__qualname__.partition(".")[0], None)
    return made.__module__.partition(".")[0] not in packages or (
        "." not in made.__qualname__ and where_it_says is not made
    )


@cache
def load_synthesizer(name: str) -> Callable[..., Synthesizer]:
    """Return the synthesizer class of that name, which is built with a formula first.

    Parameters
    ----------
    name : str
        One of `synthesizer_names`, or of `chain_names` for several variables; an agency adds its
        own through the same entry points.

    Examples
    --------
    >>> synthesizer = rw.load_synthesizer("negative-binomial")("outcome ~ 1", components=1)
    >>> chain = rw.load_synthesizer("sequential")(["income", "smokes"], predictors=["age"])
    >>> synthesizer.target
    'outcome'
    """
    point = next(
        (
            point
            for group in (GROUP, CHAINS)
            for point in entry_points(group=group)
            if point.name == name
        ),
        None,
    )
    if point is None:
        raise InputError(
            f"unknown synthesizer {name!r}; installed are "
            f"{listing([*synthesizer_names(), *chain_names()])}"
        )
    late(point.module)
    make: Callable[..., Synthesizer] = point.load()
    return make
