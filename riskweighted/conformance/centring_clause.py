"""The clause of centred weights: what is taken off the pseudo posterior is what the distribution
says (METHODS section 15).
"""

import numpy as np

from riskweighted.common.errors import InputError
from riskweighted.conformance.clauses import Skipped, Trial, needs_likelihood, require
from riskweighted.contract.categories import target_numbers
from riskweighted.contract.centring import Centring
from riskweighted.contract.distribution import has_mass
from riskweighted.contract.intervals import intervals_of
from riskweighted.contract.synthesizer import Blueprint, ContractError
from riskweighted.contract.vector_layout import layout_of
from riskweighted.sampling.centred import CentredTerm, graph_coefficients, term_graph
from riskweighted.sampling.graphs import compile_term

__all__ = ["centring_agrees"]

_NEAR = 1e-6  # of the number of records


def centring_agrees(trial: Trial) -> str:
    """The centring term of its density, or of its graph, is the one of the masses of its
    distribution.
    """
    needs_likelihood(trial)
    if not has_mass(trial.synthesizer, trial.thetas[0], trial.prepared):
        raise Skipped("its distribution has no mass(): it takes uncentred weights alone")
    blueprint = trial.synthesizer.build(trial.prepared)
    assert blueprint is not None
    try:
        term = CentredTerm(trial.synthesizer, trial.prepared, trial.data, _some_centring(trial))
    except ContractError as error:  # it says that it takes uncentred weights alone
        raise Skipped(str(error)) from None
    if blueprint.centred is not None:
        try:
            over = [_over(trial, blueprint, term, number) for number in range(len(trial.thetas))]
        except InputError as error:  # too much to sum over
            raise Skipped(str(error)) from None
        require(
            float(np.ptp(over)) <= _NEAR * trial.n,
            trial,
            "centred() of its blueprint takes off something else than masses of its distribution",
        )
        return "by a density of its own"
    try:
        function = compile_term(blueprint, term_graph(term, blueprint))
    except ContractError as error:
        raise Skipped(str(error)) from None
    values = graph_coefficients(term)
    off = [function(theta, values) - term.each(theta)[0].sum() for theta in trial.thetas]
    require(
        float(np.abs(off).max()) <= _NEAR * trial.n,
        trial,
        "mass() of expressions is not that of numbers",
    )
    return "in its graph"


def _some_centring(trial: Trial) -> Centring:
    """Weights that fall from interval to interval, and from kind to kind."""
    y = target_numbers(trial.synthesizer, trial.prepared, trial.data)
    intervals = intervals_of(trial.synthesizer, trial.prepared, y)
    own, count = intervals.kind_of(y), int(intervals.kind.max()) + 1
    falling = np.linspace(1.0, 0.2, len(intervals.lower))
    kinds = None if count == 1 else np.tile(np.linspace(0.9, 0.3, count), (trial.n, 1))
    return Centring(
        intervals,
        lambda records: np.tile(falling, (len(records), 1)),
        own,
        kinds,
        np.ones(trial.n),
        "a trial",
    )


def _over(trial: Trial, blueprint: Blueprint, term: CentredTerm, number: int) -> float:
    """What the centred density has over the plain one at a place, less what the distribution
    says.
    """
    theta, alpha = trial.thetas[number], np.ones(trial.n)
    vector, terms = layout_of(blueprint).vector(theta), trial.terms(theta)
    centred, plain = blueprint.weighted(alpha, term.centring), blueprint.weighted(alpha)
    assert centred is not None
    assert plain is not None
    return (
        centred(vector)[0]
        - plain(vector)[0]
        - float((term.contributions(theta, alpha, terms) - terms).sum())
    )
