"""Do a model's graph, which is sampled, and its distribution, which is reported, say the same? Does alpha act?

A plug-in whose ``weigh`` ignores alpha samples an unprotected posterior and looks converged; only this comparison tells.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.graph.replace import graph_replace
from pytensor.graph.rewriting.basic import in2out, node_rewriter
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from riskweighted.common.errors import listing
from riskweighted.contract.categories import categories_of
from riskweighted.contract.distribution import draw_values
from riskweighted.contract.drawing import check_codes, levels_at
from riskweighted.contract.layout import layout_of
from riskweighted.contract.synthesizer import Blueprint, ContractError, Draw, Synthesizer, keeps_true_values
from riskweighted.guarantee.clip import DATA, Censoring
from riskweighted.sampling.direct import heights_of

if TYPE_CHECKING:
    import pymc as pm
    from pytensor.tensor import TensorVariable

__all__ = [
    "PLAIN",
    "Records",
    "WeightedSum",
    "check_agreement",
    "check_blind",
    "check_censored",
    "check_density",
    "check_draws",
    "check_records",
    "check_weighted",
    "compile_clipped_sum",
    "compile_log_prior",
    "compile_records",
    "compile_weighted_sum",
    "log_posterior_graph",
    "parameters_at",
    "start_of",
    "unconstrained",
]


@node_rewriter([pt.softplus, pt.clip, pt.add, pt.mul])  # type: ignore[untyped-decorator]
def _in_whole_arrays(graph: object, node: Any) -> "list[TensorVariable[Any, Any]] | None":
    """What plain Python would run number by number, as NumPy has it: log(1 + exp x), a clip, sums and products of three and more."""
    first, *others = node.inputs
    dtype = node.outputs[0].dtype
    if node.op == pt.softplus:
        return [pt.maximum(first, 0.0) + pt.log1p(pt.exp(-abs(first)))]
    if node.op == pt.clip:
        low, high = others
        return [_cast(pt.switch(first < low, low, pt.minimum(first, high)), dtype)]
    return [reduce(node.op, [_cast(part, dtype) for part in node.inputs])] if len(others) > 1 else None  # two truth values are one


def _cast(x: "TensorVariable[Any, Any]", dtype: str) -> "TensorVariable[Any, Any]":
    """Numbers in another dtype; PyTensor's own cast runs number by number too."""
    moved: TensorVariable[Any, Any] = x if x.dtype == dtype else x * pt.constant(1, dtype=dtype)
    return moved


# Stable (log1p, logsumexp) as the sampled model is, and run in plain Python: nothing to compile, a tenth of a second to make.
PLAIN = Mode(linker="py", optimizer=RewriteDatabaseQuery(include=["canonicalize", "stabilize"])).register((in2out(_in_whole_arrays), 100))
_DIRECT_TOLERANCE = 1e-10  # of a log density by which proposals are weighted
_BLIND = 1_000  # records
_TOLERANCE = 1e-6  # of sum_i alpha_i |log p_i|: sufficient statistics and single precision pass, a lost constant does not

WeightedSum = Callable[[Draw, np.ndarray], float]
Records = Callable[[Draw], np.ndarray]
Terms = Callable[[Draw], np.ndarray]


def compile_weighted_sum(synthesizer: Synthesizer, blueprint: Blueprint, n: int) -> WeightedSum:
    """The blueprint's weighted log-likelihood as a function of one posterior draw and alpha (n,).

    Raises
    ------
    ContractError
        If ``weigh`` names data that the model does not have.
    """
    model = blueprint.model
    held = {str(variable.name): variable for variable in model.data_vars}
    names = list(blueprint.weigh(np.ones(n)))
    unknown = [name for name in names if name not in held]
    if unknown:
        raise ContractError(f"{type(synthesizer).__name__}: weigh names {listing(unknown)}; its model has pm.Data {listing(held)}")
    function = _function(model, blueprint.weighted_log_likelihood, names)

    def weighted_sum(theta: Draw, alpha: np.ndarray) -> float:
        return float(function(theta, blueprint.weigh(alpha)))

    return weighted_sum


