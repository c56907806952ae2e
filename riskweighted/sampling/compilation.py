"""The risk-weighted pseudo posterior (Hu et al. 2022, eq. 4, 10): compile once, sample for each
weight vector, check.

This file, `compiled`, `graphs`, `nuts` and `convergence` beside it are the ones that know the
versions of PyMC, nutpie and ArviZ.
"""

import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytensor

from riskweighted.common.errors import InputError
from riskweighted.common.extras import late
from riskweighted.contract.centring import Centring
from riskweighted.contract.synthesizer import Blueprint, is_strange
from riskweighted.guarantee.clip import clipped_sum, obstacles, record_graph, refusal
from riskweighted.guarantee.interval_cells import IntervalCells
from riskweighted.sampling.block_fit import BlockFit, PreparedModel
from riskweighted.sampling.centred import EXPECTED, CentredTerm, graph_coefficients, term_graph
from riskweighted.sampling.clipped import ClipTerm, clip_term_graph
from riskweighted.sampling.compiled import Censored, CompiledModel, Sampler
from riskweighted.sampling.graphs import (
    compile_clipped_sum,
    compile_log_prior,
    compile_records,
    compile_term,
    compile_weighted_sum,
)
from riskweighted.sampling.nuts import LOG_LIKELIHOOD

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["CompiledModel", "compile_prepared", "pymc_model"]

_POTENTIAL = "weighted_log_likelihood"


def _compile(model: "pm.Model") -> Any:
    """Compile for nutpie with numba, without a C++ compiler, and without what PyTensor keeps on
    disk: its functions all have the same few names, and one compiled by another process was called
    in the place of its namesake."""
    with (
        pytensor.config.change_flags(cxx="", mode="NUMBA", numba__cache=False),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return late("nutpie").compile_pymc_model(model, backend="numba")


_KEPT = 32  # as many as a chain of many variables has blocks
_recent: OrderedDict[tuple[Any, ...], CompiledModel] = OrderedDict()


def compile_prepared(
    model: PreparedModel,
    censored: bool = False,
    centring: Centring | None = None,
    cells: IntervalCells | None = None,
    *,
    compared: bool = False,
) -> CompiledModel:
    """The model compiled, for a guarantee if `censored`; the last few are kept, since compiling
    takes seconds.

    `centring`: of the weights that it is to be sampled under; another one of the same intervals
    serves as well. `cells`: of a clip that is centred. `compared`: graph and distribution were held
    to each other in a fit of the same model to nearly the same values, so that what compares them
    is not compiled again; of a class that is not the package's it is.
    """
    compared = compared and not is_strange(model.synthesizer)
    key = (
        model.synthesizer,
        model.fingerprint,
        censored,
        centring is not None,
        None if cells is None else cells.label,
        compared,
    )
    if key in _recent:
        _recent.move_to_end(key)
        return replace(_recent[key], model=model)
    blueprint = model.build(centring)
    sampler, weighted_sum, log_prior, clipped, term = None, None, None, None, None
    if blueprint is not None:
        total = blueprint.weighted_log_likelihood
        if not compared:
            weighted_sum = compile_weighted_sum(
                model.synthesizer, blueprint, len(model.confidential)
            )
            log_prior = compile_log_prior(blueprint) if blueprint.of_vector is not None else None
        if censored:
            clipped, total = _censored(model, blueprint, cells)
        in_graph = centring is not None and blueprint.centred is None
        if centring is not None and in_graph:
            off = term_graph(
                CentredTerm(model.synthesizer, model.prepared, model.confidential, centring),
                blueprint,
            )
            term, total = None if compared else compile_term(blueprint, off), total - off
        with blueprint.model:
            late("pymc").Potential(_POTENTIAL, total)
            late("pymc").Deterministic(LOG_LIKELIHOOD, total)
        sampler = (
            Sampler(blueprint.model, _compile)
            if blueprint.density is None or censored or in_graph
            else None
        )
    if sampler is not None and (censored or (blueprint is not None and blueprint.direct is None)):
        _ = sampler.compiled
    _recent[key] = CompiledModel(model, blueprint, sampler, weighted_sum, log_prior, clipped, term)
    while len(_recent) > _KEPT:
        _recent.popitem(last=False)
    return _recent[key]


def pymc_model(fit: BlockFit) -> "pm.Model":
    """The model of a block's fit with its Potential, under the fit's weights, its centring term and
    its clip.

    InputError where nothing is estimated, or the graph cannot hold the centring term.
    """
    name = type(fit.synthesizer).__name__
    model = PreparedModel(fit.synthesizer, fit.confidential, fit.prepared, fit.survey)
    blueprint = model.build()
    if blueprint is None:
        raise InputError(f"{name} estimates nothing: it has no PyMC model")
    if fit.centring is not None and fit.centring.kinds is not None:
        raise InputError(
            f"{name} draws the kind of a value first: its centring term is in its density only, "
            "and in no PyMC model; valid are fits of weights without the plus"
        )
    alpha, total = fit.weights.to_numpy(), blueprint.weighted_log_likelihood
    values = blueprint.weigh(alpha)
    if fit.censoring is not None:
        _, total = _clipped(model, blueprint, fit.censoring.cells)
        values |= fit.censoring.values(alpha)
    if fit.centred is not None and fit.censoring is None:
        total = total - term_graph(fit.centred, blueprint)
        values |= {EXPECTED: graph_coefficients(fit.centred)}
    if blueprint.geometry is not None:
        values |= blueprint.geometry(alpha)
    with blueprint.model:
        late("pymc").Potential(_POTENTIAL, total)
        late("pymc").set_data(values)
    return blueprint.model


def _censored(
    model: PreparedModel, blueprint: Blueprint, cells: IntervalCells | None
) -> tuple[Censored, Any]:
    """What a censored model is checked by, and its sum of clipped contributions, less the term
    where the clip is centred.
    """
    records, total = _clipped(model, blueprint, cells)
    return Censored(
        compile_records(blueprint, records), compile_clipped_sum(blueprint, total)
    ), total


def _clipped(
    model: PreparedModel, blueprint: Blueprint, cells: IntervalCells | None
) -> tuple[Any, Any]:
    """The log densities of records in the graph, and the sum of clipped contributions, see
    `_censored`.
    """
    hindering = obstacles(model.synthesizer, model.prepared, model.confidential)
    records = record_graph(model.synthesizer, model.prepared, blueprint, model.confidential)
    if hindering or records is None:
        raise refusal(hindering)
    total = clipped_sum(blueprint.model, records, len(model.confidential))
    if cells is not None:
        total = total - clip_term_graph(
            ClipTerm.of(model.synthesizer, model.prepared, model.confidential, cells), blueprint
        )
    return records, total
