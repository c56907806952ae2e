"""Nodes of a model's graph as functions of one posterior draw, run in plain Python: nothing to
compile, a tenth of a second to make.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.basic import in2out, node_rewriter
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from riskweighted.common.errors import listing
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer, Tensor
from riskweighted.guarantee.clip import DATA
from riskweighted.sampling.centred import EXPECTED

if TYPE_CHECKING:
    import pymc as pm

__all__ = [
    "PLAIN",
    "Records",
    "WeightedSum",
    "compile_clipped_sum",
    "compile_log_prior",
    "compile_records",
    "compile_term",
    "compile_weighted_sum",
    "log_prior_and",
    "log_volume",
    "parameters_at",
    "start_of",
    "unconstrained_value",
]

WeightedSum = Callable[[Draw, np.ndarray], float]
Records = Callable[[Draw], np.ndarray]


@node_rewriter([pt.softplus, pt.clip, pt.add, pt.mul])  # type: ignore[untyped-decorator]
def _in_whole_arrays(graph: object, node: Any) -> list[Tensor] | None:
    """What plain Python would run number by number, as NumPy has it: log(1 + exp x), a clip, sums
    and products of three and more.
    """
    first, *others = node.inputs
    dtype = node.outputs[0].dtype
    if node.op == pt.softplus:
        return [pt.maximum(first, 0.0) + pt.log1p(pt.exp(-abs(first)))]
    if node.op == pt.clip:
        low, high = others
        return [_cast(pt.switch(first < low, low, pt.minimum(first, high)), dtype)]
    # two truth values are one
    return (
        [reduce(node.op, [_cast(part, dtype) for part in node.inputs])] if len(others) > 1 else None
    )


def _cast(x: Tensor, dtype: str) -> Tensor:
    """Numbers in another dtype; PyTensor's own cast runs number by number too."""
    return x if x.dtype == dtype else x * pt.constant(1, dtype=dtype)


# Stable (log1p, logsumexp) as the sampled model is.
PLAIN = Mode(
    linker="py", optimizer=RewriteDatabaseQuery(include=["canonicalize", "stabilize"])
).register((in2out(_in_whole_arrays), 100))


def compile_weighted_sum(synthesizer: Synthesizer, blueprint: Blueprint, n: int) -> WeightedSum:
    """The blueprint's weighted log-likelihood as a function of one posterior draw and alpha (n,);
    ``weigh`` names data of the model.
    """
    model = blueprint.model
    held = {str(variable.name): variable for variable in model.data_vars}
    names = list(blueprint.weigh(np.ones(n)))
    unknown = [name for name in names if name not in held]
    if unknown:
        raise ContractError(
            f"{type(synthesizer).__name__}: weigh names {listing(unknown)}; its model has "
            f"pm.Data {listing(held)}"
        )
    function = _function(model, blueprint.weighted_log_likelihood, names)
    return lambda theta, alpha: float(function(theta, blueprint.weigh(alpha)))


def compile_clipped_sum(
    blueprint: Blueprint, total: Tensor
) -> Callable[[Draw, Mapping[str, Any]], float]:
    """A sum of clipped contributions (`riskweighted.guarantee.clip`) as a function of one posterior
    draw and the values of `DATA`.
    """
    function = _function(blueprint.model, total, DATA)
    return lambda theta, values: float(function(theta, values))


def compile_term(blueprint: Blueprint, term: Tensor) -> WeightedSum:
    """A centring term as a function of one posterior draw and the values of `EXPECTED`."""
    function = _function(blueprint.model, term, [EXPECTED])
    return lambda theta, values: float(function(theta, {EXPECTED: values}))


def compile_records(blueprint: Blueprint, records: Tensor) -> Records:
    """Log-likelihoods in the graph of a model, (n,), as a function of one posterior draw."""
    function = _function(blueprint.model, records, [])
    return lambda theta: np.asarray(function(theta, {}))