def compile_clipped_sum(blueprint: Blueprint, total: "TensorVariable[Any, Any]") -> Callable[[Draw, Mapping[str, Any]], float]:
    """A sum of clipped contributions (`riskweighted.guarantee.clip`) as a function of one posterior draw and the values of `DATA`."""
    function = _function(blueprint.model, total, DATA)
    return lambda theta, values: float(function(theta, values))


def compile_records(blueprint: Blueprint) -> Records | None:
    """The blueprint's log-likelihood record by record, (n,), as a function of one posterior draw; None where it gives none."""
    if blueprint.records is None:
        return None
    function = _function(blueprint.model, blueprint.records, [])
    return lambda theta: np.asarray(function(theta, {}))


def _function(model: "pm.Model", output: "TensorVariable[Any, Any]", names: Sequence[str]) -> Callable[[Draw, Mapping[str, Any]], Any]:
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
    return lambda theta, values: function(*(theta[variable.name] for variable in model.free_RVs), *(values[name] for name in names))


def unconstrained(
    model: "pm.Model", variable: "TensorVariable[Any, Any]", value: "TensorVariable[Any, Any] | None" = None
) -> "TensorVariable[Any, Any]":
    """A free variable, or a value of it, in the form without bounds in which PyMC samples it, as a node of the graph."""
    transform, value = model.rvs_to_transforms[variable], variable if value is None else value
    moved: TensorVariable[Any, Any] = value if transform is None else transform.forward(value, *variable.owner.inputs)
    return moved


def log_posterior_graph(blueprint: Blueprint) -> "tuple[list[Any], TensorVariable[Any, Any]]":
    """The log posterior of the model, priors and weighted likelihood, and its inputs: its free variables, then its ``pm.Data``."""
    likelihood = blueprint.model.replace_rvs_by_values([blueprint.weighted_log_likelihood])[0]
    return _of_draw(blueprint.model, _log_prior(blueprint.model) + likelihood)


def _log_prior(model: "pm.Model") -> "TensorVariable[Any, Any]":
    """Of the variables as they are, without the volume of what PyMC samples in their place."""
    prior: TensorVariable[Any, Any] = model.logp(model.free_RVs, jacobian=False)
    return prior


def _of_draw(model: "pm.Model", output: "TensorVariable[Any, Any]") -> "tuple[list[Any], TensorVariable[Any, Any]]":
    """A graph of the values that PyMC samples as one of the free variables, and its inputs: these, then the ``pm.Data``."""
    held = {variable: variable.type() for variable in model.data_vars}
    free = [variable.type() for variable in model.free_RVs]
    values = {
        model.rvs_to_values[variable]: unconstrained(model, variable, stands) for variable, stands in zip(model.free_RVs, free, strict=True)
    }
    replaced: Any = graph_replace(graph_replace(output, values, strict=False), held, strict=False)
    return [*free, *held.values()], replaced


def compile_log_prior(blueprint: Blueprint) -> WeightedSum:
    """The log prior of the blueprint's model as a function of one posterior draw and alpha (n,), which a prior may hold as data."""
    return _compiled(blueprint, *_of_draw(blueprint.model, _log_prior(blueprint.model)))


def _compiled(blueprint: Blueprint, inputs: list[Any], output: "TensorVariable[Any, Any]") -> WeightedSum:
    """What `_of_draw` gives as a function of one posterior draw and alpha (n,)."""
    model = blueprint.model
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(inputs, output, mode=PLAIN, on_unused_input="ignore", allow_input_downcast=True)
    unweighted = {variable.name: variable.get_value() for variable in model.data_vars}

    def value(theta: Draw, alpha: np.ndarray) -> float:
        values = unweighted | blueprint.weigh(alpha)
        return float(function(*(theta[variable.name] for variable in model.free_RVs), *(values[name] for name in unweighted)))

    return value


def check_density(
    synthesizer: Synthesizer, blueprint: Blueprint, log_posterior: np.ndarray, alpha: np.ndarray, thetas: Sequence[Draw]
) -> None:
    """Refuse a blueprint whose density of a vector is not, up to a constant, that of its model, at two draws or more.

    `log_posterior`: the model's at these draws under alpha (n,).

    Raises
    ------
    ContractError
    """
    if blueprint.of_vector is None or len(thetas) < 2:
        return
    density, layout = (blueprint.exact or blueprint.of_vector)(alpha), layout_of(blueprint)
    vectors = np.array([layout.vector(theta) for theta in thetas])
    stated = log_posterior + layout.log_jacobian(vectors)
    off = np.array([[density(vector)[0] for vector in vectors], heights_of(density, vectors)]) - stated
    tolerance = _TOLERANCE if blueprint.direct is None else _DIRECT_TOLERANCE
    if not np.ptp(off) <= tolerance * (np.abs(stated).max() + 1e-3):
        raise ContractError(
            f"{type(synthesizer).__name__}: the density that build() gives the sampler is not that of its model, from which it "
            "may differ by a constant only"
        )


def check_agreement(
    name: str, terms: Terms, weighted_sum: WeightedSum, thetas: Sequence[Draw], alphas: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Refuse a synthesizer whose graph is not alpha @ log_density.

    Parameters
    ----------
    name : str
        Of the class.
    terms : callable
        Of `log_densities`.
    weighted_sum : callable
        Of `compile_weighted_sum`.
    thetas : posterior draws
    alphas : label for the message -> weights (n,)

    Returns
    -------
    What the graph gives, (draws, alphas).

    Raises
    ------
    ContractError
    """
    sums = np.empty((len(thetas), len(alphas)))
    for row, theta in zip(sums, thetas, strict=True):
        each = terms(theta)
        for place, (label, alpha) in enumerate(alphas.items()):
            found = row[place] = weighted_sum(theta, alpha)
            parts = np.where(alpha > 0, alpha * np.where(alpha > 0, each, 0.0), 0.0)
            if not np.isfinite(parts).all():
                continue  # an impossible record: nothing to compare
            near = _TOLERANCE * (np.abs(parts).sum() + 1e-3)
            if not abs(found - parts.sum()) <= near:
                raise ContractError(f"{name}: {_difference(label, found, parts.sum(), weighted_sum(theta, np.ones(len(alpha))), near)}")
    return sums


def check_records(name: str, terms: Terms, records: Records, thetas: Sequence[Draw], n: int) -> None:
    """Refuse a synthesizer whose ``records`` in the graph are not its log_density, record by record.

    Raises
    ------
    ContractError
    """
    for theta in thetas:
        each, found = terms(theta), records(theta)
        if found.shape != (n,):
            raise ContractError(f"{name}: records of build() must be {n} numbers, one a record; got shape {found.shape}")
        finite = np.isfinite(each)
        off = int((np.abs(found - each)[finite] > _TOLERANCE * (1 + np.abs(each[finite]))).sum())
        if off:
            raise ContractError(f"{name}: records of build() are not the distribution's log_density: they differ in {off} of {n} records")


def check_censored(
    name: str,
    terms: Terms,
    censoring: Censoring,
    alpha: np.ndarray,
    thetas: Sequence[Draw],
    records: Records,
    clipped: Callable[[Draw, Mapping[str, Any]], float],
) -> None:
    """What a fit under a guarantee is asked besides: what was sampled is the sum of clipped contributions of log_density.

    Raises
    ------
    ContractError
    """
    check_records(name, terms, records, thetas, len(alpha))
    for theta in thetas:
        parts = censoring.contributions(alpha, terms(theta))
        if not abs(clipped(theta, censoring.values(alpha)) - parts.sum()) <= _TOLERANCE * (np.abs(parts).sum() + 1e-3):
            raise ContractError(f"{name}: the censored sum that is sampled is not that of log_density, clipped")


def check_weighted(name: str, terms: Terms, alpha: np.ndarray, thetas: Sequence[Draw], weighted_sum: WeightedSum) -> np.ndarray:
    """What every fit is asked of its likelihood: graph and log_density agree, and alpha acts (tried at one draw).

    Returns
    -------
    What the graph gives at the draws for alpha (n,).

    Raises
    ------
    ContractError
    """
    other = np.random.default_rng(0).uniform(0.1, 1.0, len(alpha))
    given = "alpha = 1" if (alpha == 1).all() else "the given alpha"
    sums = check_agreement(name, terms, weighted_sum, thetas, {given: alpha})[:, 0]
    for theta in thetas:
        if np.isfinite(check_agreement(name, terms, weighted_sum, [theta], {"another alpha": other})).all():
            break  # the graph takes long, and compares as well at one draw
    return sums


def check_draws(synthesizer: Synthesizer, prepared: Any, thetas: Sequence[Draw], confidential: pd.DataFrame) -> None:
    """What every fit is asked of its draws: n finite values, which do not see the sensitive ones.

    Raises
    ------
    ContractError
    """
    n = len(confidential)
    gaps = confidential[synthesizer.target].isna().to_numpy() if keeps_true_values(synthesizer) else False  # which it may keep, too
    for theta in thetas:
        values = draw_values(synthesizer, theta, prepared, np.random.default_rng(0), n)
        unusable = int((~np.isfinite(values) & ~np.asarray(gaps)).sum())
        if unusable:
            raise ContractError(
                f"{type(synthesizer).__name__}: draw gave {unusable} of {n} values that are missing or infinite; "
                "check the model, the transform and the weights"
            )
    check_blind(synthesizer, prepared, thetas[0], confidential)


def check_blind(synthesizer: Synthesizer, prepared: Any, theta: Draw, confidential: pd.DataFrame) -> None:
    """Refuse a synthesizer whose draws see the sensitive values: with these permuted, theta and seed must give the same draws.

    Tried on the first 1,000 records. A class that declares that it keeps true values is let be.

    Raises
    ------
    ContractError
    """
    if keeps_true_values(synthesizer):
        return
    frame = confidential.iloc[:_BLIND]
    order = np.random.default_rng(0).permutation(len(frame))
    permuted = frame.assign(**{synthesizer.target: frame[synthesizer.target].array[order]})
    make = prepared.at if callable(getattr(prepared, "at", None)) else synthesizer.prepare
    (given, levels), (moved, others) = (_drawn(synthesizer, theta, make(rows), frame) for rows in (frame, permuted))
    same = np.allclose(given, moved, rtol=1e-9, atol=1e-9)
    if levels is not None and others is not None:  # a code is another level where their order follows the data
        same = bool((levels_at(given, levels) == levels_at(moved, others)).all())
    if not same:
        raise ContractError(
            f"{type(synthesizer).__name__}: draw sees the sensitive values: with these permuted, the same theta and seed give other draws"
        )


def _drawn(synthesizer: Synthesizer, theta: Draw, prepared: Any, frame: pd.DataFrame) -> tuple[np.ndarray, tuple[object, ...] | None]:
    """What it draws for the records of a frame, (n,), and the levels that these numbers are the codes of, if they are codes."""
    values, levels = draw_values(synthesizer, theta, prepared, np.random.default_rng(0), len(frame)), categories_of(synthesizer, prepared)
    if levels is not None:
        check_codes(values, synthesizer.target, len(levels))
    return values, levels


def parameters_at(blueprint: Blueprint, points: Sequence[Sequence[np.ndarray]]) -> tuple[Draw, ...]:
    """Free and deterministic parameters by name where the values that PyMC samples in their place are `points`."""
    model = blueprint.model
    named = [*model.free_RVs, *model.deterministics]
    with pytensor.config.change_flags(cxx=""):
        function = pytensor.function(model.value_vars, model.replace_rvs_by_values(named), mode=PLAIN, on_unused_input="ignore")
    return tuple(
        {str(variable.name): np.asarray(value) for variable, value in zip(named, function(*point), strict=True)} for point in points
    )


def start_of(blueprint: Blueprint | None) -> Draw:
    """Parameters by name where a sampler would start; none where nothing is estimated."""
    if blueprint is None:
        return {}
    start = blueprint.model.initial_point()
    return parameters_at(blueprint, [[start[str(value.name)] for value in blueprint.model.value_vars]])[0]


def _difference(label: str, found: float, expected: float, unweighted: float, near: float) -> str:
    """What may be wrong, without a number: they are sums over confidential records."""
    text = f"for {label} the weighted log-likelihood that build() gives the sampler is not alpha @ log_density(y) of its distribution"
    if not np.isfinite(found):
        return f"{text}: it is no finite number"
    if abs(found + expected) <= near:
        return f"{text}: it has the opposite sign"
    if abs(found - unweighted) <= near and label != "alpha = 1":
        return f"{text}: it is the unweighted one, so weigh(alpha) does not reach it and nothing would be protected"
    return f"{text}: the two must be the same number, constants included"