def _function(
    model: "pm.Model", output: Tensor, names: Sequence[str]
) -> Callable[[Draw, Mapping[str, Any]], Any]:
    """A node of the graph as a function of the free variables and of the named ``pm.Data``."""
    held = {str(variable.name): variable for variable in model.data_vars}
    inputs = {held[name]: held[name].type() for name in names}
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(
            [*model.free_RVs, *inputs.values()],
            output,
            givens=inputs,
            mode=PLAIN,
            on_unused_input="ignore",
            allow_input_downcast=True,
        )
    return lambda theta, values: function(
        *(theta[variable.name] for variable in model.free_RVs), *(values[name] for name in names)
    )


def unconstrained_value(model: "pm.Model", variable: Tensor) -> Tensor:
    """A free variable in the form without bounds in which PyMC samples it, as a node of the
    graph.
    """
    transform = model.rvs_to_transforms[variable]
    return variable if transform is None else transform.forward(variable, *variable.owner.inputs)


def compile_log_prior(blueprint: Blueprint) -> WeightedSum:
    """The log prior of the blueprint's model as a function of one posterior draw and alpha (n,),
    which a prior may hold as data.
    """
    return log_prior_and(blueprint)[0]


def log_prior_and(
    blueprint: Blueprint, likelihood: Tensor | None = None
) -> tuple[WeightedSum, Any]:
    """As `compile_log_prior`, with a likelihood that is a node of the model's graph added to it;
    and what PyTensor made of it.

    It is the prior of the variables as they are: without the volume of what PyMC samples in their
    place, and without a way there and back.
    """
    from pymc.logprob import conditional_logp

    model = blueprint.model
    held = {variable: variable.type() for variable in model.data_vars}
    free = {variable: variable.type() for variable in model.free_RVs}
    output: Any = pt.add(*(term.sum() for term in conditional_logp(free).values()), 0.0)
    if likelihood is not None:
        output = output + pytensor.clone_replace(likelihood, free)
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(
            [*free.values(), *held.values()],
            output,
            givens=held,
            mode=PLAIN,
            on_unused_input="ignore",
            allow_input_downcast=True,
        )
    unweighted = {variable.name: variable.get_value() for variable in held}

    def value(theta: Draw, alpha: np.ndarray) -> float:
        data = unweighted | blueprint.weigh(alpha)
        return float(
            function(
                *(theta[variable.name] for variable in free), *(data[name] for name in unweighted)
            )
        )

    return value, function


def log_volume(model: "pm.Model") -> Tensor:
    """What the log density that PyMC samples has over that of the variables as they are, as a node
    of the graph.
    """
    transforms = {variable: model.rvs_to_transforms[variable] for variable in model.free_RVs}
    terms = [
        transform.log_jac_det(
            transform.forward(variable, *variable.owner.inputs), *variable.owner.inputs
        ).sum()
        for variable, transform in transforms.items()
        if transform is not None
    ]
    return pt.add(*terms, 0.0, 0.0)


def parameters_at(blueprint: Blueprint, points: Sequence[Sequence[np.ndarray]]) -> tuple[Draw, ...]:
    """Free and deterministic parameters by name where the values that PyMC samples in their place
    are `points`.
    """
    model = blueprint.model
    named = [*model.free_RVs, *model.deterministics]
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(
            model.value_vars,
            model.replace_rvs_by_values(named),
            mode=PLAIN,
            on_unused_input="ignore",
        )
    return tuple(
        {
            str(variable.name): np.asarray(value)
            for variable, value in zip(named, function(*point), strict=True)
        }
        for point in points
    )


def start_of(blueprint: Blueprint | None) -> Draw:
    """Parameters by name where a sampler would start; none where nothing is estimated."""
    if blueprint is None:
        return {}
    start = blueprint.model.initial_point()
    return parameters_at(
        blueprint, [[start[str(value.name)] for value in blueprint.model.value_vars]]
    )[0]
